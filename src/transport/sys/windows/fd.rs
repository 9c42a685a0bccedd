//! Handles: private duplicates, pipes, waits, and wakeups. The module has the same name as its
//! counterpart for Unix descriptors.
//!
//! **Invariant:** a handle that this module creates is not inheritable. A child inherits
//! inheritable duplicates, which exist in this process only while the child is being started.

use std::io;
use std::os::windows::io::{AsRawHandle as _, BorrowedHandle, FromRawHandle as _, OwnedHandle};
pub(crate) use std::os::windows::io::{OwnedHandle as Owned, OwnedSocket};
use std::ptr;
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::{
    GENERIC_READ, GENERIC_WRITE, HANDLE, INVALID_HANDLE_VALUE, WAIT_FAILED, WAIT_TIMEOUT,
};
use windows_sys::Win32::Storage::FileSystem::{
    CreateFileW, FILE_FLAG_FIRST_PIPE_INSTANCE, FILE_FLAG_OVERLAPPED, OPEN_EXISTING,
    PIPE_ACCESS_INBOUND, PIPE_ACCESS_OUTBOUND,
};
use windows_sys::Win32::System::Pipes::{
    CreateNamedPipeW, PIPE_REJECT_REMOTE_CLIENTS, PIPE_TYPE_BYTE, PIPE_WAIT,
};
use windows_sys::Win32::System::Threading::{
    CreateEventW, INFINITE, ResetEvent, SetEvent, WaitForMultipleObjects,
};
use windows_sys::core::BOOL;

use super::random;
#[cfg(any(feature = "auth", feature = "http-server"))]
pub(crate) use super::sockets::SocketWake;
#[cfg(feature = "auth")]
pub(crate) use super::sockets::{listen as bind, socket, wait_readable};

/// The size of the buffer of a pipe or a transfer, in bytes.
pub(super) const PIPE_SIZE: u32 = 64 << 10;

/// Checks the result of a system call: returns the thread's last error if the result is 0.
pub(super) fn check(result: BOOL) -> io::Result<()> {
    if result == 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Takes ownership of a handle that a system call has returned.
pub(super) fn own(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() || handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the system has just made the handle, and no other code knows it.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// Returns the maximum number of handles of this process. The result is always `None`: the maximum
/// is unknown on this system.
#[cfg(feature = "http-server")]
pub(crate) fn most() -> Option<usize> {
    None
}

/// Whether an error means that the process or the system has no socket left.
#[cfg(feature = "http-server")]
pub(crate) fn is_exhausted(error: &io::Error) -> bool {
    use windows_sys::Win32::Foundation::ERROR_TOO_MANY_OPEN_FILES;
    use windows_sys::Win32::Networking::WinSock::{WSAEMFILE, WSAENOBUFS};
    let codes = [WSAEMFILE, WSAENOBUFS, ERROR_TOO_MANY_OPEN_FILES as i32];
    error
        .raw_os_error()
        .is_some_and(|code| codes.contains(&code))
}

/// Returns a private duplicate of a handle.
pub(crate) fn duplicate(handle: BorrowedHandle<'_>) -> io::Result<OwnedHandle> {
    handle.try_clone_to_owned()
}

/// The number of a handle.
#[cfg(feature = "cffi")]
pub(crate) type Raw = isize;

/// Returns the handle with this number. Returns `None` if the number is not positive: 0 is no
/// handle, and negative numbers stand for the current process, the current thread, and so on.
#[cfg(feature = "cffi")]
pub(crate) fn raw(number: isize) -> Option<Raw> {
    Some(number).filter(|number| *number > 0)
}

/// Returns a private duplicate of a handle of the host. For a closed handle the system returns an
/// error.
#[cfg(feature = "cffi")]
pub(crate) fn duplicate_raw(handle: Raw) -> io::Result<Owned> {
    // SAFETY: the handle is borrowed only for the duplication, which may fail.
    duplicate(unsafe { BorrowedHandle::borrow_raw(handle as HANDLE) })
}

/// Returns a private duplicate of a socket.
pub(crate) fn duplicate_socket(socket: &OwnedSocket) -> io::Result<OwnedSocket> {
    socket.try_clone()
}

/// Returns a text as the system expects it: UTF-16 with a NUL at the end.
pub(super) fn wide(text: &str) -> Vec<u16> {
    text.encode_utf16().chain([0]).collect()
}

/// The direction of a pipe between this process and a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    FromChild,
    ToChild,
}

/// Creates a pipe. Returns the end of this process, which was opened for overlapped transfers, and
/// the end of the child, which was not.
pub(super) fn pipe(direction: Direction) -> io::Result<(OwnedHandle, OwnedHandle)> {
    let mut number = [0; 16];
    random::fill(&mut number).map_err(|error| io::Error::other(error.to_string()))?;
    let number = u128::from_ne_bytes(number);
    // Unnamed pipes can't be overlapped. No other process can guess the name.
    let name = wide(&format!(
        r"\\.\pipe\mcplink-{}-{number:032x}",
        std::process::id()
    ));
    let (ours, theirs) = match direction {
        Direction::FromChild => (PIPE_ACCESS_INBOUND, GENERIC_WRITE),
        Direction::ToChild => (PIPE_ACCESS_OUTBOUND, GENERIC_READ),
    };
    let access = ours | FILE_FLAG_FIRST_PIPE_INSTANCE | FILE_FLAG_OVERLAPPED;
    let mode = PIPE_TYPE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS;
    let (size, no_security) = (PIPE_SIZE, ptr::null());
    // SAFETY: the name ends in NUL, and the default security needs no pointer.
    let ours = own(unsafe {
        CreateNamedPipeW(name.as_ptr(), access, mode, 1, size, size, 0, no_security)
    })?;
    let (share, exists) = (0, OPEN_EXISTING);
    // SAFETY: the name ends in NUL, and the other pointers may be null.
    let theirs = own(unsafe {
        CreateFileW(
            name.as_ptr(),
            theirs,
            share,
            no_security,
            exists,
            0,
            ptr::null_mut(),
        )
    })?;
    Ok((ours, theirs))
}

/// Creates a manual-reset event.
pub(super) fn event() -> io::Result<OwnedHandle> {
    // SAFETY: an event without a name and with the default security needs no pointers.
    own(unsafe { CreateEventW(ptr::null(), 1, 0, ptr::null()) })
}

pub(super) fn set(event: &OwnedHandle) {
    // SAFETY: the event is open. Setting an open event can't fail.
    unsafe { SetEvent(event.as_raw_handle()) };
}

pub(super) fn reset(event: &OwnedHandle) {
    // SAFETY: the event is open. Resetting an open event can't fail.
    unsafe { ResetEvent(event.as_raw_handle()) };
}

/// Waits until one of the handles is signaled, and returns the index of the first such handle.
/// Returns `None` when the deadline passes. Without a deadline the wait has no limit. All handles
/// must be open.
pub(super) fn wait(handles: &[HANDLE], deadline: Option<Instant>) -> io::Result<Option<usize>> {
    loop {
        let millis = deadline.map_or(INFINITE, millis_until);
        let count = handles.len() as u32;
        // SAFETY: the handles are open, and their number is given.
        let result = unsafe { WaitForMultipleObjects(count, handles.as_ptr(), 0, millis) };
        match result {
            WAIT_FAILED => return Err(io::Error::last_os_error()),
            WAIT_TIMEOUT if deadline.is_some_and(|at| Instant::now() < at) => {}
            WAIT_TIMEOUT => return Ok(None),
            index => return Ok(Some(index as usize)),
        }
    }
}

/// Returns the milliseconds until the deadline, rounded up, and less than [`INFINITE`].
pub(super) fn millis_until(deadline: Instant) -> u32 {
    let left = deadline.saturating_duration_since(Instant::now());
    let millis = (left + Duration::from_nanos(999_999)).as_millis();
    u32::try_from(millis.min(i32::MAX as u128)).unwrap_or(0)
}

/// A wakeup for a thread that waits for handles. A fired wakeup stays ready until it is cleared. So
/// a wakeup that is fired before the wait begins is not lost.
#[derive(Debug)]
pub(crate) struct Wake(OwnedHandle);

impl Wake {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(event()?))
    }

    /// Fires the wakeup. Allocates nothing and takes no lock.
    pub(crate) fn fire(&self) {
        set(&self.0);
    }

    /// Makes the wakeup not ready.
    #[cfg(feature = "cffi")]
    pub(crate) fn clear(&self) {
        reset(&self.0);
    }

    /// Waits until the wakeup is fired (returns true) or the deadline passes (returns false).
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> io::Result<bool> {
        Ok(wait(&[self.raw()], deadline)?.is_some())
    }

    pub(crate) fn raw(&self) -> HANDLE {
        self.0.as_raw_handle()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wakeup_stays_fired_and_a_deadline_is_kept() {
        let (first, second) = (
            Wake::new().expect("a handle"),
            Wake::new().expect("a handle"),
        );
        let handles = [first.raw(), second.raw()];
        let soon = Instant::now() + Duration::from_millis(20);
        assert_eq!(wait(&handles, Some(soon)).expect("a wait"), None);
        assert!(Instant::now() >= soon);
        second.fire();
        assert_eq!(wait(&handles, None).expect("a wait"), Some(1));
        assert_eq!(wait(&handles, None).expect("a wait"), Some(1));
        first.fire();
        assert_eq!(wait(&handles, None).expect("a wait"), Some(0));
    }
}
