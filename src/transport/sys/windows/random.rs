//! Unpredictable random bytes.

use std::io;
use std::ptr;

use windows_sys::Win32::Security::Cryptography::{
    BCRYPT_USE_SYSTEM_PREFERRED_RNG, BCryptGenRandom,
};

use crate::error::{Error, Result};

/// Fills `bytes` from the system's random number generator.
///
/// # Errors
///
/// An error when the system can't provide random bytes.
pub(crate) fn fill(bytes: &mut [u8]) -> Result<()> {
    for piece in bytes.chunks_mut(1 << 20) {
        let flags = BCRYPT_USE_SYSTEM_PREFERRED_RNG;
        // A piece has at most 1 MiB.
        let len = piece.len() as u32;
        // SAFETY: the buffer is valid for its length; the flag takes the place of a handle.
        let status = unsafe { BCryptGenRandom(ptr::null_mut(), piece.as_mut_ptr(), len, flags) };
        if status != 0 {
            let error = io::Error::other(format!("NTSTATUS {status:#010x}"));
            return Err(Error::io("asking the system for random bytes", error));
        }
    }
    Ok(())
}
