//! The rows `r/o/`: the withdrawn and rejected deltas of a round.

use super::super::{DeltaOutcome, Exclusions};
use crate::{
    Error,
    row::{decode, encode, stored_line},
};

/// Returns the name of the row of the exclusions of `round`.
pub(crate) fn exclusions_row(round: u64) -> String {
    format!("r/o/{round:016x}")
}

/// Encodes the exclusions of a round: the sequence of each, and the reason of a rejection.
pub(crate) fn encode_exclusions(it: &Exclusions) -> Result<Vec<u8>, Error> {
    let record =
        |it: &DeltaOutcome| (it.sequence, it.reason.as_ref().map(|it| it.as_str().to_owned()));
    encode(&it.0.iter().map(record).collect::<Vec<_>>())
}

/// Decodes the exclusions of a round.
pub(crate) fn decode_exclusions(bytes: &[u8]) -> Result<Exclusions, Error> {
    let records: Vec<(u32, Option<String>)> = decode(bytes)?;
    let outcome = |(sequence, reason): (u32, Option<String>)| {
        Ok(Exclusions::outcome(sequence, reason.as_deref().map(stored_line).transpose()?))
    };
    Ok(Exclusions(records.into_iter().map(outcome).collect::<Result<_, Error>>()?))
}
