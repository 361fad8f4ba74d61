//! Snapshots: the store as it was at a labelled moment (spec 7.6).
//!
//! A snapshot copies no value: it points to the version of each entry, and a
//! version lives on while a snapshot points to it. Since a version is alive from
//! the revision that wrote it until the one that ended it, the revisions of the
//! snapshots alone tell which versions they hold.

use super::{Entry, Totals};
use crate::{
    key::{Key, Label, Line},
    kv::Revision,
    participant::Participant,
    time::Timestamp,
};

/// What is known of a snapshot without its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// Its label.
    pub label: Label,
    /// Why it was taken.
    pub note: Option<Line>,
    /// Who took it.
    pub taken_by: Participant,
    /// When.
    pub taken_at: Timestamp,
    /// How much it holds.
    pub totals: Totals,
    /// The revision it was taken at.
    pub revision: Revision,
}

/// A snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// What is known of it.
    pub info: SnapshotInfo,
    /// The entries, by key.
    pub entries: Vec<Entry>,
}

/// What differs between two states of a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// Entries that only the later state has.
    pub added: Vec<Entry>,
    /// Entries that only the earlier state has.
    pub removed: Vec<Entry>,
    /// Entries whose value is another one: earlier, later.
    pub changed: Vec<(Entry, Entry)>,
    /// How many entries have the same value in both.
    pub unchanged: u32,
}

impl Diff {
    /// Compares two states, each ordered by key. `is_same` tells whether two
    /// versions of one key have the same value.
    ///
    /// # Errors
    ///
    /// What `is_same` returns.
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

/// Returns whether one of the snapshots taken at `revisions` holds a version that was
/// written at `written` and ended at `ended`.
pub fn is_held(revisions: &[Revision], written: Revision, ended: Revision) -> bool {
    revisions.iter().any(|it| written <= *it && *it < ended)
}

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The snapshot.
    pub label: Label,
    /// What was written, with its version now.
    pub written: Vec<(Key, u64)>,
    /// What was deleted, since the snapshot does not have it.
    pub deleted: Vec<Key>,
    /// How many entries had the value of the snapshot.
    pub unchanged: u32,
}
