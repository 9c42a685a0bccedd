//! The callback types for events, and for lines of standard error.

use std::ffi::c_void;

use super::arg;
use super::json::mcplink_json_t;
use super::text::mcplink_str_t;

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
