//! Items that mislead without another one: an earlier value without its correction, and a short
//! answer without what it answers.

use super::{condense::is_output, weigh};
use crate::{
    extract::{
        claim::{NUMERALS, Token, TokenKind, names_same, tokens},
        unit_of,
    },
    item::Item,
    text::words::{Reader, Word},
};

/// A longer text names more than one value, and stands for itself.
const TEXT_BYTES_MAX: usize = 400;
/// The most earlier items with a value that an item is compared with.
const COMPARED_MAX: usize = 16;
/// An answer of more words says something itself.
const ANSWER_WORDS_MAX: usize = 6;
/// The units of time are the first ones.
const TIME_UNITS: usize = 8;
/// The first words of answers.
const ANSWERS: [&str; 14] = [
    "yes",
    "yep",
    "yeah",
    "no",
    "nope",
    "ok",
    "okay",
    "agreed",
    "sure",
    "right",
    "exactly",
    "absolutely",
    "correct",
    "fine",
];

/// A message of a person: its words, and its numbers, each with the word behind it.
#[derive(Default)]
struct Said {
    place: usize,
    words: Vec<Word>,
    numbers: Vec<(Token, Token)>,
}

/// Returns for each item the place of the one that it needs.
pub(super) fn needs(items: &[Item]) -> Vec<Option<usize>> {
    let mut reader = Reader::default();
    let mut needs = vec![None; items.len()];
    let mut valued: Vec<Said> = Vec::new();
    let mut answered = None;
    for (place, item) in items.iter().enumerate() {
        let text = item.text().unwrap_or_default();
        if text.len() <= TEXT_BYTES_MAX && weigh::is_said_by_user(item) {
            let read = tokens(&mut reader, text);
            if answered.is_some() && is_answer(text, &read) {
                set(&mut needs, place, answered);
            }
            let said = said(place, &read);
            if !said.numbers.is_empty() {
                let earlier = valued.iter().rev().take(COMPARED_MAX).find(|it| said.corrects(it));
                if let Some(earlier) = earlier {
                    set(&mut needs, earlier.place, Some(place));
                }
                valued.push(said);
            }
        }
        answered = (!weigh::is_of_user(item) && !is_output(item)).then_some(place);
    }
    needs
}

fn set(needs: &mut [Option<usize>], place: usize, need: Option<usize>) {
    if let Some(it) = needs.get_mut(place) {
        *it = need;
    }
}

/// Returns true for an answer that says nothing by itself: `yes absolutely, good catch`.
fn is_answer(text: &str, read: &[Token]) -> bool {
    let first = text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    ANSWERS.iter().any(|it| it.eq_ignore_ascii_case(first))
        && text.split_ascii_whitespace().count() <= ANSWER_WORDS_MAX
        && !read.iter().any(|it| it.kind == TokenKind::Hard)
}

/// Reads a message.
fn said(place: usize, read: &[Token]) -> Said {
    let mut said = Said { place, ..Said::default() };
    let mut last: Option<&Token> = None;
    for token in read {
        let is_word = token.kind == TokenKind::Word && token.stem != 0;
        if let Some(number) = last.filter(|_| is_word) {
            said.numbers.push((number.clone(), token.clone()));
        }
        let form = token.form.as_str();
        let is_number =
            form.as_bytes().first().is_some_and(u8::is_ascii_digit) || NUMERALS.contains(&form);
        if is_word && !is_number && unit_of(form) == 0 {
            said.words.push(token.stem);
        }
        last = is_number.then_some(token);
    }
    said
}

impl Said {
    /// Returns true if it has another number of the same things as an earlier one, or another time
    /// for the same subject.
    fn corrects(&self, old: &Self) -> bool {
        self.words.iter().any(|it| old.words.contains(it))
            && self.numbers.iter().any(|it| old.numbers.iter().any(|one| differ(it, one)))
    }
}

/// Returns true for two numbers of the same things, or of time, that differ.
fn differ((number, what): &(Token, Token), (before, of): &(Token, Token)) -> bool {
    let (unit, other) = (unit_of(&what.form), unit_of(&of.form));
    let is_time = |it: usize| (1..=TIME_UNITS).contains(&it);
    (unit != other || !names_same(number, before))
        && (what.stem == of.stem || is_time(unit) && is_time(other))
}
