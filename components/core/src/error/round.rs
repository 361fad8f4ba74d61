//! The errors of rounds: of deltas, plans, and requests that read them.

use std::fmt;

use super::Error;
use crate::{code::Code, participant::Participant};

/// The reason a request on rounds was rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RoundError {
    /// The path is invalid for a delta, a pattern or a query.
    InvalidPath {
        /// The path as it was sent.
        path: String,
        /// The reason it is invalid.
        why: &'static str,
    },
    /// The path of a strategy is no valid pattern.
    InvalidPattern {
        /// The position of the strategy in the list, from 1.
        nth: usize,
        /// The pattern as it was sent.
        path: String,
        /// The reason it is invalid.
        why: &'static str,
    },
    /// A round is open already.
    Open {
        /// The number of the open round.
        round: u64,
    },
    /// No round is open.
    NotOpen {
        /// The number of the last round; 0 when there was none.
        last: u64,
    },
    /// The round does not exist yet, or is no longer retained.
    NotFound {
        /// The requested round.
        round: u64,
        /// The oldest retained round.
        oldest: u64,
        /// The newest round.
        newest: u64,
    },
    /// The open round has no delta with this sequence.
    DeltaNotFound {
        /// The open round.
        round: u64,
        /// The requested sequence.
        sequence: u32,
        /// The number of deltas of the round.
        deltas: u32,
    },
    /// A participant withdraws a delta that another one proposed.
    NotOwn {
        /// The sequence of the delta.
        sequence: u32,
        /// The participant that proposed it.
        participant: Participant,
    },
    /// The path does not exist in the state.
    PathNotFound {
        /// The path.
        path: String,
        /// The missing part, and how to proceed.
        why: &'static str,
    },
    /// A delta adds a path that already exists with a different value.
    PathExists {
        /// The path.
        path: String,
    },
    /// A delta binds a term that is already bound to another concept.
    IdentityConflict {
        /// The path of the term.
        path: String,
        /// The concept it is bound to.
        bound_to: String,
    },
    /// The round would exceed a limit on its deltas.
    Full {
        /// The limit that would be exceeded.
        over: RoundLimit,
    },
    /// The state would exceed its size limit, and nothing more can be clipped.
    StateTooLarge {
        /// The size of the new state.
        bytes: u32,
        /// The limit.
        bytes_max: u32,
        /// Its largest parts, largest first: candidates to remove.
        largest: Vec<String>,
    },
    /// The state would have too many parts, and nothing more can be clipped.
    TooManyParts {
        /// The number of parts of the new state.
        parts: u32,
        /// The limit.
        parts_max: u32,
    },
    /// One delta of a proposal was rejected, which rejects the whole proposal.
    InProposal {
        /// The position of that delta in the list, from 1.
        nth: usize,
        /// The error of that delta.
        error: Box<Error>,
    },
}

/// A limit of a round, and the value the proposal would have reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoundLimit {
    /// The number of its deltas.
    Deltas {
        /// The number after the proposal.
        deltas: u32,
        /// The limit.
        deltas_max: u32,
    },
    /// The bytes of the values, provenances and paths of all deltas.
    Bytes {
        /// The bytes after the proposal.
        bytes: u32,
        /// The limit.
        bytes_max: u32,
    },
    /// The number of deltas by the proposer.
    OwnDeltas {
        /// The number after the proposal.
        deltas: u32,
        /// The limit.
        deltas_max: u32,
    },
    /// The bytes of the proposer's deltas, counted like [`RoundLimit::Bytes`].
    OwnBytes {
        /// The bytes after the proposal.
        bytes: u32,
        /// The limit.
        bytes_max: u32,
    },
}

/// The most characters of an invalid path that an error shows.
const PATH_SHOWN_CHARS_MAX: usize = 120;

impl RoundError {
    /// Returns the code of this error.
    pub fn code(&self) -> Code {
        match self {
            Self::InvalidPath { .. } | Self::InvalidPattern { .. } => Code::InvalidPath,
            Self::Open { .. } => Code::RoundOpen,
            Self::NotOpen { .. } => Code::RoundNotOpen,
            Self::NotFound { .. } => Code::RoundNotFound,
            Self::DeltaNotFound { .. } => Code::DeltaNotFound,
            Self::NotOwn { .. } => Code::Forbidden,
            Self::PathNotFound { .. } => Code::PathNotFound,
            Self::PathExists { .. } => Code::PathExists,
            Self::IdentityConflict { .. } => Code::IdentityConflict,
            Self::Full { .. } => Code::RoundFull,
            Self::StateTooLarge { .. } | Self::TooManyParts { .. } => Code::StateTooLarge,
            Self::InProposal { error, .. } => error.code(),
        }
    }
}

impl fmt::Display for RoundError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidPath { path, why } => write!(
                f,
                "path {:?} cannot be used: {why}; a path names one place, for example \
                 $.bindings.customer or $.entities[0].name",
                shown(path)
            ),
            Self::InvalidPattern { nth, path, why } => write!(
                f,
                "strategies[item {nth}]: path {:?} cannot be used: {why}; a pattern selects one \
                 place or several, for example $.bindings or $.entities[*].type",
                shown(path)
            ),
            Self::Open { round } => write!(
                f,
                "round {round} is open already; propose deltas to it, and close it before you \
                 open the next"
            ),
            Self::NotOpen { last: 0 } => {
                f.write_str("no round is open; the orchestrator opens one with open_round")
            }
            Self::NotOpen { last } => write!(
                f,
                "no round is open, round {last} is closed; wait for the orchestrator to open the \
                 next, and propose against the state as read_state shows it then"
            ),
            Self::NotFound { round, oldest, newest } => {
                write!(f, "nothing is known of round {round}; {oldest} to {newest} are kept")
            }
            Self::DeltaNotFound { round, deltas: 0, .. } => write!(
                f,
                "round {round} has no deltas yet; read_deltas lists them once they are proposed"
            ),
            Self::DeltaNotFound { round, sequence, deltas } => write!(
                f,
                "round {round} has no delta {sequence}, its deltas are 1 to {deltas}; read_deltas \
                 with the outcome pending lists those that can still be withdrawn or rejected"
            ),
            Self::NotOwn { sequence, participant } => write!(
                f,
                "delta {sequence} was proposed by {participant}, and only the proposer may \
                 withdraw a delta; read_deltas with your name as the participant lists your own"
            ),
            Self::PathNotFound { path, why } => write!(f, "{}: {why}", shown(path)),
            Self::PathExists { path } => {
                write!(f, "{} is there already, as something else; modify it instead", shown(path))
            }
            Self::IdentityConflict { path, bound_to } => write!(
                f,
                "{} is bound to {:?}, and a concept, once bound, stays; use another term, or \
                 propose the reason to the orchestrator, who may bind it anew with modify",
                shown(path),
                shown(bound_to)
            ),
            Self::Full { over: RoundLimit::Deltas { deltas, deltas_max } } => write!(
                f,
                "the round would have {deltas} deltas, it takes at most {deltas_max}; say more \
                 with one delta, an object or a list holds many values, or wait for the next round"
            ),
            Self::Full { over: RoundLimit::Bytes { bytes, bytes_max } } => write!(
                f,
                "the deltas of the round would have {bytes} bytes, counted with the places they \
                 speak of, it takes at most {bytes_max}; propose conclusions only, or wait for the \
                 next round"
            ),
            Self::Full { over: RoundLimit::OwnDeltas { deltas, deltas_max } } => write!(
                f,
                "the round would have {deltas} deltas of yours, it takes at most {deltas_max} of \
                 each participant; say more with one delta, an object or a list holds many \
                 values, or wait for the next round"
            ),
            Self::Full { over: RoundLimit::OwnBytes { bytes, bytes_max } } => write!(
                f,
                "your deltas of the round would have {bytes} bytes, counted with the places they \
                 speak of, it takes at most {bytes_max} of each participant; propose conclusions \
                 only, or wait for the next round"
            ),
            Self::StateTooLarge { bytes, bytes_max, largest } => {
                write!(
                    f,
                    "the state would have {bytes} bytes, it holds at most {bytes_max}; close the \
                     round with another clip, or discard it"
                )?;
                if largest.is_empty() {
                    return Ok(());
                }
                write!(f, "; its largest parts are {}", largest.join(", "))
            }
            Self::TooManyParts { parts, parts_max } => write!(
                f,
                "the state would have {parts} bindings, entities and rules, it holds at most \
                 {parts_max}; close the round with another clip, or discard it"
            ),
            Self::InProposal { nth, error } => write!(f, "delta {nth}: {error}"),
        }
    }
}

fn shown(text: &str) -> String {
    text.chars().take(PATH_SHOWN_CHARS_MAX).collect()
}
