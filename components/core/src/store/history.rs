//! The earlier versions of an entry, and how long they are kept (000 §7.3).
//!
//! # Invariant
//!
//! Versions stand in the order they were written, and what is forgotten is
//! forgotten from the front.

use super::Entry;
use crate::{participant::Participant, port::Revision, time::Timestamp};

/// What a kept version takes besides its value, in bytes, so that many versions
/// of no length are limited as well.
pub const VERSION_BYTES: u64 = 128;

/// An earlier version of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The entry as it was.
    pub entry: Entry,
    /// How that ended.
    pub ended: Ended,
}

/// How a version ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// What happened to it.
    pub how: EndedHow,
    /// When.
    pub at: Timestamp,
    /// Who did it; for what expired, who had written it.
    pub by: Participant,
    /// At which revision of the session.
    pub revision: Revision,
}

/// What happened to a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedHow {
    /// The next version took its place.
    Superseded,
    /// The entry was deleted.
    Deleted,
    /// The entry expired.
    Expired,
}

impl EndedHow {
    /// Every way.
    pub const ALL: [Self; 3] = [Self::Superseded, Self::Deleted, Self::Expired];

    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Superseded => "superseded",
            Self::Deleted => "deleted",
            Self::Expired => "expired",
        }
    }
}

impl Version {
    /// What it counts toward the session's budget for history.
    pub fn bytes(&self) -> u64 {
        VERSION_BYTES.saturating_add(u64::from(self.entry.value_bytes))
    }
}

/// How much history is kept, of how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryUse {
    /// The versions that are kept.
    pub versions: u64,
    /// Their bytes, [`VERSION_BYTES`] for each included.
    pub bytes: u64,
    /// The most bytes that are kept.
    pub bytes_max: u64,
}
