//! The parameters of operations on rounds (spec 11).

use super::{Clip, PROPOSAL_DELTAS_MAX, Plan, Reported, Secret, SentDelta, SentPath};
use crate::{
    Error,
    key::{Line, RequestId},
    order::sorted,
    participant::Participant,
};

/// A request to open a round.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenRound {
    /// The plan of the round.
    pub plan: Plan,
    /// The subject of the session, for its first round only. Later rounds change it with
    /// a delta.
    pub query: Option<String>,
    /// The caller's name for this request, which makes a retry safe.
    pub request_id: Option<RequestId>,
}

/// Deltas that are proposed atomically.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The deltas, 1 to [`PROPOSAL_DELTAS_MAX`].
    pub deltas: Vec<SentDelta>,
    /// The caller's name for this request, which makes a retry safe.
    pub request_id: Option<RequestId>,
}

impl Proposal {
    /// Creates a proposal.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] without deltas, or with more than [`PROPOSAL_DELTAS_MAX`].
    pub fn new(deltas: Vec<SentDelta>, request_id: Option<RequestId>) -> Result<Self, Error> {
        check_deltas(deltas.len())?;
        Ok(Self { deltas, request_id })
    }
}

/// Validates the number of deltas of a proposal.
///
/// # Errors
///
/// [`Error::Malformed`] for 0 deltas, or more than [`PROPOSAL_DELTAS_MAX`].
pub fn check_deltas(count: usize) -> Result<(), Error> {
    if (1..=PROPOSAL_DELTAS_MAX).contains(&count) {
        return Ok(());
    }
    Err(Error::malformed(format!(
        "the proposal has {count} deltas; it must have 1 to {PROPOSAL_DELTAS_MAX}"
    )))
}

/// A request to withdraw or reject deltas of the open round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExcludeDeltas {
    /// The sequences of the deltas, 1 to [`PROPOSAL_DELTAS_MAX`], without duplicates.
    pub sequences: Vec<u32>,
    /// The reason of a rejection; `None` for a withdrawal.
    pub reason: Option<Line>,
    /// The caller's name for this request, which makes a retry safe.
    pub request_id: Option<RequestId>,
}

impl ExcludeDeltas {
    /// Creates a request to withdraw deltas or, with a reason, to reject them.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if there are no sequences, more than [`PROPOSAL_DELTAS_MAX`], or
    /// duplicates.
    pub fn new(
        sequences: Vec<u32>,
        reason: Option<Line>,
        request_id: Option<RequestId>,
    ) -> Result<Self, Error> {
        if !(1..=PROPOSAL_DELTAS_MAX).contains(&sequences.len()) {
            return Err(Error::malformed(format!(
                "sequences has {} items; it must have 1 to {PROPOSAL_DELTAS_MAX}",
                sequences.len()
            )));
        }
        let in_order = sorted(sequences.clone(), u32::cmp);
        if let Some((twice, _)) = in_order.iter().zip(in_order.iter().skip(1)).find(|(a, b)| a == b)
        {
            return Err(Error::malformed(format!(
                "sequences has {twice} twice; name each delta once"
            )));
        }
        Ok(Self { sequences, reason, request_id })
    }
}

/// A request to close a round.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CloseRound {
    /// The parts to remove if the state exceeds its limit; as in the plan when `None`.
    pub clip: Option<Clip>,
    /// True if the deltas are discarded.
    pub discards: bool,
    /// The caller's name for this request, which makes a retry safe.
    pub request_id: Option<RequestId>,
}

/// A redaction of rounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactRounds {
    /// The text to redact.
    pub text: Secret,
    /// The reason.
    pub reason: Line,
}

impl RedactRounds {
    /// Creates a redaction of `text`.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`], also if the reason, which is visible to everyone, contains
    /// the text.
    pub fn new(text: &str, reason: Line) -> Result<Self, Error> {
        let secret = Secret::parse(text)?;
        if reason.as_str().contains(text) {
            return Err(Error::malformed(
                "the reason has the text in it, and everyone is told the reason; say what it was \
                 without repeating it",
            ));
        }
        Ok(Self { text: secret, reason })
    }
}

/// A request to read deltas.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadDeltas {
    /// Return only deltas on this path or below it.
    pub path: Option<SentPath>,
    /// Return only deltas of this round.
    pub round: Option<u64>,
    /// Return only deltas of this participant.
    pub participant: Option<Participant>,
    /// Return only deltas with this outcome.
    pub outcome: Option<Reported>,
    /// True if values and provenances are left out.
    pub is_brief: bool,
    /// Return only deltas after this one, by round and sequence.
    pub after: Option<(u64, u32)>,
    /// The most deltas to return.
    pub limit: u32,
}
