//! OAuth for C: the C functions for [`auth`](crate::auth).
//!
//! ```text
//!  oauth              the settings object and its setters;  settings  the data of the object
//!  grant_type         the grant types;  token_store  the token store
//!  bearer             the callback that provides bearer tokens
//!  registered         a client that is registered with an authorization server
//!  signer             a key that the host's device or service holds
//!  login              a pending login, and the answer of the host
//!  running_callbacks  the callbacks that run at the moment, and the wait for their end
//!  authorizer         the authorizer, built from the settings for the clients that use them
//! ```
//!
//! The settings are plain data in every build. Without the feature `auth` no authorizer can be
//! built from them.

mod authorizer;
mod bearer;
mod grant_type;
mod login;
mod oauth;
mod registered;
mod running_callbacks;
mod settings;
mod signer;
mod token_store;

pub(super) use self::authorizer::Made;
pub(super) use self::bearer::mcplink_bearer_fn;
pub(super) use self::oauth::mcplink_oauth_t;
pub(super) use self::settings::mcplink_dpop;

/// Text that is wiped from memory when the text is dropped.
#[cfg(feature = "auth")]
type Hidden = crate::auth::Secret;
/// Text that is not wiped from memory. A build without OAuth uses this type, because the type
/// `Secret` is part of the feature `auth`.
#[cfg(not(feature = "auth"))]
type Hidden = String;
