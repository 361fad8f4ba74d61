//! The statement of a fact, and the comparison of sentences with it.

use crate::{
    extract::{
        Fact,
        claim::{Bound, Token, TokenKind, is_earlier, names_same, polarity, sentences},
    },
    text::words::Reader,
};

/// The words at which the statement of a fact ends: a summary need not repeat its reasons.
const REASONS: [&str; 5] = [" because ", " since ", " due to ", " so that ", " in order to "];
/// Words that negate those before them, or follow such a negation.
const BEHIND: [&str; 8] = [
    "forbidden",
    "prohibited",
    "rejected",
    "disabled",
    "allowed",
    "permitted",
    "possible",
    "acceptable",
];
/// The statement of a fact, to be found in a summary.
pub(super) struct Claim {
    pub(super) sentences: usize,
    pub(super) hard: Vec<Token>,
    pub(super) words: Vec<Token>,
    pub(super) bound: Option<Bound>,
    /// True if something happens before another, false if after it; `None` if neither.
    is_earlier: Option<bool>,
    pub(super) negates: bool,
}

/// The degree to which some sentences match a claim.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Match {
    pub(super) is_present: bool,
    pub(super) hard: usize,
    pub(super) words: usize,
}

/// Returns the part of a fact that a summary must have: no time, label, reason or labelled part.
fn statement(fact: &Fact) -> &str {
    let mut text = fact.text.as_str();
    for detail in &fact.details {
        let label = detail.label.replace('_', " ");
        let found = text.find(detail.text.as_str()).and_then(|it| text.get(..it));
        let Some(before) = found.filter(|_| !detail.text.is_empty()) else { continue };
        let is_label = |start: &usize| {
            let rest = before.get(*start..).unwrap_or_default();
            rest.get(..label.len()).is_some_and(|it| it.eq_ignore_ascii_case(&label))
        };
        let mut starts = before.char_indices().map(|(start, _)| start);
        let cut = starts.rfind(is_label).unwrap_or(before.len());
        if let Some(shorter) = before.get(..cut).filter(|it| !it.trim().is_empty()) {
            text = shorter;
        }
    }
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || "-*>#•".contains(c));
    let text = match text.strip_prefix('[').and_then(|it| it.split_once(']')) {
        Some((time, rest)) if time.len() < 40 => rest.trim_start_matches(['*', ' ']),
        _ => text,
    };
    let text = match text.split_once(':') {
        Some((label, rest)) if is_label(label) && !rest.trim().is_empty() => rest,
        _ => text,
    };
    let end = REASONS.iter().filter_map(|it| text.find(it)).min();
    end.and_then(|it| text.get(..it)).unwrap_or(text).trim()
}

/// Returns true for a label such as `DECISION`, `User preference` or `lena (SRE)`.
fn is_label(text: &str) -> bool {
    let text = text.split(" (").next().unwrap_or_default().trim_matches(['*', ' ']);
    let is_word = |it: &str| it.chars().all(|c| c.is_ascii_alphabetic());
    text.len() <= 30 && text.split(' ').count() <= 3 && text.split(' ').all(is_word)
}

impl Claim {
    /// Returns the statement of a fact, then each of its sentences if it has several.
    pub(super) fn read(reader: &mut Reader, fact: &Fact) -> Vec<Self> {
        let statement = statement(fact);
        // `BUG-7 [HIGH]: …`: a summary need not repeat how severe it is.
        let named = fact.severity.and_then(|_| statement.split_once('[')?.1.split_once(']'));
        let plain = named.map(|it| format!("{} {}", fact.id.as_deref().unwrap_or_default(), it.1));
        let read = sentences(reader, plain.as_deref().unwrap_or(statement));
        let whole = read.iter().flat_map(|it| it.tokens.iter().cloned()).collect();
        let mut claims = vec![Self::of(whole, read.len().max(1))];
        if read.len() > 1 {
            let sentences = read.into_iter().map(|it| Self::of(it.tokens, 1));
            claims.extend(sentences.filter(|it| !it.hard.is_empty() || !it.words.is_empty()));
        }
        claims
    }

    fn of(tokens: Vec<Token>, sentences: usize) -> Self {
        let (bound, negates) = polarity(&tokens);
        let is_earlier = is_earlier(&tokens);
        let (mut hard, mut words): (Vec<Token>, Vec<Token>) = (Vec::new(), Vec::new());
        for token in tokens {
            let list = match token.kind {
                TokenKind::Hard => &mut hard,
                TokenKind::Word if token.stem != 0 => &mut words,
                _ => continue,
            };
            if !list.iter().any(|it| it.form == token.form) {
                list.push(token);
            }
        }
        Self { sentences, hard, words, bound, is_earlier, negates }
    }

    /// Compares the claim with some tokens.
    pub(super) fn compare(&self, tokens: &[&Token]) -> Match {
        let has = |one: &&Token| tokens.iter().any(|it| names_same(one, it));
        let hard = self.hard.iter().filter(has).count();
        let words = self.words.iter().filter(|one| has(one)).count();
        let owned: Vec<Token> = tokens.iter().map(|it| (*it).clone()).collect();
        let (bound, negates) = polarity(&owned);
        let turns = self.bound.zip(bound).is_some_and(|(a, b)| a != b)
            || self.is_earlier.zip(is_earlier(&owned)).is_some_and(|(a, b)| a != b);
        // `Deploy on Friday, do not wait` negates something else than `do not deploy on Friday`.
        let contradicts = self.negates != (negates && self.is_negated_by(tokens, self.negates));
        // The more numbers and names a statement has, the fewer other words must agree.
        let needed = match self.hard.len() {
            0 => 70,
            1 => 40,
            _ => 25,
        };
        let has_words = words.saturating_mul(100) >= self.words.len().saturating_mul(needed);
        let has_any = hard.saturating_add(words) > 0;
        let is_present = has_any && has_words && hard == self.hard.len() && !turns && !contradicts;
        Match { is_present, hard, words }
    }

    /// Returns true if a negation stands up to three words before a word of the claim; with
    /// `or_behind` also if it stands behind, as in `is forbidden` and `is not allowed`.
    fn is_negated_by(&self, tokens: &[&Token], or_behind: bool) -> bool {
        let own = |one: &Token| self.hard.iter().chain(&self.words).any(|it| names_same(it, one));
        tokens.iter().enumerate().any(|(place, it)| {
            let mut next = tokens.iter().skip(place.saturating_add(1)).take(3);
            let is_last = next.clone().next().is_none_or(|it| BEHIND.contains(&it.form.as_str()));
            let is_behind = or_behind && (is_last || BEHIND.contains(&it.form.as_str()));
            it.kind == TokenKind::Negation && (is_behind || next.any(|it| own(it)))
        })
    }
}
