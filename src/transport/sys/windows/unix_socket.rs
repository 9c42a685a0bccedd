//! Unix sockets, which this library does not use on Windows.

use std::io;
#[cfg(feature = "http-client")]
use std::net::TcpStream;
use std::path::Path;
#[cfg(feature = "http-client")]
use std::time::Duration;

fn unsupported() -> io::Error {
    let text = "Unix sockets are not supported on Windows";
    io::Error::new(io::ErrorKind::Unsupported, text)
}

/// Fails with `Unsupported`.
#[cfg(feature = "http-client")]
pub(crate) fn connect(_: &Path, _: Duration) -> io::Result<TcpStream> {
    Err(unsupported())
}

/// The file of a socket that listens. On this system there is none.
#[cfg(feature = "http-server")]
#[derive(Debug)]
pub(crate) enum SocketFile {}

#[cfg(feature = "http-server")]
impl SocketFile {
    pub(crate) fn remove(self) {
        match self {}
    }
}

/// Fails with `Unsupported`.
#[cfg(feature = "http-server")]
pub(crate) fn listen(_: &Path) -> io::Result<(super::tcp::Listener, SocketFile)> {
    Err(unsupported())
}
