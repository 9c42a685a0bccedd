//! Claims this process's standard streams for the protocol, and restores them.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use libc::c_int;

use super::fd::{check, duplicate};
use crate::error::{Error, ErrorKind, Result};

/// A claim of the standard streams. Dropping the claim restores the streams.
#[derive(Debug)]
pub(crate) struct Claim {
    /// The descriptors to restore: number, duplicate of the original, descriptor flags. Empty when
    /// no descriptor was redirected.
    saved: Vec<(c_int, OwnedFd, c_int)>,
}

/// Creates private duplicates of standard input and output. With `redirect`, also redirects
/// descriptor 0 to the null device, and descriptor 1 to standard error.
///
/// # Errors
///
/// [`ErrorKind::State`] when standard input or output is closed. [`ErrorKind::Io`] when a system
/// call fails. After an error, no stream is changed.
pub(crate) fn claim(redirect: bool) -> Result<(OwnedFd, OwnedFd, Claim)> {
    let (input, input_flags) = private_copy(0, "input")?;
    let (output, output_flags) = private_copy(1, "output")?;
    let mut claim = Claim { saved: Vec::new() };
    if redirect {
        // Output that the host has buffered so far belongs to the original destination.
        flush_stdout();
        let doing = "redirecting the standard streams";
        let io = |error| Error::io(doing, error);
        let null = open_null().map_err(io)?;
        let saved = duplicate(input.as_fd()).map_err(io)?;
        replace(0, null.as_fd(), 0).map_err(io)?;
        claim.saved.push((0, saved, input_flags));
        let saved = duplicate(output.as_fd()).map_err(io)?;
        // Standard error may be closed. Then stray output goes to the null device.
        let stray = standard(2)
            .ok_or(())
            .and_then(|fd| duplicate(fd).map_err(drop));
        replace(1, stray.as_ref().unwrap_or(&null).as_fd(), 0).map_err(io)?;
        claim.saved.push((1, saved, output_flags));
    }
    Ok((input, output, claim))
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.saved.is_empty() {
            // Output that was printed meanwhile belongs to standard error.
            flush_stdout();
        }
        for (number, fd, flags) in self.saved.drain(..) {
            // A failure can't be reported here, and is not expected: both descriptors are open.
            drop(replace(number, fd.as_fd(), flags));
        }
    }
}

fn private_copy(number: c_int, name: &str) -> Result<(OwnedFd, c_int)> {
    let Some(fd) = standard(number) else {
        let text = format!(
            "standard {name} (descriptor {number}) is closed; start this process with it open, or serve another transport"
        );
        return Err(Error::new(ErrorKind::State, text));
    };
    let doing = format_args!("duplicating standard {name}");
    let copy = duplicate(fd).map_err(|error| Error::io(doing, error))?;
    // SAFETY: the descriptor is open.
    let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
    Ok((copy, flags.max(0)))
}

/// Returns the standard stream with this number. Returns `None` if the stream is closed.
fn standard(number: c_int) -> Option<BorrowedFd<'static>> {
    // SAFETY: the query is harmless on a closed descriptor, too.
    let is_open = unsafe { libc::fcntl(number, libc::F_GETFD) } != -1;
    // SAFETY: the stream is open, and standard streams stay open. A host that closes a stream while
    // it is being claimed only gets an error.
    is_open.then(|| unsafe { BorrowedFd::borrow_raw(number) })
}

fn replace(number: c_int, by: BorrowedFd<'_>, flags: c_int) -> io::Result<()> {
    loop {
        // SAFETY: both are numbers of open descriptors; the one of `number` has been duplicated
        // before.
        match check(unsafe { libc::dup2(by.as_raw_fd(), number) }) {
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    // SAFETY: the descriptor is open.
    check(unsafe { libc::fcntl(number, libc::F_SETFD, flags) })?;
    Ok(())
}

fn open_null() -> io::Result<OwnedFd> {
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    Ok(file.into())
}

/// Flushes C's `stdout` only. `fflush(NULL)` would take the lock of every stream. So it would wait
/// for any thread of the host that blocks in `getline` on a pipe.
fn flush_stdout() {
    #[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
    use __stdoutp as stdout;
    unsafe extern "C" {
        #[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
        static __stdoutp: *mut libc::FILE;
        #[cfg(not(any(target_vendor = "apple", target_os = "freebsd")))]
        static stdout: *mut libc::FILE;
    }
    // SAFETY: the C library initialises the pointer before main; fflush takes the stream's own
    // lock.
    unsafe { libc::fflush(stdout) };
}
