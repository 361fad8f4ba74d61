//! Tests of the store's rules: rare cases that the model's scripts seldom reach, and
//! cases it cannot express, such as invalid documents.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod access;
mod documents;
mod envelopes;
mod expiry;
mod feed;
mod history;
mod limited;
mod packet_access;
mod packets;
mod redaction;
mod retries;
mod snapshots;
#[path = "../support/mod.rs"]
mod support;
mod tokenizer;
mod update;

use shared_context_core::{
    Code, Command, Condition, Config, Delete, Key, Label, Line, Outcome, Reply, Write,
    WriteOptions,
    audit::Subject,
    pattern::{ParticipantPattern, Participants},
    port::Revision,
    portable::Portable,
    store::{
        access::AccessChange,
        expiry::{Expiry, Ttl},
        snapshot::Restored,
    },
};
use support::TestHost;

/// The participant with the most permissions.
const ORCHESTRATOR: &str = "orchestrator";

/// Returns a host with a session.
fn session(config: Config) -> TestHost {
    let host = TestHost::default();
    host.now.set(1_000_000);
    ask(&host, "admin", &Command::CreateSession(Box::new(config)));
    host
}

fn ask(host: &TestHost, who: &str, command: &Command) -> Outcome {
    host.ask(who, command).unwrap()
}

fn error_code(host: &TestHost, who: &str, command: &Command) -> Code {
    host.ask(who, command).unwrap_err().code()
}

fn key(text: &str) -> Key {
    Key::parse(text).unwrap()
}

fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

fn line(text: &str) -> Line {
    Line::parse("line", text).unwrap()
}

fn list(patterns: &[&str]) -> Participants {
    let patterns = patterns.iter().map(|it| ParticipantPattern::parse(it).unwrap());
    Participants::new(patterns.collect()).unwrap()
}

fn readers(patterns: &[&str]) -> AccessChange {
    AccessChange { readable_by: Some(list(patterns)), ..AccessChange::default() }
}

fn ttl(seconds: u64) -> WriteOptions {
    let expiry = Some(Expiry::After(Ttl::parse("ttl", seconds).unwrap()));
    WriteOptions { expiry, ..WriteOptions::default() }
}

fn a_write(key: &str, value: &str, options: WriteOptions) -> Command {
    Command::Write(Write { options, ..Write::new(key, value).unwrap() })
}

fn a_delete(key: &str) -> Command {
    let key = self::key(key);
    Command::Delete(Delete { key, condition: Condition::default(), request_id: None })
}

fn write(host: &TestHost, key: &str, value: &str) -> Revision {
    write_with(host, key, value, WriteOptions::default())
}

fn write_with(host: &TestHost, key: &str, value: &str, options: WriteOptions) -> Revision {
    ask(host, ORCHESTRATOR, &a_write(key, value, options)).revision
}

fn delete(host: &TestHost, key: &str) {
    ask(host, ORCHESTRATOR, &a_delete(key));
}

fn take_snapshot(host: &TestHost, text: &str) {
    ask(host, ORCHESTRATOR, &Command::TakeSnapshot { label: label(text), note: None });
}

fn delete_snapshot(host: &TestHost, text: &str) {
    ask(host, ORCHESTRATOR, &Command::DeleteSnapshot(label(text)));
}

fn restore(host: &TestHost, text: &str) -> Restored {
    match ask(host, ORCHESTRATOR, &Command::RestoreSnapshot(label(text))).reply {
        Reply::Restored(it) => it,
        other => panic!("{other:?}"),
    }
}

fn set_readers(host: &TestHost, key: &str, patterns: &[&str]) {
    let change = readers(patterns);
    ask(host, ORCHESTRATOR, &Command::SetAccess { key: self::key(key), change });
}

/// Returns the value of an entry, if it is visible to `who`.
fn read(host: &TestHost, who: &str, key: &str) -> Option<String> {
    let command = Command::Read { key: self::key(key), if_changed_since: None };
    match host.ask(who, &command).map(|it| it.reply) {
        Ok(Reply::Entry(it)) => Some(it.value),
        Err(err) if err.code() == Code::KeyNotFound => None,
        other => panic!("{other:?}"),
    }
}

/// Returns the keys that are visible to `who`.
fn keys(host: &TestHost, who: &str) -> Vec<String> {
    let command = Command::ListKeys { prefix: None, if_changed_since: None };
    match ask(host, who, &command).reply {
        Reply::Listing(it) => it.entries.iter().map(|it| it.entry.key.to_string()).collect(),
        other => panic!("{other:?}"),
    }
}

/// Returns the values of earlier versions that are visible to `who`, oldest first.
fn past(host: &TestHost, who: &str, key: &str) -> Vec<String> {
    let command = Command::ReadHistory { key: self::key(key), versions: Vec::new() };
    match host.ask(who, &command).map(|it| it.reply) {
        Ok(Reply::History(it)) => it.past.into_iter().map(|it| it.value).collect(),
        Err(err) if err.code() == Code::KeyNotFound => Vec::new(),
        other => panic!("{other:?}"),
    }
}

/// Returns the keys and values of a snapshot that are visible to `who`.
fn snapshot(host: &TestHost, who: &str, text: &str) -> Vec<(String, String)> {
    match ask(host, who, &Command::ReadSnapshot { label: label(text), key: None }).reply {
        Reply::SnapshotRead(it) => {
            it.entries.into_iter().map(|it| (it.shown.entry.key.to_string(), it.value)).collect()
        }
        other => panic!("{other:?}"),
    }
}

/// Returns the feed that `who` sees: actions, with the key or the label.
fn feed(host: &TestHost, who: &str, since: Option<Revision>) -> Vec<String> {
    match ask(host, who, &Command::Changes { since, limit: 1_000, keys: None, except_own: false })
        .reply
    {
        Reply::Changes(it) => it
            .changes
            .iter()
            .map(|it| {
                let key = it.entry.as_ref().map(|it| it.key.as_str());
                let label = it.label.as_ref().map(Subject::as_str);
                format!("{} {}", it.action, key.or(label).unwrap_or_default())
            })
            .collect(),
        other => panic!("{other:?}"),
    }
}

fn export(host: &TestHost) -> Box<Portable> {
    match ask(host, "admin", &Command::Export).reply {
        Reply::Portable(it) => it,
        other => panic!("{other:?}"),
    }
}

/// Returns the names of the rows of values.
fn values(host: &TestHost) -> Vec<String> {
    host.rows("v/").into_iter().map(|(row, _)| row).collect()
}
