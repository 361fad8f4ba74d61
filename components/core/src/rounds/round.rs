//! The metadata of rounds, without their deltas.

use super::{
    Clip, Clipped, Convergence, DELTAS_BYTES_MAX, DELTAS_MAX, OutcomeCounts, Plan, RoundError,
    RoundLimit, SHARE_BYTES_MAX, SHARE_DELTAS_MAX, plan::BYTES_MAX_DEFAULT,
};
use crate::{Error, participant::Participant, time::Timestamp};

/// A round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// The round's number, from 1.
    pub number: u64,
    /// The time it was opened.
    pub opened_at: Timestamp,
    /// The participant that opened it.
    pub opened_by: Participant,
    /// Its plan.
    pub plan: Plan,
    /// The limit of the state, in bytes.
    pub bytes_max: u32,
    /// The number of its deltas.
    pub deltas: u32,
    /// Its end; `None` while it is open.
    pub ended: Option<Ended>,
}

/// The end of a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The time it was closed.
    pub at: Timestamp,
    /// The participant that closed it.
    pub by: Participant,
    /// True if its deltas were discarded.
    pub is_discarded: bool,
    /// The size of the resulting state, in bytes.
    pub bytes: u32,
    /// The numbers of its deltas, by outcome.
    pub counts: OutcomeCounts,
    /// The parts removed because the state exceeded its limit.
    pub clipped: Vec<Clipped>,
    /// The policy that chose those parts.
    pub clip: Clip,
    /// The share of the state that did not change.
    pub convergence: Convergence,
}

/// The rounds of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rounds {
    /// The number of the last closed round; 0 before the first is closed.
    pub(crate) last: u64,
    /// The oldest round whose state is retained.
    pub(crate) oldest: u64,
    /// The limit of the state, in bytes.
    pub(crate) bytes_max: u32,
    /// The open round.
    pub(crate) open: Option<Round>,
    /// The bytes of its deltas that count toward
    /// [`DELTAS_BYTES_MAX`](super::DELTAS_BYTES_MAX).
    pub(crate) open_bytes: u32,
}

impl Default for Rounds {
    fn default() -> Self {
        Self { last: 0, oldest: 0, bytes_max: BYTES_MAX_DEFAULT, open: None, open_bytes: 0 }
    }
}

/// The number of deltas in a round, and their bytes that count toward
/// [`DELTAS_BYTES_MAX`](super::DELTAS_BYTES_MAX): of one participant, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) deltas: u32,
    pub(crate) bytes: u32,
}

impl Share {
    /// Adds a delta that counts `bytes`.
    pub(crate) fn add(&mut self, bytes: u32) {
        self.deltas = self.deltas.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Rejects a share over the limits of one participant in one round.
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

    /// Rejects a share over the limits of a round.
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
