//! The memory budget of a server: it limits the memory of pending calls, tasks and subscriptions,
//! on all connections together.
//!
//! The number of calls, tasks and subscriptions of one client is limited. But each of them may be
//! as large as a message, and there may be many clients. So their bytes are limited too.

use std::sync::Arc;

use crate::jsonrpc::Request;
use crate::shares::{Admission, Client, GroupedShares};
use crate::sync::Mutex;
use crate::transport::Limits;

/// The minimum size of the memory budget, in bytes. The limits of the server can't make the budget
/// smaller.
pub(super) const LEAST: usize = 16 << 20;

/// The memory that a pending call takes in addition to its request, in bytes.
pub(super) const EACH_CALL: usize = 4 << 10;

/// The length of a request's text, in bytes, above which the request is large. A request is also
/// large if its `_meta` has more than `LARGE_META` bytes.
///
/// A large request takes memory from the budget as soon as it arrives. A smaller request takes
/// memory from the budget only when it waits for input or becomes a task.
pub(super) const LARGE: usize = 64 << 10;
const LARGE_META: usize = 4 << 10;

/// The estimated memory of a parsed `_meta`, as a multiple of the length of its text. The estimate
/// has a maximum that depends on the length of the request.
const META_TIMES: usize = 100;
const MOST_OF_META: usize = 64 << 20;
const META_TIMES_TEXT: usize = 4;

/// The memory budget, with the share of each client.
///
/// A part of the budget ([`Limits::reserve_percent`]) is reserved for clients that use little
/// memory. So one client alone can't use up the budget, although no reservation is ever taken away
/// from a client.
#[derive(Clone, Debug, Default)]
pub(super) struct MemoryBudget(Arc<Mutex<Option<GroupedShares<()>>>>);

/// A reservation in the memory budget. Dropping the reservation releases its bytes.
#[derive(Debug)]
pub(super) struct Reservation {
    room: MemoryBudget,
    client: Client,
    bytes: usize,
}

impl MemoryBudget {
    /// Reserves `bytes` for a client in the budget of `max` bytes. Returns `None` when the client's
    /// share of the budget is used up. A reservation in an empty budget is always granted.
    pub(super) fn take(
        &self,
        client: Client,
        bytes: usize,
        max: usize,
        limits: &Limits,
    ) -> Option<Reservation> {
        let mut hold = Reservation {
            room: self.clone(),
            client,
            bytes: 0,
        };
        hold.grow(bytes, max, limits).then_some(hold)
    }
}

impl Reservation {
    /// Adds bytes to the reservation. Returns whether the budget had room for these bytes. `max`
    /// and `limits` must be equal for all reservations of a budget.
    pub(super) fn grow(&mut self, bytes: usize, max: usize, limits: &Limits) -> bool {
        let mut room = self.room.0.lock();
        let shares = room.get_or_insert_with(|| {
            GroupedShares::new(max, limits.part_of(max), limits.reserve_of(max))
        });
        let granted =
            shares.total() == 0 || shares.admit(&self.client, bytes) == Admission::Granted;
        if granted {
            shares.take(&self.client, bytes);
            self.bytes += bytes;
        }
        granted
    }

    /// Releases a number of bytes of the reservation.
    pub(super) fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        if let Some(shares) = &mut *self.room.0.lock() {
            shares.give_back(&self.client, bytes);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

/// Returns whether a request takes memory from the budget as soon as it arrives.
pub(super) fn is_large(request: &Request) -> bool {
    let len = request.text_len();
    len > LARGE || (len > LARGE_META && meta_len(request) > LARGE_META)
}

/// Returns the estimated memory that a pending request takes, in bytes.
pub(super) fn weight_of(request: &Request) -> usize {
    let len = request.text_len();
    let most_of_meta = MOST_OF_META.saturating_add(len.saturating_mul(META_TIMES_TEXT));
    let meta = meta_len(request).saturating_mul(META_TIMES);
    len + meta.min(most_of_meta)
}

fn meta_len(request: &Request) -> usize {
    let mut members = request.members();
    let meta = members.find(|(key, _)| key == "_meta");
    meta.map_or(0, |(_, text)| text.len())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn client(number: u64) -> Client {
        Client::Connection(number)
    }

    #[test]
    fn what_is_dropped_is_given_back() {
        let (room, limits) = (MemoryBudget::default(), Limits::default());
        let mut first = room.take(client(1), 50, 100, &limits).expect("room");
        assert!(
            room.take(client(1), 39, 100, &limits).is_none(),
            "the reserve"
        );
        assert!(room.take(client(2), 51, 100, &limits).is_none());
        let second = room.take(client(2), 50, 100, &limits).expect("room");
        assert!(!first.grow(1, 100, &limits));
        drop(second);
        assert!(first.grow(37, 100, &limits));
        first.shrink(86);
        assert!(room.take(client(2), usize::MAX, 100, &limits).is_none());
        drop(first);
        assert!(
            room.take(client(2), 1000, 100, &limits).is_some(),
            "the first one"
        );
    }

    #[test]
    fn one_client_leaves_room_for_others() {
        let (room, limits) = (MemoryBudget::default(), Limits::default());
        let mut holds = Vec::new();
        while let Some(hold) = room.take(client(1), 1, 100, &limits) {
            holds.push(hold);
        }
        assert_eq!(holds.len(), 88);
        assert!(room.take(client(2), 10, 100, &limits).is_some());
    }

    #[test]
    fn the_part_and_the_reserve_are_settings() {
        let mut limits = Limits::default();
        (limits.part_percent, limits.reserve_percent) = (10, 40);
        let room = MemoryBudget::default();
        let mut first = room.take(client(1), 60, 100, &limits).expect("room");
        assert!(!first.grow(1, 100, &limits), "the reserve");
        assert!(room.take(client(2), 11, 100, &limits).is_none(), "its part");
        assert!(room.take(client(2), 10, 100, &limits).is_some());
    }
}
