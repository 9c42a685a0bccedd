//! File descriptors: private ones, pairs, polling, wakeups.
//!
//! **Invariant:** a descriptor that this module creates is close-on-exec and not below 3. So no
//! child inherits the descriptor, and it is never mistaken for a standard stream.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

#[cfg(feature = "auth")]
pub(crate) use std::os::fd::BorrowedFd as BorrowedSocket;
/// The types of descriptors and of sockets. On Unix a socket is a descriptor.
pub(crate) use std::os::fd::{OwnedFd as Owned, OwnedFd as OwnedSocket};

use libc::c_int;

/// Checks the result of a system call: returns the error in `errno` if the result is `-1`.
pub(super) fn check(result: c_int) -> io::Result<c_int> {
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Returns the soft limit for the number of descriptors of this process. Returns `None` if the
/// number is unlimited or the limit is unknown.
#[cfg(feature = "http-server")]
pub(crate) fn most() -> Option<usize> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a valid `rlimit`.
    let is_known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } == 0;
    // A value that does not fit is unlimited, such as the system's `RLIM_INFINITY`.
    is_known.then(|| usize::try_from(limit.rlim_cur).ok())?
}

/// Whether an error means that the process or the system has no descriptor left.
#[cfg(feature = "http-server")]
pub(crate) fn is_exhausted(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Returns a private duplicate of a descriptor.
pub(crate) fn duplicate(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    // SAFETY: the descriptor is open for as long as it is borrowed.
    let new = check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3) })?;
    // SAFETY: fcntl just made it, and no other code knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(new) })
}

/// The number of a descriptor.
#[cfg(feature = "cffi")]
pub(crate) type Raw = RawFd;

/// Returns the descriptor with this number, or `None` if no descriptor can have the number.
#[cfg(feature = "cffi")]
pub(crate) fn raw(number: isize) -> Option<Raw> {
    RawFd::try_from(number).ok().filter(|fd| *fd >= 0)
}

/// Returns a private duplicate of a descriptor of the host. For a closed descriptor the system
/// returns an error.
#[cfg(feature = "cffi")]
pub(crate) fn duplicate_raw(fd: Raw) -> io::Result<Owned> {
    // SAFETY: `fd` is not -1, and is borrowed only for the duplication, which may fail.
    duplicate(unsafe { BorrowedFd::borrow_raw(fd) })
}

/// Returns a private duplicate of a socket.
pub(crate) fn duplicate_socket(socket: &OwnedSocket) -> io::Result<OwnedSocket> {
    use std::os::fd::AsFd;
    duplicate(socket.as_fd())
}

/// Listens on an address.
#[cfg(feature = "auth")]
pub(crate) fn bind(address: impl std::net::ToSocketAddrs) -> io::Result<std::net::TcpListener> {
    std::net::TcpListener::bind(address)
}

/// Borrows the socket of a stream or of a listener.
#[cfg(feature = "auth")]
pub(crate) fn socket(source: &impl std::os::fd::AsFd) -> BorrowedSocket<'_> {
    source.as_fd()
}

/// Returns the descriptor, or a duplicate of it if its number is below 3. The numbers below 3
/// belong to the standard streams.
pub(super) fn private(fd: OwnedFd) -> io::Result<OwnedFd> {
    use std::os::fd::AsFd;
    if fd.as_raw_fd() < 3 {
        duplicate(fd.as_fd())
    } else {
        Ok(fd)
    }
}

fn private_pair(raw: [c_int; 2]) -> io::Result<(OwnedFd, OwnedFd)> {
    // SAFETY: the caller has just made both, and no other code knows them.
    let (first, second) = unsafe { (OwnedFd::from_raw_fd(raw[0]), OwnedFd::from_raw_fd(raw[1])) };
    Ok((private(first)?, private(second)?))
}

/// Creates two connected stream sockets.
pub(crate) fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (first, second) = std::os::unix::net::UnixStream::pair()?;
    Ok((private(first.into())?, private(second.into())?))
}

/// Creates a pipe. Returns its read end and its write end.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut raw = [0; 2];
    // SAFETY: there is room for two descriptors.
    check(unsafe { libc::pipe2(raw.as_mut_ptr(), libc::O_CLOEXEC) })?;
    private_pair(raw)
}

/// Creates a pipe. Returns its read end and its write end.
#[cfg(target_vendor = "apple")]
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut raw = [0; 2];
    // SAFETY: there is room for two descriptors.
    check(unsafe { libc::pipe(raw.as_mut_ptr()) })?;
    let pair = private_pair(raw)?;
    for fd in [&pair.0, &pair.1] {
        // SAFETY: the descriptor is open.
        check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) })?;
    }
    Ok(pair)
}

/// Makes an open file description non-blocking. Call it only for a description that no other
/// process shares.
pub(crate) fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the descriptor is open for as long as it is borrowed.
    let flags = check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) })?;
    // SAFETY: the descriptor is open for as long as it is borrowed.
    check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) })?;
    Ok(())
}

/// The kind of a descriptor. Reads and writes differ by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Socket,
    Pipe,
    /// A terminal or another device.
    Device,
    /// A regular file, which never blocks for long.
    File,
}

/// Returns the kind of a descriptor.
pub(crate) fn kind(fd: BorrowedFd<'_>) -> io::Result<Kind> {
    let mut stat = mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the descriptor is open and there is room for the answer.
    check(unsafe { libc::fstat(fd.as_raw_fd(), stat.as_mut_ptr()) })?;
    // SAFETY: fstat succeeded, so it has filled it in.
    Ok(match unsafe { stat.assume_init() }.st_mode & libc::S_IFMT {
        libc::S_IFSOCK => Kind::Socket,
        libc::S_IFIFO => Kind::Pipe,
        libc::S_IFREG => Kind::File,
        _ => Kind::Device,
    })
}

/// Opens the pipe behind `fd` again. The returned descriptor has an open file description of its
/// own, which is non-blocking.
///
/// The host, and often the host's parent, also use the description of `fd`. So the flags of that
/// description must not be changed.
#[cfg(target_os = "linux")]
pub(super) fn reopen_pipe(fd: BorrowedFd<'_>, access: c_int) -> io::Result<OwnedFd> {
    let path = std::ffi::CString::new(format!("/proc/self/fd/{}", fd.as_raw_fd()))?;
    let flags = access | libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY;
    // SAFETY: the path ends in NUL.
    let raw = check(unsafe { libc::open(path.as_ptr(), flags) })?;
    // SAFETY: open just made it, and no other code knows it.
    private(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Fails, because on these systems a pipe can't be opened again.
#[cfg(not(target_os = "linux"))]
pub(super) fn reopen_pipe(_: BorrowedFd<'_>, _: c_int) -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Shuts a socket down in one or both directions. The shutdown affects every thread that uses the
/// socket.
pub(super) fn shut(fd: BorrowedFd<'_>, how: std::net::Shutdown) {
    let how = match how {
        std::net::Shutdown::Read => libc::SHUT_RD,
        std::net::Shutdown::Write => libc::SHUT_WR,
        std::net::Shutdown::Both => libc::SHUT_RDWR,
    };
    // SAFETY: the descriptor is open. The call can only fail if the peer has ended the socket
    // before.
    unsafe { libc::shutdown(fd.as_raw_fd(), how) };
}

/// Returns the entry of one descriptor for [`poll`].
pub(super) fn entry(fd: RawFd, events: libc::c_short) -> libc::pollfd {
    libc::pollfd {
        fd,
        events,
        revents: 0,
    }
}

/// Waits until at least one of the descriptors is ready (returns true) or the deadline passes
/// (returns false). Without a deadline the wait has no limit.
pub(super) fn poll(fds: &mut [libc::pollfd], deadline: Option<Instant>) -> io::Result<bool> {
    let ready = until(deadline, |timeout| {
        // SAFETY: the entries are initialised, and their number is given.
        unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout) }
    })?;
    Ok(ready > 0)
}

/// Calls `wait` until something is ready or the deadline passes. The argument of `wait` is a
/// timeout in milliseconds; -1 means no limit. Returns the number of ready descriptors.
pub(super) fn until(
    deadline: Option<Instant>,
    mut wait: impl FnMut(c_int) -> c_int,
) -> io::Result<usize> {
    loop {
        match check(wait(deadline.map_or(-1, millis_until))) {
            Ok(0) if deadline.is_none_or(|at| Instant::now() < at) => {}
            Ok(ready) => return Ok(usize::try_from(ready).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns the milliseconds until the deadline, rounded up. If the time were rounded down, the last
/// fraction of a millisecond would be busy waiting.
fn millis_until(deadline: Instant) -> c_int {
    let left = deadline.saturating_duration_since(Instant::now());
    let millis = (left + Duration::from_nanos(999_999)).as_millis();
    c_int::try_from(millis).unwrap_or(c_int::MAX)
}

/// Returns the address of this thread's `errno`.
fn errno() -> *mut c_int {
    #[cfg(any(
        target_os = "linux",
        target_os = "hurd",
        target_os = "redox",
        target_os = "emscripten"
    ))]
    // SAFETY: the call only returns an address.
    let address = unsafe { libc::__errno_location() };
    #[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
    // SAFETY: the call only returns an address.
    let address = unsafe { libc::__error() };
    #[cfg(any(target_os = "android", target_os = "netbsd", target_os = "openbsd"))]
    // SAFETY: the call only returns an address.
    let address = unsafe { libc::__errno() };
    address
}

/// A wakeup for a thread that waits for sockets.
#[cfg(any(feature = "auth", feature = "http-server"))]
pub(crate) type SocketWake = Wake;

/// A wakeup for a thread that polls. A fired wakeup stays ready until it is cleared. So a wakeup
/// that is fired before the wait begins is not lost.
#[derive(Debug)]
pub(crate) struct Wake {
    polled: OwnedFd,
    #[cfg(not(target_os = "linux"))]
    written: OwnedFd,
}

impl Wake {
    #[cfg(target_os = "linux")]
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: no pointers are involved.
        let raw = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        // SAFETY: eventfd just made it, and no other code knows it.
        let polled = private(unsafe { OwnedFd::from_raw_fd(raw) })?;
        Ok(Self { polled })
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn new() -> io::Result<Self> {
        use std::os::fd::AsFd;
        let (polled, written) = pipe()?;
        set_nonblocking(polled.as_fd())?;
        set_nonblocking(written.as_fd())?;
        Ok(Self { polled, written })
    }

    /// Fires the wakeup. Safe in a signal handler: allocates nothing, takes no lock, and preserves
    /// `errno`.
    pub(crate) fn fire(&self) {
        #[cfg(target_os = "linux")]
        let fd = self.polled.as_raw_fd();
        #[cfg(not(target_os = "linux"))]
        let fd = self.written.as_raw_fd();
        let one = 1u64.to_ne_bytes();
        let errno = errno();
        // SAFETY: `errno` is this thread's own, and readable and writable.
        let before = unsafe { errno.read() };
        // SAFETY: the descriptor is open and the eight bytes are valid. The write fails only when
        // the counter or pipe is full, and then the wakeup has fired already. This process holds
        // the read end, so the write raises no SIGPIPE.
        unsafe { libc::write(fd, one.as_ptr().cast(), one.len()) };
        // SAFETY: `errno` is this thread's own, and readable and writable.
        unsafe { errno.write(before) };
    }

    /// Clears the wakeup, so that it is no longer ready.
    #[cfg(any(feature = "cffi", feature = "http-server"))]
    pub(crate) fn clear(&self) {
        let mut bytes = [0u8; 64];
        // SAFETY: the descriptor is open and the buffer is valid for its length. It does not block;
        // an empty read is fine.
        while unsafe { libc::read(self.raw(), bytes.as_mut_ptr().cast(), bytes.len()) }
            == bytes.len() as isize
        {}
    }

    /// Waits until the wakeup is fired (returns true) or the deadline passes (returns false).
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> io::Result<bool> {
        poll(&mut [entry(self.raw(), libc::POLLIN)], deadline)
    }

    pub(crate) fn raw(&self) -> RawFd {
        self.polled.as_raw_fd()
    }
}

/// Waits until a socket is readable, `wake` is fired, or the deadline passes. Returns for each
/// socket whether that socket is readable.
#[cfg(feature = "auth")]
pub(crate) fn wait_readable(
    sockets: &[BorrowedSocket<'_>],
    wake: &SocketWake,
    deadline: Instant,
) -> io::Result<Vec<bool>> {
    let fds = sockets.iter().map(|fd| entry(fd.as_raw_fd(), libc::POLLIN));
    let mut entries: Vec<_> = fds.chain([entry(wake.raw(), libc::POLLIN)]).collect();
    poll(&mut entries, Some(deadline))?;
    entries.pop();
    Ok(entries.iter().map(|entry| entry.revents != 0).collect())
}

/// The result of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ready {
    Input,
    Woken,
    Watched,
    /// The deadline has passed, and nothing is ready.
    Nothing,
}
