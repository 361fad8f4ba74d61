//! The relevance of texts for a task or a question, by their words.
//!
//! The score is that of `bm25` with the words of the task, then raised a little by
//! words of the best texts (`feedback`), divided by the best score of the call. A question does not
//! answer a question: where the task is one, a text that ends as one counts four fifths.
//!
//! # Invariants
//!
//! - 0 means that neither the text nor its neighbours or group have a word of the task.
//! - The best text has the score 1, unless all have 0.
//! - Scores do not depend on the order of the candidates, except for neighbours within a group.
//!
//! # Bound
//!
//! Time is linear in the bytes of the texts, with a factor that is the logarithm of the words of
//! the task. A word of the task touches five texts for each in which it occurs.

use super::{Score, bm25::Corpus, ends_as_question, feedback, words::Reader};

/// A text to be scored.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The text.
    pub text: &'a str,
    /// The group in which it has neighbours, such as a conversation: the candidates of one group
    /// are neighbours in their order. `None` for a text that stands alone.
    pub group: Option<u32>,
}

impl<'a> Candidate<'a> {
    /// Returns a candidate that stands alone.
    pub fn alone(text: &'a str) -> Self {
        Self { text, group: None }
    }
}

/// Returns how relevant each candidate is for `task`, in the order of the candidates.
///
/// ```
/// use shared_context_core::text::{Candidate, Score, relevance};
///
/// let texts = ["The pool has 20 connections.", "Lunch is at noon.", "Why are connections lost?"];
/// let scores = relevance("How many connections?", &texts.map(Candidate::alone));
/// assert_eq!(scores[0], Score::ONE);
/// assert!(scores[0] > scores[2] && scores[2] > scores[1]);
/// ```
pub fn relevance(task: &str, candidates: &[Candidate<'_>]) -> Vec<Score> {
    let order = in_groups(candidates);
    let bytes = candidates.iter().map(|it| it.text.len()).fold(0, usize::saturating_add);
    let mut corpus = Corpus::with_bytes(bytes);
    let mut group = None;
    let mut number: usize = 0;
    let is_question = ends_as_question(task);
    let mut questions = Vec::new();
    for candidate in order.iter().filter_map(|it| candidates.get(*it)) {
        if candidate.group.is_some() && group.is_some() && candidate.group != group {
            number = number.saturating_add(1);
        }
        group = candidate.group;
        corpus.push(candidate.text, group.map(|_| number));
        questions.push(is_question && ends_as_question(candidate.text));
    }
    let demoted = |scores: Vec<u64>| -> Vec<u64> {
        let score = |(score, is_question): (u64, &bool)| {
            if *is_question { score.saturating_mul(4) / 5 } else { score }
        };
        scores.into_iter().zip(&questions).map(score).collect()
    };
    let terms = corpus.terms(task);
    let mut scores = demoted(corpus.scores(&terms, &[], true));
    let (more, weights) = feedback::expand(&corpus, &terms, &scores);
    let gains = demoted(corpus.scores(&more, &weights, false));
    for (score, gain) in scores.iter_mut().zip(gains).filter(|(score, _)| **score > 0) {
        *score = score.saturating_add(gain);
    }
    let best = scores.iter().copied().max().unwrap_or(0);
    let mut result = vec![Score::default(); candidates.len()];
    for (place, score) in order.into_iter().zip(scores) {
        if let Some(it) = result.get_mut(place) {
            *it = Score::ratio(score, best);
        }
    }
    result
}

/// Returns true if a task has a word. Without one, nothing is relevant for it.
pub fn has_words(task: &str) -> bool {
    !Reader::default().distinct(task).is_empty()
}

/// Returns the places of the candidates: groups together, in their order, then those without one.
fn in_groups(candidates: &[Candidate<'_>]) -> Vec<usize> {
    let numbered = (0_u64..).zip(candidates);
    let mut keys: Vec<u64> =
        numbered.filter_map(|(nth, it)| Some(u64::from(it.group?) << 32 | nth)).collect();
    keys.sort_unstable();
    let grouped = keys.into_iter().filter_map(|it| usize::try_from(it & 0xFFFF_FFFF).ok());
    let alone = candidates.iter().enumerate().filter(|(_, it)| it.group.is_none());
    grouped.chain(alone.map(|(place, _)| place)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn alone(task: &str, texts: &[&str]) -> Vec<u16> {
        let candidates: Vec<_> = texts.iter().map(|it| Candidate::alone(it)).collect();
        relevance(task, &candidates).into_iter().map(|it| it.0).collect()
    }

    /// Scores turns of sessions: each is the number of its session and its text.
    fn grouped(task: &str, turns: &[(u32, &str)]) -> Vec<u16> {
        let candidates: Vec<_> =
            turns.iter().map(|(group, text)| Candidate { text, group: Some(*group) }).collect();
        relevance(task, &candidates).into_iter().map(|it| it.0).collect()
    }

    #[test]
    fn rare_words_count_more_and_long_texts_less() {
        let scores = alone(
            "pool timeout",
            &["the pool", "a timeout", "in pool", "pool of many other things", "nothing"],
        );
        let [common, rare, same, long, none] = scores[..] else { unreachable!() };
        assert_eq!(rare, 10_000);
        assert!(rare > common && common == same && same > long && long > none);
        assert_eq!(none, 0);
    }

    #[test]
    fn a_task_without_words_finds_nothing() {
        for (task, has) in [("", false), ("who is it?", false), ("…", false), ("absent", true)] {
            assert_eq!(has_words(task), has, "{task}");
            assert_eq!(alone(task, &["one", "two", ""]), [0, 0, 0], "{task}");
        }
        assert!(alone("x", &[]).is_empty());
    }

    #[test]
    fn a_word_counts_for_its_neighbours() {
        let turns =
            [(1, "a"), (1, "b"), (1, "limit"), (1, "c"), (1, "d"), (1, "e"), (2, "f"), (2, "g")];
        let scores = grouped("limit", &turns);
        assert_eq!(scores[2], 10_000);
        assert!(scores[1] > scores[0], "two places away counts less than one");
        assert_eq!([scores[1], scores[0]], [scores[3], scores[4]]);
        assert!(scores[4] > scores[5] && scores[5] > 0, "the group counts for all its texts");
        assert_eq!(scores[6..], [0, 0], "the other group has no word in common");
    }

    #[test]
    fn groups_may_be_mixed_with_each_other() {
        let apart = grouped("limit", &[(7, "limit"), (7, "b"), (3, "c"), (3, "limit of it")]);
        let mixed = grouped("limit", &[(3, "c"), (7, "limit"), (3, "limit of it"), (7, "b")]);
        assert_eq!(
            [apart[0], apart[1], apart[2], apart[3]],
            [mixed[1], mixed[3], mixed[0], mixed[2]]
        );
    }

    #[test]
    fn a_question_answers_no_question() {
        let texts = ["Which port now?", "port eighty"];
        assert_eq!(alone("Which port?", &texts), [7_999, 10_000], "four fifths, rounded down");
        assert_eq!(alone("Set the port", &texts), [10_000, 10_000]);
    }

    /// "eviction" is in the best text for the task and in one that shares no word with it.
    #[test]
    fn words_of_the_best_texts_reorder_but_never_add() {
        let texts = ["cache eviction", "cache eviction slow", "cache of names", "eviction tonight"];
        let scores = alone("cache", &texts);
        assert!(scores[1] > scores[2]);
        assert_eq!(scores[3], 0);
    }

    proptest! {
        #[test]
        fn any_texts_are_scored(
            task in "\\PC{0,20}|[a-d ]{0,20}",
            texts in proptest::collection::vec(("[a-d ?]{0,12}|\\PC{0,12}", proptest::option::of(0_u32..3)), 0..12),
        ) {
            let candidates: Vec<_> =
                texts.iter().map(|(text, group)| Candidate { text, group: *group }).collect();
            let scores = relevance(&task, &candidates);
            prop_assert_eq!(scores.len(), texts.len());
            let best = scores.iter().max().copied().unwrap_or_default();
            prop_assert!(best == Score::ONE || best == Score(0));
            prop_assert_eq!(&scores, &relevance(&task, &candidates));
        }

        #[test]
        fn scores_do_not_depend_on_the_order(
            task in "[a-f ]{1,12}",
            texts in proptest::collection::vec("[a-f ]{0,12}", 0..12),
            by in 0_usize..12,
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let mut moved = texts.clone();
            moved.reverse();
            moved.rotate_left(by % texts.len().max(1));
            let mut scores = alone(&task, &texts);
            scores.reverse();
            scores.rotate_left(by % texts.len().max(1));
            prop_assert_eq!(scores, alone(&task, &moved));
        }
    }
}
