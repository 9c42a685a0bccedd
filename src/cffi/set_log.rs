//! The exported function that sets the process-wide log hook.

use std::ffi::c_void;

use super::arg;
use super::entry::plain;
use super::log::{self, Hook, mcplink_log_fn};
use super::status::{mcplink_status, mcplink_status_t};
use super::user::{UserData, mcplink_destroy_fn};

/// Sets the process-wide log hook. Clients and servers without a log hook of their own use the
/// process-wide hook.
///
/// level: the least severe level to report.
/// callback: called on any thread, also on several at once; it must be quick. NULL removes the
/// hook; level is then ignored.
/// user, destroy: passed to callback; destroy runs when another log hook is set or the log hook is
/// removed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_set_log(
    level: arg::mcplink_log_level,
    callback: mcplink_log_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
) -> mcplink_status_t {
    let user = UserData::new(user, destroy);
    plain(|| {
        let hook = Hook::new(level, callback, user)?;
        log::replace(hook);
        Ok(mcplink_status::MCPLINK_OK)
    })
}
