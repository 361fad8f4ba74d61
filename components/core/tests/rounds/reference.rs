//! A reference implementation of merging, as simple as possible: it scans everything for
//! every decision. It is slow, and shares no code with the implementation it is compared
//! with.

use std::{cmp::Reverse, collections::BTreeMap};

use serde_json::{Map, Value};

use crate::reference_state::apply;

/// A step of a path: a name, or an index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Name(String),
    Index(usize),
}

#[derive(Debug, Clone)]
pub(crate) struct Delta {
    pub(crate) participant: String,
    pub(crate) weight: u32,
    pub(crate) sequence: usize,
    pub(crate) operation: &'static str,
    pub(crate) path: Vec<Step>,
    pub(crate) value: Value,
}

/// The strategies for the members of the state, and the experts.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub(crate) bindings: &'static str,
    pub(crate) entities: &'static str,
    pub(crate) query: &'static str,
    pub(crate) experts: Vec<String>,
}

#[derive(Debug, Clone)]
pub(crate) enum Change {
    Remove,
    Set(Value),
    Append(Vec<Value>),
}

impl Change {
    /// Returns the text that decides a tied vote.
    fn text(&self) -> String {
        match self {
            Self::Remove => String::new(),
            Self::Set(value) => value.to_string(),
            Self::Append(_) => "[]".to_owned(),
        }
    }
}

/// Changes that append agree: items are compared one by one.
impl PartialEq for Change {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Remove, Self::Remove) | (Self::Append(_), Self::Append(_)) => true,
            (Self::Set(value), Self::Set(other)) => value == other,
            _ => false,
        }
    }
}

#[derive(Debug, Clone)]
struct Claim {
    rank: usize,
    path: Vec<Step>,
    change: Change,
}

impl Rules {
    fn of(&self, path: &[Step]) -> &'static str {
        match &path[0] {
            Step::Name(name) if name == "bindings" => self.bindings,
            Step::Name(name) if name == "entities" => self.entities,
            Step::Name(name) if name == "query" => self.query,
            _ => "weighted-merge",
        }
    }
}

pub(crate) fn look<'a>(state: &'a Value, path: &[Step]) -> Option<&'a Value> {
    path.iter().try_fold(state, |at, step| match step {
        Step::Name(name) => at.get(name),
        Step::Index(nth) => at.get(nth),
    })
}

fn split(
    rank: usize,
    operation: &str,
    path: &[Step],
    value: &Value,
    state: &Value,
    rules: &Rules,
) -> Vec<Claim> {
    let here = look(state, path);
    let bindings = Step::Name("bindings".to_owned());
    let is_term = path.len() > 1 && path[0] == bindings;
    let merges = matches!(rules.of(path), "weighted-merge" | "union") && !is_term;
    let claim = |change| vec![Claim { rank, path: path.to_vec(), change }];
    let is_bindings = path == [bindings];
    match value {
        Value::Object(members)
            if (is_bindings || merges && here.is_none_or(Value::is_object))
                && (here.is_some() || !members.is_empty()) =>
        {
            let below = members.iter().flat_map(|(name, member)| {
                let mut path = path.to_vec();
                path.push(Step::Name(name.clone()));
                split(rank, operation, &path, member, state, rules)
            });
            below.collect()
        }
        _ if operation == "add"
            && !is_term
            && (here.is_some_and(Value::is_array)
                || here.is_none() && merges && value.is_array()) =>
        {
            claim(Change::Append(value.as_array().cloned().unwrap_or_else(|| vec![value.clone()])))
        }
        _ => claim(Change::Set(value.clone())),
    }
}

/// The result of closing a round.
#[derive(Debug)]
pub(crate) struct Closed {
    pub(crate) state: Value,
    /// For each delta, true if it contributed to the state.
    pub(crate) has: Vec<bool>,
    /// For each delta, the paths where it lost, the winner and the reason.
    pub(crate) lost: Vec<BTreeMap<Vec<Step>, (usize, &'static str)>>,
}

/// Returns the claims on each path.
fn by_path(claims: &[Claim]) -> Vec<Vec<Claim>> {
    let mut places: BTreeMap<Vec<Step>, Vec<Claim>> = BTreeMap::new();
    for it in claims {
        places.entry(it.path.clone()).or_default().push(it.clone());
    }
    places.into_values().collect()
}

/// Closes a round.
pub(crate) fn close(state: &Value, deltas: &[Delta], rules: &Rules) -> Closed {
    let mut order: Vec<usize> = (0..deltas.len()).collect();
    order.sort_by_key(|&nth| {
        let it = &deltas[nth];
        (Reverse(it.weight), it.participant.clone(), it.sequence)
    });
    let sorted = order.iter().map(|&nth| &deltas[nth]).collect();
    let lost = vec![BTreeMap::new(); deltas.len()];
    let mut merge = Merge { state, rules, deltas: sorted, lost };
    let claims = merge.claims();
    let mut outcomes = Vec::new();
    for claims in by_path(&claims) {
        outcomes.push(merge.resolve(&claims));
    }
    let held = merge.hold(outcomes);
    let (mut has, mut lost) = (vec![false; deltas.len()], vec![BTreeMap::new(); deltas.len()]);
    for (rank, nth) in order.iter().enumerate() {
        let has_no_claims = claims.iter().all(|it| it.rank != rank);
        has[*nth] = has_no_claims || held.iter().any(|it| it.ranks.contains(&rank));
        let of_rank = merge.lost[rank].iter();
        lost[*nth] = of_rank.map(|(path, (to, why))| (path.clone(), (order[*to], *why))).collect();
    }
    let held = held.into_iter().map(|it| (it.path, it.change)).collect();
    Closed { state: apply(state, held), has, lost }
}

/// The deltas in the order of application: a delta's index there is its rank.
struct Merge<'a> {
    state: &'a Value,
    rules: &'a Rules,
    deltas: Vec<&'a Delta>,
    /// For each rank, the paths where it lost, the winner's rank and the reason.
    lost: Vec<BTreeMap<Vec<Step>, (usize, &'static str)>>,
}

/// The combined claim of a participant on a path.
struct Proposal {
    change: Change,
    claims: Vec<Claim>,
}

/// The outcome at a path, and the ranks that claimed it.
struct Outcome {
    path: Vec<Step>,
    change: Change,
    ranks: Vec<usize>,
}

impl Merge<'_> {
    fn claims(&self) -> Vec<Claim> {
        let claims = self.deltas.iter().enumerate().flat_map(|(rank, it)| match it.operation {
            "remove" => vec![Claim { rank, path: it.path.clone(), change: Change::Remove }],
            _ => split(rank, it.operation, &it.path, &it.value, self.state, self.rules),
        });
        claims.collect()
    }

    fn who(&self, rank: usize) -> &str {
        &self.deltas[rank].participant
    }

    /// Returns each participant's last of some claims that conflict, and all its claims
    /// that append.
    fn last_claims(&mut self, claims: &[Claim]) -> Vec<Claim> {
        let mut last = Vec::new();
        for (nth, it) in claims.iter().enumerate() {
            let later = claims[nth + 1..].iter();
            let mut later = later.filter(|other| self.who(other.rank) == self.who(it.rank));
            match later.find(|other| other.change != it.change).map(|it| it.rank) {
                Some(to) => drop(self.lost[it.rank].insert(it.path.clone(), (to, "superseded"))),
                None => last.push(it.clone()),
            }
        }
        last
    }

    /// Returns one proposal for each participant, with its claims.
    fn proposals(&self, claims: Vec<Claim>) -> Vec<Proposal> {
        let mut proposals: Vec<Proposal> = Vec::new();
        for it in claims {
            let is_same = |of: &&mut Proposal| self.who(of.claims[0].rank) == self.who(it.rank);
            match proposals.iter_mut().find(is_same) {
                Some(proposal) => proposal.claims.push(it),
                None => proposals.push(Proposal { change: it.change.clone(), claims: vec![it] }),
            }
        }
        proposals
    }

    /// Returns the winner among `proposals`.
    fn winner<'v>(&self, strategy: &str, proposals: &'v [Proposal]) -> &'v Proposal {
        let rank = |it: &&Proposal| it.claims[0].rank;
        let same = |change: &Change| -> Vec<&'v Proposal> {
            proposals.iter().filter(|it| it.change == *change).collect()
        };
        let weight = |it: &Proposal| u64::from(self.deltas[it.claims[0].rank].weight);
        let expert = |it: &&Proposal| {
            let place = self.rules.experts.iter().position(|of| of == self.who(rank(it)));
            place.unwrap_or(usize::MAX)
        };
        let winner = match strategy {
            "majority-vote" => proposals.iter().min_by_key(|it| {
                let same = same(&it.change);
                let sum: u64 = same.iter().map(|it| weight(it)).sum();
                (Reverse(same.len()), Reverse(sum), it.change.text(), rank(it))
            }),
            "expert-override" => proposals.iter().min_by_key(|it| (expert(it), rank(it))),
            _ => proposals.iter().min_by_key(rank),
        };
        winner.unwrap()
    }

    /// Returns the reason `loser` lost to `winner`.
    fn why(
        &self,
        strategy: &str,
        proposals: &[Proposal],
        winner: &Proposal,
        loser: &Proposal,
    ) -> &'static str {
        let who = |it: &Proposal| self.who(it.claims[0].rank);
        let weight = |it: &Proposal| self.deltas[it.claims[0].rank].weight;
        let votes = |it: &Proposal| {
            let same = proposals.iter().filter(|other| other.change == it.change);
            (same.clone().count(), same.map(|it| u64::from(weight(it))).sum::<u64>())
        };
        let expert = |it: &Proposal| self.rules.experts.iter().position(|of| of == who(it));
        match strategy {
            "majority-vote" if votes(winner) == votes(loser) => "tie",
            "majority-vote" => "outvoted",
            "expert-override" if expert(winner) != expert(loser) => "overridden",
            _ if weight(winner) == weight(loser) => "tie",
            _ => "outweighed",
        }
    }

    /// Returns the outcome of these claims, which conflict.
    fn resolve(&mut self, claims: &[Claim]) -> Outcome {
        let path = claims[0].path.clone();
        let claims = self.last_claims(claims);
        let (proposals, strategy) = (self.proposals(claims), self.rules.of(&path));
        let winner = self.winner(strategy, &proposals);
        let mut claims = Vec::new();
        for proposal in &proposals {
            if proposal.change == winner.change {
                claims.extend(proposal.claims.clone());
                continue;
            }
            let why = self.why(strategy, &proposals, winner, proposal);
            for it in &proposal.claims {
                self.lost[it.rank].insert(it.path.clone(), (winner.claims[0].rank, why));
            }
        }
        claims.sort_by_key(|it| it.rank);
        let mut ranks: Vec<usize> = claims.iter().map(|it| it.rank).collect();
        let mut change = winner.change.clone();
        if matches!(change, Change::Append(_)) {
            (change, ranks) = self.append(&path, &claims);
        }
        Outcome { path, change, ranks }
    }

    /// Returns the items of claims that append, one of those that conflict, and the ranks
    /// that did not lose all their items.
    fn append(&mut self, path: &[Step], claims: &[Claim]) -> (Change, Vec<usize>) {
        let here = look(self.state, path).and_then(Value::as_array).cloned().unwrap_or_default();
        let is_union = self.rules.of(path) == "union";
        let (mut items, mut ranks) = (Vec::new(), Vec::new());
        for it in claims {
            let Change::Append(all) = &it.change else { panic!() };
            for (nth, item) in all.iter().enumerate() {
                if is_union && here.contains(item) {
                    ranks.push(it.rank);
                    continue;
                }
                let path = [path, &[Step::Index(here.len() + nth)]].concat();
                items.push(Claim { rank: it.rank, path, change: Change::Set(item.clone()) });
            }
            ranks.extend(all.is_empty().then_some(it.rank));
        }
        let conflict = |a: &Claim, b: &Claim| {
            let (Change::Set(a), Change::Set(b)) = (&a.change, &b.change) else { panic!() };
            let id = |it: &Value| it.get("id").filter(|it| !it.is_null()).cloned();
            if id(a).is_some() { id(a) == id(b) } else { a == b }
        };
        let mut list = Vec::new();
        let mut is_done = vec![false; items.len()];
        for nth in 0..items.len() {
            if is_done[nth] {
                continue;
            }
            let same: Vec<usize> =
                (nth..items.len()).filter(|it| conflict(&items[nth], &items[*it])).collect();
            for it in &same {
                is_done[*it] = true;
            }
            let same: Vec<Claim> = same.iter().map(|it| items[*it].clone()).collect();
            let chosen = self.resolve(&same);
            let Change::Set(value) = chosen.change else { panic!() };
            let is_it = |it: &&Claim| {
                it.change == Change::Set(value.clone()) && chosen.ranks.contains(&it.rank)
            };
            let place = same.iter().find(is_it).map(|it| (it.rank, it.path.clone()));
            list.push((place, value));
            ranks.extend(chosen.ranks);
        }
        list.sort_by_key(|(place, _)| place.clone());
        ranks.sort_unstable();
        ranks.dedup();
        (Change::Append(list.into_iter().map(|(_, it)| it).collect()), ranks)
    }

    /// Returns true if it removes everything below its path.
    fn takes(&self, it: &Outcome) -> bool {
        let is_new = look(self.state, &it.path).is_none();
        match &it.change {
            Change::Remove => true,
            Change::Set(value) => !is_new || *value != Value::Object(Map::new()),
            Change::Append(_) => is_new,
        }
    }

    /// Returns the outcomes that can hold together.
    fn hold(&mut self, mut outcomes: Vec<Outcome>) -> Vec<Outcome> {
        let is_above = |a: &[Step], b: &[Step]| b.len() > a.len() && b.starts_with(a);
        outcomes.sort_by_key(|it| it.ranks[0]);
        let mut held: Vec<Outcome> = Vec::new();
        for it in outcomes {
            let others = held
                .iter()
                .filter(|other| other.change != Change::Remove || it.change != Change::Remove);
            let above = others.clone().filter(|other| is_above(&other.path, &it.path));
            let nearest = above.filter(|it| self.takes(it)).max_by_key(|it| it.path.len());
            let below = others.filter(|other| is_above(&it.path, &other.path) && self.takes(&it));
            let nearest = nearest.map(|it| (it.ranks[0], "replaced-above"));
            let first = below.map(|it| (it.ranks[0], "changed-below")).min();
            match nearest.or(first) {
                None => held.push(it),
                Some(to) => {
                    for rank in &it.ranks {
                        self.lost[*rank].insert(it.path.clone(), to);
                    }
                }
            }
        }
        held
    }
}
