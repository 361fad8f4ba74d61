//! State of a session in its simplest form: maps with every value in place, and snapshots as
//! copies.

use std::{collections::BTreeMap, rc::Rc};

use shared_context_core::{
    Code, Command, Config, Key, Label, Line, Participant, Reply, Scope,
    audit::{AuditAction, AuditEntry, AuditRecord},
    context::kept::KeptContext,
    packets::kept::KeptPackets,
    pattern::Participants,
    port::Revision,
    portable::Portable,
    reply::SessionInfo,
    store::{
        Entry,
        access::Access,
        history::{Ended, EndedHow, VERSION_BYTES, Version},
        snapshot::{Snapshot, SnapshotInfo},
    },
    time::Timestamp,
};

use super::{envelopes::document_bytes, rounds::Rounds};

/// An expected answer: the revision and reply, or an error code.
pub type Answer = Result<(Revision, Reply), Code>;

/// A version of an entry, with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEntry {
    /// The metadata.
    pub entry: Entry,
    /// The value.
    pub value: String,
}

/// An earlier version of an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct EndedEntry {
    /// The version.
    pub stored: StoredEntry,
    /// The way it ended.
    pub ended: Ended,
}

/// A snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSnapshot {
    /// The metadata.
    pub info: SnapshotInfo,
    /// The entries at that time.
    pub entries: BTreeMap<Key, StoredEntry>,
}

/// A change, with the entry's access lists before and after it.
#[derive(Debug, Clone)]
pub struct ChangeRecord {
    /// The audit record.
    pub record: AuditRecord,
    /// The access lists before and after.
    pub lists: [Access; 2],
}

/// A session.
#[derive(Debug, Clone)]
pub struct Model {
    /// The metadata, except the totals, which are recounted.
    pub about: SessionInfo,
    /// The revision.
    pub revision: u64,
    /// The clock at the last change, in milliseconds.
    pub clock: u64,
    /// The entries, including those that expired since the last change.
    pub entries: BTreeMap<Key, StoredEntry>,
    /// Earlier versions, oldest first.
    pub history: BTreeMap<Key, Vec<EndedEntry>>,
    /// The snapshots, oldest first.
    pub snapshots: Vec<StoredSnapshot>,
    /// All changes, oldest first.
    pub changes: Vec<Rc<ChangeRecord>>,
    /// The first request and answer of each participant and request id.
    pub answers: BTreeMap<(String, String), (Command, Answer)>,
    /// The rounds, as read from storage.
    pub rounds: Rounds,
    /// The envelopes, injections and missing context.
    pub context: Rc<KeptContext>,
    /// The bytes of each kept envelope as a document, before redactions.
    pub envelope_bytes: Vec<u64>,
    /// The packets, and feedback on them.
    pub packets: Rc<KeptPackets>,
    /// The first revision of the feed since the last update of the configuration that moved it.
    pub feed_from: u64,
}

impl Model {
    /// Creates a session whose first change is `action` at `revision`.
    pub fn new(about: SessionInfo, revision: u64, action: AuditAction) -> Self {
        let mut model = Self {
            clock: about.changed_at.0,
            about,
            revision,
            entries: BTreeMap::new(),
            history: BTreeMap::new(),
            snapshots: Vec::new(),
            changes: Vec::new(),
            answers: BTreeMap::new(),
            rounds: Rounds::default(),
            context: Rc::default(),
            envelope_bytes: Vec::new(),
            packets: Rc::default(),
            feed_from: revision,
        };
        model.record("admin", action, None);
        model
    }

    /// Returns the configuration.
    pub fn config(&self) -> &Config {
        &self.about.config
    }

    /// Returns the recorded time of a change: the clock, but never before the last change.
    pub fn now(&self, clock: u64) -> u64 {
        clock.max(self.about.changed_at.0)
    }

    /// Returns the session as seen at `clock`. Expired entries move to the history.
    #[must_use]
    pub fn at(&self, clock: u64) -> Self {
        let mut view = self.swept(clock);
        view.enforce_history_budget();
        view
    }

    fn swept(&self, clock: u64) -> Self {
        let (mut view, now) = (self.clone(), Timestamp(clock));
        for (key, stored) in &self.entries {
            let Some(at) = stored.entry.expires_at.filter(|at| *at <= now) else { continue };
            view.entries.remove(key);
            let (by, revision) = (stored.entry.written_by.clone(), Revision(self.revision + 1));
            view.retain_version(stored.clone(), Ended { how: EndedHow::Expired, at, by, revision });
        }
        view
    }

    /// Returns the session at the start of a change, with the next revision and expired entries
    /// removed for good.
    #[must_use]
    pub fn begin_change(&self, clock: u64) -> Self {
        let mut next = self.swept(clock);
        next.revision += 1;
        next.about.changed_at = Timestamp(self.now(clock));
        next.clock = clock;
        for (key, stored) in &self.entries {
            if !next.entries.contains_key(key) {
                let by = stored.entry.written_by.clone();
                next.record(by.as_str(), AuditAction::Expire, Some((stored, stored)));
            }
        }
        next
    }

    /// Adds an ended version to the history, if the session keeps history. Drops the oldest version
    /// over the limit, except the last one by another writer than the one that ended this version.
    fn retain_version(&mut self, stored: StoredEntry, ended: Ended) {
        let versions_max = self.config().retention.history_versions_max as usize;
        if !stored.entry.keeps_history || versions_max == 0 {
            return;
        }
        let past = self.history.entry(stored.entry.key.clone()).or_default();
        past.push(EndedEntry { stored, ended });
        while past.len() > versions_max {
            past.remove(usize::from(last_of_another(past) == Some(0)));
        }
    }

    /// Drops versions while the history exceeds its byte budget: the oldest of the participant that
    /// takes the most. The last version by another writer goes last.
    pub fn enforce_history_budget(&mut self) {
        let bytes = |it: &EndedEntry| VERSION_BYTES + it.stored.value.len() as u64;
        let all = |model: &Self| model.history.values().flatten().map(bytes).sum::<u64>();
        let bytes_max = u64::from(self.config().retention.history_bytes_max);
        if all(self) <= bytes_max {
            return;
        }
        let last =
            |past: &Vec<EndedEntry>| Some(past[last_of_another(past)?].stored.entry.revision);
        let lasts: BTreeMap<Key, _> =
            self.history.iter().map(|(key, past)| (key.clone(), last(past))).collect();
        while all(self) > bytes_max - bytes_max / 8 {
            let mut shares = BTreeMap::<String, u64>::new();
            for it in self.history.values().flatten() {
                *shares.entry(it.stored.entry.written_by.to_string()).or_default() += bytes(it);
            }
            let most = shares.iter().max_by_key(|(_, bytes)| **bytes).unwrap().0;
            let theirs = self.history.values().flatten().map(|it| (&it.stored.entry, &it.ended));
            let theirs = theirs.filter(|(it, _)| it.written_by.as_str() == most);
            let first = theirs
                .min_by_key(|(it, ended)| (lasts[&it.key] == Some(it.revision), ended.revision));
            let (key, revision) = first.map(|(it, _)| (it.key.clone(), it.revision)).unwrap();
            let past = self.history.get_mut(&key).unwrap();
            past.retain(|it| it.stored.entry.revision != revision);
        }
    }

    /// Returns the end of a version that this change ends.
    fn end(&self, who: &str, how: EndedHow) -> Ended {
        let (at, by) = (self.about.changed_at, participant(who));
        Ended { how, at, by, revision: Revision(self.revision) }
    }

    /// Writes an entry, and moves the old one to the history.
    pub fn put(&mut self, who: &str, new: &StoredEntry) {
        let old = self.entries.insert(new.entry.key.clone(), new.clone());
        self.record(who, AuditAction::Write, Some((new, new)));
        if let Some(old) = old {
            self.retain_version(old, self.end(who, EndedHow::Superseded));
        }
    }

    /// Removes an entry.
    pub fn remove(&mut self, who: &str, key: &Key) {
        let old = self.entries.remove(key).unwrap();
        self.record(who, AuditAction::Delete, Some((&old, &old)));
        self.retain_version(old, self.end(who, EndedHow::Deleted));
    }

    /// Records a change, with the old and new version of its entry.
    pub fn record(
        &mut self,
        who: &str,
        action: AuditAction,
        entry: Option<(&StoredEntry, &StoredEntry)>,
    ) {
        let record = AuditRecord {
            scope: Scope::Session(self.about.session.clone()),
            revision: Revision(self.revision),
            action,
            participant: participant(who),
            at: self.about.changed_at,
            entry: entry.map(|(_, new)| AuditEntry {
                key: new.entry.key.clone(),
                version: new.entry.version,
                value_tokens: new.entry.value_tokens,
            }),
            label: None,
            reason: None,
            round: None,
        };
        let access = |stored: Option<&StoredEntry>| {
            stored.map_or_else(Access::default, |it| it.entry.access.clone())
        };
        let lists = [access(entry.map(|it| it.0)), access(entry.map(|it| it.1))];
        self.changes.push(Rc::new(ChangeRecord { record, lists }));
    }

    /// Adds a label and a reason to the last change.
    pub fn record_details(&mut self, label: Option<&Label>, reason: Option<&Line>) {
        let last = Rc::make_mut(self.changes.last_mut().unwrap());
        last.record.label = label.cloned().map(Into::into);
        last.record.reason = reason.cloned();
    }

    /// Adds a round number to the last change.
    pub fn record_round(&mut self, round: u64) {
        Rc::make_mut(self.changes.last_mut().unwrap()).record.round = Some(round);
    }

    /// Returns true if `who` may read an entry with these lists.
    pub fn may_read(&self, who: &str, key: &Key, access: &Access) -> bool {
        let mut lists = self.lists(key, access);
        who == "admin" || is_granted(who, key) && lists.all(|it| has(&it.readable_by, who))
    }

    /// Returns true if `who` may write an entry with these lists.
    pub fn may_write(&self, who: &str, key: &Key, access: &Access) -> bool {
        let may = |it: &Access| has(&it.readable_by, who) && has(&it.writable_by, who);
        who != "admin" && is_granted(who, key) && self.lists(key, access).all(may)
    }

    /// Returns true if `who` may see the metadata of an entry with these lists.
    pub fn may_see(&self, who: &str, key: &Key, access: &Access) -> bool {
        sees_all(who) || self.may_read(who, key, access)
    }

    /// Returns all access lists that apply to a key: its own and those of matching rules.
    pub(super) fn lists<'a>(
        &'a self,
        key: &'a Key,
        own: &'a Access,
    ) -> impl Iterator<Item = &'a Access> {
        let rules = self.config().access.iter();
        let rules = rules.filter(|it| is_like(it.keys.as_str(), key.as_str()));
        std::iter::once(own).chain(rules.map(|it| &it.access))
    }

    /// Returns true if the entry under `key` is hidden from `who`.
    pub fn is_hidden(&self, who: &str, key: &Key) -> bool {
        let current = self.entries.get(key);
        current.is_some_and(|it| !self.may_read(who, key, &it.entry.access))
    }

    /// Returns the size of all values, in tokens.
    pub fn tokens(&self) -> u32 {
        self.entries.values().map(|it| it.entry.value_tokens.0).sum()
    }

    /// Creates a session from a document, imported at `revision`.
    pub fn from_document(document: Portable, about: SessionInfo, revision: u64) -> Self {
        let mut model = Self::new(about, revision, AuditAction::ImportSession);
        let Portable { values, rounds, context, packets, .. } = document;
        model.rounds = Rounds::of(rounds);
        model.envelope_bytes = context.envelopes.iter().map(document_bytes).collect();
        model.context = Rc::new(context);
        model.packets = Rc::new(packets);
        let stored = |entry: Entry| {
            let value = values[&(entry.key.clone(), entry.revision)].clone();
            (entry.key.clone(), StoredEntry { entry, value })
        };
        for Version { entry, ended } in document.history {
            let (key, stored) = stored(entry);
            model.history.entry(key).or_default().push(EndedEntry { stored, ended });
        }
        let snapshot = |it: Snapshot| StoredSnapshot {
            entries: it.entries.into_iter().map(stored).collect(),
            info: it.info,
        };
        model.snapshots = document.snapshots.into_iter().map(snapshot).collect();
        model.entries = document.entries.into_iter().map(stored).collect();
        model
    }

    /// Exports the session.
    pub fn portable(&self) -> Portable {
        let entry = |it: &StoredEntry| it.entry.clone();
        let past = self.history.values().flatten();
        let snapshots = self.snapshots.iter();
        let all = self.entries.values().chain(past.clone().map(|it| &it.stored));
        let all = all.chain(snapshots.clone().flat_map(|it| it.entries.values()));
        let address = |it: &StoredEntry| (it.entry.key.clone(), it.entry.revision);
        Portable {
            session: self.about.session.clone(),
            is_archived: self.about.is_archived,
            created_at: self.about.created_at,
            config: self.config().clone(),
            entries: self.entries.values().map(entry).collect(),
            history: past
                .map(|it| Version { entry: entry(&it.stored), ended: it.ended.clone() })
                .collect(),
            snapshots: snapshots
                .map(|it| Snapshot {
                    info: it.info.clone(),
                    entries: it.entries.values().map(entry).collect(),
                })
                .collect(),
            rounds: self.rounds.history().clone(),
            context: KeptContext::clone(&self.context),
            packets: KeptPackets::clone(&self.packets),
            values: all.map(|it| (address(it), it.value.clone())).collect(),
        }
    }
}

/// Returns the participant's name without its keys.
pub fn name(who: &str) -> &str {
    who.split_once(" only ").map_or(who, |(name, _)| name)
}

/// Returns true if the credential of `who` is limited to some keys.
pub fn is_limited(who: &str) -> bool {
    who.contains(" only ")
}

/// Returns the index of the last version by another writer than the one that ended the newest
/// version.
pub(super) fn last_of_another(past: &[EndedEntry]) -> Option<usize> {
    let hand = &past.last()?.ended.by;
    past.iter().rposition(|it| it.stored.entry.written_by != *hand)
}

/// Returns true if `who` sees the metadata of every entry.
pub fn sees_all(who: &str) -> bool {
    ["admin", "orchestrator"].contains(&who)
}

/// Parses the participant.
pub fn participant(who: &str) -> Participant {
    Participant::parse(name(who)).unwrap()
}

/// Returns true if the credential of `who` covers `key`.
pub fn is_granted(who: &str, key: &Key) -> bool {
    let only = who.split_once(" only ");
    only.is_none_or(|(_, keys)| keys.split(',').any(|it| is_like(it, key.as_str())))
}

/// Returns true if a pattern matches `who`.
fn has(list: &Participants, who: &str) -> bool {
    list.patterns().any(|it| is_like(it, name(who)))
}

/// Returns true if `text` equals `pattern` or, if the pattern ends in `*`, starts with the rest of
/// it. Scripts use no other patterns.
pub fn is_like(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => pattern == text,
    }
}
