//! OAuth for clients: obtains, stores and renews tokens for MCP servers over HTTP (feature `auth`).
//!
//! A client passes an [`OAuth`] to [`Http::authorizer`](crate::transport::http::Http::authorizer).
//! The [`OAuth`] discovers the authorization server when the MCP server refuses a request for the
//! first time. The host application chooses the grant: [`OAuth::login`] for a user,
//! [`OAuth::client_credentials`] or [`OAuth::workload`] for a machine, [`OAuth::enterprise`] for an
//! organization. See `docs/authorization.md`.
//!
//! ```text
//!  oauth                     chooses the token of a request, reacts to refusals
//!  server_state              state of one server; the authorization flow in progress
//!  renew                     one flow: refresh, or new tokens
//!  flow_context              context of a flow: settings, HTTP client, deadline
//!  discovery, registration, token_endpoint     steps of a flow: the authorization server, the
//!                            client's id, the tokens
//!  login, client_credentials, enterprise       the grants
//!  metadata, tolerant, discovered, token, client        parse and check what servers send
//!  fetch, address_policy     bounded HTTP requests; protection against SSRF
//!  browser, callback_agent   user agents for logins
//!  store, file_store         token stores
//! ```
//!
//! **Secrets** that are stored have the type [`Secret`]. Secrets do not appear in errors, log lines
//! or debug output. They are sent to authorization servers only over HTTPS, or within this machine.
//!
//! Connections over stdio and other streams do not use this module: their credentials come from the
//! environment.
//!
//! Spec: Base Protocol, "Authorization" (2025-03-26 and later), with its extensions.
// M-AUTH-B-02

mod address_policy;
mod browser;
mod builder;
mod callback_agent;
mod client;
mod client_credentials;
mod discovered;
mod discovery;
mod dpop;
mod enterprise;
mod fetch;
mod file_store;
mod flow_context;
mod form;
#[cfg(fuzzing)]
pub mod fuzzing;
mod http_url;
mod key;
mod login;
mod metadata;
mod oauth;
mod random;
mod registration;
mod renew;
mod secret;
mod server_state;
mod store;
mod token;
mod token_endpoint;
mod tolerant;

pub use browser::Browser;
pub use builder::OAuthBuilder;
pub use callback_agent::CallbackUserAgent;
pub use client::{ClientDocument, RegisteredClient};
pub use dpop::DpopUse;
pub use enterprise::{IdentityProvider, SubjectToken};
pub use file_store::FileStore;
#[cfg(feature = "cffi")]
pub(crate) use key::is_asymmetric;
pub use key::{Signer, SigningKey};
pub use login::{Login, LoginAttempt, UserAgent};
pub use oauth::OAuth;
pub use secret::Secret;
pub use store::{MemoryStore, Store};
