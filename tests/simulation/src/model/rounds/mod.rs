//! Rounds of a session, as read from storage after their last change. Defines the expected answers
//! to reads, and which changes are rejected.
//!
//! The merge rules are not repeated here: a changed round is read from storage and must satisfy the
//! invariants of [`change`].

mod change;
mod close;
mod exclude;
mod preview;
mod propose;
mod redaction;

use std::rc::Rc;

use serde_json::{Value, json};
use shared_context_core::{
    Code, Command, ReadDeltas, RedactRounds, Reply, RoundsCommand, RoundsReply,
    audit::AuditAction,
    context::kept::Part,
    port::Revision,
    rounds::{
        BYTES_MAX_DEFAULT, Clip, Delta, DeltaOutcome, DeltaRead, DeltasPage, Json, KeptRound, Path,
        Plan, Reported, RoundHistory, RoundsRedacted, StateRead, Step, Weight,
    },
};

use super::{
    bucket::ExpectedAnswer,
    packets::redaction::Secrets,
    state::{Answer, Model, is_like, is_limited, name},
};

/// The rounds of a session, as last read from storage.
#[derive(Debug, Clone, Default)]
pub struct Rounds(Rc<RoundHistory>);

impl Rounds {
    /// Wraps a round history.
    pub fn of(history: RoundHistory) -> Self {
        Self(Rc::new(history))
    }

    /// Returns the stored history.
    pub fn history(&self) -> &RoundHistory {
        &self.0
    }

    /// Returns the round that is open.
    pub fn open(&self) -> Option<&KeptRound> {
        self.0.rounds.last().filter(|it| it.state.is_none())
    }

    /// Returns the number of the last ended round, or 0 before the first has ended.
    pub fn last(&self) -> u64 {
        self.ended().last().map_or(0, |it| it.round.number)
    }

    fn ended(&self) -> impl Iterator<Item = &KeptRound> {
        self.0.rounds.iter().filter(|it| it.state.is_some())
    }

    /// Returns the number of the oldest stored state. 0 is the initial state.
    fn oldest(&self) -> u64 {
        self.ended().next().map(|it| it.round.number).filter(|it| *it > 1).unwrap_or_default()
    }

    /// Returns the size limit of the last state, in bytes.
    fn bytes_max(&self) -> u32 {
        self.ended().last().map_or(BYTES_MAX_DEFAULT, |it| it.round.bytes_max)
    }

    /// Returns the state after a round, if it is stored.
    fn state(&self, round: u64) -> Option<Json> {
        if round == 0 && self.oldest() == 0 {
            let query = self.0.query.as_deref().unwrap_or_default();
            let first = json!({"query": query, "bindings": {}, "entities": [], "rules": []});
            return Json::parse(&first.to_string()).ok();
        }
        let made = self.ended().find(|it| it.round.number == round)?;
        Some(made.state.as_ref()?.text().clone())
    }

    /// Returns the number and the text of the last state, if a round ended.
    pub fn last_state(&self) -> Option<(u64, String)> {
        let last = self.last();
        (last > 0).then(|| (last, self.now().as_str().to_owned()))
    }

    /// Returns the current state, which deltas are proposed against.
    fn now(&self) -> Json {
        self.state(self.last()).unwrap()
    }

    /// Returns the names of the rows that the rounds need. Names of delta rows are cut after the
    /// round number.
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
            let is_excluded = |it: &DeltaOutcome| exclude::is_excluded(it.status);
            let has_excluded = it.outcomes.iter().any(is_excluded);
            rows.extend(has_excluded.then(|| format!("r/o/{number:016x}")));
        }
        // The row exists only after a round was opened.
        rows.extend((!self.0.is_empty()).then(|| "r/head".to_owned()));
        rows.extend((self.last() > 0).then(|| "r/sizes".to_owned()));
        rows
    }
}

impl Model {
    /// Returns the expected answer to a command that changes rounds. If it may succeed, also
    /// returns the next session, whose rounds are then read from storage.
    pub fn change_rounds(
        &self,
        clock: u64,
        who: &str,
        command: &Command,
    ) -> Option<(ExpectedAnswer, Option<Self>)> {
        let Command::Rounds(request) = command else { return None };
        let (action, id) = match request {
            RoundsCommand::Open(it) => (AuditAction::OpenRound, &it.request_id),
            RoundsCommand::Propose(it) => (AuditAction::ProposeDeltas, &it.request_id),
            RoundsCommand::Exclude(it) if it.reason.is_none() => {
                (AuditAction::WithdrawDeltas, &it.request_id)
            }
            RoundsCommand::Exclude(it) => (AuditAction::RejectDeltas, &it.request_id),
            RoundsCommand::Close(it) => (AuditAction::CloseRound, &it.request_id),
            RoundsCommand::Redact(_) => (AuditAction::RedactRounds, &None),
            _ => return None,
        };
        let only = |answer| Some((ExpectedAnswer::Exactly(answer), None));
        let is_chiefs =
            ![AuditAction::ProposeDeltas, AuditAction::WithdrawDeltas].contains(&action);
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
        if let Some((request, answer)) = known.and_then(|it| self.answers.get(&it)) {
            let is_again = request == command;
            return only(if is_again { answer.clone() } else { Err(Code::RequestIdReused) });
        }
        let (open, last) = (self.rounds.open(), self.rounds.last());
        let number = open.map_or(last + 1, |it| it.round.number);
        let (mut may_be_made, mut codes) = (true, Vec::new());
        match (request, open) {
            (RoundsCommand::Open(it), _) if it.query.is_some() && last > 0 => {
                return only(Err(Code::MalformedRequest));
            }
            (RoundsCommand::Open(_), Some(_)) => return only(Err(Code::RoundOpen)),
            (
                RoundsCommand::Propose(_) | RoundsCommand::Exclude(_) | RoundsCommand::Close(_),
                None,
            ) => {
                return only(Err(Code::RoundNotOpen));
            }
            (RoundsCommand::Exclude(it), Some(open)) => {
                let reply = match exclude::check(open, it, who) {
                    Ok(reply) => reply,
                    Err(code) => return only(Err(code)),
                };
                if reply.sequences.is_empty() {
                    let reply = Reply::Rounds(RoundsReply::Excluded(reply));
                    return only(Ok((Revision(self.revision), reply)));
                }
            }
            (RoundsCommand::Propose(it), _) => {
                (codes, may_be_made) =
                    propose::rejections(&value(&self.rounds.now()), who, &it.deltas);
            }
            (RoundsCommand::Close(it), Some(open)) => {
                let is_rejected = it.clip.unwrap_or(open.round.plan.clip) == Clip::Reject;
                if is_rejected && !it.discards && close::may_be_large(&self.rounds.now(), open) {
                    codes.push(Code::StateTooLarge);
                }
            }
            (RoundsCommand::Redact(it), _) => {
                let texts = redaction::texts(self.rounds.history());
                let replies = redaction::texts_of_replies(self.answers.values());
                let mut redacted = self.clone();
                let kept = redacted.redact_kept(&it.reason, &is_secret(it.text.as_str()))
                    + redacted.redact_packets(&secrets(it));
                let mut texts = texts.iter().chain(&replies);
                if kept == 0 && !texts.any(|text| text.contains(it.text.as_str())) {
                    let none = RoundsRedacted { places: 0, markers: Vec::new() };
                    let reply = Reply::Rounds(RoundsReply::Redacted(none));
                    return only(Ok((Revision(self.revision), reply)));
                }
            }
            _ => {}
        }
        let next = may_be_made.then(|| {
            let mut next = self.begin_change(clock);
            next.record(who, action, None);
            match request {
                RoundsCommand::Redact(it) => next.record_details(None, Some(&it.reason)),
                _ => next.record_round(number),
            }
            next
        });
        Some((ExpectedAnswer::Rejected(codes), next))
    }

    /// Adopts the rounds that a change left in storage, and returns the expected answer.
    ///
    /// # Errors
    ///
    /// The broken invariant.
    pub fn take_rounds(
        &mut self,
        who: &str,
        command: &Command,
        after: RoundHistory,
    ) -> Result<Answer, String> {
        let Command::Rounds(request) = command else { return Err("no rounds".to_owned()) };
        let after = Rounds::of(after);
        let reply = match request {
            RoundsCommand::Redact(it) => {
                let (before, secret) = (self.rounds.history(), it.text.as_str());
                let replies = redaction::texts_of_replies(self.answers.values());
                let mut redacted = redaction::check(before, after.history(), secret, &replies)?;
                redaction::redact_replies(self.answers.values_mut(), secret);
                redacted.places += self.redact_kept(&it.reason, &is_secret(it.text.as_str()));
                redacted.places += self.redact_packets(&secrets(it));
                RoundsReply::Redacted(redacted)
            }
            _ => change::check(&self.rounds, &after, request, who, self.about.changed_at)?,
        };
        self.rounds = after;
        let answer = Ok((Revision(self.revision), Reply::Rounds(reply)));
        if let Some(id) = crate::request::request_id(command) {
            let request = (name(who).to_owned(), id.as_str().to_owned());
            self.answers.insert(request, (command.clone(), answer.clone()));
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
            RoundsCommand::ReadDeltas(request) => RoundsReply::Deltas(rounds.read_deltas(request)?),
            RoundsCommand::ReadConvergence => {
                RoundsReply::Convergence(rounds.ended().map(|it| it.round.clone()).collect())
            }
            other => panic!("{other:?} reads no round"),
        };
        Ok((Revision(self.revision), Reply::Rounds(reply)))
    }
}

impl Rounds {
    fn read_deltas(&self, request: &ReadDeltas) -> Result<DeltasPage, Code> {
        let newest = self.open().map_or(self.last(), |it| it.round.number);
        if request.round.is_some_and(|it| !(self.oldest()..=newest).contains(&it)) {
            return Err(Code::RoundNotFound);
        }
        let path = request.path.as_ref().map(|it| steps(it.as_str()));
        let all = self.0.rounds.iter().flat_map(|KeptRound { round, deltas, outcomes, .. }| {
            deltas.iter().map(|delta| DeltaRead {
                round: round.number,
                delta: delta.clone(),
                weight: weight(&round.plan, delta.participant.as_str()),
                outcome: outcomes.iter().find(|it| it.sequence == delta.sequence).cloned(),
            })
        });
        let place = |it: &DeltaRead| (it.round, it.delta.sequence);
        let mut deltas: Vec<DeltaRead> = all
            .filter(|it| request.round.is_none_or(|round| it.round == round))
            .filter(|it| request.after.is_none_or(|after| place(it) > after))
            .filter(|it| path.as_ref().is_none_or(|path| touches(&it.delta, path)))
            .filter(|it| {
                request.participant.as_ref().is_none_or(|who| it.delta.participant == *who)
            })
            .filter(|it| request.outcome.is_none_or(|of| of == reported(it.outcome.as_ref())))
            .collect();
        let has_more = deltas.len() > request.limit as usize;
        deltas.truncate(request.limit as usize);
        let next_after = deltas.last().filter(|_| has_more).map(place);
        Ok(DeltasPage { deltas, is_brief: request.is_brief, next_after })
    }
}

fn reported(outcome: Option<&DeltaOutcome>) -> Reported {
    match outcome.map(|it| it.status.as_str()) {
        None => Reported::Pending,
        Some("applied") => Reported::Applied,
        Some("lost") => Reported::Lost,
        Some("withdrawn") => Reported::Withdrawn,
        Some("rejected") => Reported::Rejected,
        Some(_) => Reported::Refused,
    }
}

/// Returns what a redaction of rounds redacts in packets.
fn secrets(it: &RedactRounds) -> Secrets {
    let mark = format!("[redacted: {}]", it.reason.as_str());
    Secrets { values: vec![it.text.as_str().to_owned()], has_parts: false, mark }
}

/// Returns true for each text of the context pipeline that contains `secret`.
fn is_secret(secret: &str) -> impl Fn(Option<&Part>, &str) -> bool {
    move |_, text| text.contains(secret)
}

/// Returns true if a delta concerns `path` or a path below it.
fn touches(delta: &Delta, path: &[Step]) -> bool {
    let own = delta.path.steps();
    let has_value = |it: &Json| value_at(&value(it), &path[own.len()..]).is_some();
    own.starts_with(path) || path.starts_with(own) && delta.value.as_ref().is_none_or(has_value)
}

/// Returns the weight of `who`.
fn weight(plan: &Plan, who: &str) -> Weight {
    let rule = plan.weights.iter().find(|it| is_like(it.participants.as_str(), who));
    rule.map_or(Weight::DEFAULT, |it| it.weight)
}

/// Returns the strategy of a place. Scripts have one rule per member.
fn strategy(plan: &Plan, place: &Path) -> &'static str {
    let is_its = |paths: &str| place.to_string().starts_with(&paths.replace("$.", "$['"));
    let rule = plan.strategies.iter().find(|it| is_its(it.paths.as_str()));
    rule.map_or("weighted-merge", |it| it.strategy.name())
}

/// Returns the value at `path`.
fn value_at<'v>(value: &'v Value, path: &[Step]) -> Option<&'v Value> {
    path.iter().try_fold(value, |at, step| match step {
        Step::Name(name) => at.get(name),
        Step::Index(nth) => at.get(*nth as usize),
    })
}

/// Parses a path in the form that scripts use: `$.entities[0].name`.
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

/// Returns the error `what` unless `holds`.
fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}
