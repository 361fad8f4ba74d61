//! The interfaces the core needs from its host: durable rows ([`kv`](crate::kv)), the
//! time, a log, and exact token counts for sessions that use them.
//!
//! Hosts implement these traits.

use crate::{audit::AuditRecord, time::Timestamp};

pub use crate::kv::{Bucket, Change, CommitError, Kv, KvError, ReadError, Revision, Row};

/// The clock of the host.
pub trait Clock {
    /// Returns the current time. It may repeat a value or go back; the core does not rely
    /// on its progress.
    fn now(&self) -> Timestamp;
}

/// The audit log of the host, for operators.
pub trait Log {
    /// Logs one record of a committed change. It is called after the commit, once for
    /// each effect. A record never contains a value.
    fn record(&self, record: &AuditRecord);
}

/// Counts tokens exactly, for sessions that ask for it.
pub trait Tokenizer {
    /// Returns the names of the available encodings, such as `o200k_base`.
    fn encodings(&self) -> Vec<String>;

    /// Returns the number of tokens of `text` in `encoding`, or `None` if the encoding is
    /// not available. Text that looks like a model's control tokens counts as text.
    fn count(&self, encoding: &str, text: &str) -> Option<u32>;
}

/// The tokenizer of a host without one: sessions count approximately.
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

/// The interfaces that one request uses.
#[derive(Debug)]
pub struct Ports<'a, K, C, L, T> {
    /// Durable storage.
    pub kv: &'a K,
    /// The time.
    pub clock: &'a C,
    /// The audit log.
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
