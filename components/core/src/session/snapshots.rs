//! Snapshots (spec 7.6): take, list, read, compare, restore, delete.

use std::collections::BTreeSet;

use super::{
    Decision, Draft, OpenSession, answer, draft::EventDetails, not_found, reads::totals_of,
};
use crate::{
    Error,
    audit::AuditAction,
    count::narrow,
    key::{Key, Label, Line},
    kv::{Bucket, Revision},
    record,
    reply::{DiffRead, Reply, SnapshotRead, Snapshots},
    row,
    store::{
        Entry,
        snapshot::{Diff, Restored, SnapshotInfo},
    },
};

impl<B: Bucket> OpenSession<'_, B> {
    pub(super) fn take_snapshot(
        &self,
        label: &Label,
        note: Option<&Line>,
    ) -> Result<Decision, Error> {
        self.require_orchestrator()?;
        if let Some(first) = self.first_reply()? {
            return Ok(first);
        }
        let snapshots = self.snapshots()?;
        if snapshots.iter().any(|it| it.label == *label) {
            return Err(Error::SnapshotExists { label: label.clone() });
        }
        let snapshots_max = self.meta.retention.snapshots_max;
        let count = narrow(snapshots.len());
        if count >= snapshots_max {
            return Err(Error::SnapshotLimit { snapshots: count, snapshots_max });
        }
        let mut draft = Draft::new(self)?;
        let revision = draft.revision;
        let info = SnapshotInfo {
            label: label.clone(),
            note: note.cloned(),
            taken_by: self.caller.participant.clone(),
            taken_at: draft.at,
            totals: draft.meta.totals,
            revision,
        };
        draft.meta.snapshots.push(revision);
        draft.add_snapshot(&info, &self.entries(None)?)?;
        draft.add_event(
            AuditAction::Snapshot,
            EventDetails { label: Some(label), ..EventDetails::default() },
        );
        draft.commit(Reply::Snapshot(info), None)
    }

    pub(super) fn list_snapshots(&self) -> Result<Decision, Error> {
        let snapshots_max = self.meta.retention.snapshots_max;
        let mut snapshots = self.snapshots()?;
        if self.is_limited() {
            for info in &mut snapshots {
                let entries = self.without_hidden(self.snapshot_entries(info.revision)?)?;
                info.totals = totals_of(&entries);
            }
        }
        Ok(self.answer(Reply::Snapshots(Snapshots { snapshots, snapshots_max })))
    }

    pub(super) fn read_snapshot(
        &self,
        label: &Label,
        key: Option<&Key>,
    ) -> Result<Decision, Error> {
        let mut info = self.snapshot(label)?;
        let mut entries = self.snapshot_entries(info.revision)?;
        entries.retain(|it| key.is_none_or(|key| it.key == *key));
        let is_there = !entries.is_empty();
        let mut entries = self.without_hidden(entries)?;
        if let Some(key) = key {
            let error = || if is_there { self.hidden(key) } else { not_found(key) };
            let entry = entries.pop().ok_or_else(error)?;
            let revision = entry.revision;
            return Ok(answer(revision, Reply::Entry(self.with_value(entry)?), &self.meta));
        }
        if self.is_limited() {
            info.totals = totals_of(&entries);
        }
        let entries = entries.into_iter().map(|it| self.with_value(it));
        let entries = entries.collect::<Result<_, _>>()?;
        Ok(self.answer(Reply::SnapshotRead(SnapshotRead { info, entries })))
    }

    pub(super) fn diff_snapshots(
        &self,
        from: &Label,
        to: Option<&Label>,
    ) -> Result<Decision, Error> {
        let earlier = self.snapshot(from)?;
        let later = to.map(|label| self.snapshot(label)).transpose()?;
        let earlier = self.snapshot_entries(earlier.revision)?;
        let later = match later {
            Some(later) => self.snapshot_entries(later.revision)?,
            None => self.entries(None)?,
        };
        let (earlier, later) = if self.authorizer.sees_all() {
            (earlier, later)
        } else {
            (self.without_hidden(earlier)?, self.without_hidden(later)?)
        };
        let diff = Diff::of(earlier, later, |old, new| self.has_same_value(old, new))?;
        let (from, to) = (from.clone(), to.cloned());
        Ok(self.answer(Reply::Diff(DiffRead { from, to, diff })))
    }

    pub(super) fn restore_snapshot(&self, label: &Label) -> Result<Decision, Error> {
        self.require_orchestrator()?;
        if let Some(first) = self.first_reply()? {
            return Ok(first);
        }
        let info = self.snapshot(label)?;
        let mut draft = Draft::new(self)?;
        let (revision, at) = (draft.revision, draft.at);
        let mut target = self.snapshot_entries(info.revision)?;
        target.retain(|it| !it.is_expired(self.now));
        let mut same = Vec::new();
        let diff = Diff::of(self.entries(None)?, target, |old, new| {
            let is_same = self.has_same_value(old, new)?;
            if is_same {
                same.push((old.clone(), new.clone()));
            }
            Ok::<_, Error>(is_same)
        })?;
        draft.add_event(
            AuditAction::RestoreSnapshot,
            EventDetails { label: Some(label), ..EventDetails::default() },
        );
        let mut restored = Restored {
            label: label.clone(),
            written: Vec::new(),
            deleted: Vec::new(),
            unchanged: diff.unchanged,
        };
        for old in diff.removed {
            draft.delete(&old)?;
            restored.deleted.push(old.key);
        }
        for (old, target) in same {
            // The value is the same, but its access lists, expiry or history setting may
            // differ.
            let new = Entry {
                expires_at: target.expires_at,
                access: target.access,
                keeps_history: target.keeps_history,
                ..old.clone()
            };
            if new != old {
                let new = Entry { touched: revision, ..new };
                draft.store(Some(&old), &new)?;
                if new.access != old.access {
                    draft.add_access_event(&old, &new);
                }
            }
        }
        let added = diff.added.into_iter().map(|new| (None, new));
        let changed = diff.changed.into_iter().map(|(old, new)| (Some(old), new));
        for (old, target) in added.chain(changed) {
            let value = self.value(&target)?;
            let version = old.as_ref().map_or(0, |it| it.version).saturating_add(1);
            let new = Entry {
                written_by: self.caller.participant.clone(),
                written_at: at,
                version,
                revision,
                created: old.as_ref().map_or(revision, |it| it.created),
                touched: revision,
                ..target
            };
            draft.write(old.as_ref(), &new, value)?;
            let place = restored.written.partition_point(|(key, _)| *key < new.key);
            restored.written.insert(place, (new.key, version));
        }
        draft.commit(Reply::Restored(restored), None)
    }

    pub(super) fn delete_snapshot(&self, label: &Label) -> Result<Decision, Error> {
        self.require_orchestrator()?;
        let info = self.snapshot(label)?;
        let mut draft = Draft::new(self)?;
        let held = self.held_elsewhere(info.revision)?;
        let entries = self.snapshot_entries(info.revision)?;
        draft.remove_snapshot(&info, &entries);
        for entry in entries {
            let is_current =
                self.entry(&entry.key)?.is_some_and(|it| it.revision == entry.revision);
            let is_kept = is_current || held.contains(&(entry.key.clone(), entry.revision)) || {
                let versions = draft.history(&entry.key)?;
                versions.iter().any(|it| it.entry.revision == entry.revision)
            };
            if !is_kept {
                draft.delete_value(&entry)?;
            }
        }
        draft.add_event(
            AuditAction::DeleteSnapshot,
            EventDetails { label: Some(label), ..EventDetails::default() },
        );
        draft.commit(Reply::SnapshotDeleted(label.clone()), None)
    }

    /// Returns the versions that the snapshots before and after the one taken at
    /// `revision` hold. A version exists without interruption. So if any other snapshot
    /// holds one of its versions, one of these two does.
    fn held_elsewhere(&self, revision: Revision) -> Result<BTreeSet<(Key, Revision)>, Error> {
        let all = &self.meta.snapshots;
        let before = all.iter().rev().find(|it| **it < revision);
        let after = all.iter().find(|it| **it > revision);
        let mut held = BTreeSet::new();
        for neighbour in before.into_iter().chain(after) {
            let entries = self.snapshot_entries(*neighbour)?;
            held.extend(entries.into_iter().map(|it| (it.key, it.revision)));
        }
        Ok(held)
    }

    /// Returns the snapshots, oldest first.
    pub(super) fn snapshots(&self) -> Result<Vec<SnapshotInfo>, Error> {
        if self.meta.snapshots.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.bucket.scan(record::SNAPSHOTS, None, u32::MAX)?;
        rows.iter().map(|(_, bytes)| record::decode_snapshot_info(bytes)).collect()
    }

    fn snapshot(&self, label: &Label) -> Result<SnapshotInfo, Error> {
        let found = self.snapshots()?.into_iter().find(|it| it.label == *label);
        found.ok_or_else(|| Error::SnapshotNotFound { label: label.clone() })
    }

    /// Returns the entries of the snapshot taken at `revision`, by key.
    pub(super) fn snapshot_entries(&self, revision: Revision) -> Result<Vec<Entry>, Error> {
        let row = record::snapshot_entries_row(revision);
        let bytes = self.bucket.get(&row)?;
        let bytes = bytes.ok_or_else(|| row::damaged(format!("{row} is missing")))?;
        record::decode_snapshot_entries(&bytes)
    }

    fn has_same_value(&self, old: &Entry, new: &Entry) -> Result<bool, Error> {
        Ok(old.revision == new.revision
            || old.value_tokens == new.value_tokens && self.value(old)? == self.value(new)?)
    }
}
