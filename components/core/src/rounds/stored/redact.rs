//! Redaction of stored rounds, for a secret that was proposed by mistake. It works row by
//! row, so that only one row at a time is in memory.

use super::{
    super::{Redaction, rows},
    StoredRounds,
};
use crate::{
    Error,
    kv::{Bucket, Change},
};

impl<B: Bucket> StoredRounds<'_, B> {
    /// Returns the changes of stored rounds for `redaction`.
    pub(crate) fn redacted(&self, redaction: &mut Redaction<'_>) -> Result<Vec<Change>, Error> {
        let mut rounds = self.rounds()?;
        let mut rows = RedactedRows { redaction, changes: Vec::new() };
        let newest = rounds.open.as_ref().map_or(rounds.last, |it| it.number);
        for number in rounds.oldest..=newest {
            let mut bytes_now = None;
            if number <= rounds.last
                && let Some(bytes) = self.state_row(number)?
            {
                rows.row(rows::state_row(number), |redaction| {
                    let mut state = rows::decode_state(&bytes)?;
                    redaction.state(&mut state)?;
                    bytes_now = Some(state.bytes());
                    rows::encode_state(&state)
                })?;
            }
            for (row, bytes) in self.0.scan(&rows::delta_rows(number), None, u32::MAX)? {
                rows.row(row.clone(), |redaction| {
                    let mut deltas = rows::decode_deltas(&row, &bytes)?;
                    deltas.iter_mut().try_for_each(|it| redaction.delta(it))?;
                    rows::encode_deltas(&deltas)
                })?;
            }
            if let Some(bytes) = self.0.get(&rows::exclusions_row(number))? {
                rows.row(rows::exclusions_row(number), |redaction| {
                    let mut exclusions = rows::decode_exclusions(&bytes)?;
                    for reason in exclusions.0.iter_mut().filter_map(|it| it.reason.as_mut()) {
                        redaction.line(reason)?;
                    }
                    rows::encode_exclusions(&exclusions)
                })?;
            }
            if (1..=rounds.last).contains(&number) {
                let (mut round, mut outcomes) = self.ended(number)?;
                let is_resized = round.ended.as_ref().map(|it| it.bytes) != bytes_now;
                let places = rows.redaction.places;
                rows.redaction.round(&mut round)?;
                for it in &mut outcomes {
                    rows.redaction.outcome(it);
                }
                if let (Some(ended), Some(bytes)) = (&mut round.ended, bytes_now) {
                    ended.bytes = bytes;
                }
                if is_resized || rows.redaction.places > places {
                    let bytes = rows::encode_ended(&round, &outcomes)?;
                    rows.changes.push(Change::put(rows::ended_row(number), bytes));
                }
            }
        }
        rows.row(rows::ROUNDS.to_owned(), |redaction| {
            rounds.open.as_mut().map_or(Ok(()), |it| redaction.round(it))?;
            rows::encode_rounds(&rounds)
        })?;
        Ok(rows.changes)
    }
}

/// The rows that a redaction changes.
struct RedactedRows<'r, 's> {
    redaction: &'r mut Redaction<'s>,
    changes: Vec<Change>,
}

impl<'s> RedactedRows<'_, 's> {
    /// Stores `row` as returned by `redacted`, if that replaced something.
    fn row(
        &mut self,
        row: String,
        redacted: impl FnOnce(&mut Redaction<'s>) -> Result<Vec<u8>, Error>,
    ) -> Result<(), Error> {
        let places = self.redaction.places;
        let bytes = redacted(self.redaction)?;
        if self.redaction.places > places {
            self.changes.push(Change::put(row, bytes));
        }
        Ok(())
    }
}
