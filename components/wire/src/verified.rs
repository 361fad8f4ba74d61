//! Tokens whose signature was verified before, so that it is not computed again for
//! each of the many requests that show one.
//!
//! # Invariants
//!
//! - What is known here is what a token says; whether it has expired, and whether
//!   its session still takes it, is asked each time.
//! - A token is compared whole, and in constant time with the one that was verified.

use std::{
    collections::BTreeMap,
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use subtle::ConstantTimeEq;

/// How many tokens are known at most, of less than 4,000 bytes each and mostly of
/// 300. When there are more, all are verified anew.
const TOKENS_MAX: usize = 1_024;

/// What verified tokens say.
pub(crate) struct Verified<T> {
    tokens: Mutex<BTreeMap<u64, (String, Arc<T>)>>,
    hasher: RandomState,
}

impl<T> Verified<T> {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self { tokens: Mutex::default(), hasher: RandomState::new() }
    }

    /// Returns what `token` says, if it was verified.
    pub(crate) fn get(&self, token: &str) -> Option<Arc<T>> {
        let tokens = self.locked();
        let (known, said) = tokens.get(&self.hasher.hash_one(token))?;
        let is_known: bool = known.as_bytes().ct_eq(token.as_bytes()).into();
        is_known.then(|| Arc::clone(said))
    }

    /// Notes that `token` was verified and says `said`.
    pub(crate) fn note(&self, token: &str, said: &Arc<T>) {
        let mut tokens = self.locked();
        if tokens.len() >= TOKENS_MAX {
            tokens.clear();
        }
        tokens.insert(self.hasher.hash_one(token), (token.to_owned(), Arc::clone(said)));
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<u64, (String, Arc<T>)>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> fmt::Debug for Verified<T> {
    /// Without the tokens, which are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verified").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_whole_or_not_at_all() {
        let verified = Verified::new();
        assert!(verified.get("a.b.c").is_none());
        verified.note("a.b.c", &Arc::new(1));
        assert_eq!(verified.get("a.b.c").as_deref(), Some(&1));
        for other in ["", "a.b", "a.b.d", "a.b.cc", "A.b.c", " a.b.c"] {
            assert!(verified.get(other).is_none(), "{other}");
        }
        assert!(!format!("{verified:?}").contains("a.b.c"));
    }

    #[test]
    fn only_so_many_are_known() {
        let verified = Verified::new();
        for nth in 0..10_000 {
            verified.note(&format!("token {nth}"), &Arc::new(nth));
            assert!(verified.locked().len() <= TOKENS_MAX);
        }
        assert_eq!(verified.get("token 9999").as_deref(), Some(&9_999));
    }
}
