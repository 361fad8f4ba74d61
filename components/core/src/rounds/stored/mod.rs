//! The stored rounds of a session: reads them and removes the oldest.
//!
//! The decisions on rounds and the commits are in `session`.

pub(crate) mod portable;
mod redact;

use std::collections::VecDeque;

use super::{
    Delta, DeltaOutcome, Exclusions, Json, KEPT_BYTES_MAX, ROUNDS_KEPT, Round, Rounds, Share,
    State, Status, rows,
};
use crate::{
    Error,
    kv::{Bucket, Change},
    participant::Participant,
    row::damaged,
};

/// The rounds in a bucket, read row by row.
#[derive(Debug)]
pub(crate) struct StoredRounds<'a, B>(pub(crate) &'a B);

impl<B: Bucket> StoredRounds<'_, B> {
    /// Returns the rounds' metadata.
    pub(crate) fn rounds(&self) -> Result<Rounds, Error> {
        let bytes = self.0.get(rows::ROUNDS)?;
        bytes.map_or_else(|| Ok(Rounds::default()), |it| rows::decode_rounds(&it))
    }

    /// Returns `participant`'s share in the open round.
    pub(crate) fn share(&self, participant: &Participant) -> Result<Share, Error> {
        let bytes = self.0.get(&rows::share_row(participant))?;
        bytes.map_or_else(|| Ok(Share::default()), |it| rows::decode_share(&it))
    }

    /// Returns the state after `round`, which must be retained.
    pub(crate) fn state(&self, round: u64) -> Result<State, Error> {
        match self.state_row(round)? {
            Some(bytes) => rows::decode_state(&bytes),
            None => State::new(""),
        }
    }

    /// Returns the document of the state after `round`.
    pub(crate) fn document(&self, round: u64) -> Result<Json, Error> {
        match self.state_row(round)? {
            Some(bytes) => rows::decode_document(&bytes),
            None => Ok(State::new("")?.text),
        }
    }

    /// Returns the row of the state after `round`; `None` for round 0 if the rounds began
    /// without a query.
    pub(crate) fn state_row(&self, round: u64) -> Result<Option<Vec<u8>>, Error> {
        let bytes = self.0.get(&rows::state_row(round))?;
        if bytes.is_none() && round > 0 {
            return Err(damaged("the state of a round is missing"));
        }
        Ok(bytes)
    }

    /// Returns the deltas of `round`.
    pub(crate) fn deltas(&self, round: u64) -> Result<Vec<Delta>, Error> {
        let mut deltas = Vec::new();
        for (row, bytes) in self.0.scan(&rows::delta_rows(round), None, u32::MAX)? {
            deltas.extend(rows::decode_deltas(&row, &bytes)?);
        }
        Ok(deltas)
    }

    /// Returns the end of `round` and the outcomes of its deltas.
    pub(crate) fn ended(&self, round: u64) -> Result<(Round, Vec<DeltaOutcome>), Error> {
        let bytes = self.0.get(&rows::ended_row(round))?;
        let bytes = bytes.ok_or_else(|| damaged("the end of a round is missing"))?;
        let (ended, mut outcomes) = rows::decode_ended(&bytes)?;
        if outcomes.iter().any(|it| it.status == Status::Rejected) {
            for excluded in self.exclusions(round)?.0 {
                if let Some(outcome) =
                    outcomes.iter_mut().find(|it| it.sequence == excluded.sequence)
                {
                    outcome.reason = excluded.reason;
                }
            }
        }
        Ok((ended, outcomes))
    }

    /// Returns the withdrawn and rejected deltas of `round`.
    pub(crate) fn exclusions(&self, round: u64) -> Result<Exclusions, Error> {
        let bytes = self.0.get(&rows::exclusions_row(round))?;
        bytes.map_or_else(|| Ok(Exclusions::default()), |it| rows::decode_exclusions(&it))
    }

    /// Removes the oldest rounds beyond the limits; the last one takes `bytes` in a
    /// document.
    pub(crate) fn prune(
        &self,
        changes: &mut Vec<Change>,
        rounds: &mut Rounds,
        bytes: u64,
    ) -> Result<(), Error> {
        let sizes = self.0.get(rows::ROUND_SIZES)?;
        let sizes = sizes.map_or_else(|| Ok(Vec::new()), |it| rows::decode_sizes(&it))?;
        let mut sizes = VecDeque::from(sizes);
        sizes.push_back(u32::try_from(bytes).unwrap_or(u32::MAX));
        while rounds.oldest < rounds.last {
            // Round 0 is the state before the first round and does not count as a round.
            let before = rounds.oldest.max(1).saturating_sub(1);
            let count = rounds.last.saturating_sub(before);
            let sum = sizes.iter().fold(0_u64, |sum, it| sum.saturating_add((*it).into()));
            if count <= ROUNDS_KEPT && sum <= KEPT_BYTES_MAX {
                break;
            }
            let oldest = rounds.oldest;
            changes.push(Change::Delete(rows::state_row(oldest)));
            changes.push(Change::Delete(rows::ended_row(oldest)));
            changes.push(Change::Delete(rows::exclusions_row(oldest)));
            changes.push(Change::DeletePrefix(rows::delta_rows(oldest)));
            rounds.oldest = oldest.saturating_add(1);
            if oldest > 0 {
                sizes.pop_front();
            }
        }
        changes.push(Change::put(rows::ROUND_SIZES, rows::encode_sizes(sizes.make_contiguous())?));
        Ok(())
    }
}
