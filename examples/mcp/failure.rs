//! Why it did not work, and the exit code that tells it.

use std::io;

use mcplink::{Error, ErrorKind};

pub(crate) const TOOL_FAILED: u8 = 1;
pub(crate) const USAGE: u8 = 2;
pub(crate) const REFUSED: u8 = 3;
pub(crate) const LOST: u8 = 4;
pub(crate) const TIMED_OUT: u8 = 5;

#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    text: String,
}

impl Failure {
    pub(crate) fn new(code: u8, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
        }
    }

    pub(crate) fn usage(text: String) -> Self {
        Self::new(USAGE, format!("{text}\ntry 'mcp --help'"))
    }

    /// The tool ran and failed. What it said has been shown.
    pub(crate) fn of_tool() -> Self {
        Self::new(TOOL_FAILED, "")
    }

    pub(crate) fn of_connecting(error: Error) -> Self {
        let code = match error.kind() {
            ErrorKind::Timeout => TIMED_OUT,
            ErrorKind::Peer => REFUSED,
            _ => LOST,
        };
        Self::new(code, error.to_string())
    }

    pub(crate) fn report(&self) {
        if !self.text.is_empty() {
            eprintln!("mcp: {}", crate::print::clean(&self.text));
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match error.kind() {
            ErrorKind::Timeout => TIMED_OUT,
            ErrorKind::Peer | ErrorKind::Unsupported => REFUSED,
            ErrorKind::Invalid => USAGE,
            _ => LOST,
        };
        Self::new(code, error.to_string())
    }
}

impl From<io::Error> for Failure {
    /// Whoever reads our output may leave early, as `head` does: that is no failure worth a word.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(0, ""),
            _ => Self::new(LOST, format!("can't write: {error}")),
        }
    }
}
