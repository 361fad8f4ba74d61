//! Searches: filters, queries and snippets.

use proptest::{prelude::*, sample::select};
use shared_context_core::{
    Participant, SessionId,
    memories::{Kind, Mark, NewMemory, SearchMemories, Severity, Status},
    time::Timestamp,
};

use crate::{
    AGENT, DAY, ORCHESTRATOR, START, add, ask, at, decision, find, issue, learning, mark, memory,
    project,
    random::{self, Stored, TAGS},
    search, set, state, tagged, text, titles, words,
};

fn session(it: &str) -> Option<SessionId> {
    SessionId::new(it)
}

#[expect(clippy::unnecessary_wraps, reason = "as a search has it")]
fn participant(it: &str) -> Option<Participant> {
    Some(Participant::parse(it).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_search_finds_what_all_its_filters_allow(
        all in random::some(20),
        kind in proptest::option::of(select(&Kind::ALL[..])),
        tags in proptest::sample::subsequence(TAGS.to_vec(), 0..=2),
        importance_min in proptest::option::of(1..=10_u8),
        times in (proptest::option::of(0..100_u64), proptest::option::of(0..100_u64)),
        status in proptest::option::of(select(&Status::ALL[..])),
        who in (select(&[None, Some("s1"), Some("s2")][..]), select(&[None, Some(AGENT)][..])),
    ) {
        let (host, all) = random::stored(all);
        let (after, before) = (times.0.map(|it| START - it * DAY), times.1.map(|it| START - it * DAY));
        // Each filter alone, and all together.
        let filters = [
            SearchMemories { kind, ..search() },
            SearchMemories { tags: tags.iter().map(|it| (*it).to_owned()).collect(), ..search() },
            SearchMemories { importance_min, ..search() },
            SearchMemories { after: after.map(Timestamp), ..search() },
            SearchMemories { before: before.map(Timestamp), ..search() },
            SearchMemories { status, ..search() },
            SearchMemories { session: who.0.and_then(session), ..search() },
            SearchMemories { participant: who.1.and_then(participant), ..search() },
            SearchMemories { is_archived: true, ..search() },
            SearchMemories {
                kind: None,
                tags: tags.iter().map(|it| (*it).to_owned()).collect(),
                importance_min,
                session: who.0.and_then(session),
                participant: who.1.and_then(participant),
                ..search()
            },
        ];
        for it in filters {
            let allows = |one: &&Stored| {
                let (memory, at) = (&one.it, Timestamp(one.at));
                memory.is_archived == it.is_archived
                    && it.kind.is_none_or(|it| it == memory.kind)
                    && it.tags.iter().all(|it| memory.tags.contains(&it.as_str()))
                    && it.importance_min.is_none_or(|it| memory.importance >= it)
                    && it.after.is_none_or(|it| at > it)
                    && it.before.is_none_or(|it| at < it)
                    && it.status.is_none_or(|it| {
                        memory.kind == Kind::Issue
                            && memory.is_resolved == (it == Status::Resolved)
                    })
                    && it.session.as_ref().is_none_or(|it| memory.session == Some(it.as_str()))
                    && it.participant.as_ref().is_none_or(|it| memory.by == it.as_str())
            };
            let wanted = set(all.iter().filter(allows).map(|it| it.id.number()));
            let found = find(&host, it.clone());
            prop_assert_eq!(usize::try_from(found.total), Ok(wanted.len()));
            let found = set(found.found.iter().map(|it| it.memory.number()));
            prop_assert_eq!(found, wanted, "{:?}", it);
        }
    }
}

#[test]
fn a_query_finds_words_in_titles_tags_and_contents() {
    let host = project();
    add(&host, ORCHESTRATOR, learning("Connection pools", "They run dry at night"));
    add(&host, ORCHESTRATOR, issue("Login", Severity::High));
    let new = tagged(&["pool"], state("Release", 5));
    add(&host, ORCHESTRATOR, new);
    for (query, found) in [
        ("POOL", vec!["Connection pools", "Release"]),
        ("running at nights", vec!["Connection pools"]),
        ("login or pools", vec!["Connection pools", "Login", "Release"]),
        ("work", vec!["Login"]),
        ("unknown", vec![]),
        ("of the", vec![]),
        ("?!", vec![]),
    ] {
        assert_eq!(
            set(titles(&host, words(query))),
            set(found.iter().map(|it| (*it).to_owned())),
            "{query}"
        );
    }
}

#[test]
fn chinese_is_found_by_pairs_of_characters() {
    let host = project();
    add(&host, ORCHESTRATOR, learning("数据库连接池", "夜间连接数耗尽，需要扩大连接池。"));
    add(&host, ORCHESTRATOR, learning("缓存", "会话保存在缓存中。"));
    assert_eq!(titles(&host, words("连接池大小")), ["数据库连接池"]);
    assert_eq!(titles(&host, words("缓存")), ["缓存"]);
    assert_eq!(titles(&host, words("前端")), [""; 0]);
    let found = find(&host, words("扩大"));
    assert_eq!(found.found[0].snippet, "夜间连接数耗尽，需要扩大连接池。");
}

#[test]
fn a_snippet_is_the_best_part_in_one_line() {
    let host = project();
    let lesson = "First it rained. Then the pool ran dry.\nAt last\tit was over.";
    add(&host, ORCHESTRATOR, learning("Night", lesson));
    let snippet = |query: &str| find(&host, words(query)).found[0].snippet.clone();
    assert_eq!(snippet("pool"), "Then the pool ran dry.");
    assert_eq!(snippet("over last"), "At last it was over.");
    assert_eq!(snippet("night"), "First it rained.");
    add(&host, ORCHESTRATOR, learning("Length", &"é".repeat(500)));
    let long = snippet("length");
    assert_eq!((long.chars().count(), long.ends_with('…')), (160, true));
    let exact = learning("Fits", &"ö".repeat(160));
    add(&host, ORCHESTRATOR, exact);
    assert_eq!(snippet("fits"), "ö".repeat(160));
}

#[test]
fn archived_memories_are_found_in_place_of_others() {
    let host = project();
    let it = add(&host, ORCHESTRATOR, learning("Pools", "They run dry")).id;
    add(&host, ORCHESTRATOR, learning("Pool sizes", "They are small"));
    ask(&host, ORCHESTRATOR, mark(&[it], Mark::Archived));
    assert_eq!(titles(&host, words("pool")), ["Pool sizes"]);
    let archived = SearchMemories { is_archived: true, ..words("pool") };
    assert_eq!(titles(&host, archived), ["Pools"]);
}

#[test]
fn times_are_limits_that_are_left_out() {
    let host = project();
    for (title, ms) in [("A", START - 2), ("B", START - 1), ("C", START)] {
        let members = [("summary", text(title))];
        let new = memory(Kind::Handoff, title, &members);
        add(&host, ORCHESTRATOR, NewMemory { at: at(ms), ..new });
    }
    let within = SearchMemories { after: at(START - 2), before: at(START), ..search() };
    assert_eq!(titles(&host, within), ["B"]);
}

/// The ids that people say to each other were looked for as words: of `DEC-2026-02-20-001` only the
/// numbers were found, in other memories.
#[test]
fn a_memory_is_found_by_its_ids() {
    let host = project();
    let first = add(&host, ORCHESTRATOR, decision("Queue", "Postgres of 2026 holds the queue"));
    let second = add(&host, ORCHESTRATOR, decision("Cache", "Redis 2026 holds the cache"));
    let gone = "DEC-2026-02-20-009";
    for (it, title) in [(&first, "Queue"), (&second, "Cache")] {
        for query in [it.id.to_string(), format!(" {} ", it.decision.unwrap())] {
            let found = find(&host, words(&query));
            assert_eq!((found.total, found.found[0].memory.title.as_str()), (1, title), "{query}");
        }
    }
    // What is no id of a memory is words.
    assert_eq!(titles(&host, words(gone)).len(), 2);
    // The other filters hold.
    let archived = SearchMemories { is_archived: true, ..words(&first.id.to_string()) };
    assert_eq!(titles(&host, archived), [""; 0]);
}
