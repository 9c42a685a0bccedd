//! Settings and hooks of the threads of a client or server.

use std::ffi::c_void;
use std::sync::Arc;

use super::text::{Text, mcplink_str_t};
use super::user::{Hook, UserData, call_back};
use crate::cffi::user::Callback;
use crate::error::Result;
use crate::transport::Threads;

/// A hook that runs on each thread of the library. A start hook runs before any other code of the
/// host on that thread. A stop hook runs after all other code of the host on that thread.
///
/// name: the thread's name, such as "mcplink-call"; valid until the callback returns. The callback
/// should be quick. It may set up the thread, but must not wait for the client or server that owns
/// the thread.
pub type mcplink_thread_fn =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, name: mcplink_str_t)>;

type ThreadFn = Callback<mcplink_thread_fn>;

/// The hooks that run at the start and at the end of each thread.
struct Ends {
    start: Option<ThreadFn>,
    stop: Option<ThreadFn>,
}

/// The thread settings in the options of a client or server.
#[derive(Clone, Default)]
pub(super) struct ThreadOptions {
    threads: Threads,
    hook: Option<Arc<Hook<Ends>>>,
}

impl ThreadOptions {
    pub(super) fn set_stack_size(&mut self, bytes: usize) -> Result<()> {
        self.threads = self.threads.clone().stack_size(bytes)?;
        Ok(())
    }

    pub(super) fn set_prefix(&mut self, prefix: &str) -> Result<()> {
        self.threads = self.threads.clone().name_prefix(prefix)?;
        Ok(())
    }

    pub(super) fn set_hook(
        &mut self,
        start: mcplink_thread_fn,
        stop: mcplink_thread_fn,
        user: UserData,
    ) {
        let ends = (start.is_some() || stop.is_some()).then_some(Ends { start, stop });
        self.hook = Hook::new(ends, user);
    }

    /// Returns the thread settings of the handle with this number, including the hooks of the host.
    pub(super) fn of(&self, handle: u64) -> Threads {
        let Some(hook) = &self.hook else {
            return self.threads.clone();
        };
        let (first, last) = (Arc::clone(hook), Arc::clone(hook));
        let threads = self.threads.clone();
        threads
            .on_start(move |name| first.run(handle, first.callback.start, name))
            .on_stop(move |name| last.run(handle, last.callback.stop, name))
    }
}

impl Hook<Ends> {
    fn run(&self, handle: u64, callback: Option<ThreadFn>, name: &str) {
        let Some(callback) = callback else {
            return;
        };
        let name = Text::from(name);
        // SAFETY: the header requires valid arguments; the name outlives the call.
        call_back(handle, || unsafe {
            callback(self.user.ptr(), name.view());
        });
    }
}
