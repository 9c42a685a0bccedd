//! A compiled schema, which checks JSON texts.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use crate::error::{Error, ErrorKind, Result};

type Check = dyn Fn(&str, Option<Instant>) -> Result<()> + Send + Sync;

/// A compiled schema. Cheap to clone.
#[derive(Clone)]
pub struct CompiledSchema(Arc<Check>);

impl CompiledSchema {
    pub(super) fn new(
        check: impl Fn(&str, Option<Instant>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(check))
    }

    /// Checks a JSON text.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the text does not fit the schema: with the place as a JSON
    /// Pointer, the expected and the received value. [`ErrorKind::Limit`] when the limits do not
    /// suffice to decide.
    pub fn check(&self, json: &str) -> Result<()> {
        (self.0)(json, None)
    }

    /// Checks a text of a peer. A panic of the validator becomes an error. The built-in validator
    /// stops at the deadline; a custom one does not know it.
    pub(crate) fn check_of_peer(&self, json: &str, deadline: Option<Instant>) -> Result<()> {
        guarded("the value", || (self.0)(json, deadline))
    }
}

/// Runs a validator on data of a peer, and turns a panic into an error.
pub(super) fn guarded<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let text = format!("{what} can't be checked: the validator panicked");
        Err(Error::new(ErrorKind::Unsupported, text))
    })
}

impl fmt::Debug for CompiledSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledSchema").finish_non_exhaustive()
    }
}
