//! Settings objects, and how they remember the first setter that was refused.
//!
//! **Invariant:** restrictions never fail open. An options object or definition remembers its first
//! refused setter, and every function that takes the object fails with that reason. So a host may
//! ignore the status of a setter: an object that lacks an intended restriction is never used. A
//! later setter does not clear the refusal.

use std::sync::{Arc, OnceLock};

use super::entry::{Outcome, caught, need_mut, plain, value};
use super::error::Failure;
use super::handle::{Fault, Object, tagged};
use super::log::{self, Hook};
use super::status::{mcplink_status, mcplink_status_t};
use super::text::missing;
use crate::protocol::{LogLevel, LogRecord};

/// The failure of the first refused setter of a settings object. Empty while no setter was refused.
#[derive(Clone, Debug, Default)]
pub(super) struct Refusal(OnceLock<Failure>);

impl Refusal {
    /// Fails if a setter of the object was refused.
    pub(super) fn check(&self) -> Outcome<()> {
        match self.0.get() {
            Some(failure) => Err(failure.clone()),
            None => Ok(()),
        }
    }

    /// Stores the failure of a refused setter, unless an earlier failure is stored.
    fn remember(&self, failure: &Failure) {
        _ = self.0.set(failure.clone());
    }
}

/// A settings object, which is configured by setters.
pub(super) trait Settings: Object {
    /// The log target of the object.
    const TARGET: &'static str;
    /// The name of the object's C constructor, if the constructor returns NULL for an invalid
    /// argument.
    const CONSTRUCTOR: Option<&'static str> = None;

    fn refusal(&self) -> &Refusal;

    /// Returns what distinguishes this object from others of its type, for error texts: "tool 'a'".
    fn label(&self) -> Option<String> {
        None
    }

    /// Returns the log hook of the object; `None` for the process-wide log hook.
    fn log(&self) -> Option<Arc<Hook>> {
        None
    }

    /// Runs a setter on an object that C passes by reference. If the setter is refused, stores and
    /// logs the refusal.
    fn attempt(&self, setter: &str, change: impl FnOnce() -> Outcome<()>) -> Outcome {
        let done = caught(change).map_err(|failure| {
            let failure = failure.context(setter);
            match self.label() {
                Some(label) => failure.context(label),
                None => failure,
            }
        });
        if let Err(failure) = &done {
            self.refusal().remember(failure);
            tell(self.log(), Self::TARGET, failure);
        }
        done.map(|()| mcplink_status::MCPLINK_OK)
    }
}

/// Runs a setter on an object that C passes. `what` is the name of its parameter, and `setter` the
/// name of the C function. The error text of a refusal contains them.
///
/// # Safety
///
/// `object` is NULL, or a live object of this library that only this thread uses.
pub(super) unsafe fn set<T: Settings>(
    object: *mut T,
    what: &str,
    setter: &str,
    change: impl FnOnce(&mut T) -> Outcome<()>,
) -> mcplink_status_t {
    // SAFETY: the safety contract of this function.
    let done = caught(|| change(unsafe { need_mut(object, what) }?));
    // SAFETY: the safety contract of this function; the mutable borrow of `change` has ended.
    let outcome = match unsafe { tagged(object) } {
        Ok(object) => object.attempt(setter, || done),
        Err(_) => {
            return done.map_or_else(
                |failure| refused(T::TARGET, setter, failure),
                |()| mcplink_status::MCPLINK_OK.code(),
            );
        }
    };
    plain(|| outcome)
}

/// Logs the failure of a setter to which C passed NULL or an object of another kind. Returns the
/// status of the failure.
pub(super) fn refused(target: &str, setter: &str, failure: Failure) -> mcplink_status_t {
    let failure = failure.context(setter);
    tell(None, target, &failure);
    failure.code()
}

/// Borrows a settings object for a function that uses the settings. Fails if a setter of the object
/// was refused.
///
/// # Safety
///
/// `object` is NULL, or a live object of this library that does not change during `'a`.
pub(super) unsafe fn taken<'a, T: Settings>(object: *const T, what: &str) -> Outcome<&'a T> {
    // SAFETY: the safety contract of this function.
    let object = unsafe { tagged(object) }.map_err(|fault| match (fault, T::CONSTRUCTOR) {
        (Fault::Null, Some(constructor)) => missing(what)
            .remark(format_args!("{constructor} gives NULL for a bad argument"))
            .into(),
        _ => Failure::object::<T>(fault, what),
    })?;
    object.refusal().check()?;
    Ok(object)
}

/// Runs a constructor that returns NULL for an invalid argument, and logs the error. `constructor`
/// is the name of the C function.
pub(super) fn constructed<T>(
    constructor: &str,
    target: &str,
    make: impl FnOnce() -> Outcome<*mut T>,
) -> *mut T {
    caught(make).unwrap_or_else(|failure| {
        tell(None, target, &failure.context(constructor));
        std::ptr::null_mut()
    })
}

fn tell(own: Option<Arc<Hook>>, target: &str, failure: &Failure) {
    value((), || {
        let text = failure.to_string();
        let record = LogRecord {
            level: LogLevel::Warning,
            target,
            text: &text,
        };
        // The record belongs to no handle.
        log::tell(own.as_ref(), 0, &record);
    });
}
