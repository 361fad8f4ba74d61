//! What many hold of one thing at a time, counted by who holds it.
//!
//! # Invariant
//!
//! What was taken counts until it is dropped, and a holder of nothing takes no memory.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher, Hash, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// How much everyone holds, by a hash of the name. Two names with one hash would share
/// one count, which does no harm.
#[derive(Debug, Default)]
pub(super) struct Shares {
    held: Arc<Mutex<BTreeMap<u64, u32>>>,
    hasher: RandomState,
}

/// One of what is counted, until it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    held: Arc<Mutex<BTreeMap<u64, u32>>>,
    who: u64,
}

impl Shares {
    /// Takes one more for `who`; `None` when it has `most` already. There is no bound
    /// where `most` is `None`.
    pub(super) fn take(&self, who: impl Hash, most: Option<u32>) -> Option<Share> {
        let who = self.hasher.hash_one(who);
        let mut held = locked(&self.held);
        let own = held.get(&who).copied().unwrap_or_default();
        if most.is_some_and(|most| own >= most) {
            return None;
        }
        held.insert(who, own.saturating_add(1));
        Some(Share { held: Arc::clone(&self.held), who })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut held = locked(&self.held);
        match held.get(&self.who).map_or(0, |own| own.saturating_sub(1)) {
            0 => held.remove(&self.who),
            left => held.insert(self.who, left),
        };
    }
}

fn locked(held: &Mutex<BTreeMap<u64, u32>>) -> MutexGuard<'_, BTreeMap<u64, u32>> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_has_as_many_as_may_be_and_leaves_no_trace() {
        let shares = Shares::default();
        let two = [0, 1].map(|_| shares.take("a", Some(2)).unwrap());
        assert!(shares.take("a", Some(2)).is_none());
        let unbounded = shares.take("a", None).unwrap();
        let other = shares.take("b", Some(2)).unwrap();
        drop(two);
        let again = shares.take("a", Some(2)).unwrap();
        drop((again, other, unbounded));
        assert!(locked(&shares.held).is_empty());
    }
}
