//! Checks answers against the model, for the state and time that the request was decided on, and
//! audit records against commits.

use std::rc::Rc;

use serde_json::{Value, json};
use shared_context_codec::{self as codec, Failure, Reply};
use shared_context_core::{Code, Command, Outcome};

use super::{
    World,
    instance::Instance,
    normalize::{expected_answer, is_in_order, is_unchanged, normalized, page_matches, sorted},
    schema,
};
use crate::{
    counts::Counts,
    fixtures::VALUE_MARKER,
    model::{BucketModel, ExpectedAnswer, Requester},
    request,
    script::{Payload, Request},
};

/// Number of attempts before the core gives a request up.
const ATTEMPTS_MAX: u32 = 16;

impl World {
    /// Checks a killed instance: it may have committed, and then may have logged some of its
    /// records.
    pub(super) fn check_killed(&self, instance: &Instance<'_>) {
        let mut made = match &*instance.committed.borrow() {
            Some(committed) => sorted(&committed.records),
            None => Vec::new(),
        };
        let logged = sorted(&instance.logged.borrow());
        let all = made.len();
        for record in &logged {
            match made.iter().position(|it| it == record) {
                Some(nth) => drop(made.remove(nth)),
                None => {
                    return self.fail("log", format!("logged by one that was killed: {record:?}"));
                }
            }
        }
        self.counts.borrow_mut().unlogged += (all - logged.len()) as u64;
        self.check_secrecy(instance);
    }

    /// Checks the answer to a request. Returns the correct answer if there is exactly one.
    pub(super) fn check_answer(
        &self,
        instance: &Instance<'_>,
        request: &Request,
        answer: &Result<Reply, Failure>,
    ) -> Option<Result<Value, String>> {
        let code = match answer {
            Ok(_) => "ok",
            Err(failure) => &*failure.code,
        };
        if !self.is_comparing.get() {
            Counts::increment(&mut self.counts.borrow_mut().answers, code);
        }
        self.check_log(instance);
        self.check_secrecy(instance);
        if let Err(failure) = answer {
            let text = String::from_utf8_lossy(&failure.to_json()).into_owned();
            if text.contains(VALUE_MARKER) {
                self.fail("secrecy", format!("a refusal repeats a value: {text}"));
            }
        }
        if let Payload::Raw { refused, .. } = &request.payload {
            let must = self.check_invalid(instance, request, refused, code);
            return Some(Err(must));
        }
        if code == Code::StorageUnavailable.as_str() {
            self.check_unavailable(instance, request, answer);
            return None;
        }
        let command = instance.command.as_ref()?;
        let (bucket, expected) = self.expected(instance, command, code)?;
        let about = || format!("{} on {}: {}", request.who(), request.session, call_of(request));
        let differs = |expected: String, actual: String| {
            self.fail("answer", format!("{}\n  must be {expected}\n  but is  {actual}", about()));
        };
        let codes = expected.codes();
        let reply = match answer {
            Ok(reply) if codes.is_empty() => reply,
            Err(_) if codes.iter().any(|it| it.as_str() == code) => {
                return Some(Err(code.to_owned()));
            }
            _ => {
                differs(shown(&expected), shown_answer(answer));
                return Some(expected_answer(&expected));
            }
        };
        self.check_timer(instance, &bucket, reply.next_expiry_ms, &about);
        let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        if !self.is_comparing.get()
            && let Err(what) = schema::check(request.action(), &body)
        {
            self.fail("schema", format!("{}\n  {what}", about()));
        }
        if is_unchanged(&body) {
            return match self.unchanged(instance, command, &bucket, &expected, &body) {
                Ok(()) => Some(Ok(body)),
                Err(what) => {
                    differs(what, shown_answer(answer));
                    Some(expected_answer(&expected))
                }
            };
        }
        if must_be_unchanged(instance, command, &bucket) {
            differs("unchanged".to_owned(), shown_answer(answer));
            return Some(Ok(json!({"unchanged": true})));
        }
        let is_same = match &expected {
            ExpectedAnswer::Exactly(Ok((revision, it))) => {
                let outcome = Outcome { revision: *revision, reply: it.clone(), next_expiry: None };
                let text = codec::to_json(&outcome);
                let is_alike = || {
                    let must: Value = serde_json::from_str(&text).unwrap_or_default();
                    normalized(&must) == normalized(&body) && is_in_order(&body)
                };
                revision.0 == reply.revision && (text.as_bytes() == reply.body || is_alike())
            }
            ExpectedAnswer::Changes(revision, page, required) => {
                revision.0 == reply.revision
                    && is_in_order(&body)
                    && page_matches(*revision, page, required, &body)
            }
            ExpectedAnswer::Exactly(Err(_)) | ExpectedAnswer::Rejected(_) => false,
        };
        if !is_same {
            differs(shown(&expected), shown_answer(answer));
        }
        if !self.is_comparing.get() {
            self.counts.borrow_mut().note_envelope(&body);
        }
        self.note_acknowledged(instance);
        let is_kept = self.depth.get() == 0 && !self.is_comparing.get();
        is_kept.then(|| expected_answer(&expected))
    }

    /// Checks the answer to a timer.
    pub(super) fn check_wake(
        &self,
        instance: &Instance<'_>,
        answer: &Result<Option<u64>, Failure>,
    ) {
        self.check_log(instance);
        match answer {
            Err(failure) if failure.code == Code::StorageUnavailable.as_str() => {
                if !instance.has_failed.get() && instance.overtaken.get() < ATTEMPTS_MAX {
                    self.fail("answer", "storage failed by itself".to_owned());
                }
            }
            Err(failure) => {
                let bucket = instance.opened.borrow().clone().unwrap_or_default();
                if bucket.session.is_some() || failure.code != Code::SessionNotFound.as_str() {
                    self.fail("answer", format!("a timer was refused: {failure}"));
                }
            }
            Ok(rings) => {
                if let Some((bucket, _)) = self.expected(instance, &Command::Sweep, "ok") {
                    self.check_timer(instance, &bucket, *rings, &|| "timer".to_owned());
                    if bucket.session.is_none() {
                        self.fail("answer", "a timer of no session was answered".to_owned());
                    }
                }
            }
        }
    }

    /// Returns the expected answer for the state and time that an instance decided on, and the
    /// state after it. `code` is the actual code. Returns `None` if a check failed already.
    fn expected(
        &self,
        instance: &Instance<'_>,
        command: &Command,
        code: &str,
    ) -> Option<(Rc<BucketModel>, ExpectedAnswer)> {
        if let Some(committed) = &*instance.committed.borrow() {
            if !committed.is_acknowledged {
                self.fail("answer", "answered although the commit's answer was lost".to_owned());
                return None;
            }
            return Some((committed.next.clone(), committed.expected.clone()));
        }
        let bucket = instance.opened.borrow().clone().unwrap_or_default();
        let clock = instance.clock.get();
        match bucket.decide(clock, instance.session, &instance.requester, command) {
            (expected, None) => Some((bucket, expected)),
            (ExpectedAnswer::Rejected(codes), Some(_))
                if codes.iter().any(|it| it.as_str() == code) =>
            {
                Some((bucket, ExpectedAnswer::Rejected(codes)))
            }
            // An error, or a lost write: neither acknowledges what happened.
            (expected, Some(next)) => {
                let what = format!("{command:?} was not committed; must be {}", shown(&expected));
                self.fail("not committed", what);
                Some((Rc::new(next), expected))
            }
        }
    }

    /// Checks that `STORAGE_UNAVAILABLE` was returned only after a fault, or after losing every
    /// race.
    fn check_unavailable(
        &self,
        instance: &Instance<'_>,
        request: &Request,
        answer: &Result<Reply, Failure>,
    ) {
        let Err(failure) = answer else { return };
        let is_unchanged = failure.message.contains("nothing was changed");
        let is_unread = failure.message.contains("could not be read");
        let committed = instance.committed.borrow();
        let what = if is_unchanged && committed.is_some() {
            "told that nothing was changed, and it was"
        } else if is_unchanged && !is_unread && instance.overtaken.get() < ATTEMPTS_MAX {
            "given up too early"
        } else if (is_unread || !is_unchanged) && !instance.has_failed.get() {
            "storage failed by itself"
        } else if committed.as_ref().is_some_and(|it| it.is_acknowledged) {
            "told that it is not known, and it was"
        } else {
            return;
        };
        self.fail("answer", format!("{what}: {} {}", request.who(), call_of(request)));
    }

    /// Checks the rejection of an invalid request, and returns the correct code: its own, or
    /// `UNAUTHENTICATED` for a void credential.
    fn check_invalid(
        &self,
        instance: &Instance<'_>,
        request: &Request,
        expected_code: &str,
        code: &str,
    ) -> String {
        let bucket = instance.opened.borrow().clone().unwrap_or_default();
        let is_void = bucket.is_void(&instance.requester);
        let must = if is_void { Code::Unauthenticated.as_str() } else { expected_code };
        let is_disturbed = instance.has_failed.get() || instance.overtaken.get() >= ATTEMPTS_MAX;
        if code != must && !(is_disturbed && code == expected_code) {
            let what = format!("{} must be {must} but is {code}", call_of(request));
            self.fail("answer", what);
        }
        must.to_owned()
    }

    /// Checks that each record of a commit was logged once, and nothing else.
    fn check_log(&self, instance: &Instance<'_>) {
        let made = match &*instance.committed.borrow() {
            Some(committed) if committed.is_acknowledged => sorted(&committed.records),
            _ => Vec::new(),
        };
        let logged = sorted(&instance.logged.borrow());
        if logged != made {
            self.fail("log", format!("to be logged: {made:?}\n  logged: {logged:?}"));
        }
    }

    fn check_secrecy(&self, instance: &Instance<'_>) {
        let logged = format!("{:?}", instance.logged.borrow());
        if logged.contains(VALUE_MARKER) {
            self.fail("secrecy", format!("a value is logged: {logged}"));
        }
    }

    /// Checks that an answer sets the timer no later than the first expiry.
    fn check_timer(
        &self,
        instance: &Instance<'_>,
        bucket: &BucketModel,
        rings: Option<u64>,
        about: &dyn Fn() -> String,
    ) {
        let is_late = |first: u64| rings.is_none_or(|it| it > first);
        if bucket.first_expiry().is_some_and(is_late) {
            let (first, now) = (bucket.first_expiry(), instance.clock.get());
            let what = format!("{}: rings {rings:?}, first {first:?}, now {now}", about());
            self.fail("timer", what);
        }
    }

    /// Checks an `unchanged` reply: it was requested, and the caller would see the same at both
    /// revisions.
    fn unchanged(
        &self,
        instance: &Instance<'_>,
        command: &Command,
        bucket: &BucketModel,
        expected: &ExpectedAnswer,
        body: &Value,
    ) -> Result<(), String> {
        let since = request::since(command).ok_or("no `unchanged`: it was not asked for")?;
        let ExpectedAnswer::Exactly(Ok((revision, reply))) = expected else {
            return Err(shown(expected));
        };
        if body.get("revision").and_then(Value::as_u64) != Some(revision.0) {
            return Err(format!("unchanged at revision {revision}"));
        }
        let histories = self.histories.borrow();
        let past = histories.get(instance.session).map(|it| &it.past);
        let Some(past) = past.filter(|it| it.keys().next().is_some_and(|first| *first <= since))
        else {
            return Ok(()); // That state is no longer stored.
        };
        let then = past.get(&since).filter(|_| since <= bucket.latest());
        // When the clock steps back, entries that had expired but were not swept exist again.
        let then = then.and_then(|it| {
            let clock = it.session.as_ref()?.clock.min(instance.clock.get());
            it.read(clock, &instance.requester, command).ok()
        });
        match then {
            Some((_, then)) if then == *reply => Ok(()),
            _ => Err(format!("{} at revision {since} was another", shown(expected))),
        }
    }

    fn note_acknowledged(&self, instance: &Instance<'_>) {
        let Some(committed) = &*instance.committed.borrow() else {
            if instance.command.as_ref().is_some_and(|it| request::request_id(it).is_some()) {
                self.counts.borrow_mut().replays += 1;
            }
            return;
        };
        if let Some(model) = &committed.next.session {
            let change = (model.about.incarnation, model.revision);
            self.history_mut(instance.session, |it| it.acknowledged.push(change));
        }
    }
}

impl Requester {
    /// Returns the participant without its keys.
    pub(super) fn name(&self) -> &str {
        self.who.split_once(" only ").map_or(&self.who, |(name, _)| name)
    }
}

/// Returns true if the reply must be `unchanged`, because the caller has seen the current revision.
fn must_be_unchanged(instance: &Instance<'_>, command: &Command, bucket: &BucketModel) -> bool {
    let Some(model) = &bucket.session else { return false };
    let is_swept = bucket.first_expiry().is_none_or(|it| it > instance.clock.get());
    request::since(command) == Some(model.revision) && is_swept
}

fn call_of(request: &Request) -> String {
    String::from_utf8_lossy(&request.bytes()).chars().take(400).collect()
}

fn shown_answer(answer: &Result<Reply, Failure>) -> String {
    match answer {
        Ok(reply) => format!("({}) {}", reply.revision, String::from_utf8_lossy(&reply.body)),
        Err(failure) => failure.to_string(),
    }
}

fn shown(expected: &ExpectedAnswer) -> String {
    let (revision, reply) = match expected {
        ExpectedAnswer::Exactly(Err(code)) => return code.as_str().to_owned(),
        ExpectedAnswer::Rejected(codes) => return format!("one of {codes:?}, or a commit"),
        ExpectedAnswer::Exactly(Ok((revision, reply))) => (*revision, reply.clone()),
        ExpectedAnswer::Changes(revision, page, _) => {
            (*revision, shared_context_core::Reply::Changes(page.clone()))
        }
    };
    let outcome = Outcome { revision, reply, next_expiry: None };
    format!("({revision}) {}", codec::to_json(&outcome))
}
