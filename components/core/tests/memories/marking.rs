//! Marks: archived, active, deleted, verified.

use shared_context_core::{
    Code, MemoriesReply,
    memories::{Mark, MemoryRef, SearchMemories},
    time::Timestamp,
};

use crate::{
    AGENT, ORCHESTRATOR, START, add, ask, at, check_totals, decision, later, learning, mark,
    project, read, refused, rehydrate, rehydration, search, state, supersede, titles,
};

#[test]
fn only_an_orchestrator_marks() {
    let host = project();
    let it = add(&host, AGENT, learning("Mine", "It is mine")).id;
    for each in Mark::ALL {
        assert_eq!(refused(&host, AGENT, mark(&[it], each)), Code::Forbidden);
        let reply = ask(&host, ORCHESTRATOR, mark(&[it], each));
        assert_eq!(reply, MemoriesReply::Marked { ids: vec![it], mark: each });
    }
    ask(&host, "admin", mark(&[it], Mark::Archived));
}

#[test]
fn marks_are_set_on_all_or_none() {
    let host = project();
    let [a, b] = ["A", "B"].map(|it| add(&host, ORCHESTRATOR, state(it, 1)).id);
    let missing = MemoryRef::parse("DEC-2026-02-20-001").unwrap();
    let ids = vec![MemoryRef::Id(a), missing];
    let bad = shared_context_core::MemoriesCommand::Mark { ids, mark: Mark::Archived };
    assert_eq!(refused(&host, ORCHESTRATOR, bad), Code::MemoryNotFound);
    ask(&host, ORCHESTRATOR, mark(&[a, b], Mark::Archived));
    assert_eq!(titles(&host, search()), [""; 0]);
    let archived = SearchMemories { is_archived: true, ..search() };
    assert_eq!(titles(&host, archived.clone()), ["B", "A"]);
    later(&host, 5);
    ask(&host, ORCHESTRATOR, mark(&[a], Mark::Archived));
    assert_eq!(read(&host, AGENT, a).memory.archived_at, at(START), "since it was first");
    ask(&host, ORCHESTRATOR, mark(&[a, b], Mark::Active));
    assert_eq!((titles(&host, search()).len(), titles(&host, archived).len()), (2, 0));
    let restored = read(&host, AGENT, a).memory;
    assert_eq!((restored.changed_at, restored.version), (Timestamp(START + 5), 1));
}

#[test]
fn a_memory_that_was_replaced_can_be_restored() {
    let host = project();
    let [a, b, c] = ["A", "B", "C"].map(|it| add(&host, ORCHESTRATOR, state(it, 1)).id);
    ask(&host, ORCHESTRATOR, supersede(a, c));
    ask(&host, ORCHESTRATOR, supersede(b, c));
    assert_eq!(read(&host, AGENT, c).links.supersedes, [a, b]);
    // Both at once, with the one that replaced them.
    ask(&host, ORCHESTRATOR, mark(&[a, c, b], Mark::Active));
    assert_eq!(read(&host, AGENT, c).links.supersedes, []);
    for it in [a, b] {
        let it = read(&host, AGENT, it);
        assert_eq!((it.links.superseded_by, it.memory.archived_at), (None, None));
    }
    check_totals(&host);
    // Also when the one that replaced it is gone.
    ask(&host, ORCHESTRATOR, supersede(a, c));
    ask(&host, ORCHESTRATOR, mark(&[c], Mark::Deleted));
    crate::maintain(&host, false);
    ask(&host, ORCHESTRATOR, mark(&[a], Mark::Active));
    assert_eq!(read(&host, AGENT, a).links.superseded_by, None);
    check_totals(&host);
}

#[test]
fn what_is_marked_for_deletion_is_there_until_maintenance() {
    let host = project();
    let it = add(&host, ORCHESTRATOR, state("Gone soon", 1)).id;
    ask(&host, ORCHESTRATOR, mark(&[it], Mark::Deleted));
    assert!(read(&host, AGENT, it).memory.is_marked);
    assert_eq!(titles(&host, search()), ["Gone soon"]);
    let told = rehydrate(&host, ORCHESTRATOR, rehydration(500, None));
    assert!(!told.text.contains("Gone soon"), "a new session does not build on it");
    ask(&host, ORCHESTRATOR, mark(&[it], Mark::Active));
    assert_eq!(crate::maintain(&host, false).actions, []);
    assert!(!read(&host, AGENT, it).memory.is_marked);
}

#[test]
fn a_proposal_counts_once_it_is_confirmed() {
    let host = project();
    let new = crate::important(8, decision("Tokens", "Sign them with RS256"));
    let it = add(&host, AGENT, new).id;
    let told = || rehydrate(&host, ORCHESTRATOR, rehydration(2_000, None));
    let first = told();
    assert_eq!((first.unverified, first.text.contains("RS256")), (1, false));
    ask(&host, ORCHESTRATOR, mark(&[it], Mark::Verified));
    let then = told();
    assert_eq!((then.unverified, then.text.contains("RS256")), (0, true));
    assert!(!then.text.contains("Unverified"));
}

/// A decision that was named by both of its ids was marked, or read, twice; the same id twice was an
/// error.
#[test]
fn a_memory_is_named_once_by_either_id() {
    let host = project();
    let it = add(&host, ORCHESTRATOR, decision("Tokens", "Sign them with RS256"));
    let ids = vec![MemoryRef::Id(it.id), MemoryRef::Decision(it.decision.unwrap())];
    for twice in [
        shared_context_core::MemoriesCommand::Mark { ids: ids.clone(), mark: Mark::Archived },
        shared_context_core::MemoriesCommand::Read(ids),
    ] {
        assert_eq!(refused(&host, ORCHESTRATOR, twice), Code::MalformedRequest);
    }
}
