//! The platform's odd corners: threads, descriptors, signals, processes.
//!
//! Everything here is a thin, safe face over system calls that the standard library has no word for. Nothing process-wide is changed,
//! except by [`standard::claim`], which the host asks for and which puts everything back.
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

#[cfg(all(target_os = "linux", target_pointer_width = "64", not(loom)))]
pub(crate) use unix::futex;
#[cfg(all(unix, feature = "http-server"))]
pub(crate) use unix::tcp;
#[cfg(unix)]
pub(crate) use unix::{clock, fd, origin, process, random, read, spawn, standard, thread, write};
