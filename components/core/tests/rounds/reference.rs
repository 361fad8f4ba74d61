//! The rules of merging, read as plainly as they can be: every question is answered
//! by looking at everything. Slow, and written without the code it is compared with.
//! The simulation's model has the same.

#![allow(dead_code, reason = "each test that has it asks less than all")]

use std::{cmp::Reverse, collections::BTreeMap};

use serde_json::{Map, Value};

/// A step: a name, or an index.
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

/// Of the members of the state: their strategies, and experts for one of them.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub(crate) bindings: &'static str,
    pub(crate) entities: &'static str,
    pub(crate) query: &'static str,
    pub(crate) experts: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum What {
    Gone,
    Be(Value),
    More(Vec<Value>),
}

impl What {
    /// As what wins a vote that is even.
    fn text(&self) -> String {
        match self {
            Self::Gone => String::new(),
            Self::Be(value) => value.to_string(),
            Self::More(items) => Value::Array(items.clone()).to_string(),
        }
    }
}

#[derive(Debug, Clone)]
struct Claim {
    rank: usize,
    path: Vec<Step>,
    what: What,
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

fn apart(
    rank: usize,
    operation: &str,
    path: &[Step],
    value: &Value,
    state: &Value,
    rules: &Rules,
) -> Vec<Claim> {
    let here = look(state, path);
    let merges = matches!(rules.of(path), "weighted-merge" | "union");
    let claim = |what| vec![Claim { rank, path: path.to_vec(), what }];
    let is_bindings = path == [Step::Name("bindings".to_owned())];
    match value {
        Value::Object(members)
            if (is_bindings || merges && here.is_none_or(Value::is_object))
                && (here.is_some() || !members.is_empty()) =>
        {
            let below = members.iter().flat_map(|(name, member)| {
                let mut path = path.to_vec();
                path.push(Step::Name(name.clone()));
                apart(rank, operation, &path, member, state, rules)
            });
            below.collect()
        }
        _ if operation == "add"
            && (here.is_some_and(Value::is_array)
                || here.is_none() && merges && value.is_array()) =>
        {
            claim(What::More(value.as_array().cloned().unwrap_or_else(|| vec![value.clone()])))
        }
        _ => claim(What::Be(value.clone())),
    }
}

/// What a delta says is to be at which places, but for what it appends.
pub(crate) fn sets(
    operation: &'static str,
    path: &[Step],
    value: &Value,
    state: &Value,
    rules: &Rules,
) -> Vec<(Vec<Step>, Value)> {
    let claims = apart(0, operation, path, value, state, rules).into_iter();
    let sets = claims.filter_map(|it| match it.what {
        What::Be(value) => Some((it.path, value)),
        What::Gone | What::More(_) => None,
    });
    sets.collect()
}

/// What a round makes of its deltas.
#[derive(Debug)]
pub(crate) struct Closed {
    pub(crate) state: Value,
    /// Which of them, by place in the list, have something in it.
    pub(crate) has: Vec<bool>,
    /// Where they lost, to which of them, and why.
    pub(crate) lost: Vec<BTreeMap<Vec<Step>, (usize, &'static str)>>,
}

/// Closes a round.
pub(crate) fn close(state: &Value, deltas: &[Delta], rules: &Rules) -> Closed {
    let mut lost = vec![BTreeMap::new(); deltas.len()];
    let mut order: Vec<usize> = (0..deltas.len()).collect();
    order.sort_by_key(|&nth| {
        let it = &deltas[nth];
        (Reverse(it.weight), it.participant.clone(), it.sequence)
    });
    let of = |rank: usize| &deltas[order[rank]];
    let mut claims = Vec::new();
    for rank in 0..order.len() {
        let it = of(rank);
        match it.operation {
            "remove" => claims.push(Claim { rank, path: it.path.clone(), what: What::Gone }),
            _ => claims.extend(apart(rank, it.operation, &it.path, &it.value, state, rules)),
        }
    }
    let has_claims: Vec<bool> =
        (0..order.len()).map(|rank| claims.iter().any(|it| it.rank == rank)).collect();
    // Each has its say once in each place: its last word, and what it appends in a row.
    let mut last_words: Vec<Claim> = Vec::new();
    for it in &claims {
        let mut later = claims.iter().filter(|other| {
            let is_same = of(other.rank).participant == of(it.rank).participant;
            is_same && other.path == it.path && other.rank > it.rank
        });
        let says_else = |other: &&Claim| match (&it.what, &other.what) {
            (What::More(_), What::More(_)) => false,
            (mine, others) => mine != others,
        };
        match later.find(says_else) {
            Some(other) => {
                let to = (order[other.rank], "superseded");
                lost[order[it.rank]].insert(it.path.clone(), to);
            }
            None => last_words.push(it.clone()),
        }
    }
    let mut places: BTreeMap<Vec<Step>, Vec<Claim>> = BTreeMap::new();
    for it in last_words {
        places.entry(it.path.clone()).or_default().push(it);
    }
    let mut outcomes: Vec<(Vec<Step>, What, Vec<usize>)> = Vec::new();
    for (path, claims) in places {
        // What each participant says, with its claims.
        let mut voices: Vec<(What, Vec<Claim>)> = Vec::new();
        for it in claims {
            let same = voices
                .iter_mut()
                .find(|(_, of_voice)| of(of_voice[0].rank).participant == of(it.rank).participant);
            match (same, &it.what) {
                (Some((What::More(all), of_voice)), What::More(items)) => {
                    all.extend(items.clone());
                    of_voice.push(it);
                }
                (Some((_, of_voice)), _) => of_voice.push(it),
                (None, what) => voices.push((what.clone(), vec![it.clone()])),
            }
        }
        let count = |what: &What| voices.iter().filter(|it| it.0 == *what).count();
        let sum = |what: &What| -> u64 {
            let same = voices.iter().filter(|it| it.0 == *what);
            same.map(|it| u64::from(of(it.1[0].rank).weight)).sum()
        };
        let rank = |voice: &(What, Vec<Claim>)| voice.1[0].rank;
        let strategy = rules.of(&path);
        let winner = match strategy {
            "majority-vote" => voices.iter().min_by_key(|it| {
                (Reverse(count(&it.0)), Reverse(sum(&it.0)), it.0.text(), rank(it))
            }),
            "expert-override" => voices.iter().min_by_key(|it| {
                let participant = &of(rank(it)).participant;
                let expert = rules.experts.iter().position(|it| it == participant);
                (expert.unwrap_or(usize::MAX), rank(it))
            }),
            _ => voices.iter().min_by_key(|it| rank(it)),
        };
        let (winner, to) = winner.map(|it| (it.0.clone(), order[rank(it)])).unwrap();
        let is_expert = rules.experts.contains(&deltas[to].participant);
        let why = match strategy {
            "majority-vote" => "outvoted",
            "expert-override" if is_expert => "overridden",
            _ => "outweighed",
        };
        let appends =
            matches!(winner, What::More(_)) && matches!(strategy, "weighted-merge" | "union");
        let (mut items, mut ranks) = (Vec::new(), Vec::new());
        for (what, claims) in &voices {
            if let (true, What::More(more)) = (appends, what) {
                items.extend(more.clone());
            } else if *what != winner {
                for it in claims {
                    lost[order[it.rank]].insert(path.clone(), (to, why));
                }
                continue;
            }
            ranks.extend(claims.iter().map(|it| it.rank));
        }
        if strategy == "union" {
            let here = look(state, &path).and_then(Value::as_array).cloned().unwrap_or_default();
            let mut once: Vec<Value> = Vec::new();
            for item in items {
                if !here.contains(&item) && !once.contains(&item) {
                    once.push(item);
                }
            }
            items = once;
        }
        ranks.sort_unstable();
        outcomes.push((path, if appends { What::More(items) } else { winner }, ranks));
    }
    outcomes.sort_by_key(|it| it.2[0]);
    let mut held: Vec<(Vec<Step>, What, Vec<usize>)> = Vec::new();
    for it in outcomes {
        let takes = |path: &[Step], what: &What| match what {
            What::Gone => true,
            What::Be(value) => look(state, path).is_some() || *value != Value::Object(Map::new()),
            What::More(_) => look(state, path).is_none(),
        };
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for (path, what, ranks) in &held {
            if *what == What::Gone && it.1 == What::Gone {
                continue;
            }
            if it.0.len() > path.len() && it.0.starts_with(path) && takes(path, what) {
                above.push((Reverse(path.len()), ranks[0]));
            }
            if path.len() > it.0.len() && path.starts_with(&it.0) && takes(&it.0, &it.1) {
                below.push(ranks[0]);
            }
        }
        let nearest = above.into_iter().min().map(|(_, rank)| (rank, "replaced-above"));
        let first = below.into_iter().min().map(|rank| (rank, "changed-below"));
        match nearest.or(first) {
            None => held.push(it),
            Some((to, why)) => {
                for rank in &it.2 {
                    lost[order[*rank]].insert(it.0.clone(), (order[to], why));
                }
            }
        }
    }
    let has: Vec<bool> = (0..order.len())
        .map(|rank| !has_claims[rank] || held.iter().any(|it| it.2.contains(&rank)))
        .collect();
    let mut has_by_place = vec![false; deltas.len()];
    for (rank, has) in has.into_iter().enumerate() {
        has_by_place[order[rank]] = has;
    }
    let held = held.into_iter().map(|(path, what, _)| (path, what)).collect();
    Closed { state: make(state, held), has: has_by_place, lost }
}

/// `state` with what was held: the shallow before the deep, the front after the back.
fn make(state: &Value, mut held: Vec<(Vec<Step>, What)>) -> Value {
    let mut state = state.clone();
    held.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, what) in &held {
        if let What::Be(value) = what {
            *make_room(&mut state, path) = value.clone();
        }
    }
    for (path, what) in &held {
        if let What::More(items) = what {
            let list = make_room(&mut state, path);
            if list.is_null() {
                *list = Value::Array(Vec::new());
            }
            list.as_array_mut().unwrap().extend(items.clone());
        }
    }
    for (path, what) in held.iter().rev() {
        if *what == What::Gone {
            let (last, above) = path.split_last().unwrap();
            match (make_room(&mut state, above), last) {
                (Value::Object(members), Step::Name(name)) => drop(members.remove(name)),
                (Value::Array(items), Step::Index(nth)) => drop(items.remove(*nth)),
                _ => panic!("{path:?}"),
            }
        }
    }
    state
}

/// The place at the end of `path`, with all that must be above it.
fn make_room<'a>(state: &'a mut Value, path: &[Step]) -> &'a mut Value {
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
