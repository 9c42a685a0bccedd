//! Bytes that nobody can guess.

use std::io;

use crate::error::{Error, Result};

/// Fills `bytes` from the system's source of randomness. Waits only while a machine that has just started gathers it.
///
/// # Errors
///
/// When the system has none to give.
pub(crate) fn fill(bytes: &mut [u8]) -> Result<()> {
    // Both calls give up to 256 bytes at once, whole.
    for piece in bytes.chunks_mut(256) {
        fill_piece(piece)
            .map_err(|error| Error::io("asking the system for random bytes", error))?;
    }
    Ok(())
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn fill_piece(piece: &mut [u8]) -> io::Result<()> {
    loop {
        // SAFETY: the buffer is as long as said.
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
    // SAFETY: the buffer is as long as said.
    super::fd::check(unsafe { libc::getentropy(piece.as_mut_ptr().cast(), piece.len()) }).map(drop)
}
