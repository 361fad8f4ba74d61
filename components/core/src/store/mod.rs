//! Entries of one session (spec 2 to 5): what a write or delete makes of them.
//!
//! Pure decisions on what was loaded; loading and saving is `session`'s. What
//! extends an entry (spec 7) has files of its own here.

pub mod access;
pub mod expiry;
pub mod history;
pub mod redaction;
mod sensitive;
pub mod snapshot;
pub mod warning;

use crate::{
    Error, error::StoreLimit, key::Key, kv::Revision, participant::Participant, time::Timestamp,
    tokens::Tokens,
};
use access::Access;

/// What is known of an entry without its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its key.
    pub key: Key,
    /// Who wrote this version.
    pub written_by: Participant,
    /// When. Never before an earlier change of the session.
    pub written_at: Timestamp,
    /// 1 for a new key, one more at each write.
    pub version: u64,
    /// Size of the value.
    pub value_tokens: Tokens,
    /// Size of the value in bytes.
    pub value_bytes: u32,
    /// The session's revision at which this version was written.
    pub revision: Revision,
    /// The revision at which version 1 was written: it tells apart entries that
    /// had the same key.
    pub created: Revision,
    /// The revision at which anything of it last changed, its access lists
    /// included.
    pub touched: Revision,
    /// The instant from which on it does not exist.
    pub expires_at: Option<Timestamp>,
    /// Who may read and write it.
    pub access: Access,
    /// Whether its versions are kept when they end.
    pub keeps_history: bool,
    /// Whether its value was replaced by what a redaction leaves.
    pub is_redacted: bool,
}

impl Entry {
    /// Returns whether it does not exist any more at `now`.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }
}

/// How much a store may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest value of one entry (spec 4.1).
    pub value_tokens_max: Tokens,
    /// The largest sum of all values (spec 4.2).
    pub store_tokens_max: Tokens,
    /// The most keys, so that the listing fits a prompt as well.
    pub keys_max: u32,
}

impl Default for Limits {
    /// Creates the limits of spec 4; 1,000 keys.
    fn default() -> Self {
        Self { value_tokens_max: Tokens(1_000), store_tokens_max: Tokens(10_000), keys_max: 1_000 }
    }
}

/// How much a store holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of entries.
    pub keys: u32,
    /// Sum of the sizes of all values.
    pub tokens: Tokens,
}

impl Totals {
    /// Creates the totals of a store of `entries`.
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        entries.into_iter().fold(Self::default(), |it, new| it.replace(None, Some(new)))
    }

    /// The totals after `old` was replaced by `new`; `None` stands for no entry.
    /// An overwrite counts only its difference.
    #[must_use]
    pub fn replace(self, old: Option<&Entry>, new: Option<&Entry>) -> Self {
        let count = |it: Option<&Entry>| u32::from(it.is_some());
        let size = |it: Option<&Entry>| it.map_or(Tokens(0), |it| it.value_tokens);
        Self {
            keys: self.keys.saturating_sub(count(old)).saturating_add(count(new)),
            tokens: self.tokens.minus(size(old)).plus(size(new)),
        }
    }
}

/// Refuses a value that no entry of the store may have.
///
/// # Errors
///
/// [`Error::ValueTooLarge`].
pub fn check_value(limits: &Limits, tokens: Tokens) -> Result<(), Error> {
    let tokens_max = limits.value_tokens_max;
    if tokens > tokens_max { Err(Error::ValueTooLarge { tokens, tokens_max }) } else { Ok(()) }
}

/// Refuses `totals` that are over a limit, unless they are no more than `before`:
/// what a redaction leaves may be longer than what was there, and a store that
/// is over its limit for that reason can still be worked with.
///
/// # Errors
///
/// [`Error::StoreFull`], without the largest entries, which are not known here.
pub fn check_totals(limits: &Limits, before: Totals, totals: Totals) -> Result<(), Error> {
    let full = |over| Err(Error::StoreFull { over, largest: Vec::new() });
    let (tokens, tokens_max) = (totals.tokens, limits.store_tokens_max);
    if tokens > tokens_max && tokens > before.tokens {
        return full(StoreLimit::Tokens { tokens, tokens_max });
    }
    let (keys, keys_max) = (totals.keys, limits.keys_max);
    if keys > keys_max && keys > before.keys {
        return full(StoreLimit::Keys { keys, keys_max });
    }
    Ok(())
}

/// Returns the at most `count` largest of `entries`, largest first, then by key.
pub fn largest(mut entries: Vec<Entry>, count: usize) -> Vec<(Key, Tokens)> {
    let mut largest = Vec::new();
    while largest.len() < count
        && let Some(first) = entries.first()
    {
        let max = entries
            .iter()
            .fold(first, |max, it| if it.value_tokens > max.value_tokens { it } else { max });
        let (key, tokens) = (max.key.clone(), max.value_tokens);
        entries.retain(|it| it.key != key);
        largest.push((key, tokens));
    }
    largest
}
