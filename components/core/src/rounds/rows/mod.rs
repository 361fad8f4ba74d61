//! The rows of rounds: their names, and what is in them.
//!
//! `r/head`, `r/s/<round>`, `r/d/<round>/<sequence>` and `r/c/<round>` hold the rounds;
//! the state after one; its deltas as they were proposed; how it ended.
//! `r/p/<participant>` holds how much a participant has proposed to the open round,
//! `r/sizes` how many bytes each of the last rounds takes.

mod round;

use super::Share;
use crate::{
    Error,
    participant::Participant,
    row::{decode, encode},
};

pub(crate) use round::{
    RoundRecord, close_digest, decode_deltas, decode_document, decode_ended, decode_rounds,
    decode_state, encode_deltas, encode_ended, encode_rounds, encode_state, open_digest,
    proposal_digest,
};

/// The row of [`Rounds`](crate::rounds::Rounds).
pub(crate) const ROUNDS: &str = "r/head";

/// The rows of what participants have proposed to the round that is open.
pub(crate) const SHARES: &str = "r/p/";

/// Returns the row of what `participant` has proposed to the round that is open.
pub(crate) fn share_row(participant: &Participant) -> String {
    format!("{SHARES}{participant}")
}

/// The row of how many bytes each of the last rounds that ended takes, oldest first.
pub(crate) const ROUND_SIZES: &str = "r/sizes";

/// Returns the row of the state that `round` made.
pub(crate) fn state_row(round: u64) -> String {
    format!("r/s/{round:016x}")
}

/// Returns the rows of the deltas of `round`.
pub(crate) fn delta_rows(round: u64) -> String {
    format!("r/d/{round:016x}/")
}

/// Returns the row of deltas of `round` that were proposed together, the first of them
/// with this sequence.
pub(crate) fn delta_row(round: u64, first: u32) -> String {
    format!("{}{first:016x}", delta_rows(round))
}

/// Returns the row of how `round` ended.
pub(crate) fn ended_row(round: u64) -> String {
    format!("r/c/{round:016x}")
}

/// Encodes what a participant has proposed to the open round.
pub(crate) fn encode_share(it: Share) -> Result<Vec<u8>, Error> {
    encode(&(it.deltas, it.bytes))
}

/// Decodes what a participant has proposed to the open round.
pub(crate) fn decode_share(bytes: &[u8]) -> Result<Share, Error> {
    let (deltas, bytes) = decode(bytes)?;
    Ok(Share { deltas, bytes })
}

/// Encodes how many bytes the last rounds take.
pub(crate) fn encode_sizes(sizes: &[u32]) -> Result<Vec<u8>, Error> {
    encode(&sizes)
}

/// Decodes how many bytes the last rounds take.
pub(crate) fn decode_sizes(bytes: &[u8]) -> Result<Vec<u32>, Error> {
    decode(bytes)
}
