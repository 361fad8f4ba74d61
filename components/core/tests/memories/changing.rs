//! Changing memories: next versions and replacement.

use proptest::prelude::*;
use shared_context_core::{
    Code, Error, MemoriesCommand, MemoriesReply, ProjectConfig,
    memories::{Mark, MemoryId, MemoryRef, NewMemory, Severity, Status, UpdateMemory, Value},
    time::Timestamp,
};

use crate::{
    AGENT, DAY, ORCHESTRATOR, OTHER, START, add, ask, at, change, check_totals, command, decision,
    done, id, issue, later, learning, malformed, mark, project, read, refused, state, supersede,
    tagged, text, titles, update, words,
};

fn importance(it: MemoryId, importance: u8) -> UpdateMemory {
    UpdateMemory { importance: Some(importance), ..update(it) }
}

fn status(it: MemoryId, status: Status) -> UpdateMemory {
    UpdateMemory { status: Some(status), ..update(it) }
}

#[test]
fn an_update_changes_what_it_names_and_nothing_else() {
    let host = project();
    let new = tagged(&["db"], learning("Pools", "They run dry"));
    let it = add(&host, "orchestrator in s1", NewMemory { at: at(START - DAY), ..new });
    later(&host, 5);
    let changed = UpdateMemory {
        title: Some("Pool sizes".to_owned()),
        content: vec![("context".to_owned(), Some(text("Postgres")))],
        expires_at: Some(at(START + DAY)),
        ..update(it.id)
    };
    let reply = ask(&host, "admin", change(changed));
    assert_eq!(reply, MemoriesReply::Updated { id: it.id, version: 2 });
    let memory = read(&host, ORCHESTRATOR, it.id).memory;
    assert_eq!((memory.title.as_str(), memory.version), ("Pool sizes", 2));
    assert_eq!(memory.content.unwrap().text(), "They run dry\nPostgres");
    assert_eq!((memory.tags, memory.importance), (vec!["db".to_owned()], 5));
    assert_eq!((memory.at, memory.created_at), (Timestamp(START - DAY), Timestamp(START)));
    assert_eq!(memory.changed_at, Timestamp(START + 5));
    assert_eq!(memory.changed_by.as_str(), "admin");
    assert_eq!(memory.created_by.as_str(), ORCHESTRATOR);
    assert_eq!(memory.created_in.unwrap().as_str(), "s1");
    assert_eq!(memory.expires_at, at(START + DAY));
    let back = UpdateMemory {
        content: vec![("context".to_owned(), None)],
        tags: Some(vec!["Net".to_owned()]),
        expires_at: Some(None),
        ..update(it.id)
    };
    ask(&host, ORCHESTRATOR, change(back));
    let memory = read(&host, ORCHESTRATOR, it.id).memory;
    assert_eq!((memory.version, memory.expires_at), (3, None));
    assert_eq!(memory.content.unwrap().text(), "They run dry");
    assert_eq!(memory.tags, ["net"]);
    // It is found by what it says now.
    assert_eq!(titles(&host, words("postgres")), [""; 0]);
    assert_eq!(titles(&host, words("sizes")), ["Pool sizes"]);
    check_totals(&host);
}

#[test]
fn a_version_is_named_by_who_read_it() {
    let host = project();
    let it = add(&host, ORCHESTRATOR, learning("Pools", "They run dry"));
    let on = |version: u32| UpdateMemory { if_version: Some(version), ..importance(it.id, 6) };
    ask(&host, ORCHESTRATOR, change(on(1)));
    let error = host.ask_project(ORCHESTRATOR, &command(change(on(1)))).unwrap_err();
    let Error::MemoryConflict { current_version, .. } = &error else { panic!("{error:?}") };
    assert_eq!((error.code(), *current_version), (Code::VersionConflict, 2));
    assert_eq!(refused(&host, ORCHESTRATOR, change(on(3))), Code::VersionConflict);
    ask(&host, ORCHESTRATOR, change(on(2)));
    assert_eq!(read(&host, ORCHESTRATOR, it.id).memory.version, 3);
}

#[test]
fn an_update_is_as_valid_as_an_addition() {
    let host = project();
    let it = add(&host, ORCHESTRATOR, state("Migration", 40)).id;
    let content = |name: &str, value: Option<Value>| UpdateMemory {
        content: vec![(name.to_owned(), value)],
        ..update(it)
    };
    for (bad, told) in [
        (UpdateMemory { title: Some("x".repeat(101)), ..update(it) }, "title has 101"),
        (UpdateMemory { tags: Some(vec!["a b".to_owned()]), ..update(it) }, "tag"),
        (importance(it, 11), "importance is 11"),
        (status(it, Status::Open), "only an issue has a status"),
        (content("completion_percentage", Some(Value::Number(101))), "from 0 to 100"),
        (content("completion_percentage", None), "needs completion_percentage"),
        (content("lesson", Some(text("x"))), "no member"),
        (UpdateMemory { expires_at: Some(at(START)), ..update(it) }, "in the past"),
    ] {
        let error = malformed(host.ask_project(ORCHESTRATOR, &command(change(bad))));
        assert!(error.contains(told), "{error}");
    }
    let long = content("blockers", Some(Value::Texts(vec!["x".repeat(4_000); 3])));
    let error = malformed(host.ask_project(ORCHESTRATOR, &command(change(long))));
    assert!(error.contains("at most 8192 fit"), "{error}");
}

#[test]
fn an_agent_changes_what_it_wrote_and_the_status_of_issues() {
    let host = project();
    let own = add(&host, AGENT, learning("Mine", "It is mine")).id;
    let theirs = add(&host, ORCHESTRATOR, learning("Theirs", "It is theirs")).id;
    let problem = add(&host, OTHER, issue("Login", Severity::High)).id;
    ask(&host, AGENT, change(importance(own, 7)));
    for forbidden in [
        importance(theirs, 7),
        update(theirs),
        importance(problem, 7),
        UpdateMemory { importance: Some(1), ..status(problem, Status::Resolved) },
    ] {
        assert_eq!(refused(&host, AGENT, change(forbidden)), Code::Forbidden);
    }
    ask(&host, AGENT, change(status(problem, Status::Resolved)));
    let it = read(&host, AGENT, problem).memory;
    assert_eq!((it.status, it.version), (Some(Status::Resolved), 2));
    assert_eq!((it.created_by.as_str(), it.changed_by.as_str()), (OTHER, AGENT));
    assert_eq!(refused(&host, AGENT, change(status(theirs, Status::Open))), Code::MalformedRequest);
    ask(&host, ORCHESTRATOR, change(importance(own, 2)));
}

#[test]
fn a_decision_that_an_agent_changed_is_a_proposal_again() {
    let host = project();
    let it = add(&host, AGENT, decision("Tokens", "Sign them with RS256")).id;
    let is_verified = || read(&host, ORCHESTRATOR, it).memory.is_verified;
    ask(&host, ORCHESTRATOR, mark(&[it], Mark::Verified));
    ask(&host, ORCHESTRATOR, change(importance(it, 7)));
    assert!(is_verified());
    // A confirmed decision once disappeared from every beginning because its author repeated its
    // importance: only other words are another proposal.
    let again = UpdateMemory { title: Some("Tokens".to_owned()), ..importance(it, 8) };
    ask(&host, AGENT, change(again));
    assert!(is_verified());
    let words = vec![("decision".to_owned(), Some(text("Sign them with ES256")))];
    ask(&host, AGENT, change(UpdateMemory { content: words, ..update(it) }));
    assert!(!is_verified());
    ask(&host, ORCHESTRATOR, change(importance(it, 9)));
    assert!(!is_verified(), "a change is no confirmation");
}

#[test]
fn what_is_archived_is_not_changed() {
    let host = project();
    let [old, new] = ["Old", "New"].map(|it| add(&host, AGENT, learning(it, it)).id);
    ask(&host, ORCHESTRATOR, mark(&[old], Mark::Archived));
    assert_eq!(refused(&host, AGENT, change(importance(old, 7))), Code::MemoryArchived);
    assert_eq!(refused(&host, AGENT, supersede(old, new)), Code::MemoryArchived);
    assert_eq!(refused(&host, AGENT, supersede(new, old)), Code::MemoryArchived);
}

#[test]
fn what_has_expired_does_not_exist() {
    let host = project();
    let brief = NewMemory { expires_at: at(START + 10), ..learning("Brief", "It is short") };
    let it = add(&host, ORCHESTRATOR, brief).id;
    later(&host, 9);
    assert_eq!(titles(&host, words("brief")), ["Brief"]);
    later(&host, 1);
    assert_eq!(titles(&host, words("brief")), [""; 0]);
    for gone in [
        MemoriesCommand::Read(vec![id(it)]),
        change(importance(it, 7)),
        mark(&[it], Mark::Active),
        supersede(it, it),
    ] {
        assert_eq!(refused(&host, ORCHESTRATOR, gone), Code::MemoryNotFound);
    }
}

#[test]
fn a_memory_replaces_another() {
    let host = project();
    let old = add(&host, ORCHESTRATOR, decision("Tokens", "Sign them with HS256")).id;
    let new = add(&host, AGENT, decision("Keys", "Sign them with RS256")).id;
    later(&host, 7);
    let reply = ask(&host, ORCHESTRATOR, supersede(old, new));
    assert_eq!(reply, MemoriesReply::Superseded { id: old, by: new });
    let (before, after) = (read(&host, AGENT, old), read(&host, AGENT, new));
    assert_eq!((before.links.superseded_by, after.links.supersedes), (Some(new), vec![old]));
    assert_eq!(before.memory.archived_at, at(START + 7));
    assert_eq!((before.memory.version, after.memory.version), (1, 1));
    assert_eq!(titles(&host, words("sign")), ["Keys"]);
    check_totals(&host);
}

#[test]
fn no_memory_replaces_itself() {
    let host = project();
    let [a, b, c] = ["A", "B", "C"].map(|it| add(&host, ORCHESTRATOR, state(it, 1)).id);
    let itself = || refused(&host, ORCHESTRATOR, supersede(a, a));
    assert_eq!(itself(), Code::SupersedesItself);
    ask(&host, ORCHESTRATOR, supersede(a, b));
    ask(&host, ORCHESTRATOR, supersede(b, c));
    assert_eq!(refused(&host, ORCHESTRATOR, supersede(c, a)), Code::SupersedesItself);
    assert_eq!(refused(&host, ORCHESTRATOR, supersede(b, a)), Code::SupersedesItself);
    // After it is restored, the first one still has no other link.
    ask(&host, ORCHESTRATOR, mark(&[a], Mark::Active));
    ask(&host, ORCHESTRATOR, supersede(c, a));
    assert_eq!(read(&host, ORCHESTRATOR, a).links.supersedes, [c]);
}

#[test]
fn an_agent_supersedes_its_own_by_any() {
    let host = project();
    let own = add(&host, AGENT, learning("Mine", "It is mine")).id;
    let theirs = add(&host, ORCHESTRATOR, learning("Theirs", "It is theirs")).id;
    assert_eq!(refused(&host, AGENT, supersede(theirs, own)), Code::Forbidden);
    ask(&host, AGENT, supersede(own, theirs));
    assert_eq!(read(&host, AGENT, theirs).links.supersedes, [own]);
}

#[test]
fn ids_of_other_projects_name_nothing() {
    let (host, elsewhere) = (project(), crate::TestHost::default());
    elsewhere.now.set(START + 1);
    let create = shared_context_core::ProjectCommand::Create(ProjectConfig::default());
    done(&elsewhere, "admin", &shared_context_core::Command::Project(create));
    let own = add(&host, ORCHESTRATOR, learning("Pools", "They run dry")).id;
    let other = add(&elsewhere, ORCHESTRATOR, learning("Pools", "They run dry")).id;
    assert_eq!(own.number(), other.number());
    for foreign in [
        MemoriesCommand::Read(vec![id(other)]),
        change(importance(other, 7)),
        supersede(other, own),
        supersede(own, other),
        mark(&[own, other], Mark::Archived),
        MemoriesCommand::Redact {
            id: id(other),
            reason: shared_context_core::Line::parse("reason", "x").unwrap(),
        },
        MemoriesCommand::Add(vec![NewMemory { parent: Some(id(other)), ..learning("A", "b") }]),
    ] {
        assert_eq!(refused(&host, ORCHESTRATOR, foreign), Code::MemoryNotFound);
    }
    let never = MemoryRef::parse("00000000-0000-8000-8000-000000000000").unwrap();
    let never = MemoriesCommand::Read(vec![never]);
    assert_eq!(refused(&host, ORCHESTRATOR, never), Code::MemoryNotFound);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// An update counted two bytes less than it stored, so that a project drifted from its size.
    #[test]
    fn the_totals_are_those_of_the_rows(steps in proptest::collection::vec((0..6_u8, 0..4_usize), 1..24)) {
        let host = project();
        let mut ids: Vec<MemoryId> = Vec::new();
        for (nth, (step, which)) in steps.into_iter().enumerate() {
            let title = format!("memory {nth}");
            let Some(it) = ids.get(which % ids.len().max(1)).copied() else {
                ids.push(add(&host, ORCHESTRATOR, state(&title, 1)).id);
                continue;
            };
            let step = match step {
                0 => {
                    ids.push(add(&host, ORCHESTRATOR, state(&title, 1)).id);
                    continue;
                }
                1 => change(UpdateMemory { title: Some(title), ..update(it) }),
                2 => mark(&[it], Mark::Active),
                3 => mark(&[it], Mark::Deleted),
                4 => MemoriesCommand::Maintain { is_dry_run: false },
                _ => supersede(it, ids[0]),
            };
            let _ = host.ask_project(ORCHESTRATOR, &command(step));
            check_totals(&host);
        }
    }
}

/// An agent could replace a verified decision by a proposal or by a lesson, and a new session was
/// shown neither of them.
#[test]
fn an_agent_retires_no_verified_memory() {
    let host = project();
    let old = add(&host, AGENT, decision("Tokens", "Sign them with RS256")).id;
    let proposal = add(&host, AGENT, decision("Keys", "Sign nothing")).id;
    let lesson = add(&host, AGENT, learning("Signing", "It is slow")).id;
    ask(&host, ORCHESTRATOR, mark(&[old], Mark::Verified));
    for by in [proposal, lesson] {
        assert_eq!(refused(&host, AGENT, supersede(old, by)), Code::Forbidden);
    }
    let new = |it: NewMemory| {
        let new = NewMemory { supersedes: vec![id(old)], ..it };
        MemoriesCommand::Add(vec![new.checked().unwrap()])
    };
    for it in [decision("Off", "Use no tokens"), learning("Off", "Tokens are slow")] {
        let error = host.ask_project(AGENT, &command(new(it))).unwrap_err();
        assert_eq!(error.code(), Code::Forbidden);
        assert!(error.to_string().contains("ask the orchestrator to confirm it"), "{error}");
    }
    let doubtful = add(
        &host,
        AGENT,
        NewMemory {
            authority: shared_context_core::item::Authority::ToolExternal,
            ..learning("A page", "It is fast")
        },
    );
    assert_eq!(refused(&host, AGENT, supersede(lesson, doubtful.id)), Code::Forbidden);
    // What is confirmed too takes its place, and so does anything for an orchestrator.
    ask(&host, ORCHESTRATOR, mark(&[proposal], Mark::Verified));
    ask(&host, AGENT, supersede(old, proposal));
    ask(&host, ORCHESTRATOR, supersede(proposal, lesson));
    let own = add(&host, AGENT, decision("A", "b")).id;
    let other = add(&host, AGENT, decision("C", "d")).id;
    ask(&host, AGENT, supersede(own, other));
    check_totals(&host);
}
