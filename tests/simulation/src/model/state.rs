//! What a session is, in its plainest form: everything in maps, every value where
//! it is used, every snapshot a copy.

use std::{collections::BTreeMap, rc::Rc};

use shared_context_core::{
    Code, Command, Config, Key, Label, Line, Participant, Reply, Scope,
    audit::{AuditAction, AuditEntry, AuditRecord},
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

use super::rounds::Rounds;

/// What must be answered: the revision and the reply, or the code of the refusal.
pub type Answer = Result<(Revision, Reply), Code>;

/// A version of an entry, with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// What is known of it.
    pub entry: Entry,
    /// The value.
    pub value: String,
}

/// An earlier version.
#[derive(Debug, Clone, PartialEq)]
pub struct Past {
    /// The version.
    pub held: Held,
    /// How it ended.
    pub ended: Ended,
}

/// A snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct Shot {
    /// What is known of it.
    pub info: SnapshotInfo,
    /// What it holds.
    pub entries: BTreeMap<Key, Held>,
}

/// A change, with the lists of the entry before and after it.
#[derive(Debug, Clone)]
pub struct Told {
    /// What is told of it.
    pub record: AuditRecord,
    /// The lists.
    pub lists: [Access; 2],
}

/// A session.
#[derive(Debug, Clone)]
pub struct Model {
    /// What is known of it; the totals in it are not kept.
    pub about: SessionInfo,
    /// Its revision.
    pub revision: u64,
    /// The time by the clock at its last change.
    pub clock: u64,
    /// The entries, with those that expired since the last change.
    pub entries: BTreeMap<Key, Held>,
    /// Earlier versions, oldest first.
    pub history: BTreeMap<Key, Vec<Past>>,
    /// The snapshots, oldest first.
    pub snapshots: Vec<Shot>,
    /// What its commits did.
    pub changes: Vec<Rc<Told>>,
    /// What was asked under request ids, and answered first.
    pub answers: BTreeMap<(String, String), (Command, Answer)>,
    /// The rounds, as they were found in storage.
    pub rounds: Rounds,
}

impl Model {
    /// Creates a session that begins at `revision`, of which this is known.
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
        };
        model.tell("admin", action, None);
        model
    }

    /// Returns what it was created with.
    pub fn config(&self) -> &Config {
        &self.about.config
    }

    /// Returns the instant that is recorded of a change: the clock's, but never before the
    /// last change.
    pub fn now(&self, clock: u64) -> u64 {
        clock.max(self.about.changed_at.0)
    }

    /// Creates the session as it is at this time: what expired is an earlier version.
    #[must_use]
    pub fn at(&self, clock: u64) -> Self {
        let mut view = self.swept(clock);
        view.keep_to_the_budget();
        view
    }

    fn swept(&self, clock: u64) -> Self {
        let (mut view, now) = (self.clone(), Timestamp(clock));
        for (key, held) in &self.entries {
            let Some(at) = held.entry.expires_at.filter(|at| *at <= now) else { continue };
            view.entries.remove(key);
            let (by, revision) = (held.entry.written_by.clone(), Revision(self.revision + 1));
            view.keep(held.clone(), Ended { how: EndedHow::Expired, at, by, revision });
        }
        view
    }

    /// Creates the session with a change begun in it, before what the change does: what
    /// expired is gone for good.
    #[must_use]
    pub fn begun(&self, clock: u64) -> Self {
        let mut next = self.swept(clock);
        next.revision += 1;
        next.about.changed_at = Timestamp(self.now(clock));
        next.clock = clock;
        for (key, held) in &self.entries {
            if !next.entries.contains_key(key) {
                let by = held.entry.written_by.clone();
                next.tell(by.as_str(), AuditAction::Expire, Some((held, held)));
            }
        }
        next
    }

    /// Keeps a version that ended, if the session does, and forgets the oldest, but not
    /// the last that another wrote than who ended this.
    fn keep(&mut self, held: Held, ended: Ended) {
        let versions_max = self.config().retention.history_versions_max as usize;
        if !held.entry.keeps_history || versions_max == 0 {
            return;
        }
        let past = self.history.entry(held.entry.key.clone()).or_default();
        past.push(Past { held, ended });
        while past.len() > versions_max {
            past.remove(usize::from(last_of_another(past) == Some(0)));
        }
    }

    /// Forgets versions while they take more bytes than they may: of who has most the
    /// oldest, the last that another wrote over at the end.
    pub fn keep_to_the_budget(&mut self) {
        let bytes = |it: &Past| VERSION_BYTES + it.held.value.len() as u64;
        let all = |model: &Self| model.history.values().flatten().map(bytes).sum::<u64>();
        let bytes_max = u64::from(self.config().retention.history_bytes_max);
        if all(self) <= bytes_max {
            return;
        }
        let last = |past: &Vec<Past>| Some(past[last_of_another(past)?].held.entry.revision);
        let lasts: BTreeMap<Key, _> =
            self.history.iter().map(|(key, past)| (key.clone(), last(past))).collect();
        while all(self) > bytes_max - bytes_max / 8 {
            let mut shares = BTreeMap::<String, u64>::new();
            for it in self.history.values().flatten() {
                *shares.entry(it.held.entry.written_by.to_string()).or_default() += bytes(it);
            }
            let most = shares.iter().max_by_key(|(_, bytes)| **bytes).unwrap().0;
            let theirs = self.history.values().flatten().map(|it| (&it.held.entry, &it.ended));
            let theirs = theirs.filter(|(it, _)| it.written_by.as_str() == most);
            let first = theirs
                .min_by_key(|(it, ended)| (lasts[&it.key] == Some(it.revision), ended.revision));
            let (key, revision) = first.map(|(it, _)| (it.key.clone(), it.revision)).unwrap();
            let past = self.history.get_mut(&key).unwrap();
            past.retain(|it| it.held.entry.revision != revision);
        }
    }

    /// Returns how what ends in this change ends.
    fn end(&self, who: &str, how: EndedHow) -> Ended {
        let (at, by) = (self.about.changed_at, participant(who));
        Ended { how, at, by, revision: Revision(self.revision) }
    }

    /// Makes `new` what is there.
    pub fn put(&mut self, who: &str, new: &Held) {
        let old = self.entries.insert(new.entry.key.clone(), new.clone());
        self.tell(who, AuditAction::Write, Some((new, new)));
        if let Some(old) = old {
            self.keep(old, self.end(who, EndedHow::Superseded));
        }
    }

    /// Removes an entry.
    pub fn remove(&mut self, who: &str, key: &Key) {
        let old = self.entries.remove(key).unwrap();
        self.tell(who, AuditAction::Delete, Some((&old, &old)));
        self.keep(old, self.end(who, EndedHow::Deleted));
    }

    /// Notes what was done, to an entry as it was and is.
    pub fn tell(&mut self, who: &str, action: AuditAction, entry: Option<(&Held, &Held)>) {
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
        let access =
            |held: Option<&Held>| held.map_or_else(Access::default, |it| it.entry.access.clone());
        let lists = [access(entry.map(|it| it.0)), access(entry.map(|it| it.1))];
        self.changes.push(Rc::new(Told { record, lists }));
    }

    /// Adds a label or a reason to what was told last.
    pub fn tell_more(&mut self, label: Option<&Label>, reason: Option<&Line>) {
        let last = Rc::make_mut(self.changes.last_mut().unwrap());
        last.record.label = label.cloned();
        last.record.reason = reason.cloned();
    }

    /// Adds the round to what was told last.
    pub fn tell_round(&mut self, round: u64) {
        Rc::make_mut(self.changes.last_mut().unwrap()).record.round = Some(round);
    }

    /// Returns whether `who` may read an entry with these lists.
    pub fn may_read(&self, who: &str, key: &Key, access: &Access) -> bool {
        let mut lists = self.lists(key, access);
        who == "admin" || is_granted(who, key) && lists.all(|it| has(&it.readable_by, who))
    }

    /// Returns whether `who` may write an entry with these lists.
    pub fn may_write(&self, who: &str, key: &Key, access: &Access) -> bool {
        let may = |it: &Access| has(&it.readable_by, who) && has(&it.writable_by, who);
        who != "admin" && is_granted(who, key) && self.lists(key, access).all(may)
    }

    /// Returns whether `who` sees what is there under a key with these lists, if not its value.
    pub fn may_see(&self, who: &str, key: &Key, access: &Access) -> bool {
        sees_all(who) || self.may_read(who, key, access)
    }

    /// Returns all the lists that hold for a key: its own, and those of the rules.
    fn lists<'a>(&'a self, key: &'a Key, own: &'a Access) -> impl Iterator<Item = &'a Access> {
        let rules = self.config().access.iter();
        let rules = rules.filter(|it| is_like(it.keys.as_str(), key.as_str()));
        std::iter::once(own).chain(rules.map(|it| &it.access))
    }

    /// Returns whether what is there under `key` is hidden from `who`.
    pub fn is_hidden(&self, who: &str, key: &Key) -> bool {
        let current = self.entries.get(key);
        current.is_some_and(|it| !self.may_read(who, key, &it.entry.access))
    }

    /// Returns the sum of the sizes of all values.
    pub fn tokens(&self) -> u32 {
        self.entries.values().map(|it| it.entry.value_tokens.0).sum()
    }

    /// Creates a session that came out of a document at `revision`.
    pub fn of(document: Portable, about: SessionInfo, revision: u64) -> Self {
        let mut model = Self::new(about, revision, AuditAction::ImportSession);
        let Portable { values, rounds, .. } = document;
        model.rounds = Rounds::of(rounds);
        let held = |entry: Entry| {
            let value = values[&(entry.key.clone(), entry.revision)].clone();
            (entry.key.clone(), Held { entry, value })
        };
        for Version { entry, ended } in document.history {
            let (key, held) = held(entry);
            model.history.entry(key).or_default().push(Past { held, ended });
        }
        let shot = |it: Snapshot| Shot {
            entries: it.entries.into_iter().map(held).collect(),
            info: it.info,
        };
        model.snapshots = document.snapshots.into_iter().map(shot).collect();
        model.entries = document.entries.into_iter().map(held).collect();
        model
    }

    /// Returns the session outside of any storage.
    pub fn portable(&self) -> Portable {
        let entry = |it: &Held| it.entry.clone();
        let past = self.history.values().flatten();
        let shots = self.snapshots.iter();
        let all = self.entries.values().chain(past.clone().map(|it| &it.held));
        let all = all.chain(shots.clone().flat_map(|it| it.entries.values()));
        let address = |it: &Held| (it.entry.key.clone(), it.entry.revision);
        Portable {
            session: self.about.session.clone(),
            is_archived: self.about.is_archived,
            created_at: self.about.created_at,
            config: self.config().clone(),
            entries: self.entries.values().map(entry).collect(),
            history: past
                .map(|it| Version { entry: entry(&it.held), ended: it.ended.clone() })
                .collect(),
            snapshots: shots
                .map(|it| Snapshot {
                    info: it.info.clone(),
                    entries: it.entries.values().map(entry).collect(),
                })
                .collect(),
            rounds: self.rounds.history().clone(),
            values: all.map(|it| (address(it), it.value.clone())).collect(),
        }
    }
}

/// Returns the name of the participant that `who` is, without the keys it is limited to.
pub fn name(who: &str) -> &str {
    who.split_once(" only ").map_or(who, |(name, _)| name)
}

/// Returns the place of the last version that another wrote than who ended the newest.
fn last_of_another(past: &[Past]) -> Option<usize> {
    let hand = &past.last()?.ended.by;
    past.iter().rposition(|it| it.held.entry.written_by != *hand)
}

/// Returns whether `who` sees the metadata of every entry.
pub fn sees_all(who: &str) -> bool {
    ["admin", "orchestrator"].contains(&who)
}

/// Returns the participant that `who` is.
pub fn participant(who: &str) -> Participant {
    Participant::parse(name(who)).unwrap()
}

/// Returns whether the credential of `who` is for `key`.
pub fn is_granted(who: &str, key: &Key) -> bool {
    let only = who.split_once(" only ");
    only.is_none_or(|(_, keys)| keys.split(',').any(|it| is_like(it, key.as_str())))
}

/// Returns whether one of the patterns means `who`.
fn has(list: &Participants, who: &str) -> bool {
    list.patterns().any(|it| is_like(it, name(who)))
}

/// Returns whether `text` is `pattern`, or begins as it does up to its `*`. The scripts
/// have no other patterns.
pub fn is_like(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => pattern == text,
    }
}
