//! The description of a child to start, which is the same on every system.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::command::VariableName;
use super::fd::Owned;

/// The program to start, with its arguments and its environment.
#[derive(Debug)]
pub(crate) struct Command<'a> {
    pub(crate) program: &'a OsStr,
    pub(crate) args: &'a [OsString],
    /// The whole environment of the program. The environment of this process is not added.
    pub(crate) env: &'a [(VariableName, OsString)],
    pub(crate) directory: Option<&'a Path>,
    pub(crate) stdin: Owned,
    pub(crate) stdout: Owned,
    pub(crate) stderr: Stderr,
    /// Whether the child is ended with its parent. On Unix, that is the end of the thread that
    /// starts the child. On Windows, it is the end of this process, and all processes that the
    /// child has started are ended too.
    pub(crate) dies_with_parent: bool,
}

/// The destination of the child's standard error.
#[derive(Debug)]
pub(crate) enum Stderr {
    To(Owned),
    Inherit,
    Discard,
}
