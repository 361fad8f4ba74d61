//! Checks a paraphrased summary: which preserved facts it has, which are missing, and which it has
//! with an older value (spec 17.4).
//!
//! A summary has a fact if one of its sentences has all numbers, ids and names of the fact's
//! statement, enough of its other words, and the same negation and bound. The text after `because`,
//! and labelled parts such as the rationale, need not be in it.
//!
//! # Bound
//!
//! A fact is compared with at most [`SENTENCES_COMPARED`] sentences: those that share most of its
//! words.

use std::collections::BTreeMap;

use super::statement::{Claim, Match};
use crate::{
    Error,
    closed_list::closed_list,
    count::narrow,
    extract::{
        Fact,
        claim::{Sentence, Token, TokenKind, names_same, sentences},
        holders,
        line::{sentence_ends, skip_bullet},
    },
    order::sorted,
    text::words::{Reader, Word},
    tokens::Tokens,
};

/// The most sentences that a fact is compared with.
const SENTENCES_COMPARED: usize = 12;
/// A word in more sentences than this finds none.
const OCCURRENCES_MAX: usize = 256;
/// The most words that a verdict lists.
const LACKS_MAX: usize = 8;
/// The line above the facts that a repair appends.
const HEADING: &str = "## Facts that the summary lacked";

closed_list! {
    /// The result of looking for a fact in a summary.
    VerdictKind "verdict" {
        Present "present": "The summary has the fact.";
        Missing "missing": "The summary does not have the fact.";
        Outdated "outdated": "The summary has an earlier value of the fact.";
    }
}

/// The result of looking for one fact in a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The place of the fact in the list of facts.
    pub fact: usize,
    /// The kind of result.
    pub kind: VerdictKind,
    /// The line of the summary that comes closest, from 0.
    pub line: Option<u32>,
    /// The numbers, ids and names of the statement that this line lacks; for an outdated fact, those
    /// of the new value.
    pub lacks: Vec<String>,
}

/// The check of a summary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SummaryCheck {
    /// A verdict for each preserved fact that is not superseded, in their order.
    pub verdicts: Vec<Verdict>,
}

/// A summary with the facts that it lacked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The summary, then the facts.
    pub text: String,
    /// Its tokens.
    pub tokens: Tokens,
    /// The places of the facts that were appended.
    pub appended: Vec<usize>,
    /// The places of those that did not fit.
    pub left_out: Vec<usize>,
}

/// A summary, read for comparison.
struct Summary<'a> {
    sentences: Vec<Sentence>,
    /// The sentences of each stem.
    places: BTreeMap<Word, Vec<usize>>,
    /// The first line with each line and sentence of the text, byte for byte.
    texts: BTreeMap<&'a str, u32>,
}

/// Checks which of the preserved facts `summary` has.
pub fn check_summary(facts: &[Fact], summary: &str) -> SummaryCheck {
    let mut reader = Reader::default();
    let summary = Summary::read(&mut reader, summary);
    let older = older(facts);
    let mut verdicts = Vec::new();
    for (place, fact) in facts.iter().enumerate() {
        if fact.is_preserved() && fact.superseded_by.is_none() {
            if let Some(line) = summary.quotes(&fact.text) {
                let kind = VerdictKind::Present;
                verdicts.push(Verdict { fact: place, kind, line: Some(line), lacks: Vec::new() });
                continue;
            }
            let claims = Claim::read(&mut reader, fact);
            let earlier = older.get(&place).into_iter().flatten();
            let earlier = earlier.filter_map(|it| facts.get(*it));
            let earlier: Vec<Claim> =
                earlier.filter_map(|it| Claim::read(&mut reader, it).into_iter().next()).collect();
            verdicts.push(summary.verdict(place, &claims, &earlier));
        }
    }
    SummaryCheck { verdicts }
}

/// Appends the facts that a summary lacks or has with an older value, byte for byte, as long as the
/// result has at most `max` tokens.
///
/// # Errors
///
/// Those of `count`.
pub fn repair(
    facts: &[Fact],
    check: &SummaryCheck,
    summary: &str,
    max: Tokens,
    count: &dyn Fn(&str) -> Result<Tokens, Error>,
) -> Result<Repair, Error> {
    let wanted = check.verdicts.iter().filter(|it| it.kind != VerdictKind::Present);
    let lines: Vec<(usize, &str)> =
        wanted.filter_map(|it| Some((it.fact, facts.get(it.fact)?.text.as_str()))).collect();
    let mut used = count(summary)?.plus(count(HEADING)?).plus(Tokens(2));
    let mut chosen = Vec::new();
    let mut last = "";
    for (place, line) in lines.iter().copied() {
        // A sentence of a paragraph that was appended already costs nothing.
        if last.contains(line) {
            chosen.push((place, ""));
            continue;
        }
        let needed = used.plus(count(line)?).plus(Tokens(2));
        if needed <= max {
            (used, last) = (needed, line);
            chosen.push((place, line));
        }
    }
    // A sum of counts may be less than the count of the whole: leave out the last until it fits.
    loop {
        let text = written(summary, &chosen);
        let tokens = count(&text)?;
        if tokens <= max || chosen.pop().is_none() {
            let appended: Vec<usize> = chosen.iter().map(|it| it.0).collect();
            let left_out = lines.iter().map(|it| it.0).filter(|it| !appended.contains(it));
            let left_out = left_out.collect();
            return Ok(Repair { text, tokens, appended, left_out });
        }
    }
}

fn written(summary: &str, chosen: &[(usize, &str)]) -> String {
    if chosen.is_empty() {
        return summary.to_owned();
    }
    let mut text = summary.trim_end().to_owned();
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(HEADING);
    text.push('\n');
    for (_, line) in chosen.iter().filter(|(_, line)| !line.is_empty()) {
        text.push_str("\n- ");
        text.push_str(line);
    }
    text.push('\n');
    text
}

/// Returns for each fact those that it replaced, directly or not.
fn older(facts: &[Fact]) -> BTreeMap<usize, Vec<usize>> {
    let mut older: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, holder) in holders(facts).into_iter().enumerate().filter(|it| it.0 != it.1) {
        older.entry(holder).or_default().push(place);
    }
    older
}

impl<'a> Summary<'a> {
    fn read(reader: &mut Reader, text: &'a str) -> Self {
        let sentences = sentences(reader, text);
        let mut places: BTreeMap<Word, Vec<usize>> = BTreeMap::new();
        for (place, sentence) in sentences.iter().enumerate() {
            for token in sentence.tokens.iter().filter(|it| it.stem != 0) {
                let of = places.entry(token.stem).or_default();
                if of.last() != Some(&place) && of.len() <= OCCURRENCES_MAX {
                    of.push(place);
                }
            }
        }
        let mut texts = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            let line = skip_bullet(line).trim_end();
            texts.entry(line).or_insert(narrow(number));
            let mut from = 0;
            for end in sentence_ends(line) {
                let sentence = line.get(from..end).unwrap_or_default().trim();
                texts.entry(sentence).or_insert(narrow(number));
                from = end;
            }
        }
        Self { sentences, places, texts }
    }

    /// Returns the first line of the summary with the text of a fact, byte for byte.
    fn quotes(&self, fact: &str) -> Option<u32> {
        let lines = fact.lines().filter(|it| !it.trim().is_empty());
        let mut lines = lines.map(|it| self.texts.get(skip_bullet(it).trim_end()).copied());
        let first = lines.next()??;
        lines.all(|it| it.is_some()).then_some(first)
    }

    /// Looks for a fact in the summary: for its statement as a whole, or else for each of its
    /// sentences.
    fn verdict(&self, fact: usize, claims: &[Claim], earlier: &[Claim]) -> Verdict {
        let mut verdicts = claims.iter().map(|it| self.of_claim(fact, it, earlier));
        let Some(whole) = verdicts.next() else {
            return Verdict { fact, kind: VerdictKind::Present, line: None, lacks: Vec::new() };
        };
        if whole.kind == VerdictKind::Present || claims.len() == 1 {
            return whole;
        }
        let mut last = None;
        for verdict in verdicts {
            if verdict.kind != VerdictKind::Present {
                return whole;
            }
            last = Some(verdict);
        }
        last.unwrap_or(whole)
    }

    /// Looks for a claim in the summary.
    fn of_claim(&self, fact: usize, claim: &Claim, earlier: &[Claim]) -> Verdict {
        let mut best: Option<(Match, usize)> = None;
        for place in self.candidates(claim) {
            // Several sentences of one line may state a fact together. Of several lines, only one
            // that has several sentences itself.
            for length in 1..=claim.sentences.max(2) {
                let window = self.window(place, length, claim.sentences > 1);
                // One sentence alone must forbid what the statement forbids.
                let mut parts =
                    (0..length).map(|it| self.window(place.saturating_add(it), 1, false));
                if length > claim.sentences && !parts.any(|it| claim.forbids_in(&it)) {
                    continue;
                }
                let found = claim.compare(&window);
                if best.is_none_or(|(it, _)| found > it) {
                    best = Some((found, place));
                }
            }
        }
        let line = |place: usize| self.sentences.get(place).map(|it| it.line);
        let was = best.filter(|it| it.0.is_present).and_then(|(_, place)| {
            let near = self.window(place, 1, false);
            earlier.iter().any(|old| claim.was_before(old, &near)).then_some(place)
        });
        if let Some(place) = was {
            let kind = VerdictKind::Outdated;
            return Verdict { fact, kind, line: line(place), lacks: Vec::new() };
        }
        if let Some((Match { is_present: true, .. }, place)) = best {
            let kind = VerdictKind::Present;
            return Verdict { fact, kind, line: line(place), lacks: Vec::new() };
        }
        for old in earlier {
            if let Some((place, lacks)) = self.outdated(claim, old) {
                let kind = VerdictKind::Outdated;
                return Verdict { fact, kind, line: line(place), lacks };
            }
        }
        let near: Vec<&Token> = best.map(|it| self.window(it.1, 1, false)).unwrap_or_default();
        let lacks = claim.hard.iter().filter(|one| !near.iter().any(|it| names_same(one, it)));
        let lacks = lacks.take(LACKS_MAX).map(|it| it.form.clone()).collect();
        let line = best.and_then(|it| line(it.1));
        Verdict { fact, kind: VerdictKind::Missing, line, lacks }
    }

    /// Returns a sentence that has the earlier value, and what of the new value it lacks.
    fn outdated(&self, claim: &Claim, old: &Claim) -> Option<(usize, Vec<String>)> {
        let (gone, new) = (old.without(claim), claim.without(old));
        let common: Vec<&Token> = old
            .hard
            .iter()
            .chain(&old.words)
            .filter(|one| !gone.iter().any(|it| it.form == one.form))
            .collect();
        self.candidates(old).into_iter().find_map(|place| {
            let near = self.window(place, 1, false);
            let has = |one: &Token| near.iter().any(|it| names_same(one, it));
            let shared = common.iter().filter(|it| has(it)).count();
            let is_old = !gone.is_empty()
                && gone.iter().all(|it| has(it))
                && shared.saturating_mul(2) >= common.len();
            is_old.then(|| {
                let lacks = new.iter().filter(|it| !has(it)).take(LACKS_MAX);
                (place, lacks.map(|it| it.form.clone()).collect())
            })
        })
    }

    /// Returns the sentences that share most words with a claim, best first.
    fn candidates(&self, claim: &Claim) -> Vec<usize> {
        let mut shared: BTreeMap<usize, u32> = BTreeMap::new();
        for token in claim.hard.iter().chain(&claim.words) {
            let places = self.places.get(&token.stem).filter(|it| it.len() <= OCCURRENCES_MAX);
            for place in places.into_iter().flatten() {
                let count = shared.entry(*place).or_default();
                let more = if token.kind == TokenKind::Hard { 3 } else { 1 };
                *count = count.saturating_add(more);
            }
        }
        let mut found: Vec<(usize, u32)> = Vec::new();
        found.extend(shared);
        let mut found = sorted(found, |a, b| (b.1, a.0).cmp(&(a.1, b.0)));
        found.truncate(SENTENCES_COMPARED);
        found.into_iter().map(|it| it.0).collect()
    }

    /// Returns the tokens of up to `length` sentences from `place` on: of the same line, or of the
    /// following ones, too.
    fn window(&self, place: usize, length: usize, is_over_lines: bool) -> Vec<&Token> {
        let line = self.sentences.get(place).map(|it| it.line);
        let sentences = self.sentences.iter().skip(place).take(length);
        let together = sentences.take_while(|it| is_over_lines || Some(it.line) == line);
        together.flat_map(|it| &it.tokens).collect()
    }
}
