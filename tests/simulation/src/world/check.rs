//! Whether an answer is what the model says of the state and the time that the
//! request was decided on, and the log what was committed.

use std::rc::Rc;

use serde_json::{Value, json};
use shared_context_codec::{self as codec, Failure, Reply};
use shared_context_core::{Code, Command, Outcome};

use super::{
    World,
    instance::Instance,
    plain::{is_in_order, is_page, is_unchanged, plain, promise, sorted},
    schema,
};
use crate::{
    cast::MARK,
    counts::Counts,
    model::{Asker, Expected, Place},
    request,
    script::{Ask, Request},
};

/// How often a request is decided anew before it is given up.
const ATTEMPTS_MAX: u32 = 16;

impl World {
    /// Checks what became of an instance that was killed: it may have committed, and
    /// then it logged what it came to.
    pub(super) fn settle_killed(&self, instance: &Instance<'_>) {
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

    /// Checks the answer to a request; what it must be, if that is one thing.
    pub(super) fn settle(
        &self,
        instance: &Instance<'_>,
        ask: &Ask,
        answer: &Result<Reply, Failure>,
    ) -> Option<Result<Value, String>> {
        let code = match answer {
            Ok(_) => "ok",
            Err(failure) => &*failure.code,
        };
        if !self.is_comparing.get() {
            Counts::more(&mut self.counts.borrow_mut().answers, code);
        }
        self.check_log(instance);
        self.check_secrecy(instance);
        if let Err(failure) = answer {
            let told = String::from_utf8_lossy(&failure.to_json()).into_owned();
            if told.contains(MARK) {
                self.fail("secrecy", format!("a refusal repeats a value: {told}"));
            }
        }
        if let Request::Raw { refused, .. } = &ask.request {
            let must = self.settle_raw(instance, ask, refused, code);
            return Some(Err(must));
        }
        if code == Code::StorageUnavailable.as_str() {
            self.check_unavailable(instance, ask, answer);
            return None;
        }
        let command = instance.command.as_ref()?;
        let (place, expected) = self.expected(instance, command, code)?;
        let about = || format!("{} on {}: {}", ask.who(), ask.session, call_of(ask));
        let differs = |expected: String, told: String| {
            self.fail("answer", format!("{}\n  must be {expected}\n  but is  {told}", about()));
        };
        let codes = expected.codes();
        let reply = match answer {
            Ok(reply) if codes.is_empty() => reply,
            Err(_) if codes.iter().any(|it| it.as_str() == code) => {
                return Some(Err(code.to_owned()));
            }
            _ => {
                differs(shown(&expected), told(answer));
                return Some(promise(&expected));
            }
        };
        self.check_timer(instance, &place, reply.next_expiry_ms, &about);
        let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        if !self.is_comparing.get()
            && let Err(what) = schema::check(ask.action(), &body)
        {
            self.fail("schema", format!("{}\n  {what}", about()));
        }
        if is_unchanged(&body) {
            return match self.unchanged(instance, command, &place, &expected, &body) {
                Ok(()) => Some(Ok(body)),
                Err(what) => {
                    differs(what, told(answer));
                    Some(promise(&expected))
                }
            };
        }
        if must_be_unchanged(instance, command, &place) {
            differs("unchanged".to_owned(), told(answer));
            return Some(Ok(json!({"unchanged": true})));
        }
        let is_same = match &expected {
            Expected::Exactly(Ok((revision, it))) => {
                let outcome = Outcome { revision: *revision, reply: it.clone(), next_expiry: None };
                let text = codec::to_json(&outcome);
                let is_alike = || {
                    let must: Value = serde_json::from_str(&text).unwrap_or_default();
                    plain(&must) == plain(&body) && is_in_order(&body)
                };
                revision.0 == reply.revision && (text.as_bytes() == reply.body || is_alike())
            }
            Expected::Changes(revision, page, musts) => {
                revision.0 == reply.revision
                    && is_in_order(&body)
                    && is_page(*revision, page, musts, &body)
            }
            Expected::Exactly(Err(_)) | Expected::Refused(_) => false,
        };
        if !is_same {
            differs(shown(&expected), told(answer));
        }
        self.note_acknowledged(instance);
        let is_kept = self.depth.get() == 0 && !self.is_comparing.get();
        is_kept.then(|| promise(&expected))
    }

    /// Checks what a timer was told.
    pub(super) fn settle_wake(
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
                let place = instance.opened.borrow().clone().unwrap_or_default();
                if place.session.is_some() || failure.code != Code::SessionNotFound.as_str() {
                    self.fail("answer", format!("a timer was refused: {failure}"));
                }
            }
            Ok(rings) => {
                if let Some((place, _)) = self.expected(instance, &Command::Sweep, "ok") {
                    self.check_timer(instance, &place, *rings, &|| "timer".to_owned());
                    if place.session.is_none() {
                        self.fail("answer", "a timer of no session was answered".to_owned());
                    }
                }
            }
        }
    }

    /// Returns what the model says of the state and the time that an instance decided on, which
    /// answered with `code`, and the state after it. `None` when something is wrong already.
    fn expected(
        &self,
        instance: &Instance<'_>,
        command: &Command,
        code: &str,
    ) -> Option<(Rc<Place>, Expected)> {
        if let Some(committed) = &*instance.committed.borrow() {
            if !committed.is_told {
                self.fail("answer", "answered although the commit's answer was lost".to_owned());
                return None;
            }
            return Some((committed.next.clone(), committed.expected.clone()));
        }
        let place = instance.opened.borrow().clone().unwrap_or_default();
        let clock = instance.clock.get();
        match place.decide(clock, instance.session, &instance.asker, command) {
            (expected, None) => Some((place, expected)),
            (Expected::Refused(codes), Some(_)) if codes.iter().any(|it| it.as_str() == code) => {
                Some((place, Expected::Refused(codes)))
            }
            // A refusal, or a lost write: both are no acknowledgement of what happened.
            (expected, Some(next)) => {
                let what = format!("{command:?} was not committed; must be {}", shown(&expected));
                self.fail("not committed", what);
                Some((Rc::new(next), expected))
            }
        }
    }

    /// Storage is unavailable only where it was, or where others came first.
    fn check_unavailable(
        &self,
        instance: &Instance<'_>,
        ask: &Ask,
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
        } else if committed.as_ref().is_some_and(|it| it.is_told) {
            "told that it is not known, and it was"
        } else {
            return;
        };
        self.fail("answer", format!("{what}: {} {}", ask.who(), call_of(ask)));
    }

    /// Returns what is no request is refused as what it is, unless the credential is void.
    fn settle_raw(&self, instance: &Instance<'_>, ask: &Ask, refused: &str, code: &str) -> String {
        let place = instance.opened.borrow().clone().unwrap_or_default();
        let is_void = place.is_void(&instance.asker);
        let must = if is_void { Code::Unauthenticated.as_str() } else { refused };
        let is_disturbed = instance.has_failed.get() || instance.overtaken.get() >= ATTEMPTS_MAX;
        if code != must && !(is_disturbed && code == refused) {
            let what = format!("{} must be {must} but is {code}", call_of(ask));
            self.fail("answer", what);
        }
        must.to_owned()
    }

    /// Checks that what was committed was logged, each thing once, and nothing else.
    fn check_log(&self, instance: &Instance<'_>) {
        let made = match &*instance.committed.borrow() {
            Some(committed) if committed.is_told => sorted(&committed.records),
            _ => Vec::new(),
        };
        let logged = sorted(&instance.logged.borrow());
        if logged != made {
            self.fail("log", format!("to be logged: {made:?}\n  logged: {logged:?}"));
        }
    }

    fn check_secrecy(&self, instance: &Instance<'_>) {
        let logged = format!("{:?}", instance.logged.borrow());
        if logged.contains(MARK) {
            self.fail("secrecy", format!("a value is logged: {logged}"));
        }
    }

    /// Returns a timer that is set by an answer never rings too late.
    fn check_timer(
        &self,
        instance: &Instance<'_>,
        place: &Place,
        rings: Option<u64>,
        about: &dyn Fn() -> String,
    ) {
        let is_late = |first: u64| rings.is_none_or(|it| it > first);
        if place.first_expiry().is_some_and(is_late) {
            let (first, now) = (place.first_expiry(), instance.clock.get());
            let what = format!("{}: rings {rings:?}, first {first:?}, now {now}", about());
            self.fail("timer", what);
        }
    }

    /// `unchanged` is told only to those who would see the same at both revisions.
    fn unchanged(
        &self,
        instance: &Instance<'_>,
        command: &Command,
        place: &Place,
        expected: &Expected,
        body: &Value,
    ) -> Result<(), String> {
        let since = request::since(command).ok_or("no `unchanged`: it was not asked for")?;
        let Expected::Exactly(Ok((revision, reply))) = expected else {
            return Err(shown(expected));
        };
        if body.get("revision").and_then(Value::as_u64) != Some(revision.0) {
            return Err(format!("unchanged at revision {revision}"));
        }
        let truths = self.truths.borrow();
        let past = truths.get(instance.session).map(|it| &it.past);
        let Some(past) = past.filter(|it| it.keys().next().is_some_and(|first| *first <= since))
        else {
            return Ok(()); // Forgotten: anything may have been there.
        };
        let then = past.get(&since).filter(|_| since <= place.latest());
        // What had expired and was not swept is there again when the clock has stepped back.
        let then = then.and_then(|it| {
            let clock = it.session.as_ref()?.clock.min(instance.clock.get());
            it.read(clock, &instance.asker, command).ok()
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
            self.truth_mut(instance.session, |it| it.acknowledged.push(change));
        }
    }
}

impl Asker {
    /// Returns the participant, without the keys it is limited to.
    pub(super) fn name(&self) -> &str {
        self.who.split_once(" only ").map_or(&self.who, |(name, _)| name)
    }
}

/// `unchanged` is always told to those who have seen the last.
fn must_be_unchanged(instance: &Instance<'_>, command: &Command, place: &Place) -> bool {
    let Some(model) = &place.session else { return false };
    let is_swept = place.first_expiry().is_none_or(|it| it > instance.clock.get());
    request::since(command) == Some(model.revision) && is_swept
}

fn call_of(ask: &Ask) -> String {
    String::from_utf8_lossy(&ask.bytes()).chars().take(400).collect()
}

fn told(answer: &Result<Reply, Failure>) -> String {
    match answer {
        Ok(reply) => format!("({}) {}", reply.revision, String::from_utf8_lossy(&reply.body)),
        Err(failure) => failure.to_string(),
    }
}

fn shown(expected: &Expected) -> String {
    let (revision, reply) = match expected {
        Expected::Exactly(Err(code)) => return code.as_str().to_owned(),
        Expected::Refused(codes) => return format!("one of {codes:?}, or a commit"),
        Expected::Exactly(Ok((revision, reply))) => (*revision, reply.clone()),
        Expected::Changes(revision, page, _) => {
            (*revision, shared_context_core::Reply::Changes(page.clone()))
        }
    };
    let outcome = Outcome { revision, reply, next_expiry: None };
    format!("({revision}) {}", codec::to_json(&outcome))
}
