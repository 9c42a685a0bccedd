//! Values that a call remembers between the runs of its handler, and effects that run only once.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ask_error::AskError;
use super::context::Context;

/// Values that a call remembers between the runs of its handler.
impl Context {
    /// Runs `effect` once for the whole call, even if the handler runs several times. Each run of
    /// the handler gets the value of `effect`.
    ///
    /// In the modern era, the client stores the sealed value while it answers input requests.
    /// Without a [`StateStore`](super::StateStore), a client that sends an earlier state again can
    /// make the effect run again.
    ///
    /// If several threads of a handler use the same key, one thread runs the effect. The other
    /// threads block until the effect has ended, and get its value.
    ///
    /// # Errors
    ///
    /// An error when the value can't be written as JSON, when a value of another type was
    /// remembered under this key, or when `effect` itself calls `once` with this key.
    pub fn once<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        effect: impl FnOnce() -> T,
    ) -> Result<T, AskError> {
        let guard = self.effects().take(key);
        let _guard = guard.map_err(|error| self.unable(key, error))?;
        if let Some(value) = self.recall(key)? {
            return Ok(value);
        }
        let value = effect();
        self.remember(key, &value)?;
        Ok(value)
    }

    /// Remembers a value under a key, for later runs of the handler.
    ///
    /// # Errors
    ///
    /// An error when the value can't be written as JSON.
    pub fn remember(&self, key: &str, value: &impl Serialize) -> Result<(), AskError> {
        let remembered = self.mrtr().lock().remember(key, value);
        remembered.map_err(|error| self.unable(key, error))
    }

    /// Returns the value that was remembered under a key, in this run of the handler or an earlier
    /// run. Returns `None` if there is no value.
    ///
    /// # Errors
    ///
    /// An error when a value of another type was remembered under this key.
    pub fn recall<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, AskError> {
        let value = self.mrtr().lock().recall(key);
        value.map_err(|error| self.unable(key, error))
    }
}
