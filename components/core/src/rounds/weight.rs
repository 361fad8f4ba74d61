//! How many bytes a round takes in a session's document.
//!
//! # Invariant
//!
//! Counts are never below what the document has, whatever the numbers and times in it.

use super::{Delta, Fate, KeptRound, Marks, Path, Plan, StrategyRule};
use crate::{canonical::string_bytes_max as string, pattern::Participants};

/// What a round takes besides its texts.
const ROUND: u64 = 960;
/// What a rule of a plan takes besides its texts.
const RULE: u64 = 96;
/// What a delta takes besides its texts, with the digest of its value, twice.
const DELTA: u64 = 400;
/// What a place takes besides its path at which a delta lost, or of a part that went.
const PLACE: u64 = 128;
/// What is known of a part of a state.
const MARK: u64 = 48;

/// Returns the bytes of a round that ended, with the state that it made.
pub(crate) fn of_round(it: &KeptRound) -> u64 {
    let KeptRound { round, deltas, fates, state } = it;
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
    let of_fate = |it: &Fate| {
        let places = it.losses.iter().map(|it| &it.path).chain(&it.clipped);
        places.map(of_place).fold(0, u64::saturating_add)
    };
    let state = state.as_ref().map_or(0, |it| {
        let Marks { bindings, entities, rules } = &it.marks;
        let parts = bindings.len().saturating_add(entities.len()).saturating_add(rules.len());
        let marks = u64::try_from(parts).unwrap_or(u64::MAX).saturating_mul(MARK);
        string(it.text.as_str()).saturating_add(marks)
    });
    let about = [ROUND, of_plan(&round.plan), state].into_iter().chain(clipped);
    let all = about.chain(deltas.iter().map(of_delta)).chain(fates.iter().map(of_fate));
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
