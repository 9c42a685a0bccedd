//! What the threads are like that the library starts.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use super::sys::thread;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Mutex;

/// How much stack a thread has on which only code of ours runs, in bytes.
const SMALL: usize = 256 << 10;
/// The least and the most stack that can be asked for, in bytes.
const STACK_SIZES: std::ops::RangeInclusive<usize> = SMALL..=1 << 30;
/// Linux keeps so many bytes of a name.
const MAX_PREFIX: usize = 15;

/// What the threads of one client, server or connection are like: how much stack they have, what they are called, and what the host does on
/// each of them first and last.
///
/// Clones share the hooks. By default a thread that may run code of the host has 8 MiB of stack, names begin with `mcplink`, and there are no
/// hooks.
///
/// **Hooks** run on the thread itself, as a virtual machine or a profiler needs that has to know every thread that enters it: `on_start` before
/// any other code of the host, `on_stop` behind all of it, also when something panicked there. They run on every thread of the handle, those
/// included that run no code of the host otherwise, so that nobody has to know which ones do. Once closing has returned, each thread that was
/// started has been stopped, with the exceptions that closing names: a handler that does not return keeps its thread. A hook that panics
/// harms nothing but itself; the thread goes on, and is not stopped by `on_stop` if it was `on_start` that panicked. Hooks should be quick and
/// must not wait for the handle whose thread they are on.
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

/// Takes the name of the thread that it runs on.
type Hook = Arc<dyn Fn(&str) + Send + Sync>;

/// How much stack a thread needs. It is address space, not memory: untouched pages cost nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stack {
    /// 256 KiB: only code of ours runs there, and hooks if there are any.
    Small,
    /// What the host says: code of its may run there.
    Large,
}

impl Threads {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// How much stack a thread has that may run code of the host, hooks included, in bytes: 256 KiB to 1 GiB, which the system rounds up to
    /// whole pages. Defaults to 8 MiB. It is reserved, not used, until something is put there. Other threads have 256 KiB.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] for another size. A size that the system has no room for is found out when a thread starts.
    pub fn stack_size(mut self, bytes: usize) -> Result<Self> {
        if !STACK_SIZES.contains(&bytes) {
            let (least, most) = STACK_SIZES.into_inner();
            let text = format!("a stack_size of {bytes} bytes is not within {least} to {most}");
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        self.stack_size = bytes;
        Ok(self)
    }

    /// What the names of the threads begin with, as debuggers and `top` show them: 1 to 15 bytes, without control characters. Defaults to
    /// `mcplink`. A dash and the role of the thread follow, such as `mcplink-crew`; Linux keeps 15 bytes in all.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] for a prefix that is empty, too long, or has control characters, such as NUL.
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
        let text = format!("the name_prefix {prefix:?} {fault}");
        Err(Error::new(ErrorKind::Invalid, text))
    }

    /// Runs on each thread first, with the name of the thread. Defaults to nothing.
    pub fn on_start(mut self, hook: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_start = Some(Arc::new(hook));
        self
    }

    /// Runs on each thread last, with the name of the thread. Defaults to nothing.
    pub fn on_stop(mut self, hook: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_stop = Some(Arc::new(hook));
        self
    }

    /// Starts a thread for this role: a word that is best short.
    ///
    /// # Errors
    ///
    /// When the system has no thread to give.
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

    /// Runs the first hook, and the last one when what this returns is dropped.
    fn begin<'a>(&'a self, name: &'a str) -> Option<Stopping<'a>> {
        let begun = self.on_start.as_ref().is_none_or(|hook| run(hook, name));
        let on_stop = self.on_stop.as_ref().filter(|_| begun)?;
        Some(Stopping { on_stop, name })
    }
}

/// A thread whose end the host is to see.
struct Stopping<'a> {
    on_stop: &'a Hook,
    name: &'a str,
}

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        run(self.on_stop, self.name);
    }
}

/// Runs a hook; false when it panicked, which the panic hook of the process has told then.
fn run(hook: &Hook, name: &str) -> bool {
    catch_unwind(AssertUnwindSafe(|| hook(name))).is_ok()
}

impl Default for Threads {
    fn default() -> Self {
        Self {
            stack_size: 8 << 20,
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

/// Threads that come and go with the work, and that are joined when it ends.
///
/// **Invariant:** the lock is held while a thread is started, so whoever has seen what it did finds it in the list.
#[derive(Debug, Default)]
pub(crate) struct Started(Mutex<Vec<JoinHandle<()>>>);

impl Started {
    /// The same as [`Threads::start`], for a thread that [`join`](Self::join) waits for.
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

    /// Waits until all have ended, and with them what they were given. The calling thread, if it is one of them, is left for the next who
    /// calls.
    pub(crate) fn join(&self) {
        let here = std::thread::current().id();
        let mut threads = self.0.lock();
        let (own, others) = std::mem::take(&mut *threads)
            .into_iter()
            .partition(|thread| thread.thread().id() == here);
        *threads = own;
        drop(threads);
        for thread in others {
            // Its panics were caught and told; it has nothing else to say.
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
        let (tell, told) = mpsc::channel();
        let threads = Threads::new().on_stop(move |name| {
            tell.send((name.to_owned(), std::thread::panicking()))
                .expect("the test waits");
        });
        let work = || panic!("a test panics");
        let thread = threads.start("test", Stack::Small, work).expect("a thread");
        assert!(thread.join().is_err());
        assert_eq!(told.try_recv(), Ok(("mcplink-test".to_owned(), true)));
    }
}
