//! A temporary increase of the maximum message length of a client.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The largest allowance of one call, in bytes: more than the memory of a machine, so that the sum
/// of all calls does not overflow.
const MOST: u64 = 1 << 48;

/// The number of bytes by which received messages may exceed
/// [`max_message_bytes`](super::Limits::max_message_bytes) at the moment. Clones share the number.
///
/// A call that expects a long response raises the allowance before its request is sent, and lowers
/// it when the call is over. Receivers read the allowance for each piece of input. A message that
/// is too long after the allowance was lowered is dropped.
#[derive(Clone, Default)]
pub(crate) struct Allowance(Arc<AtomicU64>);

impl Allowance {
    /// Raises the allowance until the returned guard is dropped. The allowances of several calls
    /// add up.
    pub(crate) fn raise(&self, bytes: usize) -> RaisedLimit {
        let bytes = u64::try_from(bytes).map_or(MOST, |bytes| bytes.min(MOST));
        // The number only decides how much may be read. It guards no other memory.
        self.0.fetch_add(bytes, Ordering::Relaxed);
        RaisedLimit {
            allowance: self.clone(),
            bytes,
        }
    }

    /// Returns `max_bytes` plus the present allowance, at most `usize::MAX`.
    pub(crate) fn above(&self, max_bytes: usize) -> usize {
        let more = usize::try_from(self.0.load(Ordering::Relaxed));
        max_bytes.saturating_add(more.unwrap_or(usize::MAX))
    }
}

impl fmt::Debug for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.load(Ordering::Relaxed).fmt(f)
    }
}

/// A raised maximum message length of a client. Dropping the guard restores the length: see
/// [`Client::raise_max_message_bytes`](crate::client::Client::raise_max_message_bytes).
#[derive(Debug)]
#[must_use = "the length is restored when the guard is dropped"]
pub struct RaisedLimit {
    allowance: Allowance,
    bytes: u64,
}

impl Drop for RaisedLimit {
    fn drop(&mut self) {
        self.allowance.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
