//! What can be asked of rounds (spec 11).

use super::{Clip, PROPOSAL_DELTAS_MAX, Plan, Secret, SentDelta, SentPath};
use crate::{
    Error,
    key::{Line, RequestId},
};

/// How a round is opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenRound {
    /// With what.
    pub plan: Plan,
    /// What the session is about, for its first round: later ones change it by a
    /// delta.
    pub query: Option<String>,
    /// The caller's name for this request, which makes a retry safe.
    pub request_id: Option<RequestId>,
}

/// Deltas that are proposed together or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The deltas, 1 to [`PROPOSAL_DELTAS_MAX`].
    pub deltas: Vec<SentDelta>,
    /// The caller's name for this request, which makes a retry safe.
    pub request_id: Option<RequestId>,
}

impl Proposal {
    /// Returns a proposal of these.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] when there is none, or more than
    /// [`PROPOSAL_DELTAS_MAX`].
    pub fn new(deltas: Vec<SentDelta>, request_id: Option<RequestId>) -> Result<Self, Error> {
        check_deltas(deltas.len())?;
        Ok(Self { deltas, request_id })
    }
}

/// Checks the number of deltas of a proposal, as they were sent.
///
/// # Errors
///
/// [`Error::Malformed`] when there is none or more than [`PROPOSAL_DELTAS_MAX`].
pub fn check_deltas(count: usize) -> Result<(), Error> {
    if (1..=PROPOSAL_DELTAS_MAX).contains(&count) {
        return Ok(());
    }
    Err(Error::malformed(format!(
        "the proposal has {count} deltas; it must have 1 to {PROPOSAL_DELTAS_MAX}"
    )))
}

/// How a round is closed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CloseRound {
    /// What goes when the state would be over its limit; as the plan says when
    /// `None`.
    pub clip: Option<Clip>,
    /// Whether none of the deltas is to be applied.
    pub discards: bool,
    /// The caller's name for this request, which makes a retry safe.
    pub request_id: Option<RequestId>,
}

/// A redaction of rounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactRounds {
    /// What is to go.
    pub text: Secret,
    /// Why.
    pub reason: Line,
}

impl RedactRounds {
    /// Returns a redaction of `text`.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`], also when the reason, which everyone is told, has the text
    /// in it.
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

/// Which deltas are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadDeltas {
    /// Only those that touch this place, or what is below it.
    pub path: Option<SentPath>,
    /// Only those of this round.
    pub round: Option<u64>,
    /// Only those after this one, by round and sequence.
    pub after: Option<(u64, u32)>,
    /// How many at most.
    pub limit: u32,
}
