//! What tests do to storage and to the instances that use it.
//!
//! A *call* is a statement of SQL or an operation on a key-value store, counted over
//! all instances. Opening is no call: for Spin it touches nothing that is stored.
//!
//! Invariant: a fault is told to the component as Spin tells failures of storage, or
//! ends its instance; it never ends the server.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// How storage behaves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Storage {
    /// As it should.
    #[default]
    Works,
    /// Nothing can be read: `SELECT` and `WITH`; `get`, `exists` and `get-keys`.
    ReadsFail,
    /// Nothing can be changed: `INSERT`, `UPDATE`, `DELETE` and `REPLACE`; `set` and
    /// `delete`.
    CommitsFail,
    /// What is changed is kept, and who changed it is told that it failed.
    AnswersLost,
    /// Right before something is changed, another connection raises the `revision` of
    /// every row of `shared_context_bucket`, if there is such a table. A key-value
    /// store has no such table, and behaves as it should.
    CommitsConflict,
}

/// When an instance is ended in the middle of what it does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kill {
    /// Not any more.
    #[default]
    Never,
    /// Instead of the call that is this many calls ahead (the next is 1). Once.
    Before(u64),
    /// When that call is carried out. Once.
    After(u64),
    /// At one of `one_in` calls, before it or after it, by chance and again and again.
    Randomly {
        /// Where chance begins: the same seed and the same calls meet the same ends.
        seed: u64,
        /// How rare it is; 0 and 1 are every call.
        one_in: u64,
    },
}

/// What a call wants of storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Read,
    Commit,
    /// Whatever prepares storage; no fault of storage meets it.
    Other,
}

/// What happens to one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fate {
    /// Whether the instance ends before the call is carried out.
    pub(crate) ends_before: bool,
    /// Whether it ends after.
    pub(crate) ends_after: bool,
    pub(crate) storage: Storage,
}

/// The faults of one stand-in.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    storage: Storage,
    kill: Kill,
    chance: u64,
    calls: u64,
    killed: u64,
}

impl Call {
    /// Returns what the statement `text` wants, by its first word. One that begins with `WITH`
    /// is taken for a read.
    pub(crate) fn of_statement(text: &str) -> Self {
        let word = text.trim_start().split(|it: char| !it.is_ascii_alphabetic()).next();
        match word.unwrap_or_default().to_ascii_uppercase().as_str() {
            "SELECT" | "WITH" => Self::Read,
            "INSERT" | "UPDATE" | "DELETE" | "REPLACE" => Self::Commit,
            _ => Self::Other,
        }
    }
}

impl Fate {
    /// Returns what the component is told in place of carrying `call` out.
    pub(crate) fn refusal(self, call: Call) -> Option<&'static str> {
        match (self.storage, call) {
            (Storage::ReadsFail, Call::Read) => Some("a fault that a test asked for: no reads"),
            (Storage::CommitsFail, Call::Commit) => {
                Some("a fault that a test asked for: no changes")
            }
            _ => None,
        }
    }

    /// Returns what the component is told when `call` was carried out.
    pub(crate) fn lie(self, call: Call) -> Option<&'static str> {
        let is_lost = self.storage == Storage::AnswersLost && call == Call::Commit;
        is_lost.then_some("a fault that a test asked for: the answer is lost")
    }

    /// Returns whether another comes first.
    pub(crate) fn has_conflict(self, call: Call) -> bool {
        self.storage == Storage::CommitsConflict && call == Call::Commit
    }
}

impl Faults {
    pub(crate) fn set_storage(&self, storage: Storage) {
        self.state().storage = storage;
    }

    pub(crate) fn set_kill(&self, kill: Kill) {
        let mut state = self.state();
        state.kill = kill;
        if let Kill::Randomly { seed, .. } = kill {
            state.chance = seed;
        }
    }

    pub(crate) fn calls(&self) -> u64 {
        self.state().calls
    }

    pub(crate) fn killed(&self) -> u64 {
        self.state().killed
    }

    /// Counts a call and tells what happens to it.
    pub(crate) fn meet(&self) -> Fate {
        let mut state = self.state();
        state.calls += 1;
        let (ends_before, ends_after) = state.ends();
        if ends_before || ends_after {
            state.killed += 1;
        }
        Fate { ends_before, ends_after, storage: state.storage }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns whether the instance of this call ends before it or after it.
    fn ends(&mut self) -> (bool, bool) {
        match &mut self.kill {
            Kill::Never => (false, false),
            Kill::Before(0 | 1) => {
                self.kill = Kill::Never;
                (true, false)
            }
            Kill::After(0 | 1) => {
                self.kill = Kill::Never;
                (false, true)
            }
            Kill::Before(ahead) | Kill::After(ahead) => {
                *ahead -= 1;
                (false, false)
            }
            Kill::Randomly { one_in, .. } => {
                let one_in = (*one_in).max(1);
                let drawn = next(&mut self.chance);
                let is_hit = (drawn >> 1).is_multiple_of(one_in);
                (is_hit && drawn & 1 == 0, is_hit && drawn & 1 == 1)
            }
        }
    }
}

/// Returns the next number after `state` (splitmix64): even, and the same for the same start.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut it = *state;
    it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    it ^ (it >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(faults: &Faults, calls: usize) -> Vec<&'static str> {
        let met = (0..calls).map(|_| faults.meet());
        met.map(|it| match (it.ends_before, it.ends_after) {
            (true, _) => "before",
            (_, true) => "after",
            _ => "",
        })
        .collect()
    }

    #[test]
    fn a_call_is_ended_once() {
        let faults = Faults::default();
        faults.set_kill(Kill::Before(2));
        assert_eq!(ends(&faults, 4), ["", "before", "", ""]);
        faults.set_kill(Kill::After(1));
        assert_eq!(ends(&faults, 2), ["after", ""]);
        assert_eq!((faults.calls(), faults.killed()), (6, 2));
    }

    #[test]
    fn chance_is_the_same_for_the_same_seed_and_about_as_rare_as_asked() {
        let run = |seed| {
            let faults = Faults::default();
            faults.set_kill(Kill::Randomly { seed, one_in: 10 });
            let ends = ends(&faults, 1000);
            faults.set_kill(Kill::Never);
            assert_eq!(self::ends(&faults, 100), [""; 100]);
            ends
        };
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
        let count = |what| run(7).iter().filter(|it| **it == what).count();
        assert!((25..75).contains(&count("before")), "{}", count("before"));
        assert!((25..75).contains(&count("after")), "{}", count("after"));
    }

    #[test]
    fn statements_are_told_apart_by_their_first_word() {
        for (text, call) in [
            ("SELECT 1", Call::Read),
            ("\n  with a as (select 1) select * from a", Call::Read),
            ("insert into a values (1)", Call::Commit),
            ("DELETE FROM a", Call::Commit),
            ("PRAGMA journal_mode=WAL", Call::Other),
            ("CREATE TABLE a (b)", Call::Other),
            ("", Call::Other),
        ] {
            assert_eq!(Call::of_statement(text), call, "{text}");
        }
    }

    #[test]
    fn faults_of_storage_meet_what_they_are_for() {
        let told = |storage| {
            let fate = Fate { ends_before: false, ends_after: false, storage };
            [Call::Read, Call::Commit, Call::Other].map(|it| {
                (fate.refusal(it).is_some(), fate.lie(it).is_some(), fate.has_conflict(it))
            })
        };
        let nothing = (false, false, false);
        assert_eq!(told(Storage::Works), [nothing; 3]);
        assert_eq!(told(Storage::ReadsFail), [(true, false, false), nothing, nothing]);
        assert_eq!(told(Storage::CommitsFail), [nothing, (true, false, false), nothing]);
        assert_eq!(told(Storage::AnswersLost), [nothing, (false, true, false), nothing]);
        assert_eq!(told(Storage::CommitsConflict), [nothing, (false, false, true), nothing]);
    }
}
