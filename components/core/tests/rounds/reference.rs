//! A reference implementation of merging, as simple as possible: it scans everything for
//! every decision. It is slow, and shares no code with the implementation it is compared
//! with.

use std::{cmp::Reverse, collections::BTreeMap};

use serde_json::{Map, Value};

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

#[derive(Debug, Clone, PartialEq)]
enum Change {
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
            Self::Append(items) => Value::Array(items.clone()).to_string(),
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
    for (path, claims) in merge.last_claims(&claims) {
        outcomes.push(merge.resolve(path, claims));
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

    /// Returns each participant's last claim on each path, and all its claims that
    /// append.
    fn last_claims(&mut self, claims: &[Claim]) -> BTreeMap<Vec<Step>, Vec<Claim>> {
        let mut places: BTreeMap<Vec<Step>, Vec<Claim>> = BTreeMap::new();
        for it in claims {
            let differs = |other: &&Claim| match (&it.change, &other.change) {
                (Change::Append(_), Change::Append(_)) => false,
                (mine, others) => mine != others,
            };
            let is_later = |other: &&Claim| {
                let is_same = self.who(other.rank) == self.who(it.rank);
                is_same && other.path == it.path && other.rank > it.rank
            };
            match claims.iter().filter(is_later).find(differs).map(|it| it.rank) {
                Some(to) => drop(self.lost[it.rank].insert(it.path.clone(), (to, "superseded"))),
                None => places.entry(it.path.clone()).or_default().push(it.clone()),
            }
        }
        places
    }

    /// Returns one proposal for each participant, with its claims.
    fn proposals(&self, claims: Vec<Claim>) -> Vec<Proposal> {
        let mut proposals: Vec<Proposal> = Vec::new();
        for it in claims {
            let is_same = |of: &&mut Proposal| self.who(of.claims[0].rank) == self.who(it.rank);
            match (proposals.iter_mut().find(is_same), &it.change) {
                (Some(Proposal { change: Change::Append(all), claims }), Change::Append(items)) => {
                    all.extend(items.clone());
                    claims.push(it);
                }
                (Some(proposal), _) => proposal.claims.push(it),
                (None, change) => {
                    proposals.push(Proposal { change: change.clone(), claims: vec![it] });
                }
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

    /// Returns the outcome at `path` for these claims.
    fn resolve(&mut self, path: Vec<Step>, claims: Vec<Claim>) -> Outcome {
        let (proposals, strategy) = (self.proposals(claims), self.rules.of(&path));
        let winner = self.winner(strategy, &proposals);
        let merges = matches!(strategy, "weighted-merge" | "union");
        let appends = merges && matches!(winner.change, Change::Append(_));
        let (mut items, mut ranks) = (Vec::new(), Vec::new());
        for proposal in &proposals {
            let Proposal { change, claims } = proposal;
            if let (true, Change::Append(more)) = (appends, change) {
                items.extend(more.clone());
            } else if *change != winner.change {
                let why = self.why(strategy, &proposals, winner, proposal);
                for it in claims {
                    self.lost[it.rank].insert(path.clone(), (winner.claims[0].rank, why));
                }
                continue;
            }
            ranks.extend(claims.iter().map(|it| it.rank));
        }
        if strategy == "union" {
            let here = look(self.state, &path).and_then(Value::as_array).cloned();
            let here = here.unwrap_or_default();
            let mut once: Vec<Value> = Vec::new();
            for item in items {
                if !here.contains(&item) && !once.contains(&item) {
                    once.push(item);
                }
            }
            items = once;
        }
        ranks.sort_unstable();
        let change = if appends { Change::Append(items) } else { winner.change.clone() };
        Outcome { path, change, ranks }
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

/// Returns `state` with the outcomes applied: shallow paths before deep ones; removals
/// from back to front.
fn apply(state: &Value, mut held: Vec<(Vec<Step>, Change)>) -> Value {
    let mut state = state.clone();
    held.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, change) in &held {
        if let Change::Set(value) = change {
            *create(&mut state, path) = value.clone();
        }
    }
    for (path, change) in &held {
        if let Change::Append(items) = change {
            let list = create(&mut state, path);
            if list.is_null() {
                *list = Value::Array(Vec::new());
            }
            list.as_array_mut().unwrap().extend(items.clone());
        }
    }
    for (path, change) in held.iter().rev() {
        if *change == Change::Remove {
            let (last, above) = path.split_last().unwrap();
            match (create(&mut state, above), last) {
                (Value::Object(members), Step::Name(name)) => drop(members.remove(name)),
                (Value::Array(items), Step::Index(nth)) => drop(items.remove(*nth)),
                _ => panic!("{path:?}"),
            }
        }
    }
    state
}

/// Returns the value at `path`, and creates all its parents.
fn create<'a>(state: &'a mut Value, path: &[Step]) -> &'a mut Value {
    path.iter().fold(state, |at, step| match step {
        Step::Name(name) => {
            if at.is_null() {
                *at = Value::Object(Map::new());
            }
            &mut at[name]
        }
        Step::Index(nth) => &mut at[nth],
    })
}
