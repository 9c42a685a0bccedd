//! Locks of files, which end with their process.

use std::fs::{File, TryLockError};
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// The pause between attempts to lock a file that another process has locked.
const PAUSE: Duration = Duration::from_millis(5);

/// Locks a file or folder until the file is closed. Fails with `TimedOut` if another process has
/// the lock for longer than `span`.
pub(crate) fn lock(file: &File, span: Duration) -> io::Result<()> {
    let deadline = Instant::now() + span;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                let text = "another process has locked it";
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}
