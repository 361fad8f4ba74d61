//! The reply to a proposal, in the rows `q/`.

use serde::{Deserialize, Serialize};

use super::{
    super::{Effect, Proposed, ProposedDelta},
    round::{LossRecord, StepRecord, named, path_to_store, stored_path},
};
use crate::Error;

/// Round, first sequence, number of deltas, whether the losses are known, and how many are
/// not listed.
type Counts = (u64, u32, u32, bool, u32);

/// Sequence, path, effect and losses.
type DeltaRecord = (u32, Vec<StepRecord>, String, Vec<LossRecord>);

/// Tuples, because records with named members cost more code.
#[derive(Serialize, Deserialize)]
pub(crate) struct ProposedRecord(Counts, Vec<DeltaRecord>);

impl ProposedRecord {
    pub(crate) fn new(it: &Proposed) -> Self {
        let delta = |it: &ProposedDelta| {
            let losses = it.losses.iter().map(LossRecord::new).collect();
            (it.sequence, path_to_store(&it.path), it.effect.as_str().to_owned(), losses)
        };
        let counts = (it.round, it.first, it.count, it.has_losses, it.more_losses);
        Self(counts, it.deltas.iter().map(delta).collect())
    }

    pub(crate) fn into_proposed(self) -> Result<Proposed, Error> {
        let Self((round, first, count, has_losses, more_losses), deltas) = self;
        let delta = |(sequence, path, effect, losses): DeltaRecord| {
            Ok(ProposedDelta {
                sequence,
                path: stored_path(path)?,
                effect: named(&Effect::ALL, Effect::as_str, &effect)?,
                losses: losses.into_iter().map(LossRecord::into_loss).collect::<Result<_, _>>()?,
            })
        };
        let deltas = deltas.into_iter().map(delta).collect::<Result<_, Error>>()?;
        Ok(Proposed { round, first, count, deltas, has_losses, more_losses })
    }
}
