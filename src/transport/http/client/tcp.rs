//! TCP connections whose reads can be made non-blocking, so that a poller can wait for many.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, LazyBuffers, NextTimeout, ShutdownHandle, Transport,
};
use ureq::{Error, Timeout};

use crate::transport::sys::unix_socket;

/// The minimum time for connecting to one address of a host that has several.
const MIN_PER_ADDRESS: Duration = Duration::from_millis(10);

/// The socket of a connection. Clones share the socket.
#[derive(Clone)]
pub(super) struct Socket {
    pub(super) stream: Arc<TcpStream>,
    /// Whether reads fail with `WouldBlock` instead of blocking. Only the thread that has the
    /// connection changes the flag and reads it, so the flag needs no ordering.
    is_polled: Arc<AtomicBool>,
}

impl Socket {
    /// Sets whether reads fail with `WouldBlock` instead of blocking.
    pub(super) fn set_polled(&self, is_polled: bool) {
        self.is_polled.store(is_polled, Ordering::Relaxed);
    }

    /// Reads the bytes that have arrived. Blocks for the first byte, unless the socket is polled.
    fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        let is_polled = self.is_polled.load(Ordering::Relaxed);
        if is_polled {
            self.stream.set_nonblocking(true)?;
        }
        let read = loop {
            match (&*self.stream).read(into) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        if is_polled {
            self.stream.set_nonblocking(false)?;
        }
        read
    }
}

/// The TCP transport below HTTP and TLS.
pub(super) struct TcpTransport {
    pub(super) socket: Socket,
    buffers: LazyBuffers,
    /// The timeouts that the socket has at the moment, for reads and for writes.
    timeouts: [Option<Duration>; 2],
}

impl TcpTransport {
    /// Connects to one of the addresses in `details`. Tries the addresses in order. Each address
    /// gets half of the time that is left, and the last one all of it.
    pub(super) fn open(details: &ConnectionDetails<'_>) -> Result<Self, Error> {
        let begun = Instant::now();
        let mut failure = Error::ConnectionFailed;
        for (at, address) in details.addrs.iter().enumerate() {
            let left = details.timeout.after.saturating_sub(begun.elapsed());
            let span = match details.addrs.len() - at {
                1 => left,
                _ => left / 2,
            };
            match connect(address, span.max(MIN_PER_ADDRESS)) {
                Ok(stream) => {
                    stream.set_nodelay(details.config.no_delay())?;
                    return Self::over(stream, details);
                }
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    failure = Error::Timeout(details.timeout.reason);
                }
                Err(error) if concerns_one_address(&error) => failure = error.into(),
                Err(error) => return Err(error.into()),
            }
        }
        Err(failure)
    }

    /// Connects to a Unix socket.
    pub(super) fn open_unix(path: &Path, details: &ConnectionDetails<'_>) -> Result<Self, Error> {
        let reason = details.timeout.reason;
        let stream = unix_socket::connect(path, *details.timeout.after)
            .map_err(|error| timed_out(error, reason))?;
        Self::over(stream, details)
    }

    /// Creates the transport over a connected socket.
    fn over(stream: TcpStream, details: &ConnectionDetails<'_>) -> Result<Self, Error> {
        let socket = Socket {
            stream: Arc::new(stream),
            is_polled: Arc::default(),
        };
        (details.register_shutdown)(shutdown_handle(&socket))?;
        let config = details.config;
        Ok(Self {
            socket,
            buffers: LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size()),
            timeouts: [None; 2],
        })
    }
}

fn connect(address: &SocketAddr, span: Duration) -> io::Result<TcpStream> {
    loop {
        match TcpStream::connect_timeout(address, span) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            connected => return connected,
        }
    }
}

/// Returns the handle with which another thread shuts the socket down.
fn shutdown_handle(socket: &Socket) -> Weak<dyn ShutdownHandle> {
    let handle: Weak<TcpStream> = Arc::downgrade(&socket.stream);
    handle
}

/// Whether a failure concerns only the address that was tried. The next address may still work.
fn concerns_one_address(error: &io::Error) -> bool {
    use io::ErrorKind as Io;
    /// The error of Windows when a firewall blocks an address family (WSAEACCES).
    const BLOCKED: i32 = 10013;
    matches!(
        error.kind(),
        Io::ConnectionRefused
            | Io::HostUnreachable
            | Io::NetworkUnreachable
            | Io::NetworkDown
            | Io::AddrNotAvailable
    ) || error.raw_os_error() == Some(BLOCKED)
}

/// Sets a timeout of the socket, unless it is set already.
fn set_timeout(
    timeout: NextTimeout,
    previous: &mut Option<Duration>,
    set: impl FnOnce(Option<Duration>) -> io::Result<()>,
) -> Result<(), Error> {
    let next = timeout.not_zero().map(|span| *span);
    if timeout.after.is_zero() {
        return Err(Error::Timeout(timeout.reason));
    }
    if next != *previous {
        match set(next) {
            Ok(()) => *previous = next,
            // macOS refuses this after the peer has closed. The read or write reports the reason.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Converts the error of a read or write that has a timeout.
fn timed_out(error: io::Error, reason: Timeout) -> Error {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Error::Timeout(reason),
        _ => error.into(),
    }
}

impl Transport for TcpTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let mut stream = &*self.socket.stream;
        set_timeout(timeout, &mut self.timeouts[1], |span| {
            stream.set_write_timeout(span)
        })?;
        let written = stream.write_all(&self.buffers.output()[..amount]);
        written.map_err(|error| timed_out(error, timeout.reason))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let stream = &*self.socket.stream;
        set_timeout(timeout, &mut self.timeouts[0], |span| {
            stream.set_read_timeout(span)
        })?;
        let read = self.socket.read(self.buffers.input_append_buf());
        let count = read.map_err(|error| match timeout.not_zero() {
            Some(_) => timed_out(error, timeout.reason),
            None => error.into(),
        })?;
        self.buffers.input_appended(count);
        Ok(count > 0)
    }

    fn is_open(&mut self) -> bool {
        // The server has nothing to send between two exchanges. So a byte is as bad as an end.
        self.socket.set_polled(true);
        let read = self.socket.read(&mut [0]);
        self.socket.set_polled(false);
        read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }
}

impl fmt::Debug for TcpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpTransport")
            .field("peer", &self.socket.stream.peer_addr().ok())
            .finish_non_exhaustive()
    }
}
