//! Patterns: files with nearly the same summary become one convention with one example (spec 18.4).

use super::{gather::Left, kinds::Part, statement::Statement};
use crate::{
    budget::Reason,
    text::{
        Score,
        words::{Reader, Word},
    },
};

/// A pattern needs this many files (004).
pub(super) const FILES_MIN: usize = 3;
/// Summaries are of one pattern if they share this many percent of their words (004).
pub(super) const SHARED_PERCENT: usize = 60;
/// The most patterns that a file is compared with.
const COMPARED_MAX: usize = 64;

/// Files of one pattern: the words of the first, and the places of all.
struct Group {
    words: Vec<Word>,
    places: Vec<usize>,
}

/// Replaces files of one pattern by the pattern and an example. `scores` says how relevant each
/// file is.
pub(super) fn extract(all: &mut Vec<Statement>, scores: &mut Vec<Score>, reasons: &mut Vec<Left>) {
    let mut reader = Reader::default();
    let mut groups: Vec<Group> = Vec::new();
    for (place, it) in all.iter().enumerate() {
        let is_known = matches!(reasons.get(place), Some(None | Some((Reason::Irrelevant, None))));
        let Some(summary) = it.detail.as_deref().filter(|_| it.part == Part::File && is_known)
        else {
            continue;
        };
        let words = reader.distinct(summary);
        if words.is_empty() {
            continue;
        }
        let mut latest = groups.iter_mut().rev().take(COMPARED_MAX);
        match latest.find(|it| is_shared(&it.words, &words)) {
            Some(group) => group.places.push(place),
            None => groups.push(Group { words, places: vec![place] }),
        }
    }
    for group in groups.iter().filter(|it| it.places.len() >= FILES_MIN) {
        let score = |it: &usize| scores.get(*it).copied().unwrap_or_default();
        let best = group.places.iter().map(score).max().unwrap_or_default();
        // What no file of the task follows is no convention for it.
        if best == Score(0) {
            continue;
        }
        let Some(first) = group.places.iter().copied().find(|it| score(it) == best) else {
            continue;
        };
        let Some(file) = all.get(first).cloned() else { continue };
        let summary = file.detail.clone().unwrap_or_default();
        let text = format!("{summary} ({} files)", group.places.len());
        let pattern = all.len();
        all.push(Statement { part: Part::Pattern, detail: None, text, ..file.clone() });
        all.push(Statement { part: Part::Example, detail: None, ..file });
        scores.extend([best, best]);
        reasons.extend([None, None]);
        for place in &group.places {
            if let Some(reason) = reasons.get_mut(*place) {
                *reason = Some((Reason::DuplicateOf, Some(pattern)));
            }
        }
    }
}

/// Returns true if two sorted lists share enough of the words of the longer one.
fn is_shared(a: &[Word], b: &[Word]) -> bool {
    let shared = a.iter().filter(|it| b.binary_search(it).is_ok()).count();
    shared.saturating_mul(100) >= a.len().max(b.len()).saturating_mul(SHARED_PERCENT)
}
