//! The digests that identify requests about rounds, for retries.

use super::{
    super::{Clip, CloseRound, ExcludeDeltas, Json, OpenRound, Proposal},
    round::PlanRecord,
};
use crate::{Error, key::Line, row::digest};

/// Returns the digest that identifies a request to open a round.
pub(crate) fn open_digest(it: &OpenRound) -> Result<[u8; 16], Error> {
    digest(&("open_round", PlanRecord::new(&it.plan), &it.query))
}

/// Returns the digest that identifies a proposal.
pub(crate) fn proposal_digest(it: &Proposal) -> Result<[u8; 16], Error> {
    let deltas = it.deltas.iter().map(|it| {
        let value = it.value.as_ref().map(Json::as_str);
        (it.operation.as_str(), it.path.as_str(), value, it.provenance.as_str())
    });
    digest(&("propose_deltas", deltas.collect::<Vec<_>>()))
}

/// Returns the digest that identifies a request to close a round.
pub(crate) fn close_digest(it: &CloseRound) -> Result<[u8; 16], Error> {
    digest(&("close_round", it.clip.map(Clip::as_str), it.discards))
}

/// Returns the digest that identifies a request to withdraw or reject deltas.
pub(crate) fn exclude_digest(it: &ExcludeDeltas) -> Result<[u8; 16], Error> {
    digest(&("exclude_deltas", &it.sequences, it.reason.as_ref().map(Line::as_str)))
}
