//! Replies about snapshots.

use serde::Serialize;
use shared_context_core::{
    Key, Label, Line,
    reply::{DiffRead, SnapshotRead, Snapshots},
    store::{
        Entry, Totals,
        snapshot::{Restored, SnapshotInfo},
    },
};

use super::entry_replies::ReadReply;
use crate::json::Time;

/// What is known of a snapshot, without its entries.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "snapshot_info"))]
pub(crate) struct SnapshotForm<'a> {
    #[serde(flatten)]
    about: AboutSnapshot<'a>,
    /// The session's revision at which it was taken.
    revision: u64,
}

/// Members of a snapshot's reply besides its revision and entries.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct AboutSnapshot<'a> {
    /// Its label.
    label: &'a str,
    /// Why it was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    /// Who took it.
    taken_by: &'a str,
    /// When, UTC.
    taken_at: Time,
    /// How many entries it holds.
    key_count: u32,
    /// Sum of the sizes of their values.
    total_tokens: u32,
}

/// The snapshots of a session.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "list_snapshots_reply"))]
pub(crate) struct SnapshotsReply<'a> {
    /// The snapshots, oldest first.
    snapshots: Vec<SnapshotForm<'a>>,
    /// The most there may be.
    max_snapshots: u32,
    /// The session's revision.
    revision: u64,
}

/// A snapshot and its entries.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "read_snapshot_reply"))]
pub(crate) struct SnapshotReply<'a> {
    #[serde(flatten)]
    about: AboutSnapshot<'a>,
    /// The entries you may read, by key.
    entries: Vec<ReadReply<'a>>,
    /// The session's revision.
    revision: u64,
}

/// What differs between a snapshot and a later state.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "diff_reply"))]
pub(crate) struct DiffReply<'a> {
    /// The snapshot.
    from: &'a str,
    /// The later snapshot; absent when it is what is there now.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<&'a str>,
    /// Entries that only the later state has.
    added: Vec<DiffEntry<'a>>,
    /// Entries that only the snapshot has.
    removed: Vec<DiffEntry<'a>>,
    /// Entries whose value is another one.
    changed: Vec<DiffChange<'a>>,
    /// How many entries have the same value in both.
    unchanged: u32,
    /// Sum of the sizes of what was added.
    added_tokens: u32,
    /// Sum of the sizes of what was removed.
    removed_tokens: u32,
    /// By how much what changed has grown.
    changed_tokens: i64,
    /// The session's revision.
    revision: u64,
}

/// An entry that only one state has.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "diff_entry"))]
pub(crate) struct DiffEntry<'a> {
    /// The key.
    key: &'a str,
    /// Its version there.
    version: u64,
    /// Its size there.
    value_size_tokens: u32,
}

/// An entry whose value differs.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "diff_change"))]
pub(crate) struct DiffChange<'a> {
    /// The key.
    key: &'a str,
    /// Its version in the snapshot.
    from_version: u64,
    /// Its version in the later state.
    to_version: u64,
    /// Its size in the snapshot.
    from_tokens: u32,
    /// Its size in the later state.
    to_tokens: u32,
}

/// What a restore did.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "restore_reply"))]
pub(crate) struct RestoreReply<'a> {
    /// The snapshot.
    restored: &'a str,
    /// What was written, by key.
    written: Vec<RestoredForm<'a>>,
    /// What was deleted, since the snapshot does not have it.
    deleted: Vec<&'a str>,
    /// How many entries had the value of the snapshot.
    unchanged: u32,
    /// The session's revision after it.
    revision: u64,
}

/// An entry that a restore wrote.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "restored_entry"))]
pub(crate) struct RestoredForm<'a> {
    /// The key.
    key: &'a str,
    /// Its version now.
    version: u64,
}

/// What the removal of a snapshot did.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "delete_snapshot_reply"))]
pub(crate) struct DeleteSnapshotReply<'a> {
    /// The snapshot that is gone.
    pub(crate) deleted_snapshot: &'a str,
    /// The session's revision after it.
    pub(crate) revision: u64,
}

impl<'a> From<&'a SnapshotInfo> for AboutSnapshot<'a> {
    fn from(it: &'a SnapshotInfo) -> Self {
        Self {
            label: it.label.as_str(),
            note: it.note.as_ref().map(Line::as_str),
            taken_by: it.taken_by.as_str(),
            taken_at: Time(it.taken_at),
            key_count: it.totals.keys,
            total_tokens: it.totals.tokens.0,
        }
    }
}

impl<'a> From<&'a SnapshotInfo> for SnapshotForm<'a> {
    fn from(it: &'a SnapshotInfo) -> Self {
        Self { about: it.into(), revision: it.revision.0 }
    }
}

pub(crate) fn snapshots(it: &Snapshots, revision: u64) -> SnapshotsReply<'_> {
    SnapshotsReply {
        snapshots: it.snapshots.iter().map(SnapshotForm::from).collect(),
        max_snapshots: it.snapshots_max,
        revision,
    }
}

pub(crate) fn snapshot(it: &SnapshotRead, revision: u64) -> SnapshotReply<'_> {
    SnapshotReply {
        about: (&it.info).into(),
        entries: it.entries.iter().map(ReadReply::from).collect(),
        revision,
    }
}

pub(crate) fn diff(DiffRead { from, to, diff }: &DiffRead, revision: u64) -> DiffReply<'_> {
    let later = i64::from(Totals::of(diff.changed.iter().map(|(_, it)| it)).tokens.0);
    let earlier = i64::from(Totals::of(diff.changed.iter().map(|(it, _)| it)).tokens.0);
    DiffReply {
        from: from.as_str(),
        to: to.as_ref().map(Label::as_str),
        added: diff.added.iter().map(diff_entry).collect(),
        removed: diff.removed.iter().map(diff_entry).collect(),
        changed: diff.changed.iter().map(|(from, to)| diff_change(from, to)).collect(),
        unchanged: diff.unchanged,
        added_tokens: Totals::of(&diff.added).tokens.0,
        removed_tokens: Totals::of(&diff.removed).tokens.0,
        changed_tokens: later - earlier,
        revision,
    }
}

fn diff_entry(it: &Entry) -> DiffEntry<'_> {
    DiffEntry { key: it.key.as_str(), version: it.version, value_size_tokens: it.value_tokens.0 }
}

fn diff_change<'a>(from: &'a Entry, to: &'a Entry) -> DiffChange<'a> {
    DiffChange {
        key: from.key.as_str(),
        from_version: from.version,
        to_version: to.version,
        from_tokens: from.value_tokens.0,
        to_tokens: to.value_tokens.0,
    }
}

pub(crate) fn restored(it: &Restored, revision: u64) -> RestoreReply<'_> {
    let written = it
        .written
        .iter()
        .map(|(key, version)| RestoredForm { key: key.as_str(), version: *version });
    RestoreReply {
        restored: it.label.as_str(),
        written: written.collect(),
        deleted: it.deleted.iter().map(Key::as_str).collect(),
        unchanged: it.unchanged,
        revision,
    }
}
