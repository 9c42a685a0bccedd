//! Setters, and the first one that was refused.
//!
//! **Invariant:** what restricts never fails open. An object of settings or a definition remembers its first refused setter, and every
//! function that takes the object fails with that reason. So a host may drop the status of a setter: what should have been narrower
//! than it came to be is not used at all. A later setter does not take the refusal back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use super::entry::{Outcome, need_mut, panicked, plain, value};
use super::error::Failure;
use super::log::{self, Hook};
use super::status::{mcplink_status, mcplink_status_t};
use super::text::missing;
use crate::protocol::{LogLevel, LogRecord};

/// The first refusal of an object, if there was one.
#[derive(Clone, Debug, Default)]
pub(super) struct Refusal(OnceLock<Failure>);

impl Refusal {
    /// Fails if something was refused.
    pub(super) fn check(&self) -> Outcome<()> {
        match self.0.get() {
            Some(failure) => Err(failure.clone()),
            None => Ok(()),
        }
    }

    /// Remembers a refusal, unless there was one before.
    fn remember(&self, failure: &Failure) {
        _ = self.0.set(failure.clone());
    }
}

/// An object that is changed by setters.
pub(super) trait Settings {
    /// What the parameter of its functions is called.
    const NAME: &'static str;
    /// Which part of the library tells the log of it.
    const TARGET: &'static str;
    /// Its constructor, if that gives NULL for a bad argument.
    const CONSTRUCTOR: Option<&'static str> = None;

    fn refusal(&self) -> &Refusal;

    /// Which of its kind it is, for people.
    fn label(&self) -> Option<&str> {
        None
    }

    /// The log that the host wants for what becomes of it; `None` for that of the process.
    fn log(&self) -> Option<Arc<Hook>> {
        None
    }

    /// Does what a setter does to an object that C passes by a reference: remembers and logs a refusal.
    fn attempt(&self, setter: &str, change: impl FnOnce() -> Outcome<()>) -> Outcome {
        let done = caught(change).map_err(|failure| {
            let failure = failure.context(setter);
            match self.label() {
                Some(label) => failure.context(format_args!("{} '{label}'", Self::NAME)),
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

/// Runs a setter: changes an object that C passes. `setter` is the name of the C function, with which the reason of a refusal begins.
///
/// # Safety
///
/// `object` is NULL, or one of ours that lives and is used by this thread alone.
pub(super) unsafe fn set<T: Settings>(
    object: *mut T,
    setter: &str,
    change: impl FnOnce(&mut T) -> Outcome<()>,
) -> mcplink_status_t {
    // SAFETY: the caller promises the same.
    let done = caught(|| change(unsafe { need_mut(object, T::NAME) }?));
    // SAFETY: as above; the change has ended.
    let outcome = match unsafe { object.as_ref() } {
        Some(object) => object.attempt(setter, || done),
        None => {
            let failed = done.map_err(|failure| failure.context(setter));
            failed
                .inspect_err(|failure| tell(None, T::TARGET, failure))
                .map(|()| mcplink_status::MCPLINK_OK)
        }
    };
    plain(|| outcome)
}

/// An object that a function takes, and of which nothing was refused.
///
/// # Safety
///
/// `object` is NULL, or one of ours that lives, and is not changed, as long as `'a`.
pub(super) unsafe fn taken<'a, T: Settings>(object: *const T, what: &str) -> Outcome<&'a T> {
    // SAFETY: the caller promises the same.
    let object = unsafe { object.as_ref() }.ok_or_else(|| match T::CONSTRUCTOR {
        Some(constructor) => {
            missing(what).remark(format_args!("{constructor} gives NULL for a bad argument"))
        }
        None => missing(what),
    })?;
    object.refusal().check()?;
    Ok(object)
}

/// Runs a constructor that gives NULL for a bad argument, which the log is told of: `constructor` is the name of the C function.
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

/// A panic is a refusal too.
fn caught<T>(body: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| Err(panicked()))
}

fn tell(own: Option<Arc<Hook>>, target: &str, failure: &Failure) {
    value((), || {
        let text = failure.to_string();
        let record = LogRecord {
            level: LogLevel::Warning,
            target,
            text: &text,
        };
        // It belongs to no handle.
        log::tell(own.as_ref(), 0, &record);
    });
}
