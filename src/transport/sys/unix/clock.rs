//! A clock that is cheap to read.

use libc::{clockid_t, timespec};

#[cfg(any(target_os = "linux", target_os = "android"))]
const CHEAP: clockid_t = libc::CLOCK_MONOTONIC_COARSE;
#[cfg(target_os = "macos")]
const CHEAP: clockid_t = libc::CLOCK_MONOTONIC_RAW_APPROX;
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "macos")))]
const CHEAP: clockid_t = libc::CLOCK_MONOTONIC;

/// A reading of the system's coarse clock, which advances every few milliseconds. Two readings are
/// equal if the clock has not advanced in between.
#[derive(Clone, Copy, PartialEq, Eq)]
#[allow(
    deprecated,
    reason = "musl: `time_t` will become wider, and so will the field of `timespec`"
)]
pub(crate) struct Tick(libc::time_t, libc::c_long);

/// Reads the coarse clock. Returns `None` when the system has no such clock.
pub(crate) fn tick() -> Option<Tick> {
    let mut time = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid `timespec`, which the call writes before it returns.
    let failed = unsafe { libc::clock_gettime(CHEAP, &raw mut time) } != 0;
    (!failed).then_some(Tick(time.tv_sec, time.tv_nsec))
}
