//! The program that a child runs, its arguments and its environment, in the form that the system
//! expects.

use std::ffi::{CString, OsStr, OsString, c_char};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::ptr;

use super::fd::{self, Owned};
use super::read::ReadEnd;
use super::write::WriteEnd;
use crate::error::{Error, ErrorKind, Result};

/// Converts a string from C code to the encoding of the system, which allows any bytes. The result
/// is never `None` on this system.
#[cfg(feature = "cffi")]
pub(crate) fn text_from_c(bytes: &[u8]) -> Option<OsString> {
    Some(OsString::from_vec(bytes.to_vec()))
}

/// The name of an environment variable.
pub(crate) type VariableName = OsString;

/// Returns the name of an environment variable in a form that can be compared.
pub(crate) fn variable_name(name: impl AsRef<OsStr>) -> VariableName {
    name.as_ref().to_owned()
}

/// The names of the environment variables that a child inherits by default. Variables whose names
/// begin with `LC_` are inherited too.
const USUAL: [&str; 8] = [
    "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER",
];

/// Whether a child inherits a variable by default. A variable whose value begins with `()` is not
/// inherited. Such a value is a shell function, and a shell that the child runs would import the
/// function (Shellshock).
pub(crate) fn is_usual(name: &VariableName, value: &OsStr) -> bool {
    let is_usual = USUAL.iter().any(|usual| name == usual) || name.as_bytes().starts_with(b"LC_");
    is_usual && !value.as_bytes().starts_with(b"()")
}

/// Creates the streams to a child: pipes, or pairs of sockets. Returns the two ends that this
/// process uses, and the two ends that become the child's standard input and output.
pub(crate) fn streams(pipes: bool) -> io::Result<((WriteEnd, ReadEnd), Owned, Owned)> {
    if pipes {
        let (stdin, to_child) = fd::pipe()?;
        let (from_child, stdout) = ReadEnd::pipe()?;
        Ok(((WriteEnd::own_pipe(to_child)?, from_child), stdin, stdout))
    } else {
        let (stdin, to_child) = fd::socket_pair()?;
        let (from_child, stdout) = fd::socket_pair()?;
        let ours = (WriteEnd::socket(to_child)?, ReadEnd::socket(from_child)?);
        Ok((ours, stdin, stdout))
    }
}

pub(super) fn refusal(program: &OsStr, error: io::Error) -> Error {
    let advice = match error.raw_os_error() {
        Some(libc::ENOEXEC) => ": it is neither a program nor a script that begins with #!",
        Some(libc::ENOENT) => ": check that the file exists, and the interpreter it names after #!",
        Some(libc::EACCES) => ": check that it is a file with execute permission",
        _ => "",
    };
    let name = program.display();
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
