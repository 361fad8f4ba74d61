//! Words that the best texts for a task have in common (pseudo-relevance feedback).
//!
//! A task and the texts that answer it often use different words. The best three texts show which:
//! their most distinctive words count a little, too. A text without any relevance is not raised.

use super::bm25::{Corpus, ONE, Terms};

/// The number of texts that words are taken from. Texts as good as the last of these count, too.
const TEXTS: usize = 3;
/// The number of words that are taken.
const WORDS: usize = 8;
/// The weight of the best of them, as a fraction of that of a word of the task.
const WEIGHT_DIVISOR: u64 = 5;
/// In how many texts a word must occur.
const FREQUENCY_MIN: u64 = 2;

/// Returns words that are not in `task` and their weights, from the texts with the best `scores`.
pub(super) fn expand(corpus: &Corpus, task: &Terms, scores: &[u64]) -> (Terms, Vec<u64>) {
    let chosen = best(scores);
    let mut words = Vec::new();
    for (text, _) in &chosen {
        words.extend(corpus.words(*text).iter().filter(|it| task.find(**it).is_none()));
    }
    words.sort_unstable();
    words.dedup();
    let terms = Terms::new(words);
    let values = values(corpus, &terms, &chosen);
    let highest = values.iter().copied().max().unwrap_or(0);
    let mut taken: Vec<(u64, u64)> = Vec::new();
    let mut left: Vec<(u64, u64)> = terms.words().iter().copied().zip(values).collect();
    left.retain(|(_, value)| *value > 0);
    while taken.len() < WORDS {
        // Of equal values the first word wins: words are sorted.
        let places = left.iter().enumerate().rev();
        let Some((place, _)) = places.max_by_key(|(_, (_, value))| *value) else { break };
        taken.push(left.remove(place));
    }
    let weight =
        |value: u64| value.saturating_mul(ONE).checked_div(highest).unwrap_or(0) / WEIGHT_DIVISOR;
    let mut words: Vec<u64> = taken.iter().map(|(word, _)| *word).collect();
    words.sort_unstable();
    let value_of = |word: &u64| taken.iter().find(|(it, _)| it == word).map_or(0, |(_, it)| *it);
    let weights = words.iter().map(|it| weight(value_of(it))).collect();
    (Terms::new(words), weights)
}

/// Returns the texts with the best scores above 0, each with its share of the best.
fn best(scores: &[u64]) -> Vec<(usize, u64)> {
    let mut highest = [0_u64; TEXTS];
    for score in scores {
        let place = highest.partition_point(|it| it >= score);
        if let Some(behind) = highest.get_mut(place..)
            && let Some(last) = behind.last_mut()
        {
            *last = *score;
            behind.rotate_right(1);
        }
    }
    let [first, .., last] = highest;
    let share = |score: u64| score.saturating_mul(ONE).checked_div(first).unwrap_or(0);
    let chosen = scores.iter().enumerate().filter(|(_, it)| **it > 0 && **it >= last);
    chosen.map(|(text, score)| (text, share(*score))).collect()
}

/// Returns the value of each term: the shares of the texts that have it, times its rarity. Terms of
/// a single text have none.
fn values(corpus: &Corpus, terms: &Terms, chosen: &[(usize, u64)]) -> Vec<u64> {
    let mut shares = vec![(0_u64, 0_usize); terms.words().len()];
    for (nth, (text, share)) in (1_usize..).zip(chosen) {
        for place in corpus.words(*text).iter().filter_map(|it| terms.find(*it)) {
            let Some((sum, last)) = shares.get_mut(place) else { continue };
            if *last != nth {
                *sum = sum.saturating_add(*share);
                *last = nth;
            }
        }
    }
    let frequencies = corpus.frequencies(terms);
    let value = |((share, _), frequency): ((u64, usize), u64)| match frequency {
        FREQUENCY_MIN.. => share.saturating_mul(corpus.rarity(frequency)) / ONE,
        _ => 0,
    };
    shares.into_iter().zip(frequencies).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_texts_are_chosen_with_all_that_equal_the_last() {
        let chosen = |scores: &[u64]| -> Vec<usize> {
            best(scores).into_iter().map(|(text, _)| text).collect()
        };
        assert_eq!(chosen(&[1, 5, 0, 3, 4, 2]), [1, 3, 4]);
        assert_eq!(chosen(&[2, 5, 2, 3, 2]), [0, 1, 2, 3, 4]);
        assert_eq!(chosen(&[0, 7, 0]), [1]);
        assert_eq!(chosen(&[]), [0_usize; 0]);
        assert_eq!(best(&[4, 8]), [(0, ONE / 2), (1, ONE)]);
    }

    #[test]
    fn words_of_the_best_texts_are_added() {
        let mut corpus = Corpus::default();
        for text in ["cache eviction policy", "eviction runs nightly", "a list of names"] {
            corpus.push(text, None);
        }
        let task = corpus.terms("cache");
        let (terms, weights) = expand(&corpus, &task, &[9, 0, 0]);
        let eviction = corpus.terms("eviction");
        assert_eq!(terms.words(), eviction.words(), "the other words are in one text only");
        assert_eq!(weights, [ONE / WEIGHT_DIVISOR]);
    }
}
