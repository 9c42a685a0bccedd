//! Values that a call remembers between its rounds, and effects that run once for all rounds.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::asking::AskError;
use super::context::Context;

/// Values remembered between rounds.
impl Context {
    /// Runs `effect` once for the whole call, however often the handler is run, and returns its
    /// value.
    ///
    /// The client carries the sealed value between the rounds. A client that replays an earlier
    /// round can make the effect run again, unless the server has a
    /// [`StateStore`](super::StateStore).
    ///
    /// If several threads of a handler use the same key, one thread runs the effect. The others
    /// wait and get its value.
    ///
    /// # Errors
    ///
    /// An error when the value can't be written as JSON, when a value of another type was
    /// remembered under this key, or when the effect itself uses this key.
    pub fn once<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        effect: impl FnOnce() -> T,
    ) -> Result<T, AskError> {
        let turn = self.turns().take(key);
        let _turn = turn.map_err(|error| self.unable(key, error))?;
        if let Some(value) = self.recall(key)? {
            return Ok(value);
        }
        let value = effect();
        self.remember(key, &value)?;
        Ok(value)
    }

    /// Remembers a value for later rounds.
    ///
    /// # Errors
    ///
    /// An error when the value can't be written as JSON.
    pub fn remember(&self, key: &str, value: &impl Serialize) -> Result<(), AskError> {
        let remembered = self.rounds().lock().remember(key, value);
        remembered.map_err(|error| self.unable(key, error))
    }

    /// Returns the value that was remembered under a key, in this round or an earlier one.
    ///
    /// # Errors
    ///
    /// An error when a value of another type was remembered under this key.
    pub fn recall<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, AskError> {
        let value = self.rounds().lock().recall(key);
        value.map_err(|error| self.unable(key, error))
    }
}
