//! Fair shares of a bounded table that many clients use.
//!
//! Each table that clients fill (sessions, connections, tasks, workers) has one [`Shares`] or
//! [`GroupedShares`] behind its own lock. `Shares` counts the slots that each client holds. It
//! decides whether a client may take more slots, and which entry is evicted when the table is full.
//!
//! The rules:
//!
//! - Some slots are reserved for clients with few slots (the reserve). A client may take any free
//!   slot outside of the reserve. A lone client may hold all of these slots.
//! - A client may take slots of the reserve if it then holds at most its equal share, at most
//!   `part` slots (see [`Shares::new`]), and at most as many slots as are free before. So a client
//!   that takes one slot at a time gets at most half of the reserve. The other half remains for the
//!   next clients.
//! - When a client may take no free slot, an idle entry is evicted. Of all clients with idle
//!   entries, the client with the most slots loses its first idle entry, in the order that the
//!   table sets. A client may evict its own entries, and entries of clients that hold more slots.
//!   With more than `part` slots, a client may evict only its own entries. So a client never loses
//!   an entry to a client that holds more.
//! - When no entry can be evicted, the client is refused.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

/// The identity by which slots are counted: the principal of the client. A client without a
/// principal is identified by its session, and a client without a session by its address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Client {
    /// The name of the authenticated principal.
    Principal(Arc<str>),
    /// The id of a legacy session of a client without a principal.
    Session(Arc<str>),
    /// A network address. An IPv4 address is stored as an IPv4-mapped IPv6 address. Other IPv6
    /// addresses are reduced to their first 64 bits, since one client may have all addresses with
    /// the same first 64 bits.
    Address(Ipv6Addr),
    /// A legacy session of a client without a principal: the network address of the client, and
    /// the number of the session modulo 2^32. See [`GroupedShares`].
    SessionAt(Ipv6Addr, u32),
    /// The number of a connection that is not made over a network, or whose address is unknown.
    Connection(u64),
}

impl Client {
    /// Returns the client at a network address.
    pub(crate) fn at(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V6(address) => (address.to_bits() >> 64 << 64).into(),
            IpAddr::V4(address) => address.to_ipv6_mapped(),
        })
    }

    /// Returns the identity of a session of this client. The sessions of a principal have one
    /// identity. All sessions at unknown addresses have one group.
    #[cfg(any(test, feature = "http-server"))]
    pub(crate) fn session(&self, number: u64) -> Self {
        // Two sessions with the same number count as one, which harms nobody.
        let number = number as u32;
        match self {
            Self::Principal(_) => self.clone(),
            Self::Address(address) => Self::SessionAt(*address, number),
            _ => Self::SessionAt(Ipv6Addr::UNSPECIFIED, number),
        }
    }

    /// Returns whether this is a session or connection, which belongs to one process.
    pub(crate) fn is_local(&self) -> bool {
        !matches!(self, Self::Principal(_) | Self::Address(_))
    }

    /// Returns the address of a session, or the client itself.
    fn group(&self) -> Self {
        match self {
            Self::SessionAt(address, _) => Self::Address(*address),
            _ => self.clone(),
        }
    }
}

/// Writes the text by which the host application distinguishes clients.
impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Principal(name) => write!(f, "principal {name}"),
            Self::Session(id) => write!(f, "session {id}"),
            Self::SessionAt(address, number) => {
                write!(f, "session {number} at {}", address.to_canonical())
            }
            Self::Address(address) => write!(f, "address {}", address.to_canonical()),
            Self::Connection(number) => write!(f, "connection {number}"),
        }
    }
}

/// The decision of [`Shares::admit`] about a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Admission<I> {
    /// The client may take the slots: call [`Shares::take`].
    Granted,
    /// The client may take the slots after an eviction. Evict this entry, return its slots with
    /// [`Shares::give_back`], and call [`Shares::admit`] again.
    After(I),
    /// The client has to be refused.
    Refused,
}

/// Counts the slots that each client holds in a bounded table, and chooses the entries to evict.
///
/// `I` identifies an entry of the table. Every call is `O(log n)`.
#[derive(Debug)]
pub(crate) struct Shares<I> {
    max: usize,
    part: usize,
    reserve: usize,
    held: usize,
    clients: HashMap<Client, Held<I>>,
    /// The clients with idle entries, ordered by the number of slots that they hold.
    ///
    /// Invariant: a client is in this set exactly if its `idle` is not empty. The number is its
    /// current `amount`. [`change`](Self::change) is the only writer: it removes the old pair
    /// before it inserts the new one. A stale pair would let `gives_way` choose a client that is no
    /// longer the largest.
    displaceable: BTreeSet<(usize, Client)>,
}

#[derive(Debug)]
struct Held<I> {
    amount: usize,
    /// The client's idle entries by rank and order. The first entry is evicted first.
    idle: BTreeMap<(u8, u64), I>,
}

impl<I: Clone> Shares<I> {
    /// Makes the shares of a table with `max` slots.
    ///
    /// `part` is the maximum number of slots that a client may hold if it evicts entries of other
    /// clients. `reserve` slots are kept free for clients that hold less than their equal share. A
    /// table in which all entries can be evicted needs no reserve.
    pub(crate) fn new(max: usize, part: usize, reserve: usize) -> Self {
        Self {
            max,
            part: part.max(1),
            reserve: reserve.min(max.saturating_sub(1)),
            held: 0,
            clients: HashMap::new(),
            displaceable: BTreeSet::new(),
        }
    }

    /// Returns the number of slots that all clients hold together.
    pub(crate) fn total(&self) -> usize {
        self.held
    }

    /// Returns the number of slots that a client holds.
    pub(crate) fn of(&self, client: &Client) -> usize {
        self.clients.get(client).map_or(0, |held| held.amount)
    }

    /// Decides whether a client may take `amount` more slots. Does not count these slots.
    pub(crate) fn admit(&self, client: &Client, amount: usize) -> Admission<I> {
        let sum = self.held.saturating_add(amount);
        if sum <= self.max.saturating_sub(self.reserve) {
            return Admission::Granted;
        }
        let own = self.of(client);
        let wanted = own.saturating_add(amount);
        let others = self.clients.len() - usize::from(own > 0);
        let equal = (self.max / (others + 1)).max(1);
        if wanted <= self.part.min(equal).min(self.max.saturating_sub(self.held)) {
            return Admission::Granted;
        }
        self.gives_way(client, own, wanted)
            .map_or(Admission::Refused, Admission::After)
    }

    fn gives_way(&self, client: &Client, own: usize, wanted: usize) -> Option<I> {
        let first = |client: &Client| {
            let held = self.clients.get(client)?;
            held.idle.values().next().cloned()
        };
        let largest = self.displaceable.last();
        match largest.filter(|(amount, _)| *amount > own && wanted <= self.part) {
            Some((_, largest)) => first(largest),
            None => first(client),
        }
    }

    /// Returns the entry that would be evicted first for a client that holds no slot.
    pub(crate) fn first_to_give_way(&self) -> Option<I> {
        let (_, largest) = self.displaceable.last()?;
        let held = self.clients.get(largest)?;
        held.idle.values().next().cloned()
    }

    /// Changes the number of slots of the table. If more slots are in use, they stay in use until
    /// [`give_back`](Self::give_back) returns them.
    pub(crate) fn set_max(&mut self, max: usize, reserve: usize) {
        self.max = max;
        self.reserve = reserve.min(max.saturating_sub(1));
    }

    /// Counts `amount` slots for a client.
    pub(crate) fn take(&mut self, client: &Client, amount: usize) {
        self.held += amount;
        self.change(client, |held| held.amount += amount);
    }

    /// Returns `amount` slots of a client to the table. If the client holds fewer slots, returns
    /// all of them.
    pub(crate) fn give_back(&mut self, client: &Client, amount: usize) {
        let mut given = 0;
        self.change(client, |held| {
            given = amount.min(held.amount);
            held.amount -= given;
        });
        self.held -= given;
    }

    /// Marks an entry of a client as idle, so that it may be evicted. Entries with a lower `rank`
    /// are evicted first. Among entries of equal rank, the entry with the lowest `order` is evicted
    /// first. `order` is, for example, the time at which the entry became idle. `rank` and `order`
    /// together identify the entry among the client's entries.
    pub(crate) fn set_idle(&mut self, client: &Client, rank: u8, order: u64, entry: I) {
        self.change(client, |held| {
            held.idle.insert((rank, order), entry);
        });
    }

    /// Marks an entry as busy, so that it must not be evicted. Returns whether the entry was idle.
    pub(crate) fn set_busy(&mut self, client: &Client, rank: u8, order: u64) -> bool {
        let mut was_idle = false;
        self.change(client, |held| {
            was_idle = held.idle.remove(&(rank, order)).is_some();
        });
        was_idle
    }

    fn change(&mut self, client: &Client, change: impl FnOnce(&mut Held<I>)) {
        let mut entry = match self.clients.entry(client.clone()) {
            Entry::Occupied(entry) => entry,
            Entry::Vacant(entry) => entry.insert_entry(Held {
                amount: 0,
                idle: BTreeMap::new(),
            }),
        };
        let held = entry.get_mut();
        let before = (!held.idle.is_empty()).then_some(held.amount);
        change(held);
        let after = (!held.idle.is_empty()).then_some(held.amount);
        if held.amount == 0 && after.is_none() {
            entry.remove();
        }
        if before == after {
            return;
        }
        if let Some(amount) = before {
            self.displaceable.remove(&(amount, client.clone()));
        }
        if let Some(amount) = after {
            self.displaceable.insert((amount, client.clone()));
        }
    }
}

/// The shares of a table, counted by principal or address, and by session within an address.
///
/// One half of the reserve is for sessions that hold little, at an address that holds much. The
/// other half is for principals and addresses that hold little. So neither one session nor one
/// address with many sessions can use up the table.
///
/// When the table is full, the rules of [`Shares`] first apply to principals and addresses. They
/// may choose an entry of another principal or address. If they choose an entry of the client's own
/// address, the rules apply to all sessions. If these choose an entry at that address, this entry
/// is evicted. Otherwise the first idle entry of the address is evicted.
#[derive(Debug)]
pub(crate) struct GroupedShares<I> {
    /// The shares of principals and addresses. Each entry is stored with its principal or address.
    groups: Shares<(Client, I)>,
    /// The shares of principals and sessions.
    own: Shares<(Client, I)>,
}

impl<I: Clone> GroupedShares<I> {
    /// Makes the shares of a table. The parameters are those of [`Shares::new`].
    pub(crate) fn new(max: usize, part: usize, reserve: usize) -> Self {
        let for_groups = reserve / 2;
        Self {
            groups: Shares::new(max, part, reserve),
            own: Shares::new(max - for_groups, part, reserve - for_groups),
        }
    }

    /// See [`Shares::total`].
    pub(crate) fn total(&self) -> usize {
        self.groups.total()
    }

    /// See [`Shares::admit`].
    pub(crate) fn admit(&self, client: &Client, amount: usize) -> Admission<I> {
        let group = client.group();
        let of_group = self.groups.admit(&group, amount);
        if matches!(of_group, Admission::Granted) {
            return Admission::Granted;
        }
        match (of_group, self.own.admit(client, amount)) {
            (_, Admission::Granted) => Admission::Granted,
            (Admission::After((owner, _)), Admission::After((other, entry)))
                if owner == group && other == group =>
            {
                Admission::After(entry)
            }
            (Admission::After((_, entry)), _) => Admission::After(entry),
            _ => Admission::Refused,
        }
    }

    /// See [`Shares::take`].
    pub(crate) fn take(&mut self, client: &Client, amount: usize) {
        self.groups.take(&client.group(), amount);
        self.own.take(client, amount);
    }

    /// See [`Shares::give_back`].
    pub(crate) fn give_back(&mut self, client: &Client, amount: usize) {
        self.groups.give_back(&client.group(), amount);
        self.own.give_back(client, amount);
    }

    /// See [`Shares::set_idle`]. `rank` and `order` together identify the entry among the entries
    /// of the client's principal or address.
    pub(crate) fn set_idle(&mut self, client: &Client, rank: u8, order: u64, entry: I) {
        let group = client.group();
        let entry = (group.clone(), entry);
        self.groups.set_idle(&group, rank, order, entry.clone());
        self.own.set_idle(client, rank, order, entry);
    }

    /// See [`Shares::set_busy`].
    pub(crate) fn set_busy(&mut self, client: &Client, rank: u8, order: u64) {
        self.groups.set_busy(&client.group(), rank, order);
        self.own.set_busy(client, rank, order);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn client(number: u64) -> Client {
        Client::Connection(number)
    }

    /// Takes a slot for an idle entry, and evicts other entries while the table is full. Returns
    /// the clients whose entries were evicted.
    fn insert(shares: &mut Shares<(u64, u64)>, by: u64, order: u64) -> Result<Vec<u64>, ()> {
        let mut ended = Vec::new();
        loop {
            match shares.admit(&client(by), 1) {
                Admission::Granted => break,
                Admission::After((owner, order)) => {
                    assert!(shares.set_busy(&client(owner), 0, order));
                    shares.give_back(&client(owner), 1);
                    ended.push(owner);
                }
                Admission::Refused => return Err(()),
            }
        }
        shares.take(&client(by), 1);
        shares.set_idle(&client(by), 0, order, (by, order));
        Ok(ended)
    }

    #[test]
    fn a_lone_client_holds_everything_and_gives_way_to_others() {
        let mut shares = Shares::new(8, 4, 0);
        for order in 0..8 {
            assert_eq!(insert(&mut shares, 1, order), Ok(vec![]));
        }
        assert_eq!(insert(&mut shares, 1, 8), Ok(vec![1]), "its own oldest");
        for order in 9..13 {
            assert_eq!(insert(&mut shares, 2, order), Ok(vec![1]));
        }
        assert_eq!((shares.of(&client(1)), shares.of(&client(2))), (4, 4));
        assert_eq!(insert(&mut shares, 2, 13), Ok(vec![2]), "no more than half");
        assert_eq!(insert(&mut shares, 3, 14), Ok(vec![2]), "of a largest one");
        assert_eq!(shares.total(), 8);
    }

    #[test]
    fn busy_entries_never_give_way_and_the_reserve_is_for_small_clients() {
        let mut shares = Shares::<()>::new(8, 4, 2);
        let mut take = |by| {
            let admission = shares.admit(&client(by), 1);
            if admission == Admission::Granted {
                shares.take(&client(by), 1);
            }
            admission
        };
        for _ in 0..6 {
            assert_eq!(take(1), Admission::Granted);
        }
        assert_eq!(take(1), Admission::Refused, "all but the reserve");
        assert_eq!(take(2), Admission::Granted);
        assert_eq!(take(3), Admission::Granted);
        assert_eq!(take(4), Admission::Refused, "full of what can't give way");
        shares.give_back(&client(1), 1);
        assert_eq!(shares.admit(&client(1), 1), Admission::Refused);
        assert_eq!(shares.admit(&client(4), 1), Admission::Granted);
    }

    #[test]
    fn a_lone_client_leaves_the_reserve() {
        let mut shares = Shares::<()>::new(4, 2, 1);
        shares.take(&client(1), 3);
        assert_eq!(shares.admit(&client(1), 1), Admission::Refused);
        assert_eq!(shares.admit(&client(2), 1), Admission::Granted);
    }

    #[test]
    fn one_client_takes_half_of_the_reserve_at_most() {
        let mut shares = Shares::<()>::new(12, 4, 4);
        shares.take(&client(1), 8);
        let mut take = |by| {
            let is_granted = shares.admit(&client(by), 1) == Admission::Granted;
            shares.take(&client(by), usize::from(is_granted));
            is_granted
        };
        assert_eq!([2, 2, 2].map(&mut take), [true, true, false]);
        assert_eq!([3, 3, 4, 5].map(&mut take), [true, false, true, false]);
    }

    #[test]
    fn the_first_to_give_way_is_an_idle_one_of_the_largest() {
        let mut shares = Shares::new(9, 4, 0);
        assert_eq!(shares.first_to_give_way(), None);
        for (by, order) in [(1, 0), (2, 1), (2, 2), (3, 3)] {
            assert_eq!(insert(&mut shares, by, order), Ok(vec![]));
        }
        assert_eq!(shares.first_to_give_way(), Some((2, 1)));
        shares.set_max(3, 0);
        assert_eq!(insert(&mut shares, 4, 4), Ok(vec![2, 3]));
    }

    fn session(address: u8, number: u64) -> Client {
        Client::at([192, 0, 2, address].into()).session(number)
    }

    // Must not happen: an address opens a session for each slot, and so counts as many clients.
    #[test]
    fn many_sessions_of_one_address_leave_a_part_of_the_reserve() {
        let mut shares = GroupedShares::<()>::new(100, 50, 12);
        let mut take = |client: &Client, amount| {
            let is_granted = shares.admit(client, amount) == Admission::Granted;
            if is_granted {
                shares.take(client, amount);
            }
            is_granted
        };
        let taken = (0..1_000).filter(|number| take(&session(1, *number), 1));
        assert_eq!(taken.count(), 94, "all but the part for other addresses");
        assert!(take(&session(2, 5_000), 3));
        assert!(take(&Client::Principal("ann".into()), 1));
        assert_eq!(shares.total(), 98);

        // One greedy session leaves a part to other sessions of its address.
        let mut shares = GroupedShares::<()>::new(100, 50, 12);
        shares.take(&session(1, 1), 88);
        assert_eq!(shares.admit(&session(1, 1), 1), Admission::Refused);
        assert_eq!(shares.admit(&session(1, 2), 3), Admission::Granted);
    }

    #[test]
    fn of_one_address_the_session_with_the_most_gives_way() {
        let mut shares = GroupedShares::new(10, 5, 0);
        let mut add = |client: &Client, order: u64| {
            let mut ended = Vec::new();
            while let Admission::After((owner, order)) = shares.admit(client, 1) {
                shares.set_busy(&owner, 0, order);
                shares.give_back(&owner, 1);
                ended.push(owner);
            }
            assert_eq!(shares.admit(client, 1), Admission::Granted);
            shares.take(client, 1);
            shares.set_idle(client, 0, order, (client.clone(), order));
            ended
        };
        let [small, greedy, third] = [1, 2, 3].map(|number| session(1, number));
        assert_eq!(add(&small, 0), []);
        for order in 1..10 {
            assert_eq!(add(&greedy, order), []);
        }
        assert_eq!(
            add(&greedy, 10),
            std::slice::from_ref(&greedy),
            "not the oldest of its address"
        );
        assert_eq!(add(&third, 11), std::slice::from_ref(&greedy));
        // Another address displaces entries of this one.
        let other = session(2, 4);
        for order in 12..17 {
            assert_eq!(add(&other, order).len(), 1);
        }
        assert_eq!(add(&other, 17), [other], "no more than its part");
    }

    #[test]
    fn what_is_given_back_is_forgotten() {
        let mut shares = Shares::new(2, 1, 0);
        assert_eq!(insert(&mut shares, 1, 0), Ok(vec![]));
        assert!(shares.set_busy(&client(1), 0, 0));
        assert!(!shares.set_busy(&client(1), 0, 0));
        shares.give_back(&client(1), 5);
        assert!(shares.clients.is_empty() && shares.displaceable.is_empty());
        assert_eq!(shares.total(), 0);
    }

    #[test]
    fn addresses_of_one_network_are_one_client() {
        let at = |text: &str| Client::at(text.parse().expect("an address"));
        assert_eq!(at("2001:db8::1"), at("2001:db8::ffff:1"));
        assert_ne!(at("2001:db8::1"), at("2001:db8:0:1::1"));
        assert_eq!(at("::ffff:192.0.2.1"), at("192.0.2.1"));
        assert_ne!(at("192.0.2.1"), at("192.0.2.2"));
    }
}
