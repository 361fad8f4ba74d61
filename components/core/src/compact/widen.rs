//! Facts with what limits or names them: a sentence alone may say more than its speaker did, or not
//! of what.
//!
//! The text of a fact that a digest may have begins with the name of its speaker, or with the
//! sentence that a pronoun in it points at, and ends behind the sentences that limit it.

use crate::extract::{
    Class, Fact,
    line::{head, sentence_ends},
};

/// The most bytes before a fact, or of a sentence behind it, that are added.
const ADDED_BYTES_MAX: usize = 200;
/// The bytes that are read before and behind a fact.
const READ_BYTES_MAX: usize = 800;
/// A sentence of at most this many words may be about what a pronoun in it points at.
const POINTING_WORDS_MAX: usize = 6;
/// A limit of at most this many words, as in `No wait.`, says what holds in the next sentence.
const BARE_WORDS_MAX: usize = 2;
/// The words with which a sentence limits the one before it, or takes it back.
const LIMITS: [&str; 16] = [
    "not ",
    "no wait",
    "no, ",
    "no.",
    "but ",
    "except",
    "unless",
    "only if",
    "only when",
    "wait",
    "or rather",
    "scratch that",
    "correction",
    "never mind",
    "however",
    "if ",
];
const PRONOUNS: [&str; 6] = ["it", "them", "this", "that", "those", "these"];

/// Returns the text of a fact of `whole`, the text of its item, with what limits or names it.
pub(super) fn widened<'a>(whole: &'a str, fact: &'a Fact) -> &'a str {
    let may_be_limited = matches!(
        fact.class,
        Class::Constraint | Class::Decision | Class::Preference | Class::Critical | Class::Fact
    );
    let (start, end) = (fact.place.start, fact.place.end);
    let is_of_line = !fact.text.contains('\n') && whole.get(start..end) == Some(&fact.text);
    if !may_be_limited || !is_of_line {
        return &fact.text;
    }
    // Not all of a line is read: it may have thousands of facts.
    let near = |mut at: usize| {
        while !whole.is_char_boundary(at) {
            at = at.saturating_sub(1);
        }
        at
    };
    let first = near(start.saturating_sub(READ_BYTES_MAX));
    let last = near(end.saturating_add(READ_BYTES_MAX).min(whole.len()));
    let before = whole.get(first..start).unwrap_or_default();
    let of_line = before.rsplit('\n').next().unwrap_or_default();
    let is_whole = first == 0 || of_line.len() < before.len();
    let behind = whole.get(end..last).unwrap_or_default().split('\n').next().unwrap_or_default();
    let from = start.saturating_sub(if is_whole { named(of_line, fact) } else { 0 });
    let to = end.saturating_add(limited(behind));
    whole.get(from..to).unwrap_or(&fact.text)
}

/// Returns how many bytes right before a fact name its speaker or what it is about. `before` is the
/// line up to it.
fn named(before: &str, fact: &Fact) -> usize {
    let head = head(before, &|_| false);
    let speaker = head.speaker.filter(|it| fact.made_by.as_deref() == Some(*it));
    let from = speaker.and_then(|it| before.find(it)).or_else(|| {
        let said = before.get(head.rest..)?.trim_end();
        let last = sentence_ends(said).filter(|it| *it < said.len()).last().unwrap_or(0);
        let sentence = said.get(last..).filter(|it| !it.is_empty() && points_back(&fact.text))?;
        let lead = sentence.len().saturating_sub(sentence.trim_start().len());
        Some(head.rest.saturating_add(last).saturating_add(lead))
    });
    let length = from.map_or(0, |it| before.len().saturating_sub(it));
    if length <= ADDED_BYTES_MAX { length } else { 0 }
}

/// Returns true if a sentence is about what a pronoun in it points at: `Never touch it.`
pub(crate) fn points_back(text: &str) -> bool {
    let words =
        || text.split(|c: char| !(c.is_alphanumeric() || c == '\'')).filter(|it| !it.is_empty());
    let is_plain = |it: &str| it.bytes().all(|it| it.is_ascii_lowercase() || it == b'\'');
    words().count() <= POINTING_WORDS_MAX
        && words().skip(1).all(is_plain)
        && words().skip(1).any(|it| PRONOUNS.contains(&it))
}

/// Returns how many bytes of the line behind a fact limit it or take it back.
fn limited(behind: &str) -> usize {
    let (mut from, mut length) = (0, 0);
    let mut is_bare = false;
    for end in sentence_ends(behind) {
        let sentence = behind.get(from..end).unwrap_or_default().trim();
        let lower = sentence.to_lowercase();
        let begins = LIMITS.iter().any(|it| lower.starts_with(it));
        if end.saturating_sub(from) > ADDED_BYTES_MAX || !(is_bare || begins) {
            break;
        }
        is_bare = begins && lower.split_whitespace().count() <= BARE_WORDS_MAX;
        from = end;
        length = behind.get(..end).unwrap_or_default().trim_end().len();
    }
    length
}
