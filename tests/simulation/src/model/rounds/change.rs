//! What a change may make of rounds: history without gaps, in which only the last round is
//! another; deltas as they were proposed; each with one outcome.

use shared_context_core::{
    RoundsCommand,
    rounds::{Delta, KeptRound, Path, ROUNDS_KEPT, Round},
    time::Timestamp,
};

use super::{Rounds, close, ensure, redaction, steps};
use crate::model::state::participant;

/// Checks the rounds that `asked` of `who` made; returns the markers of a redaction.
///
/// # Errors
///
/// The invariant that is broken.
pub(super) fn check(
    before: &Rounds,
    after: &Rounds,
    asked: &RoundsCommand,
    who: &str,
    at: Timestamp,
) -> Result<Vec<String>, String> {
    if let RoundsCommand::Redact(it) = asked {
        return redaction::check(before.history(), after.history(), it.text.as_str());
    }
    let (old, new) = (before.history(), after.history());
    let (last, earlier) = new.rounds.split_last().ok_or("no round is left")?;
    let first = new.rounds.first().map_or(0, |it| it.round.number);
    let number = last.round.number;
    let was = |number: u64| old.rounds.iter().find(|it| it.round.number == number);
    for (nth, it) in (first..).zip(earlier) {
        ensure(it.round.number == nth, || format!("there is a gap before round {nth}"))?;
        ensure(was(nth) == Some(it), || format!("round {nth} is another"))?;
    }
    ensure(number == first + earlier.len() as u64, || format!("a gap before round {number}"))?;
    let is_early =
        |it: &&KeptRound| it.round.number < first && it.round.number + ROUNDS_KEPT > number;
    ensure(!old.rounds.iter().any(|it| is_early(&it)), || format!("round {first} is the first"))?;
    let asked_query = match asked {
        RoundsCommand::Open(it) => it.query.as_ref(),
        _ => None,
    };
    let query = asked_query.or(old.query.as_ref()).filter(|_| first == 1);
    ensure(new.query.as_ref() == query, || format!("the first query is {:?}", new.query))?;

    let by = participant(who);
    let must = match asked {
        RoundsCommand::Open(it) => KeptRound {
            round: Round {
                number: before.last() + 1,
                opened_at: at,
                opened_by: by,
                plan: it.plan.clone(),
                bytes_max: it.plan.bytes_max.unwrap_or(before.bytes_max()),
                deltas: 0,
                ended: None,
            },
            deltas: Vec::new(),
            fates: Vec::new(),
            state: None,
        },
        RoundsCommand::Propose(it) => {
            let mut must = was(number).ok_or("another round is open")?.clone();
            for (it, sequence) in it.deltas.iter().zip(must.round.deltas + 1..) {
                must.deltas.push(Delta {
                    sequence,
                    participant: by.clone(),
                    proposed_at: at,
                    operation: it.operation,
                    path: Path::new(steps(it.path.as_str())).unwrap(),
                    value: it.value.clone(),
                    provenance: it.provenance.clone(),
                });
            }
            must.round.deltas += it.deltas.len() as u32;
            must
        }
        RoundsCommand::Close(it) => {
            let must = was(number).ok_or("another round was closed")?;
            close::check(&before.now(), last, it, &by, at)?;
            let KeptRound { fates, state, round, .. } = last.clone();
            let round = Round { ended: round.ended, ..must.round.clone() };
            KeptRound { round, deltas: must.deltas.clone(), fates, state }
        }
        other => return Err(format!("{other:?} is no change")),
    };
    ensure(*last == must, || format!("must be {must:?}\n  but is  {last:?}"))?;
    Ok(Vec::new())
}
