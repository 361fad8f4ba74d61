//! What is known of a round besides its deltas.

use super::{
    Clip, Clipped, Convergence, DELTAS_BYTES_MAX, DELTAS_MAX, Plan, RoundError, RoundLimit,
    SHARE_BYTES_MAX, SHARE_DELTAS_MAX, plan::BYTES_MAX_DEFAULT,
};
use crate::{Error, participant::Participant, time::Timestamp};

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

/// How many deltas there are in a round, and what they come to among
/// [`DELTAS_BYTES_MAX`](super::DELTAS_BYTES_MAX): of one participant, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) deltas: u32,
    pub(crate) bytes: u32,
}

impl Share {
    /// Adds a delta that counts for so many bytes.
    pub(crate) fn add(&mut self, bytes: u32) {
        self.deltas = self.deltas.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Rejects more than a participant may propose to one round.
    ///
    /// # Errors
    ///
    /// [`RoundError::Full`].
    pub(crate) fn check_own(self) -> Result<(), Error> {
        let Self { deltas, bytes } = self;
        let over = if deltas > SHARE_DELTAS_MAX {
            RoundLimit::OwnDeltas { deltas, deltas_max: SHARE_DELTAS_MAX }
        } else if bytes > SHARE_BYTES_MAX {
            RoundLimit::OwnBytes { bytes, bytes_max: SHARE_BYTES_MAX }
        } else {
            return Ok(());
        };
        Err(RoundError::Full { over }.into())
    }

    /// Rejects more than a round takes.
    ///
    /// # Errors
    ///
    /// [`RoundError::Full`].
    pub(crate) fn check_all(self) -> Result<(), Error> {
        let Self { deltas, bytes } = self;
        let over = if deltas > DELTAS_MAX {
            RoundLimit::Deltas { deltas, deltas_max: DELTAS_MAX }
        } else if bytes > DELTAS_BYTES_MAX {
            RoundLimit::Bytes { bytes, bytes_max: DELTAS_BYTES_MAX }
        } else {
            return Ok(());
        };
        Err(RoundError::Full { over }.into())
    }
}
