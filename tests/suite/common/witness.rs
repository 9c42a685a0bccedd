//! Bounds on time that hold on a busy machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// One round of the witness, at least.
const ROUND: Duration = Duration::from_millis(5);

/// How long what happens at once may take, in the time of the witness: much longer than anything takes, and shorter than what the
/// library waits for by itself.
const AT_ONCE: Duration = Duration::from_millis(500);

/// A thread that waits and starts other threads, again and again, and counts its rounds. While the machine is busy they take longer, so the
/// time that they add up to goes more slowly than the clock, as all else does that waits and hands on.
#[derive(Debug)]
pub(crate) struct Witness {
    rounds: Arc<AtomicU32>,
    _ends_with: Sender<()>,
}

impl Witness {
    pub(crate) fn start() -> Self {
        let (ends_with, end) = mpsc::channel();
        let rounds = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&rounds);
        thread::spawn(move || {
            while end.recv_timeout(ROUND) == Err(RecvTimeoutError::Timeout) {
                thread::spawn(|| ()).join().unwrap();
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self {
            rounds,
            _ends_with: ends_with,
        }
    }

    /// The time since the start.
    pub(crate) fn waited(&self) -> Duration {
        ROUND * self.rounds.load(Ordering::SeqCst)
    }

    /// Fails when something took much longer than `span` since the start.
    #[track_caller]
    pub(crate) fn expect_within(&self, span: Duration) {
        let waited = self.waited();
        assert!(waited < span + AT_ONCE, "{waited:?} of at most {span:?}");
    }

    /// Fails when anything was waited for since the start.
    #[track_caller]
    pub(crate) fn expect_at_once(&self) {
        self.expect_within(Duration::ZERO);
    }
}

#[test]
#[should_panic(expected = "of at most 0ns")]
fn what_takes_its_time_is_not_at_once() {
    let witness = Witness::start();
    loop {
        witness.expect_at_once();
        thread::sleep(ROUND);
    }
}
