//! Tests which memories a new session is shown.

use shared_context_core::memories::{
    Continuity, Kind, Mark, MemoryId, NewMemory, Part, RehydrateMemories, Rehydrated, Severity,
    Status,
};
use shared_context_core::time::Timestamp;

use crate::{
    AGENT, DAY, ORCHESTRATOR, START, TestHost, add, add_all, ask, at, decision, find, important,
    issue, later, learning, mark, memory, project, read, rehydrate, rehydration, search, state,
    supersede, text,
};

fn told(host: &TestHost, task: Option<&str>) -> Rehydrated {
    let told = rehydrate(host, ORCHESTRATOR, rehydration(200_000, task));
    assert_eq!(told.omitted, [], "all fits");
    told
}

/// Returns the titles of a part.
fn titles(host: &TestHost, told: &Rehydrated, part: Part) -> Vec<String> {
    let ids: Vec<MemoryId> =
        told.parts.iter().filter(|it| it.part == part).flat_map(|it| it.ids.clone()).collect();
    let all = find(host, search()).found;
    let title = |id: &MemoryId| {
        all.iter().find(|it| it.memory.id == *id).map(|it| it.memory.title.clone()).unwrap()
    };
    ids.iter().map(title).collect()
}

fn ago(days: u64, it: NewMemory) -> NewMemory {
    NewMemory { at: at(START - days * DAY), ..it }
}

#[test]
fn the_newest_state_is_told() {
    let host = project();
    let new = vec![ago(1, state("New", 2)), ago(9, state("Old", 1)), ago(400, state("Oldest", 1))];
    add_all(&host, ORCHESTRATOR, new);
    assert_eq!(titles(&host, &told(&host, None), Part::State), ["New"]);
    assert_eq!(titles(&host, &told(&host, Some("oldest")), Part::State), ["New"]);
    // Of one instant, the one that was added last.
    add(&host, ORCHESTRATOR, ago(1, state("Newer", 3)));
    assert_eq!(titles(&host, &told(&host, None), Part::State), ["Newer"]);
}

/// Nothing said that the rules a project has had for months are not in the text.
#[test]
fn important_decisions_that_are_not_told_are_counted() {
    let host = project();
    let rule = |importance: u8, days: u64, title: &str| {
        ago(days, important(importance, decision(title, &format!("Use {title}"))))
    };
    let text_of = |task| rehydrate(&host, ORCHESTRATOR, rehydration(20_000, task)).text;
    add_all(&host, ORCHESTRATOR, vec![rule(8, 3, "new"), rule(6, 90, "minor")]);
    assert!(!text_of(None).contains("not below"));
    add_all(&host, ORCHESTRATOR, vec![rule(10, 58, "privacy"), rule(8, 40, "tabs")]);
    assert!(text_of(None).contains("not below: 2; search_memories finds them"));
    assert!(text_of(Some("privacy")).contains("not below: 1; search_memories finds them"));
}

#[test]
fn important_decisions_of_30_days_are_told() {
    let host = project();
    let use_of = |importance: u8, days: u64, title: &str| {
        ago(days, important(importance, decision(title, &format!("Use {title}"))))
    };
    let mut new = vec![
        use_of(6, 0, "minor"),
        use_of(7, 30, "last day"),
        NewMemory { at: at(START - 30 * DAY - 1), ..use_of(10, 0, "too old") },
        use_of(9, 3, "nine old"),
        use_of(9, 2, "nine new"),
        use_of(10, 20, "ten"),
    ];
    new.extend((0..8).map(|it| use_of(7, 10 + it, &format!("seven {it}"))));
    add_all(&host, ORCHESTRATOR, new);
    let found = titles(&host, &told(&host, None), Part::Decisions);
    assert_eq!(found[..4], ["ten", "nine new", "nine old", "seven 0"]);
    assert_eq!((found.len(), found[9].as_str()), (10, "seven 6"));
    // What the task is about comes first.
    let found = titles(&host, &told(&host, Some("the last day of it")), Part::Decisions);
    assert_eq!(found[..2], ["last day", "ten"]);
}

/// Of issues that were added in one batch, the last came first, though the oldest is to come first.
#[test]
fn severe_open_issues_are_told_the_oldest_first() {
    let host = project();
    let mut new = vec![
        ago(2, issue("high", Severity::High)),
        ago(1, issue("critical", Severity::Critical)),
        ago(300, issue("medium", Severity::Medium)),
        ago(300, NewMemory { status: Some(Status::Resolved), ..issue("done", Severity::Critical) }),
    ];
    new.extend((0..15).map(|it| issue(&format!("batch {it}"), Severity::High)));
    add_all(&host, ORCHESTRATOR, new);
    let found = titles(&host, &told(&host, None), Part::Issues);
    assert_eq!(found[..4], ["critical", "high", "batch 0", "batch 1"]);
    assert_eq!((found.len(), found[14].as_str()), (15, "batch 12"));
}

#[test]
fn the_most_read_learnings_of_60_days_are_told() {
    let host = project();
    let lesson = |days: u64, title: &str| ago(days, learning(title, &format!("{title} was so")));
    let mut new = vec![lesson(60, "last day"), lesson(61, "too old"), lesson(50, "read")];
    new.extend((0..5).map(|it| lesson(20 - it, &format!("plain {it}"))));
    let added = add_all(&host, ORCHESTRATOR, new);
    for nth in [0, 1, 1, 1, 2, 2] {
        read(&host, AGENT, added[nth].id);
    }
    let found = titles(&host, &told(&host, None), Part::Learnings);
    assert_eq!(found, ["read", "last day", "plain 4", "plain 3", "plain 2"]);
    // Memories that were shown count as read.
    let uses = find(&host, search()).found;
    let uses = |title: &str| uses.iter().find(|it| it.memory.title == title).unwrap().uses.count;
    assert_eq!([uses("read"), uses("plain 2"), uses("plain 1")], [3, 1, 0]);
}

#[test]
fn a_task_adds_up_to_five_related_memories_of_any_age() {
    let host = project();
    let summary = |title: &str| memory(Kind::Handoff, title, &[("summary", text("See the pool"))]);
    let new = (0..7).map(|it| ago(100 + it, summary(&format!("handoff {it}")))).collect();
    add_all(&host, ORCHESTRATOR, new);
    add(&host, ORCHESTRATOR, ago(900, important(1, decision("Pool", "Keep a pool"))));
    add(&host, ORCHESTRATOR, ago(900, decision("Other", "Have none")));
    let lesson = add(&host, ORCHESTRATOR, learning("Pool", "A pool runs dry"));
    assert_eq!(titles(&host, &told(&host, None), Part::Further), [""; 0]);
    let it = told(&host, Some("size of the pool"));
    let found = titles(&host, &it, Part::Further);
    assert_eq!(found, ["Pool", "handoff 0", "handoff 1", "handoff 2", "handoff 3"]);
    let learnings = it.parts.iter().find(|it| it.part == Part::Learnings).unwrap();
    assert_eq!(learnings.ids, [lesson.id], "what another part has is not told again");
    assert_eq!(titles(&host, &told(&host, Some("of the")), Part::Further), [""; 0]);
}

#[test]
fn unverified_archived_and_expired_memories_are_left_out() {
    let host = project();
    let proposal = add(&host, AGENT, important(9, decision("Proposal", "Use it"))).id;
    let archived = add(&host, ORCHESTRATOR, learning("Archived", "It was")).id;
    ask(&host, ORCHESTRATOR, mark(&[archived], Mark::Archived));
    let brief = NewMemory { expires_at: at(START + 1), ..learning("Brief", "It is") };
    add(&host, ORCHESTRATOR, brief);
    let replaced = add(&host, ORCHESTRATOR, state("Replaced", 1)).id;
    let current = add(&host, ORCHESTRATOR, ago(5, state("Current", 2))).id;
    ask(&host, ORCHESTRATOR, supersede(replaced, current));
    later(&host, 1);
    let ids = |it: &Rehydrated| it.parts.iter().flat_map(|it| it.ids.clone()).collect::<Vec<_>>();
    let it = told(&host, Some("proposal archived brief replaced"));
    assert_eq!((ids(&it), it.unverified), (vec![current], 1));
    assert!(it.text.contains("Decisions: 0. Open issues: 0"), "{}", it.text);
    assert!(it.text.contains("States: 1. Learnings: 0. Handoffs: 0. Archived: 2."), "{}", it.text);
    let all = RehydrateMemories { with_unverified: true, ..rehydration(20_000, None) };
    let it = rehydrate(&host, ORCHESTRATOR, all);
    assert_eq!((ids(&it), it.unverified), (vec![current, proposal], 0));
    assert!(it.text.contains(" | **Unverified**\n"), "{}", it.text);
}

#[test]
fn reads_are_counted_in_the_same_commit() {
    let host = project();
    let it = add(&host, ORCHESTRATOR, state("Now", 1)).id;
    let outcome = crate::done(
        &host,
        "orchestrator in s1",
        &crate::command(crate::MemoriesCommand::Rehydrate(rehydration(500, None))),
    );
    assert_eq!(outcome.revision.0, 3);
    let read = read(&host, "orchestrator in s1", it);
    assert_eq!((read.uses.count, read.uses.last_at()), (2, at(START)));
    assert_eq!(crate::info(&host).sessions, 1);
}

#[test]
fn a_session_is_told_when_others_worked() {
    let host = project();
    let who = |session: &str| format!("orchestrator in {session}");
    let next = |session: &str| rehydrate(&host, &who(session), rehydration(500, None)).continuity;
    let none = Continuity { last_session_end: None, since_ms: None, sessions: 1 };
    assert_eq!(next("s1"), none, "the own session is none of the others");
    later(&host, DAY);
    assert_eq!(next("s1"), none);
    later(&host, 5_000);
    let then = Timestamp(START + DAY);
    let first = Continuity { last_session_end: Some(then), since_ms: Some(5_000), sessions: 2 };
    assert_eq!(next("s2"), first);
    later(&host, 2 * DAY);
    add(&host, &who("s3"), state("Now", 1));
    let it = rehydrate(&host, &who("s1"), rehydration(20_000, None));
    assert_eq!(it.continuity.last_session_end, Some(Timestamp(host.now.get())));
    assert_eq!((it.continuity.since_ms, it.continuity.sessions), (Some(0), 3));
    assert!(it.text.contains("Sessions: 3; the last other one worked until"));
    later(&host, 3 * 60 * 60 * 1_000);
    let text = rehydrate(&host, ORCHESTRATOR, rehydration(500, None)).text;
    assert!(text.contains(", 3 hours ago."), "{text}");
}
