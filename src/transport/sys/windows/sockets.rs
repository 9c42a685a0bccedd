//! Waits for sockets, and the wakeup that ends such a wait.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::windows::io::AsRawSocket as _;
#[cfg(feature = "auth")]
use std::os::windows::io::{AsSocket, BorrowedSocket};
use std::time::Instant;

use windows_sys::Win32::Networking::WinSock::{SOCKET, WSAPOLLFD, WSAPoll};

use super::fd::millis_until;

/// Borrows the socket of a stream or of a listener.
#[cfg(feature = "auth")]
pub(crate) fn socket(source: &impl AsSocket) -> BorrowedSocket<'_> {
    source.as_socket()
}

/// A wakeup for a thread that waits for sockets: a datagram socket that is connected to itself.
/// [`WSAPoll`] can wait for sockets only.
#[derive(Debug)]
pub(crate) struct SocketWake(UdpSocket);

impl SocketWake {
    pub(crate) fn new() -> io::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        // A connected socket receives no datagrams from other sockets.
        socket.connect(socket.local_addr()?)?;
        socket.set_nonblocking(true)?;
        Ok(Self(socket))
    }

    /// Fires the wakeup.
    pub(crate) fn fire(&self) {
        // The call fails only if earlier datagrams fill the buffer, so the socket is ready already.
        _ = self.0.send(&[1]);
    }

    /// Makes the wakeup not ready.
    #[cfg(feature = "http-server")]
    pub(super) fn clear(&self) {
        let mut room = [0; 16];
        while self.0.recv(&mut room).is_ok() {}
    }

    pub(super) fn raw(&self) -> SOCKET {
        self.0.as_raw_socket() as SOCKET
    }
}

/// Returns the entry of one socket for [`poll`].
pub(super) fn entry(socket: SOCKET, events: i16) -> WSAPOLLFD {
    WSAPOLLFD {
        fd: socket,
        events,
        revents: 0,
    }
}

/// Waits until at least one of the sockets is ready (returns true) or the deadline passes (returns
/// false).
pub(super) fn poll(sockets: &mut [WSAPOLLFD], deadline: Instant) -> io::Result<bool> {
    loop {
        let millis = i32::try_from(millis_until(deadline)).unwrap_or(i32::MAX);
        // SAFETY: the entries are initialised, and their number is given.
        match unsafe { WSAPoll(sockets.as_mut_ptr(), sockets.len() as u32, millis) } {
            0 if Instant::now() < deadline => {}
            0 => return Ok(false),
            // For socket calls, the error of the thread is the same as WSAGetLastError.
            ready if ready < 0 => return Err(io::Error::last_os_error()),
            _ => return Ok(true),
        }
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
    use windows_sys::Win32::Networking::WinSock::POLLRDNORM;
    let sockets = sockets
        .iter()
        .map(|socket| socket.as_raw_socket() as SOCKET);
    let mut entries: Vec<_> = sockets
        .chain([wake.raw()])
        .map(|socket| entry(socket, POLLRDNORM))
        .collect();
    poll(&mut entries, deadline)?;
    entries.pop();
    Ok(entries.iter().map(|entry| entry.revents != 0).collect())
}

#[cfg(all(test, feature = "http-server"))]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_wakeup_of_sockets_is_cleared() {
        use windows_sys::Win32::Networking::WinSock::POLLRDNORM;
        let wake = SocketWake::new().expect("a socket");
        let is_ready = |millis| {
            let deadline = Instant::now() + Duration::from_millis(millis);
            poll(&mut [entry(wake.raw(), POLLRDNORM)], deadline).expect("a wait")
        };
        assert!(!is_ready(10));
        wake.fire();
        wake.fire();
        assert!(is_ready(10_000) && is_ready(10_000));
        wake.clear();
        assert!(!is_ready(10));
    }
}
