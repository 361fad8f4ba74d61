//! Expected answers to reads. Hidden entries leave no trace in them.

use std::collections::BTreeMap;

use shared_context_core::{
    Code, Key, Label, Reply,
    audit::{AuditAction, AuditRecord, Subject},
    pattern::KeyPattern,
    port::Revision,
    reply::{
        ChangesPage, DiffRead, EntriesRead, EntryRead, History, Inspection, Listing, PastVersion,
        SessionInfo, Shown, SnapshotRead, Snapshots,
    },
    store::{
        Entry, Totals,
        access::Access,
        history::{HistoryUse, Version},
        snapshot::{Diff, SnapshotInfo},
    },
    tokens::Tokens,
};

use super::{
    packets::is_for,
    state::{
        Answer, ChangeRecord, EndedEntry, Model, StoredEntry, StoredSnapshot, is_like, is_limited,
        name, sees_all,
    },
};

/// Reads of a session view at one time, without expired entries.
impl Model {
    /// Returns the answer to `list_keys`.
    pub fn list_keys(&self, who: &str, prefix: Option<&str>) -> Answer {
        let is_asked_for =
            |it: &&StoredEntry| prefix.is_none_or(|prefix| it.entry.key.prefix() == Some(prefix));
        let seen = |it: &&StoredEntry| self.may_see(who, &it.entry.key, &it.entry.access);
        let entries = self.entries.values().filter(seen).filter(is_asked_for);
        let listing = Listing {
            entries: entries.map(|it| self.shown(who, it)).collect(),
            // A credential for some keys learns nothing of the others.
            total_tokens: self.show_to(who).total_tokens,
            tokens_max: self.config().limits.store_tokens_max,
        };
        Ok((Revision(self.revision), Reply::Listing(listing)))
    }

    /// Returns the answer to `read`.
    pub fn read(&self, who: &str, key: &Key) -> Answer {
        let stored = self.entries.get(key).ok_or(Code::KeyNotFound)?;
        if self.is_hidden(who, key) {
            return Err(hidden(who));
        }
        Ok((stored.entry.revision, Reply::Entry(self.entry_read(who, stored))))
    }

    /// Returns the answer to `read_batch`.
    pub fn read_batch(&self, who: &str, keys: &[Key]) -> Answer {
        let visible = self.visible(who);
        let found = keys.iter().filter_map(|it| visible.get(it));
        let entries = found.map(|it| self.entry_read(who, it)).collect();
        let missing = keys.iter().filter(|it| !visible.contains_key(it)).cloned().collect();
        Ok((Revision(self.revision), Reply::Entries(EntriesRead { entries, missing })))
    }

    /// Returns the entries whose values `who` may read.
    pub fn readable(&self, who: &str) -> Vec<Entry> {
        self.visible(who).values().map(|it| it.entry.clone()).collect()
    }

    /// Returns the value of `entry`.
    pub fn value_of(&self, entry: &Entry) -> String {
        self.entries[&entry.key].value.clone()
    }

    /// Returns the answer to `read_history`.
    pub fn read_history(&self, who: &str, key: &Key, versions: &[u64]) -> Answer {
        let current = self.entries.get(key);
        if self.is_hidden(who, key) {
            return Err(hidden(who));
        }
        let all = self.history.get(key).map_or(&[][..], |it| it);
        // Closing an entry closes its past: the current or final access lists apply to all its
        // versions.
        let last_lists = |it: &EndedEntry| {
            let life = |other: &&StoredEntry| other.entry.created == it.stored.entry.created;
            let last = current.filter(life);
            let last = last.or(all.iter().map(|it| &it.stored).rfind(life));
            last.map_or_else(Access::default, |it| it.entry.access.clone())
        };
        let past: Vec<&EndedEntry> = all
            .iter()
            .filter(|it| self.may_read(who, key, &it.stored.entry.access))
            .filter(|it| self.may_read(who, key, &last_lists(it)))
            .collect();
        if current.is_none() && past.is_empty() {
            return Err(Code::KeyNotFound);
        }
        let is_asked_for =
            |it: &StoredEntry| versions.is_empty() || versions.contains(&it.entry.version);
        let past = past.into_iter().filter(|it| is_asked_for(&it.stored)).map(|it| PastVersion {
            version: Version { entry: it.stored.entry.clone(), ended: it.ended.clone() },
            value: it.stored.value.clone(),
            is_deleted: current.is_none_or(|now| now.entry.created != it.stored.entry.created),
        });
        let past = past.collect();
        let current = current.filter(|it| is_asked_for(it)).map(|it| self.entry_read(who, it));
        let history = History { key: key.clone(), past, current };
        Ok((Revision(self.revision), Reply::History(history)))
    }

    /// Returns the answer to `list_snapshots`.
    pub fn list_snapshots(&self, who: &str) -> Answer {
        let snapshots = Snapshots {
            snapshots: self.snapshots.iter().map(|it| self.snapshot_info(who, it)).collect(),
            snapshots_max: self.config().retention.snapshots_max,
        };
        Ok((Revision(self.revision), Reply::Snapshots(snapshots)))
    }

    /// Returns the answer to `read_snapshot`.
    pub fn read_snapshot(&self, who: &str, label: &Label, key: Option<&Key>) -> Answer {
        let snapshot = self.snapshot(label)?;
        let entries = self.visible_of(who, &snapshot.entries);
        if let Some(key) = key {
            let is_there = snapshot.entries.contains_key(key);
            let rejection = if is_there { hidden(who) } else { Code::KeyNotFound };
            let stored = entries.get(key).ok_or(rejection)?;
            return Ok((stored.entry.revision, Reply::Entry(self.entry_read(who, stored))));
        }
        let entries = entries.values().map(|it| self.entry_read(who, it)).collect();
        let read = SnapshotRead { info: self.snapshot_info(who, snapshot), entries };
        Ok((Revision(self.revision), Reply::SnapshotRead(read)))
    }

    /// Returns the answer to `diff_snapshots`.
    pub fn diff_snapshots(&self, who: &str, from: &Label, to: Option<&Label>) -> Answer {
        let seen = |entries| self.seen_of(who, entries);
        let old = seen(&self.snapshot(from)?.entries);
        let new = seen(match to {
            Some(to) => &self.snapshot(to)?.entries,
            None => &self.entries,
        });
        let only = |these: &BTreeMap<Key, &StoredEntry>, those: &BTreeMap<Key, &StoredEntry>| {
            let lone = these.iter().filter(|(key, _)| !those.contains_key(key));
            lone.map(|(_, it)| it.entry.clone()).collect()
        };
        let both = old.iter().filter_map(|(key, old)| Some((*old, *new.get(key)?)));
        let (same, other): (Vec<_>, Vec<_>) = both.partition(|(old, new)| old.value == new.value);
        let diff = Diff {
            added: only(&new, &old),
            removed: only(&old, &new),
            changed: other.iter().map(|(a, b)| (a.entry.clone(), b.entry.clone())).collect(),
            unchanged: same.len() as u32,
        };
        let read = DiffRead { from: from.clone(), to: to.cloned(), diff };
        Ok((Revision(self.revision), Reply::Diff(read)))
    }

    /// Returns the session's metadata with recounted totals.
    pub fn show(&self) -> SessionInfo {
        SessionInfo {
            key_count: self.entries.len() as u32,
            total_tokens: Tokens(self.tokens()),
            ..self.about.clone()
        }
    }

    /// Returns the same for `who`: a credential for some keys gets the totals of those.
    pub fn show_to(&self, who: &str) -> SessionInfo {
        if !is_limited(who) {
            return self.show();
        }
        let seen = |it: &&StoredEntry| self.may_see(who, &it.entry.key, &it.entry.access);
        let totals = totals(self.entries.values().filter(seen));
        SessionInfo { key_count: totals.keys, total_tokens: totals.tokens, ..self.show() }
    }

    /// Returns the metadata of a snapshot for `who`.
    fn snapshot_info(&self, who: &str, snapshot: &StoredSnapshot) -> SnapshotInfo {
        let mut info = snapshot.info.clone();
        if is_limited(who) {
            info.totals = totals(self.visible_of(who, &snapshot.entries).values().copied());
        }
        info
    }

    /// Returns the answer to `inspect`.
    pub fn inspect(&self, history: HistoryUse) -> Answer {
        let next_expiry = self.entries.values().filter_map(|it| it.entry.expires_at).min();
        let inspection = Inspection {
            session: self.show(),
            entries: self.entries.values().map(|it| self.entry_read("admin", it)).collect(),
            snapshots: self.snapshots.iter().map(|it| it.info.clone()).collect(),
            history,
            oldest_change: Some(self.first_of_feed()),
            changes: self.revision + 1 - self.first_of_feed().0,
            next_expiry,
        };
        Ok((Revision(self.revision), Reply::Inspection(Box::new(inspection))))
    }

    /// Returns a page of changes, and for each change whether the page must contain it. A page may
    /// omit the others.
    pub fn changes(
        &self,
        who: &str,
        since: Option<u64>,
        limit: u32,
        keys: Option<&KeyPattern>,
        except_own: bool,
    ) -> Result<(ChangesPage, Vec<bool>), Code> {
        let oldest = self.first_of_feed().0 - 1;
        let since = since.unwrap_or(oldest);
        if since < oldest || since > self.revision {
            return Err(Code::ChangesTruncated);
        }
        // The limit counts every commit, even if it has no visible change.
        let last = self.revision.min(since + u64::from(limit));
        let mut page = ChangesPage {
            changes: Vec::new(),
            next_since: Revision(last),
            has_more: last < self.revision,
        };
        let mut required = Vec::new();
        for change in &self.changes {
            let ChangeRecord { record, lists } = &**change;
            if record.revision.0 <= since || record.revision.0 > last {
                continue;
            }
            let is_turn = matches!(record.action.as_str(), "open_round" | "close_round");
            let readable = match &record.entry {
                _ if except_own && record.participant.as_str() == who => [false; 2],
                Some(it) if keys.is_some_and(|keys| !is_like(keys.as_str(), it.key.as_str())) => {
                    [false; 2]
                }
                Some(it) if !sees_all(who) && self.is_hidden(who, &it.key) => [false; 2],
                Some(it) => [0, 1].map(|nth| self.may_see(who, &it.key, &lists[nth])),
                None if is_of_packets(record.action) && !knows_packet(who, record) => [false; 2],
                None => [keys.is_none() || is_turn; 2],
            };
            if readable.contains(&true) {
                page.changes.push(record.clone());
                required.push(!readable.contains(&false));
            }
        }
        Ok((page, required))
    }

    /// Returns the audit records of the last commit.
    pub fn last_records(&self) -> Vec<AuditRecord> {
        let last = |it: &AuditRecord| it.revision.0 == self.revision;
        self.audit().into_iter().filter(last).collect()
    }

    /// Returns all audit records.
    pub fn audit(&self) -> Vec<AuditRecord> {
        self.changes.iter().map(|it| it.record.clone()).collect()
    }

    /// Returns the revision of the session's first change.
    pub fn first(&self) -> Revision {
        self.changes[0].record.revision
    }

    /// Returns the oldest revision in the change feed.
    pub fn first_of_feed(&self) -> Revision {
        let changes_max = u64::from(self.config().retention.changes_max);
        Revision((self.revision + 1).saturating_sub(changes_max).max(self.feed_from))
    }

    /// Returns the entries that `who` may read.
    fn visible(&self, who: &str) -> BTreeMap<Key, &StoredEntry> {
        self.visible_of(who, &self.entries)
    }

    /// Returns the entries whose metadata `who` may see.
    fn seen_of<'a>(
        &self,
        who: &str,
        entries: &'a BTreeMap<Key, StoredEntry>,
    ) -> BTreeMap<Key, &'a StoredEntry> {
        if sees_all(who) {
            return entries.iter().map(|(key, stored)| (key.clone(), stored)).collect();
        }
        self.visible_of(who, entries)
    }

    /// Returns the entries that `who` may read, both by their lists at the time and by the current
    /// ones.
    fn visible_of<'a>(
        &self,
        who: &str,
        entries: &'a BTreeMap<Key, StoredEntry>,
    ) -> BTreeMap<Key, &'a StoredEntry> {
        // Closing an entry closes its past: its final access lists apply as well.
        let is_closed = |key: &Key, stored: &StoredEntry| {
            let created = stored.entry.created;
            let is_there = self.entries.get(key).is_some_and(|it| it.entry.created == created);
            let mut past = self.history.get(key).into_iter().flatten().map(|it| &it.stored.entry);
            let last = past.rfind(|it| it.created == created);
            !is_there && last.is_some_and(|it| !self.may_read(who, key, &it.access))
        };
        let is_visible = |key: &Key, stored: &StoredEntry| {
            self.may_read(who, key, &stored.entry.access)
                && !self.is_hidden(who, key)
                && !is_closed(key, stored)
        };
        let visible = entries.iter().filter(|(key, stored)| is_visible(key, stored));
        visible.map(|(key, stored)| (key.clone(), stored)).collect()
    }

    fn shown(&self, who: &str, stored: &StoredEntry) -> Shown {
        let entry = stored.entry.clone();
        let is_read_only = who != "admin" && !self.may_write(who, &entry.key, &entry.access);
        let is_readable = self.may_read(who, &entry.key, &entry.access);
        Shown { entry, is_readable, is_read_only }
    }

    fn entry_read(&self, who: &str, stored: &StoredEntry) -> EntryRead {
        EntryRead { shown: self.shown(who, stored), value: stored.value.clone() }
    }
}

/// Returns true if `who` may know of the packet that a record names.
fn knows_packet(who: &str, record: &AuditRecord) -> bool {
    let address = record.label.as_ref().map(Subject::as_str);
    sees_all(name(who)) || address.is_some_and(|it| is_for(it, who))
}

fn is_of_packets(action: AuditAction) -> bool {
    action.as_str().starts_with("context_")
}

/// Returns the totals of these entries.
fn totals<'a>(entries: impl Iterator<Item = &'a StoredEntry>) -> Totals {
    entries.fold(Totals::default(), |sum, it| Totals {
        keys: sum.keys + 1,
        tokens: sum.tokens.plus(it.entry.value_tokens),
    })
}

/// Returns the error code for a value that `who` cannot read.
fn hidden(who: &str) -> Code {
    if sees_all(who) { Code::Forbidden } else { Code::KeyNotFound }
}
