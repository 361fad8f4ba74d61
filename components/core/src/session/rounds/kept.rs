//! The rows of rounds: reading them, and forgetting the oldest.

use std::collections::VecDeque;

use crate::{
    Error,
    kv::{Bucket, Change},
    rounds::{Delta, Fate, Json, KEPT_BYTES_MAX, ROUNDS_KEPT, Round, Rounds, Share, State, rows},
    row,
    session::{Draft, Opened, put},
};

impl<B: Bucket> Opened<'_, B> {
    pub(super) fn rounds(&self) -> Result<Rounds, Error> {
        let bytes = self.bucket.get(rows::ROUNDS)?;
        bytes.map_or_else(|| Ok(Rounds::default()), |it| rows::decode_rounds(&it))
    }

    /// What the caller has proposed to the open round.
    pub(super) fn own_share(&self) -> Result<Share, Error> {
        let bytes = self.bucket.get(&rows::share_row(&self.caller.participant))?;
        bytes.map_or_else(|| Ok(Share::default()), |it| rows::decode_share(&it))
    }

    /// The state that `round` made, which is kept.
    pub(super) fn state(&self, round: u64) -> Result<State, Error> {
        match self.state_row(round)? {
            Some(bytes) => rows::decode_state(&bytes),
            None => State::new(""),
        }
    }

    /// The document of that state.
    pub(super) fn document(&self, round: u64) -> Result<Json, Error> {
        match self.state_row(round)? {
            Some(bytes) => rows::decode_document(&bytes),
            None => Ok(State::new("")?.text),
        }
    }

    /// What is stored of it; nothing where nobody said what the rounds begin with.
    pub(super) fn state_row(&self, round: u64) -> Result<Option<Vec<u8>>, Error> {
        let bytes = self.bucket.get(&rows::state_row(round))?;
        if bytes.is_none() && round > 0 {
            return Err(row::damaged("the state of a round is missing"));
        }
        Ok(bytes)
    }

    /// The deltas of `round`.
    pub(super) fn deltas(&self, round: u64) -> Result<Vec<Delta>, Error> {
        let mut deltas = Vec::new();
        for (row, bytes) in self.bucket.scan(&rows::delta_rows(round), None, u32::MAX)? {
            deltas.extend(rows::decode_deltas(&row, &bytes)?);
        }
        Ok(deltas)
    }

    pub(super) fn ended(&self, round: u64) -> Result<(Round, Vec<Fate>), Error> {
        let bytes = self.bucket.get(&rows::ended_row(round))?;
        let bytes = bytes.ok_or_else(|| row::damaged("the end of a round is missing"))?;
        rows::decode_ended(&bytes)
    }

    /// Forgets the oldest rounds when there are more than are kept; the last one takes
    /// `bytes` of a document.
    pub(super) fn forget_rounds(
        &self,
        draft: &mut Draft<'_, B>,
        rounds: &mut Rounds,
        bytes: u64,
    ) -> Result<(), Error> {
        let sizes = self.bucket.get(rows::ROUND_SIZES)?;
        let sizes = sizes.map_or_else(|| Ok(Vec::new()), |it| rows::decode_sizes(&it))?;
        let mut sizes = VecDeque::from(sizes);
        sizes.push_back(u32::try_from(bytes).unwrap_or(u32::MAX));
        while rounds.oldest < rounds.last {
            // Round 0 is what the first begins with, and none of them.
            let before = rounds.oldest.max(1).saturating_sub(1);
            let kept = rounds.last.saturating_sub(before);
            let sum = sizes.iter().fold(0_u64, |sum, it| sum.saturating_add((*it).into()));
            if kept <= ROUNDS_KEPT && sum <= KEPT_BYTES_MAX {
                break;
            }
            let gone = rounds.oldest;
            draft.changes.push(Change::Delete(rows::state_row(gone)));
            draft.changes.push(Change::Delete(rows::ended_row(gone)));
            draft.changes.push(Change::DeletePrefix(rows::delta_rows(gone)));
            rounds.oldest = gone.saturating_add(1);
            if gone > 0 {
                sizes.pop_front();
            }
        }
        draft.changes.push(put(rows::ROUND_SIZES, rows::encode_sizes(sizes.make_contiguous())?));
        Ok(())
    }
}
