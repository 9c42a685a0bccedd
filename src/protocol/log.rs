//! What the library has to say to its host.
//!
//! Not to be mixed up with log messages of the protocol, which servers send to clients.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Takes what the library has to say to its host, a record at a time, on any thread.
///
/// It should be quick: whoever has something to say waits for it, and that may be the thread that reads. A panic in it is caught.
pub type LogHook = Arc<dyn Fn(&LogRecord<'_>) + Send + Sync>;

/// Something that the library has to say to its host. Written with `{}` it is its text.
///
/// Neither tokens nor values of header fields ever stand in one.
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
    /// How much it matters.
    pub level: LogLevel,
    /// Which part of the library says it: `protocol` (conversations), `transport`, `server`, `client`, or `http` (servers over HTTP). There
    /// may be more parts later.
    pub target: &'a str,
    /// What there is to say: one line, unless a text of the peer's or of a handler's has more.
    pub text: &'a str,
}

impl fmt::Display for LogRecord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}

/// How much a [`LogRecord`] matters. What matters more is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LogLevel {
    /// What goes on as it should: a request was cancelled.
    Debug,
    /// What does not happen often: a server that was lost is back.
    Info,
    /// Something odd that was dealt with: a peer sent what is no message, a handler runs for long.
    Warning,
    /// Something failed, and only the host can mend it: a handler failed or panicked, a result is not what was promised.
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

/// Says something, if anybody wants to hear it.
pub(crate) fn tell(
    hook: Option<&LogHook>,
    level: LogLevel,
    target: &str,
    text: impl FnOnce() -> String,
) {
    if let Some(hook) = hook {
        // A panic of the host's must not end reading, nor the process when it comes while another one unwinds.
        _ = catch_unwind(AssertUnwindSafe(|| {
            let text = text();
            hook(&LogRecord {
                level,
                target,
                text: &text,
            });
        }));
    }
}
