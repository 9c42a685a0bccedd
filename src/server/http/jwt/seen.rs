//! Proofs that were shown: remembered for as long as each could be shown again, within a bound.

use std::collections::{BTreeSet, HashMap};

/// Tells a proof from every other.
pub(super) type ProofId = [u8; 32];

/// Which proofs were shown.
///
/// When there are more than may be remembered the oldest are dropped, and from then on no proof is taken that is as old as one of these: so none is
/// ever taken twice.
pub(super) struct Seen {
    max: usize,
    /// When each was made, in seconds since 1970.
    made: HashMap<ProofId, u64>,
    oldest_first: BTreeSet<(u64, ProofId)>,
    /// The proofs that were dropped were made until then.
    dropped_until: Option<u64>,
}

/// Why a proof can't be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    Shown,
    /// It may have been shown: those of its time were dropped.
    TooOld,
}

impl Seen {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            made: HashMap::new(),
            oldest_first: BTreeSet::new(),
            dropped_until: None,
        }
    }

    /// Notes a proof that was made at this time. Those that were made before `until` are refused for their age elsewhere.
    pub(super) fn note(&mut self, id: ProofId, made: u64, until: u64) -> Result<(), Unusable> {
        while let Some(&(oldest, old)) = self.oldest_first.first()
            && oldest < until
        {
            self.forget(oldest, &old);
        }
        if self.made.contains_key(&id) {
            return Err(Unusable::Shown);
        }
        if self.dropped_until.is_some_and(|dropped| made <= dropped) {
            return Err(Unusable::TooOld);
        }
        self.made.insert(id, made);
        self.oldest_first.insert((made, id));
        if self.made.len() > self.max
            && let Some(&(oldest, old)) = self.oldest_first.first()
        {
            self.forget(oldest, &old);
            self.dropped_until = self.dropped_until.max(Some(oldest));
        }
        Ok(())
    }

    fn forget(&mut self, made: u64, id: &ProofId) {
        self.oldest_first.remove(&(made, *id));
        self.made.remove(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u8) -> ProofId {
        [number; 32]
    }

    #[test]
    fn each_proof_is_taken_once() {
        let mut seen = Seen::new(10);
        assert_eq!(seen.note(id(1), 100, 0), Ok(()));
        assert_eq!(seen.note(id(2), 100, 0), Ok(()));
        assert_eq!(seen.note(id(1), 100, 0), Err(Unusable::Shown));
        assert_eq!(
            seen.note(id(1), 101, 100),
            Err(Unusable::Shown),
            "of another time"
        );
    }

    #[test]
    fn what_is_too_old_to_be_shown_again_is_forgotten() {
        let mut seen = Seen::new(10);
        for number in 0..200 {
            let made = u64::from(number);
            let until = made.saturating_sub(4);
            assert_eq!(seen.note(id(number), made, until), Ok(()), "{number}");
            assert!(seen.made.len() <= 5 && seen.made.len() == seen.oldest_first.len());
        }
        assert_eq!(seen.dropped_until, None);
    }

    #[test]
    fn a_full_memory_takes_none_that_it_may_have_dropped() {
        let mut seen = Seen::new(2);
        for (number, made) in [(1, 100), (2, 101), (3, 102)] {
            assert_eq!(seen.note(id(number), made, 0), Ok(()));
        }
        assert_eq!(seen.note(id(1), 100, 0), Err(Unusable::TooOld), "shown");
        assert_eq!(seen.note(id(4), 100, 0), Err(Unusable::TooOld), "like it");
        assert_eq!(seen.note(id(5), 101, 0), Ok(()), "in place of the second");
        assert_eq!(seen.note(id(2), 101, 0), Err(Unusable::TooOld));
        assert_eq!(seen.note(id(5), 101, 0), Err(Unusable::Shown));
        assert_eq!(seen.note(id(3), 102, 0), Err(Unusable::Shown));
        assert_eq!(seen.note(id(6), 103, 0), Ok(()));
        assert_eq!((seen.made.len(), seen.oldest_first.len()), (2, 2));
    }
}
