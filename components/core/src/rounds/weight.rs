//! The size of a round in a session's document, in bytes.
//!
//! # Invariant
//!
//! A count is an upper bound of the size in the document, whatever its numbers and times.

use super::{Delta, DeltaOutcome, KeptRound, Marks, Path, Plan, StrategyRule};
use crate::{canonical::string_bytes_max as string, pattern::Participants};

/// The bytes of a round besides its texts.
const ROUND: u64 = 960;
/// The bytes of a rule of a plan besides its texts.
const RULE: u64 = 96;
/// The bytes of a delta besides its texts, with the digest of its value, twice.
const DELTA: u64 = 400;
/// The bytes of a lost or clipped path besides its text.
const PLACE: u64 = 128;
/// The bytes of the reason of a rejection besides its text.
const REASON: u64 = 16;
/// The bytes of the mark of a part.
const MARK: u64 = 48;

/// Returns the bytes of a closed round, with the resulting state.
pub(crate) fn of_round(it: &KeptRound) -> u64 {
    let KeptRound { round, deltas, outcomes, state } = it;
    let clipped = round.ended.iter().flat_map(|it| &it.clipped).map(|it| of_place(&it.path));
    let of_delta = |it: &Delta| {
        let value = it.value.as_ref().map_or(0, |it| string(it.as_str()));
        let texts = [string(it.participant.as_str()), string(it.provenance.as_str())];
        texts
            .into_iter()
            .fold(DELTA, u64::saturating_add)
            .saturating_add(value)
            .saturating_add(of_place(&it.path))
    };
    let of_outcome = |it: &DeltaOutcome| {
        let places = it.losses.iter().map(|it| &it.path).chain(&it.clipped);
        let reason = it.reason.as_ref().map_or(0, |it| REASON.saturating_add(string(it.as_str())));
        places.map(of_place).fold(reason, u64::saturating_add)
    };
    let state = state.as_ref().map_or(0, |it| {
        let Marks { bindings, entities, rules } = &it.marks;
        let parts = bindings.len().saturating_add(entities.len()).saturating_add(rules.len());
        let marks = u64::try_from(parts).unwrap_or(u64::MAX).saturating_mul(MARK);
        string(it.text.as_str()).saturating_add(marks)
    });
    let about = [ROUND, of_plan(&round.plan), state].into_iter().chain(clipped);
    let all = about.chain(deltas.iter().map(of_delta)).chain(outcomes.iter().map(of_outcome));
    all.fold(0, u64::saturating_add)
}

fn of_plan(it: &Plan) -> u64 {
    let weights = it.weights.iter().map(|it| string(it.participants.as_str()));
    let strategies = it.strategies.iter().map(|StrategyRule { paths, strategy }| {
        let experts = strategy.experts().into_iter().flat_map(Participants::patterns);
        experts.fold(string(paths.as_str()), |sum, it| {
            sum.saturating_add(string(it)).saturating_add(1)
        })
    });
    let rules = weights.chain(strategies).map(|it| it.saturating_add(RULE));
    rules.fold(0, u64::saturating_add)
}

fn of_place(path: &Path) -> u64 {
    PLACE.saturating_add(string(&path.to_string()))
}
