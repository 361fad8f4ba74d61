//! Cache of verified tokens, which saves computing the signature again for each request with the
//! same token.
//!
//! # Invariants
//!
//! - The cache holds only the claims of a token. Its expiry, and whether its session still accepts
//!   it, are checked on each request.
//! - A token is compared as a whole, in constant time, with the one that was verified.
//! - The cache is bounded in bytes.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use subtle::ConstantTimeEq;

use crate::recent::Recent;

/// Most bytes of the cache. A token has less than 4,000 bytes, mostly 300: room for about 20,000.
const BYTES_MAX: usize = 8 << 20;
/// The approximate size of a token besides its text: its claims, and its place.
const CLAIMS_BYTES: usize = 128;

/// Claims of verified tokens.
pub(crate) struct VerifiedTokens<T> {
    /// Tokens with their claims.
    recent: Recent<(String, Arc<T>)>,
    hasher: RandomState,
}

impl<T> VerifiedTokens<T> {
    /// Creates an empty cache.
    pub(crate) fn new() -> Self {
        Self { recent: Recent::new(BYTES_MAX), hasher: RandomState::new() }
    }

    /// Returns the claims of `token` if it was verified.
    pub(crate) fn get(&self, token: &str) -> Option<Arc<T>> {
        self.recent.find(self.hasher.hash_one(token), |it| claims(it, token))
    }

    /// Records that `token` was verified and has these claims.
    pub(crate) fn insert(&self, token: &str, claims: &Arc<T>) {
        let bytes = token.len().saturating_add(CLAIMS_BYTES);
        let entry = (token.to_owned(), Arc::clone(claims));
        self.recent.insert(self.hasher.hash_one(token), bytes, entry);
    }
}

/// Returns the claims if they are those of `token`.
fn claims<T>((known, claims): &(String, Arc<T>), token: &str) -> Option<Arc<T>> {
    let is_known: bool = known.as_bytes().ct_eq(token.as_bytes()).into();
    is_known.then(|| Arc::clone(claims))
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

    /// The cache once held 1,024 tokens and was cleared whole: with more participants each request
    /// computed a signature.
    #[test]
    fn the_cache_is_bounded_and_keeps_what_is_used() {
        let verified = VerifiedTokens::new();
        let token = |nth: usize| format!("{nth:300}");
        for nth in 0..100_000 {
            verified.insert(&token(nth), &Arc::new(nth));
            assert_eq!(verified.get(&token(0)).as_deref(), Some(&0), "used all the time");
            let count = verified.recent.count();
            assert!(count * (300 + CLAIMS_BYTES) <= BYTES_MAX, "{count}");
        }
        assert_eq!(verified.get(&token(95_000)).as_deref(), Some(&95_000), "used lately");
        assert!(verified.get(&token(1)).is_none(), "not used for long");
    }
}
