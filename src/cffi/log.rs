//! Log hooks: how the library reports to its host.

use std::ffi::c_void;
use std::sync::Arc;

use super::entry::{plain, value};
use super::responder::{level_of, mcplink_log_level};
use super::status::{mcplink_status, mcplink_status_t};
use super::text::{Text, mcplink_str_t};
use super::user::{UserData, call_back, mcplink_destroy_fn};
use crate::error::Result;
use crate::protocol::{LogLevel, LogRecord};
use crate::sync::StaticMutex;

/// Receives a log record of the library, for example about a protocol error of a peer or a failed
/// handler.
///
/// level: one of enum mcplink_log_level. target: the part of the library that logs: "protocol",
/// "transport", "server", "client", "http", "auth" or "handle", which is a mistake of the host with
/// an object; later versions may add more. text: usually one line. Both texts are valid until the
/// callback returns. The callback runs on any thread, also on several at once, and must be quick.
pub type mcplink_log_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        level: i32,
        target: mcplink_str_t,
        text: mcplink_str_t,
    ),
>;

type LogFn = unsafe extern "C-unwind" fn(*mut c_void, i32, mcplink_str_t, mcplink_str_t);

/// A log hook of the host.
pub(super) struct Hook {
    callback: LogFn,
    user: UserData,
    /// The least severe level that the hook receives.
    level: i32,
}

impl Hook {
    /// Makes a log hook; returns `None` without a callback.
    pub(super) fn new(
        level: i32,
        callback: mcplink_log_fn,
        user: UserData,
    ) -> Result<Option<Arc<Self>>> {
        level_of(level)?;
        Ok(callback.map(|callback| {
            Arc::new(Self {
                callback,
                user,
                level,
            })
        }))
    }

    /// Calls the log hook for the handle with this number, unless the level of the record is below
    /// the level of the hook.
    fn tell(&self, handle: u64, record: &LogRecord<'_>) {
        let level = severity(record.level);
        if level < self.level {
            return;
        }
        let (target, text) = (Text::from(record.target), Text::from(record.text));
        call_back(handle, || {
            // SAFETY: the header requires valid arguments; both texts outlive the call.
            unsafe { (self.callback)(self.user.ptr(), level, target.view(), text.view()) }
        });
    }
}

/// Returns the level of a record as the number that C uses.
fn severity(level: LogLevel) -> i32 {
    use mcplink_log_level as Level;
    let level = match level {
        LogLevel::Debug => Level::MCPLINK_LOG_DEBUG,
        LogLevel::Info => Level::MCPLINK_LOG_INFO,
        LogLevel::Warning => Level::MCPLINK_LOG_WARNING,
        LogLevel::Error => Level::MCPLINK_LOG_ERROR,
    };
    level as i32
}

/// The process-wide hook, for handles without a hook of their own.
static DEFAULT: StaticMutex<Option<Arc<Hook>>> = StaticMutex::new(None);

/// Logs a record through the hook of a handle, or through the process-wide hook if the handle has
/// no hook.
pub(super) fn tell(own: Option<&Arc<Hook>>, handle: u64, record: &LogRecord<'_>) {
    match own {
        Some(hook) => hook.tell(handle, record),
        None => {
            let hook = DEFAULT.lock().clone();
            if let Some(hook) = hook {
                hook.tell(handle, record);
            }
        }
    }
}

/// Logs a record that belongs to no handle, through the process-wide hook.
pub(super) fn tell_process(level: LogLevel, target: &str, text: &str) {
    let record = LogRecord {
        level,
        target,
        text,
    };
    value((), || tell(None, 0, &record));
}

/// Sets the process-wide log hook. Clients and servers without a log hook of their own use the
/// process-wide hook.
///
/// level: the least severe level to report, one of enum mcplink_log_level.
/// callback: called on any thread, also on several at once; it must be quick. NULL removes the
/// hook.
/// user, destroy: passed to callback; destroy runs when another log hook is set or the log hook is
/// removed.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_set_log(
    level: i32,
    callback: mcplink_log_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
) -> mcplink_status_t {
    let user = UserData::new(user, destroy);
    plain(|| {
        let hook = Hook::new(level, callback, user)?;
        let before = std::mem::replace(&mut *DEFAULT.lock(), hook);
        drop(before);
        Ok(mcplink_status::MCPLINK_OK)
    })
}
