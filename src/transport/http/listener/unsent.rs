//! The limit on the unsent bytes of all connections together.

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::connection::Connection;
use super::shared::Shared;
use crate::shares::Shares;

impl Shared<Connection> {
    fn has_too_much(&self) -> bool {
        self.unsent.load(Ordering::Relaxed) > self.limits.max_unsent_bytes
    }

    /// Resets connections if too many bytes wait in all outboxes together. The client whose
    /// connections have the highest total cost (`Connection::burden`) loses connections first, the
    /// connection with the highest cost first. So a client with very many slow connections
    /// displaces its own connections before a slow connection of another client.
    ///
    /// The caller must not hold a connection's lock, because this method takes the lock of each
    /// connection in turn. It scans the connections only when the limit is exceeded. It then frees
    /// an eighth of the limit, so that not every response causes a scan.
    pub(super) fn tidy(self: &Arc<Self>) {
        if !self.has_too_much() {
            return;
        }
        let now = Instant::now();
        let mut burdens: Vec<_> = self
            .table
            .all()
            .into_iter()
            .map(|conn| (conn.burden(now), conn))
            .filter(|(burden, _)| *burden > 0)
            .collect();
        burdens.sort_unstable_by_key(|(burden, _)| Reverse(*burden));
        let mut clients = Shares::new(usize::MAX, usize::MAX, 0);
        let all: Vec<u128> = burdens.iter().map(|(burden, _)| *burden).collect();
        let scale = scale_of(&all);
        for (order, (burden, conn)) in (0..).zip(burdens) {
            let client = conn.client();
            let burden = usize::try_from(burden / scale).unwrap_or(usize::MAX);
            clients.take(&client, burden);
            clients.set_idle(&client, 0, order, (order, burden, conn));
        }
        let enough = self.limits.max_unsent_bytes / 8 * 7;
        while self.unsent.load(Ordering::Relaxed) > enough
            && let Some((order, burden, conn)) = clients.first_to_give_way()
        {
            clients.set_busy(&conn.client(), 0, order);
            clients.give_back(&conn.client(), burden);
            conn.give_up().settle(self);
        }
    }
}

/// Returns the number by which all costs are divided, so that their sum fits into a `usize`. A
/// small cost may become zero.
fn scale_of(costs: &[u128]) -> u128 {
    let sum = costs
        .iter()
        .fold(0, |sum: u128, cost| sum.saturating_add(*cost));
    sum / usize::MAX as u128 + 1
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // On a system of 32 bits, costs of some megabytes that waited some seconds are large.
    #[test]
    fn large_costs_keep_their_proportions() {
        let largest = usize::MAX as u128;
        assert_eq!(scale_of(&[1000, 20]), 1);
        let costs = [largest * 30, largest * 10, largest];
        let scale = scale_of(&costs);
        let scaled = costs.map(|cost| cost / scale);
        assert!(scaled.iter().sum::<u128>() <= largest);
        assert_eq!(scaled[0] / scaled[1], 3);
        assert!(scaled[2] > 0);
    }
}
