//! What a round may make of its deltas, place by place: who won there is who the strategy
//! says, every other is told to have lost to whom and why, what was applied stands in the
//! state, and nothing else does.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use serde_json::Value;
use shared_context_core::{
    CloseRound, Participant,
    rounds::{
        Convergence, Delta, Fate, Json, KeptRound, Loss, Operation, Path, Plan, Status, Step, Why,
    },
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
    let (Some(ended), Some(state)) = (&kept.round.ended, &kept.state) else {
        return Err("the round is open".to_owned());
    };
    let closed = Closed {
        plan: &kept.round.plan,
        deltas: &kept.deltas,
        fates: &kept.fates,
        old: value(old),
        new: value(state.text()),
    };
    ensure((ended.at, &ended.by) == (at, by), || {
        format!("closed at {:?} by {}", ended.at, ended.by)
    })?;
    let how = (ended.is_discarded, ended.clip);
    let must = (asked.discards, asked.clip.unwrap_or(closed.plan.clip));
    ensure(how == must, || format!("closed as {how:?}, must be {must:?}"))?;
    let fits = asked.discards || ended.bytes <= kept.round.bytes_max;
    let is_counted = ended.bytes as usize == state.text().bytes();
    ensure(fits && is_counted, || format!("a state of {} bytes", ended.bytes))?;
    let convergence = convergence(&closed.old, &closed.new);
    ensure(ended.convergence == convergence, || format!("convergence must be {convergence:?}"))?;
    let count = |of: &[Status]| kept.fates.iter().filter(|it| of.contains(&it.status)).count();
    let counts = [ended.applied, ended.lost, ended.refused];
    let counted =
        [&[Status::Applied][..], &[Status::Lost], &[Status::Clipped, Status::Discarded]].map(count);
    ensure(counts.map(|it| it as usize) == counted, || format!("counts must be {counted:?}"))?;
    ensure(kept.fates.iter().map(|it| it.sequence).eq(1..=kept.round.deltas), || {
        format!("not every delta has one outcome: {:?}", kept.fates)
    })?;
    check_kinds(&closed.new)?;
    if asked.discards {
        let is_lost =
            kept.fates.iter().any(|it| it.status != Status::Discarded || !it.losses.is_empty());
        return ensure(*state.text() == *old && !is_lost, || "not discarded".to_owned());
    }
    closed
        .deltas
        .iter()
        .zip(closed.fates)
        .try_for_each(|(it, fate)| closed.check_fate(it, fate))?;
    if ended.clipped.is_empty() {
        closed.check_single_values()?;
        closed.check_list("entities")?;
        closed.check_list("rules")?;
    }
    Ok(())
}

/// A state has four members, each of its kind.
fn check_kinds(state: &Value) -> Result<(), String> {
    let is_bound = |it: &Value| it.as_str().is_some_and(|it| !it.is_empty());
    let holds = state.as_object().is_some_and(|it| it.len() == 4)
        && state["query"].is_string()
        && state["bindings"].as_object().is_some_and(|it| it.values().all(is_bound))
        && state["entities"].is_array()
        && state["rules"].is_array();
    ensure(holds, || format!("no state: {state}"))
}

impl Closed<'_> {
    /// A delta is applied or lost; a loss names the winner, and why holds of both.
    fn check_fate(&self, own: &Delta, fate: &Fate) -> Result<(), String> {
        let wrong = |what: &str| format!("{what}: {own:?}\n  {fate:?}");
        let lost_whole = fate.losses.iter().any(|it| it.path == own.path);
        let holds = match fate.status {
            Status::Applied => !lost_whole,
            Status::Lost => !fate.losses.is_empty(),
            Status::Clipped => !fate.clipped.is_empty(),
            Status::Discarded => false,
        };
        ensure(holds, || wrong("no outcome"))?;
        let places: BTreeSet<&Path> = fate.losses.iter().map(|it| &it.path).collect();
        ensure(places.len() == fate.losses.len(), || wrong("lost twice at a place"))?;
        for loss in &fate.losses {
            let winner = self.deltas.get(loss.to as usize - 1);
            let winner =
                winner.filter(|it| it.participant == loss.by && it.sequence != own.sequence);
            let Some(winner) = winner else { return Err(wrong("lost to nobody")) };
            let is_there = own.path.covers(&loss.path)
                && (winner.path.covers(&loss.path) || loss.path.covers(&winner.path));
            ensure(is_there && self.holds(own, winner, loss), || wrong("lost for no reason"))?;
        }
        Ok(())
    }

    /// Whether `own` lost to `winner` for the reason that is told.
    fn holds(&self, own: &Delta, winner: &Delta, loss: &Loss) -> bool {
        let [mine, others] =
            [own, winner].map(|it| weight(self.plan, it.participant.as_str()).billionths());
        let [my_place, place] = [own, winner].map(|it| self.expert(it.participant.as_str()));
        let (strategy, _) = self.strategy(&loss.path);
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

    /// The query and each term: of what is said last the strategy's choice is there, and
    /// just those have lost who say something else.
    fn check_single_values(&self) -> Result<(), String> {
        let terms = |it: &Value| {
            it.as_object().into_iter().flatten().map(|(term, _)| term.clone()).collect()
        };
        let mut all: BTreeSet<String> = terms(&self.old["bindings"]);
        all.append(&mut terms(&self.new["bindings"]));
        let bindings = || Step::Name("bindings".to_owned());
        let terms = all.into_iter().map(|term| vec![bindings(), Step::Name(term)]);
        let mut places = terms.chain([vec![Step::Name("query".to_owned())]]);
        places.try_for_each(|it| self.check_single_value(&Path::new(it).unwrap()))
    }

    fn check_single_value(&self, place: &Path) -> Result<(), String> {
        let (old, new) = (look(&self.old, place.steps()), look(&self.new, place.steps()));
        let mut last = BTreeMap::new();
        for (nth, it) in self.deltas.iter().enumerate() {
            if let Some(word) = word(it, place) {
                last.insert(it.participant.as_str(), (nth, word));
            }
        }
        if last.is_empty() {
            return ensure(old == new, || format!("{place} is {new:?} and nobody said so"));
        }
        for (nth, word) in last.values() {
            let is_lost = self.fates[*nth].losses.iter().any(|it| it.path == *place);
            ensure(is_lost == (word.as_ref() != new), || {
                format!("{place} is {new:?}, and {:?} has another outcome", self.deltas[*nth])
            })?;
        }
        let heavy = |who: &str| weight(self.plan, who).billionths();
        let votes = |word: &Option<Value>| {
            let same = last.iter().filter(|(_, (_, it))| it == word);
            (same.clone().count(), same.map(|(who, _)| u64::from(heavy(who))).sum::<u64>())
        };
        let first = match self.strategy(place) {
            ("majority-vote", _) => last.iter().min_by_key(|(who, (_, it))| {
                (
                    Reverse(votes(it)),
                    it.as_ref().map_or(String::new(), Value::to_string),
                    Reverse(heavy(who)),
                )
            }),
            ("expert-override", _) => {
                last.iter().min_by_key(|(who, _)| (self.expert(who), Reverse(heavy(who)), **who))
            }
            _ => last.iter().min_by_key(|(who, _)| (Reverse(heavy(who)), **who)),
        };
        let winner = first.and_then(|(_, (_, word))| word.as_ref());
        ensure(winner == new, || format!("{place} must be {winner:?} but is {new:?}"))
    }

    /// A list: what was applied stands in it, what nobody touched is as it was, and there
    /// is no more.
    fn check_list(&self, member: &str) -> Result<(), String> {
        let list = [Step::Name(member.to_owned())];
        let items = |state: &'_ Value| state[member].as_array().cloned().unwrap_or_default();
        let (old, new) = (items(&self.old), items(&self.new));
        let wrong = |what: &str| format!("{what} in {member}: {old:?}\n  is {new:?}");
        let its =
            self.deltas.iter().zip(self.fates).filter(|(it, _)| it.path.steps().starts_with(&list));
        let held = its.clone().filter(|(_, fate)| fate.losses.is_empty()).map(|(it, _)| it);
        let (whole, below): (Vec<_>, Vec<_>) = held.partition(|it| it.path.steps().len() == 1);
        if let Some(it) = whole.iter().find(|it| it.operation == Operation::Modify) {
            return ensure(it.value.as_ref().map(value) == Some(new.clone().into()), || {
                wrong("not set")
            });
        }
        let index = |it: &Delta| match it.path.steps() {
            [_, Step::Index(nth), ..] => *nth,
            _ => u32::MAX,
        };
        let is_item =
            |it: &&&Delta| it.operation == Operation::Remove && it.path.steps().len() == 2;
        let gone: BTreeSet<u32> = below.iter().filter(is_item).map(|it| index(it)).collect();
        let moved = |nth: u32| (nth - gone.range(..nth).count() as u32) as usize;
        let there = |nth: u32| new.get(moved(nth)).filter(|_| !gone.contains(&nth));
        let rest = old.len() - gone.len();

        let (strategy, _) = self.strategy(&Path::new(list.to_vec()).unwrap());
        let merges = ["weighted-merge", "union"].contains(&strategy);
        let who = whole.first().map(|it| &it.participant);
        let spoken = whole.iter().filter(|it| merges || Some(&it.participant) == who);
        let mut more: Vec<Value> = spoken.flat_map(|it| added(it)).collect();
        if strategy == "union" {
            let mut once: Vec<Value> = Vec::new();
            more.retain(|it| {
                let is_new = !old.contains(it) && !once.contains(it);
                once.extend(is_new.then(|| it.clone()));
                is_new
            });
        }
        ensure(new.len() == rest + more.len(), || wrong("too many or too few"))?;
        ensure(more.iter().all(|it| new[rest..].contains(it)), || wrong("not added"))?;
        for (nth, item) in (0..).zip(&old).filter(|(nth, _)| !gone.contains(nth)) {
            let is_touched = its.clone().any(|(it, _)| index(it) == nth);
            ensure(is_touched || there(nth) == Some(item), || wrong("changed by nobody"))?;
        }
        for it in below {
            let Some(item) = there(index(it)) else { continue };
            let here = look(item, &it.path.steps()[2..]);
            let stands = match (&it.value, it.operation) {
                (Some(says), operation) => {
                    here.is_some_and(|here| has(here, &value(says), operation))
                }
                (None, _) => here.is_none(),
            };
            ensure(stands, || wrong(&format!("{it:?} does not stand")))?;
        }
        Ok(())
    }

    /// The strategy of a place, and its experts.
    fn strategy(&self, place: &Path) -> (&'static str, Vec<&str>) {
        let Some(Step::Name(member)) = place.steps().first() else { return ("", Vec::new()) };
        let paths = format!("$.{member}");
        let rule = self.plan.strategies.iter().find(|it| it.paths.as_str() == paths);
        let experts = rule.and_then(|it| it.strategy.experts());
        let experts = experts.into_iter().flat_map(|it| it.patterns()).collect();
        (rule.map_or("weighted-merge", |it| it.strategy.name()), experts)
    }

    /// The place of `who` among the experts, who are the same for all members.
    fn expert(&self, who: &str) -> usize {
        let experts = self.plan.strategies.iter().find_map(|it| it.strategy.experts());
        let mut experts = experts.into_iter().flat_map(|it| it.patterns());
        experts.position(|it| is_like(it, who)).unwrap_or(usize::MAX)
    }
}

/// What a delta says of a single value: that it goes, or what it is; `None` when nothing.
#[expect(clippy::option_option, reason = "nothing is said, or that nothing is there")]
fn word(delta: &Delta, place: &Path) -> Option<Option<Value>> {
    let steps = place.steps().strip_prefix(delta.path.steps())?;
    match &delta.value {
        None => steps.is_empty().then_some(None),
        Some(it) => look(&value(it), steps).cloned().map(Some),
    }
}

/// What a delta adds to a list.
fn added(delta: &Delta) -> Vec<Value> {
    match delta.value.as_ref().map(value) {
        Some(Value::Array(items)) => items,
        other => other.into_iter().collect(),
    }
}

/// Whether what is `here` has in it what was said.
fn has(here: &Value, said: &Value, operation: Operation) -> bool {
    match (here, said) {
        (Value::Object(all), Value::Object(members)) => members
            .iter()
            .all(|(name, it)| all.get(name).is_some_and(|here| has(here, it, operation))),
        (Value::Array(all), Value::Array(items)) if operation == Operation::Add => {
            items.iter().all(|it| all.contains(it))
        }
        (Value::Array(all), it) if operation == Operation::Add => all.contains(it),
        _ => here == said,
    }
}

/// How many single values are as they were, of those in either state.
fn convergence(before: &Value, after: &Value) -> Convergence {
    fn leaves(value: &Value, at: String, all: &mut BTreeMap<String, Value>) {
        match value {
            Value::Object(it) if !it.is_empty() => {
                it.iter().for_each(|(name, it)| leaves(it, format!("{at}.{name}"), all));
            }
            Value::Array(it) if !it.is_empty() => {
                it.iter().enumerate().for_each(|(nth, it)| leaves(it, format!("{at}[{nth}]"), all));
            }
            _ => drop(all.insert(at, value.clone())),
        }
    }
    let (mut old, mut new) = (BTreeMap::new(), BTreeMap::new());
    leaves(before, String::new(), &mut old);
    leaves(after, String::new(), &mut new);
    let unchanged = new.iter().filter(|(at, it)| old.get(*at) == Some(it)).count() as u32;
    new.extend(old);
    Convergence { unchanged, paths: new.len() as u32 }
}
