//! Cache of verified tokens, which saves computing the signature again for each request with the
//! same token.
//!
//! # Invariants
//!
//! - The cache holds only the claims of a token. Its expiry, and whether its session still accepts
//!   it, are checked on each request.
//! - A token is compared as a whole, in constant time, with the one that was verified.
//! - The cache is bounded in bytes, and forgets first what was not used for longest: one of its two
//!   halves is filled, and what is found in the other moves over. When the half is full, the other is
//!   dropped and the halves change places.

use std::{
    collections::BTreeMap,
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use subtle::ConstantTimeEq;

/// Most bytes of a half. A token has less than 4,000 bytes, mostly 300: room for about 10,000.
const HALF_BYTES_MAX: usize = 4 << 20;
/// The approximate size of a token besides its text: its claims, and its place.
const CLAIMS_BYTES: usize = 128;

/// Claims of verified tokens.
pub(crate) struct VerifiedTokens<T> {
    halves: Mutex<Halves<T>>,
    hasher: RandomState,
}

struct Halves<T> {
    filled: Half<T>,
    other: Half<T>,
    /// The bytes of `filled`.
    bytes: usize,
}

/// Tokens with their claims, by the hash of the token.
type Half<T> = BTreeMap<u64, (String, Arc<T>)>;

impl<T> Halves<T> {
    fn insert(&mut self, hash: u64, token: String, claims: Arc<T>) {
        self.bytes = self.bytes.saturating_add(token.len()).saturating_add(CLAIMS_BYTES);
        if self.bytes > HALF_BYTES_MAX {
            self.other = std::mem::take(&mut self.filled);
            self.bytes = token.len().saturating_add(CLAIMS_BYTES);
        }
        self.filled.insert(hash, (token, claims));
    }
}

impl<T> VerifiedTokens<T> {
    /// Creates an empty cache.
    pub(crate) fn new() -> Self {
        let halves = Halves { filled: BTreeMap::new(), other: BTreeMap::new(), bytes: 0 };
        Self { halves: Mutex::new(halves), hasher: RandomState::new() }
    }

    /// Returns the claims of `token` if it was verified.
    pub(crate) fn get(&self, token: &str) -> Option<Arc<T>> {
        let hash = self.hasher.hash_one(token);
        let mut halves = self.lock();
        if let Some(it) = halves.filled.get(&hash) {
            return claims(it, token);
        }
        let found = halves.other.remove(&hash)?;
        let claims = claims(&found, token);
        halves.insert(hash, found.0, found.1);
        claims
    }

    /// Records that `token` was verified and has these claims.
    pub(crate) fn insert(&self, token: &str, claims: &Arc<T>) {
        self.lock().insert(self.hasher.hash_one(token), token.to_owned(), Arc::clone(claims));
    }

    fn lock(&self) -> MutexGuard<'_, Halves<T>> {
        self.halves.lock().unwrap_or_else(PoisonError::into_inner)
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
            let halves = verified.lock();
            let count = halves.filled.len() + halves.other.len();
            assert!(count * (300 + CLAIMS_BYTES) <= 2 * HALF_BYTES_MAX, "{count}");
        }
        assert_eq!(verified.get(&token(95_000)).as_deref(), Some(&95_000), "used lately");
        assert!(verified.get(&token(1)).is_none(), "not used for long");
    }
}
