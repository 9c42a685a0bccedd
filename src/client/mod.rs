//! A client: connects to a server of any revision, and calls it.
//!
//! [`connect`](Client::connect) detects the era of the server, negotiates a revision, and remembers
//! the server's capabilities. If a call needs a capability that the server did not declare, the
//! call fails at once. The error names the missing capability, and no message is sent.
//!
//! **Threads.** A call blocks the calling thread. Any number of threads may make calls at once. A
//! thread of the connection reads when no caller reads. Other threads are started for the server's
//! requests and notifications.

mod attempt;
mod builder;
mod cache;
mod call_options;
mod calls;
mod config;
mod connect;
mod connect_cancel;
mod connection;
mod era;
mod event;
mod fetch;
mod group;
mod handle;
mod handshake;
mod header_params;
mod idempotency;
mod input;
mod input_round;
mod misfits;
mod mrtr;
mod notify;
mod open_pages;
mod output_schemas;
mod paging;
mod pending_call;
mod prepared_call;
mod request_meta;
mod requester;
mod restart;
mod server_state;
mod session;
mod settings;
mod skills;
mod sub_resource;
mod subscriber;
mod subscription;
mod subscriptions;
mod supervisor;
mod tasks;

pub use self::builder::ClientBuilder;
pub use self::cache::ResponseCache;
pub use self::call_options::CallOptions;
#[cfg(feature = "cffi")]
pub(crate) use self::calls::tool_params;
#[cfg(fuzzing)]
pub use self::config::fuzzing;
pub use self::config::{Config, ConfigInput, ConfigWarning, ServerConfig};
pub use self::era::{Era, EraMemory};
pub use self::event::Event;
#[cfg(feature = "cffi")]
pub(crate) use self::group::GroupItemKind;
pub use self::group::listing::{GroupItem, GroupList};
pub use self::group::{Group, GroupEvent, GroupFailure, GroupNames, GroupSubscription};
pub use self::handle::Client;
pub use self::paging::{Items, ListPage, Pages};
#[cfg(feature = "cffi")]
pub(crate) use self::pending_call::CallListener;
pub use self::pending_call::{CallEvent, PendingCall};
#[cfg(feature = "cffi")]
pub(crate) use self::prepared_call::PreparedCall;
pub use self::requester::Requester;
pub use self::restart::{ConnectionEvent, Restart};
pub use self::subscription::Subscription;
#[cfg(feature = "cffi")]
pub(crate) use self::tasks::RawToolAnswer;
pub use self::tasks::{TaskHandle, ToolAnswer};
pub use crate::protocol::{CancelToken, LogLevel, LogRecord, Progress};
