//! Resolves the claims on each path with the plan's strategies.
//!
//! # Invariant
//!
//! The order of application is: weight descending, then participant, then sequence. Of
//! two claims that cannot both hold the earlier one wins, unless a strategy decides
//! otherwise. The order of arrival only matters among deltas of one participant.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

use serde_json::Value;

use super::{
    Delta, Json, Plan, State, Strategy, Weight,
    claim::{Change, Claim, NewItem},
    nesting::resolve_nesting,
    path::{Path, Step},
};
use crate::{
    Error,
    count::narrow,
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

    /// Returns the rule that decides where neither claim counts more; `None` for other reasons.
    pub fn rule(self) -> Option<&'static str> {
        (self == Self::Tie).then_some(
            "both count the same: the participant first in the alphabet wins, between equal votes \
             the smaller canonical JSON",
        )
    }

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
        claims.push((Source { delta, item: None }, change));
    }
    let (mut resolutions, mut lost) = (Vec::new(), Vec::new());
    for (path, (strategy, claims)) in paths {
        let mut merge = PathMerge { path: &path, strategy, state, order, lost: &mut lost };
        if let Some((outcome, by)) = merge.resolve(claims)? {
            resolutions.push(Resolution { path, outcome, by });
        }
    }
    Ok((resolve_nesting(resolutions, state, &mut lost), lost))
}

/// The strategy for a path, and the claims on it.
type PathClaims<'a> = (&'a Strategy, Vec<(Source, Change)>);

/// The origin of a claim: a delta, and the item it appends if the claim is about one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Source {
    delta: usize,
    item: Option<usize>,
}

/// The combined claim of one participant on one path or item.
struct ParticipantProposal {
    /// The claimed change; without the items if it appends.
    change: Change,
    by: Vec<Source>,
    /// The items it appends, each with its delta.
    items: Vec<(usize, NewItem)>,
}

impl ParticipantProposal {
    fn new(source: Source, change: Change) -> Self {
        let (change, items) = match change {
            Change::Append(items) => (Change::Append(Vec::new()), items),
            change => (change, Vec::new()),
        };
        let items = items.into_iter().map(|it| (source.delta, it)).collect();
        Self { change, by: vec![source], items }
    }

    fn first(&self) -> usize {
        self.by.first().map(|it| it.delta).unwrap_or_default()
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
    strategy: &'a Strategy,
    state: &'a State,
    order: &'a [WeightedDelta<'a>],
    lost: &'a mut Vec<LostClaim>,
}

impl PathMerge<'_> {
    fn add_losses(&mut self, by: &[Source], to: usize, why: Why) {
        for Source { delta, item } in by {
            let path = item.map_or_else(|| self.path.clone(), |it| self.item_path(it));
            self.lost.push(LostClaim { delta: *delta, path, to, why });
        }
    }

    /// Returns the path of the `nth` appended item if no other participant appends.
    fn item_path(&self, nth: usize) -> Path {
        let place = self.list().map_or(0, Vec::len).saturating_add(nth);
        let mut path = self.path.clone();
        path.push(Step::Index(narrow(place)));
        path
    }

    /// Returns the list at the path, as it was at the opening of the round.
    fn list(&self) -> Option<&Vec<Value>> {
        self.path.find(&self.state.document)?.as_array()
    }

    fn weighted(&self, delta: usize) -> Option<&WeightedDelta<'_>> {
        self.order.get(delta)
    }

    /// Returns one proposal for each participant: its last claim. Items accumulate.
    fn proposals(&mut self, claims: Vec<(Source, Change)>) -> Vec<ParticipantProposal> {
        let mut proposals: Vec<ParticipantProposal> = Vec::new();
        // In the order of application, the claims of one participant are adjacent.
        for (source, change) in claims {
            let participant = |nth: usize| self.weighted(nth).map(|it| &it.delta.participant);
            let is_same = |proposal: &ParticipantProposal| {
                participant(proposal.first()) == participant(source.delta)
            };
            let earlier = proposals.pop_if(|it| is_same(it));
            let mut proposal = ParticipantProposal::new(source, change);
            match earlier {
                Some(mut earlier) if earlier.change == proposal.change => {
                    earlier.by.append(&mut proposal.by);
                    earlier.items.append(&mut proposal.items);
                    proposal = earlier;
                }
                Some(earlier) => self.add_losses(&earlier.by, source.delta, Why::Superseded),
                None => {}
            }
            proposals.push(proposal);
        }
        proposals
    }

    /// Returns the outcome of `claims` and the deltas that claimed it.
    fn resolve(
        &mut self,
        claims: Vec<(Source, Change)>,
    ) -> Result<Option<(Outcome, Vec<usize>)>, Error> {
        let strategy = self.strategy;
        let proposals = self.proposals(claims);
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
        let to = best.proposal.first();
        let ParticipantProposal { change, mut by, mut items } = best.proposal;
        for RankedProposal { expert, votes, proposal } in ranked {
            if proposal.change == change {
                by.extend(proposal.by);
                items.extend(proposal.items);
                continue;
            }
            let why = match strategy {
                Strategy::MajorityVote if votes == best.votes => Why::Tie,
                Strategy::MajorityVote => Why::Outvoted,
                _ if expert > best.expert => Why::Overridden,
                _ => self.reason_by_weight(proposal.first(), to),
            };
            self.add_losses(&proposal.by, to, why);
        }
        let deltas = set(by.iter().map(|it| it.delta));
        match change {
            Change::Remove => Ok(Some((Outcome::Remove, deltas.into_iter().collect()))),
            Change::Set(value) => Ok(Some((Outcome::Set(value), deltas.into_iter().collect()))),
            Change::Append(_) => self.append(items, deltas).map(Some),
        }
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

    /// Returns the items that are appended by `deltas`, in order. Of items that conflict
    /// the strategy takes one.
    fn append(
        &mut self,
        items: Vec<(usize, NewItem)>,
        deltas: BTreeSet<usize>,
    ) -> Result<(Outcome, Vec<usize>), Error> {
        let items = sorted(items, |(a, x), (b, y)| a.cmp(b).then_with(|| x.nth.cmp(&y.nth)));
        // A delta does not lose if it appends nothing, or only items that the list has already.
        let mut losing = set(items.iter().map(|(delta, _)| *delta));
        let here = if *self.strategy == Strategy::Union { self.list() } else { None };
        let here = here.into_iter().flatten().map(Json::from_value);
        let here: BTreeSet<Json> = set(here.collect::<Result<Vec<_>, _>>()?.into_iter());
        let mut conflicts: BTreeMap<(bool, &str), Vec<(usize, &NewItem)>> = BTreeMap::new();
        for (delta, item) in &items {
            if here.contains(&item.value) {
                losing.remove(delta);
            } else {
                conflicts.entry(item.identity()).or_default().push((*delta, item));
            }
        }
        let mut taken: Vec<((usize, usize), Item)> = Vec::new();
        for claims in conflicts.into_values() {
            let item = match claims.as_slice() {
                [(delta, item)] => Some((item.value.clone(), vec![*delta])),
                _ => self.choose(&claims)?,
            };
            let Some((value, by)) = item else { continue };
            losing.retain(|it| !by.contains(it));
            let is_it = |(delta, it): &&(usize, &NewItem)| by.contains(delta) && it.value == value;
            let place = claims.iter().find(is_it).map_or((0, 0), |(delta, it)| (*delta, it.nth));
            taken.push((place, Item { value, by }));
        }
        let taken = sorted(taken, |(a, _), (b, _)| a.cmp(b)).into_iter().map(|(_, it)| it);
        let outcome = Outcome::Append(taken.collect());
        Ok((outcome, deltas.into_iter().filter(|it| !losing.contains(it)).collect()))
    }

    /// Returns the one of some items that conflict, and the deltas that claimed it.
    fn choose(
        &mut self,
        claims: &[(usize, &NewItem)],
    ) -> Result<Option<(Json, Vec<usize>)>, Error> {
        let claim = |(delta, item): &(usize, &NewItem)| {
            (Source { delta: *delta, item: Some(item.nth) }, Change::Set(item.value.clone()))
        };
        let chosen = self.resolve(claims.iter().map(claim).collect())?;
        Ok(chosen.and_then(|(outcome, by)| match outcome {
            Outcome::Set(value) => Some((value, by)),
            Outcome::Remove | Outcome::Append(_) => None,
        }))
    }
}
