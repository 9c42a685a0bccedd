//! Detects whether this process created an object, or is a fork of the creating process.
//!
//! Every use of a handle does this check, so the check must not cost a system call. The process
//! number is cached in a page that the system clears in a fork (`MADV_WIPEONFORK`, Linux 4.14). If
//! the system lacks that feature, each check requests the process number from the system.

use std::process;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// The process in which an object was created. In a fork of that process, the object must not be
/// used. The threads of the object do not exist in the fork, and the peer of the object belongs to
/// the parent process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin(u32);

impl Origin {
    pub(crate) fn here() -> Self {
        if CACHED.load(Ordering::Acquire).is_null() {
            page::keep();
        }
        Self(number())
    }

    /// Whether the current process is the one in which the object was created. Safe in a signal
    /// handler.
    pub(crate) fn is_here(self) -> bool {
        self.0 == number()
    }
}

/// The address of the cached process number, or null.
///
/// Invariant: the address is set once, after the page was mapped and marked, and the page is never
/// unmapped. The cached number is 0 or that of this process; a fork sets it to 0. So a reader that
/// sees the address may read the number without further synchronization.
static CACHED: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());

fn number() -> u32 {
    // SAFETY: it is null or points to a page that is never unmapped; only its number changes,
    // atomically.
    let Some(cached) = (unsafe { CACHED.load(Ordering::Acquire).as_ref() }) else {
        return process::id();
    };
    match cached.load(Ordering::Relaxed) {
        0 => {
            let number = process::id();
            cached.store(number, Ordering::Relaxed);
            number
        }
        number => number,
    }
}

#[cfg(target_os = "linux")]
mod page {
    use std::ptr;
    use std::sync::atomic::Ordering;

    use super::CACHED;

    /// The length of the mapping, which the system rounds up to one page.
    const LENGTH: usize = 4;

    pub(super) fn keep() {
        let (rights, kind) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        // SAFETY: the system chooses an unused address.
        let page = unsafe { libc::mmap(ptr::null_mut(), LENGTH, rights, kind, -1, 0) };
        if page == libc::MAP_FAILED {
            return;
        }
        // SAFETY: the page was just mapped, and no other code knows it.
        let is_emptied = unsafe { libc::madvise(page, LENGTH, libc::MADV_WIPEONFORK) } == 0;
        let order = (Ordering::AcqRel, Ordering::Acquire);
        let is_kept = is_emptied
            && CACHED
                .compare_exchange(ptr::null_mut(), page.cast(), order.0, order.1)
                .is_ok();
        if !is_kept {
            // SAFETY: the page was just mapped, and no other code knows it. The page can't be used,
            // or another thread was faster.
            unsafe { libc::munmap(page, LENGTH) };
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod page {
    pub(super) fn keep() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the result of `ask` in a fork of this process.
    fn in_a_fork(ask: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child calls only async-signal-safe functions, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let is_so = ask();
            // SAFETY: it ends this process at once.
            unsafe { libc::_exit(is_so.into()) };
        }
        let mut status = 0;
        // SAFETY: the status can be written to.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 1
    }

    #[test]
    fn a_fork_and_its_forks_are_other_processes() {
        let origin = Origin::here();
        assert!(origin.is_here());
        assert!(in_a_fork(|| {
            let (is_foreign, own) = (!origin.is_here(), Origin(number()));
            is_foreign && own.is_here() && in_a_fork(|| !own.is_here() && !origin.is_here())
        }));
        assert!(origin.is_here());
        // Where the system can clear the page, the number is cached.
        assert_eq!(
            CACHED.load(Ordering::Acquire).is_null(),
            !cfg!(target_os = "linux")
        );
    }
}
