//! Watching which programs come and go.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::folder::{Folder, LOCK};
use super::instance::{Instance, check_name};
use crate::error::{Error, Result};
use crate::transport::sys::fd::Wake;
use crate::transport::sys::local::FolderWatch;
use crate::transport::{Stack, Threads};

/// The times after an event at which the folder is listed once more. When a process is killed, the
/// system reports the close of its file before it releases the lock of the file.
const LATER: [Duration; 3] = [
    Duration::from_millis(5),
    Duration::from_millis(50),
    Duration::from_millis(500),
];
/// The pause between attempts to use a folder that has gone, or that can't be used or read.
const RETRY: Duration = Duration::from_secs(1);

/// Watches the instances that are published under a name. See [`watch`]. Dropping it ends the
/// watching.
#[derive(Debug)]
#[must_use = "dropping it ends the watching"]
pub struct Watcher {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Stop {
    wake: Wake,
    is_set: AtomicBool,
}

impl Stop {
    fn is_set(&self) -> bool {
        self.is_set.load(Ordering::SeqCst)
    }
}

/// Calls `on_change` with the instances that are published under a name, the oldest first: once at
/// the beginning, and again whenever a program comes or goes, or changes its title.
///
/// With `None` instead of a name, all instances are watched. A process that is killed is noticed
/// too. On Linux a change is told within a few milliseconds, elsewhere within 0.2 s. While the
/// folder of the instances can't be used, the list is empty.
///
/// **Threads.** `on_change` runs on a thread of the watcher, one call at a time. After a panic in
/// `on_change`, the next change is told as usual. Dropping the [`Watcher`] joins the thread, unless
/// `on_change` drops it.
///
/// # Errors
///
/// The errors of [`instances`](super::instances), or [`ErrorKind::Io`](crate::ErrorKind::Io) when
/// the system has no thread or descriptor left.
pub fn watch<'a>(
    name: impl Into<Option<&'a str>>,
    on_change: impl FnMut(&[Instance]) + Send + 'static,
) -> Result<Watcher> {
    let name = name.into();
    name.map_or(Ok(()), check_name)?;
    let folder = Folder::make()?;
    let failed = |error| Error::io("preparing to watch", error);
    let wake = Wake::new().map_err(failed)?;
    let watch = FolderWatch::new(folder.path()).map_err(failed)?;
    let stop = Arc::new(Stop {
        wake,
        is_set: AtomicBool::new(false),
    });
    let work = Watching {
        name: name.map(str::to_owned),
        stop: Arc::clone(&stop),
        known: None,
        on_change,
    };
    let run = move || work.run(&folder, watch);
    let thread = Threads::default().start("instances", Stack::Large, run)?;
    Ok(Watcher {
        stop,
        thread: Some(thread),
    })
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.stop.is_set.store(true, Ordering::SeqCst);
        self.stop.wake.fire();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != thread::current().id()
        {
            // The thread does not panic: it catches panics of the callback.
            _ = thread.join();
        }
    }
}

struct Watching<F> {
    name: Option<String>,
    stop: Arc<Stop>,
    /// The list that was told last.
    known: Option<Vec<Instance>>,
    on_change: F,
}

impl<F: FnMut(&[Instance])> Watching<F> {
    fn run(mut self, folder: &Folder, mut watch: FolderWatch) {
        loop {
            self.watch(folder, &watch);
            // The folder has gone, for example with the session of the user.
            watch = loop {
                if self.stop.is_set() {
                    return;
                }
                let made = folder.make_again().ok();
                if let Some(watch) = made.and_then(|()| FolderWatch::new(folder.path()).ok()) {
                    break watch;
                }
                self.tell(Vec::new());
                // Fails only if the system can't wait: then the loop goes on without a pause.
                _ = self.stop.wake.wait(Some(Instant::now() + RETRY));
            };
        }
    }

    /// Tells changes until the folder has gone, or the watching is to stop.
    fn watch(&mut self, folder: &Folder, watch: &FolderWatch) {
        let mut later = LATER.iter();
        loop {
            let pause = match folder.list(self.name.as_deref()) {
                Ok(found) => {
                    self.tell(found);
                    later.next().copied().unwrap_or(FolderWatch::INTERVAL)
                }
                Err(_) => {
                    // With a good folder, the files can't be opened at the moment, and the
                    // programs may live.
                    if folder.check().is_err() {
                        self.tell(Vec::new());
                    }
                    RETRY
                }
            };
            let deadline = Instant::now() + pause;
            // Listing may lock the folder, which is no change.
            let is_there = watch.wait(&self.stop.wake, deadline, LOCK);
            if !is_there.unwrap_or(false) || self.stop.is_set() {
                return;
            }
            if Instant::now() < deadline {
                later = LATER.iter();
            }
        }
    }

    fn tell(&mut self, found: Vec<Instance>) {
        if self.known.as_ref() != Some(&found) {
            // The panic hook has reported a panic.
            _ = catch_unwind(AssertUnwindSafe(|| (self.on_change)(&found)));
            self.known = Some(found);
        }
    }
}
