//! A session as its clients see it, one request after the other: keys with values and
//! versions, and the revision.
//!
//! It leaves out what [`super::play`] never asks for: access, expiry, limits, snapshots.
//! That the rules are followed in detail is the conformance suite's to prove; here they
//! only have to distinguish an answer that fits from one that does not.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use todc_utils::specifications::Specification;

/// The number of a key.
pub type Key = usize;

/// For how many changes of a session a request id is remembered, its own included.
const REMEMBERED: u64 = 256;

/// What a client asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// One entry.
    Read(Key),
    /// Several entries, as they are together.
    ReadBatch(Vec<Key>),
    /// All keys.
    List,
    /// A change.
    Change(Change),
    /// One more line in a file, by the memory tool: the value grows by one, in a single
    /// step, whoever else adds the same line.
    Insert(Key),
}

/// What a client wants to change, all or nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its number. The same change sent again has the same.
    pub wish: u64,
    /// The value that it writes. Other changes may write the same.
    pub value: u64,
    /// The keys it writes.
    pub writes: Vec<(Key, Condition)>,
    /// The keys it deletes.
    pub deletes: Vec<(Key, Condition)>,
    /// Whether it is sent as a batch.
    pub is_batch: bool,
    /// Whether it is sent under a `request_id`, so that it happens once however often
    /// it is sent.
    pub is_named: bool,
}

/// What a change depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// Nothing.
    None,
    /// The version of the entry; 0 without an entry.
    Version(u64),
    /// The revision at which the entry was written.
    Revision(u64),
}

/// One entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Entry {
    /// [`Change::value`], and one for each line that was inserted.
    pub value: u64,
    /// How often the key was written since it is there.
    pub version: u64,
    /// The revision at which it was written.
    pub revision: u64,
}

/// The answer that a client gets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Answer {
    /// Of a read.
    Entry(Entry),
    /// Of a read of several.
    Entries {
        /// The session's.
        revision: u64,
        /// What is there, in the order asked for.
        entries: Vec<Option<Entry>>,
    },
    /// Of a listing.
    Keys {
        /// The session's.
        revision: u64,
        /// Each key and its version, in order.
        versions: Vec<(Key, u64)>,
    },
    /// The change happened.
    Changed {
        /// The session's, by this change.
        revision: u64,
        /// The versions of what was written, in the order asked for.
        written: Vec<u64>,
        /// The versions of what was deleted.
        deleted: Vec<u64>,
    },
    /// The line is in the file.
    Inserted,
    /// Nothing happened: others changed the file each time this was tried.
    Overtaken,
    /// Nothing happened: there is no such key.
    Missing(Key),
    /// Nothing happened: the entry is another.
    Conflict {
        /// Which.
        key: Key,
        /// Its version; 0 without an entry.
        version: u64,
        /// The revision at which it was written; 0 without an entry.
        revision: u64,
    },
}

/// A session between two requests.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    revision: u64,
    entries: BTreeMap<Key, Entry>,
    /// What was answered to changes that are sent under a name.
    answered: BTreeMap<u64, (u64, Answer)>,
    /// Whether all that was answered lies behind.
    is_over: bool,
}

/// What comes of a request.
enum Outcome {
    /// This answer, and the state after it.
    Done(Answer, State),
    /// One of these, and nothing happens.
    Refused(Vec<Answer>),
}

/// An operation, and what is known of it.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// It was answered.
    Answered(Request, Answer),
    /// It was not: it happens now, or only when all else has.
    Unknown(Request, Arc<Claims>),
    /// All that was answered lies behind.
    End,
}

/// Which changes the revisions of a history belong to, as far as answers say. A revision
/// is reached once, so that nothing else can have happened there: without that every
/// change of unknown outcome could be anywhere, and the search would try it.
#[derive(Debug, Clone, Default)]
pub(super) struct Claims {
    pub(super) of: BTreeMap<u64, BTreeSet<u64>>,
    /// The last revision, if the history ends with somebody who read it alone.
    pub(super) last: Option<u64>,
}

/// The model, as the search wants it.
#[derive(Debug)]
pub(super) enum Session {}

impl Specification for Session {
    type State = State;
    type Operation = Step;

    fn init() -> State {
        // Creating it was the first change.
        State { revision: 1, entries: BTreeMap::new(), answered: BTreeMap::new(), is_over: false }
    }

    fn apply(step: &Step, state: &State) -> (bool, State) {
        let after = match step {
            Step::Answered(request, told) => match state.perform(request) {
                // Others came first each time: that can be said at any time.
                _ if *told == Answer::Overtaken => Some(state.clone()),
                Outcome::Done(answer, after) => (answer == *told).then_some(after),
                Outcome::Refused(any) => any.contains(told).then(|| state.clone()),
            },
            Step::Unknown(request, claims) => state.perhaps(request, claims),
            Step::End => Some(State { is_over: true, ..state.clone() }),
        };
        after.map_or_else(|| (false, state.clone()), |it| (true, it))
    }
}

impl State {
    /// Returns what comes of a change that may have happened here; `None` when it has not, or
    /// nobody knows. A change without an answer can as well happen after all else.
    fn perhaps(&self, request: &Request, claims: &Claims) -> Option<Self> {
        if self.is_over {
            return Some(self.clone());
        }
        let Outcome::Done(_, after) = self.perform(request) else { return None };
        let is_own =
            |of: &BTreeSet<u64>| matches!(request, Request::Change(it) if of.contains(&it.wish));
        let is_free = claims.of.get(&after.revision).is_none_or(is_own);
        let is_seen = claims.last.is_none_or(|last| after.revision <= last);
        (after.revision > self.revision && is_free && is_seen).then_some(after)
    }

    fn perform(&self, request: &Request) -> Outcome {
        let answer = match request {
            Request::Read(key) => match self.entries.get(key) {
                Some(entry) => Answer::Entry(*entry),
                None => return Outcome::Refused(vec![Answer::Missing(*key)]),
            },
            Request::ReadBatch(keys) => Answer::Entries {
                revision: self.revision,
                entries: keys.iter().map(|key| self.entries.get(key).copied()).collect(),
            },
            Request::List => Answer::Keys {
                revision: self.revision,
                versions: self.entries.iter().map(|(key, it)| (*key, it.version)).collect(),
            },
            Request::Change(change) => return self.change(change),
            Request::Insert(key) => return self.insert(*key),
        };
        Outcome::Done(answer, self.clone())
    }

    fn insert(&self, key: Key) -> Outcome {
        let mut after = self.clone();
        after.revision += 1;
        let Some(entry) = after.entries.get_mut(&key) else {
            return Outcome::Refused(vec![Answer::Missing(key)]);
        };
        (entry.value, entry.version) = (entry.value + 1, entry.version + 1);
        entry.revision = after.revision;
        Outcome::Done(Answer::Inserted, after)
    }

    fn change(&self, change: &Change) -> Outcome {
        if let Some((revision, answer)) = self.answered.get(&change.wish)
            && self.revision < revision + REMEMBERED
        {
            return Outcome::Done(answer.clone(), self.clone());
        }
        let mut after = self.clone();
        after.revision += 1;
        let (mut refused, mut written, mut deleted) = (Vec::new(), Vec::new(), Vec::new());
        for (key, condition) in &change.deletes {
            match self.entries.get(key) {
                None => refused.push(Answer::Missing(*key)),
                Some(it) if condition.holds_for(Some(it)) => deleted.push(it.version),
                it => refused.push(conflict(*key, it)),
            }
            after.entries.remove(key);
        }
        for (key, condition) in &change.writes {
            let current = self.entries.get(key);
            if condition.holds_for(current) {
                let version = current.map_or(0, |it| it.version) + 1;
                let entry = Entry { value: change.value, version, revision: after.revision };
                written.push(version);
                after.entries.insert(*key, entry);
            } else {
                refused.push(conflict(*key, current));
            }
        }
        if !refused.is_empty() {
            return Outcome::Refused(refused);
        }
        let answer = Answer::Changed { revision: after.revision, written, deleted };
        if change.is_named {
            after.answered.insert(change.wish, (after.revision, answer.clone()));
        }
        Outcome::Done(answer, after)
    }
}

impl Condition {
    fn holds_for(self, current: Option<&Entry>) -> bool {
        match self {
            Self::None => true,
            Self::Version(wanted) => current.map_or(0, |it| it.version) == wanted,
            Self::Revision(wanted) => current.is_some_and(|it| it.revision == wanted),
        }
    }
}

fn conflict(key: Key, current: Option<&Entry>) -> Answer {
    let (version, revision) = current.map_or((0, 0), |it| (it.version, it.revision));
    Answer::Conflict { key, version, revision }
}
