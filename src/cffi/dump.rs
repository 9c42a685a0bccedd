//! A debug dump of all servers of the process, to find the cause of a hang.

use std::fs::File;
use std::io::Write as _;
use std::sync::Weak;

use super::entry::{descriptor, told};
use super::status::{mcplink_status, mcplink_status_t};
use crate::error::Error;
use crate::sync::StaticMutex;
use crate::transport::sys::fd::duplicate_raw;
use crate::transport::{Stack, Threads};

/// An object that appears in the debug dump.
pub(super) trait Dumped: Send + Sync {
    /// Returns a description of the object's current activity, as lines.
    fn dump(&self) -> String;
}

/// All objects of this process that appear in the debug dump.
static ALL: StaticMutex<Vec<Weak<dyn Dumped>>> = StaticMutex::new(Vec::new());

/// Adds an object to the debug dump for as long as the object lives.
pub(super) fn show(dumped: Weak<dyn Dumped>) {
    let mut all = ALL.lock();
    all.retain(|known| known.strong_count() > 0);
    all.push(dumped);
}

/// Writes a debug dump: all servers of the process with their connections, their requests in
/// flight, and the threads that run handlers or wait. For clients see mcplink_client_activity.
///
/// fd: the file descriptor to write to. The caller keeps the ownership of the descriptor.
/// Returns: MCPLINK_OK, MCPLINK_E_INVALID or MCPLINK_E_IO.
/// Threads: any, but no signal handler. Blocks: while fd accepts no data.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_debug_dump(fd: isize) -> mcplink_status_t {
    told("mcplink_debug_dump", || {
        let fd = descriptor(fd, "fd")?;
        let own = duplicate_raw(fd).map_err(|error| Error::io("duplicating fd", error))?;
        let known: Vec<_> = ALL.lock().iter().filter_map(Weak::upgrade).collect();
        let text: String = known.iter().map(|known| known.dump()).collect();
        let written = write_quietly(File::from(own), text);
        written.map_err(|error| Error::io("writing to fd", error))?;
        Ok(mcplink_status::MCPLINK_OK)
    })
}

/// Writes the dump on a thread of this library. Writing to a pipe without a reader raises SIGPIPE
/// on the writing thread. A thread of the host must not get that signal.
fn write_quietly(mut file: File, text: String) -> std::io::Result<()> {
    let (sender, outcome) = std::sync::mpsc::sync_channel(1);
    let thread = Threads::default().start("dump", Stack::Small, move || {
        // Sending can't fail: the receiver waits below.
        _ = sender.send(file.write_all(text.as_bytes()));
    });
    let thread = thread.map_err(|error| std::io::Error::other(error.to_string()))?;
    let outcome = outcome.recv();
    // The thread can't panic.
    _ = thread.join();
    outcome.unwrap_or_else(|_| Err(std::io::Error::other("the thread that writes has ended")))
}
