//! Delta rounds (spec 11): several specialists, one agreed state.
//!
//! A session's *round state* changes only by *deltas*. The orchestrator opens a
//! round with a *plan*: how much each participant weighs, and how disagreements
//! about which paths are settled. Participants propose deltas against the state as
//! it was when the round was opened; closing the round merges them into the next
//! state, and says of every delta what became of it.
//!
//! # Invariants
//!
//! - While a round is open its state stands still: whether a delta fits it is known
//!   when it is proposed.
//! - What a round makes of its deltas depends on them, on the plan and on the state,
//!   not on when they arrived; among deltas of one participant on their order.
//! - A concept that a term is bound to is never replaced by another one.
//!
//! # Map, in reading order
//!
//! `json`, `path` and `path_pattern` are what deltas and plans are made of, `plan` what a round is opened
//! with, `state` what it begins with. `check` tells whether a delta fits; `claim`
//! takes deltas apart, `merge` settles what they claim, `nesting` keeps of that what can
//! hold together, `apply` makes the next state of it, and `clip` makes that fit its limit. `close` puts these in a row. `redaction` takes
//! a text out of all of them. `commands` is what can be asked of rounds
//! and what is answered, `request` what is sent with it. `rows` is what
//! is stored of rounds, `stored` reads it, and carries and redacts it; `weight` counts what a round takes in a document.

mod apply;
mod check;
mod claim;
mod clip;
mod close;
mod commands;
mod history;
mod json;
mod merge;
mod nesting;
mod path;
mod path_pattern;
mod plan;
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
pub use close::{Closing, Fate, Loss, Status};
pub(crate) use close::{close, discard};
pub use commands::{Command, DeltaRead, DeltasPage, Proposed, Reply, RoundsRedacted, StateRead};
pub use history::{KeptRound, RoundHistory};
pub use json::{DEPTH_MAX, Json};
pub use merge::Why;
pub use path::{PATH_BYTES_MAX, Path, SentPath, Step};
pub use path_pattern::PathPattern;
pub use plan::{
    BYTES_MAX, BYTES_MAX_DEFAULT, Clip, Plan, RULES_MAX, Strategy, StrategyRule, Weight, WeightRule,
};
pub(crate) use redaction::Redaction;
pub use redaction::{SECRET_CHARS, Secret};
pub use request::{CloseRound, OpenRound, Proposal, ReadDeltas, RedactRounds, check_deltas};
pub use round::{Ended, Round};
pub(crate) use round::{Rounds, Share};
pub use state::{Convergence, Mark, Marks, State};

/// The members of every round state (spec 11.1).
pub(crate) const MEMBERS: [&str; 4] = [QUERY, BINDINGS, ENTITIES, RULES];
/// What the session is about: a text.
pub(crate) const QUERY: &str = "query";
/// Terms, each bound to the id of a concept.
pub(crate) const BINDINGS: &str = "bindings";
/// What was found: a list.
pub(crate) const ENTITIES: &str = "entities";
/// Which rules were evaluated, to what: a list.
pub(crate) const RULES: &str = "rules";

/// The most deltas of one round.
pub const DELTAS_MAX: u32 = 2_000;
/// The most bytes of all deltas of one round: of their values and provenances, and of
/// each place they speak of its path and 96 bytes; 32 comparisons with the patterns of
/// the plan count for one. The work of closing is bounded by them.
pub const DELTAS_BYTES_MAX: u32 = 1 << 20;
/// The most deltas of one participant, also the orchestrator, in one round: a quarter, so
/// that nobody fills it alone.
pub const SHARE_DELTAS_MAX: u32 = DELTAS_MAX / 4;
/// The most bytes of one participant's deltas in one round, counted as those of all.
pub const SHARE_BYTES_MAX: u32 = DELTAS_BYTES_MAX / 4;
/// What a place that a delta speaks of counts for besides its path: if the delta loses
/// there, to whom and why is kept.
const PLACE_BYTES: usize = 96;
/// How many comparisons of a path's steps with the patterns of a plan count for a byte: a
/// plan of many long patterns takes more time for each place than the place itself.
const COMPARISONS_PER_BYTE: usize = 16;
/// The most deltas that are proposed at once.
pub const PROPOSAL_DELTAS_MAX: usize = 200;
/// The longest provenance, in characters.
pub const PROVENANCE_CHARS_MAX: usize = 1_000;
/// How many rounds back states and deltas are kept; fewer where they take more than
/// [`KEPT_BYTES_MAX`].
pub const ROUNDS_KEPT: u64 = 64;
/// The most bytes that rounds that ended take in the document of a session. The last one
/// is kept, whatever it takes.
pub const KEPT_BYTES_MAX: u64 = 4 << 20;

/// What a delta does at its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// There is something more: a new member, more members, more items.
    Add,
    /// What is there becomes something else.
    Modify,
    /// What is there goes.
    Remove,
}

impl Operation {
    /// Every operation.
    pub const ALL: [Self; 3] = [Self::Add, Self::Modify, Self::Remove];

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Modify => "modify",
            Self::Remove => "remove",
        }
    }
}

/// Why a change is proposed: 1 to 1,000 characters, not only spaces, no control
/// characters but line breaks and tabs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance(String);

impl Provenance {
    /// Checks `text` and takes it as a provenance.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        let length_fits = text.chars().count() <= PROVENANCE_CHARS_MAX;
        let is_told = !text.trim().is_empty();
        if length_fits && is_told && !text.contains(|c: char| c.is_control() && !"\n\t".contains(c))
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
    /// What it does.
    pub operation: Operation,
    /// Where.
    pub path: SentPath,
    /// With what; `None` for `Remove`, and for nothing else.
    pub value: Option<Json>,
    /// Why.
    pub provenance: Provenance,
}

impl SentDelta {
    /// Returns a delta of these, as they were sent.
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
    /// Its number in its round, from 1.
    pub sequence: u32,
    /// Who proposed it.
    pub participant: Participant,
    /// When.
    pub proposed_at: Timestamp,
    /// What it does.
    pub operation: Operation,
    /// Where, in the state that its round began with.
    pub path: Path,
    /// With what; `None` for `Remove`, and for nothing else.
    pub value: Option<Json>,
    /// Why.
    pub provenance: Provenance,
}
