//! Permits: concurrent use of a resource, counted by holder.
//!
//! # Invariant
//!
//! A permit counts until it is dropped, and a holder without permits takes no memory.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher, Hash, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Permits of all holders, by a hash of the name. Holders whose hashes collide share a count, which
/// is harmless.
#[derive(Debug, Default)]
pub(super) struct Permits {
    held: Arc<Mutex<BTreeMap<u64, u32>>>,
    hasher: RandomState,
}

/// One permit, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    held: Arc<Mutex<BTreeMap<u64, u32>>>,
    who: u64,
}

impl Permits {
    /// Takes one more permit for `who`; `None` if it has `most` already. Without `most` there is no
    /// limit.
    pub(super) fn take(&self, who: impl Hash, most: Option<u32>) -> Option<Permit> {
        let who = self.hasher.hash_one(who);
        let mut held = lock(&self.held);
        let own = held.get(&who).copied().unwrap_or_default();
        if most.is_some_and(|most| own >= most) {
            return None;
        }
        held.insert(who, own.saturating_add(1));
        Some(Permit { held: Arc::clone(&self.held), who })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut held = lock(&self.held);
        match held.get(&self.who).map_or(0, |own| own.saturating_sub(1)) {
            0 => held.remove(&self.who),
            left => held.insert(self.who, left),
        };
    }
}

fn lock(held: &Mutex<BTreeMap<u64, u32>>) -> MutexGuard<'_, BTreeMap<u64, u32>> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_limited_and_leave_no_trace() {
        let permits = Permits::default();
        let two = [0, 1].map(|_| permits.take("a", Some(2)).unwrap());
        assert!(permits.take("a", Some(2)).is_none());
        let unbounded = permits.take("a", None).unwrap();
        let other = permits.take("b", Some(2)).unwrap();
        drop(two);
        let again = permits.take("a", Some(2)).unwrap();
        drop((again, other, unbounded));
        assert!(lock(&permits.held).is_empty());
    }
}
