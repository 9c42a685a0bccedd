//! Sockets that listen, waits for sockets, and the wakeup that ends such a wait.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, ToSocketAddrs, UdpSocket};
use std::os::windows::io::{AsRawSocket as _, FromRawSocket as _, OwnedSocket};
#[cfg(feature = "auth")]
use std::os::windows::io::{AsSocket, BorrowedSocket};
use std::ptr;
use std::time::Instant;

use windows_sys::Win32::Networking::WinSock::{
    AF_INET, AF_INET6, IN_ADDR, IN_ADDR_0, IN6_ADDR, IN6_ADDR_0, INVALID_SOCKET, IPPROTO_TCP,
    SO_EXCLUSIVEADDRUSE, SOCK_STREAM, SOCKADDR, SOCKADDR_IN, SOCKADDR_IN6, SOCKADDR_IN6_0, SOCKET,
    SOL_SOCKET, SOMAXCONN, WSA_FLAG_NO_HANDLE_INHERIT, WSA_FLAG_OVERLAPPED, WSADATA, WSAPOLLFD,
    WSAPoll, WSASocketW, WSAStartup, bind, listen as listen_on, setsockopt,
};

use super::fd::millis_until;

/// Listens on an address. Fails if another socket uses the address, and prevents other sockets from
/// taking it over (`SO_EXCLUSIVEADDRUSE`). The queue of connections that are not accepted yet has
/// the maximum length that the system allows.
pub(crate) fn listen(address: impl ToSocketAddrs) -> io::Result<TcpListener> {
    start_sockets()?;
    let mut result = Err(io::ErrorKind::InvalidInput.into());
    for address in address.to_socket_addrs()? {
        result = listen_at(address);
        if result.is_ok() {
            break;
        }
    }
    result
}

/// Loads the system's socket library. The standard library does so only before its own calls.
fn start_sockets() -> io::Result<()> {
    // SAFETY: the structure is plain data, for which zeros are valid.
    let mut about: WSADATA = unsafe { std::mem::zeroed() };
    // SAFETY: there is room for the answer. The library stays loaded.
    match unsafe { WSAStartup(0x0202, &raw mut about) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

fn listen_at(address: SocketAddr) -> io::Result<TcpListener> {
    let family = match address {
        SocketAddr::V4(_) => AF_INET,
        SocketAddr::V6(_) => AF_INET6,
    };
    let flags = WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT;
    // SAFETY: the protocol needs no further information.
    let raw = unsafe {
        WSASocketW(
            family.into(),
            SOCK_STREAM,
            IPPROTO_TCP,
            ptr::null(),
            0,
            flags,
        )
    };
    if raw == INVALID_SOCKET {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the system has just made the socket, and no other code knows it.
    let socket = unsafe { OwnedSocket::from_raw_socket(raw as u64) };
    set_option(raw, SO_EXCLUSIVEADDRUSE, &1i32)?;
    succeeded(bind_to(raw, address)).map_err(|error| match error.kind() {
        // A socket of another user has the address.
        io::ErrorKind::PermissionDenied => io::ErrorKind::AddrInUse.into(),
        _ => error,
    })?;
    // SAFETY: the socket is open.
    succeeded(unsafe { listen_on(raw, SOMAXCONN as i32) })?;
    Ok(socket.into())
}

/// Binds a socket to an address. Returns 0 on success.
fn bind_to(raw: SOCKET, address: SocketAddr) -> i32 {
    match address {
        SocketAddr::V4(address) => {
            let ip = u32::from_ne_bytes(address.ip().octets());
            let name = SOCKADDR_IN {
                sin_family: AF_INET,
                sin_port: address.port().to_be(),
                sin_addr: IN_ADDR {
                    S_un: IN_ADDR_0 { S_addr: ip },
                },
                sin_zero: [0; 8],
            };
            let len = size_of_val(&name) as i32;
            // SAFETY: the socket is open, and the address has that length.
            unsafe { bind(raw, (&raw const name).cast::<SOCKADDR>(), len) }
        }
        SocketAddr::V6(address) => {
            let name = SOCKADDR_IN6 {
                sin6_family: AF_INET6,
                sin6_port: address.port().to_be(),
                sin6_flowinfo: address.flowinfo(),
                sin6_addr: IN6_ADDR {
                    u: IN6_ADDR_0 {
                        Byte: address.ip().octets(),
                    },
                },
                Anonymous: SOCKADDR_IN6_0 {
                    sin6_scope_id: address.scope_id(),
                },
            };
            let len = size_of_val(&name) as i32;
            // SAFETY: the socket is open, and the address has that length.
            unsafe { bind(raw, (&raw const name).cast::<SOCKADDR>(), len) }
        }
    }
}

/// Checks the result of a socket call that returns 0 on success.
pub(super) fn succeeded(result: i32) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets an option of a socket.
pub(super) fn set_option<T>(socket: SOCKET, name: i32, value: &T) -> io::Result<()> {
    let (value, len) = (ptr::from_ref(value).cast(), size_of::<T>() as i32);
    // SAFETY: the socket is open; the value has that length.
    succeeded(unsafe { setsockopt(socket, SOL_SOCKET, name, value, len) })
}

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
        // SAFETY: the entries are initialized, and their number is given.
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
