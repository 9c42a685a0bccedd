//! Entry points: every exported function runs its body through a function of this module.
//!
//! Entry points catch panics, so that no panic unwinds into C. No other code writes `*err`. Entry
//! points also check the pointers that C may pass as NULL.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;

use super::failure::{Failure, mcplink_error_t};
use super::status::{mcplink_status, mcplink_status_t};
use super::text::missing;
use crate::error::Result;

/// The result of the body of an exported function.
pub(super) type Outcome<T = mcplink_status> = Result<T, Failure>;

/// Runs the body of an exported function that has the parameter `err`. Returns the status for C.
pub(super) unsafe fn ffi(
    err: *mut *mut mcplink_error_t,
    body: impl FnOnce() -> Outcome,
) -> mcplink_status_t {
    if !err.is_null() {
        // SAFETY: the caller guarantees that `err` can be written to.
        unsafe { err.write(ptr::null_mut()) };
    }
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status)) => return status.code(),
        Ok(Err(failure)) => failure,
        Err(_) => panicked(),
    };
    let code = failure.code();
    if !err.is_null() {
        // SAFETY: the caller guarantees that `err` can be written to.
        unsafe { err.write(Box::into_raw(Box::new(failure.into()))) };
    }
    code
}

/// Runs the body of an exported function that returns an object through `out`. Sets `*out` to NULL
/// on failure.
///
/// # Safety
///
/// `out` and `err` are NULL or can be written to.
pub(super) unsafe fn giving<T>(
    out: *mut *mut T,
    err: *mut *mut mcplink_error_t,
    body: impl FnOnce() -> Outcome<*mut T>,
) -> mcplink_status_t {
    // SAFETY: the safety contract of this function.
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

/// Runs the body of an exported function that returns only a status.
pub(super) fn plain(body: impl FnOnce() -> Outcome) -> mcplink_status_t {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status)) => status.code(),
        Ok(Err(failure)) => failure.code(),
        Err(_) => panicked().code(),
    }
}

/// Runs the body of an exported function that returns a value. Returns `neutral` if the body
/// panics.
pub(super) fn value<T>(neutral: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(neutral)
}

pub(super) fn panicked() -> Failure {
    Failure::new(
        mcplink_status::MCPLINK_E_PANIC,
        "this library has a bug: it panicked; standard error has more, please report it",
    )
}

/// Borrows an optional object that C passes; `None` for NULL.
///
/// # Safety
///
/// `object` is NULL, or a live object of this library that does not change during `'a`.
pub(super) unsafe fn get<'a, T>(object: *const T) -> Option<&'a T> {
    // SAFETY: the safety contract of this function.
    unsafe { object.as_ref() }
}

/// Borrows a required object that C passes. Fails for NULL.
///
/// # Safety
///
/// The requirements of [`get`] apply.
pub(super) unsafe fn need<'a, T>(object: *const T, what: &str) -> Outcome<&'a T> {
    // SAFETY: the safety contract of this function.
    unsafe { object.as_ref() }.ok_or_else(|| missing(what).into())
}

/// Borrows a required object that C passes, mutably. Fails for NULL.
///
/// # Safety
///
/// `object` is NULL, or a live object of this library that nothing else uses during `'a`.
pub(super) unsafe fn need_mut<'a, T>(object: *mut T, what: &str) -> Outcome<&'a mut T> {
    // SAFETY: the safety contract of this function.
    unsafe { object.as_mut() }.ok_or_else(|| missing(what).into())
}

/// Frees an object that has one owner.
///
/// # Safety
///
/// `object` is NULL, or was made with `Box::into_raw`, and is not used again.
pub(super) unsafe fn free<T>(object: *mut T) {
    if object.is_null() {
        return;
    }
    // SAFETY: the safety contract of this function.
    let object = unsafe { Box::from_raw(object) };
    value((), || drop(object));
}

/// Adds a reference to an object that was lent to a callback.
///
/// # Safety
///
/// `object` is NULL, or points into a live `Arc`.
pub(super) unsafe fn keep<T>(object: *mut T) -> *mut T {
    if !object.is_null() {
        // SAFETY: the safety contract of this function.
        unsafe { Arc::increment_strong_count(object.cast_const()) };
    }
    object
}

/// Releases a reference that [`keep`] added.
///
/// # Safety
///
/// `object` is NULL, or was returned by [`keep`], and is released once for each call of [`keep`].
pub(super) unsafe fn release<T>(object: *mut T) {
    if object.is_null() {
        return;
    }
    // SAFETY: the safety contract of this function.
    let object = unsafe { Arc::from_raw(object.cast_const()) };
    value((), || drop(object));
}
