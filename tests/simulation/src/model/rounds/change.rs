//! Invariants of a change of rounds: no gaps in the history, only the last round changes, and
//! deltas stay as proposed.

use shared_context_core::{
    ExcludeDeltas, RoundsCommand, RoundsReply,
    rounds::{Closed, Delta, DeltaLoss, ExclusionResult, KeptRound, Path, ROUNDS_KEPT, Round},
    time::Timestamp,
};

use super::{super::state::participant, Rounds, close, ensure, exclude, preview, steps};

/// Checks the rounds after `request` by `who`, and returns the expected reply.
///
/// # Errors
///
/// The broken invariant.
pub(super) fn check(
    before: &Rounds,
    after: &Rounds,
    request: &RoundsCommand,
    who: &str,
    at: Timestamp,
) -> Result<RoundsReply, String> {
    let (old, new) = (before.history(), after.history());
    let (last, earlier) = new.rounds.split_last().ok_or("no round is left")?;
    let number = last.round.number;
    let first = new.rounds.first().map_or(number, |it| it.round.number);
    ensure(number == first + earlier.len() as u64, || format!("a gap before round {number}"))?;
    let was = |number: u64| old.rounds.iter().find(|it| it.round.number == number);
    for it in &old.rounds {
        let now = earlier.iter().find(|other| other.round.number == it.round.number);
        let is_kept = now == Some(it) || it.round.number == number;
        let is_old = now.is_none() && it.round.number + ROUNDS_KEPT <= number;
        ensure(is_kept || is_old, || format!("round {} is {now:?}", it.round.number))?;
    }
    let mut query = old.query.as_ref().filter(|_| first == 1);
    let by = participant(who);
    let must = match request {
        RoundsCommand::Open(it) => {
            query = it.query.as_ref().or(query);
            let round = Round {
                number: before.last() + 1,
                opened_at: at,
                opened_by: by,
                plan: it.plan.clone(),
                bytes_max: it.plan.bytes_max.unwrap_or(before.bytes_max()),
                deltas: 0,
                ended: None,
            };
            KeptRound { round, deltas: Vec::new(), outcomes: Vec::new(), state: None }
        }
        RoundsCommand::Propose(it) => {
            let mut must = was(number).ok_or("another round is open")?.clone();
            let first = must.round.deltas + 1;
            must.deltas.extend(it.deltas.iter().zip(first..).map(|(it, sequence)| Delta {
                sequence,
                participant: by.clone(),
                proposed_at: at,
                operation: it.operation,
                path: Path::new(steps(it.path.as_str())).unwrap(),
                value: it.value.clone(),
                provenance: it.provenance.clone(),
            }));
            must.round.deltas = must.deltas.len() as u32;
            must
        }
        RoundsCommand::Exclude(it) => {
            let open = was(number).ok_or("another round is open")?;
            exclude::after(open, it, &excluded(before, it, who)?)
        }
        RoundsCommand::Close(it) => {
            let must = was(number).ok_or("another round was closed")?;
            close::check(&before.now(), last, it, &by, at)?;
            let excluded = last.outcomes.iter().filter(|it| exclude::is_excluded(it.status));
            let is_kept = excluded.eq(&must.outcomes);
            ensure(is_kept, || format!("excluded were {:?}", must.outcomes))?;
            let round = Round { ended: last.round.ended.clone(), ..must.round.clone() };
            KeptRound { round, deltas: must.deltas.clone(), ..last.clone() }
        }
        other => return Err(format!("{other:?} is no change")),
    };
    ensure(*last == must, || format!("must be {must:?}\n  but is  {last:?}"))?;
    ensure(new.query.as_ref() == query, || format!("the first query is {:?}", new.query))?;
    Ok(match request {
        RoundsCommand::Propose(it) => {
            RoundsReply::Proposed(preview::reply(&before.now(), new, it.deltas.len())?)
        }
        RoundsCommand::Exclude(it) => RoundsReply::Excluded(excluded(before, it, who)?),
        RoundsCommand::Close(_) => RoundsReply::Closed(Box::new(closed(last))),
        _ => RoundsReply::Round(Box::new(last.round.clone())),
    })
}

/// Returns the reply to a request to withdraw or reject deltas.
fn excluded(before: &Rounds, it: &ExcludeDeltas, who: &str) -> Result<ExclusionResult, String> {
    let open = before.open().ok_or("no round was open")?;
    exclude::check(open, it, who).map_err(|code| format!("{it:?} is {code:?}"))
}

/// Returns the reply about a closed round: at most 100 losses, and the number of the others.
fn closed(kept: &KeptRound) -> Closed {
    let all = kept.outcomes.iter().flat_map(|outcome| {
        let delta = kept.deltas.iter().find(|it| it.sequence == outcome.sequence).unwrap();
        let losses = outcome.losses.iter();
        losses.map(move |loss| DeltaLoss {
            sequence: outcome.sequence,
            participant: delta.participant.clone(),
            loss: loss.clone(),
        })
    });
    let mut losses: Vec<DeltaLoss> = all.collect();
    let more_losses = losses.len().saturating_sub(100) as u32;
    losses.truncate(100);
    Closed { round: kept.round.clone(), losses, more_losses }
}
