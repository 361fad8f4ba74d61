//! Runs one case on one target.
//!
//! Invariant: an error changes nothing (spec 5.3). The runner inspects the session before and after
//! every `error` that a case expects, and both must be equal.

mod check;

use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use shared_context_core::ScopeKind;

use crate::{
    case::{
        ADMIN, Body, Case, Expectation, HttpCall, Instruction, ScopeName, Step, Storage, ToolCall,
    },
    expect,
    target::{Credential, HttpRequest, Target, TargetError, TargetFactory},
    template::{Variables, fill, fill_bytes, look_up},
};
use check::check_unchanged;

/// The code of the error that is committed, since it is returned once (spec 20.6).
const REPORTED_ONCE: &str = "LEASE_EXPIRED";

/// The instant at which every case starts.
const START: &str = "2026-02-20T14:00:00Z";

/// Runs `case` on a target from `start`. The error is a readable message with the step, the
/// request and the difference.
pub fn run(case: &Case, start: &TargetFactory) -> Result<(), String> {
    let now: Timestamp = START.parse().map_err(|err| format!("{START}: {err}"))?;
    let mut run = Runner {
        case,
        start,
        target: start(case)?,
        now,
        variables: Variables::new(),
        credentials: Vec::new(),
        can_inspect: case.rate_limit.is_none(),
    };
    run.set_clock(now)?;
    for session in &case.sessions {
        run.create(session, case.config.as_ref())?;
    }
    run.steps(&case.steps, "step ")
}

struct Runner<'a> {
    case: &'a Case,
    start: &'a TargetFactory,
    target: Box<dyn Target>,
    now: Timestamp,
    variables: Variables,
    credentials: Vec<(String, Credential)>,
    /// Inspecting a session works and has no side effects now.
    can_inspect: bool,
}

impl Runner<'_> {
    fn create(&mut self, session: &str, config: Option<&Value>) -> Result<(), String> {
        let mut request = json!({"action": "create_session"});
        if let (Some(config), Some(request)) = (config, request.as_object_mut()) {
            request.insert("config".to_owned(), fill(config, &self.variables)?);
        }
        let scope = ScopeKind::Session.bucket_name(session);
        match self.send(&scope, ADMIN, request.to_string().as_bytes()) {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("before the first step, creating `{session}`: {error}")),
        }
    }

    fn steps(&mut self, steps: &[Step], prefix: &str) -> Result<(), String> {
        for (step, number) in steps.iter().zip(1..) {
            self.step(step, &format!("{prefix}{number}"))?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step, label: &str) -> Result<(), String> {
        for repetition in 1..=step.repeat.unwrap_or(1) {
            let mut label = label.to_owned();
            if step.repeat.is_some() {
                self.variables.insert("i".to_owned(), repetition.into());
                let _ = write!(label, " (i = {repetition})");
            }
            let Some((name, values)) = &step.each else {
                self.instruction(&step.instruction, &label)?;
                continue;
            };
            let Value::Array(values) = fill(values, &self.variables)? else {
                return Err(format!("{label}: `{name}` has no list of values"));
            };
            for value in values {
                let label = format!("{label} ({name} = {})", expect::shorten(&value.to_string()));
                self.variables.insert(name.clone(), value);
                self.instruction(&step.instruction, &label)?;
            }
        }
        Ok(())
    }

    fn instruction(&mut self, instruction: &Instruction, label: &str) -> Result<(), String> {
        let result = match instruction {
            Instruction::Steps(steps) => return self.steps(steps, &format!("{label}.")),
            Instruction::Call(call) => self.call(call),
            Instruction::Http(http) => self.http(http),
            Instruction::Keep { participant, keys, scope, keep } => {
                self.keep_credential(participant, keys.as_ref(), scope, keep)
            }
            Instruction::Restart => self.target.restart(),
            Instruction::Elsewhere => self.replace_target(),
            Instruction::Clock(instant) => self.jump_clock(instant),
            Instruction::ClockStep(step) => self.step_clock(step),
            Instruction::Storage(storage) => {
                self.can_inspect = *storage == Storage::Works;
                self.target.set_storage(*storage)
            }
            Instruction::Encodings(names) => self.target.set_encodings(names),
            Instruction::Logged(records) => self.check_log(records),
        };
        result.map_err(|message| format!("{label}: {message}"))
    }

    fn replace_target(&mut self) -> Result<(), String> {
        self.target = (self.start)(self.case)?;
        self.set_clock(self.now)
    }

    fn set_clock(&mut self, now: Timestamp) -> Result<(), String> {
        let now_ms = u64::try_from(now.as_millisecond()).map_err(|err| err.to_string())?;
        self.now = now;
        self.target.set_clock(now_ms);
        Ok(())
    }

    fn jump_clock(&mut self, instant: &str) -> Result<(), String> {
        let [instant] = self.texts([instant])?;
        let now = instant.parse().map_err(|err| format!("`{instant}`: {err}"))?;
        self.set_clock(now)
    }

    fn step_clock(&mut self, step: &str) -> Result<(), String> {
        let step: SignedDuration = step.parse().map_err(|err| format!("`{step}`: {err}"))?;
        let now = self.now.checked_add(step).map_err(|err| err.to_string())?;
        self.set_clock(now)
    }

    fn keep_credential(
        &mut self,
        participant: &str,
        keys: Option<&Value>,
        scope: &ScopeName,
        keep: &str,
    ) -> Result<(), String> {
        let [participant, id] = self.texts([participant, &scope.id])?;
        let scope = scope.kind.bucket_name(&id);
        let credential = self.credential(&scope, &participant, keys, None);
        let credential = credential.map_err(|error| error.to_string())?;
        let parts: Vec<&str> = credential.token.split('.').collect();
        let variable = json!({"token": credential.token, "parts": parts});
        self.variables.insert(keep.to_owned(), variable);
        self.credentials.push((keep.to_owned(), credential));
        Ok(())
    }

    /// Returns the credential stored as `stored`, or a new one that is limited to `keys`.
    fn credential(
        &mut self,
        scope: &str,
        participant: &str,
        keys: Option<&Value>,
        stored: Option<&str>,
    ) -> Result<Credential, TargetError> {
        let Some(stored) = stored else {
            let keys = keys.map(|it| fill(it, &self.variables)).transpose()?;
            let keys = keys.map(serde_json::from_value::<Vec<String>>).transpose();
            let keys = keys.map_err(|err| format!("`keys` is a list of patterns: {err}"))?;
            return self.target.credential(scope, participant, &keys.unwrap_or_default());
        };
        let found = self.credentials.iter().rev().find(|(name, _)| name == stored);
        let (_, credential) =
            found.ok_or_else(|| format!("no credential was stored as `{stored}`"))?;
        Ok(credential.clone())
    }

    fn send(
        &mut self,
        scope: &str,
        participant: &str,
        request: &[u8],
    ) -> Result<Vec<u8>, TargetError> {
        let credential = self.credential(scope, participant, None, None)?;
        self.target.invoke(scope, &credential, request)
    }

    /// Returns the whole visible state of the session or project, or the error of reading it.
    /// Returns `None` if `expectation` is not an error, or the one that changes something.
    fn inspect(
        &mut self,
        scope: &str,
        expectation: Option<&Expectation>,
    ) -> Result<Option<String>, String> {
        let Some(Expectation::Error { error, .. }) = expectation else { return Ok(None) };
        if !self.can_inspect || error["code"] == REPORTED_ONCE {
            return Ok(None);
        }
        let request = match ScopeKind::split(scope) {
            Some((ScopeKind::Project, _)) => r#"{"action":"show_project"}"#,
            _ => r#"{"action":"inspect"}"#,
        };
        match self.send(scope, ADMIN, request.as_bytes()) {
            Ok(body) | Err(TargetError::Rejected(body)) => {
                Ok(Some(String::from_utf8_lossy(&body).into_owned()))
            }
            Err(TargetError::Failed(message)) => Err(message),
        }
    }

    fn call(&mut self, call: &ToolCall) -> Result<(), String> {
        let request = self.body(&call.request)?;
        let [id, participant] = self.texts([&call.scope.id, &call.participant])?;
        let scope = call.scope.kind.bucket_name(&id);
        let before = self.inspect(&scope, Some(&call.expectation))?;
        let (keys, stored) = (call.keys.as_ref(), call.credential.as_deref());
        let reply = self
            .credential(&scope, &participant, keys, stored)
            .and_then(|credential| self.target.invoke(&scope, &credential, &request));
        let checked = self.check_reply(&call.expectation, reply).and_then(|(body, text)| {
            for (name, path) in &call.save {
                self.save(name, path, &body)?;
            }
            self.save_text(call.save_text.as_deref(), &text);
            check_unchanged(
                before.as_deref(),
                self.inspect(&scope, Some(&call.expectation))?.as_deref(),
            )
        });
        checked.map_err(|message| {
            let request = expect::shorten(&String::from_utf8_lossy(&request));
            format!("{participant} on {scope}\n  request {request}\n{message}")
        })
    }

    fn http(&mut self, http: &HttpCall) -> Result<(), String> {
        let [line, id] = self.texts([&http.line, &http.scope.id])?;
        let scope = http.scope.kind.bucket_name(&id);
        let (method, target) = line.split_once(' ').ok_or("`http` is a method and a target")?;
        let mut request = HttpRequest {
            method: method.to_owned(),
            target: target.to_owned(),
            ..HttpRequest::default()
        };
        if let Some(participant) = &http.participant {
            let [participant] = self.texts([participant])?;
            let (keys, stored) = (http.keys.as_ref(), http.credential.as_deref());
            let credential = self.credential(&scope, &participant, keys, stored);
            let credential = credential.map_err(|error| format!("no credential: {error}"))?;
            let value = format!("Bearer {}", credential.token);
            request.headers.push(("Authorization".to_owned(), value));
        }
        for (name, value) in &http.headers {
            let values = match fill(value, &self.variables)? {
                Value::Array(values) => values,
                value => vec![value],
            };
            for value in values {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                request.headers.push((name.clone(), value));
            }
        }
        request.body = http.body.as_ref().map(|body| self.body(body)).transpose()?;
        let is_json = matches!(http.body, Some(Body::Json(_)));
        if is_json
            && !request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"))
        {
            request.headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        }
        let before = self.inspect(&scope, http.expectation.as_ref())?;
        let response = self.target.http(&request)?;
        let checked = self.check_response(http, &response).and_then(|()| {
            check_unchanged(
                before.as_deref(),
                self.inspect(&scope, http.expectation.as_ref())?.as_deref(),
            )
        });
        checked.map_err(|message| {
            let body = request.body.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
            format!("{line}\n  {}\n{message}", expect::shorten(&body))
        })
    }

    fn check_log(&mut self, records: &[Value]) -> Result<(), String> {
        let Some(got) = self.target.logged() else { return Ok(()) };
        let expected = fill(&records.into(), &self.variables)?;
        expect::compare(&expected, &got.into(), true)
    }

    fn save(&mut self, name: &str, path: &str, body: &Value) -> Result<(), String> {
        let value = look_up(body, path).ok_or_else(|| format!("nothing at `{path}` to save"))?;
        self.variables.insert(name.to_owned(), value.clone());
        Ok(())
    }

    fn save_text(&mut self, name: Option<&str>, body: &[u8]) {
        if let Some(name) = name {
            let text = String::from_utf8_lossy(body).into_owned();
            self.variables.insert(name.to_owned(), text.into());
        }
    }

    fn body(&self, body: &Body) -> Result<Vec<u8>, String> {
        match body {
            Body::Json(request) => Ok(fill(request, &self.variables)?.to_string().into_bytes()),
            Body::Raw(text) => fill_bytes(text, &self.variables),
        }
    }

    fn texts<const N: usize>(&self, templates: [&str; N]) -> Result<[String; N], String> {
        let mut texts = [const { String::new() }; N];
        for (text, template) in texts.iter_mut().zip(templates) {
            let filled = fill(&template.into(), &self.variables)?;
            filled.as_str().ok_or("a name must be text")?.clone_into(text);
        }
        Ok(texts)
    }
}
