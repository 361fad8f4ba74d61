//! The parts of a score for items that no rule decides: recency, references, relevance, density
//! (decision 37), each in percent.
//!
//! References and density are ranks among the items, so that they use the whole range whatever the
//! conversation is about: 100 for the best item, 0 for the worst.
//!
//! - References: the number of rare words of the item that occur again later.
//! - Density: words that no earlier item has, numbers, dates, names, and what
//!   people say about themselves, for its length. An answer counts more, a question less.

use super::request::{Request, ScoreParts, Weighting};
use crate::{
    item::{Authority, Item, Kind, ListedKind},
    text::{
        Candidate, ends_as_question, has_words, relevance,
        words::{Reader, Word},
    },
};

/// Words of one person about themselves.
const OWN_WORDS: [&str; 15] = [
    "i", "i'm", "i've", "i'd", "i'll", "my", "me", "mine", "we", "we're", "we've", "we'll", "our",
    "ours", "us",
];
/// Words of time.
const TIME_WORDS: [&str; 29] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "yesterday",
    "today",
    "tomorrow",
    "week",
    "weekend",
    "month",
    "year",
    "ago",
    "last",
    "next",
];
/// At most this many words about themselves count.
const OWN_WORDS_MAX: u64 = 3;
/// Words that every text has, so that a short one is not dense because of one name.
const BASE_WORDS: u64 = 10;
/// A text with more tokens was probably pasted.
const SAID_TOKENS_MAX: u32 = 1_000;
/// The least share of what is missing to 100 that the words of a user get, in percent.
const USER_BONUS_MIN: u64 = 25;

/// The counts of a text.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    words: u64,
    numbers: u64,
    names: u64,
    own: u64,
    is_question: bool,
    is_answer: bool,
    /// Words that no earlier item has.
    new: u64,
    /// Rare words that a later item has too.
    later: u64,
}

/// Returns the parts for each item.
pub(super) fn parts(request: &Request<'_>, task: &str) -> Vec<ScoreParts> {
    let counts = counts(request.items);
    let references = ranks(counts.iter().map(|it| it.later).collect());
    let density = ranks(counts.iter().map(density).collect());
    let relevance = relevances(request.items, task);
    let last = request.items.len().saturating_sub(1).max(1);
    let places = 0..request.items.len();
    let rows = places.zip(references).zip(density).zip(relevance);
    rows.map(|(((place, references), density), relevance)| ScoreParts {
        recency: percent(place, last),
        references,
        relevance,
        density,
    })
    .collect()
}

/// Returns the share of what is missing to the best score that the words of a user get, in percent:
/// 100 less 1.7 times the share of the tokens that are a user's, at least 25.
///
/// In the transcript of an agent a user says little, and most of it matters. In a conversation of
/// equals it matters no more than the words of the others.
pub(super) fn user_bonus(items: &[Item]) -> u64 {
    let sum = |it: u64, item: &Item| it.saturating_add(item.tokens.0.into());
    let said = items.iter().filter(|it| is_said_by_user(it)).fold(0, sum);
    let share = said.saturating_mul(170).checked_div(items.iter().fold(0, sum)).unwrap_or(0);
    100_u64.saturating_sub(share).max(USER_BONUS_MIN)
}

/// Returns the score of an item, 31 to 99. `bonus` is the share of what is missing to the best score
/// that it gets for its speaker, in percent.
pub(super) fn score(parts: ScoreParts, weighting: Weighting, bonus: u64) -> u8 {
    let weights = match weighting {
        Weighting::Default => [30, 20, 30, 20],
        Weighting::Dense => [10, 20, 30, 40],
    };
    let ScoreParts { recency, references, relevance, density } = parts;
    let rows = [recency, references, relevance, density].into_iter().zip(weights);
    let sum = rows.map(|(part, weight)| u64::from(part).saturating_mul(weight)).sum::<u64>();
    let more = 10_000_u64.saturating_sub(sum).saturating_mul(bonus) / 100;
    let weighed = sum.saturating_add(more).saturating_mul(68).saturating_add(5_000) / 10_000;
    u8::try_from(weighed.saturating_add(31)).unwrap_or(99).min(99)
}

/// Returns true if the words of the item are those of a user, and not pasted.
pub(super) fn is_said_by_user(item: &Item) -> bool {
    is_of_user(item) && item.tokens.0 <= SAID_TOKENS_MAX
}

/// Returns true if the item is that of a user.
pub(super) fn is_of_user(item: &Item) -> bool {
    item.kind == Kind::Listed(ListedKind::UserMessage) || item.source.authority == Authority::User
}

fn density(counts: &Counts) -> u64 {
    let Counts { words, numbers, names, own, is_question, is_answer, new, .. } = *counts;
    let said = new.saturating_add(numbers).saturating_add(own.min(OWN_WORDS_MAX));
    let said = said.saturating_mul(2).saturating_add(names);
    let said = said.saturating_add(if is_answer { 2 } else { 0 });
    let said = said.saturating_sub(if is_question { 2 } else { 0 });
    said.saturating_mul(10_000) / words.saturating_add(BASE_WORDS)
}

fn relevances(items: &[Item], task: &str) -> Vec<u8> {
    if !has_words(task) {
        return vec![0; items.len()];
    }
    let texts = items.iter().map(|it| it.text().unwrap_or_default());
    let candidates: Vec<_> = texts.map(|text| Candidate { text, group: Some(0) }).collect();
    let scores = relevance(task, &candidates);
    scores.into_iter().map(|it| u8::try_from(it.0 / 100).unwrap_or(100)).collect()
}

fn percent(part: usize, whole: usize) -> u8 {
    let share = part.saturating_mul(100).checked_div(whole).unwrap_or(0);
    u8::try_from(share).unwrap_or(100)
}

/// Returns for each value the share of values that are lower, in percent.
fn ranks(values: Vec<u64>) -> Vec<u8> {
    let mut sorted = values.clone();
    sorted.sort_unstable();
    let last = sorted.len().saturating_sub(1).max(1);
    let lower = |value: u64| sorted.partition_point(|it| *it < value);
    values.into_iter().map(|it| percent(lower(it), last)).collect()
}

fn counts(items: &[Item]) -> Vec<Counts> {
    let mut reader = Reader::default();
    let mut is_answer = false;
    let mut counts = Vec::with_capacity(items.len());
    let mut all: Vec<(Word, usize)> = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let text = item.text().unwrap_or_default();
        let mut count = count(text);
        count.is_answer = std::mem::replace(&mut is_answer, count.is_question);
        all.extend(reader.distinct(text).into_iter().map(|it| (it, place)));
        counts.push(count);
    }
    all.sort_unstable();
    let rare = (items.len() / 20).max(3);
    for same in all.chunk_by(|a, b| a.0 == b.0) {
        let Some((first, rest)) = same.split_first() else { continue };
        if let Some(it) = counts.get_mut(first.1) {
            it.new = it.new.saturating_add(1);
        }
        if rest.is_empty() || same.len() > rare {
            continue;
        }
        for (_, place) in same.iter().take(rest.len()) {
            if let Some(it) = counts.get_mut(*place) {
                it.later = it.later.saturating_add(1);
            }
        }
    }
    counts
}

/// Counts the words of a text.
fn count(text: &str) -> Counts {
    let mut counts = Counts { is_question: ends_as_question(text), ..Counts::default() };
    let mut is_start = true;
    for word in text.split_ascii_whitespace() {
        counts.words = counts.words.saturating_add(1);
        let bare = word.trim_matches(|it: char| !it.is_alphanumeric());
        let has_digit = bare.bytes().any(|it| it.is_ascii_digit());
        let is = |list: &[&str]| list.iter().any(|it| it.eq_ignore_ascii_case(bare));
        let is_own = bare.len() <= 5 && is(&OWN_WORDS);
        if has_digit || is(&TIME_WORDS) {
            counts.numbers = counts.numbers.saturating_add(1);
        } else if is_own {
            counts.own = counts.own.saturating_add(1);
        } else if !is_start && bare.starts_with(char::is_uppercase) {
            counts.names = counts.names.saturating_add(1);
        }
        is_start = word.ends_with(['.', '!', '?', ':', ';']);
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{compact::Aim, tokens::Tokens};

    fn item(kind: ListedKind, text: &str) -> Item {
        Item::inline(text.len().to_string(), Kind::Listed(kind), text)
    }

    #[test]
    fn names_numbers_and_first_statements_are_dense() {
        let items: Vec<Item> = [
            "that sounds really good to everybody here and now and then",
            "We moved the ledger to Frankfurt on 3 May",
            "that sounds really good to everybody here and now",
        ]
        .into_iter()
        .map(|it| item(ListedKind::SessionHistory, it))
        .collect();
        let (aim, weighting) = (Aim::Tokens(Tokens(1)), Weighting::Dense);
        let request = Request { items: &items, task: "", aim, weighting };
        let parts = parts(&request, "");
        assert_eq!(parts.iter().map(|it| it.recency).collect::<Vec<_>>(), [0, 50, 100]);
        assert_eq!(parts.iter().map(|it| it.density).collect::<Vec<_>>(), [50, 100, 0]);
        let best = ScoreParts { recency: 100, references: 100, relevance: 100, density: 100 };
        let least = ScoreParts::default();
        assert_eq!([score(best, weighting, 0), score(least, weighting, 0)], [99, 31]);
        assert_eq!(score(least, weighting, 50), 65, "half of what is missing");
    }

    #[test]
    fn rare_words_of_a_user_count_more() {
        let said = item(ListedKind::UserMessage, "words");
        let wrote = item(ListedKind::SessionHistory, &"words ".repeat(50));
        assert_eq!(user_bonus(std::slice::from_ref(&said)), USER_BONUS_MIN);
        assert_eq!(user_bonus(&[said.clone(), wrote]), 96);
        assert_eq!(user_bonus(&[]), 100);
        let pasted = item(ListedKind::UserMessage, &"words ".repeat(1_000));
        assert!(is_said_by_user(&said) && !is_said_by_user(&pasted));
    }
}
