//! The door: every function of the interface comes in through one of these.
//!
//! No panic leaves, `*err` is written here and nowhere else, and what C may pass as NULL is looked at.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;

use super::error::{Failure, mcplink_error_t};
use super::status::{mcplink_status, mcplink_status_t};
use super::text::missing;
use crate::error::Result;

/// What the body of a function comes to.
pub(super) type Outcome<T = mcplink_status> = Result<T, Failure>;

/// Runs the body of a function that takes `err`.
///
/// # Safety
///
/// `err` is NULL or can be written to.
pub(super) unsafe fn ffi(
    err: *mut *mut mcplink_error_t,
    body: impl FnOnce() -> Outcome,
) -> mcplink_status_t {
    if !err.is_null() {
        // SAFETY: the caller says that it can be written to.
        unsafe { err.write(ptr::null_mut()) };
    }
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status)) => return status.code(),
        Ok(Err(failure)) => failure,
        Err(_) => panicked(),
    };
    let code = failure.code();
    if !err.is_null() {
        // SAFETY: as above.
        unsafe { err.write(Box::into_raw(Box::new(failure.into()))) };
    }
    code
}

/// Runs the body of a function that gives an object by `out`, which is NULL after a failure.
///
/// # Safety
///
/// `out` and `err` are NULL or can be written to.
pub(super) unsafe fn giving<T>(
    out: *mut *mut T,
    err: *mut *mut mcplink_error_t,
    body: impl FnOnce() -> Outcome<*mut T>,
) -> mcplink_status_t {
    // SAFETY: the caller promises the same.
    unsafe {
        ffi(err, || {
            if out.is_null() {
                return Err(missing("out").into());
            }
            out.write(ptr::null_mut());
            out.write(body()?);
            Ok(mcplink_status::MCPLINK_OK)
        })
    }
}

/// Runs the body of a function that returns nothing but a status.
pub(super) fn plain(body: impl FnOnce() -> Outcome) -> mcplink_status_t {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status)) => status.code(),
        Ok(Err(failure)) => failure.code(),
        Err(_) => panicked().code(),
    }
}

/// Runs the body of a function that returns a value: this one if the body panics.
pub(super) fn value<T>(neutral: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(neutral)
}

pub(super) fn panicked() -> Failure {
    Failure::new(
        mcplink_status::MCPLINK_E_PANIC,
        "this library has a bug: it panicked; standard error has more, please report it",
    )
}

/// What a function looks at, if it is not NULL.
///
/// # Safety
///
/// `object` is NULL, or one of ours that lives, and is not changed, as long as `'a`.
pub(super) unsafe fn get<'a, T>(object: *const T) -> Option<&'a T> {
    // SAFETY: the caller promises the same.
    unsafe { object.as_ref() }
}

/// What a function looks at and needs.
///
/// # Safety
///
/// As for [`get`].
pub(super) unsafe fn need<'a, T>(object: *const T, what: &str) -> Outcome<&'a T> {
    // SAFETY: the caller promises the same.
    unsafe { object.as_ref() }.ok_or_else(|| missing(what).into())
}

/// What a function changes and needs.
///
/// # Safety
///
/// `object` is NULL, or one of ours that lives, and is used by nobody else, as long as `'a`.
pub(super) unsafe fn need_mut<'a, T>(object: *mut T, what: &str) -> Outcome<&'a mut T> {
    // SAFETY: the caller promises the same.
    unsafe { object.as_mut() }.ok_or_else(|| missing(what).into())
}

/// Frees an object that one thread owns.
///
/// # Safety
///
/// `object` is NULL, or was made with `Box::into_raw`, and is not used again.
pub(super) unsafe fn free<T>(object: *mut T) {
    if object.is_null() {
        return;
    }
    // SAFETY: the caller promises the same.
    let object = unsafe { Box::from_raw(object) };
    value((), || drop(object));
}

/// Keeps an object that a callback was lent, once more.
///
/// # Safety
///
/// `object` is NULL, or came from an `Arc` that lives.
pub(super) unsafe fn keep<T>(object: *mut T) -> *mut T {
    if !object.is_null() {
        // SAFETY: the caller promises the same.
        unsafe { Arc::increment_strong_count(object.cast_const()) };
    }
    object
}

/// Lets go of what was kept.
///
/// # Safety
///
/// `object` is NULL, or was given by [`keep`], and is let go of once for each time.
pub(super) unsafe fn let_go<T>(object: *mut T) {
    if object.is_null() {
        return;
    }
    // SAFETY: the caller promises the same.
    let object = unsafe { Arc::from_raw(object.cast_const()) };
    value((), || drop(object));
}
