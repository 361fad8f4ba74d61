//! A commit under construction, which every change of a session uses.
//!
//! A draft updates totals, history, expiry, weight and the change feed with the entries.
//! It begins by sweeping expired entries. [`retention`] removes data that is no longer
//! retained. Invariant: each remaining value row belongs to an entry, a retained version
//! or a snapshot.

mod retention;
mod values;

use std::{collections::BTreeMap, mem};

use super::{
    OpenSession, put,
    retries::{IdempotencyKey, answer_row},
};
use crate::{
    Error,
    audit::{AuditAction, AuditEntry, AuditRecord, Subject},
    count::widen,
    decision::Decision,
    key::{Key, Label, Line},
    kv::{Bucket, Change, Revision},
    participant::Participant,
    pattern::Participants,
    record::{self, Meta, StoredChange, StoredEvent},
    reply::{Outcome, Reply},
    scope::{Scope, SessionId},
    store::{
        Entry,
        history::{Ended, EndedHow, Version},
        snapshot::SnapshotInfo,
    },
    time::Timestamp,
    weight,
};

/// A commit under construction.
pub(super) struct Draft<'a, B> {
    bucket: &'a B,
    session: &'a SessionId,
    participant: &'a Participant,
    /// The session's metadata after the commit.
    pub(super) meta: Meta,
    /// The session's revision after the commit.
    pub(super) revision: Revision,
    /// The recorded time of the commit.
    pub(super) at: Timestamp,
    /// The size of the session as a document before the commit, in bytes.
    pub(super) weight_before: u64,
    pub(super) changes: Vec<Change>,
    events: Vec<StoredEvent>,
    /// The key of a [`Command::Named`](crate::Command::Named), whose reply is stored for retries.
    pub(super) idempotency_key: Option<IdempotencyKey>,
    /// The sizes of the values it stores, by their rows.
    values: BTreeMap<String, u64>,
    /// The earlier versions that were loaded.
    histories: BTreeMap<Key, LoadedHistory>,
}

/// The loaded earlier versions of a key, decoded only if needed.
enum LoadedHistory {
    /// The encoded row: a write appends to it without decoding it.
    Row(Vec<u8>),
    /// The decoded versions, and true if they are to be stored.
    Versions(Vec<Version>, bool),
}

impl LoadedHistory {
    fn versions(&self, key: &Key) -> Result<Vec<Version>, Error> {
        match self {
            Self::Row(row) => record::decode_history(key, row),
            Self::Versions(versions, _) => Ok(versions.clone()),
        }
    }
}

/// Returns the stored earlier versions of `key`.
pub(super) fn load_history(bucket: &impl Bucket, key: &Key) -> Result<Vec<Version>, Error> {
    match bucket.get(&record::history_row(key))? {
        Some(row) => record::decode_history(key, &row),
        None => Ok(Vec::new()),
    }
}

/// The details of an event besides its action and participant.
#[derive(Default, Clone, Copy)]
pub(super) struct EventDetails<'a> {
    pub(super) entry: Option<&'a Entry>,
    pub(super) label: Option<&'a Label>,
    /// The address of a packet, instead of a label.
    pub(super) address: Option<&'a str>,
    pub(super) reason: Option<&'a Line>,
    pub(super) round: Option<u64>,
}

impl<'a, B: Bucket> Draft<'a, B> {
    /// Creates a draft for the session `open` and sweeps expired entries.
    pub(super) fn new(open: &'a OpenSession<'_, B>) -> Result<Self, Error> {
        let (bucket, session) = (open.bucket, open.session);
        let mut meta = open.meta.clone();
        meta.changed_at = open.at;
        meta.weight = open.weight()?;
        let mut draft = Self::fresh(bucket, session, &open.caller.participant, meta);
        draft.idempotency_key.clone_from(&open.idempotency_key);
        if open.has_expired() {
            draft.sweep(open)?;
        }
        Ok(draft)
    }

    /// Creates a draft for a session with the metadata `meta`, without a sweep.
    pub(super) fn fresh(
        bucket: &'a B,
        session: &'a SessionId,
        participant: &'a Participant,
        meta: Meta,
    ) -> Self {
        Self {
            bucket,
            session,
            participant,
            revision: meta.revision(bucket.revision().next()),
            at: meta.changed_at,
            weight_before: meta.weight.unwrap_or_default(),
            meta,
            changes: Vec::new(),
            events: Vec::new(),
            idempotency_key: None,
            values: BTreeMap::new(),
            histories: BTreeMap::new(),
        }
    }

    fn sweep(&mut self, open: &OpenSession<'_, B>) -> Result<(), Error> {
        self.meta.next_expiry = None;
        for entry in open.stored_entries(None)? {
            match entry.expires_at {
                Some(at) if at <= open.now => {
                    let by = entry.written_by.clone();
                    let ended = Ended { how: EndedHow::Expired, at, by, revision: self.revision };
                    self.end(&entry, AuditAction::Expire, ended)?;
                }
                Some(at) => self.expect_expiry(at),
                None => {}
            }
        }
        Ok(())
    }

    /// Updates the next expiry with an entry that expires at `at`.
    pub(super) fn expect_expiry(&mut self, at: Timestamp) {
        self.meta.next_expiry = Some(self.meta.next_expiry.map_or(at, |it| it.min(at)));
    }

    /// Writes `new` and its value, replacing `old`.
    pub(super) fn write(
        &mut self,
        old: Option<&Entry>,
        new: &Entry,
        value: String,
    ) -> Result<(), Error> {
        if let Some(old) = old {
            let (by, revision) = (new.written_by.clone(), self.revision);
            let ended = Ended { how: EndedHow::Superseded, at: self.at, by, revision };
            self.add_to_history(old, ended)?;
        }
        self.add_event(
            AuditAction::Write,
            EventDetails { entry: Some(new), ..EventDetails::default() },
        );
        self.store(old, new)?;
        self.put_value(&new.key, new.revision, value);
        Ok(())
    }

    /// Stores the entry `new`, replacing `old`. The value is not changed.
    pub(super) fn store(&mut self, old: Option<&Entry>, new: &Entry) -> Result<(), Error> {
        self.changes.push(put(record::entry_row(&new.key), record::encode_entry(new)?));
        self.count(old, Some(new));
        if let Some(at) = new.expires_at {
            self.expect_expiry(at);
        }
        Ok(())
    }

    /// Stores a new snapshot.
    pub(super) fn add_snapshot(
        &mut self,
        info: &SnapshotInfo,
        entries: &[Entry],
    ) -> Result<(), Error> {
        self.weigh(0, weight::of_snapshot(info, entries));
        self.store_snapshot(info, entries)
    }

    /// Removes a snapshot, but not the values it holds.
    pub(super) fn remove_snapshot(&mut self, info: &SnapshotInfo, entries: &[Entry]) {
        self.weigh(weight::of_snapshot(info, entries), 0);
        self.meta.snapshots.retain(|it| *it != info.revision);
        self.changes.extend([
            Change::Delete(record::snapshot_row(info.revision)),
            Change::Delete(record::snapshot_entries_row(info.revision)),
        ]);
    }

    /// Stores a snapshot over a previous form of it with the same weight.
    pub(super) fn store_snapshot(
        &mut self,
        info: &SnapshotInfo,
        entries: &[Entry],
    ) -> Result<(), Error> {
        let row = record::snapshot_row(info.revision);
        self.changes.push(put(row, record::encode_snapshot_info(info)?));
        let row = record::snapshot_entries_row(info.revision);
        self.changes.push(put(row, record::encode_snapshot_entries(entries)?));
        Ok(())
    }

    /// Removes `entry`, on behalf of the caller.
    pub(super) fn delete(&mut self, entry: &Entry) -> Result<(), Error> {
        let (by, revision) = (self.participant.clone(), self.revision);
        let ended = Ended { how: EndedHow::Deleted, at: self.at, by, revision };
        self.end(entry, AuditAction::Delete, ended)
    }

    fn end(&mut self, entry: &Entry, action: AuditAction, ended: Ended) -> Result<(), Error> {
        let details = EventDetails { entry: Some(entry), ..EventDetails::default() };
        self.add_event_by(action, ended.by.clone(), details);
        self.changes.push(Change::Delete(record::entry_row(&entry.key)));
        self.count(Some(entry), None);
        self.add_to_history(entry, ended)
    }

    fn count(&mut self, old: Option<&Entry>, new: Option<&Entry>) {
        self.meta.totals = self.meta.totals.replace(old, new);
        self.weigh(old.map_or(0, weight::of_entry), new.map_or(0, weight::of_entry));
        self.meta.entries_revision = self.revision;
    }

    /// Adds an ended version to the history, if the session and entry retain one.
    fn add_to_history(&mut self, entry: &Entry, ended: Ended) -> Result<(), Error> {
        let versions_max = self.meta.retention.history_versions_max;
        if !entry.keeps_history || versions_max == 0 {
            self.drop_value(entry, ended.revision)?;
            return Ok(());
        }
        let version = Version { entry: entry.clone(), ended };
        self.weigh(0, weight::of_version(&version));
        self.meta.history_versions = self.meta.history_versions.saturating_add(1);
        self.meta.history_bytes = self.meta.history_bytes.saturating_add(version.bytes());
        let versions_max = widen(versions_max);
        let past = self.histories.get_mut(&entry.key);
        let row = match past.map(|it| mem::replace(it, LoadedHistory::Row(Vec::new()))) {
            Some(LoadedHistory::Row(row)) => Some(row),
            Some(LoadedHistory::Versions(versions, _)) => Some(record::encode_history(&versions)?),
            None => self.bucket.get(&record::history_row(&entry.key))?,
        };
        let (row, removed) = record::add_to_history(row, &version, versions_max)?;
        self.histories.insert(entry.key.clone(), LoadedHistory::Row(row));
        removed.iter().try_for_each(|it| self.remove_version(it))
    }

    /// Returns the earlier versions of `key` so far in this draft.
    pub(super) fn history(&self, key: &Key) -> Result<Vec<Version>, Error> {
        match self.histories.get(key) {
            Some(past) => past.versions(key),
            None => load_history(self.bucket, key),
        }
    }

    /// Replaces `old`, the earlier versions of `key`, with `new`.
    pub(super) fn replace_history(&mut self, key: &Key, old: &[Version], new: Vec<Version>) {
        let usage = |versions: &[Version]| {
            let bytes = versions.iter().fold(0_u64, |sum, it| sum.saturating_add(it.bytes()));
            let weight = versions.iter().map(weight::of_version).fold(0, u64::saturating_add);
            (u64::try_from(versions.len()).unwrap_or(u64::MAX), bytes, weight)
        };
        let ((less, less_bytes, lighter), (more, more_bytes, heavier)) = (usage(old), usage(&new));
        self.weigh(lighter, heavier);
        let meta = &mut self.meta;
        meta.history_versions = meta.history_versions.saturating_sub(less).saturating_add(more);
        meta.history_bytes =
            meta.history_bytes.saturating_sub(less_bytes).saturating_add(more_bytes);
        self.histories.insert(key.clone(), LoadedHistory::Versions(new, true));
    }

    /// Subtracts a removed version from the totals and removes its value.
    fn remove_version(&mut self, version: &Version) -> Result<(), Error> {
        self.weigh(weight::of_version(version), 0);
        self.meta.history_versions = self.meta.history_versions.saturating_sub(1);
        self.meta.history_bytes = self.meta.history_bytes.saturating_sub(version.bytes());
        self.drop_value(&version.entry, version.ended.revision)
    }

    /// Adds an event by the caller.
    pub(super) fn add_event(&mut self, action: AuditAction, details: EventDetails<'_>) {
        self.add_event_by(action, self.participant.clone(), details);
    }

    /// Adds an event for a change of access lists. It is visible to anyone who may read
    /// the entry before or after.
    pub(super) fn add_access_event(&mut self, old: &Entry, new: &Entry) {
        let visible = if old.access.readable_by.is_everyone() { old } else { new };
        self.add_event(
            AuditAction::SetAccess,
            EventDetails { entry: Some(visible), ..EventDetails::default() },
        );
    }

    fn add_event_by(
        &mut self,
        action: AuditAction,
        participant: Participant,
        details: EventDetails<'_>,
    ) {
        let entry = details.entry.map(|it| AuditEntry {
            key: it.key.clone(),
            version: it.version,
            value_tokens: it.value_tokens,
        });
        let record = AuditRecord {
            scope: Scope::Session(self.session.clone()),
            revision: self.revision,
            action,
            participant,
            at: self.at,
            entry,
            label: details
                .address
                .map(Subject::address)
                .or_else(|| details.label.cloned().map(Into::into)),
            reason: details.reason.cloned(),
            round: details.round,
        };
        let readable_by =
            details.entry.map_or_else(Participants::default, |it| it.access.readable_by.clone());
        self.events.push(StoredEvent { record, readable_by });
    }

    /// Returns the audit records of the draft.
    pub(super) fn records(self) -> Vec<AuditRecord> {
        self.events.into_iter().map(|it| it.record).collect()
    }

    /// Returns the earlier versions of `key` after the commit.
    pub(super) fn pruned_history(mut self, key: &Key) -> Result<Vec<Version>, Error> {
        self.prune_history()?;
        self.history(key)
    }

    /// Returns the earlier versions after the commit, of the keys that were loaded.
    pub(super) fn pruned_histories(mut self) -> Result<Vec<(Key, Vec<Version>)>, Error> {
        self.prune_history()?;
        let histories = self.histories.into_iter();
        histories.map(|(key, past)| past.versions(&key).map(|it| (key, it))).collect()
    }

    /// Returns the decision to commit and reply with `reply`. `request` is the row that
    /// stores the reply for retries, with its bytes.
    pub(super) fn commit(
        mut self,
        reply: Reply,
        request: Option<(String, Vec<u8>)>,
    ) -> Result<Decision, Error> {
        self.prune_history()?;
        self.check_weight()?;
        for (key, past) in mem::take(&mut self.histories) {
            let row = record::history_row(&key);
            self.changes.push(match past {
                LoadedHistory::Versions(_, false) => continue,
                LoadedHistory::Versions(versions, true) if versions.is_empty() => {
                    Change::Delete(row)
                }
                LoadedHistory::Versions(versions, true) => {
                    put(row, record::encode_history(&versions)?)
                }
                LoadedHistory::Row(bytes) => put(row, bytes),
            });
        }
        self.changes.push(put(record::META, self.meta.encode()?));
        let request = match self.idempotency_key.take() {
            None => request,
            named => answer_row(named, self.revision, &reply)?,
        };
        let request_row = request.map(|(row, answer)| {
            self.changes.push(put(row.clone(), answer));
            row
        });
        let change = StoredChange { request_row, events: mem::take(&mut self.events) };
        let row = record::change_row(self.revision);
        self.changes.push(put(row, change.encode(self.at)?));

        self.prune_commits()?;
        self.prune_request()?;
        let (revision, next_expiry) = (self.revision, self.meta.next_expiry);
        Ok(Decision::Change {
            changes: self.changes,
            outcome: Outcome { revision, reply, next_expiry },
            records: change.events.into_iter().map(|it| it.record).collect(),
        })
    }
}
