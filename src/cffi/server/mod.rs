//! The C API of servers.

mod activity;
mod definition;
mod event_bus;
mod events;
mod folder;
mod form;
mod guard;
mod handler;
mod http;
mod limits;
mod notices;
mod options;
mod params;
mod prompt;
mod publication;
mod record_store;
mod registry;
mod resource;
mod server_handle;
mod serving;
mod session;
mod settings;
mod skills;
mod state_store;
mod template;
mod tool;

pub(super) use self::limits::list_of;
pub(super) use self::registry::mcplink_primitive;
use self::server_handle::mcplink_server_t;
