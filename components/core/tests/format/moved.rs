//! The rows of a project with an outline and handoffs, `golden/outline-2.txt`, and of one that was
//! imported from it, `golden/moved-2.txt`. The files with 1 are from before the newest signatures and
//! sketches of memories had rows of their own.

use shared_context_core::{
    Command, HandoffsCommand, Line, Outcome, OutlineCommand, Participant, ProjectCommand,
    ProjectConfig, Reply, RequestId, SessionId,
    handoffs::{HandoffId, HandoffKind, ListHandoffs, OFFER_SECONDS_DEFAULT, OfferHandoff, Party},
    outline::{FileReference, Marker, NewSection, Shortcut},
    ownership::{
        Acquire, Assignment, CoordinationChange, Ownership, PutSection, ReadSections, Resource,
    },
    port::Revision,
    time::Timestamp,
    tokens::Tokens,
};

use super::{compare_rows_with_golden, golden, support::TestHost};

const ORCHESTRATOR: &str = "orchestrator in s1";
const AGENT: &str = "subagent:a in s2";
const OTHER: &str = "subagent:b in s3";
const START: u64 = 1_771_597_800_000;
/// The revisions of the buckets in the files.
const REVISIONS: [(&str, u64); 2] = [("outline", 17), ("moved", 1)];

fn ask(host: &TestHost, who: &str, command: &Command) -> Outcome {
    host.now.set(host.now.get() + 1);
    host.ask_project(who, command).unwrap()
}

fn named(id: &str, command: ProjectCommand) -> Command {
    let command = Box::new(Command::Project(command));
    Command::Named { request_id: RequestId::parse(id).unwrap(), command }
}

fn outline(it: OutlineCommand) -> ProjectCommand {
    ProjectCommand::Outline(it)
}

fn line(text: &str) -> Line {
    Line::parse("a test", text).unwrap()
}

fn marker(text: &str) -> Marker {
    Marker::parse(text).unwrap()
}

fn put(of: &str, change: impl FnOnce(&mut NewSection)) -> ProjectCommand {
    let mut section = NewSection {
        marker: marker(of),
        title: Some(format!("Of {of}")),
        content: Some(format!("Content of {of}.")),
        summary: Some("In short".to_owned()),
        status: Some("OPEN".to_owned()),
        progress: Some(40),
        shortcuts: None,
        file: None,
        readers: None,
    };
    change(&mut section);
    let section = section.checked().unwrap();
    let put = PutSection { section, if_version: None, change: None };
    outline(OutlineCommand::Put(Box::new(put)))
}

fn acquire(of: &str, reason: &str) -> ProjectCommand {
    outline(OutlineCommand::Acquire(Acquire {
        marker: marker(of),
        kind: Ownership::SharedWrite,
        ttl_ms: 60_000,
        reason: Some(line(reason)),
    }))
}

fn offer(kind: HandoffKind, sections: &[&str]) -> ProjectCommand {
    ProjectCommand::Handoffs(HandoffsCommand::Offer(Box::new(OfferHandoff {
        from: None,
        to: Party {
            participant: Participant::parse("subagent:b").unwrap(),
            session: SessionId::new("s3"),
        },
        kind,
        reason: kind.trigger(),
        summary: "Login works".to_owned(),
        task: None,
        sections: sections.iter().map(|it| (*it).to_owned()).collect(),
        required_skills: Vec::new(),
        capabilities: Vec::new(),
        texts: vec![vec!["login".to_owned()]; 10],
        packet: None,
        items: Vec::new(),
        budget: kind.budget().1,
        seconds: OFFER_SECONDS_DEFAULT,
    })))
}

/// Returns changes that are stored with request ids, each with its caller.
fn remembered() -> Vec<(&'static str, Command)> {
    let file = FileReference {
        path: line("src/pay.rs"),
        size: 7,
        modified_at: Some(Timestamp(START)),
        digest: Some(format!("sha256:{}", "7".repeat(64))),
        purpose: line("pays"),
    };
    let pay = put("4.src.pay", |it| {
        it.file = Some(file);
        it.readers = Some(vec!["subagent:c".to_owned()]);
        it.content = None;
    });
    let state = CoordinationChange {
        if_version: 0,
        assignments: Some(vec![Assignment {
            participant: Participant::parse("subagent:a").unwrap(),
            tasks: vec![line("refunds")],
        }]),
        blockers: Some(vec![line("PCI review")]),
        resources: Some(vec![Resource { name: line("board"), value: line("wall 2") }]),
    };
    vec![
        (AGENT, named("p1", pay)),
        (AGENT, named("a1", acquire("4.src.pay", "tests"))),
        (ORCHESTRATOR, named("c1", outline(OutlineCommand::Coordinate(Box::new(state))))),
        (AGENT, named("h1", offer(HandoffKind::Complete, &["3.1"]))),
    ]
}

/// Returns a project that has a row of each kind, a lease that ended and one that was lost.
fn scripted() -> TestHost {
    let host = TestHost::default();
    host.now.set(START);
    let plain = |it: ProjectCommand| Command::Project(it);
    let create = ProjectCommand::Create(ProjectConfig::default());
    ask(&host, "admin", &plain(create));
    let shortcut = Shortcut { need: line("Pay"), marker: marker("3.1"), label: Some(line("Pay")) };
    let first = put("1.0", |it| it.shortcuts = Some(vec![shortcut]));
    ask(&host, ORCHESTRATOR, &plain(first));
    ask(&host, AGENT, &plain(put("3.1", |_| {})));
    ask(&host, AGENT, &plain(put("3.1", |it| it.content = Some("PRUNE: done".to_owned()))));
    for (who, command) in remembered() {
        ask(&host, who, &command);
    }
    let accept = ProjectCommand::Handoffs(HandoffsCommand::Accept(HandoffId(1)));
    ask(&host, OTHER, &named("h2", accept));
    ask(&host, AGENT, &plain(offer(HandoffKind::Specialist, &[])));
    let decline = HandoffsCommand::Decline { id: HandoffId(2), reason: line("no time") };
    ask(&host, OTHER, &plain(ProjectCommand::Handoffs(decline)));
    ask(&host, AGENT, &plain(offer(HandoffKind::Emergency, &[])));
    let redact = HandoffsCommand::Redact { id: HandoffId(3), reason: line("a key") };
    ask(&host, ORCHESTRATOR, &plain(ProjectCommand::Handoffs(redact)));
    ask(&host, AGENT, &plain(offer(HandoffKind::Continuation, &[])));
    ask(&host, AGENT, &plain(put("4.key", |it| it.content = Some("hunter2".to_owned()))));
    let reason = line("a password");
    let redact = OutlineCommand::Redact { marker: marker("4.key"), reason };
    ask(&host, ORCHESTRATOR, &plain(outline(redact)));
    host.now.set(START + 90_000);
    ask(&host, ORCHESTRATOR, &plain(acquire("1.0", "ends another lease")));
    host
}

/// Returns the project that is imported from the first.
fn moved() -> TestHost {
    let host = scripted();
    let export = Command::Project(ProjectCommand::Export { after: 0 });
    let Reply::PortableProject(page) = ask(&host, "admin", &export).reply else { panic!() };
    let copy = TestHost::default();
    copy.now.set(START + 100_000);
    let import = ProjectCommand::Import { page, digest: "sha256:7".to_owned() };
    ask(&copy, "admin", &named("i1", import));
    copy
}

/// Returns everything that can be read of the outline and the handoffs.
fn shown(host: &TestHost) -> Vec<Outcome> {
    let mut all = vec![
        ProjectCommand::Show,
        ProjectCommand::Changes { since: None, limit: 100 },
        ProjectCommand::Export { after: 0 },
        outline(OutlineCommand::Index { budget: Tokens(5_000) }),
        outline(OutlineCommand::Check),
        outline(OutlineCommand::Coordination),
        ProjectCommand::Handoffs(HandoffsCommand::List(ListHandoffs::default())),
    ];
    for of in ["1.0", "3.1", "4.src.pay", "4.key"] {
        let read = ReadSections { marker: marker(of), level: None, version: None };
        all.push(outline(OutlineCommand::Read(read)));
    }
    for id in 1..=4 {
        all.push(ProjectCommand::Handoffs(HandoffsCommand::Read(HandoffId(id))));
    }
    all.into_iter().map(|it| host.ask_project("admin", &Command::Project(it)).unwrap()).collect()
}

/// Returns hosts with the stored rows of both, of one format.
fn opened(format: u32) -> [TestHost; 2] {
    REVISIONS.map(|(name, revision)| {
        golden::host_with_bucket("project/p", &format!("{name}-{format}"), revision)
    })
}

#[test]
fn the_same_sections_and_handoffs_give_the_same_bytes() {
    compare_rows_with_golden(&scripted().project_rows(""), "outline-2");
    compare_rows_with_golden(&moved().project_rows(""), "moved-2");
}

#[test]
fn the_golden_projects_have_a_row_of_every_kind() {
    let kinds = |host: &TestHost| {
        let rows = host.project_rows("");
        for (row, bytes) in &rows {
            assert!(!String::from_utf8_lossy(bytes).contains("hunter2"), "{row}");
        }
        let kind = |row: &str| row.split_inclusive('/').next().unwrap().to_owned();
        let mut kinds: Vec<String> = rows.iter().map(|it| kind(&it.0)).collect();
        kinds.dedup();
        kinds
    };
    let [of_outline, of_moved] = opened(2).map(|it| kinds(&it));
    for kind in ["coordination", "o/", "q/", "w/", "y/", "yd/"] {
        assert!(of_outline.iter().any(|it| it == kind), "{kind} in {of_outline:?}");
    }
    assert!(!of_moved.iter().any(|it| it == "w/"), "leases end with the move");
    assert!(of_moved.iter().any(|it| it == "yd/"));
}

#[test]
fn stored_sections_and_handoffs_open_as_they_were_written() {
    for format in [1, 2] {
        for (old, new) in opened(format).into_iter().zip([scripted(), moved()]) {
            old.now.set(new.now.get());
            assert_eq!(shown(&old), shown(&new));
        }
    }
    let ([old, _], new) = (opened(1), scripted());
    old.now.set(new.now.get());
    for (nth, (who, request)) in (0..).zip(remembered()) {
        let again = ask(&old, who, &request);
        if nth < 2 {
            assert_eq!(again.revision, Revision(5 + nth), "the first answer");
        }
        assert_eq!(again, ask(&new, who, &request));
    }
}
