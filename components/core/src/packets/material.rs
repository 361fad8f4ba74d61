//! Reads the input of a caller: facts, files, a conversation (spec 18.3).

use super::{
    kinds::{MadeBy, Part},
    request::{File, GeneratePacket, Given},
    statement::{Origin, Source, Statement},
    talk,
};
use crate::{
    count::widen, digest::sha256, item::Authority, participant::Participant, text::find_any,
};

/// The longest summary of a file, in characters.
const SUMMARY_CHARS_MAX: usize = 160;

/// Returns the statements of a request: facts and files as they are given, then those of the
/// conversation, in its order.
pub(super) fn read(request: &GeneratePacket, by: &Participant) -> Vec<Statement> {
    let mut all = facts(&request.facts, by);
    all.extend(request.files.iter().map(file));
    all.extend(talk::read(&request.task, &request.conversation));
    all
}

/// Returns what the caller states. A later statement has a higher rank.
fn facts(facts: &[Given], by: &Participant) -> Vec<Statement> {
    let mut all = Vec::new();
    for (given, rank) in facts.iter().zip(0..) {
        let text = given.text.trim();
        let mut it = Statement::new(given.part, text, Source::given(text, by));
        it.detail = given.detail.as_deref().map(|it| it.trim().to_owned());
        let made_by = given.made_by.unwrap_or_else(|| MadeBy::role(by.role()));
        it.made_by = (given.part == Part::Decision).then_some(made_by);
        it.rank = rank;
        all.push(it);
    }
    all
}

/// Returns a file with its summary: its text if it is short, else its first meaningful lines.
fn file(file: &File) -> Statement {
    let origin = Origin::File { path: file.path.clone() };
    let source =
        Source { origin, digest: sha256(&file.text), authority: Authority::ToolInternal, by: None };
    let mut it = Statement::new(Part::File, &file.path, source);
    let summary = summary(&file.text);
    it.detail = (!summary.is_empty()).then(|| summary.to_owned());
    it
}

/// Returns the part of a file's text that describes it, in one line.
fn summary(text: &str) -> &str {
    let is_sign =
        |c: char| c.is_whitespace() || matches!(c, '/' | '*' | '#' | '!' | '-' | '"' | '\'' | '<');
    let lines = text.lines().map(|it| it.trim_matches(is_sign));
    let mut lines = lines.filter(|it| it.chars().filter(|it| it.is_alphabetic()).count() > 2);
    let first = lines.next().unwrap_or_default();
    shortened(first, SUMMARY_CHARS_MAX)
}

/// Returns the start of a text of at most `chars_max` characters, up to the end of a word.
pub(crate) fn shortened(text: &str, chars_max: usize) -> &str {
    let Some((end, _)) = text.char_indices().nth(chars_max) else { return text };
    let cut = text.get(..end).unwrap_or_default();
    let space = cut.rfind(char::is_whitespace).filter(|it| *it > 0);
    space.and_then(|it| cut.get(..it)).unwrap_or(cut).trim_end()
}

/// Returns the first sentence of a text, of at most 120 characters (point "one-line summary").
pub(super) fn first_sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    let end = crate::extract::line::sentence_ends(line).next().unwrap_or(line.len());
    shortened(line.get(..end).unwrap_or(line), widen(SENTENCE_CHARS_MAX))
}

/// The longest one-line summary, in characters (004).
pub(super) const SENTENCE_CHARS_MAX: u32 = 120;

/// Phrases between a statement and its reason.
const REASONS: [&str; 7] =
    [" because ", ", since ", " so that ", " due to ", " in order to ", " (because ", " as it "];

/// Splits a statement at its reason.
pub(crate) fn with_reason(text: &str) -> (&str, Option<&str>) {
    let Some((at, nth)) = find_any(text, &REASONS, 0) else { return (text, None) };
    let length = REASONS.get(nth).map_or(0, |it| it.len());
    let choice = text.get(..at).unwrap_or(text).trim_end_matches([',', ';', ' ']);
    // `so that` and `in order to` belong to the reason's sentence.
    let start = at.saturating_add(length);
    let reason = text.get(start..).unwrap_or_default().trim().trim_end_matches([')', '.']);
    if choice.is_empty() || reason.is_empty() { (text, None) } else { (choice, Some(reason)) }
}
