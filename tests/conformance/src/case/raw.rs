//! A step as written in YAML with all members optional, and its conversion to one instruction.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};
use shared_context_core::ScopeKind;

use super::{Body, Expectation, HttpCall, Instruction, MAIN, ScopeName, Step, Storage, ToolCall};

/// A step as written in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawStep {
    each: Option<Map<String, Value>>,
    repeat: Option<u64>,
    steps: Option<Vec<Step>>,
    restart: Option<bool>,
    elsewhere: Option<bool>,
    clock: Option<String>,
    clock_step: Option<String>,
    storage: Option<Storage>,
    encodings: Option<Vec<String>>,
    logged: Option<Vec<Value>>,
    keep_credential: Option<String>,
    call: Option<Map<String, Value>>,
    raw: Option<Value>,
    http: Option<String>,
    #[serde(rename = "as")]
    participant: Option<String>,
    keys: Option<Value>,
    session: Option<String>,
    project: Option<String>,
    credential: Option<String>,
    headers: Option<BTreeMap<String, Value>>,
    body: Option<Value>,
    status: Option<u16>,
    response_headers: Option<BTreeMap<String, Value>>,
    expect: Option<Value>,
    expect_partial: Option<Value>,
    bytes: Option<Value>,
    error: Option<Map<String, Value>>,
    save: Option<BTreeMap<String, String>>,
    save_text: Option<String>,
}

impl TryFrom<RawStep> for Step {
    type Error = String;

    fn try_from(mut raw: RawStep) -> Result<Self, String> {
        let each = raw.each.take().map(parse_each).transpose()?;
        let repeat = raw.repeat.take();
        let instruction = raw.instruction()?;
        match raw.unused_member() {
            Some(name) => Err(format!("`{name}` does not belong to this kind of step")),
            None => Ok(Self { each, repeat, instruction }),
        }
    }
}

impl RawStep {
    /// Takes the members that the instruction of this step needs.
    fn instruction(&mut self) -> Result<Instruction, String> {
        if let Some(line) = self.http.take() {
            return self.http(line).map(|http| Instruction::Http(Box::new(http)));
        }
        if self.call.is_some() || self.raw.is_some() {
            return self.call().map(|call| Instruction::Call(Box::new(call)));
        }
        if let Some(keep) = self.keep_credential.take() {
            let participant = self.participant.take().ok_or("`keep_credential` needs `as`")?;
            return Ok(Instruction::Keep {
                participant,
                keys: self.keys.take(),
                scope: self.scope(),
                keep,
            });
        }
        if let Some(true) = self.restart.take() {
            return Ok(Instruction::Restart);
        }
        if let Some(true) = self.elsewhere.take() {
            return Ok(Instruction::Elsewhere);
        }
        let instruction = None
            .or(self.clock.take().map(Instruction::Clock))
            .or(self.clock_step.take().map(Instruction::ClockStep))
            .or(self.storage.take().map(Instruction::Storage))
            .or(self.encodings.take().map(Instruction::Encodings))
            .or(self.logged.take().map(Instruction::Logged))
            .or(self.steps.take().map(Instruction::Steps));
        instruction.ok_or_else(|| "a step needs one of: call, raw, http, keep_credential, restart, elsewhere, clock, clock_step, storage, encodings, logged, steps".to_owned())
    }

    fn call(&mut self) -> Result<ToolCall, String> {
        let request = match (self.call.take(), self.raw.take()) {
            (Some(request), None) => Body::Json(Value::Object(request)),
            (None, Some(raw)) => Body::Raw(raw),
            _ => return Err("a step has either `call` or `raw`".to_owned()),
        };
        Ok(ToolCall {
            participant: self.participant.take().ok_or("`call` and `raw` need `as`")?,
            keys: self.new_credentials_keys()?,
            scope: self.scope(),
            credential: self.credential.take(),
            request,
            expectation: self
                .expectation()?
                .ok_or("`call` and `raw` need one of: expect, expect_partial, bytes, error")?,
            save: self.save.take().unwrap_or_default(),
            save_text: self.save_text.take(),
        })
    }

    fn http(&mut self, line: String) -> Result<HttpCall, String> {
        Ok(HttpCall {
            line,
            keys: match self.participant {
                Some(_) => self.new_credentials_keys()?,
                None => None,
            },
            credential: match self.participant {
                Some(_) => self.credential.take(),
                None => None,
            },
            participant: self.participant.take(),
            scope: self.scope(),
            headers: self.headers.take().unwrap_or_default(),
            body: match (self.body.take(), self.raw.take()) {
                (None, raw) => raw.map(Body::Raw),
                (Some(json), None) => Some(Body::Json(json)),
                (Some(_), Some(_)) => return Err("a step has either `body` or `raw`".to_owned()),
            },
            status: self.status.take().ok_or("`http` needs `status`")?,
            response_headers: self.response_headers.take().unwrap_or_default(),
            expectation: self.expectation()?,
            save: self.save.take().unwrap_or_default(),
            save_text: self.save_text.take(),
        })
    }

    /// Takes the key patterns of the credential that this step issues.
    fn new_credentials_keys(&mut self) -> Result<Option<Value>, String> {
        let keys = self.keys.take();
        if keys.is_some() && self.credential.is_some() {
            return Err("`keys` belongs to the step that keeps the credential".to_owned());
        }
        Ok(keys)
    }

    /// Takes the scope of this step: the project if it names one, otherwise the session.
    fn scope(&mut self) -> ScopeName {
        match self.project.take() {
            Some(id) => ScopeName { kind: ScopeKind::Project, id },
            None => ScopeName {
                kind: ScopeKind::Session,
                id: self.session.take().unwrap_or_else(|| MAIN.to_owned()),
            },
        }
    }

    fn expectation(&mut self) -> Result<Option<Expectation>, String> {
        let error = self.error.take().map(|mut members| {
            let before =
                members.remove("before").as_ref().and_then(Value::as_str).map(str::to_owned);
            Expectation::Error { error: Value::Object(members), before }
        });
        let mut all = [
            self.expect.take().map(Expectation::Exact),
            self.expect_partial.take().map(Expectation::Partial),
            self.bytes.take().map(Expectation::Bytes),
            error,
        ]
        .into_iter()
        .flatten();
        match (all.next(), all.next()) {
            (first, None) => Ok(first),
            _ => Err("a step has one of: expect, expect_partial, bytes, error".to_owned()),
        }
    }

    /// Returns the name of a remaining member.
    fn unused_member(&self) -> Option<&'static str> {
        let members = [
            ("steps", self.steps.is_some()),
            ("restart", self.restart.is_some()),
            ("elsewhere", self.elsewhere.is_some()),
            ("clock", self.clock.is_some()),
            ("clock_step", self.clock_step.is_some()),
            ("storage", self.storage.is_some()),
            ("encodings", self.encodings.is_some()),
            ("logged", self.logged.is_some()),
            ("keep_credential", self.keep_credential.is_some()),
            ("call", self.call.is_some()),
            ("raw", self.raw.is_some()),
            ("as", self.participant.is_some()),
            ("keys", self.keys.is_some()),
            ("session", self.session.is_some()),
            ("project", self.project.is_some()),
            ("credential", self.credential.is_some()),
            ("headers", self.headers.is_some()),
            ("body", self.body.is_some()),
            ("status", self.status.is_some()),
            ("response_headers", self.response_headers.is_some()),
            ("expect", self.expect.is_some()),
            ("expect_partial", self.expect_partial.is_some()),
            ("bytes", self.bytes.is_some()),
            ("error", self.error.is_some()),
            ("save", self.save.is_some()),
            ("save_text", self.save_text.is_some()),
        ];
        members.into_iter().find(|(_, is_set)| *is_set).map(|(name, _)| name)
    }
}

/// Parses an `each`: one variable, and its values or the variable that holds them.
fn parse_each(each: Map<String, Value>) -> Result<(String, Value), String> {
    let is_list = |it: &Value| it.is_array() || it.as_str().is_some_and(|it| it.starts_with('$'));
    let mut members = each.into_iter();
    match (members.next(), members.next()) {
        (Some((name, values)), None) if is_list(&values) => Ok((name, values)),
        _ => Err("`each` is one variable with a list of values".to_owned()),
    }
}
