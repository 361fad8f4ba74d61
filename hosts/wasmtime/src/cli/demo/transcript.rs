//! The transcript of a demonstration: every call is really made, printed when answered, and
//! recorded.
//!
//! The calls are in `cycle`, the formatting is in `lines`, and the acknowledged changes are
//! in `ledger`.
//!
//! # Invariant
//!
//! A claim is checked before it is printed. One that fails ends the demonstration with an
//! error.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use shared_context_codec::Failure;

use super::{
    ledger::Ledger,
    lines,
    process::{ServerProcess, check_interrupted},
};
use crate::cli::{
    client::{Bearer, Call, parse, rejection},
    output::{BOLD, GREEN, Output},
    problem::Problem,
    reply::{AuditPage, DeleteReply, Human, IssuedCredential, Listing, ReadReply, WriteReply},
};

/// A participant with its own credential.
#[derive(Debug, Clone)]
pub(super) struct Participant {
    pub(super) name: &'static str,
    /// Its number in the demonstration, which determines its colour.
    pub(super) nth: usize,
    bearer: Bearer,
}

/// A request of the JSON tool.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Request<'a> {
    pub(super) action: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<&'a str>,
}

impl<'a> Request<'a> {
    /// Creates a write without conditions.
    pub(super) fn write(key: &'a str, value: &'a str) -> Self {
        Self { action: "write", key: Some(key), value: Some(value) }
    }
}

/// A running demonstration.
#[derive(Debug)]
pub(super) struct Transcript {
    output: Output,
    session: &'static str,
    process: ServerProcess,
    began: Instant,
    /// The width of the column of names.
    names_width: usize,
    participants: usize,
    pub(super) ledger: Ledger,
    steps: Vec<Value>,
    claims: Vec<String>,
    restarts: u64,
}

impl Transcript {
    /// Starts a server and creates the session `session` on it. Also returns the
    /// orchestrator.
    pub(super) fn begin(
        output: Output,
        session: &'static str,
        config: &Value,
        names: &[&'static str],
    ) -> Result<(Self, Participant), Problem> {
        let process = ServerProcess::start()?;
        let names_width = names.iter().map(|it| it.len()).max().unwrap_or_default();
        let mut transcript = Self {
            output,
            session,
            process,
            began: Instant::now(),
            names_width,
            participants: 0,
            ledger: Ledger::default(),
            steps: Vec::new(),
            claims: Vec::new(),
            restarts: 0,
        };
        let (url, id) = (transcript.process.client.url().to_owned(), transcript.process.id());
        transcript.note(&format!("a server was started: {url}, process {id}"))?;
        let body = json!({"session_id": session, "config": config}).to_string();
        let call = transcript.process.client.post(&["v1", "sessions"], body);
        let issued: IssuedCredential = transcript.ask_admin(&call)?;
        transcript.note(&format!("the operator created the session {session}"))?;
        let orchestrator = transcript.enter("orchestrator", issued);
        Ok((transcript, orchestrator))
    }

    /// Starts a scene of the story.
    pub(super) fn scene(&mut self, title: &str) -> Result<(), Problem> {
        self.steps.push(json!({"scene": title}));
        self.output.text(&format!("\n{BOLD}{title}{BOLD:#}"))
    }

    /// Prints an event outside of the shared context.
    pub(super) fn note(&mut self, text: &str) -> Result<(), Problem> {
        self.steps.push(json!({"note": text}));
        self.output.text(&lines::note(self.output, text))
    }

    /// Launches the subagent `name` on behalf of `orchestrator`, with its own credential.
    pub(super) fn launch(
        &mut self,
        orchestrator: &Participant,
        name: &'static str,
    ) -> Result<Participant, Problem> {
        let body = json!({"participant": name}).to_string();
        let path = ["v1", "sessions", self.session, "credentials"];
        let call = self.process.client.post(&path, body);
        let body = self.process.client.send(&call, Some(&orchestrator.bearer))?.accepted()?;
        let issued: IssuedCredential = parse(&body, &self.process.client)?;
        self.note(&format!("{} launches {name} with a credential of its own", orchestrator.name))?;
        Ok(self.enter(name, issued))
    }

    fn enter(
        &mut self,
        name: &'static str,
        IssuedCredential { credential, .. }: IssuedCredential,
    ) -> Participant {
        let nth = self.participants;
        self.participants = nth.saturating_add(1);
        Participant { name, nth, bearer: Bearer::credential(credential) }
    }

    /// Makes a call that must succeed.
    fn done<T: DeserializeOwned>(
        &mut self,
        who: &Participant,
        request: Request<'_>,
    ) -> Result<T, Problem> {
        check_interrupted()?;
        let written = |error: serde_json::Error| Problem::check(error.to_string());
        let body = serde_json::to_vec(&request).map_err(written)?;
        self.output.text(&lines::request(self.output, self.names_width, who, &request))?;
        let path = ["v1", "sessions", self.session, "shared_context"];
        let call = self.process.client.post(&path, body);
        let answer = self.process.client.send(&call, Some(&who.bearer))?;
        if let Some(Failure { code, message, .. }) = rejection(&answer.body) {
            let (name, action) = (who.name, request.action);
            let message = format!("the {action} of {name} was refused as {code}: {message}");
            return Err(Problem::check(message));
        }
        let reply: Value = parse(&answer.body, &self.process.client)?;
        self.ledger.take(who.name, &request, &reply);
        self.output.text(&lines::reply(self.output, self.names_width, &request, &reply))?;
        let parsed = parse(&answer.body, &self.process.client);
        self.steps.push(json!({
            "participant": who.name, "request": request, "status": answer.status, "reply": reply,
        }));
        parsed
    }

    /// Lists the keys.
    pub(super) fn list(&mut self, who: &Participant) -> Result<Listing, Problem> {
        self.done(who, Request { action: "list_keys", ..Request::default() })
    }

    /// Reads an existing value.
    pub(super) fn read(&mut self, who: &Participant, key: &str) -> Result<ReadReply, Problem> {
        self.done(who, Request { action: "read", key: Some(key), ..Request::default() })
    }

    /// Writes a value within the limits.
    pub(super) fn write(
        &mut self,
        who: &Participant,
        key: &str,
        value: &str,
    ) -> Result<WriteReply, Problem> {
        self.done(who, Request::write(key, value))
    }

    /// Deletes an existing key.
    pub(super) fn delete(&mut self, who: &Participant, key: &str) -> Result<DeleteReply, Problem> {
        self.done(who, Request { action: "delete", key: Some(key), ..Request::default() })
    }

    /// Stops the server process and starts another one on the same data.
    pub(super) fn restart(&mut self) -> Result<(), Problem> {
        let id = self.process.id();
        let before = self.list_as_admin()?;
        let away = self.process.restart()?;
        self.restarts = self.restarts.saturating_add(1);
        self.note(&format!(
            "the server process {id} was stopped by SIGTERM; process {} took over its data {} ms \
             later",
            self.process.id(),
            away.as_millis(),
        ))?;
        let is_same = before == self.list_as_admin()?;
        self.claim("after the restart every key, version, writer and time is as before", is_same)
    }

    /// Prints a claim that `holds`.
    ///
    /// # Errors
    ///
    /// The claim does not hold.
    pub(super) fn claim(&mut self, text: &str, holds: bool) -> Result<(), Problem> {
        if !holds {
            return Err(Problem::check(format!("this does not hold: {text}"))
                .next("this is a fault of shared-context: report it with the transcript"));
        }
        self.steps.push(json!({"claim": text}));
        self.claims.push(text.to_owned());
        self.output.text(&lines::claim(self.output, text))
    }

    /// Checks the stored entries against the acknowledged changes, and that every
    /// acknowledged change is in the audit log exactly once.
    pub(super) fn check_ledger(&mut self) -> Result<Listing, Problem> {
        let listing = self.list_as_admin()?;
        let mut stored = BTreeMap::new();
        for entry in &listing.keys {
            let path = ["v1", "sessions", self.session, "entries", &entry.key];
            let ReadReply { entry, value } =
                self.ask_admin(&self.process.client.get(&path, &[]))?;
            stored.insert(entry.key, (entry.version, entry.written_by, value));
        }
        let text = "what is stored is what was acknowledged: every key, version, writer, value";
        self.claim(text, stored == self.ledger.entries)?;
        let sizes = listing.keys.iter().map(|it| it.value_size_tokens);
        let is_within = listing.total_tokens <= listing.max_tokens;
        let is_sum = sizes.sum::<u64>() == listing.total_tokens && is_within;
        self.claim("the store's total is the sum of its entries, and within its limit", is_sum)?;
        let path = ["v1", "sessions", self.session, "audit"];
        let query = [("limit", "1000".to_owned())];
        let audit: AuditPage = self.ask_admin(&self.process.client.get(&path, &query))?;
        let audited: Vec<u64> = audit.records.iter().map(|it| it.revision).collect();
        let is_whole = audited.iter().copied().eq(1..=listing.revision)
            && audited.iter().skip(1).eq(&self.ledger.revisions);
        self.claim("the audit log has every acknowledged change once, without gaps", is_whole)?;
        Ok(listing)
    }

    fn list_as_admin(&self) -> Result<Listing, Problem> {
        let path = ["v1", "sessions", self.session, "entries"];
        self.ask_admin(&self.process.client.get(&path, &[]))
    }

    /// Sends a call as the operator, which is not part of the story.
    fn ask_admin<T: DeserializeOwned>(&self, call: &Call) -> Result<T, Problem> {
        let client = &self.process.client;
        let body = client.send(call, Some(&self.process.admin))?.accepted()?;
        parse(&body, client)
    }

    /// Stops the server, removes its data and prints the summary, which includes `facts`.
    pub(super) fn end(mut self, listing: &Listing, facts: &[String]) -> Result<(), Problem> {
        let elapsed: Duration = self.began.elapsed();
        self.process.stop()?;
        let Self { output, ledger, claims, steps, restarts, .. } = self;
        let calls: u64 = ledger.calls.values().sum();
        let document = json!({
            "calls": calls, "participants": ledger.calls,
            "warnings": ledger.warnings, "restarts": restarts, "claims": claims, "facts": facts,
            "total_tokens": listing.total_tokens, "max_tokens": listing.max_tokens,
            "steps": steps,
        });
        output.answer(document.to_string().as_bytes(), || {
            let facts = facts.iter().map(|it| output.wrapped("  ", "    ", it) + "\n");
            Ok(format!(
                "\n{BOLD}What is left in the store{BOLD:#}\n\n{}\n{BOLD}Summary{BOLD:#}\n{}{}  \
                 {GREEN}✓{GREEN:#} {} claims were checked and hold; the server is stopped, its \
                 data removed\n",
                listing.human(output),
                ledger.human(output, restarts, elapsed),
                facts.collect::<String>(),
                claims.len(),
            ))
        })
    }
}
