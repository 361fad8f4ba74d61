//! A project that is moved keeps its outline, its coordination and its handoffs (spec 15.6).

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod paging;
#[path = "../support/project.rs"]
mod project;
mod random;
mod rejected;
#[path = "../support/mod.rs"]
mod support;

use shared_context_core::{
    Command, Error, HandoffsCommand, HandoffsReply, Line, MemoriesCommand, OutlineCommand,
    OutlineReply, Participant, ProjectCommand, ProjectConfig, ProjectId, Reply, SessionId,
    check_project_rows,
    handoffs::{
        HandoffId, HandoffKind, HandoffRead, HandoffState, OFFER_SECONDS_DEFAULT, OfferHandoff,
        Party,
    },
    item::Authority,
    memories::{Content, Kind, NewMemory, Value},
    outline::{FileReference, Marker, NewSection, Shortcut},
    ownership::{
        Acquire, Assignment, CoordinationChange, Ownership, PutSection, ReadSections, Resource,
    },
    portable::PortableProject,
    time::Timestamp,
};
use support::TestHost;

const ORCHESTRATOR: &str = "orchestrator in s1";
const AGENT: &str = "subagent:a in s1";
const OTHER: &str = "subagent:b in s2";
const START: u64 = 1_771_597_800_000;

fn project() -> TestHost {
    let host = TestHost::default();
    host.now.set(START);
    let create = ProjectCommand::Create(ProjectConfig::default());
    host.ask_project("admin", &Command::Project(create)).unwrap();
    host
}

fn try_ask(host: &TestHost, who: &str, it: ProjectCommand) -> Result<Reply, Error> {
    host.now.set(host.now.get() + 1_000);
    host.ask_project(who, &Command::Project(it)).map(|it| it.reply)
}

fn ask(host: &TestHost, who: &str, it: ProjectCommand) -> Reply {
    try_ask(host, who, it).unwrap()
}

fn outline(host: &TestHost, who: &str, it: OutlineCommand) -> OutlineReply {
    match ask(host, who, ProjectCommand::Outline(it)) {
        Reply::Outline(it) => it,
        other => panic!("{other:?}"),
    }
}

fn handoff(host: &TestHost, who: &str, it: HandoffsCommand) -> HandoffRead {
    match ask(host, who, ProjectCommand::Handoffs(it)) {
        Reply::Handoffs(HandoffsReply::Handoff(it)) => *it,
        other => panic!("{other:?}"),
    }
}

fn line(text: &str) -> Line {
    Line::parse("a test", text).unwrap()
}

fn marker(text: &str) -> Marker {
    Marker::parse(text).unwrap()
}

fn new(of: &str, content: &str) -> NewSection {
    NewSection {
        marker: marker(of),
        title: Some(format!("Of {of}")),
        content: Some(content.to_owned()),
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

fn put(host: &TestHost, who: &str, of: &str, content: &str) {
    outline(host, who, put_of(new(of, content)));
}

fn party(who: &str) -> Party {
    let (participant, session) = who.split_once(" in ").unwrap();
    Party {
        participant: Participant::parse(participant).unwrap(),
        session: SessionId::new(session),
    }
}

fn offer(kind: HandoffKind, to: &str, sections: &[&str]) -> HandoffsCommand {
    let mut texts = vec![Vec::new(); 10];
    texts[0] = vec!["login".to_owned(), "a \"quoted\" \u{e9}".to_owned()];
    HandoffsCommand::Offer(Box::new(OfferHandoff {
        from: None,
        to: party(to),
        kind,
        reason: kind.trigger(),
        summary: "Login works; refunds are next.".to_owned(),
        task: None,
        sections: sections.iter().map(|it| (*it).to_owned()).collect(),
        required_skills: vec!["rust".to_owned()],
        capabilities: Vec::new(),
        texts,
        packet: None,
        items: Vec::new(),
        budget: kind.budget().1,
        seconds: OFFER_SECONDS_DEFAULT,
    }))
}

fn add(host: &TestHost, title: &str) {
    let new = NewMemory {
        title: title.to_owned(),
        content: Content::new(
            Kind::Decision,
            vec![("decision".to_owned(), Value::Text(title.to_owned()))],
        )
        .unwrap(),
        tags: Vec::new(),
        importance: 8,
        status: None,
        authority: Authority::User,
        at: None,
        expires_at: None,
        parent: None,
        supersedes: Vec::new(),
        source: None,
    };
    let add = MemoriesCommand::Add(vec![new.checked().unwrap()]);
    ask(host, ORCHESTRATOR, ProjectCommand::Memories(add));
}

/// Returns a project that has everything that is carried.
fn webshop() -> TestHost {
    let host = project();
    add(&host, "Orders are in PostgreSQL");
    let first = NewSection {
        summary: Some("The shop".to_owned()),
        status: Some("IN PROGRESS".to_owned()),
        progress: Some(40),
        shortcuts: Some(vec![Shortcut {
            need: line("Refunds"),
            marker: marker("3.1"),
            label: Some(line("Payments")),
        }]),
        ..new("1.0", "The shop sells books.")
    };
    outline(&host, ORCHESTRATOR, put_of(first));
    for version in 0..12 {
        put(&host, AGENT, "3.1", &format!("Payments, version {version}. See §4.src.pay."));
    }
    put(&host, AGENT, "3.1.2", "Refunds.");
    put(&host, AGENT, "4.src.zebra", "fn zebra() {}");
    let file = FileReference {
        path: line("src/pay.rs"),
        size: 700,
        modified_at: Some(Timestamp(START)),
        digest: Some(format!("sha256:{}", "7".repeat(64))),
        purpose: line("pays"),
    };
    let pay = NewSection {
        file: Some(file),
        readers: Some(vec!["subagent:b*".to_owned()]),
        content: None,
        ..new("4.src.pay", "")
    };
    outline(&host, AGENT, put_of(pay));
    put(&host, OTHER, "4.src.secret", "hunter2");
    let reason = line("a password");
    let secret = marker("4.src.secret");
    outline(&host, ORCHESTRATOR, OutlineCommand::Redact { marker: secret, reason });
    put(&host, AGENT, "4.src.zebra", "PRUNE: not needed now");
    let state = CoordinationChange {
        if_version: 0,
        assignments: Some(vec![Assignment {
            participant: party(AGENT).participant,
            tasks: vec![line("refunds")],
        }]),
        blockers: Some(vec![line("PCI review")]),
        resources: Some(vec![Resource { name: line("board"), value: line("wall 2") }]),
    };
    outline(&host, ORCHESTRATOR, OutlineCommand::Coordinate(Box::new(state)));
    handoff(&host, AGENT, offer(HandoffKind::Complete, OTHER, &["§3.1"]));
    handoff(&host, OTHER, HandoffsCommand::Accept(HandoffId(1)));
    handoff(&host, OTHER, offer(HandoffKind::Specialist, AGENT, &["3.1"]));
    let decline = HandoffsCommand::Decline { id: HandoffId(2), reason: line("no time") };
    handoff(&host, AGENT, decline);
    handoff(&host, OTHER, offer(HandoffKind::Continuation, AGENT, &[]));
    handoff(&host, AGENT, offer(HandoffKind::Emergency, OTHER, &[]));
    let redact = HandoffsCommand::Redact { id: HandoffId(4), reason: line("a password") };
    handoff(&host, ORCHESTRATOR, redact);
    host
}

fn page(host: &TestHost, after: u64) -> PortableProject {
    match ask(host, "admin", ProjectCommand::Export { after }) {
        Reply::PortableProject(it) => *it,
        other => panic!("{other:?}"),
    }
}

/// Returns all pages of a project.
fn export(host: &TestHost) -> Vec<PortableProject> {
    let mut pages = vec![page(host, 0)];
    while let Some(after) = pages.last().unwrap().next {
        pages.push(page(host, after));
    }
    pages
}

fn import(host: &TestHost, page: &PortableProject) -> Result<Reply, Error> {
    let page = Box::new(page.clone());
    try_ask(host, "admin", ProjectCommand::Import { page, digest: "d".to_owned() })
}

/// Returns a host with an imported project, whose rows are as they must be.
fn imported(pages: &[PortableProject]) -> TestHost {
    let host = TestHost::default();
    host.now.set(START + 3_600_000);
    for page in pages {
        import(&host, page).unwrap();
    }
    check_project_rows(&ProjectId::new("p").unwrap(), &host.project_rows("")).unwrap();
    host
}

/// Returns pages without what differs in a copy.
fn content(mut pages: Vec<PortableProject>) -> Vec<PortableProject> {
    for page in &mut pages {
        page.revision = <_>::default();
    }
    pages
}

fn index(host: &TestHost) -> String {
    let budget = shared_context_core::tokens::Tokens(5_000);
    match outline(host, AGENT, OutlineCommand::Index { budget }) {
        OutlineReply::Index(it) => it.text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_moved_project_is_exported_the_same() {
    let host = webshop();
    let pages = export(&host);
    assert_eq!((pages.len(), pages[0].sections.len(), pages[0].handoffs.len()), (1, 6, 4));
    let text = format!("{pages:?}");
    assert!(!text.contains("hunter2"));
    let copy = imported(&pages);
    assert_eq!(content(export(&copy)), content(pages));
    assert_eq!(index(&copy), index(&host));
    for of in ["3.1", "3.1.2", "4.src.zebra", "4.src.secret"] {
        let read = |host: &TestHost| {
            let it = ReadSections { marker: marker(of), level: None, version: None };
            let OutlineReply::Read { mut sections, .. } =
                outline(host, ORCHESTRATOR, OutlineCommand::Read(it))
            else {
                panic!()
            };
            sections[0].lease = None;
            sections
        };
        assert_eq!(read(&copy), read(&host), "{of}");
    }
}

#[test]
fn leases_and_open_offers_end_with_the_move() {
    let host = webshop();
    let copy = imported(&export(&host));
    assert!(copy.project_rows("w/").is_empty());
    assert!(!host.project_rows("w/").is_empty());
    let of = |host: &TestHost, id: u64| handoff(host, OTHER, HandoffsCommand::Read(HandoffId(id)));
    for id in [1, 2, 4] {
        assert_eq!(of(&copy, id), of(&host, id));
    }
    let (open, ended) = (of(&host, 3), of(&copy, 3));
    assert_eq!(open.handoff.state, HandoffState::Offered);
    assert_eq!(ended.handoff.state, HandoffState::Expired);
    assert_eq!((ended.package, ended.chain), (open.package, open.chain));
    let accept = ProjectCommand::Handoffs(HandoffsCommand::Accept(HandoffId(3)));
    assert_eq!(try_ask(&copy, AGENT, accept).unwrap_err().code().as_str(), "HANDOFF_SETTLED");
    // The sections have no owner, and no loss is reported to anybody.
    let acquire = OutlineCommand::Acquire(Acquire {
        marker: marker("3.1"),
        kind: Ownership::Exclusive,
        ttl_ms: 60_000,
        reason: None,
    });
    outline(&copy, AGENT, acquire);
    let next = handoff(&copy, AGENT, offer(HandoffKind::Complete, OTHER, &["3.1"]));
    assert_eq!(next.handoff.id, HandoffId(5));
}

/// Files are in the order of their first versions, which are of revisions of the exported project.
#[test]
fn new_files_come_after_the_ones_that_were_moved() {
    let copy = imported(&export(&webshop()));
    put(&copy, AGENT, "4.src.alpha", "fn alpha() {}");
    let text = index(&copy);
    let place = |it: &str| text.find(it).unwrap_or_else(|| panic!("{it} is not in {text}"));
    assert!(place("4.src.zebra") < place("4.src.pay"));
    assert!(place("4.src.secret") < place("4.src.alpha"));
}

#[test]
fn a_moved_section_is_redacted_and_written_as_any_other() {
    let copy = imported(&export(&webshop()));
    put(&copy, AGENT, "3.1", "Payments, once more.");
    let redact = OutlineCommand::Redact { marker: marker("3.1"), reason: line("a key") };
    outline(&copy, ORCHESTRATOR, redact);
    outline(&copy, AGENT, OutlineCommand::Delete { marker: marker("3.1"), if_version: Some(13) });
    check_project_rows(&ProjectId::new("p").unwrap(), &copy.project_rows("")).unwrap();
    // What is below a section that was deleted stays, and is moved as well.
    let again = imported(&export(&copy));
    assert_eq!(content(export(&again)), content(export(&copy)));
}

/// A redaction removes the reason for declining, so an imported handoff may have none.
#[test]
fn a_refusal_that_was_redacted_is_moved() {
    let host = webshop();
    let redact = HandoffsCommand::Redact { id: HandoffId(2), reason: line("a name") };
    assert_eq!(handoff(&host, ORCHESTRATOR, redact).handoff.note, None);
    let pages = export(&host);
    assert_eq!(content(export(&imported(&pages))), content(pages));
}
