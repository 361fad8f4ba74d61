//! What is claimed of the same places, settled by the plan's strategies.
//!
//! # Invariant
//!
//! Deltas are counted in the order of application: weight descending, then
//! participant, then sequence. Of two claims that cannot both hold the earlier one
//! holds, unless a strategy says otherwise. Nothing here depends on when a delta
//! arrived, but for deltas of one participant among themselves.

use std::collections::{BTreeMap, BTreeSet, btree_map};

use serde_json::Value;

use super::{
    Delta, Json, Plan, State, Strategy, Weight,
    claim::{Change, Claim},
    path::Path,
};
use crate::{
    Error,
    order::{set, sorted},
};

/// Why a claim lost to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The same participant said something else of the place later.
    Superseded,
    /// The other one stands before it in the order of weight, participant, sequence.
    Outweighed,
    /// More participants, or heavier ones, proposed another value.
    Outvoted,
    /// An expert proposed another value.
    Overridden,
    /// What is above the place was removed or replaced.
    ReplacedAbove,
    /// What is below the place was changed, and would have gone.
    ChangedBelow,
}

impl Why {
    /// Every reason.
    pub const ALL: [Self; 6] = [
        Self::Superseded,
        Self::Outweighed,
        Self::Outvoted,
        Self::Overridden,
        Self::ReplacedAbove,
        Self::ChangedBelow,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Superseded => "superseded",
            Self::Outweighed => "outweighed",
            Self::Outvoted => "outvoted",
            Self::Overridden => "overridden",
            Self::ReplacedAbove => "replaced-above",
            Self::ChangedBelow => "changed-below",
        }
    }
}

/// A delta of the round, with how much it counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weighed<'a> {
    pub(super) delta: &'a Delta,
    pub(super) weight: Weight,
}

/// What becomes of a place.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) path: Path,
    pub(super) now: Becomes,
    /// The deltas that claimed this, in the order of application.
    pub(super) by: Vec<usize>,
}

/// What is to be at a place.
#[derive(Debug)]
pub(super) enum Becomes {
    Gone,
    This(Json),
    /// With these appended.
    Longer(Vec<Item>),
}

/// An item to be appended.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) value: Json,
    /// The deltas that claimed it.
    pub(super) by: Vec<usize>,
}

/// A claim that lost.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lost {
    pub(super) delta: usize,
    pub(super) path: Path,
    /// The delta it lost to.
    pub(super) to: usize,
    pub(super) why: Why,
}

/// Sorts `deltas` in the order of application.
pub(super) fn in_order<'a>(deltas: &'a [Delta], plan: &Plan) -> Vec<Weighed<'a>> {
    let weighed = |delta: &'a Delta| Weighed { delta, weight: plan.weight(&delta.participant) };
    sorted(deltas.iter().map(weighed).collect(), |a, b| {
        let by_weight = b.weight.cmp(&a.weight);
        let by_participant = || a.delta.participant.cmp(&b.delta.participant);
        let by_sequence = || a.delta.sequence.cmp(&b.delta.sequence);
        by_weight.then_with(by_participant).then_with(by_sequence)
    })
}

/// Settles `claims`: what becomes of which place, and what lost to what.
pub(super) fn settle(
    claims: Vec<Claim>,
    order: &[Weighed<'_>],
    state: &State,
    plan: &Plan,
) -> Result<(Vec<Settled>, Vec<Lost>), Error> {
    let mut places: BTreeMap<Path, Vec<(usize, Change)>> = BTreeMap::new();
    for Claim { delta, path, change } in claims {
        places.entry(path).or_default().push((delta, change));
    }
    let (mut settled, mut lost) = (Vec::new(), Vec::new());
    for (path, claims) in places {
        let mut place = Place { path: &path, order, lost: &mut lost };
        let voices = place.voices(claims);
        if let Some((now, by)) = place.settle(voices, plan.strategy(&path), state)? {
            settled.push(Settled { path, now, by });
        }
    }
    Ok((apart(settled, state, &mut lost), lost))
}

/// What one participant says of one place.
struct Voice {
    change: Change,
    /// Its deltas that say so, and where they append, what.
    deltas: Vec<usize>,
    items: Vec<Item>,
}

impl Voice {
    fn first(&self) -> usize {
        self.deltas.first().copied().unwrap_or_default()
    }
}

/// One place of which something is claimed.
struct Place<'a> {
    path: &'a Path,
    order: &'a [Weighed<'a>],
    lost: &'a mut Vec<Lost>,
}

impl Place<'_> {
    fn lose(&mut self, deltas: &[usize], to: usize, why: Why) {
        let path = self.path;
        self.lost.extend(deltas.iter().map(|&delta| Lost { delta, path: path.clone(), to, why }));
    }

    fn of(&self, delta: usize) -> Option<&Weighed<'_>> {
        self.order.get(delta)
    }

    /// One voice for each participant: what it said last. Items add up.
    fn voices(&mut self, claims: Vec<(usize, Change)>) -> Vec<Voice> {
        let mut voices: Vec<Voice> = Vec::new();
        // In the order of application those of one participant follow each other.
        for (delta, change) in claims {
            let participant = |nth: usize| self.of(nth).map(|it| &it.delta.participant);
            let is_same = |voice: &Voice| participant(voice.first()) == participant(delta);
            let earlier = voices.pop_if(|it| is_same(it));
            let item = |value: &Json| Item { value: value.clone(), by: vec![delta] };
            let items = match &change {
                Change::Append(items) => items.iter().map(item).collect(),
                Change::Set(_) | Change::Remove => Vec::new(),
            };
            let mut voice = Voice { change, deltas: vec![delta], items: Vec::new() };
            match (earlier, &mut voice.change) {
                (
                    Some(Voice { change: Change::Append(mut all), deltas, items: before }),
                    Change::Append(more),
                ) => {
                    all.append(more);
                    voice.change = Change::Append(all);
                    voice.deltas.splice(..0, deltas);
                    voice.items = before;
                }
                (Some(earlier), change) if earlier.change == *change => {
                    voice.deltas.splice(..0, earlier.deltas);
                }
                (Some(earlier), _) => self.lose(&earlier.deltas, delta, Why::Superseded),
                (None, _) => {}
            }
            voice.items.extend(items);
            voices.push(voice);
        }
        voices
    }

    /// What becomes of the place, and by which deltas.
    fn settle(
        &mut self,
        mut voices: Vec<Voice>,
        strategy: &Strategy,
        state: &State,
    ) -> Result<Option<(Becomes, Vec<usize>)>, Error> {
        let why = match strategy {
            Strategy::WeightedMerge | Strategy::Union => {
                if voices.first().is_some_and(|it| matches!(it.change, Change::Append(_))) {
                    return self.append(voices, strategy, state).map(Some);
                }
                Why::Outweighed
            }
            Strategy::HighestWeight => Why::Outweighed,
            Strategy::MajorityVote => {
                let votes = self.votes(&voices);
                // Stable: among voices for one value the order of application stays.
                voices = sorted(voices, |a, b| {
                    let votes = |it: &Voice| votes.get(&it.change).copied().unwrap_or_default();
                    votes(b).cmp(&votes(a)).then_with(|| a.change.text().cmp(&b.change.text()))
                });
                Why::Outvoted
            }
            Strategy::ExpertOverride(experts) => {
                let place = |it: &Voice| {
                    let participant = self.of(it.first()).map(|it| &it.delta.participant);
                    participant.and_then(|it| experts.position(it)).unwrap_or(usize::MAX)
                };
                voices = sorted(voices, |a, b| place(a).cmp(&place(b)));
                let is_expert = voices.first().is_some_and(|it| place(it) < usize::MAX);
                if is_expert { Why::Overridden } else { Why::Outweighed }
            }
        };
        let mut voices = voices.into_iter();
        let Some(Voice { change, mut deltas, mut items }) = voices.next() else { return Ok(None) };
        let to = deltas.first().copied().unwrap_or_default();
        for other in voices {
            if other.change == change {
                for item in &mut items {
                    item.by.extend(&other.deltas);
                }
                deltas.extend(other.deltas);
            } else {
                self.lose(&other.deltas, to, why);
            }
        }
        let deltas = sorted(deltas, Ord::cmp);
        let now = match change {
            Change::Remove => Becomes::Gone,
            Change::Set(value) => Becomes::This(value),
            Change::Append(_) => Becomes::Longer(items),
        };
        Ok(Some((now, deltas)))
    }

    /// How many participants are for each value, and what they weigh together.
    fn votes(&self, voices: &[Voice]) -> BTreeMap<Change, (u32, u64)> {
        let mut votes = BTreeMap::new();
        for voice in voices {
            let weight = self.of(voice.first()).map_or(0, |it| it.weight.billionths());
            let (count, sum): &mut (u32, u64) = votes.entry(voice.change.clone()).or_default();
            *count = count.saturating_add(1);
            *sum = sum.saturating_add(weight.into());
        }
        votes
    }

    /// The items of all who append, in order.
    fn append(
        &mut self,
        voices: Vec<Voice>,
        strategy: &Strategy,
        state: &State,
    ) -> Result<(Becomes, Vec<usize>), Error> {
        let (mut items, mut deltas) = (Vec::<Item>::new(), Vec::new());
        for voice in voices {
            if matches!(voice.change, Change::Append(_)) {
                items.extend(voice.items);
                deltas.extend(voice.deltas);
            } else {
                let to = deltas.first().copied().unwrap_or_default();
                self.lose(&voice.deltas, to, Why::Outweighed);
            }
        }
        if *strategy == Strategy::Union {
            let here = self.path.find(&state.document).and_then(Value::as_array);
            let here = here.into_iter().flatten().map(Json::from_value);
            let here: BTreeSet<Json> = set(here.collect::<Result<Vec<_>, _>>()?.into_iter());
            let mut once: Vec<Item> = Vec::new();
            let mut places = BTreeMap::new();
            for item in items.into_iter().filter(|it| !here.contains(&it.value)) {
                match places.entry(item.value.clone()) {
                    btree_map::Entry::Vacant(place) => {
                        place.insert(once.len());
                        once.push(item);
                    }
                    btree_map::Entry::Occupied(place) => {
                        if let Some(there) = once.get_mut(*place.get()) {
                            there.by.extend(&item.by);
                        }
                    }
                }
            }
            items = once;
        }
        Ok((Becomes::Longer(items), deltas))
    }
}

/// Keeps those of `settled` that can hold together: what removes or replaces a
/// place cannot hold beside a change of what is below it.
fn apart(settled: Vec<Settled>, state: &State, lost: &mut Vec<Lost>) -> Vec<Settled> {
    let replaces = |it: &Settled| {
        let is_new = it.path.find(&state.document).is_none();
        match &it.now {
            Becomes::Gone => true,
            // Where nothing was, an object has room for what others put into it.
            Becomes::This(value) => !(is_new && value.as_str() == "{}"),
            Becomes::Longer(_) => is_new,
        }
    };
    let first = |it: &Settled| it.by.first().copied().unwrap_or_default();
    let settled = sorted(settled, |a, b| first(a).cmp(&first(b)));
    let mut kept: BTreeMap<Path, Settled> = BTreeMap::new();
    for it in settled {
        let both_gone =
            |other: &Settled| matches!((&it.now, &other.now), (Becomes::Gone, Becomes::Gone));
        let above = it.path.above().find_map(|path| kept.get(&path).filter(|it| replaces(it)));
        let above = above.filter(|other| !both_gone(other));
        let below = kept.range(it.path.clone()..).skip_while(|(path, _)| **path == it.path);
        let below = below.take_while(|(path, _)| it.path.covers(path)).map(|(_, it)| it);
        let below =
            below.filter(|other| replaces(&it) && !both_gone(other)).min_by_key(|it| first(it));
        let loss = match (above, below) {
            (Some(above), _) => Some((first(above), Why::ReplacedAbove)),
            (None, Some(below)) => Some((first(below), Why::ChangedBelow)),
            (None, None) => None,
        };
        match loss {
            Some((to, why)) => {
                let losses =
                    it.by.iter().map(|&delta| Lost { delta, path: it.path.clone(), to, why });
                lost.extend(losses);
            }
            None => drop(kept.insert(it.path.clone(), it)),
        }
    }
    kept.into_values().collect()
}
