//! Entries of a session (spec 2 to 5): the effects of writes and deletes.
//!
//! Pure decisions on loaded entries; `session` loads and saves. Extensions of entries
//! (spec 7) are in files of their own.

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

/// An entry, without its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: Key,
    /// The participant that wrote this version.
    pub written_by: Participant,
    /// The time of the write, never before an earlier change of the session.
    pub written_at: Timestamp,
    /// The version: 1 for a new key, incremented by each write.
    pub version: u64,
    /// Size of the value.
    pub value_tokens: Tokens,
    /// Size of the value in bytes.
    pub value_bytes: u32,
    /// The session's revision at which this version was written.
    pub revision: Revision,
    /// The revision that wrote version 1. It distinguishes entries that had the same key.
    pub created: Revision,
    /// The revision of the last change to the entry, including its access lists.
    pub touched: Revision,
    /// The instant of expiry.
    pub expires_at: Option<Timestamp>,
    /// The access lists.
    pub access: Access,
    /// True if its versions are retained when they end.
    pub keeps_history: bool,
    /// True if a redaction replaced its value with a placeholder.
    pub is_redacted: bool,
}

impl Entry {
    /// Returns true if the entry has expired at `now`.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }
}

/// The limits of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest value of one entry (spec 4.1).
    pub value_tokens_max: Tokens,
    /// The largest sum of all values (spec 4.2).
    pub store_tokens_max: Tokens,
    /// The most keys. The limit also keeps a listing small enough for a prompt.
    pub keys_max: u32,
}

impl Default for Limits {
    /// Returns the limits of spec 4, and 1,000 keys.
    fn default() -> Self {
        Self { value_tokens_max: Tokens(1_000), store_tokens_max: Tokens(10_000), keys_max: 1_000 }
    }
}

/// The totals of a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of entries.
    pub keys: u32,
    /// Sum of the sizes of all values.
    pub tokens: Tokens,
}

impl Totals {
    /// Returns the totals of `entries`.
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        entries.into_iter().fold(Self::default(), |it, new| it.replace(None, Some(new)))
    }

    /// Returns the totals after `new` replaced `old`; `None` means no entry. An overwrite counts
    /// only the difference.
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

/// Rejects a value that looks like a credential or personal data.
///
/// # Errors
///
/// [`Error::SensitiveValue`].
pub fn check_secrets(value: &str) -> Result<(), Error> {
    sensitive::kind(value).map_or(Ok(()), |kind| Err(Error::SensitiveValue { kind }))
}

/// Rejects a value that exceeds the limit of one entry.
///
/// # Errors
///
/// [`Error::ValueTooLarge`].
pub fn check_value(limits: &Limits, tokens: Tokens) -> Result<(), Error> {
    let tokens_max = limits.value_tokens_max;
    if tokens > tokens_max { Err(Error::ValueTooLarge { tokens, tokens_max }) } else { Ok(()) }
}

/// Rejects `totals` that exceed a limit and are larger than `before`. A placeholder can
/// be longer than the redacted value, so a redaction can push a store over its limit.
/// Such a store remains usable.
///
/// # Errors
///
/// [`Error::StoreFull`], without the largest entries; the caller adds them.
pub fn check_totals(limits: &Limits, before: Totals, totals: Totals) -> Result<(), Error> {
    let full = |over| Err(Error::StoreFull { over, is_limited: false, largest: Vec::new() });
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

/// Returns the limit `over` with other totals than those of the whole store.
pub(crate) fn with_totals(over: StoreLimit, Totals { keys, tokens }: Totals) -> StoreLimit {
    match over {
        StoreLimit::Tokens { tokens_max, .. } => StoreLimit::Tokens { tokens, tokens_max },
        StoreLimit::Keys { keys_max, .. } => StoreLimit::Keys { keys, keys_max },
        StoreLimit::Document { .. } => over,
    }
}

/// Returns at most `count` of the largest `entries`, by size, then by key.
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
