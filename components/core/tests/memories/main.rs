//! Memories of a project (spec 19).

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test"
)]

mod adding;
mod changing;
mod damaged;
mod feed;
mod junk;
mod lifecycle;
mod maintaining;
mod marking;
mod paging;
#[path = "../support/project.rs"]
mod project;
mod random;
mod ranking;
mod redacting;
mod refused;
mod rehydrating;
mod requests;
mod searching;
mod summarizing;
#[path = "../support/mod.rs"]
mod support;
mod telling;

use std::collections::BTreeSet;

use shared_context_core::{
    Code, Command, Error, MemoriesCommand, MemoriesReply, Outcome, ProjectCommand, ProjectConfig,
    Reply, RequestId, check_project_rows,
    item::Authority,
    memories::{
        Added, Content, FoundMemories, Kind, Maintained, Mark, MemoryId, MemoryRead, MemoryRef,
        MemoryWarningCode, NewMemory, RehydrateMemories, Rehydrated, SearchMemories, Severity,
        UpdateMemory, Value,
    },
    reply::ProjectInfo,
    time::Timestamp,
    tokens::Tokens,
};
use support::TestHost;

const ORCHESTRATOR: &str = "orchestrator";
const AGENT: &str = "subagent:a";
const OTHER: &str = "subagent:b";
const DAY: u64 = 24 * 60 * 60 * 1_000;
/// The afternoon of 20 February 2026.
const START: u64 = 1_771_597_800_000;

/// Returns a host with a project.
fn project() -> TestHost {
    project_of(ProjectConfig::default())
}

fn project_of(config: ProjectConfig) -> TestHost {
    let host = TestHost::default();
    host.now.set(START);
    done(&host, "admin", &Command::Project(ProjectCommand::Create(config)));
    host
}

fn done(host: &TestHost, who: &str, command: &Command) -> Outcome {
    host.ask_project(who, command).unwrap()
}

fn command(it: MemoriesCommand) -> Command {
    Command::Project(ProjectCommand::Memories(it))
}

/// Returns `it` with a request id.
fn named(id: &str, it: MemoriesCommand) -> Command {
    let request_id = RequestId::parse(id).unwrap();
    Command::Named { request_id, command: Box::new(command(it)) }
}

fn ask(host: &TestHost, who: &str, it: MemoriesCommand) -> MemoriesReply {
    memories(done(host, who, &command(it)))
}

fn memories(outcome: Outcome) -> MemoriesReply {
    match outcome.reply {
        Reply::Memories(it) => it,
        other => panic!("{other:?}"),
    }
}

fn refused(host: &TestHost, who: &str, it: MemoriesCommand) -> Code {
    let before = host.project_rows("");
    let error = host.ask_project(who, &command(it)).unwrap_err();
    assert_eq!(host.project_rows(""), before, "after an error nothing has changed");
    error.code()
}

fn malformed(it: Result<impl std::fmt::Debug, Error>) -> String {
    let error = it.unwrap_err();
    assert_eq!(error.code(), Code::MalformedRequest);
    error.to_string()
}

fn info(host: &TestHost) -> ProjectInfo {
    let reply = done(host, "admin", &Command::Project(ProjectCommand::Show)).reply;
    let Reply::Project(it) = reply else { panic!("{reply:?}") };
    it
}

/// Asserts that the totals of the project are those of its rows, and all that is derived from memories
/// is what they give.
fn check_totals(host: &TestHost) {
    let (it, rows, versions) = (info(host), host.project_rows("m/"), host.project_rows("v/"));
    assert_eq!(usize::try_from(it.memories), Ok(rows.len()));
    let bytes: usize = rows.iter().chain(&versions).map(|it| it.1.len()).sum();
    assert_eq!(usize::try_from(it.bytes), Ok(bytes), "the bytes of memories and their versions");
    check_project_rows(&it.project, &host.project_rows("")).unwrap();
}

fn text(it: &str) -> Value {
    Value::Text(it.to_owned())
}

fn members(given: &[(&str, Value)]) -> Vec<(String, Value)> {
    given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn memory(kind: Kind, title: &str, given: &[(&str, Value)]) -> NewMemory {
    NewMemory {
        title: title.to_owned(),
        content: Content::new(kind, members(given)).unwrap(),
        tags: Vec::new(),
        importance: 5,
        status: None,
        authority: Authority::User,
        at: None,
        expires_at: None,
        parent: None,
        supersedes: Vec::new(),
        source: None,
    }
}

fn learning(title: &str, lesson: &str) -> NewMemory {
    memory(Kind::Learning, title, &[("lesson", text(lesson))])
}

fn decision(title: &str, decision: &str) -> NewMemory {
    memory(Kind::Decision, title, &[("decision", text(decision))])
}

fn issue(title: &str, severity: Severity) -> NewMemory {
    let description = text(&format!("{title} does not work"));
    let severity = text(severity.as_str());
    memory(Kind::Issue, title, &[("description", description), ("severity", severity)])
}

fn state(title: &str, percent: u64) -> NewMemory {
    let task = ("task_description", text(title));
    memory(Kind::State, title, &[task, ("completion_percentage", Value::Number(percent))])
}

fn important(importance: u8, it: NewMemory) -> NewMemory {
    NewMemory { importance, ..it }
}

fn tagged(tags: &[&str], it: NewMemory) -> NewMemory {
    NewMemory { tags: tags.iter().map(|it| (*it).to_owned()).collect(), ..it }
}

fn add_all(host: &TestHost, who: &str, new: Vec<NewMemory>) -> Vec<Added> {
    let new = new.into_iter().map(|it| it.checked().unwrap()).collect();
    match ask(host, who, MemoriesCommand::Add(new)) {
        MemoriesReply::Added(it) => it,
        other => panic!("{other:?}"),
    }
}

fn add(host: &TestHost, who: &str, new: NewMemory) -> Added {
    add_all(host, who, vec![new]).remove(0)
}

fn codes(it: &Added) -> Vec<MemoryWarningCode> {
    it.warnings.iter().map(|it| it.code).collect()
}

fn id(it: MemoryId) -> MemoryRef {
    MemoryRef::Id(it)
}

fn read(host: &TestHost, who: &str, it: MemoryId) -> MemoryRead {
    match ask(host, who, MemoriesCommand::Read(vec![id(it)])) {
        MemoriesReply::Read(mut it) => it.remove(0),
        other => panic!("{other:?}"),
    }
}

fn update(it: MemoryId) -> UpdateMemory {
    UpdateMemory {
        id: id(it),
        if_version: None,
        title: None,
        content: Vec::new(),
        tags: None,
        importance: None,
        status: None,
        expires_at: None,
    }
}

fn change(it: UpdateMemory) -> MemoriesCommand {
    MemoriesCommand::Update(Box::new(it))
}

fn mark(ids: &[MemoryId], mark: Mark) -> MemoriesCommand {
    MemoriesCommand::Mark { ids: ids.iter().map(|it| id(*it)).collect(), mark }
}

fn supersede(old: MemoryId, by: MemoryId) -> MemoriesCommand {
    MemoriesCommand::Supersede { id: id(old), by: id(by) }
}

fn search() -> SearchMemories {
    SearchMemories {
        query: None,
        kind: None,
        tags: Vec::new(),
        importance_min: None,
        after: None,
        before: None,
        status: None,
        is_archived: false,
        session: None,
        participant: None,
        sort: None,
        limit: 100,
        cursor: None,
    }
}

fn words(query: &str) -> SearchMemories {
    SearchMemories { query: Some(query.to_owned()), ..search() }
}

fn find(host: &TestHost, it: SearchMemories) -> FoundMemories {
    it.check().unwrap();
    match ask(host, ORCHESTRATOR, MemoriesCommand::Search(Box::new(it))) {
        MemoriesReply::Found(it) => it,
        other => panic!("{other:?}"),
    }
}

/// Returns the titles of what a search finds.
fn titles(host: &TestHost, it: SearchMemories) -> Vec<String> {
    find(host, it).found.into_iter().map(|it| it.memory.title).collect()
}

fn maintain(host: &TestHost, is_dry_run: bool) -> Maintained {
    match ask(host, ORCHESTRATOR, MemoriesCommand::Maintain { is_dry_run }) {
        MemoriesReply::Maintained(it) => it,
        other => panic!("{other:?}"),
    }
}

fn rehydration(budget: u32, task: Option<&str>) -> RehydrateMemories {
    let task = task.map(str::to_owned);
    RehydrateMemories { task, budget: Tokens(budget), with_unverified: false }
}

fn rehydrate(host: &TestHost, who: &str, it: RehydrateMemories) -> Rehydrated {
    match ask(host, who, MemoriesCommand::Rehydrate(it)) {
        MemoriesReply::Rehydrated(it) => *it,
        other => panic!("{other:?}"),
    }
}

fn later(host: &TestHost, ms: u64) {
    host.now.set(host.now.get() + ms);
}

#[expect(clippy::unnecessary_wraps, reason = "as a memory has it")]
fn at(ms: u64) -> Option<Timestamp> {
    Some(Timestamp(ms))
}

fn set<T: Ord>(all: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    all.into_iter().collect()
}
