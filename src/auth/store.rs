//! The store of tokens and registrations.

use std::collections::HashMap;
use std::fmt;

use super::secret::Secret;
use crate::error::Result;
use crate::sync::Mutex;
use crate::transport::http::CredentialWait;

/// A store of secrets by name, for example in a key chain or a vault.
///
/// The content is JSON text with tokens and keys: protect it from other users. Names contain the
/// URL of a server or the issuer of an authorization server, but no secrets. The methods run on
/// threads of calls and on login threads, possibly on several threads at once.
///
/// Spec: Authorization, "Token Theft"; OAuth 2.1, section 7.1.
pub trait Store: Send + Sync {
    /// Returns the content that was last saved under a name, if any.
    ///
    /// # Errors
    ///
    /// Fails when the content can't be read. The call that needs the content fails with the same
    /// error.
    fn load(&self, name: &str) -> Result<Option<Secret>>;

    /// Saves `content` under a name. Replaces the old content atomically.
    ///
    /// # Errors
    ///
    /// Fails when the content can't be saved. The error is logged, and the tokens are used until
    /// the process ends.
    fn save(&self, name: &str, content: &Secret) -> Result<()>;

    /// Deletes the content that is saved under a name. A missing name is not an error.
    ///
    /// # Errors
    ///
    /// Fails when the content could not be deleted.
    fn remove(&self, name: &str) -> Result<()>;

    /// Locks a name against other processes, until the returned guard is dropped. Renewal locks the
    /// name of the tokens; a login locks a name of its own. Blocks until the lock is free. Stops
    /// waiting when `waiting` is over.
    ///
    /// Lock order: a login locks the name of the tokens to save them, while it holds its own lock.
    /// No other code locks two names at once. The default implementation does nothing, which is
    /// right for a store that only one process uses.
    ///
    /// # Errors
    ///
    /// Fails when `waiting` is over before the lock is free, or when the name can't be locked.
    fn lock(&self, name: &str, waiting: &CredentialWait) -> Result<Box<dyn Send>> {
        _ = (name, waiting);
        Ok(Box::new(()))
    }
}

/// A store in memory. Its content is lost when the store is dropped.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use mcplink::auth::{Browser, MemoryStore, OAuth, RegisteredClient};
///
/// // Both kinds of login use one store.
/// let store = Arc::new(MemoryStore::new());
/// let oauth = OAuth::login(Browser::new()).store(Arc::clone(&store)).build()?;
/// let client = RegisteredClient::new("https://login.example", "batch").secret("s3cret");
/// let batch = OAuth::client_credentials(client).store(store).build()?;
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Default)]
pub struct MemoryStore(Mutex<HashMap<String, Secret>>);

impl MemoryStore {
    /// Makes an empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Store for MemoryStore {
    fn load(&self, name: &str) -> Result<Option<Secret>> {
        Ok(self.0.lock().get(name).cloned())
    }

    fn save(&self, name: &str, content: &Secret) -> Result<()> {
        self.0.lock().insert(name.to_owned(), content.clone());
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.0.lock().remove(name);
        Ok(())
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("len", &self.0.lock().len())
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

    fn lock(&self, name: &str, waiting: &CredentialWait) -> Result<Box<dyn Send>> {
        (**self).lock(name, waiting)
    }
}
