//! The operations on rounds, and their replies.

use super::{
    CloseRound, Delta, DeltaOutcome, ExcludeDeltas, Json, Loss, OpenRound, Proposal, ProposedDelta,
    ReadDeltas, RedactRounds, Round, Status, Weight,
};
use crate::participant::Participant;

/// An operation on a session's rounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Opens a round.
    Open(Box<OpenRound>),
    /// Proposes deltas to the open round, atomically.
    Propose(Proposal),
    /// Withdraws deltas of the caller from the open round or, with a reason, rejects
    /// deltas of it, atomically.
    Exclude(ExcludeDeltas),
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
    /// To `Open`.
    Round(Box<Round>),
    /// To `Close`.
    Closed(Box<Closed>),
    /// To `Propose`.
    Proposed(Proposed),
    /// To `Exclude`.
    Excluded(ExclusionResult),
    /// To `ReadState`.
    State(Box<StateRead>),
    /// To `ReadDeltas`.
    Deltas(DeltasPage),
    /// To `ReadConvergence`: the retained closed rounds.
    Convergence(Vec<Round>),
    /// To `Redact`.
    Redacted(RoundsRedacted),
}

impl Reply {
    /// Returns the number of the round that the reply is about; `None` if it is about all.
    pub fn round(&self) -> Option<u64> {
        match self {
            Self::Round(it) => Some(it.number),
            Self::Closed(it) => Some(it.round.number),
            Self::Proposed(it) => Some(it.round),
            Self::Excluded(it) => Some(it.round),
            Self::State(it) => Some(it.round),
            Self::Deltas(_) | Self::Convergence(_) | Self::Redacted(_) => None,
        }
    }
}

/// A closed round, and what lost in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// The round.
    pub round: Round,
    /// The first 100 losses, by sequence and path.
    pub losses: Vec<DeltaLoss>,
    /// The number of further losses.
    pub more_losses: u32,
}

/// A loss of a delta.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeltaLoss {
    /// The sequence of the delta.
    pub sequence: u32,
    /// The participant that proposed it.
    pub participant: Participant,
    /// The loss.
    pub loss: Loss,
}

/// The most losses in the reply to a close or a proposal.
pub const LOSSES_MAX: usize = 100;

impl Closed {
    /// Creates the reply about `round`, whose `deltas` had these `outcomes`, both by sequence.
    pub(crate) fn new(round: Round, deltas: &[Delta], outcomes: &[DeltaOutcome]) -> Self {
        let mut losses = Vec::new();
        let mut more_losses = 0_u32;
        for (outcome, loss) in outcomes.iter().flat_map(|it| it.losses.iter().map(move |l| (it, l)))
        {
            let by = deltas.iter().find(|it| it.sequence == outcome.sequence);
            match by.filter(|_| losses.len() < LOSSES_MAX) {
                Some(delta) => losses.push(DeltaLoss {
                    sequence: outcome.sequence,
                    participant: delta.participant.clone(),
                    loss: loss.clone(),
                }),
                None => more_losses = more_losses.saturating_add(1),
            }
        }
        Self { round, losses, more_losses }
    }
}

/// The proposed deltas, with their effects and losses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposed {
    /// The round.
    pub round: u64,
    /// The sequence of the first delta; the others follow.
    pub first: u32,
    /// The number of deltas.
    pub count: u32,
    /// The deltas, by sequence; empty in a stored reply of an earlier version.
    pub deltas: Vec<ProposedDelta>,
    /// True if the losses are known: they are computed as long as the round is small.
    pub has_losses: bool,
    /// The number of losses beyond the first 100.
    pub more_losses: u32,
}

impl Proposed {
    /// Returns the sequence of the last delta.
    pub fn last(&self) -> u32 {
        self.first.saturating_add(self.count).saturating_sub(1)
    }
}

/// The deltas that a request withdrew or rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExclusionResult {
    /// The round.
    pub round: u64,
    /// `Withdrawn` or `Rejected`.
    pub status: Status,
    /// The sequences of the deltas that have this outcome now, in order.
    pub sequences: Vec<u32>,
    /// The sequences of the deltas that had been withdrawn or rejected before, in order.
    pub unchanged: Vec<u32>,
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
    /// The outcome; `None` while it is pending.
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
