//! Non-blocking TCP sockets with short waits.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::windows::io::{AsRawSocket, AsSocket, BorrowedSocket};
use std::path::PathBuf;
use std::ptr;
use std::time::{Duration, Instant};

use windows_sys::Win32::Networking::WinSock::{
    LINGER, MSG_PEEK, POLLRDNORM, POLLWRNORM, SEND_RECV_FLAGS, SO_LINGER, SOCKET, WSABUF,
    WSAEMSGSIZE, WSASend, recv,
};

pub(crate) use super::sockets::listen;
use super::sockets::{self, set_option, succeeded};

/// The maximum number of parts of one [`send`].
pub(crate) const MAX_PARTS: usize = 4;

/// A socket that accepts connections.
#[derive(Debug)]
pub(crate) struct Listener(TcpListener);

impl Listener {
    /// Returns the address of the socket.
    pub(crate) fn local(&self) -> Option<SocketAddr> {
        self.0.local_addr().ok()
    }

    /// Returns the path of a Unix socket. On this system there is none.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        None
    }

    pub(crate) fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        self.0.accept()
    }

    pub(crate) fn set_nonblocking(&self) -> io::Result<()> {
        self.0.set_nonblocking(true)
    }
}

impl TryFrom<TcpListener> for Listener {
    type Error = io::Error;

    fn try_from(listener: TcpListener) -> io::Result<Self> {
        Ok(Self(listener))
    }
}

impl AsSocket for Listener {
    fn as_socket(&self) -> BorrowedSocket<'_> {
        self.0.as_socket()
    }
}

/// Prepares a socket for the functions of this module: makes it non-blocking. On this system no
/// single call can be made non-blocking.
pub(crate) fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(true)
}

fn raw(stream: &TcpStream) -> SOCKET {
    stream.as_raw_socket() as SOCKET
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
    let spare = into.spare_capacity_mut();
    let len = room.min(spare.len());
    let mut count = receive_some(stream, spare.as_mut_ptr().cast(), len, 0)?;
    if patient && count.is_none() {
        let timeout = stream.read_timeout()?.unwrap_or(Duration::MAX);
        let deadline = Instant::now().checked_add(timeout);
        let deadline = deadline.unwrap_or_else(|| Instant::now() + Duration::from_secs(3600));
        if sockets::poll(&mut [sockets::entry(raw(stream), POLLRDNORM)], deadline)? {
            count = receive_some(stream, spare.as_mut_ptr().cast(), len, 0)?;
        }
    }
    if let Some(count) = count {
        // SAFETY: `count` bytes after the length have just been written.
        unsafe { into.set_len(into.len() + count) };
    }
    Ok(count)
}

/// Reads without blocking. `to` must be valid for `len` bytes.
fn receive_some(
    stream: &TcpStream,
    to: *mut u8,
    len: usize,
    flags: SEND_RECV_FLAGS,
) -> io::Result<Option<usize>> {
    let len = i32::try_from(len).unwrap_or(i32::MAX);
    // SAFETY: the socket is open, and the caller has room for that many bytes.
    let count = unsafe { recv(raw(stream), to, len, flags) };
    if let Ok(count) = usize::try_from(count) {
        return Ok(Some(count));
    }
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::WouldBlock => Ok(None),
        // More bytes have arrived than the buffer can take.
        _ if error.raw_os_error() == Some(WSAEMSGSIZE) => Ok(Some(len as usize)),
        _ => Err(error),
    }
}

/// Checks without blocking whether a read would return bytes. Returns `Some(true)` for bytes,
/// `Some(false)` at the end of the stream, and `None` when nothing has arrived. Fails when the
/// connection is lost.
pub(crate) fn peek(stream: &TcpStream) -> io::Result<Option<bool>> {
    let mut byte = [0u8];
    let count = receive_some(stream, byte.as_mut_ptr(), 1, MSG_PEEK)?;
    Ok(count.map(|count| count > 0))
}

/// Waits until a stream is readable, or `wake` is fired. Returns the indexes of the readable
/// streams, including those at their end or with an error. Returns `None` when the deadline passed.
pub(crate) fn wait_for_any<'a>(
    streams: impl Iterator<Item = &'a TcpStream>,
    wake: &sockets::SocketWake,
    deadline: Instant,
) -> io::Result<Option<Vec<usize>>> {
    let sockets = streams.map(raw).chain([wake.raw()]);
    let mut entries: Vec<_> = sockets
        .map(|socket| sockets::entry(socket, POLLRDNORM))
        .collect();
    if !sockets::poll(&mut entries, deadline)? {
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
    // The system reports the end of the peer's output (POLLHUP) without a request for it.
    matches!(
        sockets::poll(&mut [sockets::entry(raw(stream), 0)], Instant::now()),
        Ok(true)
    )
}

/// Sends up to [`MAX_PARTS`] parts in one call, as many bytes as the socket accepts. Does not
/// block. Returns the number of bytes sent.
pub(crate) fn send(stream: &TcpStream, parts: &[&[u8]]) -> io::Result<usize> {
    let mut list = [const {
        WSABUF {
            len: 0,
            buf: ptr::null_mut(),
        }
    }; MAX_PARTS];
    let mut used = 0;
    for (entry, part) in list
        .iter_mut()
        .zip(parts.iter().filter(|part| !part.is_empty()))
    {
        entry.buf = part.as_ptr().cast_mut();
        entry.len = u32::try_from(part.len()).unwrap_or(u32::MAX);
        used += 1;
        // The parts after a part that is not sent as a whole have to wait.
        if entry.len as usize != part.len() {
            break;
        }
    }
    let (mut sent, none) = (0, ptr::null_mut());
    // SAFETY: the socket is open. The list and its buffers outlive the call, which only reads them.
    let result = unsafe {
        WSASend(
            raw(stream),
            list.as_ptr(),
            used,
            &raw mut sent,
            0,
            none,
            None,
        )
    };
    match succeeded(result) {
        Ok(()) => Ok(sent as usize),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        Err(error) => Err(error),
    }
}

/// Waits until the socket is writable. Returns false when the deadline passed.
pub(crate) fn wait_for_room(stream: &TcpStream, deadline: Instant) -> io::Result<bool> {
    sockets::poll(&mut [sockets::entry(raw(stream), POLLWRNORM)], deadline)
}

/// Resets the connection when the socket is closed: unsent bytes are discarded. Until then the peer
/// sees an orderly end.
pub(crate) fn reset(stream: &TcpStream) {
    let at_once = LINGER {
        l_onoff: 1,
        l_linger: 0,
    };
    // If the call fails, the system sends the rest in the background.
    _ = set_option(raw(stream), SO_LINGER, &at_once);
    shut(stream, Shutdown::Both);
}

/// Shuts a socket down in one or both directions. The shutdown affects every thread that uses the
/// socket.
pub(crate) fn shut(stream: &TcpStream, how: Shutdown) {
    // The call can only fail if the peer has ended the connection before.
    _ = stream.shutdown(how);
}
