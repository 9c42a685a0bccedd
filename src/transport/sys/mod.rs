//! The platform layer: threads, descriptors, signals, processes.
//!
//! This layer is a thin, safe wrapper around system calls that the standard library does not offer.
//! It changes no process-wide state, except in [`standard::claim`]. The host requests such a claim,
//! and the end of the claim restores the state.
#![allow(
    unsafe_code,
    reason = "system calls; the rest of the crate is free of it, cffi aside"
)]

#[cfg(not(unix))]
compile_error!(
    "mcplink runs on unix systems only so far; Windows is planned. Build for a unix target"
);

#[cfg(unix)]
mod unix;

#[cfg(all(unix, feature = "http-server"))]
pub(crate) use unix::tcp;
#[cfg(unix)]
pub(crate) use unix::{
    clock, command, fd, origin, process, random, read, spawn, standard, thread, write,
};
