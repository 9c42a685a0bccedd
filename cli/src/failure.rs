//! Failures, with their text and exit code.

use std::fmt;
use std::io;
use std::time::Duration;

use mcplink::{Error, ErrorKind};

use crate::args::Misuse;
use crate::print::note;

pub(crate) const TOOL_FAILED: u8 = 1;
pub(crate) const USAGE: u8 = 2;
pub(crate) const REFUSED: u8 = 3;
pub(crate) const LOST: u8 = 4;
pub(crate) const TIMED_OUT: u8 = 5;
/// The exit code that shells use after SIGINT.
pub(crate) const INTERRUPTED: u8 = 130;

#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    text: String,
    /// The command for more help.
    help: String,
}

impl Failure {
    pub(crate) fn new(code: u8, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
            help: "mcplink --help".to_owned(),
        }
    }

    pub(crate) fn misuse(misuse: Misuse) -> Self {
        Self {
            code: USAGE,
            text: misuse.text,
            help: misuse.help,
        }
    }

    /// Sets the command for more help.
    pub(crate) fn with_help(mut self, help: &str) -> Self {
        self.help = help.to_owned();
        self
    }

    pub(crate) fn usage(text: String) -> Self {
        Self::new(USAGE, text)
    }

    /// Whether wrong arguments may be the cause: the tool failed, or the server refused the call.
    pub(crate) fn may_be_of_arguments(&self) -> bool {
        matches!(self.code, TOOL_FAILED | REFUSED)
    }

    /// A signal interrupted the work.
    pub(crate) fn interrupted() -> Self {
        Self::new(INTERRUPTED, "interrupted")
    }

    /// The tool ran and failed. Its text has already been shown.
    pub(crate) fn of_tool() -> Self {
        Self::new(TOOL_FAILED, "")
    }

    /// Connecting failed, on either side. `is_shown` is whether the server's standard error has
    /// been shown: then the failure does not repeat it.
    pub(crate) fn of_connecting(error: &Error, timeout: Option<Duration>, is_shown: bool) -> Self {
        let text = match is_shown {
            true => error.to_string(),
            false => format!("{error:#}"),
        };
        match (error.kind(), timeout) {
            (ErrorKind::Timeout, Some(timeout)) => {
                let seconds = timeout.as_secs_f64();
                let text = format!("no connection within the {seconds} s of --timeout: {text}");
                Self::new(TIMED_OUT, text)
            }
            (ErrorKind::Timeout, None) => Self::new(TIMED_OUT, text),
            _ => Self::new(LOST, text),
        }
    }

    /// Prints the failure on standard error.
    pub(crate) fn report(&self) {
        if self.text.is_empty() {
            return;
        }
        note(&format!("mcplink: {}", self.text));
        if self.code == USAGE {
            note(&format!("try '{}'", self.help));
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match error.kind() {
            ErrorKind::Timeout => TIMED_OUT,
            // `Cancelled` means that the user refused to answer a question.
            ErrorKind::Peer | ErrorKind::Unsupported | ErrorKind::Cancelled => REFUSED,
            ErrorKind::Invalid => USAGE,
            _ => LOST,
        };
        // Often only the data name the missing or the allowed values.
        let data = error.rpc().and_then(|rpc| rpc.data.as_deref());
        match (data, error.result()) {
            (Some(data), _) => Self::new(code, format!("{error}: {}", start_of(data.get()))),
            // The call has happened, so its result is shown although it can't be read.
            (None, Some(result)) => Self::new(code, format!("{error}: {result}")),
            (None, None) => Self::new(code, format!("{error:#}")),
        }
    }
}

impl From<io::Error> for Failure {
    /// A broken pipe is no failure: the reader of our output may close it early, as `head` does.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(0, ""),
            _ => Self::new(LOST, format!("can't write: {error}")),
        }
    }
}

fn start_of(text: &str) -> String {
    const MOST: usize = 500;
    let mut start: String = text.chars().take(MOST).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    start
}
