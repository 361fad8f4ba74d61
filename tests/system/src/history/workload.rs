//! What clients ask next, by workload.

use std::collections::BTreeMap;

use super::model::{Answer, Change, Condition, Key, Request};

/// What the clients of a history do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// Reads and changes of all kinds. Each client is another participant, and each
    /// change writes another value.
    Distinct,
    /// The same by clients of one participant, which all write one of two values.
    Equal,
    /// Clients of one participant read a counter and write the next number, if it is as
    /// they read it. Those that read the same number write the same.
    Counter,
    /// Clients of one participant take a lock by writing the same value to a key that
    /// must not be there, and release it by deleting the key.
    Lock,
    /// Clients of one participant take a fence by overwriting it with the same value,
    /// and write batches that depend on the revision of their own overwrite.
    Fence,
    /// Clients of one participant insert the same line into one file of the memory tool.
    Memory,
}

impl Workload {
    /// Returns how often the server is to be killed, where `usual` is how often it is elsewhere.
    ///
    /// Two inserts of unknown outcome cannot be distinguished, so that the search for an order
    /// would try each set of them: where the memory tool is used, no server is killed.
    pub fn kills(self, usual: usize) -> usize {
        if self == Self::Memory { 0 } else { usual }
    }

    /// Returns the participant that the `nth` client is.
    pub(super) fn participant(self, nth: usize) -> String {
        match self {
            Self::Distinct => format!("subagent:{nth}"),
            _ => "subagent:same".to_owned(),
        }
    }
}

/// Chooses the requests of one client.
#[derive(Debug)]
pub(super) struct Chooser {
    workload: Workload,
    keys: u64,
    chance: Chance,
    /// What it saw last of each key.
    seen: BTreeMap<Key, Seen>,
    /// How often the outcome of the current request stayed unknown.
    sent: usize,
}

/// An entry as a client saw it last; its version is 0 when it was not there.
#[derive(Debug, Clone, Copy)]
struct Seen {
    version: u64,
    revision: u64,
    /// `None` when it is known from a conflict only.
    value: Option<u64>,
}

impl Seen {
    const NOTHING: Self = Self { version: 0, revision: 0, value: None };
}

/// Chance that begins anew at a seed (`SplitMix64`, Steele et al. 2014).
#[derive(Debug)]
struct Chance(u64);

impl Chance {
    /// Returns a number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }
}

impl Chooser {
    /// For the `nth` client of a history with this `seed`.
    pub(super) fn new(workload: Workload, nth: usize, keys: usize, seed: u64) -> Self {
        let keys = u64::try_from(keys).unwrap();
        let chance = Chance(seed.wrapping_mul(1_000).wrapping_add(u64::try_from(nth).unwrap()));
        Self { workload, keys, chance, seen: BTreeMap::new(), sent: 0 }
    }

    /// Returns what the client asks next; `wish` numbers its changes.
    pub(super) fn next(&mut self, wish: impl FnOnce() -> u64) -> Request {
        self.sent = 0;
        match self.workload {
            Workload::Distinct | Workload::Equal => self.anything(wish),
            Workload::Counter => self.count(wish),
            Workload::Lock => self.lock(wish),
            Workload::Fence => self.fence(wish),
            Workload::Memory => self.remember(wish),
        }
    }

    fn anything(&mut self, wish: impl FnOnce() -> u64) -> Request {
        let (key, other) = self.two_keys();
        let is_named = self.is_named();
        let is_equal = self.workload == Workload::Equal;
        let of = |writes, deletes, is_batch| {
            let wish = wish();
            let value = if is_equal { wish % 2 } else { wish };
            Request::Change(Change { wish, value, writes, deletes, is_batch, is_named })
        };
        match self.chance.below(100) {
            0..24 => Request::Read(key),
            24..34 => Request::ReadBatch(vec![key, other]),
            34..42 => Request::List,
            42..62 => of(vec![(key, Condition::None)], vec![], false),
            62..80 => of(vec![(key, self.condition(key))], vec![], false),
            80..88 => of(vec![], vec![(key, self.sometimes(key))], false),
            88..96 => {
                of(vec![(key, Condition::None), (other, self.sometimes(other))], vec![], true)
            }
            _ => of(vec![(key, self.sometimes(key))], vec![(other, Condition::None)], true),
        }
    }

    fn count(&mut self, wish: impl FnOnce() -> u64) -> Request {
        let (value, condition) = match self.seen.get(&0) {
            Some(Seen { version: 0, .. }) => (1, Condition::Version(0)),
            Some(Seen { value: Some(it), revision, .. }) => {
                (it + 1, Condition::Revision(*revision))
            }
            _ => return Request::Read(0),
        };
        self.write(wish(), value, vec![(0, condition)])
    }

    fn lock(&mut self, wish: impl FnOnce() -> u64) -> Request {
        match self.seen.get(&0).copied() {
            _ if self.chance.below(6) == 0 => Request::Read(0),
            Some(Seen { value: Some(_), revision, .. }) => {
                self.delete(wish(), (0, Condition::Revision(revision)))
            }
            // Its holder may not know that it is, and releases it no more.
            Some(Seen { version: 1.., .. }) if self.chance.below(8) == 0 => {
                self.delete(wish(), (0, Condition::None))
            }
            _ => self.write(wish(), 0, vec![(0, Condition::Version(0))]),
        }
    }

    fn fence(&mut self, wish: impl FnOnce() -> u64) -> Request {
        match self.seen.get(&0) {
            Some(Seen { value: Some(_), revision, .. }) if self.chance.below(4) > 0 => {
                let fence = Condition::Revision(*revision);
                self.write(wish(), 0, vec![(0, fence), (1, Condition::None)])
            }
            _ if self.chance.below(4) == 0 => Request::ReadBatch(vec![0, 1]),
            _ => self.write(wish(), 0, vec![(0, Condition::None)]),
        }
    }

    fn remember(&mut self, wish: impl FnOnce() -> u64) -> Request {
        match self.seen.get(&0) {
            Some(Seen { version: 1.., .. }) if self.chance.below(3) > 0 => Request::Insert(0),
            Some(Seen { version: 0, .. }) => {
                self.write(wish(), 0, vec![(0, Condition::Version(0))])
            }
            _ => Request::Read(0),
        }
    }

    fn write(&mut self, wish: u64, value: u64, writes: Vec<(Key, Condition)>) -> Request {
        let is_batch = writes.len() > 1;
        let is_named = self.is_named();
        Request::Change(Change { wish, value, writes, deletes: vec![], is_batch, is_named })
    }

    fn delete(&mut self, wish: u64, delete: (Key, Condition)) -> Request {
        let (writes, deletes, is_named) = (vec![], vec![delete], self.is_named());
        Request::Change(Change { wish, value: 0, writes, deletes, is_batch: false, is_named })
    }

    /// Returns what the client asks after `request` was not answered: the same again,
    /// where that is safe, now and then, a few times.
    pub(super) fn again(&mut self, request: &Request) -> Option<Request> {
        let Request::Change(change) = request else { return None };
        let is_conditional = |(_, it): &(Key, Condition)| *it != Condition::None;
        let is_safe = change.is_named
            || !change.is_batch
                && change.writes.len() == 1
                && change.writes.iter().all(is_conditional);
        self.sent += 1;
        (is_safe && self.sent < 4 && self.chance.below(4) > 0).then(|| request.clone())
    }

    fn is_named(&mut self) -> bool {
        self.chance.below(5) < 2
    }

    fn two_keys(&mut self) -> (Key, Key) {
        let key = self.chance.below(self.keys);
        let other = (key + 1 + self.chance.below(self.keys - 1)) % self.keys;
        (usize::try_from(key).unwrap(), usize::try_from(other).unwrap())
    }

    fn sometimes(&mut self, key: Key) -> Condition {
        if self.chance.below(3) == 0 { self.condition(key) } else { Condition::None }
    }

    /// That the entry is as this client saw it last.
    fn condition(&mut self, key: Key) -> Condition {
        match self.seen.get(&key) {
            Some(Seen { revision: revision @ 1.., .. }) if self.chance.below(2) == 0 => {
                Condition::Revision(*revision)
            }
            Some(Seen { version, .. }) => Condition::Version(*version),
            None => Condition::Version(0),
        }
    }

    /// Notes what `answer` to `request` says of the keys.
    pub(super) fn see(&mut self, request: &Request, answer: &Answer) {
        let seen = |version, revision, value| Seen { version, revision, value: Some(value) };
        match (request, answer) {
            (Request::Read(key), Answer::Entry(it)) => {
                self.seen.insert(*key, seen(it.version, it.revision, it.value));
            }
            (Request::ReadBatch(keys), Answer::Entries { entries, .. }) => {
                for (key, entry) in keys.iter().zip(entries) {
                    let there = entry.map(|it| seen(it.version, it.revision, it.value));
                    self.seen.insert(*key, there.unwrap_or(Seen::NOTHING));
                }
            }
            (Request::Change(change), Answer::Changed { revision, written, .. }) => {
                for ((key, _), version) in change.writes.iter().zip(written) {
                    self.seen.insert(*key, seen(*version, *revision, change.value));
                }
                self.seen.extend(change.deletes.iter().map(|(key, _)| (*key, Seen::NOTHING)));
            }
            (_, Answer::Missing(key)) => drop(self.seen.insert(*key, Seen::NOTHING)),
            (_, Answer::Conflict { key, version, revision }) => {
                let (version, revision) = (*version, *revision);
                self.seen.insert(*key, Seen { version, revision, value: None });
            }
            _ => {}
        }
    }
}
