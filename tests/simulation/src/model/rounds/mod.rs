//! The rounds of a session, as they were found in storage after the last change of them:
//! what reads of them must answer, and which changes are rejected.
//!
//! The rules of merging do not stand here a second time. What a change made of the rounds
//! is taken from storage, and must keep the [`change`]'s invariants.

mod change;
mod close;
mod propose;
mod redaction;

use std::rc::Rc;

use serde_json::{Value, json};
use shared_context_core::{
    Code, Command, ReadDeltas, Reply, RoundsCommand, RoundsReply,
    audit::AuditAction,
    port::Revision,
    rounds::{
        BYTES_MAX_DEFAULT, Clip, Delta, DeltaRead, DeltasPage, Json, KeptRound, Plan, RoundHistory,
        RoundsRedacted, StateRead, Step, Weight,
    },
};

use super::{
    place::Expected,
    state::{Answer, Model, is_like, name},
};

/// The rounds of a session, of which storage had these last.
#[derive(Debug, Clone, Default)]
pub struct Rounds(Rc<RoundHistory>);

impl Rounds {
    /// Returns these rounds.
    pub fn of(history: RoundHistory) -> Self {
        Self(Rc::new(history))
    }

    /// Returns all that is kept.
    pub fn history(&self) -> &RoundHistory {
        &self.0
    }

    /// Returns the round that is open.
    pub fn open(&self) -> Option<&KeptRound> {
        self.0.rounds.last().filter(|it| it.state.is_none())
    }

    /// Returns the number of the last round that ended; 0 when none did.
    pub fn last(&self) -> u64 {
        self.ended().last().map_or(0, |it| it.round.number)
    }

    fn ended(&self) -> impl Iterator<Item = &KeptRound> {
        self.0.rounds.iter().filter(|it| it.state.is_some())
    }

    /// Returns the number of the earliest round whose state is kept: 0 is what the first
    /// began with.
    fn oldest(&self) -> u64 {
        self.ended().next().map(|it| it.round.number).filter(|it| *it > 1).unwrap_or_default()
    }

    /// Returns the limit of the state that the last round left.
    fn bytes_max(&self) -> u32 {
        self.ended().last().map_or(BYTES_MAX_DEFAULT, |it| it.round.bytes_max)
    }

    /// Returns the state that a round made, if it is kept.
    fn state(&self, round: u64) -> Option<Json> {
        if round == 0 && self.oldest() == 0 {
            let query = self.0.query.as_deref().unwrap_or_default();
            let first = json!({"query": query, "bindings": {}, "entities": [], "rules": []});
            return Json::parse(&first.to_string()).ok();
        }
        let made = self.ended().find(|it| it.round.number == round)?;
        Some(made.state.as_ref()?.text().clone())
    }

    /// Returns the state that deltas are proposed against.
    fn now(&self) -> Json {
        self.state(self.last()).unwrap()
    }

    /// Returns the rows they take, those of deltas as far as they have the round's number.
    pub fn rows(&self) -> Vec<String> {
        let mut rows = Vec::new();
        rows.extend(self.0.query.iter().map(|_| format!("r/s/{:016x}", 0)));
        for it in &self.0.rounds {
            let number = it.round.number;
            if it.state.is_some() {
                rows.extend([format!("r/s/{number:016x}"), format!("r/c/{number:016x}")]);
            } else {
                rows.extend(it.deltas.iter().map(|it| format!("r/p/{}", it.participant)));
            }
            rows.extend((!it.deltas.is_empty()).then(|| format!("r/d/{number:016x}")));
        }
        // Nothing else is said there when nobody ever opened one.
        rows.extend((!self.0.is_empty()).then(|| "r/head".to_owned()));
        rows.extend((self.last() > 0).then(|| "r/sizes".to_owned()));
        rows
    }
}

impl Model {
    /// Returns what `command` must be answered, if it changes nothing, or else what it may be
    /// rejected with, and the session after it but for its rounds, which storage has.
    pub fn change_rounds(
        &self,
        clock: u64,
        who: &str,
        command: &Command,
    ) -> Option<(Expected, Option<Self>)> {
        let Command::Rounds(asked) = command else { return None };
        let (action, id) = match asked {
            RoundsCommand::Open(it) => (AuditAction::OpenRound, &it.request_id),
            RoundsCommand::Propose(it) => (AuditAction::ProposeDeltas, &it.request_id),
            RoundsCommand::Close(it) => (AuditAction::CloseRound, &it.request_id),
            RoundsCommand::Redact(_) => (AuditAction::RedactRounds, &None),
            _ => return None,
        };
        let only = |answer| Some((Expected::Exactly(answer), None));
        let is_chiefs = action != AuditAction::ProposeDeltas;
        let checked = match action {
            AuditAction::RedactRounds => self.check_redactor(who),
            _ if self.about.is_archived => Err(Code::SessionArchived),
            _ if who == "admin" || is_limited(who) => Err(Code::Forbidden),
            _ if is_chiefs && who != "orchestrator" => Err(Code::Forbidden),
            _ => Ok(()),
        };
        if let Err(code) = checked {
            return only(Err(code));
        }
        let known = id.as_ref().map(|id| (name(who).to_owned(), id.as_str().to_owned()));
        if let Some((asked, answer)) = known.and_then(|it| self.answers.get(&it)) {
            let is_again = asked == command;
            return only(if is_again { answer.clone() } else { Err(Code::RequestIdReused) });
        }
        let (open, last) = (self.rounds.open(), self.rounds.last());
        let number = open.map_or(last + 1, |it| it.round.number);
        let (mut may_be_made, mut codes) = (true, Vec::new());
        match (asked, open) {
            (RoundsCommand::Open(it), _) if it.query.is_some() && last > 0 => {
                return only(Err(Code::MalformedRequest));
            }
            (RoundsCommand::Open(_), Some(_)) => return only(Err(Code::RoundOpen)),
            (RoundsCommand::Propose(_) | RoundsCommand::Close(_), None) => {
                return only(Err(Code::RoundNotOpen));
            }
            (RoundsCommand::Propose(it), _) => {
                (codes, may_be_made) =
                    propose::misfits(&value(&self.rounds.now()), who, &it.deltas);
            }
            (RoundsCommand::Close(it), Some(open)) => {
                let is_rejected = it.clip.unwrap_or(open.round.plan.clip) == Clip::Reject;
                if is_rejected && !it.discards && close::may_be_large(&self.rounds.now(), open) {
                    codes.push(Code::StateTooLarge);
                }
            }
            (RoundsCommand::Redact(it), _) => {
                let texts = redaction::texts(self.rounds.history());
                if !texts.iter().any(|text| text.contains(it.text.as_str())) {
                    let none = RoundsRedacted { places: 0, markers: Vec::new() };
                    let reply = Reply::Rounds(RoundsReply::Redacted(none));
                    return only(Ok((Revision(self.revision), reply)));
                }
            }
            _ => {}
        }
        let next = may_be_made.then(|| {
            let mut next = self.begun(clock);
            next.tell(who, action, None);
            match asked {
                RoundsCommand::Redact(it) => next.tell_more(None, Some(&it.reason)),
                _ => next.tell_round(number),
            }
            next
        });
        Some((Expected::Refused(codes), next))
    }

    /// Takes in the rounds that a change left in storage; returns what it must answer.
    ///
    /// # Errors
    ///
    /// The invariant that they break.
    pub fn take_rounds(
        &mut self,
        who: &str,
        command: &Command,
        after: RoundHistory,
    ) -> Result<Answer, String> {
        let Command::Rounds(asked) = command else { return Err("no rounds".to_owned()) };
        let after = Rounds::of(after);
        let reply = change::check(&self.rounds, &after, asked, who, self.about.changed_at)?;
        self.rounds = after;
        let answer = Ok((Revision(self.revision), Reply::Rounds(reply)));
        if let Some(id) = crate::request::request_id(command) {
            let asked = (name(who).to_owned(), id.as_str().to_owned());
            self.answers.insert(asked, (command.clone(), answer.clone()));
        }
        Ok(answer)
    }

    /// Returns the answer to `read_state`, `read_deltas` and `convergence`.
    pub fn read_rounds(&self, who: &str, command: &RoundsCommand) -> Answer {
        if is_limited(who) {
            return Err(Code::Forbidden);
        }
        let rounds = &self.rounds;
        let reply = match command {
            RoundsCommand::ReadState { round } => {
                let number = round.unwrap_or(rounds.last());
                let document = rounds.state(number).ok_or(Code::RoundNotFound)?;
                let open = rounds.open().filter(|_| round.is_none()).map(|it| it.round.clone());
                let bytes_max = open.as_ref().map_or(rounds.bytes_max(), |it| it.bytes_max);
                RoundsReply::State(Box::new(StateRead { round: number, document, bytes_max, open }))
            }
            RoundsCommand::ReadDeltas(asked) => RoundsReply::Deltas(rounds.read_deltas(asked)?),
            RoundsCommand::ReadConvergence => {
                RoundsReply::Convergence(rounds.ended().map(|it| it.round.clone()).collect())
            }
            other => panic!("{other:?} reads no round"),
        };
        Ok((Revision(self.revision), Reply::Rounds(reply)))
    }
}

impl Rounds {
    fn read_deltas(&self, asked: &ReadDeltas) -> Result<DeltasPage, Code> {
        let newest = self.open().map_or(self.last(), |it| it.round.number);
        if asked.round.is_some_and(|it| !(self.oldest()..=newest).contains(&it)) {
            return Err(Code::RoundNotFound);
        }
        let path = asked.path.as_ref().map(|it| steps(it.as_str()));
        let all = self.0.rounds.iter().flat_map(|KeptRound { round, deltas, fates, .. }| {
            deltas.iter().enumerate().map(|(nth, delta)| DeltaRead {
                round: round.number,
                delta: delta.clone(),
                weight: weight(&round.plan, delta.participant.as_str()),
                fate: fates.get(nth).cloned(),
            })
        });
        let place = |it: &DeltaRead| (it.round, it.delta.sequence);
        let mut deltas: Vec<DeltaRead> = all
            .filter(|it| asked.round.is_none_or(|round| it.round == round))
            .filter(|it| asked.after.is_none_or(|after| place(it) > after))
            .filter(|it| path.as_ref().is_none_or(|path| touches(&it.delta, path)))
            .collect();
        let has_more = deltas.len() > asked.limit as usize;
        deltas.truncate(asked.limit as usize);
        let next_after = deltas.last().filter(|_| has_more).map(place);
        Ok(DeltasPage { deltas, next_after })
    }
}

fn is_limited(who: &str) -> bool {
    who.contains(" only ")
}

/// Returns whether a delta says something of `path` or of what is below it.
fn touches(delta: &Delta, path: &[Step]) -> bool {
    let own = delta.path.steps();
    let says = |it: &Json| look(&value(it), &path[own.len()..]).is_some();
    own.starts_with(path) || path.starts_with(own) && delta.value.as_ref().is_none_or(says)
}

/// Returns how much `who` weighs.
fn weight(plan: &Plan, who: &str) -> Weight {
    let rule = plan.weights.iter().find(|it| is_like(it.participants.as_str(), who));
    rule.map_or(Weight::DEFAULT, |it| it.weight)
}

/// Returns what is at the end of `path`.
fn look<'v>(value: &'v Value, path: &[Step]) -> Option<&'v Value> {
    path.iter().try_fold(value, |at, step| match step {
        Step::Name(name) => at.get(name),
        Step::Index(nth) => at.get(*nth as usize),
    })
}

/// Returns the steps of a path as scripts write it: `$.entities[0].name`.
fn steps(path: &str) -> Vec<Step> {
    let step = |it: &str| match it.strip_suffix(']') {
        Some(nth) => Step::Index(nth.parse().unwrap()),
        None => Step::Name(it.to_owned()),
    };
    path.split(['.', '[']).skip(1).map(step).collect()
}

fn value(it: &Json) -> Value {
    serde_json::from_str(it.as_str()).unwrap()
}

/// Fails with `what` unless `holds`.
fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}
