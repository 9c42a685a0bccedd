//! Sockets between the processes of one user, and the folder in which these processes find each
//! other.

use std::env;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::fd::{self, Wake};
use super::private::User;
use super::read::ReadEnd;
use super::unix_socket;
use super::write::WriteEnd;

/// The maximum wait for an answer of the process that listens at a path.
const PROBE: Duration = Duration::from_millis(100);

/// The file name extension of a socket.
pub(crate) const EXTENSION: &str = "sock";

/// A connection between two processes of one user.
pub(crate) type Socket = OwnedFd;

/// Returns the user of this process. Never fails on this system.
#[expect(clippy::unnecessary_wraps, reason = "it can fail on Windows")]
pub(crate) fn user() -> io::Result<User> {
    Ok(own_user())
}

fn own_user() -> User {
    // SAFETY: the call has no conditions.
    unsafe { libc::geteuid() }
}

/// Returns the folder for sockets of this user's processes. The caller has to check that the folder
/// exists, and that it is the user's alone.
///
/// The folder of `XDG_RUNTIME_DIR` is used if it belongs to the user. Hosts of MCP servers often
/// start them with few environment variables, so the folder of that name is also found without the
/// variable. Without such a folder, the folder is one for temporary files.
#[expect(clippy::unnecessary_wraps, reason = "it can fail on Windows")]
pub(crate) fn runtime_folder() -> io::Result<PathBuf> {
    let user = own_user();
    let named = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let usual = PathBuf::from(format!("/run/user/{user}"));
    let is_usable = |path: &PathBuf| {
        path.is_absolute() && fs::metadata(path).is_ok_and(|it| it.is_dir() && it.uid() == user)
    };
    let found = named.into_iter().chain([usual]).find(is_usable);
    Ok(found.map_or_else(
        || PathBuf::from(format!("/tmp/mcplink-{user}")),
        |folder| folder.join("mcplink"),
    ))
}

/// Opens a file of the user's for reading. Follows no link in the last segment of the path. Fails
/// with `InvalidInput` if the file is no regular file, or belongs to another user.
pub(crate) fn open_own(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    let options = options
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let is_own = |found: &Metadata| found.is_file() && found.uid() == own_user();
    match options.open(path) {
        Ok(file) if is_own(&file.metadata()?) => Ok(file),
        // Systems have different errors for links.
        Err(error) if fs::symlink_metadata(path).map_or(true, |found| is_own(&found)) => Err(error),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Puts a file in the place of another one. A process that reads sees either of them.
pub(crate) fn replace(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// Returns the address of the socket at a path, for programs without this library.
pub(crate) fn endpoint(path: &Path) -> String {
    format!("unix:{}", path.display())
}

/// Splits a connection into its two ends.
pub(crate) fn ends(socket: Socket) -> io::Result<(ReadEnd, WriteEnd)> {
    let second = fd::duplicate_socket(&socket)?;
    Ok((ReadEnd::socket(socket)?, WriteEnd::socket(second)?))
}

/// A socket that listens for processes of the same user.
#[derive(Debug)]
pub(crate) struct LocalListener(UnixListener);

impl LocalListener {
    /// Listens on a new socket at a path. Only the user may connect to it.
    pub(crate) fn bind(path: &Path) -> io::Result<Self> {
        let listener = unix_socket::bind(path)?;
        listener.set_nonblocking(true)?;
        Ok(Self(listener))
    }

    /// Waits for the next connection. Returns `None` when `wake` is fired or the deadline passes.
    /// Connections of other users are closed.
    pub(crate) fn accept(&self, wake: &Wake, deadline: Instant) -> io::Result<Option<Socket>> {
        loop {
            let mut entries = [
                fd::entry(self.0.as_raw_fd(), libc::POLLIN),
                fd::entry(wake.raw(), libc::POLLIN),
            ];
            if !fd::poll(&mut entries, Some(deadline))? || entries[1].revents != 0 {
                return Ok(None);
            }
            match self.0.accept() {
                Ok((stream, _)) => {
                    let stream = fd::private(stream.into())?;
                    if peer_user(&stream).is_ok_and(|peer| peer == own_user()) {
                        return Ok(Some(stream));
                    }
                }
                // The client has gone already, or a signal came.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock
                            | io::ErrorKind::Interrupted
                            | io::ErrorKind::ConnectionAborted
                    ) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Connects to the socket at a path, on which a process of the same user listens. Fails with
/// `TimedOut` if the connection is not made within `span`, and with `PermissionDenied` if another
/// user's process listens.
pub(crate) fn connect(path: &Path, span: Duration) -> io::Result<Socket> {
    let socket = Socket::from(unix_socket::connect(path, span)?);
    if peer_user(&socket)? != own_user() {
        let text = "a process of another user listens there";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    Ok(socket)
}

/// Whether it is certain that no process listens on the socket at a path.
pub(crate) fn is_unused(path: &Path) -> bool {
    use io::ErrorKind::{ConnectionRefused, NotFound};

    let is_socket = fs::symlink_metadata(path).map(|found| found.file_type().is_socket());
    match is_socket {
        Ok(true) => unix_socket::connect(path, PROBE)
            .is_err_and(|error| matches!(error.kind(), ConnectionRefused | NotFound)),
        Ok(false) => true,
        Err(error) => error.kind() == NotFound,
    }
}

/// Returns the user of the process at the other end of a Unix socket.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn peer_user(socket: &impl AsFd) -> io::Result<User> {
    let mut peer = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the descriptor is open, and `len` is the length of the value that is filled in.
    fd::check(unsafe {
        let (level, name) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
        libc::getsockopt(fd, level, name, (&raw mut peer).cast(), &raw mut len)
    })?;
    Ok(peer.uid)
}

/// Returns the user of the process at the other end of a Unix socket.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn peer_user(socket: &impl AsFd) -> io::Result<User> {
    let (mut user, mut group) = (0, 0);
    // SAFETY: the descriptor is open, and there is room for both numbers.
    fd::check(unsafe {
        libc::getpeereid(socket.as_fd().as_raw_fd(), &raw mut user, &raw mut group)
    })?;
    Ok(user)
}

/// Waits for changes of the files in a folder.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(crate) struct FolderWatch(OwnedFd);

#[cfg(target_os = "linux")]
impl FolderWatch {
    /// The maximum time in which a change is noticed without an event of the system. A process that
    /// is killed closes its files, which is an event.
    pub(crate) const INTERVAL: Duration = Duration::from_secs(60);

    pub(crate) fn new(folder: &Path) -> io::Result<Self> {
        use std::os::fd::FromRawFd as _;
        use std::os::unix::ffi::OsStrExt as _;

        let path = std::ffi::CString::new(folder.as_os_str().as_bytes())?;
        let flags = libc::IN_CLOEXEC | libc::IN_NONBLOCK;
        // SAFETY: the call has no further conditions.
        let raw = fd::check(unsafe { libc::inotify_init1(flags) })?;
        // SAFETY: the call just made the descriptor, and no other code knows it.
        let watch = fd::private(unsafe { OwnedFd::from_raw_fd(raw) })?;
        let events = libc::IN_CLOSE_WRITE
            | libc::IN_CREATE
            | libc::IN_DELETE
            | libc::IN_MOVED_FROM
            | libc::IN_MOVED_TO
            | libc::IN_DELETE_SELF
            | libc::IN_MOVE_SELF
            | libc::IN_ONLYDIR;
        // SAFETY: the descriptor is open, and the path ends in NUL.
        fd::check(unsafe { libc::inotify_add_watch(watch.as_raw_fd(), path.as_ptr(), events) })?;
        Ok(Self(watch))
    }

    /// Blocks until files other than `ignored` may have changed, `wake` is fired, or the deadline
    /// passes. Returns false if the folder itself has gone.
    pub(crate) fn wait(&self, wake: &Wake, deadline: Instant, ignored: &str) -> io::Result<bool> {
        loop {
            let mut entries = [
                fd::entry(self.0.as_raw_fd(), libc::POLLIN),
                fd::entry(wake.raw(), libc::POLLIN),
            ];
            let is_ready = fd::poll(&mut entries, Some(deadline))?;
            match self.read(ignored.as_bytes()) {
                Event::Gone => return Ok(false),
                Event::Nothing if is_ready && entries[1].revents == 0 => {}
                _ => return Ok(true),
            }
        }
    }

    /// Reads all events that have come.
    fn read(&self, ignored: &[u8]) -> Event {
        const GONE: u32 = libc::IN_DELETE_SELF | libc::IN_MOVE_SELF | libc::IN_IGNORED;
        let mut event = Event::Nothing;
        let mut bytes = [0u8; 4096];
        loop {
            // SAFETY: the descriptor is open, and the buffer is valid for its length.
            let count =
                unsafe { libc::read(self.0.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len()) };
            let read = usize::try_from(count).ok().and_then(|len| bytes.get(..len));
            let Some(mut rest) = read else {
                return event;
            };
            // An event is a header of 16 bytes, with its mask in the second four and the length of
            // the name in the last four, and then the name with zeros.
            while let Some((header, names)) = rest.split_first_chunk::<16>() {
                let number = |at: usize| {
                    let bytes = header
                        .get(at..at + 4)
                        .and_then(|bytes| bytes.try_into().ok());
                    u32::from_ne_bytes(bytes.unwrap_or_default())
                };
                let (name, others) = names
                    .split_at_checked(number(12) as usize)
                    .unwrap_or_default();
                rest = others;
                let is_ignored = name.split(|byte| *byte == 0).next() == Some(ignored);
                event = match event {
                    _ if number(4) & GONE != 0 => Event::Gone,
                    Event::Nothing if !is_ignored => Event::Change,
                    event => event,
                };
            }
        }
    }
}

/// The meaning of the events of a folder that have come.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy)]
enum Event {
    Nothing,
    Change,
    Gone,
}

/// Waits for changes of the files in a folder. On this system, the caller has to look from time to
/// time.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub(crate) struct FolderWatch;

#[cfg(not(target_os = "linux"))]
impl FolderWatch {
    /// The maximum time in which a change is noticed without an event of the system.
    pub(crate) const INTERVAL: Duration = Duration::from_millis(100);

    pub(crate) fn new(_folder: &Path) -> io::Result<Self> {
        Ok(Self)
    }

    /// Blocks until `wake` is fired, or the deadline passes. Always returns true.
    pub(crate) fn wait(&self, wake: &Wake, deadline: Instant, _: &str) -> io::Result<bool> {
        fd::poll(&mut [fd::entry(wake.raw(), libc::POLLIN)], Some(deadline))?;
        Ok(true)
    }
}
