//! The settings of the threads that the library starts.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use super::sys::thread;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Mutex;

/// The stack size of a thread that runs only library code, in bytes.
const SMALL: usize = 256 << 10;
/// The default stack size of a thread that may run code of the host, in bytes. With 8 MiB, a few
/// hundred threads would use up the address space of a 32-bit system.
const DEFAULT: usize = if cfg!(target_pointer_width = "32") {
    2 << 20
} else {
    8 << 20
};
/// The range of allowed stack sizes, in bytes.
const STACK_SIZES: std::ops::RangeInclusive<usize> = SMALL..=1 << 30;
/// The maximum length of a name prefix, in bytes. Linux keeps this many bytes of a thread name.
const MAX_PREFIX: usize = 15;

/// The settings of the threads of one client, server or connection: stack size, names, and hooks.
///
/// Clones share the hooks. By default, a thread that may run code of the host has 8 MiB of stack,
/// or 2 MiB on a 32-bit system. Names begin with `mcplink`, and there are no hooks.
///
/// **Hooks** run on the thread itself. With hooks, a virtual machine or a profiler can register
/// every thread. `on_start` runs before all other code of the host on the thread. `on_stop` runs
/// after all other code of the host, even after a panic. Hooks run on every thread, including
/// threads that run no other code of the host.
///
/// Once closing has returned, `on_stop` has run for each started thread. An exception is a thread
/// whose handler does not return. If a hook panics, the thread goes on. After a panic in
/// `on_start`, `on_stop` does not run on that thread. Hooks should be quick. A hook must not wait
/// for the client, server or connection that owns its thread.
///
/// # Examples
///
/// ```
/// use mcplink::server::Server;
/// use mcplink::transport::Threads;
///
/// let threads = Threads::new()
///     .stack_size(32 << 20)?
///     .name_prefix("notes")?
///     .on_start(|name| println!("{name} comes"))
///     .on_stop(|name| println!("{name} goes"));
/// let server = Server::builder("notes", "1.0").threads(&threads).build()?;
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone)]
pub struct Threads {
    stack_size: usize,
    prefix: Arc<str>,
    on_start: Option<Hook>,
    on_stop: Option<Hook>,
}

/// A hook of the host. Its argument is the name of the thread on which the hook runs.
type Hook = Arc<dyn Fn(&str) + Send + Sync>;

/// The stack size of a thread. A stack takes address space, not memory: pages that are never
/// touched cost nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stack {
    /// A stack of 256 KiB, for a thread that runs only library code. If there are hooks, the thread
    /// gets the size that the host has set.
    Small,
    /// A stack of the size that the host has set, for a thread that may run code of the host.
    Large,
}

impl Threads {
    /// Creates the default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the stack size, in bytes, of threads that may run code of the host, such as a handler
    /// or a hook. The range is 256 KiB to 1 GiB. Defaults to 8 MiB, or to 2 MiB on a 32-bit system.
    ///
    /// The system rounds the size up to whole pages. A stack reserves address space, and uses
    /// memory only for pages that the thread touches. Without hooks, threads that run only library
    /// code have 256 KiB.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] for a size outside of the range. If the system has no space for a
    /// stack of this size, starting a thread fails.
    pub fn stack_size(mut self, bytes: usize) -> Result<Self> {
        if !STACK_SIZES.contains(&bytes) {
            let (least, most) = STACK_SIZES.into_inner();
            let text = format!("a stack of {bytes} bytes is not within {least} to {most}");
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        self.stack_size = bytes;
        Ok(self)
    }

    /// Sets the prefix of the thread names, which debuggers and `top` show. The prefix has 1 to 15
    /// bytes and no control characters. Defaults to `mcplink`.
    ///
    /// A thread's name is the prefix, a dash and the role of the thread, such as `mcplink-worker`.
    /// Linux truncates the name to 15 bytes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] for a prefix that is empty, is too long, or has control characters,
    /// such as NUL.
    pub fn name_prefix(mut self, prefix: &str) -> Result<Self> {
        let fault = match prefix.len() {
            0 => "is empty",
            1..=MAX_PREFIX if prefix.contains(char::is_control) => "has control characters",
            1..=MAX_PREFIX => {
                self.prefix = prefix.into();
                return Ok(self);
            }
            _ => "has more than 15 bytes",
        };
        let text = format!("the prefix {prefix:?} of thread names {fault}");
        Err(Error::new(ErrorKind::Invalid, text))
    }

    /// Sets a hook that runs first on each thread. Its argument is the name of the thread. By
    /// default there is no hook.
    pub fn on_start(mut self, hook: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_start = Some(Arc::new(hook));
        self
    }

    /// Sets a hook that runs last on each thread. Its argument is the name of the thread. By
    /// default there is no hook.
    pub fn on_stop(mut self, hook: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_stop = Some(Arc::new(hook));
        self
    }

    /// Starts a thread. `role` is a short word that becomes a part of the thread's name.
    ///
    /// # Errors
    ///
    /// An error when the system has no thread left.
    pub(crate) fn start(
        &self,
        role: &str,
        stack: Stack,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<JoinHandle<()>> {
        let has_hooks = self.on_start.is_some() || self.on_stop.is_some();
        let bytes = match stack {
            Stack::Small if !has_hooks => SMALL,
            _ => self.stack_size,
        };
        let name = format!("{}-{role}", self.prefix);
        if !has_hooks {
            return thread::start(&name, bytes, work);
        }
        let (threads, own) = (self.clone(), name.clone());
        thread::start(&name, bytes, move || {
            let _stopping = threads.begin(&own);
            work();
        })
    }

    /// Runs the start hook. Dropping the returned value runs the stop hook.
    fn begin<'a>(&'a self, name: &'a str) -> Option<Stopping<'a>> {
        let begun = self.on_start.as_ref().is_none_or(|hook| run(hook, name));
        let on_stop = self.on_stop.as_ref().filter(|_| begun)?;
        Some(Stopping { on_stop, name })
    }
}

/// A guard that runs the stop hook of a thread when dropped.
struct Stopping<'a> {
    on_stop: &'a Hook,
    name: &'a str,
}

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        run(self.on_stop, self.name);
    }
}

/// Runs a hook. Returns false when the hook panicked; the process's panic hook has reported the
/// panic.
fn run(hook: &Hook, name: &str) -> bool {
    catch_unwind(AssertUnwindSafe(|| hook(name))).is_ok()
}

impl Default for Threads {
    fn default() -> Self {
        Self {
            stack_size: DEFAULT,
            prefix: "mcplink".into(),
            on_start: None,
            on_stop: None,
        }
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Threads")
            .field("stack_size", &self.stack_size)
            .field("name_prefix", &self.prefix)
            .field("on_start", &self.on_start.is_some())
            .field("on_stop", &self.on_stop.is_some())
            .finish()
    }
}

/// A list of started threads, which [`join`](Self::join) joins.
///
/// **Invariant:** the lock is held while a thread is started. So a thread that has seen an effect
/// of the new thread finds the new thread in the list, and can join it.
#[derive(Debug, Default)]
pub(crate) struct Started(Mutex<Vec<JoinHandle<()>>>);

impl Started {
    /// Starts a thread as [`Threads::start`] does, and adds it to the list that
    /// [`join`](Self::join) joins.
    pub(crate) fn start(
        &self,
        kind: &Threads,
        role: &str,
        stack: Stack,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<()> {
        let mut threads = self.0.lock();
        let thread = kind.start(role, stack, work)?;
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread);
        Ok(())
    }

    /// Blocks until all threads have ended and have dropped their values. The calling thread is not
    /// joined: if it is in the list, it stays there for the next caller.
    pub(crate) fn join(&self) {
        let here = std::thread::current().id();
        let mut threads = self.0.lock();
        let (own, others) = std::mem::take(&mut *threads)
            .into_iter()
            .partition(|thread| thread.thread().id() == here);
        *threads = own;
        drop(threads);
        for thread in others {
            // A panic was already reported, and the result has no other content.
            _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn the_last_hook_runs_behind_a_panic_too() {
        let (tell, stopped) = mpsc::channel();
        let threads = Threads::new().on_stop(move |name| {
            tell.send((name.to_owned(), std::thread::panicking()))
                .expect("the test waits");
        });
        let work = || panic!("a test panics");
        let thread = threads.start("test", Stack::Small, work).expect("a thread");
        assert!(thread.join().is_err());
        assert_eq!(stopped.try_recv(), Ok(("mcplink-test".to_owned(), true)));
    }
}
