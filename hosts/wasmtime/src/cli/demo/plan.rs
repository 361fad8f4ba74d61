//! What is distilled from the documents, and the limits a session gets for it.
//!
//! # Invariant
//!
//! Whatever the documents: one is too large for an entry, a full part is near
//! the limit of one, and all parts together do not fit into the store.

use serde_json::{Value, json};

use super::material::{Document, notes, packed, tokens};
use crate::cli::problem::Problem;

/// The limits of a session by default; the story's are never higher.
const VALUE_TOKENS_MAX: usize = 1_000;
const STORE_TOKENS_MAX: usize = 10_000;
/// With smaller limits nothing could be told.
const VALUE_TOKENS_MIN: usize = 60;
/// The longest line of notes, in characters.
const LINE_CHARS_MAX: usize = 640;
/// How many tokens of notes are taken of all documents together.
const NOTES_TOKENS_MAX: usize = 16_000;
/// What the readers are going to write, and the limits they do not know.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) documents: Vec<Document>,
    /// For each document its notes, in parts that fit into an entry.
    pub(super) parts: Vec<Vec<String>>,
    /// The most tokens of an entry, and of the store.
    pub(super) value_tokens_max: usize,
    pub(super) store_tokens_max: usize,
}

impl Plan {
    /// Chooses the limits for `documents`.
    ///
    /// # Errors
    ///
    /// There is too little in them.
    pub(super) fn new(documents: Vec<Document>) -> Result<Self, Problem> {
        let each = NOTES_TOKENS_MAX / documents.len().max(1);
        let notes_of = |line_chars_max| -> Vec<Vec<String>> {
            let of = |it: &Document| {
                let all = notes(&it.text, line_chars_max);
                all.into_iter()
                    .scan(0, |sum, line| {
                        *sum += tokens(&line);
                        (*sum <= each).then_some(line)
                    })
                    .collect()
            };
            documents.iter().map(of).collect()
        };
        let size = |it: &Vec<String>| tokens(&it.join("\n"));
        let longest = documents.iter().map(|it| tokens(&it.text)).max().unwrap_or(0);
        let mut line_chars_max = LINE_CHARS_MAX;
        loop {
            let all = notes_of(line_chars_max);
            let total: usize = all.iter().map(size).sum();
            let largest = all.iter().map(size).max().unwrap_or(0);
            let value_tokens_max =
                VALUE_TOKENS_MAX.min(total / 6).min(largest * 2 / 3).min(longest.saturating_sub(1));
            if value_tokens_max < VALUE_TOKENS_MIN {
                let message = "these documents have too few headings with text below them";
                return Err(Problem::usage(message)
                    .next("name a folder with more, or leave --documents out"));
            }
            // A line is at most a sixth of an entry: then a full one is at least 80 % full,
            // and one without its longest line still more than half.
            if line_chars_max <= value_tokens_max * 4 / 6 {
                return Ok(Self {
                    parts: all.iter().map(|it| packed(it, value_tokens_max)).collect(),
                    documents,
                    value_tokens_max,
                    store_tokens_max: STORE_TOKENS_MAX.min(total * 3 / 4),
                });
            }
            line_chars_max = value_tokens_max * 4 / 6;
        }
    }

    /// The configuration of the session: the limits, and what its keys are for.
    pub(super) fn config(&self) -> Value {
        let key = |key: &str, group: &str, purpose: &str| json!({"key": key, "group": group, "purpose": purpose});
        let mut keys = vec![
            key("current_phase", "State", "reading, digesting or done"),
            key("progress_1", "State", "which documents the first reader is at"),
            key("progress_2", "State", "which documents the second reader is at"),
            key("problem_summary", "Task", "what the result is for"),
            key("scope", "Task", "which documents belong to it"),
            key("constraints", "Task", "how to distil"),
            key("open_questions", "Findings", "one line each; several participants add to it"),
            key("digest", "Result", "what all documents say, in one entry"),
        ];
        for (nth, parts) in self.parts.iter().enumerate() {
            let purpose = format!("what document {} says", nth + 1);
            keys.extend((0..parts.len()).map(|part| key(&notes_key(nth, part), "Notes", &purpose)));
        }
        json!({
            "value_tokens_max": self.value_tokens_max,
            "store_tokens_max": self.store_tokens_max,
            "namespace": {"keys": keys},
        })
    }
}

/// What the notes of a part of a document are called.
pub(super) fn notes_key(document: usize, part: usize) -> String {
    format!("notes_{}_{}", document + 1, part + 1)
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::cli::demo::material::{built_in, shortened};

    #[track_caller]
    fn check(plan: &Plan) {
        let all: usize = plan.parts.iter().flatten().map(|it| tokens(it)).sum();
        assert!(plan.store_tokens_max < all * 9 / 10, "the store is never full: {plan:?}");
        let full = &plan.parts.iter().find(|it| it.len() > 1).unwrap()[0];
        assert!(tokens(full) * 100 >= plan.value_tokens_max * 80, "NEAR_LIMIT: {full}");
        let distilled = tokens(&shortened(full, plan.value_tokens_max * 75 / 100)) * 100;
        assert!(distilled >= plan.value_tokens_max * 50, "DISTILL: {full}");
        assert!(plan.documents.iter().any(|it| tokens(&it.text) > plan.value_tokens_max));
        assert!(plan.parts.iter().flatten().all(|it| tokens(it) <= plan.value_tokens_max));
    }

    #[test]
    fn the_built_in_documents_meet_every_limit() {
        check(&Plan::new(built_in()).unwrap());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn whatever_the_documents_every_limit_is_met_or_they_are_refused(
            documents in vec(vec((1_usize..40, 6_usize..200), 1..60), 1..8),
        ) {
            let section = |&(letters, words): &(usize, usize)| {
                format!("# H{}\n\nThis {}.\n\n", "x".repeat(letters), "one ".repeat(words))
            };
            let document = |it: &Vec<(usize, usize)>| Document {
                name: "a.md".to_owned(),
                text: it.iter().map(section).collect(),
            };
            if let Ok(plan) = Plan::new(documents.iter().map(document).collect()) {
                check(&plan);
            }
        }
    }

    #[test]
    fn documents_without_sections_are_refused() {
        let text = "no heading".repeat(1000);
        let document = Document { name: "a.txt".to_owned(), text };
        assert_eq!(Plan::new(vec![document]).unwrap_err().code(), "USAGE");
    }
}
