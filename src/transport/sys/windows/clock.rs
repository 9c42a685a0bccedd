//! A clock that is cheap to read.

use windows_sys::Win32::System::SystemInformation::GetTickCount64;

/// A reading of the system's coarse clock, which advances every 10 to 16 milliseconds. Two readings
/// are equal if the clock has not advanced in between.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tick(u64);

/// Reads the coarse clock. The result is never `None` on this system.
pub(crate) fn tick() -> Option<Tick> {
    // SAFETY: the call has no arguments and can't fail.
    Some(Tick(unsafe { GetTickCount64() }))
}
