//! What can be wrong with a delta, a round or a question about them.

use std::fmt;

use super::Error;
use crate::code::Code;

/// Why what was asked does not fit the rounds of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RoundError {
    /// The path is none that a delta, a pattern or a question can name.
    InvalidPath {
        /// What was sent.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A round is open already.
    Open {
        /// Its number.
        round: u64,
    },
    /// No round is open.
    NotOpen {
        /// The number of the last round; 0 when there was none.
        last: u64,
    },
    /// Nothing is known of this round: it is yet to come, or no longer kept.
    NotFound {
        /// The round asked for.
        round: u64,
        /// The earliest that is kept.
        oldest: u64,
        /// The latest.
        newest: u64,
    },
    /// There is no such place in the state.
    PathNotFound {
        /// The place.
        path: String,
        /// What is missing, and what to do.
        why: &'static str,
    },
    /// A delta adds what is there already, as something else.
    PathExists {
        /// The place.
        path: String,
    },
    /// A delta binds a term to another concept than the one it is bound to.
    IdentityConflict {
        /// The term's place.
        path: String,
        /// The concept it is bound to.
        bound_to: String,
    },
    /// The round would have more deltas than it may, or larger ones.
    Full {
        /// What it would be.
        over: RoundLimit,
    },
    /// The state would be larger than it may, and nothing more can be clipped.
    StateTooLarge {
        /// What its size would be.
        bytes: u32,
        /// The limit.
        bytes_max: u32,
        /// Its largest parts, largest first: where room can be made.
        largest: Vec<String>,
    },
    /// The state would have more parts than it may, and nothing more can be clipped.
    TooManyParts {
        /// How many it would have.
        parts: u32,
        /// The limit.
        parts_max: u32,
    },
    /// One delta of a proposal was refused, and so the whole proposal.
    InProposal {
        /// Its place in the list, from 1.
        nth: usize,
        /// Why.
        error: Box<Error>,
    },
}

/// A limit of a round, and what a proposal would have made of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoundLimit {
    /// The number of its deltas.
    Deltas {
        /// What it would have been.
        deltas: u32,
        /// The limit.
        deltas_max: u32,
    },
    /// The bytes of their values and provenances, and of the places they speak of.
    Bytes {
        /// What they would have been.
        bytes: u32,
        /// The limit.
        bytes_max: u32,
    },
    /// The number of the deltas of who proposes.
    OwnDeltas {
        /// What it would have been.
        deltas: u32,
        /// The limit.
        deltas_max: u32,
    },
    /// The bytes of the deltas of who proposes, counted as those of all.
    OwnBytes {
        /// What they would have been.
        bytes: u32,
        /// The limit.
        bytes_max: u32,
    },
}

/// How much of a path is told that may be none.
const PATH_SHOWN_CHARS_MAX: usize = 120;

impl RoundError {
    /// Returns the name of this error.
    pub fn code(&self) -> Code {
        match self {
            Self::InvalidPath { .. } => Code::InvalidPath,
            Self::Open { .. } => Code::RoundOpen,
            Self::NotOpen { .. } => Code::RoundNotOpen,
            Self::NotFound { .. } => Code::RoundNotFound,
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
            Self::PathNotFound { path, why } => write!(f, "{}: {why}", shown(path)),
            Self::PathExists { path } => {
                write!(f, "{} is there already, as something else; modify it instead", shown(path))
            }
            Self::IdentityConflict { path, bound_to } => write!(
                f,
                "{} is bound to {:?}, and a concept, once bound, stays; use another term, or ask \
                 the orchestrator to remove the binding",
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
