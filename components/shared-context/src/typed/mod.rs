//! The typed exports, one file for each interface of `wit/`.
//!
//! Each converts its arguments into a command and extracts the result from the reply. Errors and
//! their precedence are those of the JSON tool.

mod changes;
mod compaction;
mod context;
mod handoffs;
mod history;
mod memories;
mod outline;
mod packets;
mod projects;
mod prompt;
mod rounds;
mod sessions;
mod snapshots;
mod store;

use shared_context_codec::parts::command_of;
use shared_context_core::{
    Command, Error, Outcome, Reply, ScopeKind,
    pattern::Participants,
    reply::{EntryRead, Shown},
};

use crate::{
    bindings::shared_context::core::types::{self, Answer, Caller},
    ports::{self, PORTS},
};

type Result<T, E = types::Error> = core::result::Result<T, E>;

/// Performs `command`; `pick` extracts the result from the reply.
fn perform<T>(
    session: &str,
    caller: Caller,
    command: Result<Command, Error>,
    pick: impl FnOnce(Outcome) -> Option<T>,
) -> Result<T> {
    let outcome = perform_on(ScopeKind::Session, session, caller, command)?;
    pick(outcome).ok_or_else(unexpected_reply)
}

/// Like [`perform`], but returns `None` if the reply is `Unchanged`.
fn perform_if_changed<T>(
    session: &str,
    caller: Caller,
    command: Result<Command, Error>,
    pick: impl FnOnce(Outcome) -> Option<T>,
) -> Result<Option<T>> {
    let outcome = perform_on(ScopeKind::Session, session, caller, command)?;
    if matches!(outcome.reply, Reply::Unchanged) {
        return Ok(None);
    }
    pick(outcome).map(Some).ok_or_else(unexpected_reply)
}

/// Performs `command`, and returns its reply as the JSON tool's.
fn perform_to_json(
    session: &str,
    caller: Caller,
    command: Result<Command, Error>,
) -> Result<Answer> {
    perform_on(ScopeKind::Session, session, caller, command).map(|it| answer(&it))
}

/// Performs `action` on a project, with the JSON object of its request, and returns its reply as the
/// JSON tool's.
fn perform_in_project(
    project: &str,
    caller: Caller,
    action: &str,
    request: &str,
) -> Result<Answer> {
    let command = command_of(action, request);
    perform_on(ScopeKind::Project, project, caller, command).map(|it| answer(&it))
}

/// Performs `command` on the scope of this `kind` and `id`.
fn perform_on(
    kind: ScopeKind,
    id: &str,
    caller: Caller,
    command: Result<Command, Error>,
) -> Result<Outcome> {
    let caller = ports::caller(caller);
    shared_context_codec::perform(&PORTS, kind, id, &caller, command).map_err(ports::error)
}

/// Returns the outcome as the JSON tool's reply.
fn answer(outcome: &Outcome) -> Answer {
    Answer { json: shared_context_codec::to_json(outcome), revision: outcome.revision.0 }
}

/// Builds the error for a reply of an unexpected kind, which is a bug of ours.
fn unexpected_reply() -> types::Error {
    ports::error(Error::malformed("the reply is of another kind"))
}

fn entry(EntryRead { shown, value }: EntryRead) -> types::Entry {
    types::Entry { info: entry_info(shown), value }
}

fn entry_info(Shown { entry, is_readable, is_read_only }: Shown) -> types::EntryInfo {
    types::EntryInfo {
        key: entry.key.as_str().to_owned(),
        written_by: entry.written_by.as_str().to_owned(),
        written_at_ms: entry.written_at.0,
        version: entry.version,
        value_tokens: entry.value_tokens.0,
        revision: entry.revision.0,
        expires_at_ms: entry.expires_at.map(|it| it.0),
        readable_by: patterns(&entry.access.readable_by),
        writable_by: patterns(&entry.access.writable_by),
        keeps_history: entry.keeps_history,
        is_readable,
        is_read_only,
    }
}

fn patterns(it: &Participants) -> Vec<String> {
    it.patterns().map(str::to_owned).collect()
}
