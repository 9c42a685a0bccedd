//! The clock that is cheap to ask.

use libc::{clockid_t, timespec};

#[cfg(any(target_os = "linux", target_os = "android"))]
const CHEAP: clockid_t = libc::CLOCK_MONOTONIC_COARSE;
#[cfg(target_os = "macos")]
const CHEAP: clockid_t = libc::CLOCK_MONOTONIC_RAW_APPROX;
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "macos")))]
const CHEAP: clockid_t = libc::CLOCK_MONOTONIC;

/// When the system's clock last moved on: it does every few milliseconds. Equal when it has not since. `None` when there is no such clock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tick(libc::time_t, libc::c_long);

pub(crate) fn tick() -> Option<Tick> {
    let mut time = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the place is one for a time, and written before the call returns.
    let failed = unsafe { libc::clock_gettime(CHEAP, &raw mut time) } != 0;
    (!failed).then_some(Tick(time.tv_sec, time.tv_nsec))
}
