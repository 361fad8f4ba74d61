//! The outline of a project and its owners (spec 20).

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod checking;
mod indexing;
mod leasing;
#[path = "../support/project.rs"]
mod project;
mod random;
mod sections;
#[path = "../support/mod.rs"]
mod support;

use shared_context_core::{
    Code, Command, Error, OutlineCommand, OutlineReply, ProjectCommand, ProjectConfig, Reply,
    RequestId,
    outline::{Finding, Marker, NewSection, Owner},
    ownership::{Acquire, Held, Ownership, PutSection, ReadSections, SectionRead, SectionWritten},
};
use support::TestHost;

const ORCHESTRATOR: &str = "orchestrator in s1";
const AGENT: &str = "subagent:a in s1";
const OTHER: &str = "subagent:b in s1";
const START: u64 = 1_771_597_800_000;
const MINUTE: u64 = 60_000;

fn project() -> TestHost {
    let host = TestHost::default();
    host.now.set(START);
    let create = Command::Project(ProjectCommand::Create(ProjectConfig::default()));
    host.ask_project("admin", &create).unwrap();
    host
}

fn marker(text: &str) -> Marker {
    Marker::parse(text).unwrap()
}

fn owner(who: &str) -> Owner {
    Owner::of(&project::project_caller(who))
}

fn try_ask(host: &TestHost, who: &str, it: OutlineCommand) -> Result<OutlineReply, Error> {
    let command = Command::Project(ProjectCommand::Outline(it));
    match host.ask_project(who, &command)?.reply {
        Reply::Outline(it) => Ok(it),
        other => panic!("{other:?}"),
    }
}

fn ask(host: &TestHost, who: &str, it: OutlineCommand) -> OutlineReply {
    try_ask(host, who, it).unwrap()
}

fn named(id: &str, it: OutlineCommand) -> Command {
    let command = Box::new(Command::Project(ProjectCommand::Outline(it)));
    Command::Named { request_id: RequestId::parse(id).unwrap(), command }
}

/// Asserts that a command is rejected and changes nothing.
fn refused(host: &TestHost, who: &str, it: OutlineCommand) -> Error {
    let before = host.project_rows("");
    let error = try_ask(host, who, it).unwrap_err();
    assert_eq!(host.project_rows(""), before, "after an error nothing has changed");
    error
}

fn new(of: &str, title: &str, content: &str) -> NewSection {
    NewSection {
        marker: marker(of),
        title: Some(title.to_owned()),
        content: (!content.is_empty()).then(|| content.to_owned()),
        summary: None,
        status: None,
        progress: None,
        shortcuts: None,
        file: None,
        readers: None,
    }
}

fn put_of(section: NewSection) -> OutlineCommand {
    let section = section.checked().unwrap();
    OutlineCommand::Put(Box::new(PutSection { section, if_version: None, change: None }))
}

fn write(host: &TestHost, who: &str, section: NewSection) -> SectionWritten {
    match ask(host, who, put_of(section)) {
        OutlineReply::Written(it) => *it,
        other => panic!("{other:?}"),
    }
}

fn put(host: &TestHost, who: &str, of: &str, content: &str) -> SectionWritten {
    write(host, who, new(of, "A title", content))
}

fn read_with(host: &TestHost, who: &str, it: ReadSections) -> Vec<SectionRead> {
    match ask(host, who, OutlineCommand::Read(it)) {
        OutlineReply::Read { sections, .. } => sections,
        other => panic!("{other:?}"),
    }
}

fn read(host: &TestHost, who: &str, of: &str) -> SectionRead {
    let read = ReadSections { marker: marker(of), level: None, version: None };
    read_with(host, who, read).remove(0)
}

fn check(host: &TestHost) -> Vec<Finding> {
    match ask(host, ORCHESTRATOR, OutlineCommand::Check) {
        OutlineReply::Checked(it) => it,
        other => panic!("{other:?}"),
    }
}

fn acquire(of: &str, ttl_ms: u64) -> OutlineCommand {
    let kind = Ownership::Exclusive;
    OutlineCommand::Acquire(Acquire { marker: marker(of), kind, ttl_ms, reason: None })
}

fn held(reply: OutlineReply) -> Held {
    match reply {
        OutlineReply::Leased(it) => *it,
        other => panic!("{other:?}"),
    }
}

fn code(it: &Error) -> Code {
    it.code()
}

fn later(host: &TestHost, ms: u64) {
    host.now.set(host.now.get() + ms);
}

/// Returns a text of this many tokens.
fn words(tokens: usize) -> String {
    "word".repeat(tokens)
}
