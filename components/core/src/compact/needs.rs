//! Items that mislead without another one: an earlier value without its correction, and a short answer
//! without what it answers.

use super::{condense::is_output, weigh};
use crate::{
    extract::{
        claim::{Token, TokenKind, names_same, tokens},
        unit_of,
    },
    item::Item,
    text::words::Reader,
};

/// A longer text names more than one value, and stands for itself.
const TEXT_BYTES_MAX: usize = 400;
/// The most earlier items with a value that an item is compared with.
const COMPARED_MAX: usize = 16;
/// An answer of more words says something itself.
const ANSWER_WORDS_MAX: usize = 6;
/// The units of time are the first ones.
const TIME_UNITS: usize = 8;
/// Numbers that are often written as words.
const NUMERALS: [&str; 11] =
    ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
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

/// Returns for each item the place of the one that it needs.
pub(super) fn needs(items: &[Item]) -> Vec<Option<usize>> {
    let mut reader = Reader::default();
    let mut needs = vec![None; items.len()];
    let mut valued: Vec<(usize, Vec<Token>)> = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let text = item.text().unwrap_or_default();
        if text.len() > TEXT_BYTES_MAX || !weigh::is_said_by_user(item) {
            continue;
        }
        let read = tokens(&mut reader, text);
        let before = place.checked_sub(1);
        if before
            .and_then(|it| items.get(it))
            .is_some_and(|it| !weigh::is_of_user(it) && !is_output(it))
            && is_answer(text, &read)
            && let Some(it) = needs.get_mut(place)
        {
            *it = before;
        }
        if measures(&read).next().is_none() {
            continue;
        }
        let earlier = valued.iter().rev().take(COMPARED_MAX).find(|it| corrects(&read, &it.1));
        if let Some(it) = earlier.and_then(|it| needs.get_mut(it.0)) {
            *it = Some(place);
        }
        valued.push((place, read));
    }
    needs
}

/// Returns true for an answer that says nothing by itself: `yes absolutely, good catch`.
fn is_answer(text: &str, read: &[Token]) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|it| !it.is_empty());
    let first = words.next().unwrap_or_default();
    ANSWERS.iter().any(|it| it.eq_ignore_ascii_case(first))
        && words.count() < ANSWER_WORDS_MAX
        && !read.iter().any(|it| it.kind == TokenKind::Hard)
}

/// Returns the numbers of a text, each with the word behind it.
fn measures(read: &[Token]) -> impl Iterator<Item = (&Token, &Token)> {
    let is_number = |it: &Token| {
        it.form.starts_with(|c: char| c.is_ascii_digit()) || NUMERALS.contains(&it.form.as_str())
    };
    let pairs = read.iter().zip(read.iter().skip(1));
    pairs.filter(move |(a, b)| is_number(a) && b.kind == TokenKind::Word && b.stem != 0)
}

/// Returns true if a text has another number of the same things as an earlier one, or another time for
/// the same subject.
fn corrects(new: &[Token], old: &[Token]) -> bool {
    let is_subject =
        |it: &&Token| it.kind == TokenKind::Word && it.stem != 0 && unit_of(&it.form) == 0;
    let shares = new.iter().filter(is_subject).any(|it| old.iter().any(|one| one.stem == it.stem));
    let is_time = |it: &Token| (1..=TIME_UNITS).contains(&unit_of(&it.form));
    shares
        && measures(new).any(|(number, what)| {
            measures(old).any(|(before, of)| {
                let is_same_time = is_time(what) && is_time(of);
                let differs =
                    !names_same(number, before) || unit_of(&what.form) != unit_of(&of.form);
                differs && (is_same_time || what.stem == of.stem)
            })
        })
}
