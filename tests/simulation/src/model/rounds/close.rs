//! Invariants of closing a round, place by place. The strategy's choice is in the state. Every
//! other delta lost to it, with a reason. Applied deltas are in the state, and nothing else is.
//!
//! Tests of the core cover the rules for nested places.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use serde_json::Value;
use shared_context_core::{
    CloseRound, Participant,
    pattern::Participants,
    rounds::{
        Delta, DeltaOutcome, Ended, Json, KeptRound, Loss, Operation, OutcomeCounts, Path, Plan,
        Status, Step, Why,
    },
    time::Timestamp,
};

use super::{
    super::state::is_like, ensure, exclude::is_excluded, strategy, value, value_at, weight,
};

/// A closed round.
struct ClosedRound<'a> {
    plan: &'a Plan,
    deltas: &'a [Delta],
    outcomes: &'a [DeltaOutcome],
    old: Value,
    new: Value,
}

/// Returns true if the new state may exceed its size limit.
pub(super) fn may_be_large(state: &Json, open: &KeptRound) -> bool {
    let bytes = |it: &Delta| it.path.to_string().len() + it.value.as_ref().map_or(0, Json::bytes);
    let most = state.bytes() + open.deltas.iter().map(bytes).sum::<usize>();
    most > open.round.bytes_max as usize
}

/// Checks the outcome of closing a round that began with the state `old`.
///
/// # Errors
///
/// The broken invariant.
pub(super) fn check(
    old: &Json,
    stored: &KeptRound,
    request: &CloseRound,
    by: &Participant,
    at: Timestamp,
) -> Result<(), String> {
    let KeptRound { round, deltas, outcomes, state } = stored;
    let (Some(ended), Some(state)) = (&round.ended, state) else {
        return Err("the round is open".to_owned());
    };
    let pairs = deltas.iter().zip(outcomes);
    let merged = pairs.filter(|(_, it)| !is_excluded(it.status));
    let (merged_deltas, merged): (Vec<Delta>, Vec<DeltaOutcome>) =
        merged.map(|(delta, it)| (delta.clone(), it.clone())).unzip();
    let closed = ClosedRound {
        plan: &round.plan,
        deltas: &merged_deltas,
        outcomes: &merged,
        old: value(old),
        new: value(state.text()),
    };
    let is_whole = outcomes.iter().map(|it| it.sequence).eq(1..=round.deltas);
    ensure(is_whole, || format!("not every delta has one outcome: {outcomes:?}"))?;
    let count = |of: &[Status]| outcomes.iter().filter(|it| of.contains(&it.status)).count() as u32;
    let must = Ended {
        at,
        by: by.clone(),
        is_discarded: request.discards,
        bytes: state.text().bytes() as u32,
        counts: OutcomeCounts {
            applied: count(&[Status::Applied]),
            lost: count(&[Status::Lost]),
            refused: count(&[Status::Clipped, Status::Discarded]),
            withdrawn: count(&[Status::Withdrawn]),
            rejected: count(&[Status::Rejected]),
        },
        clip: request.clip.unwrap_or(round.plan.clip),
        clipped: ended.clipped.clone(),
        convergence: ended.convergence,
    };
    ensure(*ended == must, || format!("must be {must:?}\n  but is  {ended:?}"))?;
    let is_same = ended.convergence.unchanged == ended.convergence.paths;
    ensure(is_same == (closed.old == closed.new), || format!("{:?}", ended.convergence))?;
    if request.discards {
        let holds = is_same
            && merged.iter().all(|it| it.status == Status::Discarded && it.losses.is_empty());
        return ensure(holds, || format!("not discarded: {outcomes:?}"));
    }
    ensure(ended.bytes <= round.bytes_max, || format!("a state of {} bytes", ended.bytes))?;
    let merged = merged_deltas.iter().zip(&merged);
    merged.clone().try_for_each(|(it, outcome)| closed.check_outcome(it, outcome))?;
    // Clipping may have removed any applied value.
    if ended.clipped.is_empty() {
        closed.check_single_values()?;
        closed.check_list("entities")?;
        closed.check_list("rules")?;
    }
    Ok(())
}

impl ClosedRound<'_> {
    /// Checks that a delta is applied or lost, at most once at each place, to a delta that concerns
    /// the same place.
    fn check_outcome(&self, own: &Delta, outcome: &DeltaOutcome) -> Result<(), String> {
        let wrong = |what: &str| format!("{what}: {own:?}\n  {outcome:?}");
        let lost_whole = outcome.losses.iter().any(|it| it.path == own.path);
        let holds = match outcome.status {
            Status::Applied => !lost_whole,
            Status::Lost => !outcome.losses.is_empty(),
            Status::Clipped => !outcome.clipped.is_empty(),
            Status::Discarded | Status::Withdrawn | Status::Rejected => false,
        };
        ensure(holds, || wrong("another outcome"))?;
        let places: BTreeSet<&Path> = outcome.losses.iter().map(|it| &it.path).collect();
        ensure(places.len() == outcome.losses.len(), || wrong("lost twice at a place"))?;
        for loss in &outcome.losses {
            let winner = self.deltas.iter().find(|it| it.sequence == loss.to).filter(|it| {
                let is_there = it.path.covers(&loss.path) || loss.path.covers(&it.path);
                // Of two items of one delta the later one counts.
                let is_other = it.sequence != own.sequence || loss.path != own.path;
                is_there && it.participant == loss.by && is_other
            });
            let holds = winner.is_some_and(|it| self.holds(own, it, loss));
            ensure(holds && own.path.covers(&loss.path), || wrong("lost for no reason"))?;
        }
        Ok(())
    }

    /// Returns true if the reported reason explains why `own` lost to `winner`.
    fn holds(&self, own: &Delta, winner: &Delta, loss: &Loss) -> bool {
        let [mine, others] = [own, winner].map(|it| self.weight(it.participant.as_str()));
        let [my_place, place] = [own, winner].map(|it| self.expert(it.participant.as_str()));
        let strategy = self.strategy(&loss.path);
        let is_other = own.participant != winner.participant;
        match loss.why {
            Why::Superseded => !is_other && winner.sequence >= own.sequence,
            Why::Outweighed => is_other && strategy != "majority-vote" && others > mine,
            Why::Outvoted => is_other && strategy == "majority-vote",
            Why::Overridden => is_other && strategy == "expert-override" && place < my_place,
            Why::Tie => is_other && (strategy == "majority-vote" || others == mine),
            Why::ReplacedAbove => winner.path.covers(&loss.path),
            Why::ChangedBelow => true,
        }
    }

    /// Checks the query and each term.
    fn check_single_values(&self) -> Result<(), String> {
        let states = [&self.old, &self.new].into_iter();
        let terms = states.filter_map(|it| it["bindings"].as_object()).flatten();
        let terms: BTreeSet<&String> = terms.map(|(term, _)| term).collect();
        let step = |it: &str| Step::Name(it.to_owned());
        let terms = terms.into_iter().map(|term| vec![step("bindings"), step(term)]);
        terms.chain([vec![step("query")]]).try_for_each(|it| self.check_single_value(&it))
    }

    /// Checks that a place has the strategy's choice among each participant's last claim, and that
    /// participants with another claim have lost.
    fn check_single_value(&self, steps: &[Step]) -> Result<(), String> {
        let place = Path::new(steps.to_vec()).unwrap();
        let (old, new) = (value_at(&self.old, steps), value_at(&self.new, steps));
        let mut last = BTreeMap::new();
        for (it, outcome) in self.deltas.iter().zip(self.outcomes) {
            if let Some(claim) = claim(it, steps) {
                last.insert(it.participant.as_str(), (claim, outcome));
            }
        }
        for (who, (claim, outcome)) in &last {
            let is_lost = outcome.losses.iter().any(|it| it.path == place);
            ensure(is_lost == (claim.as_ref() != new), || {
                format!("{place} is {new:?}; {who} said {claim:?} and has {outcome:?}")
            })?;
        }
        let order = |who: &str| (Reverse(self.weight(who)), who.to_owned());
        let votes = |claim: &Option<Value>| {
            let same = last.iter().filter(|(_, (it, _))| it == claim).map(|(who, _)| who);
            Reverse((same.clone().count(), same.map(|it| u64::from(self.weight(it))).sum::<u64>()))
        };
        let text = |claim: &Option<Value>| claim.as_ref().map(Value::to_string);
        let all = last.iter();
        let winner = match self.strategy(&place) {
            "majority-vote" => all.min_by_key(|(_, (claim, _))| (votes(claim), text(claim))),
            "expert-override" => all.min_by_key(|(who, _)| (self.expert(who), order(who))),
            _ => all.min_by_key(|(who, _)| order(who)),
        };
        let must = winner.map_or(old, |(_, (claim, _))| claim.as_ref());
        let is_rebound = steps.len() > 1 && old.is_some() && new.is_some() && old != new;
        let may_rebind = last.iter().any(|(who, _)| *who == "orchestrator");
        ensure(!is_rebound || may_rebind, || format!("{place} is bound anew, to {new:?}"))?;
        ensure(must == new, || format!("{place} must be {must:?} but is {new:?}"))
    }

    /// Checks that a list contains every item that was added and did not lose, and no other item.
    fn check_list(&self, member: &str) -> Result<(), String> {
        let items = |it: &Value| it.as_array().cloned().unwrap_or_else(|| vec![it.clone()]);
        let (old, new) = (items(&self.old[member]), items(&self.new[member]));
        let wrong = || format!("{member} {old:?}\n  are {new:?}");
        let list = Path::new(vec![Step::Name(member.to_owned())]).unwrap();
        let its = self.deltas.iter().zip(self.outcomes).filter(|(it, _)| list.covers(&it.path));
        let (whole, below): (Vec<_>, Vec<_>) = its.partition(|(it, _)| it.path == list);
        let held = whole.iter().filter(|(_, it)| it.losses.iter().all(|it| it.path != list));
        let added = held.filter_map(|(it, outcome)| {
            let items = items(&value(it.value.as_ref()?)).into_iter().enumerate();
            let is_lost = |nth: usize| {
                let place = Some(&Step::Index((old.len() + nth) as u32));
                outcome.losses.iter().any(|it| it.path.steps().get(1) == place)
            };
            Some(items.filter(move |(nth, _)| !is_lost(*nth)).map(|(_, it)| it))
        });
        let added: Vec<Value> = added.flatten().collect();
        // A union skips existing items, even if they are removed.
        let is_there = |it: &Value| new.contains(it) || old.contains(it);
        ensure(added.iter().all(is_there), wrong)?;
        let is_still = |it: &Value| added.contains(it) || old.contains(it);
        ensure(!below.is_empty() || new.iter().all(is_still), wrong)?;
        let ids: Vec<&Value> = new.iter().filter_map(|it| it.get("id")).collect();
        let were: Vec<&Value> = old.iter().filter_map(|it| it.get("id")).collect();
        let count = |of: &[&Value], id: &Value| of.iter().filter(|it| **it == id).count();
        let is_once = |id: &&Value| count(&ids, id) <= count(&were, id) + 1;
        let is_replaced = whole.iter().any(|(it, _)| it.operation == Operation::Modify);
        ensure(!below.is_empty() || is_replaced || ids.iter().all(is_once), wrong)?;
        let is_left = |it: &Value| new.contains(it);
        let is_untouched = below.is_empty() && !is_replaced;
        ensure(!is_untouched || old.iter().all(is_left), wrong)
    }

    fn weight(&self, who: &str) -> u32 {
        weight(self.plan, who).billionths()
    }

    fn strategy(&self, place: &Path) -> &'static str {
        strategy(self.plan, place)
    }

    /// Returns the rank of `who` among the experts. Scripts list each expert once.
    fn expert(&self, who: &str) -> usize {
        let experts = self.plan.strategies.iter().find_map(|it| it.strategy.experts());
        let mut experts = experts.into_iter().flat_map(Participants::patterns);
        experts.position(|it| is_like(it, who)).unwrap_or(usize::MAX)
    }
}

/// Returns a delta's claim about a single value: `Some(None)` removes it, and `None` is no claim.
#[expect(clippy::option_option, reason = "no claim differs from a claim that removes")]
fn claim(delta: &Delta, place: &[Step]) -> Option<Option<Value>> {
    let below = place.strip_prefix(delta.path.steps())?;
    match &delta.value {
        None => below.is_empty().then_some(None),
        Some(it) => value_at(&value(it), below).cloned().map(Some),
    }
}
