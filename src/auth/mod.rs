//! Authorization: getting tokens for servers over HTTP, and keeping them good (feature `auth`).
//!
//! [`OAuth`] is what a client gives to [`Http::authorizer`](crate::transport::http::Http::authorizer). Everything is found out from the
//! server's first refusal; what a person, a machine or an organisation has to do with it is one of [`OAuth::login`],
//! [`OAuth::client_credentials`], [`OAuth::workload`] and [`OAuth::enterprise`]. See `docs/authorization.md`.
//!
//! ```text
//!  oauth        which request gets which token, and what a refusal leads to
//!  site         what is known for one server; the one authorization on its way
//!  renew        what an authorization consists of
//!  errand       one way to an authorization server and back: discovery, registration, token
//!  login machine enterprise      how tokens are come by
//!  challenge metadata tolerant client     what is said on the way, and what is believed of it
//!  fetch guard  requests: bounded, and not everywhere
//!  browser visitor   the person's part
//!  store file_store  where tokens are kept
//! ```
//!
//! **Secrets** are of the type [`Secret`] wherever they stay, and appear in no error, log line or debug output. They go to the authorization
//! server over HTTPS, or on this machine.
//!
//! Connections over stdio and other streams have nothing to do with it: credentials for those come from the environment.
//!
//! Spec: Base Protocol, "Authorization" (2025-03-26 and later), with its extensions.
// M-AUTH-B-02

mod browser;
mod builder;
mod challenge;
mod client;
mod discovery;
mod dpop;
mod enterprise;
mod errand;
mod fetch;
mod file_store;
mod guard;
mod key;
mod login;
mod machine;
mod metadata;
mod oauth;
mod random;
mod registration;
mod renew;
mod secret;
mod site;
mod store;
mod token;
mod tolerant;
mod url;
mod visitor;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use browser::Browser;
pub use builder::{DpopUse, OAuthBuilder};
pub use client::{ClientDocument, RegisteredClient};
pub use enterprise::{IdentityProvider, SubjectToken};
pub use file_store::FileStore;
pub use key::{Signer, SigningKey};
pub use login::{Login, UserAgent, Visit};
pub use oauth::OAuth;
pub use secret::Secret;
pub use store::{MemoryStore, Store};
pub use visitor::Visitor;

/// A lock that a panic elsewhere does not make unusable: what it guards is never left half changed.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
