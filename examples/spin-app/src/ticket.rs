//! A ticket's session: what the agent reads and writes there, over the typed
//! interfaces of shared-context.
//!
//! Who calls is said here and nowhere else: shared-context believes the app.

use crate::{
    report::{self, Distilled},
    shared_context::core::{
        prompt, sessions,
        store::{self, BatchWrite, BatchWritten, WriteOptions},
        types::{Caller, Entry, Error},
    },
};

/// The keys the agent writes; the prompt of every session explains them.
const FINDINGS: &str = "findings_summary";
const OPEN_QUESTIONS: &str = "open_questions";

/// As often may reports on one ticket overtake each other before a client is told.
const ATTEMPTS: usize = 10;
/// The most entries one call reads.
const BATCH: usize = 100;

/// Creates, archives and deletes sessions; writes no entries.
fn admin() -> Caller {
    caller("admin", &[])
}

/// Sees all of a session, for the people of the ticket.
fn orchestrator() -> Caller {
    caller("orchestrator", &[])
}

/// Returns the agent. No other keys are there for it.
fn analysis() -> Caller {
    caller("subagent:analysis", &[FINDINGS, OPEN_QUESTIONS])
}

/// Without a credential: the app vouches for the caller.
fn caller(participant: &str, keys: &[&str]) -> Caller {
    let keys = keys.iter().map(ToString::to_string).collect();
    Caller { participant: participant.to_owned(), credential: None, keys }
}

/// Adds what a report says to the session of `ticket`, and opens the session when
/// there is none. `None` when all of it was known.
pub fn record(ticket: &str, report: &Distilled) -> Result<Option<BatchWritten>, Error> {
    for _ in 1..ATTEMPTS {
        match try_to_record(ticket, report) {
            Err(refusal) if refusal.code == "SESSION_NOT_FOUND" => open(ticket)?,
            // Another report was faster: merge with what it wrote.
            Err(refusal) if refusal.code == "VERSION_CONFLICT" => {}
            result => return result,
        }
    }
    try_to_record(ticket, report)
}

/// Reads what is known, and writes both keys in one step, or neither, if nobody
/// wrote to them in between.
fn try_to_record(ticket: &str, report: &Distilled) -> Result<Option<BatchWritten>, Error> {
    let keys = [FINDINGS, OPEN_QUESTIONS].map(str::to_owned);
    let known = read(ticket, &analysis(), &keys)?;
    let mut writes = Vec::new();
    for (key, lines) in keys.into_iter().zip([&report.findings, &report.open_questions]) {
        let entry = known.iter().find(|entry| entry.info.key == key);
        let old = entry.map_or("", |entry| &entry.value);
        if let Some(value) = report::merge(old, lines) {
            // Version 0: the key must not exist.
            let version = entry.map_or(0, |entry| entry.info.version);
            writes.push(BatchWrite { key, value, options: if_version(version) });
        }
    }
    if writes.is_empty() {
        return Ok(None);
    }
    store::write_batch(ticket, &analysis(), &writes, &[], None).map(Some)
}

fn if_version(version: u64) -> WriteOptions {
    WriteOptions {
        if_version: Some(version),
        if_revision: None,
        ttl_seconds: None,
        expires_at_ms: None,
        readable_by: None,
        writable_by: None,
        keeps_history: None,
    }
}

/// Creates the session with the default configuration, unless somebody else just
/// did.
fn open(ticket: &str) -> Result<(), Error> {
    match sessions::create(ticket, &admin(), None) {
        Err(refusal) if refusal.code != "SESSION_EXISTS" => Err(refusal),
        _ => Ok(()),
    }
}

/// Returns every entry of the session.
pub fn entries(ticket: &str) -> Result<Vec<Entry>, Error> {
    let caller = orchestrator();
    let listed = store::list_keys(ticket, &caller, None, None)?;
    let keys: Vec<String> =
        listed.into_iter().flat_map(|listing| listing.entries).map(|info| info.key).collect();
    let mut entries = Vec::new();
    for keys in keys.chunks(BATCH) {
        entries.extend(read(ticket, &caller, keys)?);
    }
    Ok(entries)
}

/// Returns those of `keys` that exist. Without a revision to compare with, the answer is
/// never "unchanged".
fn read(ticket: &str, caller: &Caller, keys: &[String]) -> Result<Vec<Entry>, Error> {
    let found = store::read_batch(ticket, caller, keys, None)?;
    Ok(found.map(|found| found.entries).unwrap_or_default())
}

/// Returns what belongs into the agent's system prompt while it works on `ticket`.
pub fn prompt(ticket: &str) -> Result<String, Error> {
    prompt::render(ticket, &analysis(), None, None).map(|rendered| rendered.text)
}
