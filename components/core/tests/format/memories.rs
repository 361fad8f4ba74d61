//! The rows of a project with memories: `golden/memories-2.txt`, and in `memories-1.txt` as they were
//! before the newest signatures and sketches had rows of their own.

use shared_context_core::{
    Command, Line, MemoriesCommand, MemoriesReply, Outcome, ProjectCommand, ProjectConfig,
    ProjectId, Reply, RequestId, check_project_rows,
    item::Authority,
    memories::{
        Content, Kind, Mark, MemoryId, MemoryRef, MemorySource, NewMemory, RehydrateMemories,
        SearchMemories, Sort, Status, UpdateMemory, Value,
    },
    port::Revision,
    time::Timestamp,
    tokens::Tokens,
};

use super::{compare_rows_with_golden, golden, support::TestHost};

const ORCHESTRATOR: &str = "orchestrator in s1";
const AGENT: &str = "subagent:a in s2";
/// The files.
const FORMATS: [&str; 2] = ["memories-1", "memories-2"];
/// The revision of the bucket of the project in them.
const REVISION: u64 = 10;
const START: u64 = 1_771_597_800_000;

fn ask(host: &TestHost, who: &str, command: &Command) -> Outcome {
    host.ask_project(who, command).unwrap()
}

/// Returns `command` with a request id.
fn named(request_id: &str, command: MemoriesCommand) -> Command {
    let request_id = RequestId::parse(request_id).unwrap();
    let command = Command::Project(ProjectCommand::Memories(command));
    Command::Named { request_id, command: Box::new(command) }
}

fn command(it: MemoriesCommand) -> Command {
    Command::Project(ProjectCommand::Memories(it))
}

fn memory(kind: Kind, title: &str, members: &[(&str, Value)]) -> NewMemory {
    let members = members.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    let new = NewMemory {
        title: title.to_owned(),
        content: Content::new(kind, members.collect()).unwrap(),
        tags: vec!["Auth".to_owned(), "api".to_owned()],
        importance: 7,
        status: None,
        authority: Authority::Model,
        at: None,
        expires_at: None,
        parent: None,
        supersedes: Vec::new(),
        source: None,
    };
    new.checked().unwrap()
}

fn text(it: &str) -> Value {
    Value::Text(it.to_owned())
}

/// Returns the id of the memory of a number.
fn id(host: &TestHost, number: u64) -> MemoryId {
    let reads = [false, true].map(|is_archived| search(None, is_archived));
    let found = reads.iter().flat_map(|it| {
        let reply = ask(host, "admin", it).reply;
        let Reply::Memories(MemoriesReply::Found(it)) = reply else { panic!("{reply:?}") };
        it.found
    });
    let mut ids = found.map(|it| it.memory.id);
    ids.find(|it| it.number() == number).unwrap()
}

fn search(query: Option<&str>, is_archived: bool) -> Command {
    command(MemoriesCommand::Search(Box::new(SearchMemories {
        query: query.map(str::to_owned),
        kind: None,
        tags: Vec::new(),
        importance_min: None,
        after: None,
        before: None,
        status: None,
        is_archived,
        session: None,
        participant: None,
        sort: Some(Sort::Relevance),
        limit: 100,
        cursor: None,
    })))
}

/// Returns the additions, which have a request id.
fn add() -> Command {
    let alternatives = Value::Texts(vec!["HS256".to_owned(), "opaque tokens".to_owned()]);
    let members =
        [("decision", text("Sign with RS256")), ("alternatives_considered", alternatives)];
    let digest = Some(format!("sha256:{}", "7".repeat(64)));
    let source = Some(MemorySource::new("entry decisions_made", digest).unwrap());
    let decision = NewMemory { source, ..memory(Kind::Decision, "Tokens are signed", &members) };
    let members = [("description", text("Login fails at night")), ("severity", text("high"))];
    let issue = NewMemory {
        status: Some(Status::Resolved),
        at: Some(Timestamp(START - 1)),
        expires_at: Some(Timestamp(START * 2)),
        ..memory(Kind::Issue, "Login fails", &members)
    };
    let members =
        [("task_description", text("Migrate")), ("completion_percentage", Value::Number(40))];
    let state = memory(Kind::State, "Migration of users", &members);
    let lesson = memory(Kind::Learning, "Secrets", &[("lesson", text("hunter2 is one"))]);
    let summary = memory(Kind::Handoff, "Night shift", &[("summary", text("Pools ran dry"))]);
    named("a1", MemoriesCommand::Add(vec![decision, issue, state, lesson, summary]))
}

fn child(host: &TestHost) -> Command {
    let members = [("decision", text("Sign with ES256"))];
    let child = NewMemory {
        parent: Some(MemoryRef::Id(id(host, 2))),
        supersedes: vec![MemoryRef::Id(id(host, 1))],
        ..memory(Kind::Decision, "Tokens are signed again", &members)
    };
    named("a2", MemoriesCommand::Add(vec![child]))
}

fn rename(host: &TestHost) -> Command {
    named(
        "u1",
        MemoriesCommand::Update(Box::new(UpdateMemory {
            id: MemoryRef::Id(id(host, 4)),
            if_version: Some(1),
            title: Some("Known secrets".to_owned()),
            content: Vec::new(),
            tags: None,
            importance: None,
            status: None,
            expires_at: None,
        })),
    )
}

/// Returns a project with a row of each kind.
fn scripted() -> TestHost {
    let host = TestHost::default();
    host.now.set(START);
    let config = ProjectConfig { memories_max: 1_000, ..ProjectConfig::default() };
    ask(&host, "admin", &Command::Project(ProjectCommand::Create(config)));
    ask(&host, ORCHESTRATOR, &add());
    host.now.set(START + 5);
    ask(&host, ORCHESTRATOR, &child(&host));
    ask(&host, ORCHESTRATOR, &rename(&host));
    let rehydrate = RehydrateMemories {
        task: Some("login".to_owned()),
        budget: Tokens(2_000),
        with_unverified: false,
    };
    ask(&host, AGENT, &command(MemoriesCommand::Rehydrate(rehydrate)));
    let secret = MemoryRef::Id(id(&host, 4));
    ask(&host, AGENT, &command(MemoriesCommand::Read(vec![secret])));
    let reason = Line::parse("reason", "a password").unwrap();
    let redact = named("r1", MemoriesCommand::Redact { id: secret, reason });
    ask(&host, ORCHESTRATOR, &redact);
    let [gone, kept] = [5, 3].map(|it| MemoryRef::Id(id(&host, it)));
    let mark = |ids: Vec<MemoryRef>, mark: Mark| command(MemoriesCommand::Mark { ids, mark });
    ask(&host, ORCHESTRATOR, &mark(vec![gone], Mark::Deleted));
    ask(&host, ORCHESTRATOR, &named("m1", MemoriesCommand::Maintain { is_dry_run: false }));
    ask(&host, ORCHESTRATOR, &mark(vec![kept], Mark::Deleted));
    host
}

/// Returns everything that can be read of a project, and at last what reading it changes.
fn shown(host: &TestHost) -> Vec<Outcome> {
    let log = command(MemoriesCommand::DecisionLog { limit: 10 });
    let changes = Command::Project(ProjectCommand::Changes { since: None, limit: 100 });
    let ids = [1, 2, 3, 4, 6].map(|it| MemoryRef::Id(id(host, it)));
    let read = command(MemoriesCommand::Read(ids.to_vec()));
    let rehydrate = RehydrateMemories {
        task: Some("tokens".to_owned()),
        budget: Tokens(20_000),
        with_unverified: true,
    };
    let all = [
        Command::Project(ProjectCommand::Show),
        search(None, false),
        search(Some("tokens"), true),
        log,
        changes,
        command(MemoriesCommand::Maintain { is_dry_run: true }),
        read,
        command(MemoriesCommand::Rehydrate(rehydrate)),
    ];
    all.iter().map(|it| ask(host, "admin", it)).collect()
}

#[test]
fn the_same_memories_give_the_same_bytes() {
    compare_rows_with_golden(&scripted().project_rows(""), "memories-2");
}

#[test]
fn the_golden_project_has_a_row_of_every_kind() {
    let host = golden::host_with_bucket("project/p", "memories-2", REVISION);
    let rows = host.project_rows("");
    let mut kinds: Vec<&str> =
        rows.iter().map(|(row, _)| row.split_inclusive('/').next().unwrap()).collect();
    kinds.dedup();
    assert_eq!(kinds, ["c/", "i/", "m/", "meta", "n/", "q/", "s/", "u/", "v/"]);
    for (row, bytes) in rows {
        assert!(!String::from_utf8_lossy(&bytes).contains("hunter2"), "{row}");
    }
}

#[test]
fn stored_memories_open_as_they_were_written() {
    for format in FORMATS {
        let (new, old) = (scripted(), golden::host_with_bucket("project/p", format, REVISION));
        old.now.set(new.now.get());
        for (request, revision) in [(add(), 2), (child(&old), 3), (rename(&old), 4)] {
            let again = ask(&old, ORCHESTRATOR, &request);
            assert_eq!(again.revision, Revision(revision), "the first answer");
            assert_eq!(again, ask(&new, ORCHESTRATOR, &request));
        }
        assert_eq!(shown(&old), shown(&new), "{format}");
        // A memory more, so that both write where their newest are.
        for host in [&old, &new] {
            let lesson = memory(Kind::Learning, "Later", &[("lesson", text("Written later."))]);
            ask(host, ORCHESTRATOR, &command(MemoriesCommand::Add(vec![lesson])));
            check_project_rows(&ProjectId::new("p").unwrap(), &host.project_rows("")).unwrap();
        }
        assert_eq!(shown(&old), shown(&new), "{format}");
        let rows = |host: &TestHost| {
            let all = host.project_rows("").into_iter();
            let is_index = |name: &str| name.starts_with("i/") || name.starts_with("n/");
            all.filter(|it| format != FORMATS[0] || !is_index(&it.0)).collect::<Vec<_>>()
        };
        assert_eq!(rows(&old), rows(&new), "{format}");
    }
}
