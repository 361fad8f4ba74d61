//! Rounds in a session's document (spec 11.10): export, import, and validation.
//!
//! Rounds are not recomputed: their results are imported unchanged, even if a redaction
//! removed the texts that decided them.

use std::collections::BTreeMap;

use super::{
    super::{
        BYTES_MAX, BYTES_MAX_DEFAULT, DELTAS_BYTES_MAX, DELTAS_MAX, DeltaOutcome, Ended,
        Exclusions, Json, KeptRound, Loss, Operation, PROPOSAL_DELTAS_MAX, ROUNDS_KEPT,
        RoundHistory, Rounds, Share, State, Status, check as check_delta, rows, weight,
    },
    StoredRounds,
};
use crate::{
    Error,
    kv::{Bucket, Change},
    participant::{Participant, Role},
    time::Timestamp,
};

/// The factor by which a redaction may lengthen a text: a marker has 25 bytes and quotes,
/// the replaced text at least 4 bytes, and numbers have no quotes.
const GROWTH: u32 = 7;

impl<B: Bucket> StoredRounds<'_, B> {
    /// Returns the retained rounds of the session.
    pub(crate) fn history(&self) -> Result<RoundHistory, Error> {
        let it = self.rounds()?;
        let mut rounds = Vec::new();
        for number in it.oldest.max(1)..=it.last {
            let (round, outcomes) = self.ended(number)?;
            let deltas = self.deltas(number)?;
            rounds.push(KeptRound { round, deltas, outcomes, state: Some(self.state(number)?) });
        }
        if let Some(round) = it.open {
            let deltas = self.deltas(round.number)?;
            let outcomes = self.exclusions(round.number)?.0;
            rounds.push(KeptRound { round, deltas, outcomes, state: None });
        }
        let first = if it.oldest == 0 { self.state_row(0)? } else { None };
        let first = first.map(|it| rows::decode_state(&it)).transpose()?;
        Ok(RoundHistory { query: first.as_ref().map(State::query), rounds })
    }
}

/// Stores `history` in a session that has no rounds.
pub(crate) fn store(history: &RoundHistory, changes: &mut Vec<Change>) -> Result<(), Error> {
    if history.is_empty() {
        return Ok(());
    }
    let mut sizes: Vec<u32> = Vec::new();
    if let Some(query) = &history.query {
        changes.push(Change::put(rows::state_row(0), rows::encode_state(&State::new(query)?)?));
    }
    for kept in &history.rounds {
        let KeptRound { round, deltas, outcomes, state } = kept;
        for chunk in deltas.chunks(PROPOSAL_DELTAS_MAX) {
            let first = chunk.first().map_or(1, |it| it.sequence);
            let row = rows::delta_row(round.number, first);
            changes.push(Change::put(row, rows::encode_deltas(chunk)?));
        }
        let exclusions = Exclusions::of_outcomes(outcomes);
        if !exclusions.0.is_empty() {
            let row = rows::exclusions_row(round.number);
            changes.push(Change::put(row, rows::encode_exclusions(&exclusions)?));
        }
        if let Some(state) = state {
            changes.push(Change::put(rows::state_row(round.number), rows::encode_state(state)?));
            let ended = rows::encode_ended(round, outcomes)?;
            changes.push(Change::put(rows::ended_row(round.number), ended));
            sizes.push(u32::try_from(weight::of_round(kept)).unwrap_or(u32::MAX));
        }
    }
    let (rounds, shares) = rounds_of(history)?;
    changes.push(Change::put(rows::ROUNDS, rows::encode_rounds(&rounds)?));
    for (participant, share) in shares {
        changes.push(Change::put(rows::share_row(participant), rows::encode_share(share)?));
    }
    if rounds.last > 0 {
        changes.push(Change::put(rows::ROUND_SIZES, rows::encode_sizes(&sizes)?));
    }
    Ok(())
}

/// Returns the metadata of the rounds in `history`, and the participants' shares in the
/// open one.
fn rounds_of(history: &RoundHistory) -> Result<(Rounds, BTreeMap<&Participant, Share>), Error> {
    let open = history.rounds.last().filter(|it| it.state.is_none());
    let ended = history.rounds.iter().rfind(|it| it.state.is_some());
    let first = history.rounds.first().map_or(1, |it| it.round.number);
    let mut last = history.rounds.last().map_or(0, |it| it.round.number);
    let mut shares: BTreeMap<&Participant, Share> = BTreeMap::new();
    if let Some(open) = open {
        last = last.saturating_sub(1);
        let before = state_before(history, history.rounds.len())?;
        for delta in &open.deltas {
            let bytes = check_delta(delta, &before, &open.round.plan)?;
            shares.entry(&delta.participant).or_default().add(bytes);
        }
    }
    let rounds = Rounds {
        last,
        oldest: if first == 1 { 0 } else { first },
        bytes_max: ended.map_or(BYTES_MAX_DEFAULT, |it| it.round.bytes_max),
        open: open.map(|it| it.round.clone()),
        open_bytes: shares.values().fold(0, |sum, it| sum.saturating_add(it.bytes)),
    };
    Ok((rounds, shares))
}

/// Returns the state at the opening of the last of the first `count` rounds.
fn state_before(history: &RoundHistory, count: usize) -> Result<State, Error> {
    let before = count.checked_sub(2).and_then(|it| history.rounds.get(it));
    match before.and_then(|it| it.state.as_ref()) {
        Some(state) => Ok(state.clone()),
        None => State::new(history.query.as_deref().unwrap_or_default()),
    }
}

/// Rejects rounds that no session can have exported; `number_max` is the highest valid
/// round number.
pub(crate) fn check(history: &RoundHistory, number_max: u64) -> Result<(), Error> {
    let first = history.rounds.first().map_or(0, |it| it.round.number);
    let count = u64::try_from(history.rounds.len()).unwrap_or(u64::MAX);
    // Earlier versions retained one more; and one may be open.
    if count > ROUNDS_KEPT.saturating_add(2) || first > number_max {
        return Err(Error::invalid_document("its rounds are over their limits"));
    }
    if history.query.is_some() && first != 1 {
        return Err(Error::invalid_document(
            "it has a query that none of its rounds was opened with",
        ));
    }
    for (nth, kept) in history.rounds.iter().enumerate() {
        let number = kept.round.number;
        let is_last = nth + 1 == history.rounds.len();
        let is_next = Some(number) == u64::try_from(nth).ok().and_then(|it| first.checked_add(it));
        if first == 0 || !is_next {
            return Err(Error::invalid_document(format!("round {number} is not in its place")));
        }
        if let Err(what) = check_round(kept) {
            return Err(Error::invalid_document(format!("round {number} {what}")));
        }
        match (&kept.state, &kept.round.ended) {
            // The state before the first retained round is unknown.
            (Some(_), Some(_)) if nth == 0 && number > 1 => {}
            (Some(state), Some(ended))
                if state.convergence(&state_before(history, nth + 1)?) == ended.convergence => {}
            (Some(_), Some(_)) => {
                return Err(Error::invalid_document(format!(
                    "round {number} did not change so much"
                )));
            }
            // A round without its initial state cannot be closed.
            _ if !is_last || (nth == 0 && number > 1) => {
                return Err(Error::invalid_document(format!("round {number} has no end")));
            }
            _ => {}
        }
    }
    rounds_of(history).map_err(|err| {
        Error::invalid_document(format!("a delta of its open round fits no more: {err}"))
    })?;
    Ok(())
}

/// Rejects a round that no session can have exported.
fn check_round(kept: &KeptRound) -> Result<(), &'static str> {
    let KeptRound { round, deltas, state, .. } = kept;
    let bytes_max = |bytes: u32| bytes.saturating_mul(GROWTH);
    if round.plan.check().is_err() || !BYTES_MAX.contains(&round.bytes_max) {
        return Err("has an invalid plan");
    }
    if round.opened_by.role() != Role::Orchestrator {
        return Err("was opened by an invalid participant");
    }
    let mut bytes = 0_usize;
    for (sequence, it) in (1_u32..).zip(deltas) {
        let has_value = it.value.is_some();
        if it.sequence != sequence
            || has_value == (it.operation == Operation::Remove)
            || it.participant.role() == Role::Admin
        {
            return Err("has an invalid delta, or one out of order");
        }
        bytes = bytes.saturating_add(it.value.as_ref().map_or(0, Json::bytes));
    }
    let is_too_long = u32::try_from(bytes).is_ok_and(|it| it > bytes_max(DELTAS_BYTES_MAX));
    if u32::try_from(deltas.len()) != Ok(round.deltas) || round.deltas > DELTAS_MAX || is_too_long {
        return Err("has more deltas than it says, or may have");
    }
    let (state, ended) = match (state, &round.ended) {
        (Some(state), Some(ended)) => (state, ended),
        (None, None) => return check_exclusions(kept),
        _ => return Err("is neither open nor closed"),
    };
    if ended.bytes != state.bytes() || ended.bytes > bytes_max(*BYTES_MAX.end()) {
        return Err("made a state of another size");
    }
    if !state.is_made_until(round.number) {
        return Err("made a state of what came later");
    }
    if ended.by.role() != Role::Orchestrator || ended.at < round.opened_at {
        return Err("was closed by an invalid participant, or before it was opened");
    }
    check_outcomes(kept, ended)
}

/// Rejects outcomes that are impossible for the deltas of a closed round.
fn check_outcomes(kept: &KeptRound, ended: &Ended) -> Result<(), &'static str> {
    let KeptRound { deltas, outcomes, .. } = kept;
    let is_loss = |it: &Loss| {
        let place = it.to.checked_sub(1).and_then(|it| usize::try_from(it).ok());
        let is_excluded =
            place.and_then(|it| outcomes.get(it)).is_some_and(|it| it.status.is_excluded());
        let to = place.and_then(|it| deltas.get(it));
        !is_excluded && to.is_some_and(|to| to.participant == it.by)
    };
    let fits = |(sequence, it): (u32, &DeltaOutcome)| {
        let is_merged = it.reason.is_none()
            && it.losses.iter().all(is_loss)
            && (it.status == Status::Discarded) == ended.is_discarded;
        it.sequence == sequence
            && if it.status.is_excluded() { is_exclusion(it) } else { is_merged }
    };
    if outcomes.len() != deltas.len() || !(1..).zip(outcomes).all(fits) {
        return Err("lacks the outcome of a delta");
    }
    if ended.counts != Status::counts(outcomes) {
        return Err("does not add up");
    }
    Ok(())
}

/// Rejects outcomes that are impossible for the deltas of an open round.
fn check_exclusions(kept: &KeptRound) -> Result<(), &'static str> {
    let deltas = kept.round.deltas;
    let is_known = |it: &DeltaOutcome| (1..=deltas).contains(&it.sequence) && is_exclusion(it);
    let is_in_order = kept.outcomes.is_sorted_by(|a, b| a.sequence < b.sequence);
    if is_in_order && kept.outcomes.iter().all(is_known) {
        return Ok(());
    }
    Err("has the outcome of a delta, and is open")
}

/// Returns true if `it` can be the outcome of a withdrawn or rejected delta.
fn is_exclusion(it: &DeltaOutcome) -> bool {
    it.status.is_excluded()
        && it.losses.is_empty()
        && it.clipped.is_empty()
        && it.reason.is_some() == (it.status == Status::Rejected)
}

/// Returns the latest time in `history`.
pub(crate) fn latest_time(history: &RoundHistory) -> Timestamp {
    let times = history.rounds.iter().flat_map(|KeptRound { round, deltas, .. }| {
        let ended = round.ended.iter().map(|it| it.at);
        deltas.iter().map(|it| it.proposed_at).chain([round.opened_at]).chain(ended)
    });
    times.max().unwrap_or_default()
}
