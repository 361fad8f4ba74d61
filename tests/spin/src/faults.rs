//! Faults that tests inject into storage and into the instances that use it.
//!
//! A *call* is an SQL statement or an operation on a key-value store, counted over all
//! instances. Opening is not a call: in Spin it accesses no stored data.
//!
//! Invariant: a fault is reported to the component like a storage failure of Spin, or it
//! aborts the instance. It never stops the server.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The behaviour of storage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Storage {
    /// Storage works.
    #[default]
    Works,
    /// Reads fail: `SELECT` and `WITH`; `get`, `exists` and `get-keys`.
    ReadsFail,
    /// Changes fail: `INSERT`, `UPDATE`, `DELETE` and `REPLACE`; `set` and `delete`.
    CommitsFail,
    /// Changes are stored but reported as failed.
    AnswersLost,
    /// Right before each change, another connection increments the `revision` of every
    /// row of `shared_context_bucket`, if there is such a table. A key-value store has no
    /// such table, so it works normally.
    CommitsConflict,
}

/// The moment at which an instance is aborted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kill {
    /// No instance is aborted.
    #[default]
    Never,
    /// Once, instead of the call that is this many calls ahead (the next is 1).
    Before(u64),
    /// Once, after that call was executed.
    After(u64),
    /// Repeatedly at random, at one of `one_in` calls, before or after it.
    Randomly {
        /// The seed: the same seed and the same calls give the same aborts.
        seed: u64,
        /// The inverse of the probability; 0 and 1 mean every call.
        one_in: u64,
    },
}

/// The kind of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Read,
    Commit,
    /// A call that prepares storage; storage faults do not affect it.
    Other,
}

/// The faults of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallFaults {
    /// True if the instance is aborted before the call is executed.
    pub(crate) ends_before: bool,
    /// True if the instance is aborted after the call was executed.
    pub(crate) ends_after: bool,
    pub(crate) storage: Storage,
}

/// The faults of one emulator.
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
    /// Returns the kind of the statement `text` by its first word. `WITH` counts as a read.
    pub(crate) fn of_statement(text: &str) -> Self {
        let word = text.trim_start().split(|it: char| !it.is_ascii_alphabetic()).next();
        match word.unwrap_or_default().to_ascii_uppercase().as_str() {
            "SELECT" | "WITH" => Self::Read,
            "INSERT" | "UPDATE" | "DELETE" | "REPLACE" => Self::Commit,
            _ => Self::Other,
        }
    }
}

impl CallFaults {
    /// Returns the error to report instead of executing `call`.
    pub(crate) fn error_before(self, call: Call) -> Option<&'static str> {
        match (self.storage, call) {
            (Storage::ReadsFail, Call::Read) => Some("a fault that a test asked for: no reads"),
            (Storage::CommitsFail, Call::Commit) => {
                Some("a fault that a test asked for: no changes")
            }
            _ => None,
        }
    }

    /// Returns the error to report after `call` was executed.
    pub(crate) fn error_after(self, call: Call) -> Option<&'static str> {
        let is_lost = self.storage == Storage::AnswersLost && call == Call::Commit;
        is_lost.then_some("a fault that a test asked for: the answer is lost")
    }

    /// Returns true if another commit is to be made first.
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

    /// Counts a call and returns its faults.
    pub(crate) fn next_call(&self) -> CallFaults {
        let mut state = self.state();
        state.calls += 1;
        let (ends_before, ends_after) = state.ends();
        if ends_before || ends_after {
            state.killed += 1;
        }
        CallFaults { ends_before, ends_after, storage: state.storage }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns whether the instance is aborted before this call, and whether after it.
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

/// Advances `state` and returns the next pseudorandom number (splitmix64). Numbers are
/// uniformly distributed, and the same for the same start.
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
        let all = (0..calls).map(|_| faults.next_call());
        all.map(|it| match (it.ends_before, it.ends_after) {
            (true, _) => "before",
            (_, true) => "after",
            _ => "",
        })
        .collect()
    }

    #[test]
    fn an_instance_is_aborted_once() {
        let faults = Faults::default();
        faults.set_kill(Kill::Before(2));
        assert_eq!(ends(&faults, 4), ["", "before", "", ""]);
        faults.set_kill(Kill::After(1));
        assert_eq!(ends(&faults, 2), ["after", ""]);
        assert_eq!((faults.calls(), faults.killed()), (6, 2));
    }

    #[test]
    fn random_aborts_follow_the_seed_and_the_probability() {
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
    fn statements_are_distinguished_by_their_first_word() {
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
    fn storage_faults_affect_the_right_calls() {
        let errors = |storage| {
            let faults = CallFaults { ends_before: false, ends_after: false, storage };
            [Call::Read, Call::Commit, Call::Other].map(|it| {
                let (before, after) = (faults.error_before(it), faults.error_after(it));
                (before.is_some(), after.is_some(), faults.has_conflict(it))
            })
        };
        let nothing = (false, false, false);
        assert_eq!(errors(Storage::Works), [nothing; 3]);
        assert_eq!(errors(Storage::ReadsFail), [(true, false, false), nothing, nothing]);
        assert_eq!(errors(Storage::CommitsFail), [nothing, (true, false, false), nothing]);
        assert_eq!(errors(Storage::AnswersLost), [nothing, (false, true, false), nothing]);
        assert_eq!(errors(Storage::CommitsConflict), [nothing, (false, false, true), nothing]);
    }
}
