//! A cache that is bounded in bytes and forgets first what was not used for longest.
//!
//! One of its two halves is filled, and what is found in the other moves over. When the half is
//! full, the other is dropped and the halves change places.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Values by the hash of their keys. A reader compares the key, which is a part of the value.
pub struct Recent<V> {
    halves: Mutex<Halves<V>>,
    half_bytes_max: usize,
}

struct Halves<V> {
    filled: Half<V>,
    other: Half<V>,
    /// The bytes of `filled`.
    bytes: usize,
}

/// Values with their bytes.
type Half<V> = BTreeMap<u64, (usize, V)>;

impl<V> Recent<V> {
    /// Creates an empty cache of at most `bytes_max` bytes, as their callers count them.
    pub fn new(bytes_max: usize) -> Self {
        let halves = Halves { filled: Half::new(), other: Half::new(), bytes: 0 };
        Self { halves: Mutex::new(halves), half_bytes_max: bytes_max / 2 }
    }

    /// Returns what `read` finds in the value of `hash`.
    pub fn find<T>(&self, hash: u64, read: impl FnOnce(&V) -> Option<T>) -> Option<T> {
        let mut halves = self.lock();
        if let Some((_, value)) = halves.filled.get(&hash) {
            return read(value);
        }
        let (bytes, value) = halves.other.remove(&hash)?;
        let found = read(&value);
        halves.insert(hash, (bytes, value), self.half_bytes_max);
        found
    }

    /// Keeps the value of `hash`, which takes `bytes`, instead of an earlier one. A value of more
    /// than half of the cache is not kept.
    pub fn insert(&self, hash: u64, bytes: usize, value: V) {
        if bytes <= self.half_bytes_max {
            self.lock().insert(hash, (bytes, value), self.half_bytes_max);
        }
    }

    /// Returns the number of values.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        let halves = self.lock();
        halves.filled.len().saturating_add(halves.other.len())
    }

    fn lock(&self) -> MutexGuard<'_, Halves<V>> {
        self.halves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V> Halves<V> {
    fn insert(&mut self, hash: u64, value: (usize, V), bytes_max: usize) {
        let bytes = value.0;
        if self.bytes.saturating_add(bytes) > bytes_max {
            self.other = std::mem::take(&mut self.filled);
            self.bytes = 0;
        }
        self.other.remove(&hash);
        let before = self.filled.insert(hash, value).map_or(0, |it| it.0);
        self.bytes = self.bytes.saturating_add(bytes).saturating_sub(before);
    }
}

impl<V> fmt::Debug for Recent<V> {
    /// Omits the values, which may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recent")
            .field("half_bytes_max", &self.half_bytes_max)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_value_of_a_hash_counts_and_its_bytes_once() {
        let recent = Recent::new(1_000);
        for nth in 0..100 {
            recent.insert(1, 400, nth);
        }
        assert_eq!(recent.find(1, |it| Some(*it)), Some(99));
        assert_eq!(recent.count(), 1);
        recent.insert(2, 501, 0);
        assert_eq!(recent.find(2, |it| Some(*it)), None, "it is more than a half");
    }

    #[test]
    fn what_is_used_stays() {
        let recent = Recent::new(10_000);
        for nth in 0..1_000 {
            recent.insert(nth, 100, nth);
            assert_eq!(recent.find(0, |it| Some(*it)), Some(0), "{nth}");
            assert!(recent.count() <= 100, "{nth}");
        }
        assert_eq!(recent.find(1, |it| Some(*it)), None);
        assert_eq!(recent.find(999, |it| Some(*it)), Some(999));
    }
}
