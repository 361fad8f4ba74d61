//! Items of a document: entries, earlier versions, snapshots.

use serde::Serialize;
use shared_context_core::{
    Error, Key, Label, Line, Participant,
    pattern::Participants,
    port::Revision,
    store::{
        Entry, Totals,
        access::Access,
        history::{Ended, EndedHow, Version},
        snapshot::{Snapshot, SnapshotInfo},
    },
    tokens::Tokens,
};

use crate::{checks::participants, form::form, json::Time, values::invalid};

/// One version of an entry.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_entry"))]
#[serde(deny_unknown_fields)]
pub(crate) struct EntryItem {
    pub(super) key: String,
    /// The digest of its value.
    pub(super) value: String,
    written_by: String,
    written_at: Time,
    version: u64,
    value_size_tokens: u32,
    revision: u64,
    /// The revision at which version 1 was written.
    created_revision: u64,
    /// The revision at which anything of it last changed.
    touched_revision: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    readable_by: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    writable_by: Vec<String>,
    history: bool,
    redacted: bool,
}

form! {
    EntryItem:
    key, value, written_by, written_at, version, value_size_tokens, revision, created_revision,
    touched_revision, expires_at, readable_by = or_absent, writable_by = or_absent, history,
    redacted
}

/// An earlier version, and how it ended.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_version"))]
#[serde(deny_unknown_fields)]
pub(crate) struct VersionItem {
    pub(super) entry: EntryItem,
    /// `superseded`, `deleted` or `expired`.
    status: String,
    ended_at: Time,
    ended_by: String,
    ended_revision: u64,
}

form! { VersionItem: entry, status, ended_at, ended_by, ended_revision }

/// A snapshot.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_snapshot"))]
#[serde(deny_unknown_fields)]
pub(crate) struct SnapshotItem {
    pub(super) label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    taken_by: String,
    taken_at: Time,
    revision: u64,
    pub(super) entries: Vec<EntryItem>,
}

form! { SnapshotItem: label, note, taken_by, taken_at, revision, entries }

impl EntryItem {
    pub(super) fn new(it: &Entry, value: String) -> Self {
        Self {
            key: it.key.as_str().to_owned(),
            value,
            written_by: it.written_by.as_str().to_owned(),
            written_at: Time(it.written_at),
            version: it.version,
            value_size_tokens: it.value_tokens.0,
            revision: it.revision.0,
            created_revision: it.created.0,
            touched_revision: it.touched.0,
            expires_at: it.expires_at.map(Time),
            readable_by: list(&it.access.readable_by),
            writable_by: list(&it.access.writable_by),
            history: it.keeps_history,
            redacted: it.is_redacted,
        }
    }

    pub(super) fn entry(&self, value: &str) -> Result<Entry, Error> {
        Ok(Entry {
            key: Key::parse(&self.key)?,
            written_by: Participant::parse(&self.written_by)?,
            written_at: self.written_at.0,
            version: self.version,
            value_tokens: Tokens(self.value_size_tokens),
            value_bytes: u32::try_from(value.len()).unwrap_or(u32::MAX),
            revision: Revision(self.revision),
            created: Revision(self.created_revision),
            touched: Revision(self.touched_revision),
            expires_at: self.expires_at.map(|it| it.0),
            access: Access {
                readable_by: participants_or_everyone(&self.readable_by)?,
                writable_by: participants_or_everyone(&self.writable_by)?,
            },
            keeps_history: self.history,
            is_redacted: self.redacted,
        })
    }
}

impl VersionItem {
    pub(super) fn new(it: &Version, entry: EntryItem) -> Self {
        Self {
            entry,
            status: it.ended.how.as_str().to_owned(),
            ended_at: Time(it.ended.at),
            ended_by: it.ended.by.as_str().to_owned(),
            ended_revision: it.ended.revision.0,
        }
    }

    pub(super) fn version(&self, entry: Entry) -> Result<Version, Error> {
        let how = EndedHow::ALL.into_iter().find(|it| it.as_str() == self.status);
        let ended = Ended {
            how: how.ok_or_else(|| invalid("history: a status is unknown"))?,
            at: self.ended_at.0,
            by: Participant::parse(&self.ended_by)?,
            revision: Revision(self.ended_revision),
        };
        Ok(Version { entry, ended })
    }
}

impl SnapshotItem {
    pub(super) fn new(it: &Snapshot, item: impl FnMut(&Entry) -> EntryItem) -> Self {
        Self {
            label: it.info.label.as_str().to_owned(),
            note: it.info.note.as_ref().map(|it| it.as_str().to_owned()),
            taken_by: it.info.taken_by.as_str().to_owned(),
            taken_at: Time(it.info.taken_at),
            revision: it.info.revision.0,
            entries: it.entries.iter().map(item).collect(),
        }
    }

    pub(super) fn snapshot(&self, entries: Vec<Entry>) -> Result<Snapshot, Error> {
        let info = SnapshotInfo {
            label: Label::parse(&self.label)?,
            note: self.note.as_deref().map(|it| Line::parse("note", it)).transpose()?,
            taken_by: Participant::parse(&self.taken_by)?,
            taken_at: self.taken_at.0,
            totals: Totals::of(&entries),
            revision: Revision(self.revision),
        };
        Ok(Snapshot { info, entries })
    }
}

fn list(it: &Participants) -> Vec<String> {
    if it.is_everyone() { Vec::new() } else { it.patterns().map(str::to_owned).collect() }
}

fn participants_or_everyone(patterns: &[String]) -> Result<Participants, Error> {
    if patterns.is_empty() { Ok(Participants::default()) } else { participants(patterns) }
}
