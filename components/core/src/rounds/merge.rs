//! What is claimed of the same places, settled by the plan's strategies.
//!
//! # Invariant
//!
//! Deltas are counted in the order of application: weight descending, then
//! participant, then sequence. Of two claims that cannot both hold the earlier one
//! holds, unless a strategy says otherwise. Nothing here depends on when a delta
//! arrived, but for deltas of one participant among themselves.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet, btree_map},
};

use serde_json::Value;

use super::{
    Delta, Json, Plan, State, Strategy, Weight,
    claim::{Change, Claim},
    nesting::apart,
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
    /// The other one weighs more.
    Outweighed,
    /// More participants, or heavier ones, proposed another value.
    Outvoted,
    /// An expert, or one named before, proposed another value.
    Overridden,
    /// Both count the same: the participant first in the alphabet wins, or among even
    /// votes the smaller canonical JSON.
    Tie,
    /// What is above the place was removed or replaced.
    ReplacedAbove,
    /// What is below the place was changed, and would have gone.
    ChangedBelow,
}

impl Why {
    /// Every reason.
    pub const ALL: [Self; 7] = [
        Self::Superseded,
        Self::Outweighed,
        Self::Outvoted,
        Self::Overridden,
        Self::Tie,
        Self::ReplacedAbove,
        Self::ChangedBelow,
    ];

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Superseded => "superseded",
            Self::Outweighed => "outweighed",
            Self::Outvoted => "outvoted",
            Self::Overridden => "overridden",
            Self::Tie => "tie",
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
    claims: Vec<Claim<'_>>,
    order: &[Weighed<'_>],
    state: &State,
) -> Result<(Vec<Settled>, Vec<Lost>), Error> {
    let mut places: BTreeMap<Path, Claimed<'_>> = BTreeMap::new();
    for Claim { delta, path, change, strategy, .. } in claims {
        let (_, claims) = places.entry(path).or_insert_with(|| (strategy, Vec::new()));
        claims.push((delta, change));
    }
    let (mut settled, mut lost) = (Vec::new(), Vec::new());
    for (path, (strategy, claims)) in places {
        let mut place = Place { path: &path, order, lost: &mut lost };
        let voices = place.voices(claims);
        if let Some((now, by)) = place.settle(voices, strategy, state)? {
            settled.push(Settled { path, now, by });
        }
    }
    Ok((apart(settled, state, &mut lost), lost))
}

/// How disagreements about a place are settled, and what deltas claim of it.
type Claimed<'a> = (&'a Strategy, Vec<(usize, Change)>);

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

/// How much a voice counts at a place.
struct Standing {
    /// Its place among the experts, whose first is 0.
    expert: usize,
    /// How many participants say the same, and what they weigh together.
    votes: (u32, u64),
    voice: Voice,
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
                    let deltas = [deltas, voice.deltas].concat();
                    voice = Voice { change: Change::Append(all), deltas, items: before };
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

    /// Returns what becomes of the place, and by which deltas.
    fn settle(
        &mut self,
        voices: Vec<Voice>,
        strategy: &Strategy,
        state: &State,
    ) -> Result<Option<(Becomes, Vec<usize>)>, Error> {
        let merges = matches!(strategy, Strategy::WeightedMerge | Strategy::Union);
        if merges && matches!(voices.first().map(|it| &it.change), Some(Change::Append(_))) {
            return self.append(voices, strategy, state).map(Some);
        }
        let votes = match strategy {
            Strategy::MajorityVote => self.votes(&voices),
            _ => vec![(0, 0); voices.len()],
        };
        let expert = |it: &Voice| {
            let participant = self.of(it.first()).map(|it| &it.delta.participant);
            strategy.experts().zip(participant).and_then(|(experts, it)| experts.position(it))
        };
        let standing = |(it, votes): (Voice, (u32, u64))| Standing {
            expert: expert(&it).unwrap_or(usize::MAX),
            votes,
            voice: it,
        };
        let standings = voices.into_iter().zip(votes).map(standing).collect();
        // Stable: among voices that count the same the order of application stays.
        let mut standings = sorted(standings, |a, b| {
            let by_text = || match strategy {
                Strategy::MajorityVote => a.voice.change.text().cmp(&b.voice.change.text()),
                _ => Ordering::Equal,
            };
            let by_votes = || b.votes.cmp(&a.votes);
            a.expert.cmp(&b.expert).then_with(by_votes).then_with(by_text)
        })
        .into_iter();
        let Some(best) = standings.next() else { return Ok(None) };
        let Voice { change, mut deltas, mut items } = best.voice;
        let to = deltas.first().copied().unwrap_or_default();
        for Standing { expert, votes, voice } in standings {
            if voice.change == change {
                for (item, same) in items.iter_mut().zip(voice.items) {
                    item.by.extend(same.by);
                }
                deltas.extend(voice.deltas);
                continue;
            }
            let why = match strategy {
                Strategy::MajorityVote if votes == best.votes => Why::Tie,
                Strategy::MajorityVote => Why::Outvoted,
                _ if expert > best.expert => Why::Overridden,
                _ => self.why_lighter(voice.first(), to),
            };
            self.lose(&voice.deltas, to, why);
        }
        let deltas = sorted(deltas, Ord::cmp);
        let now = match change {
            Change::Remove => Becomes::Gone,
            Change::Set(value) => Becomes::This(value),
            Change::Append(_) => Becomes::Longer(items),
        };
        Ok(Some((now, deltas)))
    }

    /// Returns why the delta `lost` lost to `won`, which stands before it in the order of
    /// application.
    fn why_lighter(&self, lost: usize, won: usize) -> Why {
        let weight = |it: usize| self.of(it).map(|it| it.weight);
        if weight(lost) == weight(won) { Why::Tie } else { Why::Outweighed }
    }

    /// Of each voice how many participants say the same, and what they weigh together.
    fn votes(&self, voices: &[Voice]) -> Vec<(u32, u64)> {
        let mut votes = BTreeMap::new();
        for voice in voices {
            let weight = self.of(voice.first()).map_or(0, |it| it.weight.billionths());
            let (count, sum): &mut (u32, u64) = votes.entry(&voice.change).or_default();
            *count = count.saturating_add(1);
            *sum = sum.saturating_add(weight.into());
        }
        let of = |it: &Voice| votes.get(&it.change).copied().unwrap_or_default();
        voices.iter().map(of).collect()
    }

    /// Returns the items of all who append, in order.
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
                self.lose(&voice.deltas, to, self.why_lighter(voice.first(), to));
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
