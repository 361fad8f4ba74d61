//! The statement of a fact, and the comparison of sentences with it.

use std::borrow::Cow;

use super::relation;
use crate::{
    extract::{
        Fact,
        claim::{After, Token, TokenKind, is_earlier, names_same, polarity, sentences},
        has_mark,
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
    /// All its tokens.
    tokens: Vec<Token>,
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
fn statement(fact: &Fact) -> Cow<'_, str> {
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
    let Some((said, reason)) = end.and_then(|it| text.split_at_checked(it)) else {
        return Cow::Borrowed(text.trim());
    };
    // `… because it is fast, and never Memcached`: a rule behind the reason is no part of it.
    let behind = [", ", "; ", ". "].iter().filter_map(|it| reason.find(it)).min();
    match behind.and_then(|it| reason.get(it..)).filter(|it| has_mark(it)) {
        Some(rule) => Cow::Owned([said, rule].concat()),
        None => Cow::Borrowed(said.trim()),
    }
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
        let read = sentences(reader, plain.as_deref().unwrap_or(&statement));
        let whole = read.iter().flat_map(|it| it.tokens.iter().cloned()).collect();
        let mut claims = vec![Self::of(whole, read.len().max(1))];
        if read.len() > 1 {
            let sentences = read.into_iter().map(|it| Self::of(it.tokens, 1));
            claims.extend(sentences.filter(|it| !it.hard.is_empty() || !it.words.is_empty()));
        }
        claims
    }

    fn of(tokens: Vec<Token>, sentences: usize) -> Self {
        let negates = polarity(&tokens).1;
        let is_earlier = is_earlier(&tokens);
        let all = tokens.clone();
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
        Self { sentences, hard, words, tokens: all, is_earlier, negates }
    }

    /// Compares the claim with some tokens.
    pub(super) fn compare(&self, tokens: &[&Token]) -> Match {
        let has = |one: &&Token| tokens.iter().any(|it| names_same(one, it));
        let hard = self.hard.iter().filter(has).count();
        let words = self.words.iter().filter(|one| has(one)).count();
        // The more numbers and names a statement has, the fewer other words must agree.
        let needed = match self.hard.len() {
            0 => 70,
            1 => 40,
            _ => 25,
        };
        let has_words = words.saturating_mul(100) >= self.words.len().saturating_mul(needed);
        let has_any = hard.saturating_add(words) > 0;
        let has_all = has_any && has_words && hard == self.hard.len();
        let is_present = has_all && self.agrees(tokens);
        Match { is_present, hard, words }
    }

    /// Returns true if some tokens with the words of the claim have its negation and its relations, too.
    fn agrees(&self, tokens: &[&Token]) -> bool {
        let owned: Vec<Token> = tokens.iter().map(|it| (*it).clone()).collect();
        let negates = polarity(&owned).1;
        let of_claim: Vec<&Token> = self.tokens.iter().collect();
        let order = self.is_earlier.zip(is_earlier(&owned)).is_some_and(|(a, b)| a != b);
        let turns =
            relation::turns(&of_claim, tokens, order) || relation::changes(&of_claim, tokens);
        // `Deploy on Friday, do not wait` negates something else than `do not deploy on Friday`.
        !turns
            && self.negates == (negates && self.is_negated_by(tokens, self.negates))
            && !(self.negates && relation::negates_other(&of_claim, tokens, &BEHIND))
    }

    /// Returns the numbers, ids, names and words that another claim does not have.
    pub(super) fn without(&self, other: &Self) -> Vec<&Token> {
        let has = |one: &Token| other.hard.iter().chain(&other.words).any(|it| names_same(one, it));
        self.hard.iter().chain(&self.words).filter(|it| !has(it)).collect()
    }

    /// Returns true if some tokens negate and have all words that the claim negates, or if it negates
    /// none.
    pub(super) fn forbids_in(&self, tokens: &[&Token]) -> bool {
        let of_claim: Vec<&Token> = self.tokens.iter().collect();
        let negated = relation::negated(&of_claim, &of_claim);
        let has = |one: &&Token| tokens.iter().any(|it| names_same(one, it));
        negated.is_empty()
            || tokens.iter().any(|it| it.kind == TokenKind::Negation)
                && negated.iter().flatten().all(has)
    }

    /// Returns true if some tokens say that this was, and that an earlier claim holds instead: `it was 5,
    /// and must be 3`.
    pub(super) fn was_before(&self, old: &Self, tokens: &[&Token]) -> bool {
        let (own, other) = (self.without(old), old.without(self));
        let is_past = |one: &&&Token| {
            let mut found = tokens.iter().filter(|it| names_same(one, it));
            found.any(|it| matches!(it.after, Some(After::Was | After::From)))
        };
        let has = |one: &&Token| tokens.iter().any(|it| names_same(one, it));
        own.iter().any(|it| is_past(&it))
            && !other.is_empty()
            && other.iter().all(has)
            && !other.iter().any(|it| is_past(&it))
    }

    /// Returns true if a negation stands up to three words before a word of the claim; with
    /// `or_behind` also if it stands behind, as in `is forbidden` and `is not allowed`.
    fn is_negated_by(&self, tokens: &[&Token], or_behind: bool) -> bool {
        let is_own =
            |one: &Token| self.hard.iter().chain(&self.words).any(|it| names_same(it, one));
        let own = |one: &Token| !relation::links(one) && is_own(one);
        tokens.iter().enumerate().any(|(place, it)| {
            let mut next = tokens.iter().skip(place.saturating_add(1)).take(3);
            let is_last = next.clone().next().is_none_or(|it| BEHIND.contains(&it.form.as_str()));
            let is_behind = or_behind && (is_last || BEHIND.contains(&it.form.as_str()));
            it.kind == TokenKind::Negation && (is_behind || next.any(|it| own(it)))
        })
    }
}
