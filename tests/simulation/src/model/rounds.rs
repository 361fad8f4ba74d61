//! What rounds must answer, and what they make of the session: every delta is kept,
//! and every state as a whole.
//!
//! The rules of merging are those of the plain reading that the core's own tests
//! compare it with. Leaves out what is clipped: the states of scripts are far from
//! their limit.
//!
//! The scripts have strategies for members as a whole, experts of one list, and paths
//! of plain names and indexes.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shared_context_core::{
    CloseRound, Code, Command, OpenRound, Proposal, ReadDeltas, Reply, RequestId,
    audit::AuditAction,
    port::Revision,
    reply::{DeltaRead, DeltasPage, Proposed, StateRead},
    rounds::{
        BYTES_MAX_DEFAULT, Clip, Convergence, Delta, Ended, Fate, Json, Loss, Operation, Path,
        Plan, ROUNDS_KEPT, Round, SentDelta, Status, Step, Weight, Why,
    },
};

use super::{
    changes::Done,
    reference::{self, Rules},
    state::{Answer, Model, is_like, name, participant},
};

/// The rounds of a session.
#[derive(Debug, Clone)]
pub struct Rounds {
    /// Those that ended and are kept.
    ended: BTreeMap<u64, Played>,
    open: Option<Played>,
    /// What the rounds began with, as long as it is kept, and whether anybody said it.
    first: Option<(Value, bool)>,
    bytes_max: u32,
}

/// A round, and what belongs to it.
#[derive(Debug, Clone)]
struct Played {
    round: Round,
    /// The sequences with which proposals began.
    proposals: Vec<u32>,
    deltas: Vec<Delta>,
    fates: Vec<Fate>,
    /// The state it made; the one it began with while it is open.
    state: Value,
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

    /// The number of the last that ended; 0 when none did.
    pub fn last(&self) -> u64 {
        self.ended.keys().last().copied().unwrap_or_default()
    }

    fn oldest(&self) -> u64 {
        let first = if self.first.is_some() { Some(0) } else { None };
        first.or(self.ended.keys().next().copied()).unwrap_or_default()
    }

    fn state(&self, round: u64) -> Option<&Value> {
        match round {
            0 => self.first.as_ref().map(|(state, _)| state),
            _ => self.ended.get(&round).map(|it| &it.state),
        }
    }

    fn now(&self) -> &Value {
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
        // Nothing else is said there when nobody ever opened one.
        rows.extend((self.open.is_some() || self.last() > 0).then(|| "r/head".to_owned()));
        rows
    }
}

impl Model {
    /// What `command` must answer and what it makes of the session, if it changes its
    /// rounds.
    pub fn change_rounds(&self, clock: u64, who: &str, command: &Command) -> Option<Done> {
        let (id, action, may) = match command {
            Command::OpenRound(it) => (&it.request_id, AuditAction::OpenRound, "orchestrator"),
            Command::CloseRound(it) => (&it.request_id, AuditAction::CloseRound, "orchestrator"),
            Command::ProposeDeltas(it) => (&it.request_id, AuditAction::ProposeDeltas, who),
            _ => return None,
        };
        let id = id.as_ref();
        if let Err(answer) = self.ask_round(who, may, id, command) {
            return Some((*answer, None));
        }
        let mut next = self.begun(clock);
        let done = match command {
            Command::OpenRound(it) => next.open_round(who, it),
            Command::CloseRound(it) => next.close_round(who, it),
            Command::ProposeDeltas(it) => next.propose(who, it),
            _ => return None,
        };
        Some(match done {
            Err(code) => (Err(code), None),
            Ok((round, reply)) => {
                next.tell(who, action, None);
                next.tell_round(round);
                next.done(who, id, command.clone(), reply)
            }
        })
    }

    /// What is told before any round is looked at.
    fn ask_round(
        &self,
        who: &str,
        may: &str,
        id: Option<&RequestId>,
        command: &Command,
    ) -> Result<(), Box<Answer>> {
        let refuse = |code| Err(Box::new(Err(code)));
        if self.about.is_archived {
            return refuse(Code::SessionArchived);
        }
        if who == "admin"
            || name(who) != may.split(" only ").next().unwrap_or(may)
            || is_limited(who)
        {
            return refuse(Code::Forbidden);
        }
        let known = id.map(|id| (name(who).to_owned(), id.as_str().to_owned()));
        match known.and_then(|it| self.answers.get(&it)) {
            None => Ok(()),
            Some((asked, answer)) if asked == command => Err(Box::new(answer.clone())),
            Some(_) => refuse(Code::RequestIdReused),
        }
    }

    fn open_round(&mut self, who: &str, asked: &OpenRound) -> Result<(u64, Reply), Code> {
        let (by, at) = (participant(who), self.about.changed_at);
        let rounds = &mut self.rounds;
        if rounds.open.is_some() {
            return Err(Code::RoundOpen);
        }
        if let Some(query) = &asked.query {
            let first = rounds.first.as_mut().filter(|_| rounds.ended.is_empty());
            let (state, is_said) = first.ok_or(Code::MalformedRequest)?;
            (state["query"], *is_said) = (json!(query), true);
        }
        let round = Round {
            number: rounds.last() + 1,
            opened_at: at,
            opened_by: by,
            plan: asked.plan.clone(),
            bytes_max: asked.plan.bytes_max.unwrap_or(rounds.bytes_max),
            deltas: 0,
            deltas_bytes: 0,
            ended: None,
        };
        rounds.open = Some(Played {
            round: round.clone(),
            proposals: Vec::new(),
            deltas: Vec::new(),
            fates: Vec::new(),
            state: rounds.now().clone(),
        });
        Ok((round.number, Reply::Round(Box::new(round))))
    }

    fn propose(&mut self, who: &str, asked: &Proposal) -> Result<(u64, Reply), Code> {
        let at = self.about.changed_at;
        let open = self.rounds.open.as_mut().ok_or(Code::RoundNotOpen)?;
        let rules = rules(&open.round.plan);
        let first = open.deltas.len() as u32 + 1;
        let mut deltas = Vec::new();
        for (it, sequence) in asked.deltas.iter().zip(first..) {
            let path = fits(&open.state, it, who, &rules)?;
            deltas.push(Delta {
                sequence,
                participant: participant(who),
                proposed_at: at,
                operation: it.operation,
                path,
                value: it.value.clone(),
                provenance: it.provenance.clone(),
            });
        }
        let bytes =
            |it: &Delta| it.value.as_ref().map_or(0, Json::bytes) + it.provenance.as_str().len();
        let count = deltas.len() as u32;
        open.round.deltas += count;
        open.round.deltas_bytes += deltas.iter().map(bytes).sum::<usize>() as u32;
        open.proposals.push(first);
        open.deltas.extend(deltas);
        let round = open.round.number;
        Ok((round, Reply::Proposed(Proposed { round, first, count })))
    }

    fn close_round(&mut self, who: &str, asked: &CloseRound) -> Result<(u64, Reply), Code> {
        let (by, at) = (participant(who), self.about.changed_at);
        let rounds = &mut self.rounds;
        let mut played = rounds.open.take().ok_or(Code::RoundNotOpen)?;
        let before = played.state.clone();
        played.merge(asked.discards);
        let (bytes, bytes_max) = (played.state.to_string().len() as u32, played.round.bytes_max);
        let clip = asked.clip.unwrap_or(played.round.plan.clip);
        if bytes > bytes_max && !asked.discards {
            assert_eq!(clip, Clip::Reject, "scripts let nothing be clipped");
            return Err(Code::StateTooLarge);
        }
        let count = |status| played.fates.iter().filter(|it| it.status == status).count() as u32;
        let ended = Ended {
            at,
            by,
            is_discarded: asked.discards,
            bytes,
            applied: count(Status::Applied),
            lost: count(Status::Lost),
            refused: count(Status::Discarded),
            clipped: Vec::new(),
            clip,
            convergence: convergence(&before, &played.state),
        };
        played.round.ended = Some(ended);
        let round = played.round.clone();
        rounds.bytes_max = round.bytes_max;
        rounds.ended.insert(round.number, played);
        if round.number > ROUNDS_KEPT {
            rounds.first = None;
            rounds.ended.retain(|it, _| *it + ROUNDS_KEPT >= round.number);
        }
        Ok((round.number, Reply::Round(Box::new(round))))
    }

    /// The answer to `read_state`, `read_deltas` and `convergence`.
    pub fn read_rounds(&self, who: &str, command: &Command) -> Answer {
        if is_limited(who) {
            return Err(Code::Forbidden);
        }
        let rounds = &self.rounds;
        let reply = match command {
            Command::ReadState { round } => {
                let number = round.unwrap_or(rounds.last());
                let state = rounds.state(number).ok_or(Code::RoundNotFound)?;
                let open = rounds.open.as_ref().map(|it| it.round.clone());
                let open = open.filter(|_| round.is_none());
                Reply::State(Box::new(StateRead {
                    round: number,
                    document: Json::parse(&state.to_string()).unwrap(),
                    bytes_max: open.as_ref().map_or(rounds.bytes_max, |it| it.bytes_max),
                    open,
                }))
            }
            Command::ReadDeltas(asked) => Reply::Deltas(self.read_deltas(asked)?),
            Command::ReadConvergence => {
                Reply::Convergence(rounds.ended.values().map(|it| it.round.clone()).collect())
            }
            other => panic!("{other:?} reads no round"),
        };
        Ok((Revision(self.revision), reply))
    }

    fn read_deltas(&self, asked: &ReadDeltas) -> Result<DeltasPage, Code> {
        let rounds = &self.rounds;
        if let Some(round) = asked.round {
            let newest = rounds.open.as_ref().map_or(rounds.last(), |it| it.round.number);
            if !(rounds.oldest()..=newest).contains(&round) {
                return Err(Code::RoundNotFound);
            }
        }
        let path = asked.path.as_ref().map(|it| steps(it.as_str()));
        let mut told = Vec::new();
        for it in rounds.ended.values().chain(&rounds.open) {
            let number = it.round.number;
            for (nth, delta) in it.deltas.iter().enumerate() {
                let place = (number, delta.sequence);
                let is_asked = asked.round.is_none_or(|it| it == number)
                    && asked.after.is_none_or(|it| place > it)
                    && path.as_ref().is_none_or(|path| touches(delta, path));
                if is_asked {
                    told.push(DeltaRead {
                        round: number,
                        delta: delta.clone(),
                        weight: weight(&it.round.plan, delta.participant.as_str()),
                        fate: it.fates.get(nth).cloned(),
                    });
                }
            }
        }
        let limit = asked.limit as usize;
        let has_more = told.len() > limit;
        told.truncate(limit);
        let last = told.last().map(|it| (it.round, it.delta.sequence));
        Ok(DeltasPage { deltas: told, next_after: last.filter(|_| has_more) })
    }
}

impl Played {
    /// What becomes of its deltas, and of the state.
    fn merge(&mut self, discards: bool) {
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

fn is_limited(who: &str) -> bool {
    who.contains(" only ")
}

fn value(it: &Json) -> Value {
    serde_json::from_str(it.as_str()).unwrap()
}

/// How much `who` weighs.
fn weight(plan: &Plan, who: &str) -> Weight {
    let rule = plan.weights.iter().find(|it| is_like(it.participants.as_str(), who));
    rule.map_or(Weight::parse(1.0).unwrap(), |it| it.weight)
}

/// What the plan says of the members of the state.
fn rules(plan: &Plan) -> Rules {
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

/// The place that a delta of `who` is for, if it fits `state`.
fn fits(state: &Value, sent: &SentDelta, who: &str, rules: &Rules) -> Result<Path, Code> {
    let path = steps(sent.path.as_str());
    let is_in = |member: &str| path[0] == reference::Step::Name(member.to_owned());
    if sent.operation == Operation::Remove {
        match path.len() {
            1 => return Err(Code::MalformedRequest),
            _ if is_in("bindings") && name(who) != "orchestrator" => return Err(Code::Forbidden),
            _ => {}
        }
    }
    let (above, last) = path.split_at(path.len() - 1);
    let has_room = match (reference::look(state, above), &last[0]) {
        (Some(Value::Object(_)), reference::Step::Name(_)) => sent.operation == Operation::Add,
        _ => false,
    };
    if reference::look(state, &path).is_none() && !has_room {
        return Err(Code::PathNotFound);
    }
    let Some(value) = sent.value.as_ref().map(value) else { return Ok(path_of(&path)) };
    for (path, value) in reference::sets(sent.operation.as_str(), &path, &value, state, rules) {
        let is_text = value.as_str().is_some_and(|it| path.len() == 1 || !it.is_empty());
        let is_of_its_kind = match (&path[0], path.len()) {
            (reference::Step::Name(it), 1) if it == "query" => is_text,
            (reference::Step::Name(it), 1) if it == "bindings" => false,
            (reference::Step::Name(it), _) if it == "bindings" => is_text,
            (_, 1) => value.is_array(),
            _ => true,
        };
        if !is_of_its_kind {
            return Err(Code::MalformedRequest);
        }
        match reference::look(state, &path) {
            Some(here) if *here != value && is_in("bindings") => {
                return Err(Code::IdentityConflict);
            }
            Some(here) if *here != value && sent.operation == Operation::Add => {
                return Err(Code::PathExists);
            }
            _ => {}
        }
    }
    Ok(path_of(&path))
}

/// Whether a delta says something of `path` or of what is below it.
fn touches(delta: &Delta, path: &[reference::Step]) -> bool {
    let own = plain_steps(&delta.path);
    let says = |it: &Json| reference::look(&value(it), &path[own.len()..]).is_some();
    own.starts_with(path) || path.starts_with(&own) && delta.value.as_ref().is_none_or(says)
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

/// The steps of a path as scripts write it: `$.entities[0].name`.
fn steps(path: &str) -> Vec<reference::Step> {
    let step = |it: &str| match it.strip_suffix(']') {
        Some(nth) => reference::Step::Index(nth.parse().unwrap()),
        None => reference::Step::Name(it.to_owned()),
    };
    path.split(['.', '[']).skip(1).map(step).collect()
}

fn plain_steps(path: &Path) -> Vec<reference::Step> {
    let step = |it: &Step| match it {
        Step::Name(name) => reference::Step::Name(name.clone()),
        Step::Index(nth) => reference::Step::Index(*nth as usize),
    };
    path.steps().iter().map(step).collect()
}

fn path_of(steps: &[reference::Step]) -> Path {
    let step = |it: &reference::Step| match it {
        reference::Step::Name(name) => Step::Name(name.clone()),
        reference::Step::Index(nth) => Step::Index(*nth as u32),
    };
    Path::new(steps.iter().map(step).collect()).unwrap()
}
