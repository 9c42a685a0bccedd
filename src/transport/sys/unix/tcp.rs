//! Blocking TCP sockets with short reads and non-blocking writes.

use std::io;
use std::mem;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::ptr;
use std::time::Instant;

use super::fd;

/// The maximum number of parts of one [`send`].
pub(crate) const MAX_PARTS: usize = 4;

/// Listens on an address. The queue of connections that are not accepted yet has the maximum length
/// that the system allows.
pub(crate) fn listen(address: impl ToSocketAddrs) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    // SAFETY: the descriptor is open. If the call fails, the queue stays as it is.
    unsafe { libc::listen(listener.as_raw_fd(), 4096) };
    Ok(listener)
}

/// A socket that accepts connections: a TCP socket or a Unix socket.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// Returns the address of a TCP socket.
    pub(crate) fn local(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok(),
            Self::Unix(_) => None,
        }
    }

    /// Returns the path of a Unix socket, if it has one.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        match self {
            Self::Tcp(_) => None,
            Self::Unix(listener) => Some(listener.local_addr().ok()?.as_pathname()?.to_owned()),
        }
    }

    /// Accepts a connection. Returns the address of the client too. For a client of a Unix socket,
    /// this is the loopback address without a port.
    pub(crate) fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        match self {
            Self::Tcp(listener) => listener.accept(),
            Self::Unix(listener) => {
                let (stream, _) = listener.accept()?;
                let client = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
                Ok((OwnedFd::from(stream).into(), client))
            }
        }
    }

    pub(crate) fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Self::Tcp(listener) => listener.set_nonblocking(true),
            Self::Unix(listener) => listener.set_nonblocking(true),
        }
    }
}

impl TryFrom<TcpListener> for Listener {
    type Error = io::Error;

    /// Finds out the kind of a socket of the host, since a Unix socket can have this type too.
    fn try_from(listener: TcpListener) -> io::Result<Self> {
        let Err(error) = listener.local_addr() else {
            return Ok(Self::Tcp(listener));
        };
        let listener = UnixListener::from(OwnedFd::from(listener));
        listener.local_addr().map_err(|_| error)?;
        Ok(Self::Unix(listener))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix(listener) => listener.as_fd(),
        }
    }
}

/// Prepares a socket for [`send`], so that a send raises no SIGPIPE.
pub(crate) fn prepare(stream: &TcpStream) -> io::Result<()> {
    #[cfg(target_vendor = "apple")]
    super::write::no_sigpipe(stream.as_fd())?;
    #[cfg(not(target_vendor = "apple"))]
    let _ = stream;
    Ok(())
}

/// Reads at most `room` bytes and appends them to the buffer. If `patient`, blocks for the first
/// byte until the socket's own timeout. Returns `None` when no byte arrived, and `Some(0)` at the
/// end of the stream. Fails with `OutOfMemory` when the buffer can't grow.
pub(crate) fn receive(
    stream: &TcpStream,
    into: &mut Vec<u8>,
    room: usize,
    patient: bool,
) -> io::Result<Option<usize>> {
    into.try_reserve(room)
        .map_err(|_| io::ErrorKind::OutOfMemory)?;
    let flags = if patient { 0 } else { libc::MSG_DONTWAIT };
    let spare = into.spare_capacity_mut();
    let len = room.min(spare.len());
    // SAFETY: the descriptor is open and the spare capacity is at least that long.
    let count =
        retry(|| unsafe { libc::recv(stream.as_raw_fd(), spare.as_mut_ptr().cast(), len, flags) })?;
    if let Some(count) = count {
        // SAFETY: so many bytes after the length have just been written.
        unsafe { into.set_len(into.len() + count) };
    }
    Ok(count)
}

/// Checks without blocking whether a read would return bytes. Returns `Some(true)` for bytes,
/// `Some(false)` at the end of the stream, and `None` when nothing has arrived. Fails when the
/// connection is lost.
pub(crate) fn peek(stream: &TcpStream) -> io::Result<Option<bool>> {
    let mut byte = [0u8];
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    // SAFETY: the descriptor is open and there is room for one byte.
    let count =
        retry(|| unsafe { libc::recv(stream.as_raw_fd(), byte.as_mut_ptr().cast(), 1, flags) })?;
    Ok(count.map(|count| count > 0))
}

/// Waits until a stream is readable, or `wake` is fired. Returns the indexes of the readable
/// streams, including those at their end or with an error. Returns `None` when the deadline passed.
pub(crate) fn wait_for_any<'a>(
    streams: impl Iterator<Item = &'a TcpStream>,
    wake: &fd::SocketWake,
    deadline: Instant,
) -> io::Result<Option<Vec<usize>>> {
    let streams = streams.map(|stream| fd::entry(stream.as_raw_fd(), libc::POLLIN));
    let mut entries: Vec<_> = streams
        .chain([fd::entry(wake.raw(), libc::POLLIN)])
        .collect();
    if !fd::poll(&mut entries, Some(deadline))? {
        return Ok(None);
    }
    if entries.pop().is_some_and(|entry| entry.revents != 0) {
        wake.clear();
    }
    let ready = entries.iter().enumerate();
    let ready = ready.filter_map(|(index, entry)| (entry.revents != 0).then_some(index));
    Ok(Some(ready.collect()))
}

/// Whether the peer has half-closed the connection. The result is correct even while earlier bytes
/// are unread.
pub(crate) fn has_left(stream: &TcpStream) -> bool {
    #[cfg(target_os = "linux")]
    const LEFT: libc::c_short = libc::POLLRDHUP;
    #[cfg(not(target_os = "linux"))]
    const LEFT: libc::c_short = 0;
    let mut entries = [fd::entry(stream.as_raw_fd(), LEFT)];
    matches!(fd::poll(&mut entries, Some(Instant::now())), Ok(true))
}

/// Sends up to [`MAX_PARTS`] parts in one call, as many bytes as the socket accepts. Does not
/// block, and raises no SIGPIPE. Returns the number of bytes sent.
pub(crate) fn send(stream: &TcpStream, parts: &[&[u8]]) -> io::Result<usize> {
    let mut list = [const {
        libc::iovec {
            iov_base: ptr::null_mut(),
            iov_len: 0,
        }
    }; MAX_PARTS];
    let mut used = 0;
    for (entry, part) in list
        .iter_mut()
        .zip(parts.iter().filter(|part| !part.is_empty()))
    {
        entry.iov_base = part.as_ptr().cast_mut().cast();
        entry.iov_len = part.len();
        used += 1;
    }
    #[cfg(target_vendor = "apple")]
    let flags = libc::MSG_DONTWAIT;
    #[cfg(not(target_vendor = "apple"))]
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: a header without addresses and lists is all zeros.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = list.as_mut_ptr();
    // The type differs between systems; the number is small.
    message.msg_iovlen = used as _;
    // SAFETY: the descriptor is open. The list and its buffers outlive the call, which only reads
    // them.
    let sent = retry(|| unsafe { libc::sendmsg(stream.as_raw_fd(), &raw const message, flags) })?;
    Ok(sent.unwrap_or(0))
}

/// Waits until the socket is writable. Returns false when the deadline passed.
pub(crate) fn wait_for_room(stream: &TcpStream, deadline: Instant) -> io::Result<bool> {
    let mut entries = [fd::entry(stream.as_raw_fd(), libc::POLLOUT)];
    fd::poll(&mut entries, Some(deadline))
}

/// Resets the connection, where the system can do that at once. The peer sees an error, not an
/// orderly end.
pub(crate) fn reset(stream: &TcpStream) {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: an address is plain data.
        let mut nowhere: libc::sockaddr = unsafe { mem::zeroed() };
        nowhere.sa_family = libc::AF_UNSPEC as libc::sa_family_t;
        let len = size_of::<libc::sockaddr>() as libc::socklen_t;
        // SAFETY: the descriptor is open and the length is that of the address. Connecting to
        // AF_UNSPEC resets the socket.
        if unsafe { libc::connect(stream.as_raw_fd(), &raw const nowhere, len) } == 0 {
            return;
        }
    }
    shut(stream, Shutdown::Both);
}

/// Shuts a socket down in one or both directions. The shutdown affects every thread that uses the
/// socket.
pub(crate) fn shut(stream: &TcpStream, how: Shutdown) {
    fd::shut(stream.as_fd(), how);
}

/// Repeats a call while it is interrupted by signals. Returns `None` when the call would block.
fn retry(mut call: impl FnMut() -> libc::ssize_t) -> io::Result<Option<usize>> {
    loop {
        if let Ok(count) = usize::try_from(call()) {
            return Ok(Some(count));
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::Interrupted => {}
            io::ErrorKind::WouldBlock => return Ok(None),
            _ => return Err(error),
        }
    }
}
