//! The rank of found memories, against a plain reference.

use proptest::{collection::vec, prelude::*, sample::select};
use shared_context_core::memories::{Kind, Rank, SearchMemories};

use crate::{
    DAY, ORCHESTRATOR, START, add, at, find, important,
    random::{self, Stored, TAGS, WORDS},
    read, search, state, words,
};

/// Returns a float of a count.
fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}

/// Returns the score of each text by BM25, divided by the best.
fn scores(query: &[&str], texts: &[Vec<&str>]) -> Vec<f64> {
    let count = float(texts.len());
    let average = float(texts.iter().map(Vec::len).sum()) / count;
    let mut scores = vec![0.0; texts.len()];
    for word in query {
        let times = |text: &Vec<&str>| text.iter().filter(|it| *it == word).count();
        let having = texts.iter().filter(|it| times(it) > 0).count();
        let rarity = ((count + 1.0) / (float(having) + 0.5)).log2();
        for (score, text) in scores.iter_mut().zip(texts) {
            let times = float(times(text));
            let length = 1.2 * (0.25 + 0.75 * float(text.len()) / average);
            *score += rarity * times * 2.2 / (times + length);
        }
    }
    let best = scores.iter().copied().fold(0.0, f64::max);
    if best > 0.0 {
        for score in &mut scores {
            *score /= best;
        }
    }
    scores
}

/// Asserts that a rank is that of the formula.
fn check(rank: &Rank, it: &Stored, title: f64, content: f64) {
    let near = |part: u16, exact: f64| (f64::from(part) - exact).abs() <= 2.0;
    assert!(near(rank.title, title * 1_500.0), "title {title} of {it:?}: {rank:?}");
    assert!(near(rank.content, content * 2_500.0), "content {content} of {it:?}: {rank:?}");
    assert_eq!(rank.importance, u16::from(it.it.importance) * 250);
    let days = (START - it.at) / DAY;
    assert_eq!(u64::from(rank.recency), 60_000 / (30 + days));
    assert_eq!(u32::from(rank.access), it.it.reads.min(10) * 150);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_rank_is_that_of_the_formula(
        all in random::some(16),
        mut query in vec(select([&WORDS[..], &TAGS[..]].concat()), 1..4),
        kind in proptest::option::weighted(0.3, select(&Kind::ALL[..])),
    ) {
        let (host, all) = random::stored(all);
        let it = SearchMemories { kind, ..words(&query.join(" of the ")) };
        let found = find(&host, it);
        query.sort_unstable();
        query.dedup();
        let is_meant = |it: &&Stored| !it.it.is_archived && kind.is_none_or(|kind| kind == it.it.kind);
        let all: Vec<&Stored> = all.iter().filter(is_meant).collect();
        // A tag counts as a word of the title.
        let titles = all.iter().map(|it| it.it.title.split(' ').chain(it.it.tags.clone()).collect());
        let titles: Vec<Vec<&str>> = titles.collect();
        let texts: Vec<Vec<&str>> =
            all.iter().map(|it| it.words.iter().map(String::as_str).collect()).collect();
        let scores: Vec<(f64, f64)> =
            scores(&query, &titles).into_iter().zip(scores(&query, &texts)).collect();
        let wanted = scores.iter().filter(|it| it.0 > 0.0 || it.1 > 0.0).count();
        prop_assert_eq!(usize::try_from(found.total), Ok(wanted));
        prop_assert_eq!(found.found.len(), wanted);
        for one in &found.found {
            let place = all.iter().position(|it| it.id == one.memory.id).unwrap();
            check(&one.rank, all[place], scores[place].0, scores[place].1);
            prop_assert_eq!(one.uses.count, all[place].it.reads);
        }
        let key = |it: &shared_context_core::memories::FoundMemory| {
            (it.rank.total(), it.memory.at, it.memory.number())
        };
        prop_assert!(found.found.is_sorted_by(|a, b| key(a) > key(b)), "the best first");
    }

    #[test]
    fn without_a_query_words_count_nothing(all in random::some(8)) {
        let (host, all) = random::stored(all);
        for one in find(&host, search()).found {
            let it = all.iter().find(|it| it.id == one.memory.id).unwrap();
            check(&one.rank, it, 0.0, 0.0);
        }
    }
}

#[test]
fn the_parts_of_a_rank_are_shown() {
    let host = crate::project();
    let mut new = important(10, state("zorb", 1));
    new.at = at(START - 30 * DAY);
    let it = add(&host, ORCHESTRATOR, new).id;
    for _ in 0..3 {
        read(&host, ORCHESTRATOR, it);
    }
    let rank = find(&host, words("zorb")).found[0].rank;
    let parts = [rank.title, rank.content, rank.importance, rank.recency, rank.access];
    assert_eq!((parts, rank.total()), ([1_500, 2_500, 2_500, 1_000, 450], 7_950));
}
