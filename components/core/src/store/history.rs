//! The earlier versions of an entry, and how long they are kept (spec 7.3).
//!
//! # Invariant
//!
//! Versions stand in the order they were written. Who fills the history pays for it:
//! its own oldest versions are forgotten first, and the last version by another
//! participant than the one who wrote over it, or removed it, goes last.

use std::collections::{BTreeMap, BTreeSet};

use super::Entry;
use crate::{key::Key, kv::Revision, participant::Participant, time::Timestamp};

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

    /// Returns its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Superseded => "superseded",
            Self::Deleted => "deleted",
            Self::Expired => "expired",
        }
    }
}

impl Version {
    /// Returns what it counts toward the session's budget for history.
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

/// Returns the place of the version to forget when a key has one too many, given who
/// wrote each, oldest first, and `hand`, who ended the newest. That is the first, unless
/// it is the last by another participant than `hand`.
///
/// # Errors
///
/// What an item of `writers` is.
pub fn first_to_go<E>(
    writers: impl IntoIterator<Item = Result<Participant, E>>,
    hand: &Participant,
) -> Result<usize, E> {
    let mut writers = writers.into_iter();
    match writers.next().transpose()? {
        Some(first) if first != *hand => {}
        _ => return Ok(0),
    }
    for writer in writers {
        if writer? != *hand {
            return Ok(0);
        }
    }
    Ok(1)
}

/// Chooses versions of at least `bytes` to forget: again and again the oldest of the
/// participant whose versions take the most. `histories` are those of all keys, each
/// oldest first.
pub fn to_forget<'v>(
    histories: impl IntoIterator<Item = &'v [Version]>,
    bytes: u64,
) -> BTreeSet<(Key, Revision)> {
    /// What a participant has: bytes, and versions with those to forget first at the
    /// end.
    #[derive(Default)]
    struct Share<'v>(u64, Vec<(bool, &'v Version)>);

    let mut shares = BTreeMap::<&str, Share<'_>>::new();
    for versions in histories {
        let Some(hand) = versions.last().map(|it| &it.ended.by) else { continue };
        let last_of_another = versions.iter().rposition(|it| it.entry.written_by != *hand);
        for (nth, version) in versions.iter().enumerate() {
            let Share(bytes, own) = shares.entry(version.entry.written_by.as_str()).or_default();
            *bytes = bytes.saturating_add(version.bytes());
            own.push((last_of_another == Some(nth), version));
        }
    }
    for Share(_, own) in shares.values_mut() {
        own.sort_by_key(|(goes_last, it)| (*goes_last, it.ended.revision));
        own.reverse();
    }
    let (mut forgotten, mut freed) = (BTreeSet::new(), 0_u64);
    while freed < bytes
        && let Some(Share(held, own)) = shares.values_mut().max_by_key(|it| it.0)
        && let Some((_, version)) = own.pop()
    {
        *held = held.saturating_sub(version.bytes());
        freed = freed.saturating_add(version.bytes());
        forgotten.insert((version.entry.key.clone(), version.entry.revision));
    }
    forgotten
}
