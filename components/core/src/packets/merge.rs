//! Merges decisions of one subject: the latest is kept, with the places of the earlier ones
//! (spec 18.4).

use std::collections::BTreeMap;

use super::{gather::Left, kinds::Part, revise::GENERIC, statement::Statement};
use crate::{
    budget::Reason,
    extract::claim::{Token, TokenKind, names_same, tokens},
    order::sorted,
    text::{
        Score, likeness,
        words::{Reader, Word},
    },
};

/// Decisions are of one subject if their likeness is at least this (004).
pub(super) const SUBJECT_MIN: Score = Score(5_000);
/// The most later decisions with a common word that a decision is compared with.
const COMPARED_MAX: usize = 16;

/// The content of a decision: words, and values such as numbers and names.
#[derive(Debug, Default)]
struct Said {
    words: Vec<Word>,
    values: Vec<Token>,
    /// The words before a colon or `is`.
    subject: Vec<Word>,
}

/// Merges decisions. `all` is in the order of their precedence, the strongest last.
pub(super) fn merge(all: &mut [Statement], reasons: &mut [Left]) {
    let mut reader = Reader::default();
    let generic = reader.distinct(GENERIC);
    let mut having: BTreeMap<Word, Vec<usize>> = BTreeMap::new();
    let mut said: Vec<(usize, Said)> = Vec::new();
    for place in (0..all.len()).rev() {
        let is_free = reasons.get(place).is_some_and(Option::is_none);
        let Some(it) = all.get(place).filter(|it| it.part == Part::Decision && is_free) else {
            continue;
        };
        let own = read(&mut reader, &generic, it.spoken());
        let stems = || own.words.iter().chain(own.values.iter().map(|it| &it.stem));
        let lists: Vec<&Vec<usize>> = stems().filter_map(|it| having.get(it)).collect();
        let rarest = sorted(lists, |a, b| a.len().cmp(&b.len()));
        let mut compared: Vec<usize> = Vec::new();
        for other in rarest.into_iter().flatten() {
            if compared.len() >= COMPARED_MAX {
                break;
            }
            if !compared.contains(other) {
                compared.push(*other);
            }
        }
        let found = compared.into_iter().find(|other| {
            let said = said.iter().find(|it| it.0 == *other);
            all.get(*other).zip(said).is_some_and(|(later, (_, said))| {
                is_of_subject(&own, said, || likeness(it.spoken(), later.spoken()))
            })
        });
        if let Some(later) = found {
            let short = it.source.origin.short();
            let earlier = it.merged_from.clone();
            if let Some(reason) = reasons.get_mut(place) {
                *reason = Some((Reason::Superseded, Some(later)));
            }
            if let Some(it) = all.get_mut(later) {
                it.merged_from.insert(0, short);
                earlier.into_iter().rev().for_each(|one| it.merged_from.insert(0, one));
            }
        } else {
            for word in stems() {
                having.entry(*word).or_default().push(place);
            }
            said.push((place, own));
        }
    }
}

fn read(reader: &mut Reader, generic: &[Word], text: &str) -> Said {
    let lower = text.to_lowercase();
    let ends = [": ", " is ", " are ", " = "];
    let end = ends.iter().filter_map(|it| lower.find(it)).min();
    let subject = end.filter(|it| *it <= 40).and_then(|it| text.get(..it)).unwrap_or_default();
    let mut said = Said { subject: reader.distinct(subject), ..Said::default() };
    for token in tokens(reader, text) {
        match token.kind {
            TokenKind::Hard => said.values.push(token),
            TokenKind::Word
                if token.stem != 0
                    && !generic.contains(&token.stem)
                    && !said.words.contains(&token.stem) =>
            {
                said.words.push(token.stem);
            }
            _ => {}
        }
    }
    said
}

/// Returns true if an earlier decision and a later one are of one subject: they name the same
/// subject before a colon, or are alike, and only one of them has words that the other has not.
/// `Use UTC for invoices` and `Use UTC for orders` have such words on both sides.
fn is_of_subject(earlier: &Said, later: &Said, likeness: impl Fn() -> Score) -> bool {
    if !earlier.subject.is_empty() && earlier.subject == later.subject {
        return true;
    }
    let only = |a: &Said, b: &Said| a.words.iter().filter(|it| !b.words.contains(it)).count();
    if only(earlier, later) > 0 && only(later, earlier) > 0 {
        return false;
    }
    let lacks = |a: &Said, b: &Said| {
        let has = |one: &Token| b.values.iter().any(|it| names_same(one, it));
        a.values.iter().filter(|it| !has(it)).count()
    };
    let lacking = lacks(earlier, later);
    // `We will use RS256` and `We will use python-jose` share no subject.
    let is_shared =
        earlier.words.iter().any(|it| later.words.contains(it)) || lacking < earlier.values.len();
    // More than one value of each differs: they say more than one thing.
    is_shared && lacking.min(lacks(later, earlier)) <= 1 && likeness() >= SUBJECT_MIN
}
