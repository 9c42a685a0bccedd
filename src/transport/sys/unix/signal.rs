//! Signal masks of single threads. The signal actions belong to the host and are never changed.

use std::mem::MaybeUninit;
use std::ptr;

/// A guard that restores the signal mask of the current thread when dropped.
#[derive(Debug)]
pub(super) struct RestoreMask(Set);

/// A signal set.
#[derive(Clone, Copy)]
pub(super) struct Set(libc::sigset_t);

impl std::fmt::Debug for Set {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Set")
    }
}

impl Set {
    pub(super) fn empty() -> Self {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigemptyset initialises the set it is given.
        Self(unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            set.assume_init()
        })
    }

    pub(super) fn full() -> Self {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigfillset initialises the set it is given.
        Self(unsafe {
            libc::sigfillset(set.as_mut_ptr());
            set.assume_init()
        })
    }

    pub(super) fn with(mut self, signal: i32) -> Self {
        // SAFETY: the set is initialised; a bad number is refused without effect.
        unsafe { libc::sigaddset(&raw mut self.0, signal) };
        self
    }

    pub(super) fn without(mut self, signal: i32) -> Self {
        // SAFETY: the set is initialised; a bad number is refused without effect.
        unsafe { libc::sigdelset(&raw mut self.0, signal) };
        self
    }

    fn contains(&self, signal: i32) -> bool {
        // SAFETY: the set is initialised.
        unsafe { libc::sigismember(&raw const self.0, signal) == 1 }
    }

    pub(super) fn as_ptr(&self) -> *const libc::sigset_t {
        &raw const self.0
    }
}

/// Blocks every signal on the current thread, except signals that report a fault of the thread
/// itself. Dropping the returned guard restores the signal mask.
///
/// If a fault signal were blocked, a fault would kill the process without the host's crash handler.
pub(super) fn block_all() -> RestoreMask {
    const FAULTS: [i32; 6] = [
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGFPE,
        libc::SIGILL,
        libc::SIGTRAP,
        libc::SIGSYS,
    ];
    block(FAULTS.into_iter().fold(Set::full(), Set::without))
}

fn block(set: Set) -> RestoreMask {
    let mut old = Set::empty();
    // SAFETY: both sets are initialised; only the current thread's mask changes.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), &raw mut old.0) };
    RestoreMask(old)
}

impl Drop for RestoreMask {
    fn drop(&mut self) {
        // SAFETY: the set came from pthread_sigmask.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, self.0.as_ptr(), ptr::null_mut()) };
    }
}

/// Keeps SIGPIPE from the host while this thread writes. Dropping the returned guard restores the
/// signal mask.
///
/// SIGPIPE goes to the thread that wrote. So the signal is blocked on this thread, and a signal
/// that was raised meanwhile is removed before the mask is restored.
pub(super) fn block_sigpipe() -> NoSigpipe {
    let restored = block(Set::empty().with(libc::SIGPIPE));
    NoSigpipe {
        was_pending: pending().contains(libc::SIGPIPE),
        _restored: restored,
    }
}

/// The guard of [`block_sigpipe`].
pub(super) struct NoSigpipe {
    was_pending: bool,
    _restored: RestoreMask,
}

impl Drop for NoSigpipe {
    fn drop(&mut self) {
        if !self.was_pending && pending().contains(libc::SIGPIPE) {
            take_sigpipe();
        }
    }
}

fn pending() -> Set {
    let mut set = Set::empty();
    // SAFETY: the set is initialised and ours.
    unsafe { libc::sigpending(&raw mut set.0) };
    set
}

#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
fn take_sigpipe() {
    let at_once = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let set = Set::empty().with(libc::SIGPIPE);
    // SAFETY: set and time are initialised; no information is requested.
    unsafe { libc::sigtimedwait(set.as_ptr(), ptr::null_mut(), &raw const at_once) };
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
fn take_sigpipe() {
    let set = Set::empty().with(libc::SIGPIPE);
    let mut number = 0;
    // SAFETY: the set is initialised. The signal is pending on this thread, so the call does not
    // block.
    unsafe { libc::sigwait(set.as_ptr(), &raw mut number) };
}

/// Returns the name of a signal for error messages.
pub(crate) fn name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => return None,
    })
}
