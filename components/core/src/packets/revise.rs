//! Finds the statements of a conversation that a later one replaces, without any label (spec 18.4).
//!
//! A statement replaces an earlier one if it corrects something (`cues`), or if it is about the
//! same subject and has another value of the same kind: another time, number, path or name. All
//! other statements with the replaced value of this subject are removed as well.

use std::{borrow::Cow, ops::Range};

use super::{
    cues::{self, Lower},
    kinds::Part,
    left::{leaves, left},
    statement::Statement,
};
use crate::{
    extract::claim::{Token, TokenKind, names_same, tokens},
    order::sorted,
    text::words::{Reader, Word},
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
/// The second alternative of a question is read up to this many words.
const ALTERNATIVE_WORDS_MAX: usize = 3;
/// The unit of a share.
const PERCENT: Word = 1;
/// A correction such as `Thursday works better after all` has at most this many words.
const OTHER_WORDS_MAX: usize = 5;
/// A statement of fewer words has no subject that another could turn around.
const SUBJECT_WORDS_MIN: usize = 2;
/// A correction with more words than this names its subject itself.
const SUBJECTLESS_MAX: usize = 2;
/// The rest of a sentence is kept from this many words on.
const REST_WORDS_MIN: usize = 3;
/// The separators of clauses.
const CLAUSE_MARKS: [&str; 7] = [", and ", ", but ", "; ", " and ", " but ", ", ", ". "];
/// Words that name no subject.
pub(super) const GENERIC: &str = "use using let go make do done set keep put want need like please now \
    instead actually wait sorry mean change switch move run say think prefer pick choose store send \
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
    /// Its text in lower case: of an answer, without the question.
    lower: Lower,
    /// True if it is an answer, with its question.
    is_answer: bool,
    /// The tokens of its text; none if they are not read yet.
    pub(super) tokens: Vec<Token>,
    /// Those of the answer, of a statement that is one.
    chosen: Vec<Token>,
    words: Vec<Word>,
    /// Words after a number: units name no subject.
    units: Vec<Word>,
    values: Vec<Value>,
    /// The choices that it abandons.
    left: Vec<Token>,
}

/// A time, a number or a name.
#[derive(Debug, Clone, PartialEq)]
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
        let answer = statement.spoken().rsplit_once(" — ").map(|it| it.1);
        let lower = Lower::new(answer.unwrap_or(statement.spoken()));
        let corrects = cues::corrects(&lower) || cues::retracts(&lower);
        let is_answer = answer.is_some();
        Self {
            statement,
            place,
            is_user,
            is_agreed: false,
            is_live: true,
            corrects,
            lower,
            is_answer,
            tokens: Vec::new(),
            chosen: Vec::new(),
            words: Vec::new(),
            units: Vec::new(),
            values: Vec::new(),
            left: Vec::new(),
        }
    }

    /// Replaces the text, with its tokens.
    fn set_text(&mut self, reader: &mut Reader, text: String) {
        self.statement.text = text;
        self.tokens = tokens(reader, self.statement.spoken());
        self.chosen = self.answer_tokens(reader);
    }

    /// Returns the stems of its words and names that name something.
    fn stems(&self, generic: &[Word]) -> Vec<Word> {
        let stems = self.tokens.iter().map(|it| it.stem);
        stems.filter(|it| *it != 0 && !generic.contains(it)).collect()
    }

    /// Returns true unless both have units of their numbers, and none in common: `20 files` is no `25 MB`.
    fn is_of_unit(&self, other: &Self) -> bool {
        let (a, b) = (&self.units, &other.units);
        a.is_empty() || b.is_empty() || a.iter().any(|it| b.contains(it))
    }

    fn negates(&self) -> bool {
        self.tokens.iter().any(|it| it.kind == TokenKind::Negation)
    }

    /// Returns true if it has an alternative of the question `… A or B?` that was not chosen.
    fn names_other(&self, reader: &mut Reader, answered: &Self) -> bool {
        let Some((question, answer)) = answered.statement.text.split_once(" — ") else {
            return false;
        };
        let Some((before, after)) = question.split_once(" or ") else { return false };
        let before = before.rsplit(' ').next().unwrap_or_default();
        let after = after.split(' ').take(ALTERNATIVE_WORDS_MAX).collect::<Vec<_>>().join(" ");
        let (offered, said) =
            (reader.distinct(&[before, " ", &after].concat()), reader.distinct(answer));
        self.tokens.iter().any(|it| offered.contains(&it.stem) && !said.contains(&it.stem))
    }

    /// Returns the tokens of the answer, of a statement that is one.
    fn answer_tokens(&self, reader: &mut Reader) -> Vec<Token> {
        let answer = self.statement.text.rsplit_once(" — ").map(|it| it.1);
        answer.map_or_else(Vec::new, |it| tokens(reader, it))
    }

    /// Returns true if a value is in the answer, of a statement that is one.
    fn chooses(&self, value: &Value) -> bool {
        self.chosen.iter().any(|it| it.form == value.token.form)
    }

    fn read(&mut self, reader: &mut Reader, generic: &[Word]) {
        let text = self.statement.spoken().to_owned();
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
        self.chosen = self.answer_tokens(reader);
        for token in &self.tokens {
            let is_left = self.left.iter().any(|it| it.form == token.form);
            let (is_word, stem) = (token.kind == TokenKind::Word && token.stem != 0, token.stem);
            let value = Value::of(token);
            let after = text.get(token.start.saturating_add(token.form.len())..);
            if after.is_some_and(|it| it.trim_start().starts_with('%')) {
                self.units.push(PERCENT);
            }
            let is_count = value.as_ref().is_some_and(|it| it.kind == ValueKind::Number);
            let after_number = std::mem::replace(&mut is_unit, is_count);
            match value {
                // `Yes` after a question is no name.
                Some(value) if !is_left && !generic.contains(&stem) => {
                    if after_number && value.kind == ValueKind::Name {
                        self.units.push(stem);
                    }
                    self.values.push(value);
                }
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
        let mut replaced: Option<(usize, Effect)> = None;
        let mut is_nearest = true;
        for (nth, earlier) in before.iter().enumerate().rev().take(COMPARED_MAX) {
            if !earlier.is_live || earlier.statement.part == Part::Goal {
                continue;
            }
            let values = replaced_values(&mut reader, later, earlier, is_nearest);
            if !values.is_empty() {
                replaced = Some((nth, Effect::Values(values)));
                break;
            }
            if let Some(effect) = effect(&mut reader, &generic, (later, earlier), is_nearest) {
                replaced = Some((nth, effect));
                break;
            }
            if shares_kind(later, earlier) && later.is_of_unit(earlier) {
                is_nearest = false;
            }
        }
        let Some((nth, effect)) = replaced else { continue };
        match (effect, before.get_mut(nth)) {
            (Effect::Values(values), _) => replace(before, later, (nth, &values), &mut reader),
            (effect, Some(earlier)) => {
                earlier.is_live = false;
                later.statement.merged_from.insert(0, earlier.statement.source.origin.short());
                if effect == Effect::Amended {
                    amend(later, earlier, &mut reader);
                }
            }
            _ => {}
        }
    }
}

/// The effect of a later statement on an earlier one.
#[derive(Debug, PartialEq)]
enum Effect {
    /// It replaces values of it.
    Values(Vec<Value>),
    /// It replaces all of it.
    Whole,
    /// It changes it, and makes no sense without it.
    Amended,
}

/// Returns what a later statement does to an earlier one that has no value of the same kind.
fn effect(
    reader: &mut Reader,
    generic: &[Word],
    (later, earlier): (&Said, &Said),
    is_nearest: bool,
) -> Option<Effect> {
    let (new, old) = (later.stems(generic), earlier.stems(generic));
    let has_all = |a: &[Word], b: &[Word]| b.iter().all(|it| a.contains(it));
    let left: Vec<Word> = later.left.iter().map(|it| it.stem).collect();
    if later.is_user && leaves(&left, &new, &old, generic) {
        return Some(Effect::Whole);
    }
    if old.len() >= SUBJECT_WORDS_MIN && has_all(&new, &old) && later.negates() != earlier.negates()
    {
        // `You may deploy on Friday if …` after `Never deploy on Friday`, and the other way round.
        // Of what was forbidden `You can log the number of tokens` allows another thing.
        let is_same = new.windows(old.len()).any(|it| it == old);
        let allows =
            is_same && earlier.negates() && (later.corrects || cues::permits(&later.lower));
        let forbids = later.negates() && has_all(&old, &new);
        return (allows || forbids).then_some(Effect::Whole);
    }
    let is_answer = earlier.is_answer && earlier.is_user;
    // `3 instead of 2` says itself what it replaces.
    let is_open = later.corrects && later.left.is_empty() && !later.is_answer;
    if !is_open || !later.is_user || !is_answer {
        return None;
    }
    let shares = || new.iter().any(|it| old.contains(it));
    if cues::begins_correction(&later.lower) && shares() || later.names_other(reader, earlier) {
        return Some(Effect::Whole);
    }
    let is_close = is_nearest && later.place.0.saturating_sub(earlier.place.0) <= NEAR;
    let is_amended = is_close
        && later.words.len() <= OTHER_WORDS_MAX
        && cues::corrects_what_is_before(&later.lower);
    is_amended.then_some(Effect::Amended)
}

/// Puts an earlier statement before one that changes it.
fn amend(later: &mut Said, earlier: &Said, reader: &mut Reader) {
    // Of a question or statement that was amended before, the last word holds.
    let head = earlier.statement.text.split(" — ").next().unwrap_or_default();
    let text = format!("{head} — {}", later.statement.spoken());
    later.statement.detail = None;
    later.set_text(reader, text);
}

/// Removes replaced values from the statement that has them, and from the others of its subject.
fn replace(
    before: &mut [Said],
    later: &mut Said,
    (nth, values): (usize, &[Value]),
    reader: &mut Reader,
) {
    let Some(subject) = before.get(nth).map(|it| it.words.clone()) else { return };
    for (at, it) in before.iter_mut().enumerate().rev().filter(|it| it.1.is_live) {
        let is_replaced = |one: &Value| values.iter().any(|it| it.token.form == one.token.form);
        let has_value = it.values.iter().any(is_replaced);
        let has_subject = it.words.iter().any(|it| subject.contains(it));
        if at != nth && !(has_value && has_subject && it.statement.part != Part::Goal) {
            continue;
        }
        let short = it.statement.source.origin.short();
        let has_words = it.words.iter().any(|it| later.words.contains(it));
        let left = later.left.iter().any(|it| values.iter().any(|one| names_same(it, &one.token)));
        later.statement.merged_from.insert(0, short);
        let is_short = later.is_user && later.words.len() <= SUBJECTLESS_MAX;
        if at == nth && is_short && !has_words && !left && !it.words.is_empty() {
            it.is_live = false;
            amend(later, it, reader);
            continue;
        }
        match rest(&it.statement.text, values, later, reader) {
            Some(rest) => {
                it.set_text(reader, rest);
                let (values, tokens) = (&mut it.values, &it.tokens);
                values.retain(|one| tokens.iter().any(|it| it.form == one.token.form));
            }
            None => it.is_live = false,
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

/// Returns the word before a value in a text.
fn lead(text: &str, value: &Value) -> Option<String> {
    let place = places(text, std::slice::from_ref(value)).into_iter().next()?;
    text.get(..place.start)?.trim_end().rsplit(' ').next().map(str::to_lowercase)
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
    let news = || later.values.iter().filter(|it| !it.is_in(&earlier.values));
    // `5000 feels low, make it 20000`, and of `20000 is slow, 8000 is not` the answer `8000 then`.
    let is_own = |it: &&Value| {
        it.kind != ValueKind::Name
            && it.is_in(&later.values)
            && if later.is_answer {
                // Alternatives stand in like places: `with 20000 …, with 8000 …`
                let lead = |it: &Value| lead(&later.statement.text, it);
                let is_other = |one: &&Value| one.kind == it.kind && lead(one) == lead(it);
                !later.chooses(it)
                    && later.values.iter().filter(is_other).any(|it| later.chooses(it))
            } else {
                news().any(|one| one.kind == it.kind)
            }
    };
    let is_short = later.words.len() <= SUBJECTLESS_MAX || shared > 0;
    let own: Vec<Value> = earlier.values.iter().filter(is_own).cloned().collect();
    if !own.is_empty() && (later.is_answer || later.corrects && is_short) {
        return own;
    }
    if shared == 0 && !later.corrects {
        return Vec::new();
    }
    let is_unit = |it: &&Word| later.units.contains(it) || earlier.units.contains(it);
    let units = later.words.iter().filter(|it| earlier.words.contains(it)).filter(is_unit).count();
    let least = later.words.len().min(earlier.words.len());
    let news: Vec<&Value> = news().collect();
    let has_same = news.len() < later.values.len();
    // `5 %` replaces no `400 ms`.
    let has_share = |it: &Said| it.units.contains(&PERCENT);
    let is_like_number = has_share(later) == has_share(earlier)
        || later.units.is_empty()
        || earlier.units.is_empty();
    let is_replaced = |old: &&Value| {
        !old.is_in(&later.values)
            && news.iter().any(|it| it.kind == old.kind)
            && (old.kind == ValueKind::Name || is_like_number)
    };
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
    // `The log level is 3, make it 4` corrects itself.
    let of_kind = |kind: ValueKind| later.values.iter().filter(|it| it.kind == kind).count();
    let is_own = !has_same && differing.iter().any(|it| of_kind(it.kind) > 1);
    // `Actually the pool has 20 connections` has a subject of its own.
    let subject_max = if cues::has_pronoun(&later.lower) { SUBJECTLESS_MAX } else { 0 };
    let is_close = is_nearest
        && !is_own
        && later.is_of_unit(earlier)
        && later.is_user
        && !later.is_answer
        && later.words.len().saturating_sub(later.units.len()) <= subject_max
        && later.place.0.saturating_sub(earlier.place.0) <= NEAR
        && differing.iter().all(|it| it.kind != ValueKind::Name);
    let subject = shared.saturating_sub(units);
    let replaces = if later.corrects {
        subject >= 1
            || (has_same && !later.is_answer)
            || is_close
            || (later.words.is_empty() && is_nearest && later.is_of_unit(earlier))
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
