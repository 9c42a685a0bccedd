//! OAuth for C: what Rust programs have in [`auth`](crate::auth).
//!
//! ```text
//!  settings    what the host says;  ways  how tokens are come by;  kept  where they are kept
//!  registered  a client that an authorization server knows beforehand
//!  login       what a person is asked, and the answer of the host
//!  inside      functions of the host that run, and how what they belong to ends
//!  made        the authorizer, made of all that for the clients that were given the settings
//! ```
//!
//! What is set is plain data in every build; without the feature `auth` no authorizer can be made of it.

mod inside;
mod kept;
mod login;
mod made;
mod registered;
mod settings;
mod ways;

pub(super) use self::made::Made;
#[cfg(feature = "http-server")]
pub(super) use self::settings::mcplink_dpop;
pub(super) use self::settings::mcplink_oauth_t;

/// Text that is wiped from memory when it is dropped.
#[cfg(feature = "auth")]
type Hidden = crate::auth::Secret;
/// Text that nothing is done with.
#[cfg(not(feature = "auth"))]
type Hidden = String;
