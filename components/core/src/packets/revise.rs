//! Finds the statements of a conversation that a later one replaces, without any label (spec 18.4).
//!
//! A statement replaces an earlier one if it corrects something (`cues`), or if it is about the
//! same subject and has another value of the same kind: another time, number, path or name. All
//! other statements with the replaced value of this subject are removed as well.

use std::{borrow::Cow, ops::Range};

use super::{
    cues::{self, Lower},
    kinds::Part,
    statement::Statement,
};
use crate::{
    extract::claim::{Token, TokenKind, names_same, tokens},
    order::sorted,
    text::{
        find_any,
        words::{Reader, Word},
    },
};

/// The most earlier statements that a statement is compared with.
const COMPARED_MAX: usize = 64;
/// Numbers that are written as words.
const NUMERALS: [&str; 23] = [
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "fifteen", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
    "hundred", "thousand", "half",
];
/// A correction may leave out its subject if that was mentioned at most this many items before.
const NEAR: usize = 3;
/// A correction with more words than this names its subject itself.
const SUBJECTLESS_MAX: usize = 3;
/// The rest of a sentence is kept from this many words on.
const REST_WORDS_MIN: usize = 3;
/// The separators of clauses.
const CLAUSE_MARKS: [&str; 7] = [", and ", ", but ", "; ", " and ", " but ", ", ", ". "];
/// Words that name no subject.
pub(super) const GENERIC: &str = "use using let go make do done set keep put want need like please now \
    instead actually wait sorry change switch move run say think prefer pick choose store send \
    write add take get new old other one thing way bit still yes no ok okay right good sure well \
    us we i you it that this these those not never always only must should would could can will \
    may might have has be is are was were than rather more less most least at by for from in into \
    of on onto to with without and or but so then";

/// A statement, and its parsed content.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "five questions with independent answers")]
pub(super) struct Said {
    pub(super) statement: Statement,
    /// Its item and its first byte there.
    pub(super) place: (usize, usize),
    /// True if a person said it.
    pub(super) is_user: bool,
    /// True if a person agreed to it.
    pub(super) is_agreed: bool,
    /// True if it still holds.
    pub(super) is_live: bool,
    corrects: bool,
    /// True if it is an answer, with its question.
    is_answer: bool,
    /// The tokens of its text; none if they are not read yet.
    pub(super) tokens: Vec<Token>,
    words: Vec<Word>,
    /// Words after a number: units name no subject.
    units: Vec<Word>,
    values: Vec<Value>,
    /// The choices that it abandons.
    left: Vec<Token>,
}

/// A time, a number or a name.
#[derive(Debug, Clone)]
struct Value {
    token: Token,
    kind: ValueKind,
}

impl Value {
    /// Reads a token as a value, if it is one.
    fn of(token: &Token) -> Option<Self> {
        let is_value = token.kind == TokenKind::Hard || is_numeral(token);
        is_value.then(|| Self { kind: kind(token), token: token.clone() })
    }

    /// Returns true if two values are the same. Two times differ if any digit does.
    fn is(&self, other: &Self) -> bool {
        if self.kind == ValueKind::Time || other.kind == ValueKind::Time {
            return self.token.form == other.token.form;
        }
        names_same(&self.token, &other.token)
    }

    /// Returns true if one of the values is the same.
    fn is_in(&self, values: &[Self]) -> bool {
        values.iter().any(|it| it.is(self))
    }
}

/// The kind of a value: only values of one kind replace each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    Time,
    Number,
    Name,
}

impl Said {
    pub(super) fn new(statement: Statement, place: (usize, usize), is_user: bool) -> Self {
        let lower = statement.text.to_lowercase();
        let answer = lower.split_once(" — ").map(|it| it.1);
        let corrects = cues::corrects(&Lower::new(answer.unwrap_or(&lower)));
        let is_answer = answer.is_some();
        Self {
            statement,
            place,
            is_user,
            is_agreed: false,
            is_live: true,
            corrects,
            is_answer,
            tokens: Vec::new(),
            words: Vec::new(),
            units: Vec::new(),
            values: Vec::new(),
            left: Vec::new(),
        }
    }

    /// Replaces the text, with its tokens.
    fn set_text(&mut self, reader: &mut Reader, text: String) {
        self.tokens = tokens(reader, &text);
        self.statement.text = text;
    }

    fn read(&mut self, reader: &mut Reader, generic: &[Word]) {
        let text = self.statement.text.clone();
        let lower = text.to_lowercase();
        let left = left(&lower).and_then(|(from, to)| text.get(from..to)).unwrap_or_default();
        if !left.is_empty() {
            let read = tokens(reader, &format!("- {left}"));
            self.left = read.into_iter().filter(|it| it.stem != 0).collect();
        }
        let mut is_unit = false;
        if self.tokens.is_empty() {
            self.tokens = tokens(reader, &text);
        }
        for token in &self.tokens {
            let is_left = self.left.iter().any(|it| it.form == token.form);
            let (is_word, stem) = (token.kind == TokenKind::Word && token.stem != 0, token.stem);
            let value = Value::of(token);
            let is_count = value.as_ref().is_some_and(|it| it.kind == ValueKind::Number);
            let after_number = std::mem::replace(&mut is_unit, is_count);
            match value {
                Some(value) if !is_left => self.values.push(value),
                Some(_) => {}
                None if !is_word => {}
                None => {
                    if after_number {
                        self.units.push(stem);
                    }
                    if !generic.contains(&stem) && !self.words.contains(&stem) {
                        self.words.push(stem);
                    }
                }
            }
        }
    }
}

/// Marks the statements that a later one replaces. `all` is in the order of the conversation.
pub(super) fn revise(all: &mut [Said]) {
    let mut reader = Reader::default();
    let generic = reader.distinct(GENERIC);
    for it in all.iter_mut() {
        it.read(&mut reader, &generic);
    }
    for place in 0..all.len() {
        let Some((before, [later, ..])) = all.split_at_mut_checked(place) else { break };
        if later.statement.part == Part::Goal || !(later.is_user || later.is_agreed) {
            continue;
        }
        let mut replaced: Option<(usize, Vec<Value>)> = None;
        let mut is_nearest = true;
        for (nth, earlier) in before.iter().enumerate().rev().take(COMPARED_MAX) {
            if !earlier.is_live || earlier.statement.part == Part::Goal {
                continue;
            }
            let values = replaced_values(&mut reader, later, earlier, is_nearest);
            if shares_kind(later, earlier) {
                is_nearest = false;
            }
            if !values.is_empty() {
                replaced = Some((nth, values));
                break;
            }
        }
        let Some((nth, values)) = replaced else { continue };
        let Some(subject) = before.get(nth).map(|it| it.words.clone()) else { continue };
        for (at, it) in before.iter_mut().enumerate().rev().filter(|it| it.1.is_live) {
            let is_replaced = |one: &Value| values.iter().any(|it| it.token.form == one.token.form);
            let has_value = it.values.iter().any(is_replaced);
            let has_subject = it.words.iter().any(|it| subject.contains(it));
            if at == nth || (has_value && has_subject && it.statement.part != Part::Goal) {
                let short = it.statement.source.origin.short();
                match rest(&it.statement.text, &values, later, &mut reader) {
                    Some(rest) => {
                        it.set_text(&mut reader, rest);
                        let (values, tokens) = (&mut it.values, &it.tokens);
                        values.retain(|one| tokens.iter().any(|it| it.form == one.token.form));
                    }
                    None => it.is_live = false,
                }
                let has_words = it.words.iter().any(|it| later.words.contains(it));
                let lead = (at == nth && !has_words).then(|| lead(&it.statement.text, &values));
                later.statement.merged_from.insert(0, short);
                if let Some(lead) = lead.flatten() {
                    later.set_text(&mut reader, format!("{lead} … {}", later.statement.text));
                }
            }
        }
    }
}

/// Returns the parts of a text that have none of the values, if they say something of their own: the
/// clauses before, and those after with what they may have their subject from.
fn rest(text: &str, values: &[Value], later: &Said, reader: &mut Reader) -> Option<String> {
    let places = places(text, values);
    let (from, to) = (places.first()?.start, places.last()?.end);
    let mut says = |part: &str| {
        let read = tokens(reader, part);
        let mut read = read.iter().filter_map(Value::of);
        let has_value = read.any(|it| !it.is_in(&later.values));
        has_value && part.split_whitespace().count() >= REST_WORDS_MIN
    };
    let (before, after) = (text.get(..from)?, text.get(to..)?);
    let cut = CLAUSE_MARKS.iter().filter_map(|it| before.rfind(it)).max();
    let kept = cut.and_then(|it| before.get(..it)).map(str::trim).filter(|it| says(it));
    let next = CLAUSE_MARKS.iter().filter_map(|it| after.find(it)).min();
    let next = next.and_then(|it| after.get(it..)).map(|it| it.trim_start_matches([',', ';', ' ']));
    match (kept, next.filter(|it| says(it))) {
        (kept, None) => kept.map(str::to_owned),
        (kept, Some(next)) => Some(format!("{} … {next}", kept.unwrap_or(before.trim()))),
    }
}

/// Returns the text before the first of the values: the subject of a correction.
fn lead(text: &str, values: &[Value]) -> Option<String> {
    let lead = text.get(..places(text, values).first()?.start)?.trim();
    (lead.split_whitespace().count() >= REST_WORDS_MIN).then(|| lead.to_owned())
}

/// Returns where the values are in a text, the first first. `3` is not in `13`.
fn places(text: &str, values: &[Value]) -> Vec<Range<usize>> {
    let lower = text.to_lowercase();
    let is_word = |it: Option<char>| it.is_some_and(char::is_alphanumeric);
    let is_whole = |place: &Range<usize>| {
        let before = lower.get(..place.start).and_then(|it| it.chars().next_back());
        let after = lower.get(place.end..).and_then(|it| it.chars().next());
        !is_word(before) && !is_word(after)
    };
    let of = |form: &str| {
        let at = |(at, it): (usize, &str)| at..at.saturating_add(it.len());
        lower.match_indices(form).map(at).filter(is_whole).collect::<Vec<_>>()
    };
    // Where letters have other lengths in lower case, places are others.
    let is_same = lower.len() == text.len();
    let found = values.iter().filter(|_| is_same).flat_map(|it| of(&it.token.form));
    sorted(found.collect(), |a, b| a.start.cmp(&b.start))
}

/// Returns the values of an earlier statement that a later one replaces; none if it replaces nothing.
fn replaced_values(
    reader: &mut Reader,
    later: &Said,
    earlier: &Said,
    is_nearest: bool,
) -> Vec<Value> {
    // `Kafka instead of RabbitMQ` leaves what was said of RabbitMQ.
    let is_left = |one: &&Value| later.left.iter().any(|it| names_same(it, &one.token));
    let left: Vec<Value> = earlier.values.iter().filter(is_left).cloned().collect();
    if !left.is_empty() {
        return left;
    }
    if earlier.values.is_empty() {
        return Vec::new();
    }
    let shared = later.words.iter().filter(|it| earlier.words.contains(it)).count();
    if shared == 0 && !later.corrects {
        return Vec::new();
    }
    let is_unit = |it: &&Word| later.units.contains(it) || earlier.units.contains(it);
    let units = later.words.iter().filter(|it| earlier.words.contains(it)).filter(is_unit).count();
    let least = later.words.len().min(earlier.words.len());
    let news: Vec<&Value> = later.values.iter().filter(|it| !it.is_in(&earlier.values)).collect();
    let has_same = news.len() < later.values.len();
    let is_replaced =
        |old: &&Value| !old.is_in(&later.values) && news.iter().any(|it| it.kind == old.kind);
    let differing: Vec<Value> = earlier.values.iter().filter(is_replaced).cloned().collect();
    // `Thirty minutes are short: make it two hours` has both.
    let is_like = |it: &&&Value| {
        it.kind != ValueKind::Name && earlier.values.iter().any(|one| one.kind == it.kind)
    };
    let has_all = earlier.values.iter().all(|it| it.is_in(&later.values));
    if later.corrects && shared > 0 && has_all && news.iter().any(|it| is_like(&it)) {
        return earlier.values.clone();
    }
    if differing.is_empty() {
        return differing;
    }
    let is_close = is_nearest
        && !later.is_answer
        && later.words.len().saturating_sub(later.units.len()) <= SUBJECTLESS_MAX
        && later.place.0.saturating_sub(earlier.place.0) <= NEAR
        && differing.iter().all(|it| it.kind != ValueKind::Name);
    let subject = shared.saturating_sub(units);
    let replaces = if later.corrects {
        subject >= 1
            || (has_same && !later.is_answer)
            || is_close
            || (later.words.is_empty() && is_nearest)
    } else {
        // Two names may both be meant, unless all else is the same.
        let most = later.words.len().max(earlier.words.len());
        let is_named = differing.iter().any(|it| it.kind == ValueKind::Name);
        let is_like = shared == least && shared.saturating_mul(2) > most;
        subject >= 2 && shared.saturating_mul(3) >= least && (!is_named || is_like)
    };
    if replaces { of_clause(reader, differing, later, earlier) } else { Vec::new() }
}

/// Returns the values whose clause has most in common with a later statement: of `start at 02:00 and
/// retry at 03:00` a new time of the retry replaces the second. If none has anything, all.
fn of_clause(reader: &mut Reader, values: Vec<Value>, later: &Said, earlier: &Said) -> Vec<Value> {
    if values.len() < 2 {
        return values;
    }
    let text = &earlier.statement.text;
    let parts: Vec<&str> =
        text.split_inclusive([',', ';']).flat_map(|it| it.split(" and ")).collect();
    let clauses: Vec<Cow<'_, [Token]>> = match parts.as_slice() {
        [_] => vec![Cow::Borrowed(&earlier.tokens)],
        parts => parts.iter().map(|it| Cow::Owned(tokens(reader, it))).collect(),
    };
    let shared = |read: &[Token]| read.iter().filter(|it| later.words.contains(&it.stem)).count();
    let of_value = |value: &Value| {
        let has = |read: &&Cow<'_, [Token]>| read.iter().any(|it| it.form == value.token.form);
        clauses.iter().filter(has).map(|it| shared(it)).max().unwrap_or_default()
    };
    let most = values.iter().map(of_value).max().unwrap_or_default();
    values.iter().filter(|it| of_value(it) == most).cloned().collect()
}

fn shares_kind(a: &Said, b: &Said) -> bool {
    a.values.iter().any(|one| b.values.iter().any(|it| it.kind == one.kind))
}

fn kind(token: &Token) -> ValueKind {
    let digits = token.form.bytes().filter(u8::is_ascii_digit).count();
    // `24h` is a number, `rs256` a name.
    let has_number = token.form.starts_with(|it: char| it.is_ascii_digit());
    let is_clock = token.form.split_once(':').is_some_and(|(hour, minute)| {
        let is_number = |it: &str| it.starts_with(|c: char| c.is_ascii_digit());
        is_number(hour) && is_number(minute)
    });
    if is_clock {
        ValueKind::Time
    } else if is_numeral(token) || has_number && digits.saturating_mul(2) >= token.form.len() {
        ValueKind::Number
    } else {
        ValueKind::Name
    }
}

/// Returns true for a number that is written as a word.
fn is_numeral(token: &Token) -> bool {
    NUMERALS.contains(&token.form.as_str())
}

/// Returns the place of what a sentence in lower case says that it leaves: `instead of Y`, `rather
/// than Y`, `no longer Y`, `from Y to`, `not Y`.
fn left(lower: &str) -> Option<(usize, usize)> {
    const MARKS: [&str; 7] =
        ["instead of ", "rather than ", "no longer ", ", not ", "replace ", "forget ", "drop "];
    const ENDS: [&str; 7] = [",", ".", ";", " with ", " for ", " because ", " and "];
    let mut first: Option<(usize, usize)> = None;
    let mut start = 0;
    while let Some((at, nth)) = find_any(lower, &MARKS, start) {
        if first.is_none_or(|it| nth < it.1) {
            first = Some((at, nth));
        }
        start = at.saturating_add(1);
    }
    let (at, nth) = first?;
    let from = at.saturating_add(MARKS.get(nth)?.len());
    Some((from, find_any(lower, &ENDS, from).map_or(lower.len(), |it| it.0)))
}
