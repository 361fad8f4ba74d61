//! The rows of rounds: their names and contents.
//!
//! `r/head` holds the rounds, `r/s/<round>` the state after a round,
//! `r/d/<round>/<sequence>` its proposed deltas, and `r/c/<round>` its end.
//! `r/o/<round>` holds its withdrawn and rejected deltas, if there are any.
//! `r/p/<participant>` holds the share of a participant in the open round, and `r/sizes`
//! the sizes of the last rounds.

mod digests;
mod exclusions;
mod proposed;
mod round;

use super::Share;
use crate::{
    Error,
    participant::Participant,
    row::{decode, encode},
};

pub(crate) use digests::{close_digest, exclude_digest, open_digest, proposal_digest};
pub(crate) use exclusions::{decode_exclusions, encode_exclusions, exclusions_row};
pub(crate) use proposed::ProposedRecord;
pub(crate) use round::{
    RoundRecord, decode_deltas, decode_document, decode_ended, decode_rounds, decode_state,
    encode_deltas, encode_ended, encode_rounds, encode_state,
};

/// The name of the row of [`Rounds`](crate::rounds::Rounds).
pub(crate) const ROUNDS: &str = "r/head";

/// The prefix of the rows of the participants' shares in the open round.
pub(crate) const SHARES: &str = "r/p/";

/// Returns the name of the row of `participant`'s share in the open round.
pub(crate) fn share_row(participant: &Participant) -> String {
    format!("{SHARES}{participant}")
}

/// The name of the row of the sizes of the last closed rounds, oldest first.
pub(crate) const ROUND_SIZES: &str = "r/sizes";

/// Returns the name of the row of the state after `round`.
pub(crate) fn state_row(round: u64) -> String {
    format!("r/s/{round:016x}")
}

/// Returns the prefix of the rows of the deltas of `round`.
pub(crate) fn delta_rows(round: u64) -> String {
    format!("r/d/{round:016x}/")
}

/// Returns the name of the row of deltas of `round` that were proposed together, of which
/// the first has the sequence `first`.
pub(crate) fn delta_row(round: u64, first: u32) -> String {
    format!("{}{first:016x}", delta_rows(round))
}

/// Returns the name of the row of the end of `round`.
pub(crate) fn ended_row(round: u64) -> String {
    format!("r/c/{round:016x}")
}

/// Encodes a participant's share in the open round.
pub(crate) fn encode_share(it: Share) -> Result<Vec<u8>, Error> {
    encode(&(it.deltas, it.bytes))
}

/// Decodes a participant's share in the open round.
pub(crate) fn decode_share(bytes: &[u8]) -> Result<Share, Error> {
    let (deltas, bytes) = decode(bytes)?;
    Ok(Share { deltas, bytes })
}

/// Encodes the sizes of the last rounds.
pub(crate) fn encode_sizes(sizes: &[u32]) -> Result<Vec<u8>, Error> {
    encode(&sizes)
}

/// Decodes the sizes of the last rounds.
pub(crate) fn decode_sizes(bytes: &[u8]) -> Result<Vec<u32>, Error> {
    decode(bytes)
}
