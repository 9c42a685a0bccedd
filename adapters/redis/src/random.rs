//! Random numbers for ids and pauses. They are no secrets.

use std::hash::{BuildHasher as _, RandomState};
use std::process;
use std::time::{Duration, SystemTime};

/// Returns a number that differs in each call, in each process.
pub(crate) fn random() -> u64 {
    // The keys of the hasher are random. A process that was forked has those of its parent.
    RandomState::new().hash_one((process::id(), SystemTime::now()))
}

/// Pauses between attempts. Each is twice as long as the one before.
pub(crate) struct Backoff {
    next: Duration,
}

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

impl Backoff {
    pub(crate) fn new() -> Self {
        Self { next: FIRST_PAUSE }
    }

    /// Returns the next pause. It is shortened by up to a half at random (jitter), so that many
    /// processes do not connect at the same moment.
    pub(crate) fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(LONGEST_PAUSE);
        let part = u32::try_from(random() % 512).expect("less than 512");
        pause / 2 + pause / 1024 * part
    }
}
