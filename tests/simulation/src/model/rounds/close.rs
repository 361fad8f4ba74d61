//! What a round may make of its deltas, checked place by place: the strategy's choice is
//! there, every other delta lost to it and says why, what was applied stands in the state,
//! and nothing else does.
//!
//! The rules of nested places are left to the core's own tests.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use serde_json::Value;
use shared_context_core::{
    CloseRound, Participant,
    pattern::Participants,
    rounds::{Delta, Ended, Fate, Json, KeptRound, Loss, Operation, Path, Plan, Status, Step, Why},
    time::Timestamp,
};

use super::{super::state::is_like, ensure, look, value, weight};

/// A round that was closed.
struct Closed<'a> {
    plan: &'a Plan,
    deltas: &'a [Delta],
    fates: &'a [Fate],
    old: Value,
    new: Value,
}

/// Returns whether the state that a round makes may be over its limit.
pub(super) fn may_be_large(state: &Json, open: &KeptRound) -> bool {
    let said = |it: &Delta| it.path.to_string().len() + it.value.as_ref().map_or(0, Json::bytes);
    let most = state.bytes() + open.deltas.iter().map(said).sum::<usize>();
    most > open.round.bytes_max as usize
}

/// Checks what closing made of a round that began with the state `old`.
///
/// # Errors
///
/// The invariant that is broken.
pub(super) fn check(
    old: &Json,
    kept: &KeptRound,
    asked: &CloseRound,
    by: &Participant,
    at: Timestamp,
) -> Result<(), String> {
    let KeptRound { round, deltas, fates, state } = kept;
    let (Some(ended), Some(state)) = (&round.ended, state) else {
        return Err("the round is open".to_owned());
    };
    let closed =
        Closed { plan: &round.plan, deltas, fates, old: value(old), new: value(state.text()) };
    let is_whole = fates.iter().map(|it| it.sequence).eq(1..=round.deltas);
    ensure(is_whole, || format!("not every delta has one outcome: {fates:?}"))?;
    let count = |of: &[Status]| fates.iter().filter(|it| of.contains(&it.status)).count() as u32;
    let must = Ended {
        at,
        by: by.clone(),
        is_discarded: asked.discards,
        bytes: state.text().bytes() as u32,
        applied: count(&[Status::Applied]),
        lost: count(&[Status::Lost]),
        refused: count(&[Status::Clipped, Status::Discarded]),
        clip: asked.clip.unwrap_or(round.plan.clip),
        clipped: ended.clipped.clone(),
        convergence: ended.convergence,
    };
    ensure(*ended == must, || format!("must be {must:?}\n  but is  {ended:?}"))?;
    let is_same = ended.convergence.unchanged == ended.convergence.paths;
    ensure(is_same == (closed.old == closed.new), || format!("{:?}", ended.convergence))?;
    if asked.discards {
        let holds = is_same
            && fates.iter().all(|it| it.status == Status::Discarded && it.losses.is_empty());
        return ensure(holds, || format!("not discarded: {fates:?}"));
    }
    ensure(ended.bytes <= round.bytes_max, || format!("a state of {} bytes", ended.bytes))?;
    deltas.iter().zip(fates).try_for_each(|(it, fate)| closed.check_fate(it, fate))?;
    // What went again may have been anything that was applied.
    if ended.clipped.is_empty() {
        closed.check_single_values()?;
        closed.check_list("entities")?;
        closed.check_list("rules")?;
    }
    Ok(())
}

impl Closed<'_> {
    /// Checks that a delta is applied or lost, once at each place, to a delta that speaks of
    /// that place too.
    fn check_fate(&self, own: &Delta, fate: &Fate) -> Result<(), String> {
        let wrong = |what: &str| format!("{what}: {own:?}\n  {fate:?}");
        let lost_whole = fate.losses.iter().any(|it| it.path == own.path);
        let holds = match fate.status {
            Status::Applied => !lost_whole,
            Status::Lost => !fate.losses.is_empty(),
            Status::Clipped => !fate.clipped.is_empty(),
            Status::Discarded => false,
        };
        ensure(holds, || wrong("another outcome"))?;
        let places: BTreeSet<&Path> = fate.losses.iter().map(|it| &it.path).collect();
        ensure(places.len() == fate.losses.len(), || wrong("lost twice at a place"))?;
        for loss in &fate.losses {
            let winner = self.deltas.get(loss.to as usize - 1).filter(|it| {
                let is_there = it.path.covers(&loss.path) || loss.path.covers(&it.path);
                is_there && it.participant == loss.by && it.sequence != own.sequence
            });
            let holds = winner.is_some_and(|it| self.holds(own, it, loss));
            ensure(holds && own.path.covers(&loss.path), || wrong("lost for no reason"))?;
        }
        Ok(())
    }

    /// Returns whether `own` lost to `winner` for the reason that is reported.
    fn holds(&self, own: &Delta, winner: &Delta, loss: &Loss) -> bool {
        let [mine, others] = [own, winner].map(|it| self.weight(it.participant.as_str()));
        let [my_place, place] = [own, winner].map(|it| self.expert(it.participant.as_str()));
        let strategy = self.strategy(&loss.path);
        let is_other = own.participant != winner.participant;
        match loss.why {
            Why::Superseded => !is_other && winner.sequence > own.sequence,
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

    /// Checks that of what was said last of a place the strategy's choice is there, and
    /// that those have lost who said something else.
    fn check_single_value(&self, steps: &[Step]) -> Result<(), String> {
        let place = Path::new(steps.to_vec()).unwrap();
        let (old, new) = (look(&self.old, steps), look(&self.new, steps));
        let mut last = BTreeMap::new();
        for (it, fate) in self.deltas.iter().zip(self.fates) {
            if let Some(word) = word(it, steps) {
                last.insert(it.participant.as_str(), (word, fate));
            }
        }
        for (who, (word, fate)) in &last {
            let is_lost = fate.losses.iter().any(|it| it.path == place);
            ensure(is_lost == (word.as_ref() != new), || {
                format!("{place} is {new:?}; {who} said {word:?} and has {fate:?}")
            })?;
        }
        let order = |who: &str| (Reverse(self.weight(who)), who.to_owned());
        let votes = |word: &Option<Value>| {
            let same = last.iter().filter(|(_, (it, _))| it == word).map(|(who, _)| who);
            Reverse((same.clone().count(), same.map(|it| u64::from(self.weight(it))).sum::<u64>()))
        };
        let text = |word: &Option<Value>| word.as_ref().map(Value::to_string);
        let all = last.iter();
        let winner = match self.strategy(&place) {
            "majority-vote" => all.min_by_key(|(_, (word, _))| (votes(word), text(word))),
            "expert-override" => all.min_by_key(|(who, _)| (self.expert(who), order(who))),
            _ => all.min_by_key(|(who, _)| order(who)),
        };
        let must = winner.map_or(old, |(_, (word, _))| word.as_ref());
        let is_rebound = steps.len() > 1 && old.is_some() && new.is_some() && old != new;
        ensure(!is_rebound, || format!("{place} is bound anew, to {new:?}"))?;
        ensure(must == new, || format!("{place} must be {must:?} but is {new:?}"))
    }

    /// Checks that what was added to a list and did not lose is in it, and nothing else that
    /// nobody speaks of.
    fn check_list(&self, member: &str) -> Result<(), String> {
        let items = |it: &Value| it.as_array().cloned().unwrap_or_else(|| vec![it.clone()]);
        let (old, new) = (items(&self.old[member]), items(&self.new[member]));
        let wrong = || format!("{member} {old:?}\n  are {new:?}");
        let list = Path::new(vec![Step::Name(member.to_owned())]).unwrap();
        let its = self.deltas.iter().zip(self.fates).filter(|(it, _)| list.covers(&it.path));
        let (whole, below): (Vec<_>, Vec<_>) = its.partition(|(it, _)| it.path == list);
        let held = whole.iter().filter(|(_, fate)| fate.losses.is_empty());
        let said = held.filter_map(|(it, _)| it.value.as_ref()).flat_map(|it| items(&value(it)));
        let said: Vec<Value> = said.collect();
        // A union leaves out what is there already, also if that goes.
        let is_there = |it: &Value| new.contains(it) || old.contains(it);
        ensure(said.iter().all(is_there), wrong)?;
        let is_still = |it: &Value| said.contains(it) || old.contains(it);
        ensure(!below.is_empty() || new.iter().all(is_still), wrong)?;
        let is_left = |it: &Value| new.contains(it);
        let is_untouched =
            below.is_empty() && !whole.iter().any(|(it, _)| it.operation == Operation::Modify);
        ensure(!is_untouched || old.iter().all(is_left), wrong)
    }

    fn weight(&self, who: &str) -> u32 {
        weight(self.plan, who).billionths()
    }

    /// Returns the strategy of a place: the scripts have one for each member.
    fn strategy(&self, place: &Path) -> &'static str {
        let is_its = |paths: &str| place.to_string().starts_with(&paths.replace("$.", "$['"));
        let rule = self.plan.strategies.iter().find(|it| is_its(it.paths.as_str()));
        rule.map_or("weighted-merge", |it| it.strategy.name())
    }

    /// Returns the place of `who` among the experts: the scripts have them once.
    fn expert(&self, who: &str) -> usize {
        let experts = self.plan.strategies.iter().find_map(|it| it.strategy.experts());
        let mut experts = experts.into_iter().flat_map(Participants::patterns);
        experts.position(|it| is_like(it, who)).unwrap_or(usize::MAX)
    }
}

/// Returns what a delta says of a single value: that it goes, or what it is; `None` when
/// nothing.
#[expect(clippy::option_option, reason = "nothing is said, or that nothing is there")]
fn word(delta: &Delta, place: &[Step]) -> Option<Option<Value>> {
    let below = place.strip_prefix(delta.path.steps())?;
    match &delta.value {
        None => below.is_empty().then_some(None),
        Some(it) => look(&value(it), below).cloned().map(Some),
    }
}
