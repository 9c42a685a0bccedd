//! The program that a child runs, its arguments and its environment, in the form that the system
//! expects.

use std::ffi::{CString, OsStr, OsString, c_char};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;
use std::ptr;

use crate::error::{Error, ErrorKind, Result};

/// The program to start, with its arguments and its environment.
#[derive(Debug)]
pub(crate) struct Command<'a> {
    pub(crate) program: &'a OsStr,
    pub(crate) args: &'a [OsString],
    /// The whole environment of the program. The environment of this process is not added.
    pub(crate) env: &'a [(OsString, OsString)],
    pub(crate) directory: Option<&'a Path>,
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: Stderr,
    /// Whether the child is killed when the thread that starts it ends.
    pub(crate) dies_with_parent: bool,
}

/// The destination of the child's standard error.
#[derive(Debug)]
pub(crate) enum Stderr {
    To(OwnedFd),
    Inherit,
    Discard,
}

pub(super) fn refusal(command: &Command<'_>, error: io::Error) -> Error {
    let advice = match error.raw_os_error() {
        Some(libc::ENOEXEC) => ": it is neither a program nor a script that begins with #!",
        Some(libc::ENOENT) => ": check that the file exists, and the interpreter it names after #!",
        Some(libc::EACCES) => ": check that it is a file with execute permission",
        _ => "",
    };
    let name = command.program.display();
    let doing = format!("can't start '{name}'{advice}");
    Error::io(doing, error).with_kind(ErrorKind::Spawn)
}

pub(super) fn c_string(what: impl std::fmt::Display, text: &OsStr) -> Result<CString> {
    CString::new(text.to_owned().into_vec()).map_err(|_nul| {
        let text =
            format!("{what} of the child has a NUL byte inside, which no process can be given");
        Error::new(ErrorKind::Invalid, text)
    })
}

pub(super) fn pointers(strings: &[CString]) -> Vec<*mut c_char> {
    let pointers = strings.iter().map(|string| string.as_ptr().cast_mut());
    pointers.chain([ptr::null_mut()]).collect()
}

/// Returns the open descriptors that are not close-on-exec, except the standard streams.
pub(super) fn inheritable() -> Vec<libc::c_int> {
    let entries = std::fs::read_dir("/dev/fd").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers
        .filter(|number: &libc::c_int| {
            // SAFETY: the query is harmless, even if the descriptor has been closed meanwhile.
            let flags = unsafe { libc::fcntl(*number, libc::F_GETFD) };
            *number >= 3 && flags != -1 && flags & libc::FD_CLOEXEC == 0
        })
        .collect()
}
