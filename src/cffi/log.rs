//! Log hooks: how the library reports to its host.

use std::cell::Cell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::failure::Failure;
use super::handle::{Fault, Object};
use super::text::{Text, mcplink_str_t};
use super::user::{UserData, call_back};
use super::wording::for_c;
use crate::cffi::arg;
use crate::cffi::user::Callback;
use crate::error::Result;
use crate::protocol::{LogLevel, LogRecord, tell_once};
use crate::schema::LoggingLevel;
use crate::sync::StaticMutex;

enumeration! {
    /// The severity of a log message, after RFC 5424.
    #[repr(C)]
    #[allow(dead_code, reason = "constants of C")]
    pub enum mcplink_log_level {
        /// Details for debugging.
        MCPLINK_LOG_DEBUG = 1100,
        /// General information.
        MCPLINK_LOG_INFO = 1101,
        /// Normal but significant events.
        MCPLINK_LOG_NOTICE = 1102,
        /// Warning conditions.
        MCPLINK_LOG_WARNING = 1103,
        /// Error conditions.
        MCPLINK_LOG_ERROR = 1104,
        /// Critical conditions.
        MCPLINK_LOG_CRITICAL = 1105,
        /// Conditions that require action at once.
        MCPLINK_LOG_ALERT = 1106,
        /// Conditions that make the system unusable.
        MCPLINK_LOG_EMERGENCY = 1107,
    }
}

/// Returns the log level for the number that C passes.
pub(super) fn level_of(level: i32) -> Result<LoggingLevel> {
    use mcplink_log_level as Level;
    Ok(match Level::read(level, "log level")? {
        Level::MCPLINK_LOG_DEBUG => LoggingLevel::Debug,
        Level::MCPLINK_LOG_INFO => LoggingLevel::Info,
        Level::MCPLINK_LOG_NOTICE => LoggingLevel::Notice,
        Level::MCPLINK_LOG_WARNING => LoggingLevel::Warning,
        Level::MCPLINK_LOG_ERROR => LoggingLevel::Error,
        Level::MCPLINK_LOG_CRITICAL => LoggingLevel::Critical,
        Level::MCPLINK_LOG_ALERT => LoggingLevel::Alert,
        Level::MCPLINK_LOG_EMERGENCY => LoggingLevel::Emergency,
    })
}

/// Receives a log record of the library, for example about a protocol error of a peer or a failed
/// handler. The callback runs on any thread, also on several at once, and must be quick.
///
/// level: the severity of the record.
/// target: the part of the library that logs: "protocol", "transport", "server", "client", "http",
/// "auth", "handle" for an invalid argument of a function that returns no error, or "library" for a
/// bug of this library; later versions may add more. Valid until the callback returns.
/// text: usually one line; valid until the callback returns.
pub type mcplink_log_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        level: arg::mcplink_log_level,
        target: mcplink_str_t,
        text: mcplink_str_t,
    ),
>;

type LogFn = Callback<mcplink_log_fn>;

/// A log hook of the host.
pub(super) struct Hook {
    callback: LogFn,
    user: UserData,
    /// The least severe level that the hook receives.
    level: i32,
}

impl Hook {
    /// Makes a log hook. Without a callback, returns `None` and ignores the level.
    pub(super) fn new(
        level: i32,
        callback: mcplink_log_fn,
        user: UserData,
    ) -> Result<Option<Arc<Self>>> {
        let Some(callback) = callback else {
            return Ok(None);
        };
        level_of(level)?;
        Ok(Some(Arc::new(Self {
            callback,
            user,
            level,
        })))
    }

    /// Calls the log hook for the handle with this number, unless the level of the record is below
    /// the level of the hook.
    fn tell(&self, handle: u64, record: &LogRecord<'_>) {
        let level = severity(record.level);
        if level < self.level {
            return;
        }
        let text = for_c(record.text);
        let (target, text) = (Text::from(record.target), Text::from(text.as_ref()));
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
/// no hook. Without either, an error is written to standard error once.
pub(super) fn tell(own: Option<&Arc<Hook>>, handle: u64, record: &LogRecord<'_>) {
    match own {
        Some(hook) => hook.tell(handle, record),
        None => {
            let hook = DEFAULT.lock().clone();
            match hook {
                Some(hook) => hook.tell(handle, record),
                None if record.level == LogLevel::Error => tell_once(record.text),
                None => {}
            }
        }
    }
}

thread_local! {
    /// Whether this thread is in [`tell_process`].
    static TELLS_PROCESS: Cell<bool> = const { Cell::new(false) };
}

/// Logs a record that belongs to no handle, through the process-wide hook.
///
/// A hook may call functions of the library whose failures are logged in this way again. Such a
/// record is dropped, so that the hook is not called from itself without end.
pub(super) fn tell_process(level: LogLevel, target: &str, text: &str) {
    if TELLS_PROCESS.replace(true) {
        return;
    }
    let record = LogRecord {
        level,
        target,
        text,
    };
    // Reporting a failure must not fail.
    _ = catch_unwind(AssertUnwindSafe(|| tell(None, 0, &record)));
    TELLS_PROCESS.set(false);
}

/// Logs that C passed an argument that is no `T` to `function`. Functions that can't return a
/// failure, such as getters, call this function. NULL is not logged, because getters accept NULL.
pub(super) fn fault<T: Object>(fault: Fault, function: &str) {
    if fault != Fault::Null {
        let failure = Failure::object::<T>(fault, "the argument").context(function);
        tell_process(LogLevel::Error, "handle", &failure.to_string());
    }
}

/// Logs that C passed an argument that is no `T` to the function that frees a `T`.
pub(super) fn free_fault<T: Object>(reason: Fault) {
    let function = T::KIND.name().trim_end_matches("_t").to_owned() + "_free";
    fault::<T>(reason, &function);
}

/// Replaces the process-wide hook.
pub(super) fn replace(hook: Option<Arc<Hook>>) {
    let before = std::mem::replace(&mut *DEFAULT.lock(), hook);
    drop(before);
}
