//! Opens a URL in a browser. The URL is passed as one argument of a program, never through a shell.

use std::process::{Child, Command, Stdio};

use crate::error::{Error, ErrorKind, Result};
use crate::transport::{Stack, Threads};

#[cfg(target_vendor = "apple")]
const PROGRAM: &str = "open";
#[cfg(all(unix, not(target_vendor = "apple")))]
const PROGRAM: &str = "xdg-open";

/// Opens a URL with the system's program for URLs.
#[cfg(unix)]
pub(super) fn open_system(url: &str) -> Result<()> {
    open_with(PROGRAM, url)
}

/// Opens a URL with the user's program for URLs. A thread makes the system call, which may wait for
/// the program. The thread is not joined, and a failure of the call is not reported.
#[cfg(windows)]
pub(super) fn open_system(url: &str) -> Result<()> {
    check(url)?;
    let url = url.to_owned();
    let opener = Threads::default().start("opener", Stack::Large, move || {
        _ = crate::transport::sys::browser::open(&url);
    })?;
    drop(opener);
    Ok(())
}

/// Checks that a URL has the scheme `http` or `https`. Each URL was checked when it was built. Text
/// with another beginning could be an option of the program that opens URLs.
fn check(url: &str) -> Result<()> {
    if url.starts_with("https://") || url.starts_with("http://") {
        return Ok(());
    }
    let text = "only URLs of the web are opened in a browser";
    Err(Error::new(ErrorKind::Invalid, text))
}

/// Opens a URL with `program`.
pub(super) fn open_with(program: &str, url: &str) -> Result<()> {
    check(url)?;
    let child = Command::new(program)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| {
            Error::io(
                format_args!(
                    "no browser can be opened with '{program}' (Browser::show, Browser::program)"
                ),
                error,
            )
        })?;
    reap(child)
}

/// Starts a thread that waits for the program's exit, so that no zombie process remains. The thread
/// is not joined: some programs run as long as the browser.
fn reap(mut child: Child) -> Result<()> {
    let reaper = Threads::default().start("opener", Stack::Small, move || {
        // The exit status is ignored: a login shows that a browser was opened.
        _ = child.wait();
    })?;
    drop(reaper);
    Ok(())
}
