//! Inconsistencies (spec 20.5): each is planted and found.

use shared_context_core::{
    MemoriesCommand, MemoriesReply,
    item::Authority,
    memories::{Content, Kind, Mark, MemoryRef, NewMemory, Value},
    outline::Check,
};

use crate::*;

fn has(found: &[Finding], code: Check, of: &str) -> bool {
    found.iter().any(|it| it.code == code && it.marker == marker(of))
}

fn memory(host: &TestHost, it: MemoriesCommand) -> MemoriesReply {
    let command = Command::Project(ProjectCommand::Memories(it));
    match host.ask_project(ORCHESTRATOR, &command).unwrap().reply {
        Reply::Memories(it) => it,
        other => panic!("{other:?}"),
    }
}

/// Adds a decision and returns its second id.
fn decision(host: &TestHost, text: &str) -> String {
    let members = vec![("decision".to_owned(), Value::Text(text.to_owned()))];
    let new = NewMemory {
        title: text.to_owned(),
        content: Content::new(Kind::Decision, members).unwrap(),
        tags: Vec::new(),
        importance: 5,
        status: None,
        authority: Authority::User,
        at: None,
        expires_at: None,
        parent: None,
        supersedes: Vec::new(),
        source: None,
    };
    match memory(host, MemoriesCommand::Add(vec![new])) {
        MemoriesReply::Added(it) => it[0].decision.unwrap().to_string(),
        other => panic!("{other:?}"),
    }
}

fn progress(host: &TestHost, of: &str, percent: u8) {
    write(host, ORCHESTRATOR, NewSection { progress: Some(percent), ..new(of, "t", "") });
}

#[test]
fn planted_inconsistencies_are_found() {
    let host = project();
    let (holds, old) = (decision(&host, "Use PostgreSQL"), decision(&host, "Use MongoDB"));
    let ids = vec![MemoryRef::parse(&old).unwrap()];
    memory(&host, MemoriesCommand::Mark { ids, mark: Mark::Archived });
    let same = "The payment service talks to the bank by way of a queue, retries with backoff, and \
                gives up after five attempts in an hour, so that nobody pays twice.";
    put(&host, ORCHESTRATOR, "§1.0", "Goal: sell. Status: §2.1. Priorities. Blockers: none.");
    let text = format!("{same}\n```\nlet x;\n```\n[{holds}] [{old}] [DEC-2020-01-01-001] §3.9");
    put(&host, ORCHESTRATOR, "§2.1", &text);
    put(&host, ORCHESTRATOR, "§2.2", "nothing below");
    put(&host, ORCHESTRATOR, "§3.1", &format!("{same}\nSee §4.gone.file and §4.src.main"));
    put(&host, ORCHESTRATOR, "§3.7", "nothing leads here");
    put(&host, ORCHESTRATOR, "§4.src.main", &format!("§4.src.main.a §4.src.main.a {}", words(9)));
    put(&host, ORCHESTRATOR, "§4.SRC.main", &words(5_001));
    let found = check(&host);
    for (code, of) in [
        (Check::BrokenLink, "§2.1"),
        (Check::BrokenLink, "§3.1"),
        (Check::NoDetails, "§2.2"),
        (Check::DecisionNotFound, "§2.1"),
        (Check::DecisionArchived, "§2.1"),
        (Check::Orphan, "§3.7"),
        (Check::DoubledMarker, "§4.src.main"),
        (Check::NoMarkers, "§4.SRC.main"),
        (Check::TooSmall, "§1.0"),
        (Check::CodeInSummary, "§2.1"),
        (Check::MissingMember, "§2.2"),
    ] {
        assert!(has(&found, code, of), "{code:?} {of}: {found:#?}");
    }
    assert!(found.iter().any(|it| it.code == Check::Duplicate), "{found:#?}");
    assert!(!has(&found, Check::NoDetails, "§2.1") && !has(&found, Check::Orphan, "§3.1"));
    assert!(!found.iter().any(|it| it.message.contains(&holds)), "what holds is not reported");
    let error = refused(&host, AGENT, OutlineCommand::Check);
    assert_eq!(code(&error), Code::Forbidden);
}

#[test]
fn progress_may_differ_by_five_points() {
    let host = project();
    for of in ["§1.0", "§2.1", "§2.2"] {
        put(&host, ORCHESTRATOR, of, "x");
    }
    progress(&host, "§2.1", 40);
    progress(&host, "§2.2", 51);
    // The mean is 45.5.
    for (percent, differs) in [(40, true), (41, false), (50, false), (51, true)] {
        progress(&host, "§1.0", percent);
        assert_eq!(has(&check(&host), Check::StatusMismatch, "§1.0"), differs, "{percent}");
    }
}

#[test]
fn a_summary_older_than_its_parts_is_stale() {
    let host = project();
    put(&host, ORCHESTRATOR, "§1.0", "x");
    put(&host, ORCHESTRATOR, "§2.1", "x");
    assert!(!has(&check(&host), Check::Stale, "§1.0"));
    later(&host, 1);
    put(&host, ORCHESTRATOR, "§2.1", "y");
    assert!(has(&check(&host), Check::Stale, "§1.0"));
}

#[test]
fn the_sum_of_a_level_is_bounded() {
    let host = project();
    for nth in 1..=9 {
        put(&host, ORCHESTRATOR, &format!("§2.{nth}"), &words(if nth == 9 { 1 } else { 500 }));
    }
    let found = check(&host);
    assert!(has(&found, Check::LevelTooLarge, "§2.9"), "4,001 tokens");
}
