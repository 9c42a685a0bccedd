//! Where tokens and registrations are kept.

use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;

use super::lock;
use super::secret::Secret;
use crate::error::Result;
use crate::transport::http::Waiting;

/// Keeps secrets under names, such as a key chain or a vault does.
///
/// What is kept is JSON text with tokens and keys in it: whoever has it is let in. Names are made of the URL of a server or the issuer of
/// an authorization server, and no secrets. Methods run on threads that make calls and on those that log in, possibly on several at once.
///
/// Spec: Authorization, "Token Theft"; OAuth 2.1, section 7.1.
pub trait Store: Send + Sync {
    /// What was saved last under a name, if anything.
    ///
    /// # Errors
    ///
    /// When it can't be read. The call that needs it fails.
    fn load(&self, name: &str) -> Result<Option<Secret>>;

    /// Keeps `content` in the place of what was kept under the name: whole or not at all.
    ///
    /// # Errors
    ///
    /// When it can't be kept. The host's log is told, and the tokens hold as long as the process.
    fn save(&self, name: &str, content: &Secret) -> Result<()>;

    /// Forgets what is kept under a name. One that is not there is no error.
    ///
    /// # Errors
    ///
    /// When it is still there.
    fn remove(&self, name: &str) -> Result<()>;

    /// Keeps other processes from locking the same name, until what is returned is dropped: from renewing or saving what is kept under it, or
    /// from logging in for that, which has a name of its own. Blocks until they let it, at most until `waiting` is over. Who has logged in
    /// holds that lock still while it takes the other one to save its tokens; otherwise nobody locks two names at once. Does nothing unless
    /// implemented: right for a store that one process uses.
    ///
    /// # Errors
    ///
    /// When there was no time left, or it can't be locked.
    fn lock(&self, name: &str, waiting: &Waiting) -> Result<Box<dyn Send>> {
        _ = (name, waiting);
        Ok(Box::new(()))
    }
}

/// Keeps what it is given for as long as it lives, in memory.
#[derive(Default)]
pub struct MemoryStore(Mutex<HashMap<String, Secret>>);

impl MemoryStore {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Store for MemoryStore {
    fn load(&self, name: &str) -> Result<Option<Secret>> {
        Ok(lock(&self.0).get(name).cloned())
    }

    fn save(&self, name: &str, content: &Secret) -> Result<()> {
        lock(&self.0).insert(name.to_owned(), content.clone());
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        lock(&self.0).remove(name);
        Ok(())
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("len", &lock(&self.0).len())
            .finish()
    }
}

impl<S: Store + ?Sized> Store for std::sync::Arc<S> {
    fn load(&self, name: &str) -> Result<Option<Secret>> {
        (**self).load(name)
    }

    fn save(&self, name: &str, content: &Secret) -> Result<()> {
        (**self).save(name, content)
    }

    fn remove(&self, name: &str) -> Result<()> {
        (**self).remove(name)
    }

    fn lock(&self, name: &str, waiting: &Waiting) -> Result<Box<dyn Send>> {
        (**self).lock(name, waiting)
    }
}
