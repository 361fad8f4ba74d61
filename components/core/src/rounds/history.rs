//! All that is kept of a session's rounds, as one value.

use super::{Delta, Fate, Round, State};

/// What is kept of a session's rounds, outside of any storage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoundHistory {
    /// The query that the first round was opened with, if it had one and what it began
    /// with is kept.
    pub query: Option<String>,
    /// The rounds, oldest first. Each but the first is one after another; the last may
    /// be open.
    pub rounds: Vec<KeptRound>,
}

/// A round with all that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptRound {
    /// What is known of it.
    pub round: Round,
    /// Its deltas, by sequence.
    pub deltas: Vec<Delta>,
    /// What became of each; of none while it is open.
    pub fates: Vec<Fate>,
    /// The state it made; `None` while it is open.
    pub state: Option<State>,
}

impl RoundHistory {
    /// Returns whether there never was a round.
    pub fn is_empty(&self) -> bool {
        self.rounds.is_empty()
    }
}
