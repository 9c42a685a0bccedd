//! Named pipes between the processes of one user, and the folder in which these processes find
//! each other.

use std::env;
use std::fs::{self, File};
use std::io;
use std::os::windows::fs::OpenOptionsExt as _;
use std::os::windows::io::{AsRawHandle as _, OwnedHandle};
use std::path::{Path, PathBuf};
use std::ptr;
use std::thread;
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::{
    ERROR_IO_PENDING, ERROR_PIPE_BUSY, ERROR_PIPE_CONNECTED, GENERIC_READ, GENERIC_WRITE,
};
use windows_sys::Win32::Storage::FileSystem::{
    CreateFileW, FILE_FLAG_FIRST_PIPE_INSTANCE, FILE_FLAG_OPEN_REPARSE_POINT, FILE_FLAG_OVERLAPPED,
    OPEN_EXISTING, PIPE_ACCESS_DUPLEX, SECURITY_IDENTIFICATION, SECURITY_SQOS_PRESENT,
};
use windows_sys::Win32::System::IO::{CancelIoEx, GetOverlappedResult, OVERLAPPED};
use windows_sys::Win32::System::Pipes::{
    ConnectNamedPipe, CreateNamedPipeW, PIPE_REJECT_REMOTE_CLIENTS, PIPE_TYPE_BYTE,
    PIPE_UNLIMITED_INSTANCES, PIPE_WAIT, WaitNamedPipeW,
};

use super::fd::{self, PIPE_SIZE, Wake, check, own, wide};
use super::private::{self, Access, User};
use super::read::ReadEnd;
use super::write::WriteEnd;
use crate::sync::Mutex;

/// The maximum time for which a replacement waits for processes that read the file.
const REPLACE: Duration = Duration::from_secs(1);

/// The file name extension of a socket. On this system no file has it.
pub(crate) const EXTENSION: &str = "sock";

/// A connection between two processes of one user: a pipe for overlapped transfers.
pub(crate) type Socket = OwnedHandle;

/// Returns the user of this process.
pub(crate) fn user() -> io::Result<User> {
    private::user().map(User)
}

/// Returns the folder for descriptions of this user's servers. The caller has to check that the
/// folder exists, and that it is the user's alone.
pub(crate) fn runtime_folder() -> io::Result<PathBuf> {
    let folder = env::var_os("LOCALAPPDATA").map(PathBuf::from);
    let folder = folder.filter(|folder| folder.is_absolute());
    let folder = folder.ok_or_else(|| {
        let text = "the environment variable LOCALAPPDATA has no absolute path";
        io::Error::new(io::ErrorKind::NotFound, text)
    })?;
    Ok(folder.join("mcplink"))
}

/// Opens a file of the user's for reading. Follows no link in the last segment of the path. Fails
/// with `InvalidInput` if the file is no regular file, or belongs to another user.
pub(crate) fn open_own(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    let options = options
        .read(true)
        .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT);
    let file = options.open(path)?;
    match file.metadata()?.is_file() && Access::of_file(&file)?.owner == user()? {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Puts a file in the place of another one. A process that reads sees either of them.
pub(crate) fn replace(from: &Path, to: &Path) -> io::Result<()> {
    let deadline = Instant::now() + REPLACE;
    loop {
        match fs::rename(from, to) {
            // A file that is open for reading can't be replaced on every version of the system.
            Err(error)
                if error.kind() == io::ErrorKind::PermissionDenied && Instant::now() < deadline =>
            {
                thread::sleep(Duration::from_millis(1));
            }
            replaced => return replaced,
        }
    }
}

/// Returns the name of the pipe of an instance. The last segment of the path is its id, with an
/// extension.
fn pipe_name(path: &Path) -> String {
    let id = path.file_stem().unwrap_or_default();
    format!(r"\\.\pipe\mcplink-{}", id.display())
}

/// Returns the address of the pipe, for programs without this library.
pub(crate) fn endpoint(path: &Path) -> String {
    format!("pipe:{}", pipe_name(path))
}

/// Splits a connection into its two ends.
pub(crate) fn ends(socket: Socket) -> io::Result<(ReadEnd, WriteEnd)> {
    let second = socket.try_clone()?;
    Ok((ReadEnd::own(socket)?, WriteEnd::own(second)?))
}

/// A pipe that waits for processes of the same user.
#[derive(Debug)]
pub(crate) struct LocalListener {
    name: Vec<u16>,
    /// The end that the next client gets. There always is one, so that no client finds no pipe.
    next: Mutex<Waiting>,
}

impl LocalListener {
    /// Makes the pipe. Only the user may connect to it.
    pub(crate) fn bind(path: &Path) -> io::Result<Self> {
        let name = wide(&pipe_name(path));
        let next = Mutex::new(Waiting::new(&name, FILE_FLAG_FIRST_PIPE_INSTANCE)?);
        Ok(Self { name, next })
    }

    /// Waits for the next connection. Returns `None` when `wake` is fired or the deadline passes.
    pub(crate) fn accept(&self, wake: &Wake, deadline: Instant) -> io::Result<Option<Socket>> {
        let mut next = self.next.lock();
        let handles = [wake.raw(), next.event.as_raw_handle()];
        if fd::wait(&handles, Some(deadline))? != Some(1) {
            return Ok(None);
        }
        let following = Waiting::new(&self.name, 0)?;
        let connected = std::mem::replace(&mut *next, following);
        drop(next);
        // A client that has gone already is an error.
        Ok(connected.finish().ok())
    }
}

/// The end of a pipe to which no client has connected yet.
#[derive(Debug)]
struct Waiting {
    /// `None` when the client is connected.
    pipe: Option<OwnedHandle>,
    /// The event that is signaled when a client connects.
    event: OwnedHandle,
    overlapped: Overlapped,
}

/// The state of a pending connect, from `Box::into_raw`: the system uses it too.
struct Overlapped(*mut OVERLAPPED);

// SAFETY: the memory belongs to this value alone, and any thread may use and free it.
unsafe impl Send for Overlapped {}

impl std::fmt::Debug for Overlapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Overlapped")
    }
}

impl Waiting {
    fn new(name: &[u16], flags: u32) -> io::Result<Self> {
        let access = PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED | flags;
        let mode = PIPE_TYPE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS;
        let (most, size) = (PIPE_UNLIMITED_INSTANCES, PIPE_SIZE);
        let pipe = private::with_owner_only(|owner_only| {
            // SAFETY: the name ends in NUL; the attributes are valid during the call.
            own(unsafe {
                CreateNamedPipeW(name.as_ptr(), access, mode, most, size, size, 0, owner_only)
            })
        })??;
        let event = fd::event()?;
        // SAFETY: an `OVERLAPPED` is plain data, for which zeros are valid.
        let mut overlapped: OVERLAPPED = unsafe { std::mem::zeroed() };
        overlapped.hEvent = event.as_raw_handle();
        let waiting = Self {
            pipe: Some(pipe),
            event,
            overlapped: Overlapped(Box::into_raw(Box::new(overlapped))),
        };
        waiting.begin().map(|()| waiting)
    }

    /// Begins to wait for a client.
    fn begin(&self) -> io::Result<()> {
        let Some(pipe) = &self.pipe else {
            return Ok(());
        };
        // SAFETY: the handle is open. The memory stays in place until the connect is complete.
        let begun = check(unsafe { ConnectNamedPipe(pipe.as_raw_handle(), self.overlapped.0) });
        let Err(error) = begun else {
            return Ok(());
        };
        match error.raw_os_error().map(|code| code as u32) {
            Some(ERROR_IO_PENDING) => Ok(()),
            // A client was faster. Then the system does not signal the event.
            Some(ERROR_PIPE_CONNECTED) => {
                fd::set(&self.event);
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// Returns the pipe of the client that has connected.
    fn finish(mut self) -> io::Result<OwnedHandle> {
        let pipe = self.pipe.take().ok_or(io::ErrorKind::NotConnected)?;
        let mut count = 0;
        // SAFETY: the handle is open, and the event is signaled, so the connect is complete.
        check(unsafe {
            GetOverlappedResult(pipe.as_raw_handle(), self.overlapped.0, &raw mut count, 0)
        })?;
        Ok(pipe)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(pipe) = &self.pipe {
            let (handle, mut count) = (pipe.as_raw_handle(), 0);
            // SAFETY: the handle is open. The second call returns when the system no longer uses
            // the memory. If the first call finds no connect, then it is complete.
            unsafe {
                CancelIoEx(handle, self.overlapped.0);
                GetOverlappedResult(handle, self.overlapped.0, &raw mut count, 1);
            }
        }
        // SAFETY: the memory comes from `Box::into_raw`, is freed once, and no connect is pending.
        drop(unsafe { Box::from_raw(self.overlapped.0) });
    }
}

/// Connects to the pipe of an instance, which a process of the same user has made. Fails with
/// `TimedOut` if the connection is not made within `span`, and with `PermissionDenied` if the pipe
/// belongs to another user.
pub(crate) fn connect(path: &Path, span: Duration) -> io::Result<Socket> {
    let name = wide(&pipe_name(path));
    let deadline = Instant::now() + span;
    let access = GENERIC_READ | GENERIC_WRITE;
    // The process that made the pipe must not act as this user.
    let flags = FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION;
    let pipe = loop {
        let (none, no_template) = (ptr::null(), ptr::null_mut());
        // SAFETY: the name ends in NUL, and the other pointers may be null.
        let opened = own(unsafe {
            CreateFileW(
                name.as_ptr(),
                access,
                0,
                none,
                OPEN_EXISTING,
                flags,
                no_template,
            )
        });
        match opened {
            Err(error) if error.raw_os_error() == Some(ERROR_PIPE_BUSY as i32) => {}
            opened => break opened?,
        }
        if Instant::now() >= deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        // SAFETY: the name ends in NUL. If the wait fails, the next attempt says why.
        unsafe { WaitNamedPipeW(name.as_ptr(), fd::millis_until(deadline).max(1)) };
    };
    let pipe = File::from(pipe);
    if Access::of_file(&pipe)?.owner != user()? {
        let text = "a process of another user has made the pipe";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    Ok(pipe.into())
}

/// Whether it is certain that no process has a pipe for an instance.
pub(crate) fn is_unused(path: &Path) -> bool {
    let name = wide(&pipe_name(path));
    // SAFETY: the name ends in NUL.
    let waited = check(unsafe { WaitNamedPipeW(name.as_ptr(), 1) });
    waited.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Waits for changes of the files in a folder. On this system, the caller has to look from time to
/// time.
#[derive(Debug)]
pub(crate) struct FolderWatch;

impl FolderWatch {
    /// The maximum time in which a change is noticed without an event of the system.
    pub(crate) const INTERVAL: Duration = Duration::from_millis(100);

    pub(crate) fn new(_folder: &Path) -> io::Result<Self> {
        Ok(Self)
    }

    /// Blocks until `wake` is fired, or the deadline passes. Always returns true.
    pub(crate) fn wait(&self, wake: &Wake, deadline: Instant, _: &str) -> io::Result<bool> {
        wake.wait(Some(deadline)).map(|_| true)
    }
}
