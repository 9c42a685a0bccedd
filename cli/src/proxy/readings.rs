//! When the lists of a server are read again. A server may report a change with each reading, so the
//! pauses between readings grow until a server is quiet.

use std::time::{Duration, Instant};

/// The pauses after a reading: the first and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

pub(super) struct Readings {
    latest: Instant,
    /// The pause after the latest reading.
    pause: Duration,
    due: Option<Instant>,
}

impl Readings {
    /// Begins with lists that were read at `now`.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            latest: now,
            pause: PAUSES.0,
            due: None,
        }
    }

    /// Returns the time of the next reading, if the lists have to be read.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Whether the lists have to be read now. `is_new` tells whether they may have changed.
    pub(super) fn are_due(&mut self, now: Instant, is_new: bool) -> bool {
        if is_new {
            let rested = self.latest + self.pause;
            self.due.get_or_insert_with(|| now.max(rested));
        }
        if self.due.is_none_or(|due| due > now) {
            return false;
        }
        let is_quiet = now >= self.latest + self.pause * 2;
        self.pause = match is_quiet {
            true => PAUSES.0,
            false => (self.pause * 2).min(PAUSES.1),
        };
        (self.latest, self.due) = (now, None);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_until_a_server_is_quiet() {
        let start = Instant::now();
        let mut readings = Readings::new(start);
        let mut now = start;
        let mut pauses = Vec::new();
        for _ in 0..12 {
            assert!(!readings.are_due(now, true), "it was read just now");
            let due = readings.due().expect("a change is waiting");
            assert!(!readings.are_due(due - Duration::from_millis(1), true));
            assert!(readings.are_due(due, false));
            pauses.push((due - now).as_millis());
            now = due;
        }
        let grown = [
            100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000, 30000,
        ];
        assert_eq!(pauses, grown);
        assert_eq!(readings.due(), None);
        // After a quiet time a change is read at once, and the pauses are short again.
        now += PAUSES.1 * 2;
        assert!(readings.are_due(now, true));
        assert!(!readings.are_due(now, true));
        assert_eq!(readings.due(), Some(now + PAUSES.0));
    }
}
