//! The platform layer: threads, descriptors, signals, processes.
//!
//! This layer is a thin, safe wrapper around system calls that the standard library does not offer.
//! It changes no process-wide state, except in [`standard::claim`]. The host requests such a claim,
//! and the end of the claim restores the state.
#![allow(
    unsafe_code,
    reason = "system calls; the rest of the crate is free of it, cffi aside"
)]

mod child_command;
pub(crate) mod file_lock;
mod start_thread;

#[cfg(not(any(unix, windows)))]
compile_error!("mcplink runs on Unix systems and on Windows only");

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as system;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as system;

#[cfg(all(windows, feature = "auth"))]
pub(crate) use system::browser;
#[cfg(any(feature = "http-client", feature = "http-server"))]
pub(crate) use system::poller;
#[cfg(feature = "http-server")]
pub(crate) use system::tcp;
#[cfg(any(feature = "http-client", feature = "http-server"))]
pub(crate) use system::unix_socket;
pub(crate) use system::{
    clock, command, fd, local, origin, private, process, random, read, spawn, standard, thread,
    write,
};

pub(crate) use child_command::{Command, Stderr};
