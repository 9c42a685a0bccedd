//! A store of limited size for the DPoP proofs that were used. Each proof is remembered as long as
//! it could be replayed.

use std::collections::{BTreeSet, HashMap};

use crate::shares::{Admission, Client, Shares};

/// The unique id of a DPoP proof.
pub(super) type ProofId = [u8; 32];

/// The DPoP proofs that were used, to detect replays.
///
/// Above the limit, the oldest proof of the client with most proofs is dropped. After that, a proof
/// of this client is refused if it is not newer than a dropped proof. So no proof is accepted
/// twice, and a client with many proofs does not harm others.
pub(super) struct Seen {
    max: usize,
    proofs: HashMap<ProofId, Noted>,
    oldest_first: BTreeSet<(u64, ProofId)>,
    shares: Shares<ProofId>,
    /// The time at which the newest dropped proof of each client was made. Only clients with
    /// dropped proofs are in the map.
    dropped: HashMap<Client, u64>,
    /// The latest time among the entries that were removed from `dropped`, because there were too
    /// many entries.
    dropped_of_others: Option<u64>,
    /// The number of proofs recorded so far, which orders the proofs that were made in the same
    /// second.
    count: u64,
}

struct Noted {
    client: Client,
    /// When the proof was made, in seconds since 1970.
    made: u64,
    order: u64,
}

/// The number of low bits of [`Noted::order`], which contain [`Seen::count`]. The higher bits
/// contain the time at which the proof was made.
const COUNT_BITS: u32 = 28;

/// The reason why a DPoP proof is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    Shown,
    /// The proof may be a replay, since proofs as old as this proof were dropped from the store.
    TooOld,
}

impl Seen {
    /// Makes a store for at most `max` proofs. `part` is the number of proofs up to which a client
    /// displaces proofs of clients with more proofs.
    pub(super) fn new(max: usize, part: usize) -> Self {
        Self {
            max,
            proofs: HashMap::new(),
            oldest_first: BTreeSet::new(),
            shares: Shares::new(max, part, 0),
            dropped: HashMap::new(),
            dropped_of_others: None,
            count: 0,
        }
    }

    /// Records the proof of a client, which was made at the time `made`. Forgets proofs that were
    /// made before `until`, since such proofs are refused anyway because of their age.
    pub(super) fn note(
        &mut self,
        client: &Client,
        id: ProofId,
        made: u64,
        until: u64,
    ) -> Result<(), Unusable> {
        self.forget_before(until);
        if self.proofs.contains_key(&id) {
            return Err(Unusable::Shown);
        }
        let dropped = self.dropped.get(client).copied();
        if dropped.max(self.dropped_of_others) >= Some(made) {
            return Err(Unusable::TooOld);
        }
        loop {
            match self.shares.admit(client, 1) {
                Admission::Granted => break,
                Admission::After(oldest) => self.drop_proof(&oldest),
                Admission::Refused => return Err(Unusable::TooOld),
            }
        }
        // The proofs that were dropped just now may be newer than this one.
        if self.dropped.get(client) >= Some(&made) {
            return Err(Unusable::TooOld);
        }
        self.count += 1;
        let order = made << COUNT_BITS | self.count & ((1 << COUNT_BITS) - 1);
        self.shares.take(client, 1);
        self.shares.set_idle(client, 0, order, id);
        self.oldest_first.insert((made, id));
        let client = client.clone();
        self.proofs.insert(
            id,
            Noted {
                client,
                made,
                order,
            },
        );
        Ok(())
    }

    fn forget_before(&mut self, until: u64) {
        while let Some((oldest, id)) = self.oldest_first.first().copied()
            && oldest < until
        {
            self.forget(&id);
        }
        // `dropped` has few clients, unless clients attack the limit.
        if self.dropped.len() > self.max {
            self.dropped.retain(|_, dropped| *dropped >= until);
        }
        if self.dropped.len() > self.max {
            let newest = self.dropped.drain().map(|(_, dropped)| dropped).max();
            self.dropped_of_others = self.dropped_of_others.max(newest);
        }
    }

    fn forget(&mut self, id: &ProofId) -> Option<Noted> {
        let noted = self.proofs.remove(id)?;
        self.oldest_first.remove(&(noted.made, *id));
        self.shares.set_busy(&noted.client, 0, noted.order);
        self.shares.give_back(&noted.client, 1);
        Some(noted)
    }

    fn drop_proof(&mut self, id: &ProofId) {
        if let Some(Noted { client, made, .. }) = self.forget(id) {
            let dropped = self.dropped.entry(client).or_default();
            *dropped = made.max(*dropped);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn id(number: u8) -> ProofId {
        [number; 32]
    }

    fn client(number: u64) -> Client {
        Client::Connection(number)
    }

    #[test]
    fn each_proof_is_taken_once() {
        let mut seen = Seen::new(10, 10 / 2);
        let mut note = |proof, made, until| seen.note(&client(1), id(proof), made, until);
        assert_eq!(note(1, 100, 0), Ok(()));
        assert_eq!(note(2, 100, 0), Ok(()));
        assert_eq!(note(1, 100, 0), Err(Unusable::Shown));
        assert_eq!(note(1, 101, 100), Err(Unusable::Shown), "of another time");
        let by_another = seen.note(&client(2), id(1), 100, 0);
        assert_eq!(by_another, Err(Unusable::Shown));
    }

    #[test]
    fn what_is_too_old_to_be_shown_again_is_forgotten() {
        let mut seen = Seen::new(10, 10 / 2);
        for number in 0..200 {
            let made = u64::from(number);
            let until = made.saturating_sub(4);
            let noted = seen.note(&client(1), id(number), made, until);
            assert_eq!(noted, Ok(()), "{number}");
            assert!(seen.proofs.len() <= 5 && seen.proofs.len() == seen.oldest_first.len());
            assert_eq!(seen.shares.total(), seen.proofs.len());
        }
        assert!(seen.dropped.is_empty());
    }

    #[test]
    fn a_full_memory_takes_none_that_it_may_have_dropped() {
        let mut seen = Seen::new(2, 2 / 2);
        let mut note = |proof, made| seen.note(&client(1), id(proof), made, 0);
        for (number, made) in [(1, 100), (2, 101), (3, 102)] {
            assert_eq!(note(number, made), Ok(()));
        }
        assert_eq!(note(1, 100), Err(Unusable::TooOld), "shown");
        assert_eq!(note(4, 100), Err(Unusable::TooOld), "like it");
        assert_eq!(note(2, 101), Err(Unusable::Shown));
        assert_eq!(note(5, 101), Err(Unusable::TooOld), "as old as the dropped");
        assert_eq!(note(3, 102), Err(Unusable::Shown));
        assert_eq!(note(6, 103), Ok(()));
        assert_eq!((seen.proofs.len(), seen.oldest_first.len()), (2, 2));
    }

    #[test]
    fn a_client_with_many_proofs_spoils_nothing_for_others() {
        let mut seen = Seen::new(8, 8 / 2);
        for number in 0..40 {
            // A proof of a clock that is ahead by the whole tolerance.
            let noted = seen.note(&client(1), id(number), 400 + u64::from(number), 0);
            assert_eq!(noted, Ok(()));
        }
        for number in 100..104 {
            assert_eq!(seen.note(&client(2), id(number), 100, 0), Ok(()));
        }
        assert_eq!(seen.note(&client(2), id(100), 100, 0), Err(Unusable::Shown));
        let late = seen.note(&client(1), id(200), 400, 0);
        assert_eq!(late, Err(Unusable::TooOld), "its own are dropped");
        assert_eq!(seen.proofs.len(), 8);
    }

    #[test]
    fn clients_whose_proofs_were_dropped_are_bounded_too() {
        let mut seen = Seen::new(2, 2 / 2);
        for number in 0..100_u8 {
            let of = client(u64::from(number));
            for proof in 0..3 {
                let proof = number.wrapping_mul(3).wrapping_add(proof);
                _ = seen.note(&of, id(proof), 100 + u64::from(number), 0);
            }
            assert!(seen.dropped.len() <= 3);
        }
    }
}
