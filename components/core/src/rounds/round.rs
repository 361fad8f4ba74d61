//! What is known of a round besides its deltas.

use super::{Clip, Clipped, Convergence, Plan, plan::BYTES_MAX_DEFAULT};
use crate::{participant::Participant, time::Timestamp};

/// A round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// Its number, from 1.
    pub number: u64,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// By whom.
    pub opened_by: Participant,
    /// With what.
    pub plan: Plan,
    /// The limit of the state, in bytes.
    pub bytes_max: u32,
    /// How many deltas it has.
    pub deltas: u32,
    /// How it ended; `None` while it is open.
    pub ended: Option<Ended>,
}

/// How a round ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// When.
    pub at: Timestamp,
    /// By whom it was closed.
    pub by: Participant,
    /// Whether none of its deltas was to be applied.
    pub is_discarded: bool,
    /// The size of the state it made, in bytes.
    pub bytes: u32,
    /// How many deltas were applied, as a whole or in part.
    pub applied: u32,
    /// How many lost.
    pub lost: u32,
    /// How many were refused.
    pub refused: u32,
    /// What went because the state would have been too large.
    pub clipped: Vec<Clipped>,
    /// How it was chosen.
    pub clip: Clip,
    /// How much of the state is as it was.
    pub convergence: Convergence,
}

/// The rounds of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rounds {
    /// The number of the last round that ended; 0 when none did.
    pub(crate) last: u64,
    /// The earliest whose state is kept.
    pub(crate) oldest: u64,
    /// The limit of the state, in bytes.
    pub(crate) bytes_max: u32,
    /// The round that is open.
    pub(crate) open: Option<Round>,
    /// What its deltas come to among [`DELTAS_BYTES_MAX`](super::DELTAS_BYTES_MAX).
    pub(crate) open_bytes: u32,
}

impl Default for Rounds {
    fn default() -> Self {
        Self { last: 0, oldest: 0, bytes_max: BYTES_MAX_DEFAULT, open: None, open_bytes: 0 }
    }
}
