//! Reads and writes a ticket's session over the typed interfaces of shared-context.
//!
//! Only this module names the caller of each call: shared-context trusts the app.

use crate::{
    report::{self, Summary},
    shared_context::core::{
        prompt, sessions,
        store::{self, BatchWrite, BatchWritten, WriteOptions},
        types::{Caller, Entry, Error},
    },
};

/// The keys the agent writes; the prompt of every session explains them.
const FINDINGS: &str = "findings_summary";
const OPEN_QUESTIONS: &str = "open_questions";

/// The number of attempts to store a report before a conflict is returned to the client.
const ATTEMPTS: usize = 10;
/// The maximum number of entries that one call reads.
const BATCH: usize = 100;

/// Returns the admin, who creates, archives and deletes sessions but writes no entries.
fn admin() -> Caller {
    caller("admin", &[])
}

/// Returns the orchestrator, who sees the whole session, for the people of the ticket.
fn orchestrator() -> Caller {
    caller("orchestrator", &[])
}

/// Returns the agent, which is limited to its two keys.
fn analysis() -> Caller {
    caller("subagent:analysis", &[FINDINGS, OPEN_QUESTIONS])
}

/// Returns a caller without a credential, because the app vouches for it.
fn caller(participant: &str, keys: &[&str]) -> Caller {
    let keys = keys.iter().map(ToString::to_string).collect();
    Caller { participant: participant.to_owned(), credential: None, keys, session: None }
}

/// Adds a report to the session of `ticket`, creating the session if necessary. Returns
/// `None` if the report has nothing new.
pub fn record(ticket: &str, report: &Summary) -> Result<Option<BatchWritten>, Error> {
    for _ in 1..ATTEMPTS {
        match try_to_record(ticket, report) {
            Err(error) if error.code == "SESSION_NOT_FOUND" => open(ticket)?,
            // Another report was written first: merge with it.
            Err(error) if error.code == "VERSION_CONFLICT" => {}
            result => return result,
        }
    }
    try_to_record(ticket, report)
}

/// Reads both entries and writes them atomically, on condition that they have not changed
/// in between.
fn try_to_record(ticket: &str, report: &Summary) -> Result<Option<BatchWritten>, Error> {
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

/// Creates the session with the default configuration, unless another request just did.
fn open(ticket: &str) -> Result<(), Error> {
    match sessions::create(ticket, &admin(), None) {
        Err(error) if error.code != "SESSION_EXISTS" => Err(error),
        _ => Ok(()),
    }
}

/// Returns all entries of the session.
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

/// Returns the existing entries among `keys`. Without a revision to compare with, the
/// answer is never "unchanged".
fn read(ticket: &str, caller: &Caller, keys: &[String]) -> Result<Vec<Entry>, Error> {
    let found = store::read_batch(ticket, caller, keys, None)?;
    Ok(found.map(|found| found.entries).unwrap_or_default())
}

/// Renders the part of the agent's system prompt for its work on `ticket`.
pub fn prompt(ticket: &str) -> Result<String, Error> {
    prompt::render(ticket, &analysis(), None, None).map(|rendered| rendered.text)
}
