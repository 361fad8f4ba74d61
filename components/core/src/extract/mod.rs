//! Extraction: finds the facts of a conversation that must not be forgotten (spec 17.1).
//!
//! A fact is a sentence, line or paragraph of the conversation, in its own words. `marks` is the
//! table of phrases, `line`, `form` and `scan` read texts, `fact` says what a fact is, and `claim` reads
//! the parts of a sentence. `supersede` finds facts that a later one replaces, `settle` the issues that
//! are done, `value` the parts of a statement that may be restated, and `digest` is the document in
//! which a compaction keeps facts.
//!
//! # Invariants
//!
//! - The text of a fact is a part of its item's text, byte for byte.
//! - Facts are in the order of their places. Any text is accepted, in time linear in its bytes and
//!   in its facts.

pub(crate) mod claim;
pub(crate) mod digest;
mod fact;
mod form;
pub(crate) mod line;
mod marks;
mod polarity;
mod scan;
mod settle;
mod supersede;
mod value;

pub(crate) use claim::unit_of;
pub use fact::{Class, Detail, Extraction, Fact, Place, Position, Severity, Status};
pub(crate) use marks::is_quotation;
pub(crate) use settle::Report;
pub(crate) use supersede::{holders, is_repeated, repeated};

use crate::{
    item::{Authority, Item},
    order::sorted,
    text::lower,
};
use scan::Scan;

/// The most facts that are read from lines in one extraction. The goal of a conversation that names
/// none, and the question that an item ends with, may come on top. Of one line that has more facts,
/// the first are returned.
pub const FACTS_MAX: usize = 4_000;
/// The most lines that are read in one extraction.
pub const LINES_MAX: u32 = 20_000;
/// The number of modifications that are always kept.
pub(crate) const MODIFICATIONS_KEPT: usize = 5;

/// Extracts the facts of `items`, which are in the order of the conversation, from a position on.
///
/// Where [`FACTS_MAX`] or [`LINES_MAX`] is reached, [`Extraction::next`] is the position to go on
/// from. Items before `from` are not read.
///
/// ```
/// use shared_context_core::{
///     extract::{Class, Position, extract},
///     item::{Item, Kind, ListedKind},
/// };
///
/// let said = "Morning! DECISION: Use Kafka. Never deploy on Friday.";
/// let item = Item::inline("1", Kind::Listed(ListedKind::UserMessage), said);
/// let facts = extract(&[item], Position::default()).facts;
/// assert!(facts.iter().any(|it| it.class == Class::Decision && it.text == "DECISION: Use Kafka."));
/// assert!(facts.iter().any(|it| it.text == "Never deploy on Friday." && it.score == 100));
/// ```
pub fn extract(items: &[Item], from: Position) -> Extraction {
    extract_within(items, from, (LINES_MAX, FACTS_MAX))
}

/// Extracts the facts of all items, however many there are. A fact may replace one that stands any
/// number of lines before it.
pub(crate) fn extract_all(items: &[Item]) -> Extraction {
    extract_within(items, Position::default(), (u32::MAX, usize::MAX))
}

/// Extracts facts from a position on, until a number of lines or of facts is reached.
fn extract_within(
    items: &[Item],
    from: Position,
    (lines_max, facts_max): (u32, usize),
) -> Extraction {
    let mut found = Extraction::default();
    let mut first_message = None;
    let mut last_question = None;
    for (place, item) in items.iter().enumerate().skip(from.item) {
        let Some(text) = item.text() else { continue };
        let first = if place == from.item { from.line } else { 0 };
        let left = lines_max.saturating_sub(found.lines);
        let room = facts_max.saturating_sub(found.facts.len());
        let mut scan = Scan::new((place, item), text);
        let next = scan.read(first, (left, room), room < facts_max);
        found.lines = found.lines.saturating_add(scan.lines);
        let by = scan::authority(item);
        found.reports.append(&mut scan.reports);
        if by == Authority::User {
            settle_question(&mut found.facts, &mut last_question);
            if first_message.is_none() && from == Position::default() {
                first_message = Some((place, text));
            }
        }
        scan.facts.truncate(room);
        found.facts.append(&mut scan.facts);
        if let Some(line) = next {
            found.next = Some(Position { item: place, line });
            break;
        }
        let end = text.trim_end().len();
        let is_found = |it: &Fact| it.place.item == place && it.place.end == end;
        if by == Authority::Model && !found.facts.last().is_some_and(is_found) {
            scan.add_question();
            if !scan.facts.is_empty() {
                last_question = Some(found.facts.len());
            }
            found.facts.append(&mut scan.facts);
        }
    }
    let has_goal = found.facts.iter().any(|it| it.class == Class::Goal && it.score == 100);
    if let Some((place, text)) = first_message.filter(|_| !has_goal)
        && let Some(item) = items.get(place)
    {
        let mut scan = Scan::new((place, item), text);
        scan.add_goal();
        // What is said as a rule or a decision need not be said again as the goal.
        let is_said = |it: &Fact| {
            let same = |one: &&Fact| one.place.item == place && one.place.start == it.place.start;
            found.facts.iter().find(same).is_some_and(|one| one.place.end >= it.place.end)
        };
        scan.facts.retain(|it| !is_said(it));
        found.facts.append(&mut scan.facts);
    }
    found.facts = sorted(found.facts, |a, b| {
        (a.place.item, a.place.start).cmp(&(b.place.item, b.place.start))
    });
    let modifications = found.facts.iter_mut().rev().filter(|it| it.class == Class::Modification);
    modifications.take(MODIFICATIONS_KEPT).for_each(|it| it.score = 100);
    let last = items.len().saturating_sub(1);
    found.reported = settle::settle(&mut found.facts, &mut found.reports, last);
    supersede::supersede(&mut found.facts);
    found
}

/// Returns the authority of an item: that of its source if it is known, else the one its kind
/// implies.
pub(crate) fn authority(item: &Item) -> Authority {
    scan::authority(item)
}

/// Returns true if a sentence has a mark of some class.
pub(crate) fn has_mark(text: &str) -> bool {
    marks::Sentence::new(&lower(text)).class(0).is_some()
}

/// Returns the text of a fact without the label at its start, such as `DECISION:`.
pub(crate) fn unlabelled(text: &str) -> &str {
    let Some((_, label)) = form::label_of(text) else { return text };
    let rest = text.strip_prefix(label).unwrap_or(text);
    rest.trim_start_matches(['*', ' ', ':', '\t'])
}

/// Settles the last question of the model: a person said something after it.
fn settle_question(facts: &mut [Fact], question: &mut Option<usize>) {
    let asked = question.take().and_then(|it| facts.get_mut(it));
    if let Some(it) = asked.filter(|it| it.class == Class::Question) {
        it.status = Status::Resolved;
        it.score = 30;
    }
}
