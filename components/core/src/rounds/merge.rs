//! Resolves the claims on each path with the plan's strategies.
//!
//! # Invariant
//!
//! The order of application is: weight descending, then participant, then sequence. Of
//! two claims that cannot both hold the earlier one wins, unless a strategy decides
//! otherwise. The order of arrival only matters among deltas of one participant.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet, btree_map},
};

use serde_json::Value;

use super::{
    Delta, Json, Plan, State, Strategy, Weight,
    claim::{Change, Claim},
    nesting::resolve_nesting,
    path::Path,
};
use crate::{
    Error,
    order::{set, sorted},
};

/// The reason a claim lost to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The same participant proposed another value for the path later.
    Superseded,
    /// The winner has a higher weight.
    Outweighed,
    /// More participants, or a higher total weight, proposed another value.
    Outvoted,
    /// An expert, or one earlier in the list, proposed another value.
    Overridden,
    /// Both are equal: the participant first in the alphabet wins, or among tied votes
    /// the smaller canonical JSON.
    Tie,
    /// A path above was removed or replaced.
    ReplacedAbove,
    /// A path below was changed, and would have been removed.
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

    /// Returns the reason's name.
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

/// A delta of the round with its weight.
#[derive(Debug, Clone, Copy)]
pub(super) struct WeightedDelta<'a> {
    pub(super) delta: &'a Delta,
    pub(super) weight: Weight,
}

/// The resolution of the claims on one path.
#[derive(Debug)]
pub(super) struct Resolution {
    pub(super) path: Path,
    pub(super) outcome: Outcome,
    /// The deltas that claimed this outcome, in the order of application.
    pub(super) by: Vec<usize>,
}

/// The outcome at a path.
#[derive(Debug)]
pub(super) enum Outcome {
    Remove,
    Set(Json),
    /// Appends these items.
    Append(Vec<Item>),
}

/// An item to append.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) value: Json,
    /// The deltas that claimed the item.
    pub(super) by: Vec<usize>,
}

/// A claim that lost.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LostClaim {
    pub(super) delta: usize,
    pub(super) path: Path,
    /// The winning delta.
    pub(super) to: usize,
    pub(super) why: Why,
}

/// Sorts `deltas` into the order of application.
pub(super) fn in_order<'a>(deltas: &'a [Delta], plan: &Plan) -> Vec<WeightedDelta<'a>> {
    let weighted =
        |delta: &'a Delta| WeightedDelta { delta, weight: plan.weight(&delta.participant) };
    sorted(deltas.iter().map(weighted).collect(), |a, b| {
        let by_weight = b.weight.cmp(&a.weight);
        let by_participant = || a.delta.participant.cmp(&b.delta.participant);
        let by_sequence = || a.delta.sequence.cmp(&b.delta.sequence);
        by_weight.then_with(by_participant).then_with(by_sequence)
    })
}

/// Resolves `claims`. Returns the resolution of each path, and the lost claims.
pub(super) fn resolve(
    claims: Vec<Claim<'_>>,
    order: &[WeightedDelta<'_>],
    state: &State,
) -> Result<(Vec<Resolution>, Vec<LostClaim>), Error> {
    let mut paths: BTreeMap<Path, PathClaims<'_>> = BTreeMap::new();
    for Claim { delta, path, change, strategy, .. } in claims {
        let (_, claims) = paths.entry(path).or_insert_with(|| (strategy, Vec::new()));
        claims.push((delta, change));
    }
    let (mut resolutions, mut lost) = (Vec::new(), Vec::new());
    for (path, (strategy, claims)) in paths {
        let mut merge = PathMerge { path: &path, order, lost: &mut lost };
        let proposals = merge.proposals(claims);
        if let Some((outcome, by)) = merge.resolve(proposals, strategy, state)? {
            resolutions.push(Resolution { path, outcome, by });
        }
    }
    Ok((resolve_nesting(resolutions, state, &mut lost), lost))
}

/// The strategy for a path, and the claims on it.
type PathClaims<'a> = (&'a Strategy, Vec<(usize, Change)>);

/// The combined claim of one participant on one path.
struct ParticipantProposal {
    change: Change,
    /// The deltas that claim it, and the items if it appends.
    deltas: Vec<usize>,
    items: Vec<Item>,
}

impl ParticipantProposal {
    fn first(&self) -> usize {
        self.deltas.first().copied().unwrap_or_default()
    }
}

/// A proposal with its rank at a path.
struct RankedProposal {
    /// The index among the experts, from 0.
    expert: usize,
    /// The number of participants with the same claim, and their total weight.
    votes: (u32, u64),
    proposal: ParticipantProposal,
}

/// The merge of the claims on one path.
struct PathMerge<'a> {
    path: &'a Path,
    order: &'a [WeightedDelta<'a>],
    lost: &'a mut Vec<LostClaim>,
}

impl PathMerge<'_> {
    fn add_losses(&mut self, deltas: &[usize], to: usize, why: Why) {
        let path = self.path;
        self.lost.extend(deltas.iter().map(|&delta| LostClaim {
            delta,
            path: path.clone(),
            to,
            why,
        }));
    }

    fn weighted(&self, delta: usize) -> Option<&WeightedDelta<'_>> {
        self.order.get(delta)
    }

    /// Returns one proposal for each participant: its last claim. Items accumulate.
    fn proposals(&mut self, claims: Vec<(usize, Change)>) -> Vec<ParticipantProposal> {
        let mut proposals: Vec<ParticipantProposal> = Vec::new();
        // In the order of application, the claims of one participant are adjacent.
        for (delta, change) in claims {
            let participant = |nth: usize| self.weighted(nth).map(|it| &it.delta.participant);
            let is_same = |proposal: &ParticipantProposal| {
                participant(proposal.first()) == participant(delta)
            };
            let earlier = proposals.pop_if(|it| is_same(it));
            let item = |value: &Json| Item { value: value.clone(), by: vec![delta] };
            let items = match &change {
                Change::Append(items) => items.iter().map(item).collect(),
                Change::Set(_) | Change::Remove => Vec::new(),
            };
            let mut proposal =
                ParticipantProposal { change, deltas: vec![delta], items: Vec::new() };
            match (earlier, &mut proposal.change) {
                (
                    Some(ParticipantProposal {
                        change: Change::Append(mut all),
                        deltas,
                        items: before,
                    }),
                    Change::Append(more),
                ) => {
                    all.append(more);
                    let deltas = [deltas, proposal.deltas].concat();
                    proposal =
                        ParticipantProposal { change: Change::Append(all), deltas, items: before };
                }
                (Some(earlier), change) if earlier.change == *change => {
                    proposal.deltas.splice(..0, earlier.deltas);
                }
                (Some(earlier), _) => self.add_losses(&earlier.deltas, delta, Why::Superseded),
                (None, _) => {}
            }
            proposal.items.extend(items);
            proposals.push(proposal);
        }
        proposals
    }

    /// Returns the outcome at the path and the deltas that claimed it.
    fn resolve(
        &mut self,
        proposals: Vec<ParticipantProposal>,
        strategy: &Strategy,
        state: &State,
    ) -> Result<Option<(Outcome, Vec<usize>)>, Error> {
        let merges = matches!(strategy, Strategy::WeightedMerge | Strategy::Union);
        if merges && matches!(proposals.first().map(|it| &it.change), Some(Change::Append(_))) {
            return self.append(proposals, strategy, state).map(Some);
        }
        let votes = match strategy {
            Strategy::MajorityVote => self.votes(&proposals),
            _ => vec![(0, 0); proposals.len()],
        };
        let expert = |it: &ParticipantProposal| {
            let participant = self.weighted(it.first()).map(|it| &it.delta.participant);
            strategy.experts().zip(participant).and_then(|(experts, it)| experts.position(it))
        };
        let rank = |(it, votes): (ParticipantProposal, (u32, u64))| RankedProposal {
            expert: expert(&it).unwrap_or(usize::MAX),
            votes,
            proposal: it,
        };
        let ranked = proposals.into_iter().zip(votes).map(rank).collect();
        // The sort is stable: equal proposals stay in the order of application.
        let mut ranked = sorted(ranked, |a, b| {
            let by_text = || match strategy {
                Strategy::MajorityVote => a.proposal.change.text().cmp(&b.proposal.change.text()),
                _ => Ordering::Equal,
            };
            let by_votes = || b.votes.cmp(&a.votes);
            a.expert.cmp(&b.expert).then_with(by_votes).then_with(by_text)
        })
        .into_iter();
        let Some(best) = ranked.next() else { return Ok(None) };
        let ParticipantProposal { change, mut deltas, mut items } = best.proposal;
        let to = deltas.first().copied().unwrap_or_default();
        for RankedProposal { expert, votes, proposal } in ranked {
            if proposal.change == change {
                for (item, same) in items.iter_mut().zip(proposal.items) {
                    item.by.extend(same.by);
                }
                deltas.extend(proposal.deltas);
                continue;
            }
            let why = match strategy {
                Strategy::MajorityVote if votes == best.votes => Why::Tie,
                Strategy::MajorityVote => Why::Outvoted,
                _ if expert > best.expert => Why::Overridden,
                _ => self.reason_by_weight(proposal.first(), to),
            };
            self.add_losses(&proposal.deltas, to, why);
        }
        let deltas = sorted(deltas, Ord::cmp);
        let outcome = match change {
            Change::Remove => Outcome::Remove,
            Change::Set(value) => Outcome::Set(value),
            Change::Append(_) => Outcome::Append(items),
        };
        Ok(Some((outcome, deltas)))
    }

    /// Returns the reason the delta `lost` lost to `won`, which precedes it in the order
    /// of application.
    fn reason_by_weight(&self, lost: usize, won: usize) -> Why {
        let weight = |it: usize| self.weighted(it).map(|it| it.weight);
        if weight(lost) == weight(won) { Why::Tie } else { Why::Outweighed }
    }

    /// Returns for each proposal the number of participants with the same claim, and
    /// their total weight.
    fn votes(&self, proposals: &[ParticipantProposal]) -> Vec<(u32, u64)> {
        let mut votes = BTreeMap::new();
        for proposal in proposals {
            let weight = self.weighted(proposal.first()).map_or(0, |it| it.weight.billionths());
            let (count, sum): &mut (u32, u64) = votes.entry(&proposal.change).or_default();
            *count = count.saturating_add(1);
            *sum = sum.saturating_add(weight.into());
        }
        let of = |it: &ParticipantProposal| votes.get(&it.change).copied().unwrap_or_default();
        proposals.iter().map(of).collect()
    }

    /// Returns the items of all proposals that append, in order.
    fn append(
        &mut self,
        proposals: Vec<ParticipantProposal>,
        strategy: &Strategy,
        state: &State,
    ) -> Result<(Outcome, Vec<usize>), Error> {
        let (mut items, mut deltas) = (Vec::<Item>::new(), Vec::new());
        for proposal in proposals {
            if matches!(proposal.change, Change::Append(_)) {
                items.extend(proposal.items);
                deltas.extend(proposal.deltas);
            } else {
                let to = deltas.first().copied().unwrap_or_default();
                self.add_losses(&proposal.deltas, to, self.reason_by_weight(proposal.first(), to));
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
        Ok((Outcome::Append(items), deltas))
    }
}
