//! The library's log records, which the host receives.
//!
//! Log records are unrelated to the protocol's log messages, which servers send to clients.

use std::any::Any;
use std::fmt;
use std::io::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::sync::StaticMutex;

/// A hook that receives the library's log records. The hook may be called on any thread.
///
/// The hook should return quickly. The logging thread waits for the hook, and may be the reading
/// thread. A panic in the hook is caught.
pub type LogHook = Arc<dyn Fn(&LogRecord<'_>) + Send + Sync>;

/// A log record of the library.
///
/// A client or server without a hook drops its records, except [errors](LogLevel::Error): each is
/// written to standard error once, up to 16 errors in a process. With the feature `log`, the
/// records go to the logger of the crate `log` instead. Their targets are `mcplink::` and the
/// [`target`](Self::target), such as `mcplink::server`. Displaying the record gives its text.
///
/// A log record never contains tokens or values of header fields.
///
/// # Examples
///
/// ```
/// use mcplink::protocol::LogLevel;
/// use mcplink::server::Server;
///
/// let server = Server::builder("quiet", "1.0")
///     .on_log(|record| {
///         if record.level >= LogLevel::Warning {
///             eprintln!("{}: {record}", record.target);
///         }
///     })
///     .build()?;
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LogRecord<'a> {
    /// The severity of the record.
    pub level: LogLevel,
    /// The part of the library that created the record.
    ///
    /// The parts are `protocol` (connections), `transport`, `server`, `client`, `http` (HTTP
    /// servers), and `auth` (logins of a C client). More parts may be added later.
    pub target: &'a str,
    /// The text of the record: one line, unless it quotes a multi-line text of the peer or a
    /// handler.
    pub text: &'a str,
}

impl fmt::Display for LogRecord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}

/// The severity of a [`LogRecord`]. Higher severities compare greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LogLevel {
    /// Normal operation. Example: a request was cancelled.
    Debug,
    /// A rare but normal event. Example: a lost server was restarted.
    Info,
    /// An unexpected event that was handled. Example: a peer sent a malformed message.
    Warning,
    /// A failure that only the host can fix. Examples: a handler panicked; a result violates its
    /// schema.
    Error,
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// Passes a log record to the hook. Without a hook, passes the record to the crate `log`, if the
/// library was built with the feature `log`. If nobody gets an error, calls [`tell_once`].
pub(crate) fn tell(
    hook: Option<&LogHook>,
    level: LogLevel,
    target: &str,
    text: impl FnOnce() -> String,
) {
    let Some(hook) = hook else {
        #[cfg(feature = "log")]
        if log::max_level() >= log::Level::Error {
            forward(level, target, text);
            return;
        }
        if level == LogLevel::Error {
            tell_once(&text());
        }
        return;
    };
    // A panic of the host's hook must not end reading. During another unwind the panic would abort
    // the process.
    _ = catch_unwind(AssertUnwindSafe(|| {
        let text = text();
        hook(&LogRecord {
            level,
            target,
            text: &text,
        });
    }));
}

/// The maximum number of errors that are written to standard error.
const MAX_TOLD: usize = 16;

/// Writes an error that no hook gets to standard error, unless the same text was written before,
/// apart from the digits in it: each request has another number. Without that nobody would learn
/// the reason for a failure that only the host can fix. A process writes [`MAX_TOLD`] errors at
/// most.
pub(crate) fn tell_once(text: &str) {
    static TOLD: StaticMutex<Vec<String>> = StaticMutex::new(Vec::new());
    let mut told = TOLD.lock();
    let key = text.replace(|letter: char| letter.is_ascii_digit(), "");
    if told.len() < MAX_TOLD && !told.contains(&key) {
        told.push(key);
        drop(told);
        let note = "a failure is shown once: a log hook gets all";
        // There may be no standard error.
        _ = writeln!(io::stderr(), "mcplink: {text} ({note})");
    }
}

/// Passes a log record to the logger of the crate `log`.
#[cfg(feature = "log")]
fn forward(level: LogLevel, target: &str, text: impl FnOnce() -> String) {
    let level = match level {
        LogLevel::Debug => log::Level::Debug,
        LogLevel::Info => log::Level::Info,
        LogLevel::Warning => log::Level::Warn,
        LogLevel::Error => log::Level::Error,
    };
    if level > log::max_level() {
        return;
    }
    // The logger is host code, as a hook is.
    _ = catch_unwind(AssertUnwindSafe(|| {
        log::log!(target: &format!("mcplink::{target}"), level, "{}", text());
    }));
}

/// Returns the text of a panic.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no text")
}
