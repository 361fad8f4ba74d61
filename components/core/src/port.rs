//! All that the core asks of the world: durable rows ([`kv`](crate::kv)), the time, a
//! log, and exact token counts for sessions that want them.
//!
//! Hosts implement these traits.

use crate::{audit::AuditRecord, time::Timestamp};

pub use crate::kv::{Bucket, Change, CommitError, Kv, KvError, ReadError, Revision, Row};

/// The time, as the host tells it.
pub trait Clock {
    /// Now. May repeat a value or step back; the core does not rely on it moving.
    fn now(&self) -> Timestamp;
}

/// Where what happened is told to operators.
pub trait Log {
    /// Takes one record of a committed change. Called after the commit, once for
    /// each thing it did. A record never holds a value.
    fn record(&self, record: &AuditRecord);
}

/// Counts tokens exactly, for sessions that ask for it.
pub trait Tokenizer {
    /// Returns the names of the encodings there are, such as `o200k_base`.
    fn encodings(&self) -> Vec<String>;

    /// Returns the number of tokens of `text` in `encoding`; `None` when there is no such
    /// encoding. Text that looks like a model's control tokens counts as text.
    fn count(&self, encoding: &str, text: &str) -> Option<u32>;
}

/// The tokenizer of a host that has none: sessions count approximately.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTokenizer;

impl Tokenizer for NoTokenizer {
    fn encodings(&self) -> Vec<String> {
        Vec::new()
    }

    fn count(&self, _: &str, _: &str) -> Option<u32> {
        None
    }
}

/// All that one request may use.
#[derive(Debug)]
pub struct Ports<'a, K, C, L, T> {
    /// Durable storage.
    pub kv: &'a K,
    /// The time.
    pub clock: &'a C,
    /// Where what happened is told.
    pub log: &'a L,
    /// Exact token counts.
    pub tokenizer: &'a T,
}

impl<T: Clock + ?Sized> Clock for &T {
    fn now(&self) -> Timestamp {
        (**self).now()
    }
}

impl<T: Log + ?Sized> Log for &T {
    fn record(&self, record: &AuditRecord) {
        (**self).record(record);
    }
}

impl<T: Tokenizer + ?Sized> Tokenizer for &T {
    fn encodings(&self) -> Vec<String> {
        (**self).encodings()
    }

    fn count(&self, encoding: &str, text: &str) -> Option<u32> {
        (**self).count(encoding, text)
    }
}
