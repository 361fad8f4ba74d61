//! Adding memories: ids, repetitions, batches, warnings.

use shared_context_core::{
    Code, MemoriesCommand, MemoriesReply, ProjectConfig,
    item::Authority,
    memories::{
        Added, Mark, MemoryRef, MemoryWarningCode, NewMemory, RehydrateMemories, SearchMemories,
        Status,
    },
    time::Timestamp,
};

use crate::{
    AGENT, DAY, ORCHESTRATOR, START, add, add_all, ask, at, check_totals, codes, decision, done,
    find, id, important, info, issue, later, learning, mark, memory, project, project_of, read,
    refused, rehydrate, rehydration, search, state, supersede, support::TestHost, tagged, text,
    titles, words,
};
use shared_context_core::memories::{Kind, Severity};

fn day(it: &Added) -> String {
    it.decision.unwrap().to_string()
}

#[test]
fn an_id_is_a_uuid_of_version_8_and_decisions_have_a_second_one() {
    let host = project();
    let first = add(&host, ORCHESTRATOR, decision("Tokens", "Sign them with RS256"));
    let text = first.id.to_string();
    assert_eq!((text.len(), &text[14..15]), (36, "8"));
    assert!("89ab".contains(&text[19..20]), "{text}");
    assert_eq!((first.version, first.is_new), (1, true));
    assert_eq!(day(&first), "DEC-2026-02-20-001");
    let other = add(&host, ORCHESTRATOR, learning("Pools", "They run dry"));
    assert_eq!(other.decision, None);
    assert_eq!(other.id.number(), 2);
    for id in ["DEC-2026-02-20-001", text.as_str()] {
        let ids = vec![MemoryRef::parse(id).unwrap()];
        let read = ask(&host, ORCHESTRATOR, MemoriesCommand::Read(ids));
        let MemoriesReply::Read(read) = read else { panic!("{read:?}") };
        assert_eq!(read[0].memory.id, first.id);
    }
}

#[test]
fn the_numbers_of_decisions_start_again_each_day() {
    let host = project();
    let pair = vec![decision("A", "Use one"), decision("B", "Take another")];
    let pair = add_all(&host, ORCHESTRATOR, pair);
    assert_eq!([day(&pair[0]), day(&pair[1])], ["DEC-2026-02-20-001", "DEC-2026-02-20-002"]);
    let midnight = (START / DAY + 1) * DAY;
    host.now.set(midnight - 1);
    let last = add(&host, ORCHESTRATOR, decision("C", "Keep a third"));
    assert_eq!(day(&last), "DEC-2026-02-20-003");
    host.now.set(midnight);
    // The day is that of the addition, whenever the decision was made.
    let earlier = NewMemory { at: at(START), ..decision("D", "Drop the fourth") };
    assert_eq!(day(&add(&host, ORCHESTRATOR, earlier)), "DEC-2026-02-21-001");
    let wanted = MemoryRef::parse("DEC-2026-02-21-001").unwrap();
    ask(&host, ORCHESTRATOR, MemoriesCommand::Read(vec![wanted]));
    let missing = MemoryRef::parse("DEC-2026-02-21-002").unwrap();
    assert_eq!(
        refused(&host, ORCHESTRATOR, MemoriesCommand::Read(vec![missing])),
        Code::MemoryNotFound
    );
    // A clock that goes back to the day before does not number that day anew.
    host.now.set(midnight - 1);
    assert_eq!(day(&add(&host, ORCHESTRATOR, decision("E", "Have a fifth"))), "DEC-2026-02-21-002");
}

#[test]
fn the_same_words_are_added_once() {
    let host = project();
    let new = tagged(&["db", "Pool"], learning("Pools", "They run dry at 20 connections"));
    let first = add(&host, ORCHESTRATOR, new.clone());
    let rows = host.project_rows("");
    // Importance, time and the order of tags are not what a memory says.
    let again = tagged(&["pool", "db", "DB"], important(9, new.clone()));
    let again = add(&host, AGENT, NewMemory { at: at(START - DAY), ..again });
    assert_eq!((again.id, again.version, again.is_new), (first.id, 1, false));
    assert_eq!(codes(&again), [MemoryWarningCode::AlreadyStored]);
    assert_eq!(host.project_rows(""), rows, "nothing was committed");
    for other in [
        NewMemory { title: "Pool".to_owned(), ..new.clone() },
        tagged(&["db"], new.clone()),
        memory(Kind::Handoff, "Pools", &[("summary", text("They run dry at 20 connections"))]),
    ] {
        assert!(add(&host, ORCHESTRATOR, other).is_new);
    }
    // In one batch, too.
    let twice = vec![state("One", 5), state("One", 5), new];
    let twice = add_all(&host, ORCHESTRATOR, twice);
    assert_eq!(twice.iter().map(|it| it.is_new).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(twice[0].id, twice[1].id);
    assert_eq!(info(&host).memories, 5);
    check_totals(&host);
}

/// The reply said of an archived memory how to restore it, but not of one that the next maintenance
/// removes: what an agent wanted to keep was gone with it.
#[test]
fn a_repetition_says_if_the_memory_is_archived_or_marked() {
    let host = project();
    let new = learning("Pools", "They run dry");
    let it = add(&host, ORCHESTRATOR, new.clone());
    ask(&host, ORCHESTRATOR, mark(&[it.id], Mark::Archived));
    let again = add(&host, ORCHESTRATOR, new.clone());
    assert!(again.warnings[0].message.contains("is archived"), "{again:?}");
    ask(&host, ORCHESTRATOR, mark(&[it.id], Mark::Deleted));
    let again = add(&host, ORCHESTRATOR, new.clone());
    assert!(again.warnings[0].message.contains("marked for deletion"), "{again:?}");
    assert!(!again.warnings[0].message.contains("dry"), "no warning repeats the memory");
    // What has expired, or was removed, is no repetition.
    crate::maintain(&host, false);
    let brief = NewMemory { expires_at: at(START + 10), ..new.clone() };
    assert!(add(&host, ORCHESTRATOR, brief).is_new);
    later(&host, 10);
    assert!(add(&host, ORCHESTRATOR, new).is_new);
    check_totals(&host);
}

#[test]
fn a_batch_is_added_whole_or_not_at_all() {
    let host = project();
    let kept = add(&host, ORCHESTRATOR, learning("Kept", "It stays"));
    let gone = add(&host, ORCHESTRATOR, learning("Gone", "It goes"));
    ask(&host, ORCHESTRATOR, mark(&[gone.id], Mark::Archived));
    for (bad, code) in [
        (NewMemory { at: at(START + 1), ..learning("Later", "x") }, Code::MalformedRequest),
        (NewMemory { expires_at: at(START), ..learning("Over", "x") }, Code::MalformedRequest),
        (NewMemory { supersedes: vec![id(gone.id)], ..learning("New", "x") }, Code::MemoryArchived),
    ] {
        let first = NewMemory { supersedes: vec![id(kept.id)], ..learning("First", "It is fine") };
        let batch = MemoriesCommand::Add(vec![first, bad]);
        assert_eq!(refused(&host, ORCHESTRATOR, batch), code);
    }
    let missing = MemoryRef::parse("DEC-2020-01-01-001").unwrap();
    let bad = NewMemory { parent: Some(missing), ..learning("Child", "x") };
    let batch = MemoriesCommand::Add(vec![learning("First", "It is fine"), bad]);
    assert_eq!(refused(&host, ORCHESTRATOR, batch), Code::MemoryNotFound);
    assert_eq!(info(&host).memories, 2);
}

#[test]
fn a_project_holds_as_many_memories_as_its_configuration_says() {
    let host = project_of(ProjectConfig { memories_max: 3, ..ProjectConfig::default() });
    add_all(&host, ORCHESTRATOR, vec![state("One", 1), state("Two", 2)]);
    let two = MemoriesCommand::Add(vec![state("Three", 3), state("Four", 4)]);
    assert_eq!(refused(&host, ORCHESTRATOR, two), Code::MemoryLimit);
    let third = add(&host, ORCHESTRATOR, state("Three", 3));
    let more = || MemoriesCommand::Add(vec![state("Four", 4)]);
    assert_eq!(refused(&host, ORCHESTRATOR, more()), Code::MemoryLimit);
    assert!(!add(&host, ORCHESTRATOR, state("Three", 3)).is_new, "a repetition fits");
    ask(&host, ORCHESTRATOR, mark(&[third.id], Mark::Archived));
    assert_eq!(refused(&host, ORCHESTRATOR, more()), Code::MemoryLimit, "archived ones count");
    ask(&host, ORCHESTRATOR, mark(&[third.id], Mark::Deleted));
    crate::maintain(&host, false);
    let fourth = add(&host, ORCHESTRATOR, state("Four", 4));
    assert_eq!(fourth.id.number(), 4, "a number is given once");
}

#[test]
fn an_archived_project_is_read_and_not_changed() {
    use shared_context_core::{Command, ProjectCommand};
    let host = project();
    let it = add(&host, ORCHESTRATOR, learning("Pools", "They run dry"));
    done(&host, "admin", &Command::Project(ProjectCommand::Archive));
    for change in [
        MemoriesCommand::Add(vec![state("One", 1)]),
        crate::change(crate::update(it.id)),
        supersede(it.id, it.id),
        mark(&[it.id], Mark::Archived),
        MemoriesCommand::Maintain { is_dry_run: false },
    ] {
        assert_eq!(refused(&host, ORCHESTRATOR, change), Code::ProjectArchived);
    }
    let rows = host.project_rows("");
    assert_eq!(read(&host, "orchestrator in s", it.id).uses.count, 1);
    assert_eq!(find(&host, words("pools")).total, 1);
    assert!(rehydrate(&host, "orchestrator in s", rehydration(500, None)).text.contains("Pools"));
    assert!(crate::maintain(&host, true).is_dry_run);
    assert_eq!(host.project_rows(""), rows, "reads are not counted");
}

#[test]
fn proposals_and_words_of_third_parties_are_unverified() {
    let host = project();
    let is_verified = |host: &TestHost, who: &str, new: NewMemory| {
        let it = add(host, who, new);
        let is_verified = read(host, who, it.id).memory.is_verified;
        assert_eq!(codes(&it).contains(&MemoryWarningCode::Unverified), !is_verified);
        is_verified
    };
    assert!(!is_verified(&host, AGENT, decision("A", "Use one")));
    assert!(is_verified(&host, ORCHESTRATOR, decision("B", "Take the other")));
    assert!(is_verified(&host, "admin", decision("C", "Keep a third")));
    assert!(is_verified(&host, AGENT, learning("D", "It rained")));
    // A source that did not say how far it can be trusted was trusted more than a third party.
    for authority in [Authority::ToolExternal, Authority::Unknown] {
        let of = |it: NewMemory| NewMemory { authority, title: format!("{authority:?}"), ..it };
        assert!(!is_verified(&host, ORCHESTRATOR, of(learning("E", "A page said so"))));
        assert!(!is_verified(&host, AGENT, of(state("F", 1))));
    }
    let model = NewMemory { authority: Authority::Model, ..learning("G", "It snowed") };
    assert!(is_verified(&host, AGENT, model));
}

/// A memory that others belong to may be archived at any time, so it may be before they are added.
#[test]
fn a_memory_may_belong_to_an_archived_one() {
    let host = project();
    let parent = add(&host, ORCHESTRATOR, state("Parent", 1)).id;
    ask(&host, ORCHESTRATOR, mark(&[parent], Mark::Archived));
    let child = NewMemory { parent: Some(id(parent)), ..learning("Child", "It rained") };
    let child = add(&host, AGENT, child).id;
    assert_eq!(read(&host, AGENT, child).links.parent, Some(parent));
    check_totals(&host);
}

#[test]
fn the_system_sets_who_when_and_where() {
    let host = project();
    let new = NewMemory { at: at(START - DAY), ..issue("Login", Severity::High) };
    let it = add(&host, "subagent:a in s-1", new);
    let memory = read(&host, ORCHESTRATOR, it.id).memory;
    assert_eq!((memory.at, memory.created_at), (Timestamp(START - DAY), Timestamp(START)));
    assert_eq!(memory.created_by.as_str(), AGENT);
    assert_eq!(memory.created_in.unwrap().as_str(), "s-1");
    assert_eq!(memory.status, Some(Status::Open), "an issue is open unless it says otherwise");
    let it = add(&host, "admin", state("One", 1));
    let memory = read(&host, ORCHESTRATOR, it.id).memory;
    assert_eq!((memory.created_in, memory.status, memory.at), (None, None, Timestamp(START)));
}

const LONG: &str = "The pool of the database was cut from 200 to 20 connections because the \
    database ran out of memory on the night of the release";

#[test]
fn a_memory_that_says_nearly_the_same_is_pointed_at() {
    let host = project();
    let first = add(&host, ORCHESTRATOR, learning("Pool size", LONG));
    add(&host, ORCHESTRATOR, learning("Lunch", "The canteen closes at two"));
    let like = learning("Pool size", &LONG.replace("because", "since"));
    let it = add(&host, "orchestrator in s1", like);
    assert!(it.is_new);
    assert_eq!(codes(&it), [MemoryWarningCode::SimilarMemory]);
    assert!(it.warnings[0].message.contains(&first.id.to_string()));
    assert!(it.warnings[0].message.contains("says nearly the same"));
    // Of the same subject: the title has the same words.
    let subject = add(&host, ORCHESTRATOR, learning("the lunch", "Soup is served on Mondays"));
    assert_eq!(codes(&subject), [MemoryWarningCode::SimilarMemory]);
    assert!(subject.warnings[0].message.contains("has this subject"));
    assert_eq!(codes(&add(&host, ORCHESTRATOR, learning("Dinner", "None is served"))), []);
    // What it replaces is no surprise.
    let new = learning("Dinner", "It is served on Sundays");
    let old = find(&host, words("dinner")).found[0].memory.id;
    let it = add(&host, ORCHESTRATOR, NewMemory { supersedes: vec![id(old)], ..new });
    assert_eq!(codes(&it), []);
}

#[test]
fn what_a_session_was_shown_is_recalled() {
    let ways: [fn(&TestHost, Added); 2] = [
        |host, it| drop(read(host, "subagent:a in s1", it.id)),
        |host, _| {
            let it = RehydrateMemories { with_unverified: true, ..rehydration(5_000, None) };
            drop(rehydrate(host, "subagent:a in s1", it));
        },
    ];
    for way in ways {
        let host = project();
        let it = add(&host, ORCHESTRATOR, learning("Pool size", LONG));
        way(&host, it);
        let like = |nth: u32| learning("Pool size", &LONG.replace("200", &format!("{nth}")));
        // A search shows no memory to a session: it is not counted.
        find(&host, search());
        let other = add(&host, "subagent:a in s2", like(300));
        assert_eq!(codes(&other), [MemoryWarningCode::SimilarMemory], "another session");
        ask(&host, ORCHESTRATOR, mark(&[other.id], Mark::Deleted));
        crate::maintain(&host, false);
        let own = add(&host, "subagent:b in s1", like(400));
        assert_eq!(codes(&own), [MemoryWarningCode::Recalled]);
    }
}

#[test]
fn secrets_and_raw_data_are_warned_of() {
    let host = project();
    let key = add(&host, ORCHESTRATOR, learning("Access", "The key is AKIAIOSFODNN7EXAMPLE"));
    assert_eq!(codes(&key), [MemoryWarningCode::LooksSensitive]);
    assert!(!key.warnings[0].message.contains("AKIA"));
    let lines = (10..40).map(|it| format!("2026-02-20T14:{it}:00Z INFO request {it} took 5 ms"));
    let log = lines.collect::<Vec<_>>().join("\n");
    assert_eq!(
        codes(&add(&host, ORCHESTRATOR, learning("Log", &log))),
        [MemoryWarningCode::LooksRaw]
    );
}

/// A memory that was named by both of its ids was replaced twice, and the second time it was archived:
/// the addition failed.
#[test]
fn a_memory_that_is_superseded_by_both_ids_is_replaced_once() {
    let host = project();
    let old = add(&host, ORCHESTRATOR, decision("Tokens", "Sign them with HS256"));
    let supersedes = vec![id(old.id), MemoryRef::Decision(old.decision.unwrap())];
    let new = decision("Tokens", "Sign them with RS256 keys");
    let new = add(&host, ORCHESTRATOR, NewMemory { supersedes, parent: Some(id(old.id)), ..new });
    let (old, new) = (read(&host, AGENT, old.id), read(&host, AGENT, new.id));
    assert_eq!(new.links.supersedes, [old.memory.id]);
    assert_eq!(new.links.parent, Some(old.memory.id));
    assert_eq!(old.links.superseded_by, Some(new.memory.id));
    assert_eq!(old.memory.archived_at, Some(Timestamp(START)));
    check_totals(&host);
}

#[test]
fn an_agent_supersedes_only_what_it_wrote() {
    let host = project();
    let theirs = add(&host, ORCHESTRATOR, learning("Pools", "They run dry"));
    let own = add(&host, AGENT, learning("Mine", "It is mine"));
    let with = |old: &Added| NewMemory { supersedes: vec![id(old.id)], ..learning("New", "It is") };
    assert_eq!(refused(&host, AGENT, MemoriesCommand::Add(vec![with(&theirs)])), Code::Forbidden);
    assert!(add(&host, AGENT, with(&own)).is_new);
}

/// An orchestrator that added a memory with the words of a proposal got the reply that it is
/// stored, but not that it is unverified and so not shown to new sessions.
#[test]
fn words_that_are_stored_and_unverified_are_reported_so() {
    let host = project();
    let new = decision("Tokens", "Sign them with RS256");
    let first = add(&host, AGENT, new.clone()).id;
    let told = || {
        let again = add(&host, ORCHESTRATOR, new.clone());
        assert_eq!(
            (again.id, codes(&again).as_slice()),
            (first, &[MemoryWarningCode::AlreadyStored][..])
        );
        again.warnings[0].message.clone()
    };
    assert!(told().contains("not verified") && told().contains("mark_memories as verified"));
    ask(&host, ORCHESTRATOR, mark(&[first], Mark::Archived));
    assert!(told().contains("archived") && told().contains("not verified"));
    ask(&host, ORCHESTRATOR, mark(&[first], Mark::Active));
    ask(&host, ORCHESTRATOR, mark(&[first], Mark::Verified));
    assert!(!told().contains("verified"));
}

/// The reply said that the words were stored, and not that the decision they were to replace stays in
/// force.
#[test]
fn words_that_are_stored_replace_nothing_and_the_reply_says_so() {
    let host = project();
    let old = add(&host, ORCHESTRATOR, decision("Tokens", "Sign them with RS256")).id;
    let new = decision("Tokens", "Sign them with ES256");
    add(&host, AGENT, new.clone());
    let again = add(&host, ORCHESTRATOR, NewMemory { supersedes: vec![id(old)], ..new });
    let said = &again.warnings[0].message;
    assert!(said.contains("none was superseded: supersede_memory"), "{said}");
    assert_eq!(read(&host, ORCHESTRATOR, old).memory.superseded_by, None);
}

/// Each addition rewrote the signatures of 64 memories and a page of 1,024 sketches, 50 KB for a
/// lesson of one line: on a disk it took four times as long as the write of an entry.
#[test]
fn an_addition_writes_little() {
    let host = project();
    let lesson = |nth: usize| learning(&format!("lesson {nth}"), &"some words ".repeat(20));
    let many = |range: std::ops::Range<usize>| range.map(lesson).collect::<Vec<_>>();
    // Neither the last page nor the last segment is full then, and none of it is in the rows of the
    // newest.
    add_all(&host, ORCHESTRATOR, many(0..500));
    add_all(&host, ORCHESTRATOR, many(500..981));
    let mut written = Vec::new();
    let mut before = host.project_rows("");
    // Beyond the ends of a segment and of a page.
    for nth in 981..1_070 {
        add(&host, ORCHESTRATOR, lesson(nth));
        let after = host.project_rows("");
        let changed = after.iter().filter(|it| before.binary_search(it).is_err());
        written.push(changed.map(|it| it.1.len()).sum::<usize>());
        before = after;
        check_totals(&host);
    }
    assert_eq!(titles(&host, SearchMemories { limit: 100, ..search() }).len(), 100);
    written.sort_unstable();
    let (most, mean) = (written[written.len() - 1], written.iter().sum::<usize>() / written.len());
    assert!(written[written.len() / 2] < 3_000 && mean < 5_000, "{mean} of {written:?}");
    assert!(most < 40_000, "{most}");
}
