//! What is kept of rounds, and what a round makes of its deltas.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use shared_context_core::{
    canonical,
    rounds::{
        BYTES_MAX_DEFAULT, Delta, Fate, Json, KeptRound, Loss, Mark, PROPOSAL_DELTAS_MAX, Plan,
        Round, RoundHistory, State, Status, Weight, Why,
    },
};

use super::{
    super::state::is_like,
    places::{path_of, plain_steps},
    reference::{self, Rules},
};

/// The rounds of a session.
#[derive(Debug, Clone)]
pub struct Rounds {
    /// Those that ended and are kept.
    pub(super) ended: BTreeMap<u64, Played>,
    pub(super) open: Option<Played>,
    /// What the rounds began with, as long as it is kept, and whether anybody said it.
    pub(super) first: Option<(Value, bool)>,
    pub(super) bytes_max: u32,
}

/// A round, and what belongs to it.
#[derive(Debug, Clone)]
pub(super) struct Played {
    pub(super) round: Round,
    /// The sequences with which proposals began.
    pub(super) proposals: Vec<u32>,
    pub(super) deltas: Vec<Delta>,
    pub(super) fates: Vec<Fate>,
    /// The state it made; the one it began with while it is open.
    pub(super) state: Value,
}

impl Default for Rounds {
    fn default() -> Self {
        let first = json!({"query": "", "bindings": {}, "entities": [], "rules": []});
        Self {
            ended: BTreeMap::new(),
            open: None,
            first: Some((first, false)),
            bytes_max: BYTES_MAX_DEFAULT,
        }
    }
}

impl Rounds {
    /// Whether one is open.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether the open one has a value that nests deeper than this.
    pub fn nests_deeper(&self, than: usize) -> bool {
        fn depth(value: &Value) -> usize {
            let below = |it: usize| it + 1;
            match value {
                Value::Array(items) => items.iter().map(depth).max().map_or(1, below),
                Value::Object(members) => members.values().map(depth).max().map_or(1, below),
                _ => 0,
            }
        }
        let values = self.open.iter().flat_map(|it| &it.deltas).filter_map(|it| it.value.as_ref());
        values.map(value).any(|it| depth(&it) > than)
    }

    /// The number of the last that ended; 0 when none did.
    pub fn last(&self) -> u64 {
        self.ended.keys().last().copied().unwrap_or_default()
    }

    pub(super) fn oldest(&self) -> u64 {
        let first = if self.first.is_some() { Some(0) } else { None };
        first.or(self.ended.keys().next().copied()).unwrap_or_default()
    }

    pub(super) fn state(&self, round: u64) -> Option<&Value> {
        match round {
            0 => self.first.as_ref().map(|(state, _)| state),
            _ => self.ended.get(&round).map(|it| &it.state),
        }
    }

    pub(super) fn now(&self) -> &Value {
        self.state(self.last()).unwrap()
    }

    /// The rows they take.
    pub fn rows(&self) -> Vec<String> {
        let mut rows = Vec::new();
        rows.extend(self.first.iter().filter(|it| it.1).map(|_| format!("r/s/{:016x}", 0)));
        for number in self.ended.keys() {
            rows.extend([format!("r/s/{number:016x}"), format!("r/c/{number:016x}")]);
        }
        for it in self.ended.values().chain(&self.open) {
            let row = |first: &u32| format!("r/d/{:016x}/{first:016x}", it.round.number);
            rows.extend(it.proposals.iter().map(row));
        }
        let proposed = self.open.iter().flat_map(|it| &it.deltas);
        let who: BTreeSet<&str> = proposed.map(|it| it.participant.as_str()).collect();
        rows.extend(who.into_iter().map(|it| format!("r/p/{it}")));
        // Nothing else is said there when nobody ever opened one.
        rows.extend((self.open.is_some() || self.last() > 0).then(|| "r/head".to_owned()));
        rows.extend((self.last() > 0).then(|| "r/sizes".to_owned()));
        rows
    }

    /// All of them, outside of any storage. When its parts changed, and how much they
    /// weigh, is not told of a state: it matters to what is clipped.
    pub fn history(&self) -> RoundHistory {
        let query = self.first.as_ref().filter(|it| it.1);
        let query = query.and_then(|(state, _)| Some(state["query"].as_str()?.to_owned()));
        let kept = |it: &Played| KeptRound {
            round: it.round.clone(),
            deltas: it.deltas.clone(),
            fates: it.fates.clone(),
            state: it.round.ended.is_some().then(|| state_of(&it.state)),
        };
        let rounds = self.ended.values().chain(&self.open).map(kept).collect();
        RoundHistory { query, rounds }
    }

    /// Those that came in a document.
    pub fn of(history: RoundHistory) -> Self {
        let mut rounds = Self::default();
        if let (Some((state, is_said)), Some(query)) = (&mut rounds.first, history.query) {
            (state["query"], *is_said) = (json!(query), true);
        }
        if history.rounds.first().is_some_and(|it| it.round.number > 1) {
            rounds.first = None;
        }
        for KeptRound { round, deltas, fates, state } in history.rounds {
            let state = match state {
                Some(state) => serde_json::from_str(state.text().as_str()).unwrap(),
                None => rounds.now().clone(),
            };
            // Who proposed what together is not told.
            let proposals = (1..=deltas.len() as u32).step_by(PROPOSAL_DELTAS_MAX).collect();
            let played = Played { round, proposals, deltas, fates, state };
            if played.round.ended.is_some() {
                rounds.bytes_max = played.round.bytes_max;
                rounds.ended.insert(played.round.number, played);
            } else {
                rounds.open = Some(played);
            }
        }
        rounds
    }
}

impl Played {
    /// What becomes of its deltas, and of the state.
    pub(super) fn merge(&mut self, discards: bool) {
        let plain = |it: &Delta| reference::Delta {
            participant: it.participant.to_string(),
            weight: weight(&self.round.plan, it.participant.as_str()).billionths(),
            sequence: it.sequence as usize,
            operation: it.operation.as_str(),
            path: plain_steps(&it.path),
            value: it.value.as_ref().map(value).unwrap_or_default(),
        };
        let all: Vec<_> = self.deltas.iter().map(plain).collect();
        let closed = reference::close(&self.state, &all, &rules(&self.round.plan));
        let fates =
            self.deltas.iter().zip(closed.has).zip(&closed.lost).map(|((it, has), lost)| {
                let loss = |(path, (to, why)): (&Vec<reference::Step>, &(usize, &str))| Loss {
                    path: path_of(path),
                    to: self.deltas[*to].sequence,
                    by: self.deltas[*to].participant.clone(),
                    why: Why::ALL.into_iter().find(|it| it.as_str() == *why).unwrap(),
                };
                Fate {
                    sequence: it.sequence,
                    status: match (discards, has) {
                        (true, _) => Status::Discarded,
                        (false, true) => Status::Applied,
                        (false, false) => Status::Lost,
                    },
                    losses: if discards { Vec::new() } else { lost.iter().map(loss).collect() },
                    clipped: Vec::new(),
                }
            });
        let fates = fates.collect();
        self.fates = fates;
        if !discards {
            self.state = closed.state;
        }
    }
}

pub(super) fn value(it: &Json) -> Value {
    serde_json::from_str(it.as_str()).unwrap()
}

/// A document as it is kept.
pub(super) fn text(document: &Value) -> String {
    canonical::text(document).unwrap()
}

/// How much `who` weighs.
pub(super) fn weight(plan: &Plan, who: &str) -> Weight {
    let rule = plan.weights.iter().find(|it| is_like(it.participants.as_str(), who));
    rule.map_or(Weight::parse(1.0).unwrap(), |it| it.weight)
}

/// What the plan says of the members of the state.
pub(super) fn rules(plan: &Plan) -> Rules {
    let of = |member: &str| {
        let paths = format!("$.{member}");
        let rule = plan.strategies.iter().find(|it| it.paths.as_str() == paths);
        rule.map_or("weighted-merge", |it| it.strategy.name())
    };
    let experts = plan.strategies.iter().find_map(|it| it.strategy.experts());
    Rules {
        bindings: of("bindings"),
        entities: of("entities"),
        query: of("query"),
        experts: experts.into_iter().flat_map(|it| it.patterns().map(str::to_owned)).collect(),
    }
}

/// The state of this document, with nothing known of its parts.
fn state_of(document: &Value) -> State {
    let marks = |parts: usize| vec![Mark { round: 0, weight: Weight::DEFAULT }; parts];
    let items = |member: &str| marks(document[member].as_array().unwrap().len());
    let bindings = marks(document["bindings"].as_object().unwrap().len());
    State::restore(&text(document), bindings, items("entities"), items("rules")).unwrap()
}
