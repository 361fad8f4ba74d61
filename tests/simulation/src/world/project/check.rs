//! Checks the project's rows after each commit, and the answers to its requests.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use shared_context_codec::{self as codec, Caller, Failure, Reply};
use shared_context_core::{
    Code, ProjectId, check_project_rows,
    port::{NoTokenizer, Ports, Revision, Row},
};

use super::{BUCKET, ProjectCall, ProjectState, Quiet, team::Team};
use crate::{fixtures::VALUE_MARKER, world::World};

/// Number of attempts before the core gives a request up.
const ATTEMPTS_MAX: u32 = 16;

impl World {
    /// Checks a commit: it was decided on the current rows, and all rows fit together.
    pub(super) fn check_project_commit(&self, call: &ProjectCall<'_>, revision: Revision) {
        self.counts.borrow_mut().commits += 1;
        let (rows, events) = (self.project_rows(), self.project_events(revision));
        let mut project = self.project.borrow_mut();
        let result = if call.opened.get() != project.revision || revision.0 != project.revision + 1
        {
            let (opened, now) = (call.opened.get(), project.revision);
            Err(format!("decided at {opened}, the project is at {now}, committed as {revision}"))
        } else {
            project.committed(call, &rows, &events)
        };
        project.revision = revision.0;
        drop(project);
        if let Err(what) = result {
            self.fail("project", format!("{}: {what}", call.call));
        }
    }

    /// Checks the answer to a request.
    pub(super) fn check_project_answer(
        &self,
        call: &ProjectCall<'_>,
        answer: &Result<Reply, Failure>,
    ) {
        let result = match answer {
            Err(failure) => Self::check_project_refusal(call, failure).and_then(|()| {
                let project = self.project.borrow();
                if project.is_current(call) {
                    project.team.refused(call, &failure.code)
                } else {
                    Ok(())
                }
            }),
            Ok(reply) => {
                let body = serde_json::from_slice(&reply.body).unwrap_or_default();
                let mut project = self.project.borrow_mut();
                let is_current = project.is_current(call);
                let result = project.answered(call, &body);
                result.and_then(|()| project.team.answered(call, &body, is_current))
            }
        };
        if let Err(what) = result {
            self.fail("project", format!("{} was answered {answer:?}: {what}", call.call));
        }
    }

    /// Returns the events of a commit, from the change feed.
    fn project_events(&self, revision: Revision) -> Vec<Value> {
        let since = revision.0.saturating_sub(1);
        let call = json!({"action": "project_changes", "since": since, "limit": 1}).to_string();
        let (kv, quiet) = (self.kv.borrow(), Quiet(self.now()));
        let ports = Ports { kv: &*kv, clock: &quiet, log: &quiet, tokenizer: &NoTokenizer };
        let page = codec::invoke(&ports, BUCKET, &Caller::trusted("admin"), call.as_bytes());
        // A project that was deleted has none.
        let body = page.ok().and_then(|it| serde_json::from_slice::<Value>(&it.body).ok());
        body.and_then(|it| it["changes"].as_array().cloned()).unwrap_or_default()
    }

    fn check_project_refusal(call: &ProjectCall<'_>, failure: &Failure) -> Result<(), String> {
        let text = String::from_utf8_lossy(&failure.to_json()).into_owned();
        if text.contains(VALUE_MARKER) {
            return Err("the refusal repeats a memory".to_owned());
        }
        let instance = &call.instance;
        let has_reason = instance.has_failed.get() || instance.overtaken.get() >= ATTEMPTS_MAX;
        if failure.code == Code::StorageUnavailable.as_str() {
            return if has_reason { Ok(()) } else { Err("nothing failed".to_owned()) };
        }
        match call.committed.get() {
            Some(true) if failure.code == Code::LeaseExpired.as_str() => {
                Team::told(call, &failure.message)
            }
            Some(_) => Err("it was committed".to_owned()),
            None if failure.code == Code::LeaseExpired.as_str() => {
                Err("it is returned again".to_owned())
            }
            None if failure.code == "INTERNAL" => Err("no rule says so".to_owned()),
            None => Ok(()),
        }
    }
}

impl ProjectState {
    /// Returns true if nothing else was committed since a request was decided.
    fn is_current(&self, call: &ProjectCall<'_>) -> bool {
        self.revision == call.opened.get() + u64::from(call.committed.get().is_some())
    }

    /// Notes a commit with these events, after which the project has these rows.
    fn committed(
        &mut self,
        call: &ProjectCall<'_>,
        rows: &[Row],
        events: &[Value],
    ) -> Result<(), String> {
        let project = ProjectId::new("team").ok_or("no id")?;
        check_project_rows(&project, rows).map_err(|it| format!("{it:?}"))?;
        if rows.is_empty() {
            *self = Self { given: std::mem::take(&mut self.given), ..Self::default() };
            return Ok(());
        }
        let events = events.iter().map(|it| (text(&it["action"]), text(&it["label"])));
        let events: Vec<(&str, &str)> = events.collect();
        self.team.committed(call, &events)?;
        // Replies are kept for the last 256 changes.
        let revision = self.revision + 1;
        self.requests.retain(|_, it| it.2 + 255 > revision);
        if let Some(key) = call.key.as_ref().filter(|_| call.lost.borrow().is_empty())
            && let Some((before, ..)) =
                self.requests.insert(key.clone(), (call.call.clone(), None, revision))
        {
            return Err(format!("it was committed before under its id, as {before}"));
        }
        for (_, id) in events.iter().filter(|it| it.0 == "add_memory") {
            let number = id.get(24..).and_then(|it| u64::from_str_radix(it, 16).ok());
            let number = number.ok_or_else(|| format!("{id:?} is no id"))?;
            if number <= self.last() || !self.given.insert((*id).to_owned()) {
                return Err(format!("{id} was given before"));
            }
            self.ids.insert(number, (*id).to_owned());
        }
        let mut now: Vec<(String, BTreeSet<String>)> = Vec::new();
        // Signatures and sketches are numbers, which were compared above.
        let has_texts = |it: &&Row| !it.0.starts_with("i/") && !it.0.starts_with("n/");
        let mut packages: Vec<(&str, BTreeSet<String>)> = Vec::new();
        for (name, row) in rows.iter().filter(has_texts) {
            let found = words(row);
            if let Some(section) = name.strip_prefix("o/v/").or_else(|| name.strip_prefix("o/")) {
                let marker = format!("§{}", section.split('/').next().unwrap_or_default());
                self.words.entry(marker.clone()).or_default().extend(found.clone());
                now.push((marker, found));
                continue;
            }
            if name.starts_with("yd/") {
                packages.push((name.as_str(), found));
                continue;
            }
            let number = name.strip_prefix("m/").or_else(|| name.strip_prefix("v/"));
            match number.and_then(|it| u64::from_str_radix(it, 16).ok()) {
                Some(number) => {
                    let id = self.ids.get(&number).ok_or_else(|| format!("{name} is not known"))?;
                    self.words.entry(id.clone()).or_default().extend(found.clone());
                    now.push((id.clone(), found));
                }
                None if found.is_empty() => {}
                None => return Err(format!("{name} has words of a memory")),
            }
        }
        for (action, id) in events {
            let (own, others): (Vec<_>, Vec<_>) = now.iter().partition(|it| it.0 == id);
            match action {
                "add_memory" | "update_memory" | "put_section" => {
                    for it in own.iter().flat_map(|it| &it.1) {
                        self.gone.remove(it);
                        self.redacted.remove(it);
                    }
                }
                "redact_memory" | "delete_memory" | "redact_section" | "delete_section" => {
                    let mut gone = self.words.remove(id).unwrap_or_default();
                    others.iter().flat_map(|it| &it.1).for_each(|it| drop(gone.take(it)));
                    if action.starts_with("redact") {
                        self.redacted.extend(gone.clone());
                    }
                    self.gone.extend(gone);
                    if action == "delete_memory" {
                        self.removed.insert(id.to_owned());
                    }
                }
                _ => {}
            }
        }
        if let Some((id, found)) = now.iter().find(|it| !it.1.is_disjoint(&self.gone)) {
            return Err(format!("{id} has {found:?}, which was redacted or removed"));
        }
        if let Some((name, found)) = packages.iter().find(|it| !it.1.is_disjoint(&self.redacted)) {
            return Err(format!("{name} has {found:?}, which was redacted"));
        }
        let stored: BTreeSet<&String> = now.iter().map(|it| &it.0).collect();
        match self.ids.values().find(|it| stored.contains(it) == self.removed.contains(*it)) {
            Some(id) => Err(format!("{id} is lost, or there although it was removed")),
            None => Ok(()),
        }
    }

    /// Checks a reply.
    fn answered(&mut self, call: &ProjectCall<'_>, body: &Value) -> Result<(), String> {
        if call.committed.get() == Some(false) {
            return Err("its commit failed".to_owned());
        }
        if call.call["action"] == "add_memories" {
            for it in body["memories"].as_array().into_iter().flatten() {
                let id = text(&it["memory_id"]);
                // The project may have been created anew since.
                if !self.given.contains(id) {
                    return Err(format!("{id} was acknowledged and is not there"));
                }
            }
        }
        if let Some(dry_run) = &*call.dry_run.borrow()
            && *dry_run != body["actions"]
        {
            return Err(format!("a dry run said {dry_run}"));
        }
        let Some(known) = call.key.as_ref().and_then(|it| self.requests.get_mut(it)) else {
            return Ok(());
        };
        match known {
            (before, ..) if *before != call.call => {
                Err(format!("the id of {before} was taken for another request"))
            }
            (_, Some(first), _) if !is_same(first, body, text(&call.call["action"])) => {
                Err(format!("the first reply was {first}"))
            }
            (_, first, _) => {
                first.get_or_insert_with(|| body.clone());
                Ok(())
            }
        }
    }
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns the words of memories in a row: the marker, digits and an `x`.
fn words(row: &[u8]) -> BTreeSet<String> {
    let row = String::from_utf8_lossy(row);
    let word = |it: &str| {
        let (digits, _) = it.split_once('x')?;
        let is_word = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
        is_word.then(|| [VALUE_MARKER, digits, "x"].concat())
    };
    row.split(VALUE_MARKER).skip(1).filter_map(word).collect()
}

/// Returns true if the reply to a retry is the first one. Some are of what is retried as it is then.
fn is_same(first: &Value, again: &Value, action: &str) -> bool {
    match action {
        "archive_project" | "coordinate" => true,
        "offer_handoff" | "take_over" | "accept_handoff" | "decline_handoff" | "redact_handoff" => {
            first["handoff"]["handoff_id"] == again["handoff"]["handoff_id"]
        }
        _ => first == again,
    }
}
