//! The earlier versions of an entry, and how long they are retained (spec 7.3).
//!
//! # Invariant
//!
//! Versions are in the order they were written. A participant that fills the history
//! loses its own oldest versions first. The last version by someone other than the
//! participant that overwrote or deleted it is removed last.

use std::collections::{BTreeMap, BTreeSet};

use super::Entry;
use crate::{key::Key, kv::Revision, participant::Participant, time::Timestamp};

/// The bytes a retained version counts besides its value, so that the number of empty
/// versions is limited as well.
pub const VERSION_BYTES: u64 = 128;

/// An earlier version of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The entry as it was.
    pub entry: Entry,
    /// The end of the version.
    pub ended: Ended,
}

/// The end of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The kind of end.
    pub how: EndedHow,
    /// The time.
    pub at: Timestamp,
    /// The participant that ended it; for an expired version, its writer.
    pub by: Participant,
    /// The session's revision at its end.
    pub revision: Revision,
}

/// The kinds of end of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedHow {
    /// A new version replaced it.
    Superseded,
    /// The entry was deleted.
    Deleted,
    /// The entry expired.
    Expired,
}

impl EndedHow {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Superseded, Self::Deleted, Self::Expired];

    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Superseded => "superseded",
            Self::Deleted => "deleted",
            Self::Expired => "expired",
        }
    }
}

impl Version {
    /// Returns the bytes it counts toward the session's history budget.
    pub fn bytes(&self) -> u64 {
        VERSION_BYTES.saturating_add(u64::from(self.entry.value_bytes))
    }
}

/// The use of the history budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryUse {
    /// The number of retained versions.
    pub versions: u64,
    /// Their bytes, including [`VERSION_BYTES`] for each.
    pub bytes: u64,
    /// The budget, in bytes.
    pub bytes_max: u64,
}

/// Returns the index of the version to remove when a key has one too many. `writers` are
/// the writers of its versions, oldest first; `ended_by` ended the newest. The index is
/// 0, unless the first version is the only one by another participant than `ended_by`.
///
/// # Errors
///
/// The errors among `writers`.
pub fn index_to_remove<E>(
    writers: impl IntoIterator<Item = Result<Participant, E>>,
    ended_by: &Participant,
) -> Result<usize, E> {
    let mut writers = writers.into_iter();
    match writers.next().transpose()? {
        Some(first) if first != *ended_by => {}
        _ => return Ok(0),
    }
    for writer in writers {
        if writer? != *ended_by {
            return Ok(0);
        }
    }
    Ok(1)
}

/// Returns versions of at least `bytes` to remove: repeatedly the oldest of the
/// participant whose versions take the most bytes. `histories` are the versions of each
/// key, oldest first.
pub fn to_remove<'v>(
    histories: impl IntoIterator<Item = &'v [Version]>,
    bytes: u64,
) -> BTreeSet<(Key, Revision)> {
    /// The versions of one participant: their bytes, and the versions, those to remove
    /// first at the end.
    #[derive(Default)]
    struct Share<'v>(u64, Vec<(bool, &'v Version)>);

    let mut shares = BTreeMap::<&str, Share<'_>>::new();
    for versions in histories {
        let Some(ended_by) = versions.last().map(|it| &it.ended.by) else { continue };
        let last_of_another = versions.iter().rposition(|it| it.entry.written_by != *ended_by);
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
    let (mut removed, mut freed) = (BTreeSet::new(), 0_u64);
    while freed < bytes
        && let Some(Share(held, own)) = shares.values_mut().max_by_key(|it| it.0)
        && let Some((_, version)) = own.pop()
    {
        *held = held.saturating_sub(version.bytes());
        freed = freed.saturating_add(version.bytes());
        removed.insert((version.entry.key.clone(), version.entry.revision));
    }
    removed
}
