//! Events, and the callback types for events and for lines of standard error.

use std::ffi::c_void;
use std::sync::Arc;

use super::arg;
use super::callback_executor::CallbackExecutor;
use super::json::{Document, mcplink_json_t, shown};
use super::queue::Kind;
use super::text::mcplink_str_t;
use super::user::{Callback, Hook, call_back};

/// Receives an event of a client.
///
/// event: the kind of the event. Ignore unknown kinds.
/// params: the details, valid until the callback returns; NULL for an event without details.
pub type mcplink_event_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        event: arg::mcplink_event,
        params: *const mcplink_json_t,
    ),
>;

/// Receives an event of a server.
///
/// event: the kind of the event. Ignore unknown kinds.
/// params: the details, valid until the callback returns; NULL for an event without details.
pub type mcplink_server_event_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        event: arg::mcplink_server_event,
        params: *const mcplink_json_t,
    ),
>;

/// Receives a line that a child process wrote to its standard error.
///
/// line: the line without the newline, valid until the callback returns.
pub type mcplink_line_fn =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, line: mcplink_str_t)>;

/// The function of an event callback of a client or a server.
pub(super) type EventFn = Callback<mcplink_event_fn>;

/// Posts an event to the host. `owner` is the number of the handle whose event it is.
pub(super) fn post_event(
    stage: &CallbackExecutor,
    owner: u64,
    kind: Kind,
    hook: Arc<Hook<EventFn>>,
    event: i32,
    params: Option<String>,
) {
    stage.post(kind, move || {
        // A message is valid JSON; params that can't be represented in C become NULL.
        let params = params.and_then(|params| Document::parse(&params).ok());
        let node = shown(params.as_deref());
        // SAFETY: the header requires valid arguments.
        call_back(owner, || unsafe {
            (hook.callback)(hook.user.ptr(), event, node);
        });
    });
}
