//! Whether this process is the one in which something was made, or a fork of that.
//!
//! Whatever a host does with a handle asks, so it must not cost a system call: the number of the process is kept in a page that a fork finds
//! empty (Linux 4.14). Where there is no such page, the system is asked each time.

use std::process;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// The process in which something was made. In a fork of it, the thing is only memory and descriptors: its threads are not there, and
/// the peer still belongs to the other process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin(u32);

impl Origin {
    pub(crate) fn here() -> Self {
        if KEPT.load(Ordering::Acquire).is_null() {
            page::keep();
        }
        Self(number())
    }

    /// A signal handler may ask.
    pub(crate) fn is_here(self) -> bool {
        self.0 == number()
    }
}

/// Where the number is kept, 0 as long as it is not: null, or in a page that stays for as long as the process.
static KEPT: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());

fn number() -> u32 {
    // SAFETY: it is null or lies in a page that is never given back; only its number changes, atomically.
    let Some(kept) = (unsafe { KEPT.load(Ordering::Acquire).as_ref() }) else {
        return process::id();
    };
    match kept.load(Ordering::Relaxed) {
        0 => {
            let number = process::id();
            kept.store(number, Ordering::Relaxed);
            number
        }
        number => number,
    }
}

#[cfg(target_os = "linux")]
mod page {
    use std::ptr;
    use std::sync::atomic::Ordering;

    use super::KEPT;

    /// The smallest piece of memory that the system maps is one page, whatever it is said to be long.
    const LENGTH: usize = 4;

    pub(super) fn keep() {
        let (rights, kind) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        // SAFETY: the system chooses a place where nothing is.
        let page = unsafe { libc::mmap(ptr::null_mut(), LENGTH, rights, kind, -1, 0) };
        if page == libc::MAP_FAILED {
            return;
        }
        // SAFETY: the page was just mapped, and nobody else knows it.
        let is_emptied = unsafe { libc::madvise(page, LENGTH, libc::MADV_WIPEONFORK) } == 0;
        let order = (Ordering::AcqRel, Ordering::Acquire);
        let is_kept = is_emptied
            && KEPT
                .compare_exchange(ptr::null_mut(), page.cast(), order.0, order.1)
                .is_ok();
        if !is_kept {
            // SAFETY: as above; it is of no use, or another thread was faster.
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

    /// What `ask` comes to in a fork of this process.
    fn in_a_fork(ask: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child calls nothing but what a signal handler may, and ends.
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
        // Where a page is emptied, the system isn't asked.
        assert_eq!(
            KEPT.load(Ordering::Acquire).is_null(),
            !cfg!(target_os = "linux")
        );
    }
}
