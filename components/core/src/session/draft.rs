//! A commit in the making: what every change of a session goes through.
//!
//! It keeps totals, history, expiry, weight and the change feed in step with the
//! entries, and begins by sweeping what has expired; [`retention`] forgets what is no
//! longer kept. Invariant: a value row that it leaves is pointed to by an entry, a kept version or a snapshot.

mod retention;
mod values;

use std::{collections::BTreeMap, mem};

use super::{Opened, put};
use crate::{
    Error,
    audit::{AuditAction, AuditEntry, AuditRecord},
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

/// A commit in the making.
pub(super) struct Draft<'a, B> {
    bucket: &'a B,
    session: &'a SessionId,
    participant: &'a Participant,
    /// What will be known of the session.
    pub(super) meta: Meta,
    /// Its revision after the commit.
    pub(super) revision: Revision,
    /// The instant that is recorded of it.
    pub(super) at: Timestamp,
    /// What the session took as a document before it.
    pub(super) weight_before: u64,
    pub(super) changes: Vec<Change>,
    events: Vec<StoredEvent>,
    /// What the values take that it stores, by their rows.
    values: BTreeMap<String, u64>,
    /// Earlier versions that were loaded.
    histories: BTreeMap<Key, Past>,
}

/// The earlier versions of a key, as far as they had to be looked at.
enum Past {
    /// As they will be stored: a write adds one and needs to know no other.
    Row(Vec<u8>),
    /// One by one, and whether they are to be stored.
    Versions(Vec<Version>, bool),
}

impl Past {
    fn versions(&self, key: &Key) -> Result<Vec<Version>, Error> {
        match self {
            Self::Row(row) => record::decode_history(key, row),
            Self::Versions(versions, _) => Ok(versions.clone()),
        }
    }
}

/// Returns the earlier versions of `key` that are stored.
pub(super) fn load_history(bucket: &impl Bucket, key: &Key) -> Result<Vec<Version>, Error> {
    match bucket.get(&record::history_row(key))? {
        Some(row) => record::decode_history(key, &row),
        None => Ok(Vec::new()),
    }
}

/// What an event tells besides what was done by whom.
#[derive(Default, Clone, Copy)]
pub(super) struct About<'a> {
    pub(super) entry: Option<&'a Entry>,
    pub(super) label: Option<&'a Label>,
    pub(super) reason: Option<&'a Line>,
    pub(super) round: Option<u64>,
}

impl<'a, B: Bucket> Draft<'a, B> {
    /// Returns a change of the session `open`, which begins by sweeping what has expired.
    pub(super) fn new(open: &'a Opened<'_, B>) -> Result<Self, Error> {
        let (bucket, session) = (open.bucket, open.session);
        let mut meta = open.meta.clone();
        meta.changed_at = open.at;
        meta.weight = open.weight()?;
        let mut draft = Self::fresh(bucket, session, &open.caller.participant, meta);
        if open.has_expired() {
            draft.sweep(open)?;
        }
        Ok(draft)
    }

    /// Creates a change that leaves the session as `meta`, and then as what is added to
    /// this.
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
            values: BTreeMap::new(),
            histories: BTreeMap::new(),
        }
    }

    fn sweep(&mut self, open: &Opened<'_, B>) -> Result<(), Error> {
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

    /// Notes that an entry expires at `at`.
    pub(super) fn expect_expiry(&mut self, at: Timestamp) {
        self.meta.next_expiry = Some(self.meta.next_expiry.map_or(at, |it| it.min(at)));
    }

    /// Writes `new` in the place of `old`.
    pub(super) fn write(
        &mut self,
        old: Option<&Entry>,
        new: &Entry,
        value: String,
    ) -> Result<(), Error> {
        if let Some(old) = old {
            let (by, revision) = (new.written_by.clone(), self.revision);
            let ended = Ended { how: EndedHow::Superseded, at: self.at, by, revision };
            self.keep(old, ended)?;
        }
        self.tell(AuditAction::Write, About { entry: Some(new), ..About::default() });
        self.store(old, new)?;
        self.put_value(&new.key, new.revision, value);
        Ok(())
    }

    /// Stores what is known of an entry, `old` until now; its value stays.
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

    /// Removes a snapshot; the values that it holds stay.
    pub(super) fn remove_snapshot(&mut self, info: &SnapshotInfo, entries: &[Entry]) {
        self.weigh(weight::of_snapshot(info, entries), 0);
        self.meta.snapshots.retain(|it| *it != info.revision);
        self.changes.extend([
            Change::Delete(record::snapshot_row(info.revision)),
            Change::Delete(record::snapshot_entries_row(info.revision)),
        ]);
    }

    /// Stores a snapshot in the place of what was there of it, which took as much.
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
        let about = About { entry: Some(entry), ..About::default() };
        self.tell_of(action, ended.by.clone(), about);
        self.changes.push(Change::Delete(record::entry_row(&entry.key)));
        self.count(Some(entry), None);
        self.keep(entry, ended)
    }

    fn count(&mut self, old: Option<&Entry>, new: Option<&Entry>) {
        self.meta.totals = self.meta.totals.replace(old, new);
        self.weigh(old.map_or(0, weight::of_entry), new.map_or(0, weight::of_entry));
        self.meta.entries_revision = self.revision;
    }

    /// Keeps a version that ended, as far as the session does.
    fn keep(&mut self, entry: &Entry, ended: Ended) -> Result<(), Error> {
        let versions_max = self.meta.retention.history_versions_max;
        if !entry.keeps_history || versions_max == 0 {
            self.drop_value(entry, ended.revision)?;
            return Ok(());
        }
        let version = Version { entry: entry.clone(), ended };
        self.weigh(0, weight::of_version(&version));
        self.meta.history_versions = self.meta.history_versions.saturating_add(1);
        self.meta.history_bytes = self.meta.history_bytes.saturating_add(version.bytes());
        let versions_max = usize::try_from(versions_max).unwrap_or(usize::MAX);
        let past = self.histories.get_mut(&entry.key);
        let row = match past.map(|it| mem::replace(it, Past::Row(Vec::new()))) {
            Some(Past::Row(row)) => Some(row),
            Some(Past::Versions(versions, _)) => Some(record::encode_history(&versions)?),
            None => self.bucket.get(&record::history_row(&entry.key))?,
        };
        let (row, forgotten) = record::add_to_history(row, &version, versions_max)?;
        self.histories.insert(entry.key.clone(), Past::Row(row));
        forgotten.iter().try_for_each(|it| self.forget(it))
    }

    /// Returns the earlier versions of `key`, as the commit will leave them.
    pub(super) fn history(&self, key: &Key) -> Result<Vec<Version>, Error> {
        match self.histories.get(key) {
            Some(past) => past.versions(key),
            None => load_history(self.bucket, key),
        }
    }

    /// Keeps `new` in the place of `old`, the earlier versions of `key` until now.
    pub(super) fn replace_history(&mut self, key: &Key, old: &[Version], new: Vec<Version>) {
        let books = |versions: &[Version]| {
            let bytes = versions.iter().fold(0_u64, |sum, it| sum.saturating_add(it.bytes()));
            let weight = versions.iter().map(weight::of_version).fold(0, u64::saturating_add);
            (u64::try_from(versions.len()).unwrap_or(u64::MAX), bytes, weight)
        };
        let ((less, less_bytes, lighter), (more, more_bytes, heavier)) = (books(old), books(&new));
        self.weigh(lighter, heavier);
        let meta = &mut self.meta;
        meta.history_versions = meta.history_versions.saturating_sub(less).saturating_add(more);
        meta.history_bytes =
            meta.history_bytes.saturating_sub(less_bytes).saturating_add(more_bytes);
        self.histories.insert(key.clone(), Past::Versions(new, true));
    }

    /// Takes a version that is no longer kept out of the books.
    fn forget(&mut self, version: &Version) -> Result<(), Error> {
        self.weigh(weight::of_version(version), 0);
        self.meta.history_versions = self.meta.history_versions.saturating_sub(1);
        self.meta.history_bytes = self.meta.history_bytes.saturating_sub(version.bytes());
        self.drop_value(&version.entry, version.ended.revision)
    }

    /// Notes what the caller did.
    pub(super) fn tell(&mut self, action: AuditAction, about: About<'_>) {
        self.tell_of(action, self.participant.clone(), about);
    }

    /// Notes that the caller changed who may read and write an entry; whoever may
    /// read it before or after is told.
    pub(super) fn tell_access(&mut self, old: &Entry, new: &Entry) {
        let told = if old.access.readable_by.is_everyone() { old } else { new };
        self.tell(AuditAction::SetAccess, About { entry: Some(told), ..About::default() });
    }

    fn tell_of(&mut self, action: AuditAction, participant: Participant, about: About<'_>) {
        let entry = about.entry.map(|it| AuditEntry {
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
            label: about.label.cloned(),
            reason: about.reason.cloned(),
            round: about.round,
        };
        let readable_by =
            about.entry.map_or_else(Participants::default, |it| it.access.readable_by.clone());
        self.events.push(StoredEvent { record, readable_by });
    }

    /// Returns what happened.
    pub(super) fn records(self) -> Vec<AuditRecord> {
        self.events.into_iter().map(|it| it.record).collect()
    }

    /// Returns the earlier versions of `key` that the commit would leave.
    pub(super) fn past_of(mut self, key: &Key) -> Result<Vec<Version>, Error> {
        self.keep_to_the_budget()?;
        self.history(key)
    }

    /// Returns the earlier versions that the commit would leave of the keys it loaded.
    pub(super) fn past(mut self) -> Result<Vec<(Key, Vec<Version>)>, Error> {
        self.keep_to_the_budget()?;
        let histories = self.histories.into_iter();
        histories.map(|(key, past)| past.versions(&key).map(|it| (key, it))).collect()
    }

    /// Decides for the commit; then the answer is `reply`. `request` is the row in
    /// which that answer is remembered, and what is written there.
    pub(super) fn commit(
        mut self,
        reply: Reply,
        request: Option<(String, Vec<u8>)>,
    ) -> Result<Decision, Error> {
        self.keep_to_the_budget()?;
        self.check_weight()?;
        for (key, past) in mem::take(&mut self.histories) {
            let row = record::history_row(&key);
            self.changes.push(match past {
                Past::Versions(_, false) => continue,
                Past::Versions(versions, true) if versions.is_empty() => Change::Delete(row),
                Past::Versions(versions, true) => put(row, record::encode_history(&versions)?),
                Past::Row(bytes) => put(row, bytes),
            });
        }
        self.changes.push(put(record::META, self.meta.encode()?));
        let request_row = request.map(|(row, answer)| {
            self.changes.push(put(row.clone(), answer));
            row
        });
        let change = StoredChange { request_row, events: mem::take(&mut self.events) };
        let row = record::change_row(self.revision);
        self.changes.push(put(row, change.encode(self.at)?));

        self.forget_commits()?;
        self.forget_request()?;
        let (revision, next_expiry) = (self.revision, self.meta.next_expiry);
        Ok(Decision::Change {
            changes: self.changes,
            outcome: Outcome { revision, reply, next_expiry },
            records: change.events.into_iter().map(|it| it.record).collect(),
        })
    }
}
