//! Entry points: every exported function runs its body through a function of this module.
//!
//! Entry points catch panics, so that no panic unwinds into C. No other code writes `*err`. Entry
//! points also check the pointers that C may pass as NULL.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;

use super::failure::{Failure, live_errors, mcplink_error_t};
use super::handle::{Fault, Object, Tagged, slots, tagged};
use super::log;
use super::status::{mcplink_status, mcplink_status_t};
use super::text::missing;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::LogLevel;
use crate::transport::sys::fd;

/// How many errors that are not freed are taken for a leak.
const MANY_ERRORS: usize = 1000;

/// The result of the body of an exported function.
pub(super) type Outcome<T = mcplink_status> = Result<T, Failure>;

/// Runs `body`, and converts a panic into a failure.
pub(super) fn caught<T>(body: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// Runs the body of an exported function that has the parameter `err`. Returns the status for C.
pub(super) unsafe fn ffi(
    err: *mut *mut mcplink_error_t,
    body: impl FnOnce() -> Outcome,
) -> mcplink_status_t {
    if !err.is_null() {
        // SAFETY: the caller guarantees that `err` can be written to.
        unsafe { err.write(ptr::null_mut()) };
    }
    let failure = match caught(body) {
        Ok(status) => return status.code(),
        Err(failure) => failure,
    };
    let code = failure.code();
    if !err.is_null() {
        // SAFETY: the caller guarantees that `err` can be written to.
        unsafe { err.write(own(failure.into())) };
        // A host that reuses its variable without freeing it leaks an error each time.
        if live_errors() == MANY_ERRORS {
            let text = "1000 errors are not freed: free *err before the variable is used again";
            log::tell_process(LogLevel::Warning, "handle", text);
        }
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
            clear(out)?;
            out.write(body()?);
            Ok(mcplink_status::MCPLINK_OK)
        })
    }
}

/// Sets `*out` to NULL. Fails if `out` is NULL.
///
/// # Safety
///
/// `out` is NULL or can be written to.
pub(super) unsafe fn clear<T>(out: *mut *mut T) -> Outcome<()> {
    if out.is_null() {
        return Err(missing("out").into());
    }
    // SAFETY: the safety contract of this function.
    unsafe { out.write(ptr::null_mut()) };
    Ok(())
}

/// Runs the body of an exported function that returns only a status.
pub(super) fn plain(body: impl FnOnce() -> Outcome) -> mcplink_status_t {
    caught(body).map_or_else(|failure| failure.code(), mcplink_status::code)
}

/// Runs the body of an exported function that returns only a status, and logs a mistake of the
/// host: no other text has the reason. `function` is the name of the C function.
pub(super) fn told(function: &str, body: impl FnOnce() -> Outcome) -> mcplink_status_t {
    plain(|| {
        body().inspect_err(|failure| {
            if let Some(text) = failure.as_mistake(function) {
                log::tell_process(failure.level(), "handle", &text);
            }
        })
    })
}

/// Runs the body of an action on a shared object that C passes. `what` is the name of its
/// parameter, and `function` the name of the C function.
///
/// # Safety
///
/// The requirements of [`need`] apply.
pub(super) unsafe fn needing<T: Object>(
    object: *mut T,
    what: &str,
    function: &str,
    body: impl FnOnce(&T) -> Outcome<()>,
) -> mcplink_status_t {
    told(function, || {
        // SAFETY: the safety contract of this function.
        body(&*unsafe { need(object, what) }?)?;
        Ok(mcplink_status::MCPLINK_OK)
    })
}

/// Runs the body of an action on an object that C passes and that only this thread uses. `what` is
/// the name of its parameter, and `function` the name of the C function.
///
/// # Safety
///
/// The requirements of [`need_mut`] apply.
pub(super) unsafe fn needing_mut<T: Object>(
    object: *mut T,
    what: &str,
    function: &str,
    body: impl FnOnce(&mut T) -> Outcome<()>,
) -> mcplink_status_t {
    told(function, || {
        // SAFETY: the safety contract of this function.
        body(unsafe { need_mut(object, what) }?)?;
        Ok(mcplink_status::MCPLINK_OK)
    })
}

/// Runs the body of an exported function that returns a value. Returns `neutral` if the body
/// panics.
pub(super) fn value<T>(neutral: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        _ = panicked(&*panic);
        neutral
    })
}

/// Logs the text of a panic, and returns the failure of the function that panicked.
fn panicked(panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    let text = format!("this library panicked: {}", text.unwrap_or("no text"));
    log::tell_process(LogLevel::Error, "library", &text);
    Failure::new(
        mcplink_status::MCPLINK_E_PANIC,
        "this library has a bug: it panicked; the log has more, please report it",
    )
}

/// Borrows an object that C passes, for a getter. Returns `None` for NULL and for an object of
/// another kind. An object of another kind is logged, with the name of the C function.
///
/// # Safety
///
/// `object` is NULL, or a live object of this library, of any kind, that does not change during
/// `'a`.
pub(super) unsafe fn get<'a, T: Object>(object: *const T, function: &str) -> Option<&'a Tagged<T>> {
    // SAFETY: the safety contract of this function.
    let found = unsafe { tagged(object) };
    found
        .inspect_err(|fault| log::fault::<T>(*fault, function))
        .ok()
}

/// Returns a shared object that C passes, for a getter. Returns `None` for NULL, for an object of
/// another kind and for a stale handle. The last two are logged, with the name of the C function.
///
/// # Safety
///
/// `object` is NULL, or an object of this library, of any kind.
pub(super) unsafe fn find<T: Object>(object: *const T, function: &str) -> Option<Arc<T>> {
    // SAFETY: the safety contract of this function.
    let found = unsafe { slots::find(object) };
    found
        .inspect_err(|fault| log::fault::<T>(*fault, function))
        .ok()
}

/// Borrows an optional object that C passes. Returns `None` for NULL. Fails for an object of
/// another kind.
///
/// # Safety
///
/// The requirements of [`get`] apply.
pub(super) unsafe fn optional<'a, T: Object>(
    object: *const T,
    what: &str,
) -> Outcome<Option<&'a T>> {
    // SAFETY: the safety contract of this function.
    match unsafe { tagged(object) } {
        Ok(object) => Ok(Some(object)),
        Err(Fault::Null) => Ok(None),
        Err(fault) => Err(Failure::object::<T>(fault, what)),
    }
}

/// Returns a required shared object that C passes. Fails for NULL, for an object of another kind
/// and for a stale handle.
///
/// # Safety
///
/// `object` is NULL, or an object of this library, of any kind.
pub(super) unsafe fn need<T: Object>(object: *const T, what: &str) -> Outcome<Arc<T>> {
    // SAFETY: the safety contract of this function.
    let found = unsafe { slots::find(object) };
    found.map_err(|fault| Failure::object::<T>(fault, what))
}

/// Borrows a required object that C passes, mutably. Fails for NULL and for an object of another
/// kind.
///
/// # Safety
///
/// `object` is NULL, or a live object of this library, of any kind, that nothing else uses during
/// `'a`.
pub(super) unsafe fn need_mut<'a, T: Object>(object: *mut T, what: &str) -> Outcome<&'a mut T> {
    // SAFETY: the safety contract of this function.
    let found = unsafe { tagged(object) }.map(drop);
    found.map_err(|fault| Failure::object::<T>(fault, what))?;
    // SAFETY: the kind was checked, and nothing else uses the object.
    Ok(unsafe { &mut *object.cast::<Tagged<T>>() })
}

/// Reads a file descriptor that C passes. The parameters of the header are wide enough for a HANDLE
/// of Windows.
pub(super) fn descriptor(number: isize, what: &str) -> Result<fd::Raw> {
    fd::raw(number).ok_or_else(|| {
        let text = format!("{what} is no descriptor: {number}");
        Error::new(ErrorKind::Invalid, text)
    })
}

/// Converts a value into an object that C owns.
pub(super) fn own<T: Object>(value: T) -> *mut T {
    let object = Tagged::new(value);
    object.own();
    Box::into_raw(Box::new(object)).cast()
}

/// Frees an object that [`own`] made. An object of another kind, and an object that C does not own,
/// are logged and not freed.
///
/// # Safety
///
/// `object` is NULL, or a live object of this library, of any kind, and is not used again.
pub(super) unsafe fn free<T: Object>(object: *mut T) {
    // SAFETY: the safety contract of this function. If C owned the object, `own` made it.
    unsafe { disown(object, || drop(Box::from_raw(object.cast::<Tagged<T>>()))) }
}

/// Takes a reference to an object from C, and drops it with `end`. An object of another kind, and
/// an object that C does not own, are logged, and `end` does not run.
///
/// # Safety
///
/// `object` is NULL, or a live object of this library, of any kind.
pub(super) unsafe fn disown<T: Object>(object: *mut T, end: impl FnOnce()) {
    // SAFETY: the safety contract of this function.
    let freed = unsafe { tagged(object) }.and_then(Tagged::disown);
    match freed {
        Ok(()) => value((), end),
        Err(fault) => log::free_fault::<T>(fault),
    }
}

/// Adds a reference to an object that was lent to a callback. Returns NULL for NULL, for an object
/// of another kind and for a stale handle. The last two are logged.
///
/// # Safety
///
/// `object` is NULL, or an object of this library, of any kind.
pub(super) unsafe fn keep<T: Object>(object: *mut T) -> *mut T {
    // SAFETY: the safety contract of this function.
    match unsafe { slots::keep(object) } {
        Ok(()) => object,
        Err(fault) => {
            let function = T::KIND.name().trim_end_matches("_t").to_owned() + "_keep";
            log::fault::<T>(fault, &function);
            ptr::null_mut()
        }
    }
}

/// Releases a reference that [`keep`] added. `is_foreign` returns whether this process is a fork of
/// the process that made the object: then the parent process ends it, and this function does
/// nothing.
///
/// # Safety
///
/// `object` is NULL, or an object of this library, of any kind.
pub(super) unsafe fn release<T: Object>(object: *mut T, is_foreign: fn(&T) -> bool) {
    // SAFETY: the safety contract of this function.
    if unsafe { slots::peek(object, is_foreign) }.unwrap_or(false) {
        return;
    }
    // SAFETY: the safety contract of this function.
    match unsafe { slots::release(object) } {
        Ok(last) => value((), || drop(last)),
        Err(fault) => log::free_fault::<T>(fault),
    }
}
