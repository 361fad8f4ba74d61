//! The rules of merging, read as plainly as they can be: every question is answered
//! by looking at everything. Slow, and written without the code it is compared with.

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
    let bindings = Step::Name("bindings".to_owned());
    let is_term = path.len() > 1 && path[0] == bindings;
    let merges = matches!(rules.of(path), "weighted-merge" | "union") && !is_term;
    let claim = |what| vec![Claim { rank, path: path.to_vec(), what }];
    let is_bindings = path == [bindings];
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
            && !is_term
            && (here.is_some_and(Value::is_array)
                || here.is_none() && merges && value.is_array()) =>
        {
            claim(What::More(value.as_array().cloned().unwrap_or_else(|| vec![value.clone()])))
        }
        _ => claim(What::Be(value.clone())),
    }
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
    let mut order: Vec<usize> = (0..deltas.len()).collect();
    order.sort_by_key(|&nth| {
        let it = &deltas[nth];
        (Reverse(it.weight), it.participant.clone(), it.sequence)
    });
    let sorted = order.iter().map(|&nth| &deltas[nth]).collect();
    let lost = vec![BTreeMap::new(); deltas.len()];
    let mut reading = Reading { state, rules, deltas: sorted, lost };
    let claims = reading.claims();
    let mut outcomes = Vec::new();
    for (path, claims) in reading.last_words(&claims) {
        outcomes.push(reading.settle(path, claims));
    }
    let held = reading.hold(outcomes);
    let (mut has, mut lost) = (vec![false; deltas.len()], vec![BTreeMap::new(); deltas.len()]);
    for (rank, nth) in order.iter().enumerate() {
        let says_nothing = claims.iter().all(|it| it.rank != rank);
        has[*nth] = says_nothing || held.iter().any(|it| it.ranks.contains(&rank));
        let of_rank = reading.lost[rank].iter();
        lost[*nth] = of_rank.map(|(path, (to, why))| (path.clone(), (order[*to], *why))).collect();
    }
    let held = held.into_iter().map(|it| (it.path, it.what)).collect();
    Closed { state: make(state, held), has, lost }
}

/// Deltas in the order in which they count: a delta's place there is its rank.
struct Reading<'a> {
    state: &'a Value,
    rules: &'a Rules,
    deltas: Vec<&'a Delta>,
    /// Of each rank where it lost, to which rank, and why.
    lost: Vec<BTreeMap<Vec<Step>, (usize, &'static str)>>,
}

/// What a participant says of a place, in how many claims it may be.
struct Voice {
    what: What,
    claims: Vec<Claim>,
}

/// What becomes of a place, and the ranks that say so.
struct Outcome {
    path: Vec<Step>,
    what: What,
    ranks: Vec<usize>,
}

impl Reading<'_> {
    fn claims(&self) -> Vec<Claim> {
        let claims = self.deltas.iter().enumerate().flat_map(|(rank, it)| match it.operation {
            "remove" => vec![Claim { rank, path: it.path.clone(), what: What::Gone }],
            _ => apart(rank, it.operation, &it.path, &it.value, self.state, self.rules),
        });
        claims.collect()
    }

    fn who(&self, rank: usize) -> &str {
        &self.deltas[rank].participant
    }

    /// Each has its say once in each place: its last word, and what it appends in a row.
    fn last_words(&mut self, claims: &[Claim]) -> BTreeMap<Vec<Step>, Vec<Claim>> {
        let mut places: BTreeMap<Vec<Step>, Vec<Claim>> = BTreeMap::new();
        for it in claims {
            let says_else = |other: &&Claim| match (&it.what, &other.what) {
                (What::More(_), What::More(_)) => false,
                (mine, others) => mine != others,
            };
            let is_later = |other: &&Claim| {
                let is_same = self.who(other.rank) == self.who(it.rank);
                is_same && other.path == it.path && other.rank > it.rank
            };
            match claims.iter().filter(is_later).find(says_else).map(|it| it.rank) {
                Some(to) => drop(self.lost[it.rank].insert(it.path.clone(), (to, "superseded"))),
                None => places.entry(it.path.clone()).or_default().push(it.clone()),
            }
        }
        places
    }

    /// Returns what each participant says, with its claims.
    fn voices(&self, claims: Vec<Claim>) -> Vec<Voice> {
        let mut voices: Vec<Voice> = Vec::new();
        for it in claims {
            let is_same = |of: &&mut Voice| self.who(of.claims[0].rank) == self.who(it.rank);
            match (voices.iter_mut().find(is_same), &it.what) {
                (Some(Voice { what: What::More(all), claims }), What::More(items)) => {
                    all.extend(items.clone());
                    claims.push(it);
                }
                (Some(voice), _) => voice.claims.push(it),
                (None, what) => voices.push(Voice { what: what.clone(), claims: vec![it] }),
            }
        }
        voices
    }

    /// Returns who wins among `voices`.
    fn winner<'v>(&self, strategy: &str, voices: &'v [Voice]) -> &'v Voice {
        let rank = |it: &&Voice| it.claims[0].rank;
        let same = |what: &What| -> Vec<&'v Voice> {
            voices.iter().filter(|it| it.what == *what).collect()
        };
        let weight = |it: &Voice| u64::from(self.deltas[it.claims[0].rank].weight);
        let expert = |it: &&Voice| {
            let place = self.rules.experts.iter().position(|of| of == self.who(rank(it)));
            place.unwrap_or(usize::MAX)
        };
        let winner = match strategy {
            "majority-vote" => voices.iter().min_by_key(|it| {
                let same = same(&it.what);
                let sum: u64 = same.iter().map(|it| weight(it)).sum();
                (Reverse(same.len()), Reverse(sum), it.what.text(), rank(it))
            }),
            "expert-override" => voices.iter().min_by_key(|it| (expert(it), rank(it))),
            _ => voices.iter().min_by_key(rank),
        };
        winner.unwrap()
    }

    /// Returns why `loser` lost to `winner`.
    fn why(&self, strategy: &str, voices: &[Voice], winner: &Voice, loser: &Voice) -> &'static str {
        let who = |it: &Voice| self.who(it.claims[0].rank);
        let weight = |it: &Voice| self.deltas[it.claims[0].rank].weight;
        let votes = |it: &Voice| {
            let same = voices.iter().filter(|other| other.what == it.what);
            (same.clone().count(), same.map(|it| u64::from(weight(it))).sum::<u64>())
        };
        let expert = |it: &Voice| self.rules.experts.iter().position(|of| of == who(it));
        match strategy {
            "majority-vote" if votes(winner) == votes(loser) => "tie",
            "majority-vote" => "outvoted",
            "expert-override" if expert(winner) != expert(loser) => "overridden",
            _ if weight(winner) == weight(loser) => "tie",
            _ => "outweighed",
        }
    }

    /// Returns what becomes of `path`, of which this is claimed.
    fn settle(&mut self, path: Vec<Step>, claims: Vec<Claim>) -> Outcome {
        let (voices, strategy) = (self.voices(claims), self.rules.of(&path));
        let winner = self.winner(strategy, &voices);
        let merges = matches!(strategy, "weighted-merge" | "union");
        let appends = merges && matches!(winner.what, What::More(_));
        let (mut items, mut ranks) = (Vec::new(), Vec::new());
        for voice in &voices {
            let Voice { what, claims } = voice;
            if let (true, What::More(more)) = (appends, what) {
                items.extend(more.clone());
            } else if *what != winner.what {
                let why = self.why(strategy, &voices, winner, voice);
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
        let what = if appends { What::More(items) } else { winner.what.clone() };
        Outcome { path, what, ranks }
    }

    /// Returns true if it leaves nothing of what is below it.
    fn takes(&self, it: &Outcome) -> bool {
        let is_new = look(self.state, &it.path).is_none();
        match &it.what {
            What::Gone => true,
            What::Be(value) => !is_new || *value != Value::Object(Map::new()),
            What::More(_) => is_new,
        }
    }

    /// Returns those that can hold together.
    fn hold(&mut self, mut outcomes: Vec<Outcome>) -> Vec<Outcome> {
        let is_above = |a: &[Step], b: &[Step]| b.len() > a.len() && b.starts_with(a);
        outcomes.sort_by_key(|it| it.ranks[0]);
        let mut held: Vec<Outcome> = Vec::new();
        for it in outcomes {
            let others =
                held.iter().filter(|other| other.what != What::Gone || it.what != What::Gone);
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

/// Returns the place at the end of `path`, with all that must be above it.
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
