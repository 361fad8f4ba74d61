//! The digest document: the facts of removed items, line by line, in their own words.
//!
//! ```text
//! # Compacted context
//!
//! ## Decisions
//! - DECISION: Use PostgreSQL [m4:1]
//! * A detail that may go first [m7:3] (model)
//! - [m9:2, 2 lines]
//! DECISION: Adopt queues
//! Rationale: bursts
//! ```
//!
//! A line with `-` is a fact that is never lost; a line with `*` is kept while there is room. The
//! source is an item and a line in it. Beside it is the authority of the source, unless the source
//! is a user or an operator. A fact of several lines follows its source, byte for byte.
//!
//! # Invariant
//!
//! [`read`] returns the lines that [`write`] was given.

use super::Class;
use crate::{
    closed_list::closed_list,
    digest::sha256,
    item::{Authority, Item, Kind, ListedKind},
};

closed_list! {
    /// A section of a digest, in order.
    Section "section" {
        Goal "goal": "Goals and criteria.";
        Constraints "constraints": "Constraints and preferences.";
        Decisions "decisions": "Decisions.";
        Issues "issues": "Issues and open questions.";
        State "state": "The state of the task.";
        Modifications "modifications": "Modifications of files.";
        Learnings "learnings": "Details, failures, patterns, and what was learned.";
    }
}

/// The first line of every digest.
pub const HEADING: &str = "# Compacted context";

/// The titles of the sections, in their order.
const TITLES: [&str; Section::ALL.len()] = [
    "## Goal",
    "## Constraints",
    "## Decisions",
    "## Issues",
    "## State",
    "## Modifications",
    "## Learnings",
];

/// A line of a digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// Its section.
    pub(crate) section: Section,
    /// The fact.
    pub(crate) text: &'a str,
    /// The item and the line in it.
    pub(crate) source: &'a str,
    /// The authority of the source. A user and an operator are not distinguished when it is read.
    pub(crate) authority: Authority,
    /// Whether it is never lost.
    pub(crate) is_required: bool,
}

/// Returns the section for facts of a class.
pub(crate) fn section(class: Class) -> Section {
    match class {
        Class::Goal => Section::Goal,
        Class::Constraint | Class::Preference => Section::Constraints,
        Class::Decision => Section::Decisions,
        Class::Issue | Class::Question => Section::Issues,
        Class::State => Section::State,
        Class::Modification => Section::Modifications,
        Class::Critical
        | Class::Learning
        | Class::Failure
        | Class::Pattern
        | Class::Fact
        | Class::Prune
        | Class::Noise => Section::Learnings,
    }
}

/// Returns the class that stands for a section of a digest that was read.
pub(crate) fn class(section: Section) -> Class {
    match section {
        Section::Goal => Class::Goal,
        Section::Constraints => Class::Constraint,
        Section::Decisions => Class::Decision,
        Section::Issues => Class::Issue,
        Section::State => Class::State,
        Section::Modifications => Class::Modification,
        Section::Learnings => Class::Critical,
    }
}

/// Returns the id of the item with a digest document.
pub(crate) fn id(text: &str) -> String {
    let digest = sha256(text);
    let hex = digest.strip_prefix("sha256:").unwrap_or_default();
    ["digest:", hex.get(..12).unwrap_or_default()].concat()
}

/// Returns true if the item is a digest that a compaction wrote. A document of a third party that
/// looks like one is not, unless its id proves that it is unchanged.
pub(crate) fn is_own(item: &Item) -> bool {
    let Some(text) = item.text() else { return false };
    item.kind == Kind::Listed(ListedKind::ComputedSummary)
        && text.strip_prefix(HEADING).is_some_and(|it| it.is_empty() || it.starts_with('\n'))
        && (item.source.authority != Authority::ToolExternal || id(text) == item.id)
}

/// Returns for each line of a digest its first byte and the authority of its source, at most that of
/// a model: a model may have sent it back. Other items have none.
pub(super) fn authorities(item: &Item) -> Vec<(usize, Authority)> {
    if !is_own(item) {
        return Vec::new();
    }
    let lines = read(item.text().unwrap_or_default()).into_iter();
    lines.map(|(start, line)| (start, line.authority.max(Authority::Model))).collect()
}

/// Writes a digest. The lines are in the order of their sections.
pub(crate) fn write(lines: &[Line<'_>]) -> String {
    let mut text = HEADING.to_owned();
    let mut last = None;
    for line in lines {
        if last.replace(line.section) != Some(line.section) {
            let titles = Section::ALL.into_iter().zip(TITLES);
            let title = titles.filter(|(it, _)| *it == line.section).map(|(_, title)| title);
            text.push_str("\n\n");
            title.for_each(|it| text.push_str(it));
        }
        text.push_str(if line.is_required { "\n- " } else { "\n* " });
        let breaks = line.text.matches('\n').count();
        if breaks == 0 {
            text.push_str(line.text);
            text.push(' ');
        }
        text.push('[');
        text.push_str(line.source);
        if breaks > 0 {
            text.push_str(", ");
            text.push_str(&breaks.saturating_add(1).to_string());
            text.push_str(" lines");
        }
        text.push(']');
        if is_marked(line.authority) {
            text.push_str(" (");
            text.push_str(line.authority.as_str());
            text.push(')');
        }
        if breaks > 0 {
            text.push('\n');
            text.push_str(line.text);
        }
    }
    text
}

/// Returns about how many characters a line adds to a digest.
pub(crate) fn chars(line: &Line<'_>) -> u64 {
    let mark = if is_marked(line.authority) { line.authority.as_str().len() } else { 0 };
    let count = line.text.chars().count().saturating_add(line.source.len()).saturating_add(mark);
    u64::try_from(count).unwrap_or(u64::MAX).saturating_add(8)
}

fn is_marked(authority: Authority) -> bool {
    !matches!(authority, Authority::User | Authority::Operator)
}

/// Reads a digest: its lines, each with its first byte in `document`. Other text is skipped.
pub(crate) fn read(document: &str) -> Vec<(usize, Line<'_>)> {
    let mut lines = Vec::new();
    let mut section = Section::Learnings;
    let mut start: usize = 0;
    while let Some(rest) = document.get(start..).filter(|it| !it.is_empty()) {
        let line = rest.split('\n').next().unwrap_or_default();
        let mut length = line.len().saturating_add(1);
        let titles = Section::ALL.into_iter().zip(TITLES);
        if let Some((it, _)) = titles.into_iter().find(|(_, title)| *title == line) {
            section = it;
        } else if let Some((mut found, count)) = read_line(line, section) {
            if count > 0 {
                let behind = rest.get(length..).unwrap_or_default();
                let mut breaks = behind.match_indices('\n').map(|(place, _)| place);
                let end = breaks.nth(count.saturating_sub(1)).unwrap_or(behind.len());
                found.text = behind.get(..end).unwrap_or_default();
                length = length.saturating_add(end).saturating_add(1);
            }
            lines.push((start, found));
        }
        start = start.saturating_add(length);
    }
    lines
}

/// Reads the line of a fact, and the number of lines of text that follow it.
fn read_line(line: &str, section: Section) -> Option<(Line<'_>, usize)> {
    let required = line.strip_prefix("- ");
    let is_required = required.is_some();
    let line = required.or_else(|| line.strip_prefix("* "))?;
    let (line, authority) = marked(line);
    let authority = authority.unwrap_or(Authority::Operator);
    let line = line.strip_suffix(']')?;
    let several = line.strip_prefix('[').and_then(|it| it.strip_suffix(" lines"));
    let several = several.and_then(|it| it.rsplit_once(", "));
    let several = several.and_then(|(source, count)| Some((source, count.parse().ok()?)));
    if let Some((source, count)) = several.filter(|(_, count)| *count > 1) {
        return Some((Line { section, text: "", source, authority, is_required }, count));
    }
    let (text, source) = line.rsplit_once(" [")?;
    Some((Line { section, text, source, authority, is_required }, 0))
}

/// Divides a line into its text with the source, and the authority after it, if it has one.
pub(super) fn marked(line: &str) -> (&str, Option<Authority>) {
    let marked = line.strip_suffix(')').and_then(|it| it.rsplit_once(" ("));
    let marked = marked.filter(|(line, _)| line.ends_with(']'));
    let marked = marked.and_then(|(line, name)| {
        Authority::ALL.into_iter().find(|it| it.as_str() == name).map(|it| (line, Some(it)))
    });
    marked.unwrap_or((line, None))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_digest_is_plain_markdown() {
        let line = |section, text, source, authority, is_required| Line {
            section,
            text,
            source,
            authority,
            is_required,
        };
        let lines = [
            line(Section::Decisions, "Use queues.", "m4:1", Authority::User, true),
            line(Section::Learnings, "a\nb", "m9:2", Authority::Model, false),
        ];
        assert_eq!(
            write(&lines),
            "# Compacted context\n\n## Decisions\n- Use queues. [m4:1]\n\n## Learnings\n\
             * [m9:2, 2 lines] (model)\na\nb"
        );
    }

    proptest! {
        /// Facts may look like any part of the format.
        #[test]
        fn what_is_written_is_read(
            texts in proptest::collection::vec(
                "[a-z]{1,3}( \\[a:1\\]|\n## Goal|\n- x \\[y:2\\]|, 3 lines\\]| \\(model\\)|\r\n|\n\n| ){0,4}[a-z]{1,2}|- \\[ \\] x",
                1..6,
            ),
            authority in 0_usize..6,
            is_required: bool,
        ) {
            let read_as = |it| if it == Authority::User { Authority::Operator } else { it };
            let authority = Authority::ALL.get(authority).copied().map(read_as).unwrap_or_default();
            let lines: Vec<Line<'_>> = texts
                .iter()
                .map(|text| Line { section: Section::State, text, source: "a/b c:12", authority, is_required })
                .collect();
            let document = write(&lines);
            let found: Vec<Line<'_>> = read(&document).into_iter().map(|(_, line)| line).collect();
            prop_assert_eq!(&found, &lines);
            prop_assert!(texts.iter().all(|it| document.contains(it.as_str())));
        }

        #[test]
        fn any_text_is_read(document in "(# Compacted context\n)?([-*] |\\[|\\]|, 9 lines|\n|a|\\(model\\)|:){0,20}") {
            read(&document);
        }
    }
}
