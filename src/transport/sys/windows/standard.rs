//! Claims this process's standard streams for the protocol, and restores them.
//!
//! There are two tables of standard streams: the handles of the process, which Rust uses, and the
//! descriptors of the C library, which `printf` uses. Both are redirected. A plug-in that was
//! linked with a C library of its own has a third table, which is out of reach: its `printf` still
//! writes to the original handle.

use std::ffi::{c_int, c_void};
use std::io;
use std::os::windows::io::{AsRawHandle as _, BorrowedHandle, IntoRawHandle as _, OwnedHandle};

use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Console::{
    GetStdHandle, STD_ERROR_HANDLE, STD_HANDLE, STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, SetStdHandle,
};

use super::fd::{check, duplicate};
use crate::error::{Error, ErrorKind, Result};

unsafe extern "C" {
    fn _dup(fd: c_int) -> c_int;
    fn _dup2(from: c_int, to: c_int) -> c_int;
    fn _close(fd: c_int) -> c_int;
    fn _get_osfhandle(fd: c_int) -> isize;
    fn _open_osfhandle(handle: isize, flags: c_int) -> c_int;
    fn __acrt_iob_func(index: u32) -> *mut c_void;
    fn fflush(stream: *mut c_void) -> c_int;
}

/// A claim of the standard streams. Dropping the claim restores the streams.
#[derive(Debug)]
pub(crate) struct Claim {
    /// The streams to restore. Empty when no stream was redirected.
    saved: Vec<Saved>,
}

/// A redirected stream.
#[derive(Debug)]
struct Saved {
    which: STD_HANDLE,
    /// The descriptor of the stream in the C library.
    number: c_int,
    /// A duplicate of the original descriptor, or the original handle if the C library has no such
    /// descriptor.
    original: Original,
    /// The handle that takes the stream's place, until the stream is restored.
    instead: OwnedHandle,
}

#[derive(Debug)]
enum Original {
    Descriptor(c_int),
    Handle(usize),
}

/// Creates private duplicates of standard input and output. With `redirect`, also redirects
/// standard input to the null device, and standard output to standard error.
///
/// # Errors
///
/// [`ErrorKind::State`] when standard input or output is closed. [`ErrorKind::Io`] when a system
/// call fails. After an error, no stream is changed.
pub(crate) fn claim(redirect: bool) -> Result<(OwnedHandle, OwnedHandle, Claim)> {
    let input = private_copy(STD_INPUT_HANDLE, "input")?;
    let output = private_copy(STD_OUTPUT_HANDLE, "output")?;
    let mut claim = Claim { saved: Vec::new() };
    if redirect {
        // Output that the host has buffered so far belongs to the original destination.
        flush_stdout();
        let io = |error| Error::io("redirecting the standard streams", error);
        let null = || open_null().map_err(io);
        // A child that inherits the original handle would hang at its start, because this process
        // blocks in a read of the same pipe.
        let saved = replace(STD_INPUT_HANDLE, 0, null()?).map_err(io)?;
        claim.saved.push(saved);
        // Standard error may be closed. Then stray output goes to the null device.
        let stray = match standard(STD_ERROR_HANDLE).map(duplicate) {
            Some(Ok(stray)) => stray,
            _ => null()?,
        };
        let saved = replace(STD_OUTPUT_HANDLE, 1, stray).map_err(io)?;
        claim.saved.push(saved);
    }
    Ok((input, output, claim))
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.saved.is_empty() {
            // Output that was printed meanwhile belongs to standard error.
            flush_stdout();
        }
        for saved in self.saved.drain(..) {
            let handle = match saved.original {
                // SAFETY: both numbers are open descriptors; the first one belongs to the claim.
                // The descriptor `number` has an open handle afterwards.
                Original::Descriptor(original) => unsafe {
                    _dup2(original, saved.number);
                    _close(original);
                    _get_osfhandle(saved.number) as HANDLE
                },
                Original::Handle(handle) => handle as HANDLE,
            };
            // SAFETY: the handle is open. A failure can't be reported here, and is not expected.
            unsafe { SetStdHandle(saved.which, handle) };
        }
    }
}

fn private_copy(which: STD_HANDLE, name: &str) -> Result<OwnedHandle> {
    let Some(handle) = standard(which) else {
        let text = format!(
            "standard {name} is closed; start this process with it open, or serve another transport"
        );
        return Err(Error::new(ErrorKind::State, text));
    };
    let doing = format_args!("duplicating standard {name}");
    duplicate(handle).map_err(|error| Error::io(doing, error))
}

/// Returns a standard stream. Returns `None` if the stream is closed.
fn standard(which: STD_HANDLE) -> Option<BorrowedHandle<'static>> {
    // SAFETY: the call has no pointers.
    let handle = unsafe { GetStdHandle(which) };
    let is_open = !handle.is_null() && handle != INVALID_HANDLE_VALUE;
    // SAFETY: the stream is open, and standard streams stay open. A host that closes a stream while
    // it is being claimed only gets an error.
    is_open.then(|| unsafe { BorrowedHandle::borrow_raw(handle) })
}

/// Replaces a standard stream by `by`, in both tables.
fn replace(which: STD_HANDLE, number: c_int, by: OwnedHandle) -> io::Result<Saved> {
    // SAFETY: the standard stream is open, so `number` is a valid descriptor. In a program without
    // a console, the descriptor has no handle (-2).
    let is_descriptor = unsafe { _get_osfhandle(number) } > 0;
    let original = match is_descriptor {
        true => {
            let failed = || io::Error::other("the C library has no descriptor left");
            // The C library owns this duplicate, and closes it with the descriptor.
            let raw = by.try_clone()?.into_raw_handle() as isize;
            // SAFETY: the number is an open descriptor. The handle is open, and owned by the new
            // descriptor, which is closed once.
            unsafe {
                let saved = _dup(number);
                let new = _open_osfhandle(raw, 0);
                let is_replaced = saved >= 0 && new >= 0 && _dup2(new, number) == 0;
                if new >= 0 {
                    _close(new);
                }
                if !is_replaced {
                    if saved >= 0 {
                        _close(saved);
                    }
                    return Err(failed());
                }
                Original::Descriptor(saved)
            }
        }
        // SAFETY: the call has no pointers.
        false => Original::Handle(unsafe { GetStdHandle(which) } as usize),
    };
    let saved = Saved {
        which,
        number,
        original,
        instead: by,
    };
    // SAFETY: the handle is open, for as long as `saved` is.
    check(unsafe { SetStdHandle(which, saved.instead.as_raw_handle()) })?;
    Ok(saved)
}

fn open_null() -> io::Result<OwnedHandle> {
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .open("NUL")?;
    Ok(file.into())
}

/// Flushes C's `stdout` only. `fflush(NULL)` would take the lock of every stream. So it would wait
/// for any thread of the host that blocks in a read of a pipe.
fn flush_stdout() {
    // SAFETY: the C library has three standard streams before main; fflush takes the stream's own
    // lock.
    unsafe { fflush(__acrt_iob_func(1)) };
}
