//! Expected answers and effects of snapshots, restores, redactions, sweeps, archiving and
//! revocation.

use std::collections::BTreeSet;

use shared_context_core::{
    Code, Key, Label, Line, Participant, Reply,
    audit::AuditAction,
    context::kept::Part,
    digest::sha256,
    port::Revision,
    reply::Redacted,
    store::{
        Entry, Totals, redaction,
        snapshot::{Restored, SnapshotInfo},
    },
    tokens::{Tokens, approximate},
};

use super::{
    changes::Transition,
    packets::redaction::Secrets,
    state::{Model, StoredEntry, StoredSnapshot},
};

/// The fewest bytes of a value that is also redacted inside of other texts.
const SECRET_BYTES_MIN: usize = 4;

impl Model {
    /// Takes a snapshot.
    pub fn take_snapshot(
        &self,
        clock: u64,
        who: &str,
        label: &Label,
        note: Option<&Line>,
    ) -> Transition {
        if let Err(code) = self.check_orchestrator(who) {
            return (Err(code), None);
        }
        if self.snapshot(label).is_ok() {
            return (Err(Code::SnapshotExists), None);
        }
        if self.snapshots.len() >= self.config().retention.snapshots_max as usize {
            return (Err(Code::SnapshotLimit), None);
        }
        let mut next = self.begin_change(clock);
        let info = SnapshotInfo {
            label: label.clone(),
            note: note.cloned(),
            taken_by: Participant::parse(who).unwrap(),
            taken_at: next.about.changed_at,
            totals: Totals { keys: next.entries.len() as u32, tokens: Tokens(next.tokens()) },
            revision: Revision(next.revision),
        };
        next.snapshots.push(StoredSnapshot { info: info.clone(), entries: next.entries.clone() });
        next.record(who, AuditAction::Snapshot, None);
        next.record_details(Some(label), None);
        (Ok((info.revision, Reply::Snapshot(info))), Some(next))
    }

    /// Removes a snapshot.
    pub fn delete_snapshot(&self, clock: u64, who: &str, label: &Label) -> Transition {
        let checked = self.check_orchestrator(who).and_then(|()| self.snapshot(label));
        if let Err(code) = checked {
            return (Err(code), None);
        }
        let mut next = self.begin_change(clock);
        next.snapshots.retain(|it| it.info.label != *label);
        next.record(who, AuditAction::DeleteSnapshot, None);
        next.record_details(Some(label), None);
        (Ok((Revision(next.revision), Reply::SnapshotDeleted(label.clone()))), Some(next))
    }

    /// Restores a snapshot.
    pub fn restore_snapshot(&self, clock: u64, who: &str, label: &Label) -> Transition {
        let snapshot = match self.check_orchestrator(who).and_then(|()| self.snapshot(label)) {
            Ok(snapshot) => snapshot,
            Err(code) => return (Err(code), None),
        };
        let mut next = self.begin_change(clock);
        let (now, revision) = (next.about.changed_at, Revision(next.revision));
        next.record(who, AuditAction::RestoreSnapshot, None);
        next.record_details(Some(label), None);
        let mut done = Restored {
            label: label.clone(),
            written: Vec::new(),
            deleted: Vec::new(),
            unchanged: 0,
        };
        // Entries that have expired since stay expired.
        let mut restored = snapshot.entries.clone();
        restored.retain(|_, it| it.entry.expires_at.is_none_or(|at| at.0 > clock));
        for key in next.entries.keys().cloned().collect::<Vec<_>>() {
            if !restored.contains_key(&key) {
                next.remove(who, &key);
                done.deleted.push(key);
            }
        }
        for (key, old_entry) in restored {
            let old = next.entries.get(&key).cloned();
            match old {
                Some(old) if old.value == old_entry.value => {
                    done.unchanged += 1;
                    let Entry { expires_at, access, keeps_history, .. } = old_entry.entry;
                    let mut new = old.clone();
                    new.entry = Entry { expires_at, access, keeps_history, ..new.entry };
                    if new != old {
                        new.entry.touched = revision;
                        if new.entry.access != old.entry.access {
                            next.record(who, AuditAction::SetAccess, Some((&old, &new)));
                        }
                        next.entries.insert(key, new);
                    }
                }
                old => {
                    let old = old.map(|it| it.entry);
                    let entry = Entry {
                        written_by: Participant::parse(who).unwrap(),
                        written_at: now,
                        version: old.as_ref().map_or(1, |it| it.version + 1),
                        revision,
                        created: old.map_or(revision, |it| it.created),
                        touched: revision,
                        ..old_entry.entry
                    };
                    done.written.push((key, entry.version));
                    next.put(who, &StoredEntry { entry, ..old_entry });
                }
            }
        }
        (Ok((revision, Reply::Restored(done))), Some(next))
    }

    /// Replaces values by their digests.
    pub fn redact(
        &self,
        clock: u64,
        who: &str,
        key: &Key,
        revision: Option<Revision>,
        reason: &Line,
    ) -> Transition {
        if let Err(code) = self.check_redactor(who) {
            return (Err(code), None);
        }
        let mut next = self.begin_change(clock);
        let made = Revision(next.revision);
        let is_meant = |it: &StoredEntry| {
            it.entry.key == *key && revision.is_none_or(|revision| revision == it.entry.revision)
        };
        let meant: Vec<StoredEntry> = next.all_versions().into_iter().filter(is_meant).collect();
        if meant.is_empty() {
            return (Err(Code::KeyNotFound), None);
        }
        let fresh: Vec<&StoredEntry> = meant.iter().filter(|it| !it.entry.is_redacted).collect();
        let digests: BTreeSet<String> = fresh.iter().map(|it| sha256(&it.value)).collect();
        let reply = |digests: BTreeSet<String>| {
            Reply::Redacted(Redacted { key: key.clone(), digests: digests.into_iter().collect() })
        };
        if digests.is_empty() {
            return (Ok((Revision(self.revision), reply(digests))), None);
        }
        let blacken = |it: &mut StoredEntry| {
            let is_fresh = is_meant(it) && !it.entry.is_redacted;
            if is_fresh {
                it.value = redaction::placeholder(&it.value, Some(reason));
                it.entry.value_tokens = approximate(&it.value);
                it.entry.value_bytes = it.value.len() as u32;
                it.entry.is_redacted = true;
            }
            is_fresh
        };
        // A redacted entry gets a new revision, because its value is not the written one.
        if let Some(it) = next.entries.get_mut(key)
            && blacken(it)
        {
            it.entry.revision = made;
            it.entry.touched = made;
        }
        for it in next.history.get_mut(key).into_iter().flatten() {
            blacken(&mut it.stored);
        }
        for snapshot in &mut next.snapshots {
            if let Some(it) = snapshot.entries.get_mut(key) {
                blacken(it);
            }
            let tokens = snapshot.entries.values().map(|it| it.entry.value_tokens.0).sum();
            snapshot.info.totals.tokens = Tokens(tokens);
        }
        let is_shown = |part: Option<&Part>, text: &str| {
            let of = part.and_then(|it| it.entry.as_ref());
            fresh.iter().any(|StoredEntry { entry, value }| {
                of.is_some_and(|it| *it == (entry.key.clone(), entry.revision))
                    || value.len() >= SECRET_BYTES_MIN && text.contains(value)
            })
        };
        next.redact_kept(reason, &is_shown);
        let values = fresh.iter().map(|it| it.value.clone()).collect();
        let mark = format!("[redacted: {reason}]", reason = reason.as_str());
        next.redact_packets(&Secrets { values, has_parts: true, mark });
        let (first, last) = (&meant[0], &meant[meant.len() - 1]);
        next.record(who, AuditAction::Redact, Some((last, first)));
        next.record_details(None, Some(reason));
        (Ok((made, reply(digests))), Some(next))
    }

    /// Removes expired entries, for the host's timer.
    pub fn sweep(&self, clock: u64) -> Transition {
        if self.at(clock).entries.len() == self.entries.len() {
            return (Ok((Revision(self.revision), Reply::Swept)), None);
        }
        let next = self.begin_change(clock);
        (Ok((Revision(next.revision), Reply::Swept)), Some(next))
    }

    /// Archives the session or revokes its credentials.
    pub fn archive_or_revoke(&self, clock: u64, who: &str, is_end: bool) -> Transition {
        if who != "admin" {
            return (Err(Code::Forbidden), None);
        }
        let is_done = is_end && self.about.is_archived;
        let mut next = if is_done { self.at(clock) } else { self.begin_change(clock) };
        if is_end && !is_done {
            next.about.is_archived = true;
            next.record(who, AuditAction::ArchiveSession, None);
        } else if !is_end {
            next.about.credential_epoch = next.about.credential_epoch.wrapping_add(1);
            next.record(who, AuditAction::RevokeCredentials, None);
        }
        let answer = Ok((Revision(next.revision), Reply::Session(Box::new(next.show()))));
        (answer, (!is_done).then_some(next))
    }

    /// Returns every stored version: entries, history, and snapshots.
    pub fn all_versions(&self) -> Vec<StoredEntry> {
        let past = self.history.values().flatten().map(|it| &it.stored);
        let snapshots = self.snapshots.iter().flat_map(|it| it.entries.values());
        self.entries.values().chain(past).chain(snapshots).cloned().collect()
    }

    /// Returns the snapshot with this label.
    pub fn snapshot(&self, label: &Label) -> Result<&StoredSnapshot, Code> {
        let found = self.snapshots.iter().find(|it| it.info.label == *label);
        found.ok_or(Code::SnapshotNotFound)
    }

    /// Rejects redaction by anyone but the admin and the orchestrator.
    pub(super) fn check_redactor(&self, who: &str) -> Result<(), Code> {
        if who == "admin" { Ok(()) } else { self.check_orchestrator(who) }
    }

    pub(super) fn check_orchestrator(&self, who: &str) -> Result<(), Code> {
        match who {
            _ if self.about.is_archived => Err(Code::SessionArchived),
            "orchestrator" => Ok(()),
            _ => Err(Code::Forbidden),
        }
    }
}
