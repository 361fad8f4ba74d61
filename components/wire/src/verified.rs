//! Cache of verified tokens, which saves computing the signature again for each request with the
//! same token.
//!
//! # Invariants
//!
//! - The cache holds only the claims of a token. Its expiry, and whether its session still accepts
//!   it, are checked on each request.
//! - A token is compared as a whole, in constant time, with the one that was verified.

use std::{
    collections::BTreeMap,
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use subtle::ConstantTimeEq;

/// Most cached tokens, each of less than 4,000 bytes and mostly of 300. When the cache is full it
/// is cleared.
const TOKENS_MAX: usize = 1_024;

/// Claims of verified tokens.
pub(crate) struct VerifiedTokens<T> {
    tokens: Mutex<BTreeMap<u64, (String, Arc<T>)>>,
    hasher: RandomState,
}

impl<T> VerifiedTokens<T> {
    /// Creates an empty cache.
    pub(crate) fn new() -> Self {
        Self { tokens: Mutex::default(), hasher: RandomState::new() }
    }

    /// Returns the claims of `token` if it was verified.
    pub(crate) fn get(&self, token: &str) -> Option<Arc<T>> {
        let tokens = self.lock();
        let (known, claims) = tokens.get(&self.hasher.hash_one(token))?;
        let is_known: bool = known.as_bytes().ct_eq(token.as_bytes()).into();
        is_known.then(|| Arc::clone(claims))
    }

    /// Records that `token` was verified and has these claims.
    pub(crate) fn insert(&self, token: &str, claims: &Arc<T>) {
        let mut tokens = self.lock();
        if tokens.len() >= TOKENS_MAX {
            tokens.clear();
        }
        tokens.insert(self.hasher.hash_one(token), (token.to_owned(), Arc::clone(claims)));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, (String, Arc<T>)>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> fmt::Debug for VerifiedTokens<T> {
    /// Omits the tokens, which are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verified").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cached_token_matches_only_as_a_whole() {
        let verified = VerifiedTokens::new();
        assert!(verified.get("a.b.c").is_none());
        verified.insert("a.b.c", &Arc::new(1));
        assert_eq!(verified.get("a.b.c").as_deref(), Some(&1));
        for other in ["", "a.b", "a.b.d", "a.b.cc", "A.b.c", " a.b.c"] {
            assert!(verified.get(other).is_none(), "{other}");
        }
        assert!(!format!("{verified:?}").contains("a.b.c"));
    }

    #[test]
    fn the_cache_is_bounded() {
        let verified = VerifiedTokens::new();
        for nth in 0..10_000 {
            verified.insert(&format!("token {nth}"), &Arc::new(nth));
            assert!(verified.lock().len() <= TOKENS_MAX);
        }
        assert_eq!(verified.get("token 9999").as_deref(), Some(&9_999));
    }
}
