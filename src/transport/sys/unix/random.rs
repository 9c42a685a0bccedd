//! Unpredictable random bytes.

use std::io;

use crate::error::{Error, Result};

/// Fills `bytes` from the system's random number generator. Blocks only on a machine that has just
/// started, until the generator is seeded.
///
/// # Errors
///
/// An error when the system can't provide random bytes.
pub(crate) fn fill(bytes: &mut [u8]) -> Result<()> {
    // Both system calls return up to 256 bytes at once, without a partial result.
    for piece in bytes.chunks_mut(256) {
        fill_piece(piece)
            .map_err(|error| Error::io("asking the system for random bytes", error))?;
    }
    Ok(())
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn fill_piece(piece: &mut [u8]) -> io::Result<()> {
    loop {
        // SAFETY: the buffer is valid for its length.
        let count = unsafe { libc::getrandom(piece.as_mut_ptr().cast(), piece.len(), 0) };
        if usize::try_from(count) == Ok(piece.len()) {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if count < 0 && error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn fill_piece(piece: &mut [u8]) -> io::Result<()> {
    // SAFETY: the buffer is valid for its length.
    super::fd::check(unsafe { libc::getentropy(piece.as_mut_ptr().cast(), piece.len()) }).map(drop)
}
