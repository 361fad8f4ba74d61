//! Delta rounds (spec 11): several specialists, one agreed state.
//!
//! A session's *round state* changes only by *deltas*. The orchestrator opens a round
//! with a *plan*: the weight of each participant, and the strategy that resolves
//! disagreements about each path. Participants propose deltas against the state at the
//! opening of the round. Closing the round merges them into the next state and reports
//! the outcome of every delta.
//!
//! # Invariants
//!
//! - While a round is open its state does not change. So a delta is validated when it is
//!   proposed.
//! - The result of a round depends on its pending deltas, the plan and the state, not on the
//!   order of arrival. Only the deltas of one participant depend on their order.
//! - A concept that a term is bound to is never replaced by another one.
//!
//! # Map, in reading order
//!
//! `json`, `path` and `path_pattern` are the parts of deltas and plans. `plan` is the
//! plan of a round, `state` its state. `check` validates a delta. `claim` splits deltas
//! into claims on single paths, and `merge` resolves these claims. `nesting` drops those
//! that cannot hold together. `apply` builds the next state, and `clip` makes it fit its
//! limit. `close` runs these steps in order. `exclusion` leaves withdrawn and rejected deltas
//! out of them, and `preview` reports what a proposal would lose. `redaction` removes a text
//! from all of them.
//! `commands` has the operations on rounds and their replies, `request` their parameters.
//! `rows` defines the stored rows; `stored` reads, exports and redacts them. `weight`
//! counts the size of a round in a document.

mod apply;
mod check;
mod claim;
mod clip;
mod close;
mod commands;
mod exclusion;
mod history;
mod json;
mod merge;
mod nesting;
mod path;
mod path_pattern;
mod plan;
mod preview;
mod redaction;
mod request;
mod round;
pub(crate) mod rows;
mod state;
pub(crate) mod stored;
pub(crate) mod weight;

use crate::{Error, participant::Participant, time::Timestamp};

pub use crate::error::{RoundError, RoundLimit};
pub(crate) use check::check;
pub(crate) use clip::check_size;
pub use clip::{Clipped, PARTS_MAX};
pub use close::{Closing, DeltaOutcome, Loss, OutcomeCounts, Reported, Status};
pub(crate) use close::{close, discard};
pub use commands::{
    Closed, Command, DeltaLoss, DeltaRead, DeltasPage, ExclusionResult, LOSSES_MAX, Proposed,
    Reply, RoundsRedacted, StateRead,
};
pub(crate) use exclusion::Exclusions;
pub use history::{KeptRound, RoundHistory};
pub use json::{DEPTH_MAX, Json};
pub use merge::Why;
pub use path::{PATH_BYTES_MAX, Path, SentPath, Step};
pub use path_pattern::PathPattern;
pub use plan::{
    BYTES_MAX, BYTES_MAX_DEFAULT, Clip, Plan, RULES_MAX, Strategy, StrategyRule, Weight, WeightRule,
};
pub use preview::{Effect, ProposedDelta};
pub(crate) use preview::{has_losses, preview};
pub(crate) use redaction::Redaction;
pub use redaction::{SECRET_CHARS, Secret};
pub use request::{
    CloseRound, ExcludeDeltas, OpenRound, Proposal, ReadDeltas, RedactRounds, check_deltas,
};
pub use round::{Ended, Round};
pub(crate) use round::{Rounds, Share};
pub use state::{Convergence, Mark, Marks, State};

/// The members of every round state (spec 11.1).
pub(crate) const MEMBERS: [&str; 4] = [QUERY, BINDINGS, ENTITIES, RULES];
/// The subject of the session: a string.
pub(crate) const QUERY: &str = "query";
/// Terms, each bound to the id of a concept.
pub(crate) const BINDINGS: &str = "bindings";
/// The findings: a list.
pub(crate) const ENTITIES: &str = "entities";
/// The evaluated rules and their results: a list.
pub(crate) const RULES: &str = "rules";

/// The most deltas of one round.
pub const DELTAS_MAX: u32 = 2_000;
/// The most bytes of all deltas of one round. They count values and provenances, and for
/// each claimed path its length and 96 bytes. Each 16 comparisons with the plan's
/// patterns count one byte more. The limit bounds the work of closing a round.
pub const DELTAS_BYTES_MAX: u32 = 1 << 20;
/// The most deltas of one participant, including the orchestrator, in one round: a quarter, so that
/// no participant can fill the round alone.
pub const SHARE_DELTAS_MAX: u32 = DELTAS_MAX / 4;
/// The most bytes of one participant's deltas in one round, counted like
/// [`DELTAS_BYTES_MAX`].
pub const SHARE_BYTES_MAX: u32 = DELTAS_BYTES_MAX / 4;
/// The bytes a claimed path counts besides its length: for a lost claim, the winner and
/// the reason are stored.
const PLACE_BYTES: usize = 96;
/// The number of comparisons of a step with a plan's patterns that count as one byte.
/// Matching many long patterns can take more time than the claim itself.
const COMPARISONS_PER_BYTE: usize = 16;
/// The most deltas of one proposal.
pub const PROPOSAL_DELTAS_MAX: usize = 200;
/// The longest provenance, in characters.
pub const PROVENANCE_CHARS_MAX: usize = 1_000;
/// The number of rounds whose states and deltas are retained; fewer if they take more
/// than [`KEPT_BYTES_MAX`].
pub const ROUNDS_KEPT: u64 = 64;
/// The most bytes of closed rounds in the document of a session. The last one is retained
/// at any size.
pub const KEPT_BYTES_MAX: u64 = 4 << 20;

/// The operation of a delta at its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Adds a new member, several members, or list items.
    Add,
    /// Replaces the current value.
    Modify,
    /// Removes the current value.
    Remove,
}

impl Operation {
    /// Every operation.
    pub const ALL: [Self; 3] = [Self::Add, Self::Modify, Self::Remove];

    /// Returns the operation's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Modify => "modify",
            Self::Remove => "remove",
        }
    }
}

/// The reason for a proposed change: 1 to 1,000 characters, not only spaces. Line breaks
/// and tabs are the only control characters allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance(String);

impl Provenance {
    /// Parses a provenance.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        let length_fits = text.chars().count() <= PROVENANCE_CHARS_MAX;
        let has_text = !text.trim().is_empty();
        if length_fits
            && has_text
            && !text.contains(|c: char| c.is_control() && !"\n\t".contains(c))
        {
            return Ok(Self(text.to_owned()));
        }
        Err(Error::malformed(format!(
            "provenance must say why, in 1 to {PROVENANCE_CHARS_MAX} characters, for example \
             \"Matched 'customer' to a concept by lookup\""
        )))
    }

    /// Returns the provenance as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A delta as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentDelta {
    /// The operation.
    pub operation: Operation,
    /// The path.
    pub path: SentPath,
    /// The value; `None` only for `Remove`.
    pub value: Option<Json>,
    /// The reason.
    pub provenance: Provenance,
}

impl SentDelta {
    /// Parses a delta.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`], then [`RoundError::InvalidPath`].
    pub fn new(
        operation: &str,
        path: &str,
        value: Option<&str>,
        provenance: &str,
    ) -> Result<Self, Error> {
        let known = Operation::ALL.into_iter().find(|it| it.as_str() == operation);
        let operation =
            known.ok_or_else(|| Error::malformed("operation must be add, modify or remove"))?;
        let value = match (operation, value) {
            (Operation::Remove, None) => None,
            (Operation::Remove, Some(_)) => {
                return Err(Error::malformed("a delta that removes has no value; leave it out"));
            }
            (_, Some(value)) => Some(Json::parse(value)?),
            (_, None) => {
                return Err(Error::malformed(format!(
                    "a delta to {} needs a value",
                    operation.as_str()
                )));
            }
        };
        let provenance = Provenance::parse(provenance)?;
        Ok(Self { operation, path: SentPath::parse(path)?, value, provenance })
    }
}

/// A delta of a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delta {
    /// The delta's number in its round, from 1.
    pub sequence: u32,
    /// The participant that proposed it.
    pub participant: Participant,
    /// The time of the proposal.
    pub proposed_at: Timestamp,
    /// The operation.
    pub operation: Operation,
    /// The path in the state at the opening of the round.
    pub path: Path,
    /// The value; `None` only for `Remove`.
    pub value: Option<Json>,
    /// The reason.
    pub provenance: Provenance,
}
