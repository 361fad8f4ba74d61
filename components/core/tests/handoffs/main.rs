//! Handoffs of a project, its system prompt, and the trace of a decision (spec 21).

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod emergency;
mod package;
#[path = "../support/project.rs"]
mod project;
mod prompts;
mod refused;
mod sections;
mod settling;
#[path = "../support/mod.rs"]
mod support;
mod tracing;

use serde_json::Value;
use shared_context_core::{
    Code, Command, HandoffsCommand, HandoffsReply, MemoriesCommand, MemoriesReply, Outcome,
    Participant, ProjectCommand, ProjectConfig, Reply, RequestId,
    handoffs::{
        Handoff, HandoffId, HandoffKind, HandoffRead, ListHandoffs, OFFER_SECONDS_DEFAULT,
        OfferHandoff, Party, PromptRequest,
    },
    item::Authority,
    key::Line,
    memories::{Added, Content, Kind, MemoryRef, NewMemory, Severity, Value as Given},
    scope::SessionId,
    tokens::Tokens,
};
use support::TestHost;

const ORCHESTRATOR: &str = "orchestrator";
const AGENT: &str = "subagent:a";
const OTHER: &str = "subagent:b";
const THIRD: &str = "subagent:c";
/// The afternoon of 20 February 2026.
const START: u64 = 1_771_597_800_000;

/// Returns a host with a project.
fn project() -> TestHost {
    let host = TestHost::default();
    host.now.set(START);
    let create = ProjectCommand::Create(ProjectConfig::default());
    host.ask_project("admin", &Command::Project(create)).unwrap();
    host
}

fn command(it: HandoffsCommand) -> Command {
    Command::Project(ProjectCommand::Handoffs(it))
}

fn named(id: &str, it: HandoffsCommand) -> Command {
    Command::Named { request_id: RequestId::parse(id).unwrap(), command: Box::new(command(it)) }
}

fn party(who: &str) -> Party {
    let (participant, session) = match who.split_once(" in ") {
        Some((participant, session)) => (participant, SessionId::new(session)),
        None => (who, None),
    };
    Party { participant: Participant::parse(participant).unwrap(), session }
}

/// Returns a short offer to `to`.
fn offer(kind: HandoffKind, to: &str) -> OfferHandoff {
    OfferHandoff {
        from: None,
        to: party(to),
        kind,
        reason: kind.trigger(),
        summary: "Login works; refunds are next.".to_owned(),
        task: None,
        sections: Vec::new(),
        required_skills: Vec::new(),
        capabilities: Vec::new(),
        texts: vec![Vec::new(); 10],
        packet: None,
        items: Vec::new(),
        budget: kind.budget().1,
        seconds: OFFER_SECONDS_DEFAULT,
    }
}

fn complete() -> OfferHandoff {
    offer(HandoffKind::Complete, OTHER)
}

fn reply(outcome: Outcome) -> HandoffsReply {
    match outcome.reply {
        Reply::Handoffs(it) => it,
        other => panic!("{other:?}"),
    }
}

fn ask(host: &TestHost, who: &str, it: HandoffsCommand) -> HandoffsReply {
    reply(host.ask_project(who, &command(it)).unwrap())
}

fn handoff_of(it: HandoffsReply) -> HandoffRead {
    match it {
        HandoffsReply::Handoff(it) => *it,
        other => panic!("{other:?}"),
    }
}

fn make(host: &TestHost, who: &str, it: OfferHandoff) -> HandoffRead {
    it.check().unwrap();
    handoff_of(ask(host, who, HandoffsCommand::Offer(Box::new(it))))
}

fn accept(host: &TestHost, who: &str, id: HandoffId) -> HandoffRead {
    handoff_of(ask(host, who, HandoffsCommand::Accept(id)))
}

fn decline(id: HandoffId) -> HandoffsCommand {
    HandoffsCommand::Decline { id, reason: Line::parse("reason", "no time").unwrap() }
}

fn read(host: &TestHost, who: &str, id: HandoffId) -> HandoffRead {
    handoff_of(ask(host, who, HandoffsCommand::Read(id)))
}

fn document(it: &HandoffRead) -> Value {
    serde_json::from_str(it.package.as_deref().unwrap()).unwrap()
}

fn list(host: &TestHost, who: &str) -> Vec<Handoff> {
    match ask(host, who, HandoffsCommand::List(ListHandoffs::default())) {
        HandoffsReply::Listed(it) => it,
        other => panic!("{other:?}"),
    }
}

/// Returns the code of a rejection, which changed nothing.
fn refused(host: &TestHost, who: &str, it: HandoffsCommand) -> Code {
    let before = host.project_rows("");
    let error = host.ask_project(who, &command(it)).unwrap_err();
    assert_eq!(host.project_rows(""), before, "after an error nothing has changed");
    error.code()
}

fn later(host: &TestHost, seconds: u64) {
    host.now.set(host.now.get() + seconds * 1_000);
}

fn memory(kind: Kind, title: &str, given: &[(&str, Given)]) -> NewMemory {
    let members = given.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    NewMemory {
        title: title.to_owned(),
        content: Content::new(kind, members.collect()).unwrap(),
        tags: Vec::new(),
        importance: 8,
        status: None,
        authority: Authority::User,
        at: None,
        expires_at: None,
        parent: None,
        supersedes: Vec::new(),
        source: None,
    }
}

fn text(it: &str) -> Given {
    Given::Text(it.to_owned())
}

fn decision(title: &str) -> NewMemory {
    memory(Kind::Decision, title, &[("decision", text(title))])
}

fn issue(title: &str, severity: Severity) -> NewMemory {
    let given = [("description", text(title)), ("severity", text(severity.as_str()))];
    memory(Kind::Issue, title, &given)
}

fn state(title: &str) -> NewMemory {
    let list = |it: &str| Given::Texts(vec![it.to_owned()]);
    let given = [
        ("task_description", text(title)),
        ("completion_percentage", Given::Number(40)),
        ("substeps_completed", list("login")),
        ("substeps_remaining", list("refunds")),
        ("blockers", list("the PCI review")),
        ("next_actions", list("call the bank")),
    ];
    memory(Kind::State, title, &given)
}

fn add(host: &TestHost, who: &str, new: NewMemory) -> Added {
    let add = MemoriesCommand::Add(vec![new.checked().unwrap()]);
    let add = Command::Project(ProjectCommand::Memories(add));
    match host.ask_project(who, &add).unwrap().reply {
        Reply::Memories(MemoriesReply::Added(mut it)) => it.remove(0),
        other => panic!("{other:?}"),
    }
}

fn prompt(budget: u32) -> PromptRequest {
    PromptRequest {
        agent: None,
        task: None,
        criteria: None,
        focus: Vec::new(),
        budget: Tokens(budget),
    }
}

fn by_id(it: &Added) -> MemoryRef {
    MemoryRef::Id(it.id)
}
