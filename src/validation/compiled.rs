//! A compiled schema, which checks JSON texts.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use crate::error::{Error, ErrorKind, Result};

type Check = dyn Fn(&str, Option<Instant>) -> Result<()> + Send + Sync;

/// A compiled schema, which checks JSON texts. It is cheap to clone.
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
    /// [`ErrorKind::Invalid`] when the text does not fit the schema. The error text has the
    /// location as a JSON Pointer, the expected value and the received value. [`ErrorKind::Limit`]
    /// when the check exceeds a limit before it has a result.
    pub fn check(&self, json: &str) -> Result<()> {
        (self.0)(json, None)
    }

    /// Checks a text from a peer. Turns a panic of the validator into an error. The built-in
    /// validator stops at the deadline. A custom validator may run longer, since it does not know
    /// the deadline.
    pub(crate) fn check_of_peer(&self, json: &str, deadline: Option<Instant>) -> Result<()> {
        guarded("the value", || (self.0)(json, deadline))
    }
}

/// Runs a validator on data from a peer, and turns a panic into an error.
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
