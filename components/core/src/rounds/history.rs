//! The retained rounds of a session, as one value.

use super::{Delta, DeltaOutcome, Round, State};

/// The retained rounds of an exported session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoundHistory {
    /// The query that the first round was opened with, if it had one and its initial
    /// state is retained.
    pub query: Option<String>,
    /// The rounds, oldest first, with consecutive numbers. The last may be open.
    pub rounds: Vec<KeptRound>,
}

/// A round with its deltas, outcomes and state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptRound {
    /// The round's metadata.
    pub round: Round,
    /// Its deltas, by sequence.
    pub deltas: Vec<Delta>,
    /// The outcomes of the deltas, by sequence; while it is open, only of the withdrawn
    /// and rejected ones.
    pub outcomes: Vec<DeltaOutcome>,
    /// The resulting state; `None` while it is open.
    pub state: Option<State>,
}

impl RoundHistory {
    /// Returns true if there are no rounds.
    pub fn is_empty(&self) -> bool {
        self.rounds.is_empty()
    }
}
