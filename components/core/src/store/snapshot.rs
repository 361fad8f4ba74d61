//! Snapshots: the store at a labelled moment (spec 7.6).
//!
//! A snapshot does not copy values. It refers to the version of each entry, and a version
//! is stored as long as a snapshot refers to it. A version exists from the revision that
//! wrote it until the one that ended it. So the revisions of the snapshots alone
//! determine which versions they hold.

use super::{Entry, Totals};
use crate::{
    key::{Key, Label, Line},
    kv::Revision,
    participant::Participant,
    time::Timestamp,
};

/// The metadata of a snapshot, without its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// The label.
    pub label: Label,
    /// The note given when it was taken.
    pub note: Option<Line>,
    /// The participant that took it.
    pub taken_by: Participant,
    /// The time it was taken.
    pub taken_at: Timestamp,
    /// The totals of its entries.
    pub totals: Totals,
    /// The revision it was taken at.
    pub revision: Revision,
}

/// A snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The metadata.
    pub info: SnapshotInfo,
    /// The entries, by key.
    pub entries: Vec<Entry>,
}

/// The difference between two states of a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// Entries that only the later state has.
    pub added: Vec<Entry>,
    /// Entries that only the earlier state has.
    pub removed: Vec<Entry>,
    /// Entries whose values differ: earlier, later.
    pub changed: Vec<(Entry, Entry)>,
    /// The number of entries with the same value in both.
    pub unchanged: u32,
}

impl Diff {
    /// Compares two states, each ordered by key. `is_same` returns true if two versions
    /// of one key have the same value.
    ///
    /// # Errors
    ///
    /// The errors of `is_same`.
    pub fn of<E>(
        from: Vec<Entry>,
        to: Vec<Entry>,
        mut is_same: impl FnMut(&Entry, &Entry) -> Result<bool, E>,
    ) -> Result<Self, E> {
        let mut diff = Self::default();
        let mut to = to.into_iter().peekable();
        for old in from {
            while let Some(new) = to.next_if(|new| new.key < old.key) {
                diff.added.push(new);
            }
            match to.next_if(|new| new.key == old.key) {
                None => diff.removed.push(old),
                Some(new) if is_same(&old, &new)? => diff.unchanged += 1,
                Some(new) => diff.changed.push((old, new)),
            }
        }
        diff.added.extend(to);
        Ok(diff)
    }
}

/// Returns true if a snapshot taken at one of `revisions` holds a version that was
/// written at `written` and ended at `ended`.
pub fn is_held(revisions: &[Revision], written: Revision, ended: Revision) -> bool {
    revisions.iter().any(|it| written <= *it && *it < ended)
}

/// The result of a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The snapshot.
    pub label: Label,
    /// The written keys, with their new versions.
    pub written: Vec<(Key, u64)>,
    /// The deleted keys, which the snapshot does not have.
    pub deleted: Vec<Key>,
    /// The number of entries that already had the value of the snapshot.
    pub unchanged: u32,
}
