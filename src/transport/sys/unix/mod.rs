//! The platform layer for unix systems.

pub(crate) mod clock;
pub(crate) mod command;
#[cfg(target_os = "linux")]
mod epoll;
pub(crate) mod fd;
#[cfg(target_os = "linux")]
mod fork;
pub(crate) mod local;
pub(crate) mod origin;
#[cfg(any(feature = "http-client", feature = "http-server"))]
pub(crate) mod poller;
#[cfg_attr(not(feature = "auth"), expect(dead_code, reason = "token stores"))]
pub(crate) mod private;
pub(crate) mod process;
pub(crate) mod random;
pub(crate) mod read;
pub(crate) mod signal;
pub(crate) mod spawn;
pub(crate) mod standard;
#[cfg(feature = "http-server")]
pub(crate) mod tcp;
pub(crate) mod thread;
pub(crate) mod unix_socket;
pub(crate) mod write;
