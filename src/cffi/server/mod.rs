//! Servers for C.

mod definition;
mod events;
mod handler;
#[cfg(feature = "http-server")]
mod http;
mod life;
mod looking;
#[cfg(not(feature = "http-server"))]
mod no_http;
mod options;
mod prompt;
mod registry;
mod resource;
mod serving;
mod session;
mod settings;
mod template;
mod tool;
mod tuning;

use self::life::mcplink_server_t;
pub(super) use self::registry::mcplink_completion_of;
