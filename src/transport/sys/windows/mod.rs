//! The platform layer for Windows.

#[cfg(feature = "auth")]
pub(crate) mod browser;
pub(crate) mod clock;
pub(crate) mod command;
pub(crate) mod fd;
mod helper;
pub(crate) mod local;
pub(crate) mod origin;
mod overlapped;
#[cfg(any(feature = "http-client", feature = "http-server"))]
pub(crate) mod poller;
#[cfg_attr(not(feature = "auth"), expect(dead_code, reason = "token stores"))]
pub(crate) mod private;
pub(crate) mod process;
pub(crate) mod random;
pub(crate) mod read;
#[cfg(any(feature = "auth", feature = "http-server"))]
mod sockets;
pub(crate) mod spawn;
pub(crate) mod standard;
#[cfg(feature = "http-server")]
pub(crate) mod tcp;
pub(crate) mod thread;
#[cfg(any(feature = "http-client", feature = "http-server"))]
pub(crate) mod unix_socket;
pub(crate) mod write;
