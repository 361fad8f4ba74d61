//! Claims: the parts of a sentence that can be compared without understanding it. They are its
//! numbers, ids and names, its other words, its negation, and the direction of a bound.

use std::sync::LazyLock;

pub(crate) use super::polarity::{is_earlier, order_of, polarity};
use super::{
    line::is_shortened,
    polarity::{EARLIER, LATER},
};
use crate::{
    count::narrow,
    order::sorted,
    text::{
        char_at, lower,
        words::{Reader, Word, digest_of},
    },
};

/// Words that negate.
const NEGATIONS: &[&str] = &[
    "not",
    "no",
    "never",
    "none",
    "nor",
    "neither",
    "without",
    "avoid",
    "avoids",
    "forbid",
    "forbids",
    "forbidden",
    "prohibited",
    "cannot",
    "can't",
    "don't",
    "doesn't",
    "didn't",
    "won't",
    "wouldn't",
    "shouldn't",
    "mustn't",
    "isn't",
    "aren't",
    "wasn't",
    "weren't",
    "instead",
    "rather",
    "refuse",
    "reject",
    "rejected",
    "disabled",
    "against",
    "except",
];
/// Words for an upper bound, and words for a lower one.
const AT_MOST: &[&str] = &[
    "most", "maximum", "max", "below", "under", "within", "upto", "fewer", "less", "smaller",
    "lower", "shorter",
];
const AT_LEAST: &[&str] = &[
    "least", "minimum", "min", "above", "over", "exceed", "exceeds", "more", "larger", "greater",
    "bigger", "higher",
];
/// Words that do not describe the subject, besides the stop words of every reader.
const FILLERS: &[&str] = &[
    "must", "should", "shall", "may", "can", "could", "would", "need", "needs", "any", "all",
    "each", "every", "also", "just", "then", "there", "here", "still", "please", "always", "may",
    "might",
];
/// Words that exclude all others, and words for a part of what they stand before.
const ONLY: [&str; 3] = ["only", "exclusively", "solely"];
const SOME: [&str; 4] = ["some", "sometimes", "usually", "mostly"];
/// Short parts of words with hyphens that are no names: `follow-up`, `non-empty`.
const PARTICLES: &[&str] = &[
    "re", "non", "pre", "co", "de", "up", "to", "in", "on", "off", "out", "by", "of", "and", "or",
    "for", "the", "no", "so", "un", "a",
];
/// Words in capitals that are no names.
const EMPHASIS: &[&str] = &[
    "must", "should", "may", "only", "always", "all", "any", "new", "old", "now", "todo", "note",
    "also", "and", "or", "but", "the", "is", "are", "to", "of", "critical", "high", "medium",
    "low",
];
/// Units, each with its forms.
const UNITS: [&[&str]; 16] = [
    &["ms", "millisecond", "milliseconds"],
    &["s", "sec", "secs", "second", "seconds"],
    &["min", "mins", "minute", "minutes"],
    &["h", "hr", "hrs", "hour", "hours"],
    &["d", "day", "days"],
    &["week", "weeks"],
    &["month", "months"],
    &["year", "years"],
    &["kb", "kib"],
    &["mb", "mib"],
    &["gb", "gib"],
    &["tb", "tib"],
    &["usd", "dollar", "dollars"],
    &["eur", "euro", "euros"],
    &["thousand"],
    &["million"],
];
/// Numbers that are often written as words.
pub(crate) const NUMERALS: [&str; 13] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
];

/// A list that a word is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Function(TokenKind),
    Filler,
    Emphasis,
    Order,
    /// The number of a unit, from 1.
    Unit(usize),
}

/// The words of the lists with their roles, sorted by digest: to search each list for each word of a
/// text takes a third of the time of an extraction, and numbers are compared faster than words.
static ROLES: LazyLock<Vec<(u64, &'static str, Role)>> = LazyLock::new(|| {
    let lists: [(&[&str], Role); 9] = [
        (NEGATIONS, Role::Function(TokenKind::Negation)),
        (AT_MOST, Role::Function(TokenKind::AtMost)),
        (AT_LEAST, Role::Function(TokenKind::AtLeast)),
        (&ONLY, Role::Function(TokenKind::Only)),
        (&SOME, Role::Function(TokenKind::Some)),
        (FILLERS, Role::Filler),
        (EMPHASIS, Role::Emphasis),
        (&EARLIER, Role::Order),
        (&LATER, Role::Order),
    ];
    let units = UNITS.iter().zip(1..).map(|(words, nth)| (*words, Role::Unit(nth)));
    let mut all = Vec::new();
    for (words, role) in lists.into_iter().chain(units) {
        for word in words {
            all.push((digest_of(word.bytes()), *word, role));
        }
    }
    sorted(all, |a, b| a.0.cmp(&b.0))
});
/// The longest word of [`ROLES`], in bytes.
const ROLE_BYTES_MAX: usize = 12;

/// Returns the entries of a word in lower case.
fn roles(lower: &str) -> &'static [(u64, &'static str, Role)] {
    if lower.len() > ROLE_BYTES_MAX {
        return &[];
    }
    let digest = digest_of(lower.bytes());
    let start = ROLES.partition_point(|it| it.0 < digest);
    let rest = ROLES.get(start..).unwrap_or_default();
    let count = rest.iter().take_while(|it| it.0 == digest && it.1 == lower).count();
    rest.get(..count).unwrap_or_default()
}

/// Returns the unit among the roles of a word; 0 without one.
fn unit(roles: &[(u64, &str, Role)]) -> usize {
    let unit = |it: &(u64, &str, Role)| if let Role::Unit(nth) = it.2 { Some(nth) } else { None };
    roles.iter().find_map(unit).unwrap_or(0)
}

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A number, an id, a path, a name in code, a proper name.
    Hard,
    /// Any other word.
    Word,
    /// A negation.
    Negation,
    /// A word that bounds from above.
    AtMost,
    /// A word that bounds from below.
    AtLeast,
    /// A word that excludes all others.
    Only,
    /// A word for a part of what it stands before.
    Some,
    /// A word that says before or after what something happens, and nothing about the subject.
    Order,
}

/// A word of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    /// The word in lower case; a number without separators.
    pub(crate) form: String,
    /// Its kind.
    pub(crate) kind: TokenKind,
    /// Its stem; 0 for a word that does not describe the subject.
    pub(crate) stem: Word,
    /// The first byte of the run of characters that it was read from.
    pub(crate) start: usize,
    /// The word before it, if that says where something comes from or goes to, or what was.
    pub(crate) after: Option<After>,
    /// The unit of a number; 0 without a known unit.
    unit: usize,
    /// True for a number below zero.
    is_negative: bool,
}

/// A word before another that describes nothing, and says how the other is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    From,
    To,
    Was,
}

impl After {
    fn read(raw: &str) -> Option<Self> {
        let is = |it: &str| raw.eq_ignore_ascii_case(it);
        match raw.len() {
            2 if is("to") => Some(Self::To),
            3 if is("was") => Some(Self::Was),
            4 if is("from") => Some(Self::From),
            4 if is("were") => Some(Self::Was),
            _ => None,
        }
    }
}

impl Token {
    fn new(form: String, kind: TokenKind, stem: Word) -> Self {
        Self { form, kind, stem, start: 0, after: None, unit: 0, is_negative: false }
    }

    fn is_bare_number(&self) -> bool {
        self.unit == 0 && self.form.starts_with(|c: char| c.is_ascii_digit())
    }
}

/// A sentence of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sentence {
    /// The line, from 0.
    pub(crate) line: u32,
    /// Its tokens.
    pub(crate) tokens: Vec<Token>,
}

/// Reads the sentences of a text, line by line.
pub(crate) fn sentences(reader: &mut Reader, text: &str) -> Vec<Sentence> {
    let mut found = Vec::new();
    for (line, content) in text.lines().enumerate() {
        for sentence in split(content) {
            let tokens = tokens(reader, sentence);
            if !tokens.is_empty() {
                found.push(Sentence { line: narrow(line), tokens });
            }
        }
    }
    found
}

/// Splits a line after each sign that ends a sentence and is followed by a space.
fn split(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut chars = rest.char_indices().peekable();
        while let Some((place, c)) = chars.next() {
            let next = chars.peek().map(|it| it.1);
            let ends = match c {
                '.' if next.is_some_and(char::is_whitespace) => {
                    let (before, after) = rest.split_at_checked(place).unwrap_or((rest, ""));
                    !is_shortened(before, after.strip_prefix('.').unwrap_or_default())
                }
                '!' | '?' | ';' => next.is_some_and(char::is_whitespace),
                '。' | '！' | '？' => true,
                _ => false,
            };
            if ends {
                let (sentence, after) = rest.split_at(place.saturating_add(c.len_utf8()));
                rest = after;
                return Some(sentence);
            }
        }
        Some(std::mem::take(&mut rest))
    })
}

/// Reads the tokens of a sentence.
pub(crate) fn tokens(reader: &mut Reader, sentence: &str) -> Vec<Token> {
    let is_shouted = !sentence.contains(char::is_lowercase);
    let mut found: Vec<Token> = Vec::new();
    let is_between = |c: char| {
        c.is_whitespace()
            || matches!(c, '(' | ')' | ',' | ';' | '"' | '`' | '*' | '→' | '=' | '|')
            || matches!(c, '[' | ']' | '{' | '}' | '<' | '>' | '“' | '”' | '—' | '–' | '…' | '~')
    };
    // A comma between digits separates thousands and stays.
    let mut start = 0;
    let mut is_first = true;
    let mut after = None;
    let is_digit_at = |place: usize| sentence.as_bytes().get(place).is_some_and(u8::is_ascii_digit);
    for (place, byte) in sentence.bytes().enumerate() {
        if byte.is_ascii_alphanumeric() {
            continue;
        }
        let Some(c) = char_at(sentence, place) else { continue };
        let is_number = c == ','
            && place.checked_sub(1).is_some_and(is_digit_at)
            && is_digit_at(place.saturating_add(1));
        if is_between(c) && !is_number {
            let raw = sentence.get(start..place).unwrap_or_default();
            read_run(reader, (start, raw), (&mut is_first, is_shouted), (&mut after, &mut found));
            start = place.saturating_add(c.len_utf8());
        }
    }
    let raw = sentence.get(start..).unwrap_or_default();
    read_run(reader, (start, raw), (&mut is_first, is_shouted), (&mut after, &mut found));
    found
}

/// Appends the tokens of a run of characters that begins at `start`.
fn read_run(
    reader: &mut Reader,
    (start, raw): (usize, &str),
    (is_first, is_shouted): (&mut bool, bool),
    (after, found): (&mut Option<After>, &mut Vec<Token>),
) {
    let known = found.len();
    push(reader, raw, is_first, is_shouted, found);
    let mut new = found.iter_mut().skip(known);
    if let Some(it) = new.next() {
        it.start = start;
        it.after = after.take();
    }
    new.for_each(|it| it.start = start);
    *after = After::read(raw).or(*after);
}

/// Returns the number of the unit that a word in lower case names; 0 for other words.
pub(crate) fn unit_of(lower: &str) -> usize {
    unit(roles(lower))
}

/// Appends the tokens of a run of characters without spaces.
fn push(
    reader: &mut Reader,
    raw: &str,
    is_first: &mut bool,
    is_shouted: bool,
    to: &mut Vec<Token>,
) {
    let is_plain = |it: Option<&u8>| it.is_some_and(u8::is_ascii_alphanumeric);
    let signed = raw.strip_prefix(['-', '−']);
    let is_negative = signed.is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()));
    let is_trimmed = is_plain(raw.as_bytes().first()) && is_plain(raw.as_bytes().last());
    let raw = if is_trimmed { raw } else { raw.trim_matches(|c: char| !c.is_alphanumeric()) };
    let Some(first) = char_at(raw, 0) else { return };
    let opens = *is_first;
    let lower = lower(raw);
    let has_digit = raw.bytes().any(|it| it.is_ascii_digit());
    let roles = roles(&lower);
    let has_role = |role| roles.iter().any(|it| it.2 == role);
    let function = roles.iter().find_map(|it| match it.2 {
        Role::Function(kind) => Some(kind),
        _ => None,
    });
    // After an id a sentence still begins: `BUG-7: Refunds …`.
    *is_first &= has_digit;
    let unit = unit(roles);
    if unit != 0
        && let Some(number) = to.last_mut().filter(|it| it.is_bare_number())
    {
        number.unit = unit;
        if function.is_some() {
            // `5 min` is no minimum.
            return;
        }
    }
    let is_named_none = lower == "none" && first.is_uppercase() && !opens && !is_shouted;
    if let Some(kind) = function.filter(|_| !is_named_none) {
        to.push(Token::new(lower, kind, 0));
    } else if has_role(Role::Filler) {
        // Nothing to compare.
    } else if has_digit {
        let known = to.len();
        push_number(reader, &lower, to);
        if let Some(number) = to.get_mut(known) {
            number.is_negative = is_negative;
        }
    } else if is_code(raw) {
        let stem = stem_of(reader, &lower);
        to.push(Token::new(lower, TokenKind::Hard, stem));
    } else if raw.bytes().any(|it| matches!(it, b'-' | b'/' | b'.' | b':')) {
        let parts = raw.split(['-', '/', '.', ':']);
        parts.for_each(|it| push(reader, it, &mut false, is_shouted, to));
    } else {
        let is_emphasis = has_role(Role::Emphasis);
        let has_others_upper = || raw.chars().skip(1).any(char::is_uppercase);
        let is_name = first.is_uppercase()
            && !is_shouted
            && !is_emphasis
            && raw.chars().nth(1).is_some()
            && (!opens || has_others_upper());
        let stem = stem_of(reader, &lower);
        let kind = if is_name { TokenKind::Hard } else { TokenKind::Word };
        if raw.is_ascii() {
            let is_order = has_role(Role::Order);
            let kind = if stem == 0 && is_order { TokenKind::Order } else { kind };
            to.extend((stem != 0 || is_order).then(|| Token::new(lower, kind, stem)));
        } else {
            // Scripts without spaces are read as pairs of characters, of which each is a word.
            let mut stems = Vec::new();
            reader.read(raw, &mut stems);
            let word = |stem: Word| Token::new(stem.to_string(), kind, stem);
            to.extend(stems.into_iter().filter(|it| *it != 0).map(word));
        }
    }
}

/// Appends a number with its unit, or an id. `50ms` and `50 ms` read the same.
fn push_number(reader: &mut Reader, lower: &str, to: &mut Vec<Token>) {
    let plain = lower.strip_prefix('v').filter(|it| it.starts_with(|c: char| c.is_ascii_digit()));
    let plain = plain.unwrap_or(lower);
    if plain.bytes().all(|it| it.is_ascii_digit()) {
        let stem = stem_of(reader, plain);
        return to.push(Token::new(plain.to_owned(), TokenKind::Hard, stem));
    }
    let is_numeral = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
    let digits = plain.find(|c: char| !is_numeral(c)).unwrap_or(plain.len());
    let (number, unit) = plain.split_at_checked(digits).unwrap_or((plain, ""));
    let unit = unit.trim_start_matches(['-', '/', '%']);
    let is_unit = unit.chars().all(char::is_alphabetic);
    if !number.is_empty() && is_unit {
        let form = number.trim_end_matches(['.', ',']).replace(',', "");
        let stem = stem_of(reader, &form);
        to.push(Token { unit: unit_of(unit), ..Token::new(form, TokenKind::Hard, stem) });
        if !unit.is_empty() {
            let stem = stem_of(reader, unit);
            to.push(Token::new(unit.to_owned(), TokenKind::Word, stem));
        }
    } else {
        let stem = stem_of(reader, lower);
        to.push(Token::new(lower.to_owned(), TokenKind::Hard, stem));
    }
}

/// Returns the stem of a whole token; 0 if it does not describe the subject.
fn stem_of(reader: &mut Reader, token: &str) -> Word {
    reader.last(token).unwrap_or(0)
}

/// Returns true for a path, a name in code, an address.
fn is_code(raw: &str) -> bool {
    if raw.bytes().all(|it| it.is_ascii_lowercase()) {
        return false;
    }
    let humps =
        raw.chars().zip(raw.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    // Most words are letters and nothing else.
    if humps || raw.bytes().all(|it| it.is_ascii_alphabetic()) {
        return humps;
    }
    let inner = |c: char| raw.trim_matches(c).contains(c);
    let slashes = raw.matches('/').count();
    let dotted = raw.split('.').count() > 1 && raw.split('.').all(|it| it.chars().count() > 1);
    let is_short = |it: &str| it.len() <= 3 && !PARTICLES.contains(&it);
    let hyphened = raw.split('-').count() == 2 && raw.to_lowercase().split('-').any(is_short);
    hyphened || inner('_') || inner('@') || slashes > 1 || dotted
}

/// Returns true if two tokens name the same thing: equal forms, a numeral and its word, a file and
/// its path, `Postgres` and `PostgreSQL`. `5 s` and `5 minutes`, `-2` and `2` are
/// not the same.
pub(crate) fn names_same(a: &Token, b: &Token) -> bool {
    if a.unit != b.unit && a.unit != 0 && b.unit != 0 || a.is_negative != b.is_negative {
        return false;
    }
    if a.form == b.form || (a.stem != 0 && a.stem == b.stem) {
        return true;
    }
    let numeral = |number: &str, word: &str| {
        number.parse::<usize>().ok().and_then(|it| NUMERALS.get(it)).is_some_and(|it| *it == word)
    };
    if numeral(&a.form, &b.form) || numeral(&b.form, &a.form) {
        return true;
    }
    let has_digit = |it: &str| it.contains(|c: char| c.is_ascii_digit());
    let (short, long) =
        if a.form.len() < b.form.len() { (&a.form, &b.form) } else { (&b.form, &a.form) };
    if long.strip_suffix(short.as_str()).is_some_and(|it| it.ends_with('/')) {
        return true;
    }
    short.len() >= 5 && long.starts_with(short.as_str()) && !has_digit(long)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hard(sentence: &str) -> Vec<String> {
        let tokens = tokens(&mut Reader::default(), sentence);
        tokens.into_iter().filter(|it| it.kind == TokenKind::Hard).map(|it| it.form).collect()
    }

    #[test]
    fn numbers_ids_and_names_are_hard() {
        for (sentence, expected) in [
            ("The pool has 1,000 connections.", &["1000"][..]),
            ("Wait 50ms, then 1.5 s", &["50", "1.5"]),
            ("a 3-month plan, 45% less", &["3", "45"]),
            ("fixed BUG-2847 in v2.1", &["bug-2847", "2.1"]),
            ("see src/auth/jwt.rs and User.email", &["src/auth/jwt.rs", "user.email"]),
            ("We chose Kafka over RabbitMQ", &["kafka", "rabbitmq"]),
            ("call get_user or getUser", &["get_user", "getuser"]),
            ("Deploy it and/or case-insensitive, e.g. now", &[]),
            ("MUST NOT use the API", &["api"]),
            ("ALL IN CAPITALS", &[]),
        ] {
            assert_eq!(hard(sentence), expected, "{sentence}");
        }
    }

    #[test]
    fn a_word_has_all_its_roles() {
        let of = |word: &str| roles(word).iter().map(|it| it.2).collect::<Vec<_>>();
        let within = [Role::Function(TokenKind::AtMost), Role::Order];
        assert_eq!(of("within"), within);
        assert_eq!(of("min"), [Role::Function(TokenKind::AtLeast), Role::Unit(3)]);
        assert_eq!(of("milliseconds"), [Role::Unit(1)]);
        assert!(of("with").is_empty() && of("").is_empty());
        assert!(ROLES.iter().all(|it| it.1.len() <= ROLE_BYTES_MAX));
    }

    #[test]
    fn names_have_several_forms() {
        let same = |a: &str, b: &str| {
            let mut reader = Reader::default();
            let (a, b) = (tokens(&mut reader, a), tokens(&mut reader, b));
            a.first().zip(b.first()).is_some_and(|(a, b)| names_same(a, b))
        };
        assert!(same("PostgreSQL", "postgres") && same("5", "five"));
        assert!(same("src/a/jwt_handler.py", "jwt_handler.py"));
        assert!(!same("50", "500") && !same("5", "six") && !same("handler.py", "other_handler.py"));
    }
}
