//! Waits for a change of a word in memory, and wakes several waiting threads at once (`futex(2)`).

use std::ptr::null;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use libc::timespec;

/// Waits until another thread calls [`wake`] for `word` with one of these bits. Returns at once if
/// the word no longer has the value `seen`. Returns false when the deadline has passed. Spurious
/// wakeups are possible.
///
/// The kernel compares the word and begins the wait atomically. So if a waker changes the word
/// before it calls [`wake`], the wakeup is never lost.
pub(crate) fn wait(word: &AtomicU32, seen: u32, bits: u32, deadline: Option<Instant>) -> bool {
    let until = deadline.and_then(on_system_clock);
    let until = until.as_ref().map_or(null(), std::ptr::from_ref);
    // SAFETY: the word and the time, if there is one, live until the call returns. This operation
    // uses no second word.
    let woken = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG,
            seen,
            until,
            null::<u32>(),
            bits,
        )
    };
    woken == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ETIMEDOUT)
}

/// Wakes all threads that wait for `word` with one of these bits. The caller has to change the word
/// first.
pub(crate) fn wake(word: &AtomicU32, bits: u32) {
    // SAFETY: the word lives until the call returns. Nothing else is read or written.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE_BITSET | libc::FUTEX_PRIVATE_FLAG,
            i32::MAX,
            null::<timespec>(),
            null::<u32>(),
            bits,
        );
    }
}

/// Converts a time to the system's monotonic clock, never to an earlier time. Returns `None` when
/// the clock can't represent the time.
fn on_system_clock(time: Instant) -> Option<timespec> {
    static ANCHOR: OnceLock<(Instant, Duration)> = OnceLock::new();
    let (anchor, counted) = ANCHOR.get_or_init(|| {
        let now = Instant::now();
        let mut counted = timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: `counted` is a valid `timespec`. Every Linux has this clock, since `Instant` uses
        // it, too.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut counted) };
        let counted = Duration::new(
            counted.tv_sec.unsigned_abs(),
            counted.tv_nsec.unsigned_abs() as u32,
        );
        (now, counted)
    });
    let counted = match time.checked_duration_since(*anchor) {
        Some(later) => counted.checked_add(later)?,
        None => counted.saturating_sub(anchor.duration_since(time)),
    };
    Some(timespec {
        tv_sec: counted.as_secs().try_into().ok()?,
        tv_nsec: counted.subsec_nanos().into(),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn what_was_seen_before_a_change_is_not_waited_for() {
        let word = AtomicU32::new(1);
        assert!(wait(&word, 0, 1, None));
    }

    #[test]
    fn a_wait_ends_at_its_deadline_and_not_before() {
        let word = AtomicU32::new(0);
        let now = Instant::now();
        assert!(!wait(&word, 0, 1, Some(now)), "a time that has passed");
        let soon = now + Duration::from_millis(5);
        while wait(&word, 0, 1, Some(soon)) {}
        assert!(Instant::now() >= soon);
    }

    #[test]
    fn a_wake_reaches_all_whose_bits_it_has() {
        let word = AtomicU32::new(0);
        std::thread::scope(|scope| {
            let waiting = [1u32, 2, 4].map(|bits| {
                let word = &word;
                // A thread that comes too late to wait finds the changed number.
                scope.spawn(
                    move || while word.load(Ordering::SeqCst) == 0 && wait(word, 0, bits, None) {},
                )
            });
            word.store(1, Ordering::SeqCst);
            wake(&word, 1 | 2 | 4);
            for thread in waiting {
                thread.join().expect("woken");
            }
        });
    }
}
