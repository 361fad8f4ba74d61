//! The operations on rounds, and their replies.

use super::{
    CloseRound, Delta, DeltaOutcome, Json, OpenRound, Proposal, ReadDeltas, RedactRounds, Round,
    Weight,
};

/// An operation on a session's rounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Opens a round.
    Open(Box<OpenRound>),
    /// Proposes deltas to the open round, atomically.
    Propose(Proposal),
    /// Closes the open round.
    Close(CloseRound),
    /// Reads the round state.
    ReadState {
        /// Read the state after this round; the current state when `None`.
        round: Option<u64>,
    },
    /// Reads deltas and their outcomes, oldest first.
    ReadDeltas(ReadDeltas),
    /// Reads the convergence of the closed rounds, oldest first.
    ReadConvergence,
    /// Replaces every text in rounds that contains this with a marker, in every
    /// place it is stored.
    Redact(RedactRounds),
}

/// The reply to an operation on rounds. The doc of each variant names its operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// To `Open` and `Close`.
    Round(Box<Round>),
    /// To `Propose`.
    Proposed(Proposed),
    /// To `ReadState`.
    State(Box<StateRead>),
    /// To `ReadDeltas`.
    Deltas(DeltasPage),
    /// To `ReadConvergence`: the retained closed rounds.
    Convergence(Vec<Round>),
    /// To `Redact`.
    Redacted(RoundsRedacted),
}

/// The sequence numbers of proposed deltas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proposed {
    /// The round.
    pub round: u64,
    /// The sequence of the first delta; the others follow.
    pub first: u32,
    /// The number of deltas.
    pub count: u32,
}

impl Proposed {
    /// Returns the sequence of the last delta.
    pub fn last(self) -> u32 {
        self.first.saturating_add(self.count).saturating_sub(1)
    }
}

/// The current or an earlier round state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateRead {
    /// The round that produced it; 0 before the first.
    pub round: u64,
    /// The document: `query`, `bindings`, `entities` and `rules`.
    pub document: Json,
    /// The limit of its size, in bytes.
    pub bytes_max: u32,
    /// The open round, if this is the current state.
    pub open: Option<Round>,
}

/// A delta and its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeltaRead {
    /// The delta's round.
    pub round: u64,
    /// The delta.
    pub delta: Delta,
    /// The weight of its participant.
    pub weight: Weight,
    /// The outcome; `None` while its round is open.
    pub outcome: Option<DeltaOutcome>,
}

/// A page of a session's deltas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeltasPage {
    /// The deltas, oldest first.
    pub deltas: Vec<DeltaRead>,
    /// True if values and provenances are left out of the reply.
    pub is_brief: bool,
    /// The `after` of the next page, by round and sequence; `None` on the last page.
    pub next_after: Option<(u64, u32)>,
}

/// The result of a redaction in rounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundsRedacted {
    /// The number of replaced strings.
    pub places: u32,
    /// The markers that replaced them, without duplicates: `redacted:` and the first 16
    /// hexadecimal digits of the SHA-256 of the replaced text.
    pub markers: Vec<String>,
}
