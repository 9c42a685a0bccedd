//! Bounds on time.

use std::thread;
use std::time::{Duration, Instant};

/// Bounds every wait that is expected to be short, on a machine that is busy with other tests.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// Waits until a condition holds that no channel reports, such as the end of a process.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}: not in time");
        thread::sleep(Duration::from_millis(5));
    }
}
