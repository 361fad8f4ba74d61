//! The orders of searches, and their pages.

use std::cmp::Reverse;

use proptest::{prelude::*, sample::select};
use shared_context_core::memories::{
    Content, Cursor, FoundMemory, Kind, MemoryId, SearchMemories, Severity, Sort,
};

use crate::{
    MemoriesCommand, ORCHESTRATOR, TestHost, add_all, ask, find, id, important, issue, learning,
    project,
    random::{self, WORDS},
    search, set, state, titles,
};

/// Returns what comes first in an order, the highest first.
fn key(sort: Sort, it: &FoundMemory) -> u64 {
    let severity = it.memory.content.as_ref().and_then(Content::severity);
    match sort {
        Sort::Relevance => it.rank.total().into(),
        Sort::Importance => it.memory.importance.into(),
        Sort::Timestamp => 0,
        Sort::Severity => severity.map_or(0, |it| match it {
            Severity::Low => 1,
            Severity::Medium => 2,
            Severity::High => 3,
            Severity::Critical => 4,
        }),
        Sort::Access => it.uses.count.into(),
    }
}

/// Returns the ids of all pages.
fn pages(host: &TestHost, it: &SearchMemories) -> Vec<MemoryId> {
    let (mut ids, mut it) = (Vec::new(), it.clone());
    loop {
        let page = find(host, it.clone());
        assert!(page.found.len() <= usize::try_from(it.limit).unwrap());
        assert!(!page.found.is_empty() || ids.is_empty());
        ids.extend(page.found.iter().map(|it| it.memory.id));
        let Some(next) = page.next else { return ids };
        // As it is sent.
        it.cursor = Some(Cursor::parse(&next.text()).unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn pages_have_each_memory_once_in_order(
        all in random::some(24),
        query in proptest::option::of(select(&WORDS[..])),
        limit in 1..5_u32,
    ) {
        let (host, _) = random::stored(all);
        for sort in Sort::ALL {
            let query = query.map(str::to_owned);
            let whole = SearchMemories { query, sort: Some(sort), ..search() };
            let found = find(&host, whole.clone());
            prop_assert_eq!(found.next, None);
            let place = |it: &FoundMemory| Reverse((key(sort, it), it.memory.at, it.memory.number()));
            let mut sorted = found.found.clone();
            sorted.sort_by_key(place);
            let ids = |it: &[FoundMemory]| it.iter().map(|it| it.memory.id).collect::<Vec<_>>();
            prop_assert_eq!(ids(&sorted), ids(&found.found));
            let paged = pages(&host, &SearchMemories { limit, ..whole });
            prop_assert_eq!(paged, ids(&found.found));
        }
    }
}

#[test]
fn of_equal_memories_the_newest_is_first() {
    let host = project();
    let all = vec![
        important(9, issue("old critical", Severity::Critical)),
        important(9, issue("low", Severity::Low)),
        learning("plain", "It is plain"),
        issue("new critical", Severity::Critical),
        state("other", 1),
    ];
    let added = add_all(&host, ORCHESTRATOR, all);
    for nth in [2, 2, 4] {
        ask(&host, ORCHESTRATOR, MemoriesCommand::Read(vec![id(added[nth].id)]));
    }
    let by = |sort: Sort| titles(&host, SearchMemories { sort: Some(sort), ..search() });
    assert_eq!(by(Sort::Severity), ["new critical", "old critical", "low", "other", "plain"]);
    assert_eq!(by(Sort::Importance), ["low", "old critical", "other", "new critical", "plain"]);
    assert_eq!(by(Sort::Access), ["plain", "other", "new critical", "low", "old critical"]);
    let newest = ["other", "new critical", "plain", "low", "old critical"];
    assert_eq!(by(Sort::Timestamp), newest);
    assert_eq!(titles(&host, search()), newest, "without a query, time is the order");
    let query = Some("critical".to_owned());
    let best = find(&host, SearchMemories { query, ..search() });
    assert_eq!(best.found[0].memory.title, "old critical", "with one, it is relevance");
    let issues = SearchMemories { kind: Some(Kind::Issue), limit: 1, ..search() };
    let first = find(&host, issues);
    assert_eq!((first.total, first.found.len(), first.next.is_some()), (3, 1, true));
}

#[test]
fn a_page_that_is_just_full_is_the_last() {
    let host = project();
    let all: Vec<_> = (0..100).map(|it| state(&format!("State {it}"), 1)).collect();
    let added = add_all(&host, ORCHESTRATOR, all);
    let whole = find(&host, search());
    assert_eq!((whole.total, whole.found.len(), whole.next), (100, 100, None));
    assert_eq!(
        set(pages(&host, &SearchMemories { limit: 50, ..search() }).iter().map(|it| it.number())),
        set(added.iter().map(|it| it.id.number()))
    );
}
