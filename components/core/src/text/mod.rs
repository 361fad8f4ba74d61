//! Comparison of texts by their words: the relevance of texts for a task, and the texts that repeat
//! each other.
//!
//! It needs no model, no index and no state. Callers name the method in their replies as
//! [`METHOD`], because a later version may score differently.
//!
//! # Invariants
//!
//! - The same texts in the same order give the same scores on every host. All numbers are integers.
//! - Statistics come from the texts of the call only.
//! - Any text is accepted. Time and memory are linear in the bytes of the texts, apart from sorting;
//!   each function states its bound.

pub mod likeness;
pub mod relevance;
pub mod words;

pub(crate) mod counted;
pub(crate) mod sketch;

mod bm25;
mod feedback;
mod fold;
mod normal;
mod stem;

pub(crate) use likeness::repetitions_where;
pub use likeness::{likeness, repetitions};
pub use relevance::{Candidate, has_words, relevance};

/// The name of the method in replies.
pub const METHOD: &str = "lexical/1";

/// A score between 0 and 1, in units of 1/10,000.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Score(pub u16);

impl Score {
    /// The score 1.
    pub const ONE: Self = Self(10_000);

    /// Returns `part / whole`, rounded down, at most 1. A part above 0 gives a score above 0.
    /// Without a whole it is 0.
    pub fn ratio(part: u64, whole: u64) -> Self {
        let one = u64::from(Self::ONE.0);
        let exact = u128::from(part).saturating_mul(u128::from(one));
        let Some(exact) = exact.checked_div(u128::from(whole)) else { return Self(0) };
        let rounded = exact.clamp(u128::from(part.min(1)), u128::from(one));
        Self(u16::try_from(rounded).unwrap_or(Self::ONE.0))
    }
}

/// Returns true if the text ends as a question.
pub(crate) fn ends_as_question(text: &str) -> bool {
    text.trim_end().ends_with(['?', '？', '؟'])
}

/// Returns the character that starts at a byte, if one does. Most are ASCII, for which this is faster
/// than to decode all characters before.
#[inline]
pub(crate) fn char_at(text: &str, place: usize) -> Option<char> {
    let byte = *text.as_bytes().get(place)?;
    if byte.is_ascii() { Some(char::from(byte)) } else { decoded_at(text, place) }
}

#[inline(never)]
fn decoded_at(text: &str, place: usize) -> Option<char> {
    text.get(place..)?.chars().next()
}

/// Returns the first place from `start` on where one of `phrases` begins, and the number of the phrase.
/// It reads the text once, not once for each phrase.
pub(crate) fn find_any(text: &str, phrases: &[&str], start: usize) -> Option<(usize, usize)> {
    let bit = |byte: u8| 1_u64 << (byte & 63);
    let first = |it: &&str| it.bytes().next().map_or(0, bit);
    let initials = phrases.iter().map(first).fold(0, |all, it| all | it);
    let mut rest = text.as_bytes().get(start..)?;
    while let [byte, after @ ..] = rest {
        let begins = |it: &&str| match it.as_bytes() {
            [one] => one == byte,
            // Most phrases differ in the second letter.
            [_, second, ..] => after.first() == Some(second) && rest.starts_with(it.as_bytes()),
            [] => false,
        };
        if initials & bit(*byte) != 0
            && let Some(nth) = phrases.iter().position(begins)
        {
            return Some((text.len().saturating_sub(rest.len()), nth));
        }
        rest = after;
    }
    None
}

/// Returns a text in lower case, with plain apostrophes.
pub(crate) fn lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let lower = text.to_lowercase();
    if lower.contains('’') { lower.replace('’', "'") } else { lower }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_between_0_and_1() {
        let of = |part, whole| Score::ratio(part, whole).0;
        assert_eq!([of(0, 0), of(1, 0), of(0, 7), of(7, 7), of(9, 7)], [0, 0, 0, 10_000, 10_000]);
        assert_eq!([of(1, 3), of(1, u64::MAX), of(u64::MAX, u64::MAX)], [3_333, 1, 10_000]);
    }
}
