//! The number of calls of a connection that wait for input of their client.

use std::sync::{Arc, OnceLock};

/// The counter of a connection's calls that wait for input. Each permit counts as one call. Most
/// connections have no such calls, so the counter is created with the first permit.
#[derive(Debug, Default)]
pub(super) struct PendingInputs(OnceLock<Arc<()>>);

/// A permit for a call that waits for input. Dropping the permit releases it.
#[derive(Debug)]
pub(super) struct Permit(#[expect(dead_code, reason = "only counted")] Arc<()>);

impl PendingInputs {
    /// Returns a permit, or `None` when all `max` permits are in use.
    pub(super) fn take(&self, max: usize) -> Option<Permit> {
        let counter = self.0.get_or_init(Arc::default);
        // The connection itself holds one reference. Two threads may both take the last permit. One
        // permit too many is harmless.
        (Arc::strong_count(counter) <= max).then(|| Permit(Arc::clone(counter)))
    }
}
