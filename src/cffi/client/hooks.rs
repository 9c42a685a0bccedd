//! The callbacks that a client has, as its options were given them.

use std::ffi::c_void;
use std::sync::Arc;

use super::super::json::mcplink_json_t;
use super::super::status::mcplink_status_t;
use super::super::text::mcplink_str_t;
use super::super::user::Hook;
use super::options::mcplink_token_t;

pub(super) type EventFn =
    unsafe extern "C-unwind" fn(user: *mut c_void, event: i32, params: *const mcplink_json_t);
pub(super) type LineFn = unsafe extern "C-unwind" fn(user: *mut c_void, line: mcplink_str_t);
pub(super) type LogFn = unsafe extern "C-unwind" fn(
    user: *mut c_void,
    level: i32,
    target: mcplink_str_t,
    text: mcplink_str_t,
);
pub(super) type BearerFn =
    unsafe extern "C-unwind" fn(user: *mut c_void, token: *mut mcplink_token_t) -> mcplink_status_t;

/// The callbacks of one client. Copies share them; what belongs to each is ended with the last copy.
#[derive(Clone, Default)]
pub(super) struct Hooks {
    pub(super) event: Option<Arc<Hook<EventFn>>>,
    pub(super) log: Option<Arc<Hook<LogFn>>>,
    pub(super) stderr: Option<Arc<Hook<LineFn>>>,
    pub(super) bearer: Option<Arc<Hook<BearerFn>>>,
    /// By method.
    pub(super) notifications: Vec<(String, Arc<Hook<EventFn>>)>,
}

impl Hooks {
    /// Whether a server may ask this client.
    pub(super) fn has_questions(&self) -> bool {
        false
    }
}

/// Sets the hook of a method, in place of an earlier one.
pub(super) fn set_by_method<F>(
    hooks: &mut Vec<(String, Arc<Hook<F>>)>,
    method: &str,
    hook: Option<Arc<Hook<F>>>,
) {
    hooks.retain(|(known, _)| known != method);
    hooks.extend(hook.map(|hook| (method.to_owned(), hook)));
}
