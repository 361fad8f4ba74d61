//! The sections that a change affects, as a table (spec 20.4).

use super::{marker::Marker, section::Section};
use crate::closed_list::closed_list;

closed_list! {
    /// The kinds of changes.
    ChangeKind "change" {
        Code "code_change": "Code changed.";
        BugFix "bug_fix": "A bug was fixed.";
        Config "config_change": "A configuration changed.";
        Feature "new_feature": "A feature is new.";
        Progress "progress_update": "Work went on.";
        Decision "decision_made": "A decision was made.";
    }
}

/// The condition under which a section should change with another, in the words of the matrix.
pub type When = &'static str;

/// For each kind of change: when sections of levels 1 to 4 should change. Empty for never.
pub const MATRIX: [(ChangeKind, [When; 4]); 6] = [
    (
        ChangeKind::Code,
        [
            "if it changes the status in percent",
            "if it impacts the status",
            "if significant",
            "always",
        ],
    ),
    (ChangeKind::BugFix, ["if it was a blocker", "if it was critical", "if notable", "always"]),
    (ChangeKind::Config, ["rarely", "if it impacts the design", "if it is architecture", "always"]),
    (ChangeKind::Feature, ["if it is major", "always", "always", "always"]),
    (ChangeKind::Progress, ["status and percent", "status and percent", "status only", ""]),
    (ChangeKind::Decision, ["link only", "summary", "full details", "reference"]),
];

/// A summary should change after at least this many points of progress.
const PROGRESS_MIN: u8 = 10;
/// The most sections that an advice names.
const ADVICE_MAX: usize = 32;

/// A section to look at after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// The section.
    pub marker: Marker,
    /// The condition under which it should change.
    pub when: String,
}

/// Returns the sections to look at after `after` was written, by the kind of the change.
pub(crate) fn after(
    kind: Option<ChangeKind>,
    before: Option<&Section>,
    after: &Section,
    links: &[Marker],
    others: &[Section],
) -> Vec<Advice> {
    let mut advice: Vec<Advice> = Vec::new();
    let own = after.marker.level();
    let summaries = || others.iter().filter(|it| it.marker.level() == 1 && own != 1);
    let gained = match (before.and_then(|it| it.progress), after.progress) {
        (old, Some(new)) => new.abs_diff(old.unwrap_or(0)),
        _ => 0,
    };
    if gained >= PROGRESS_MIN {
        let when = ["progress changed by ", &gained.to_string(), " points"].concat();
        advice
            .extend(summaries().map(|it| Advice { marker: it.marker.clone(), when: when.clone() }));
    }
    let row = MATRIX.iter().find(|it| Some(it.0) == kind).map(|it| it.1);
    for it in row.iter().flat_map(|row| others.iter().map(move |it| (row, it))) {
        let (row, other) = it;
        let level = other.marker.level();
        let when = row.get(usize::from(level.saturating_sub(1))).copied().unwrap_or_default();
        let is_named = advice.iter().any(|it| it.marker == other.marker);
        let concerns = level != own && (level == 1 || is_related(after, links, other));
        if concerns && !when.is_empty() && !is_named && advice.len() < ADVICE_MAX {
            advice.push(Advice { marker: other.marker.clone(), when: when.to_owned() });
        }
    }
    advice
}

/// Returns true if two sections are about the same: one has a link to the other, or their numbers are
/// the same.
fn is_related(section: &Section, links: &[Marker], other: &Section) -> bool {
    links.iter().any(|it| *it == other.marker || other.marker.covers(it))
        || is_detail(&section.marker, &other.marker)
        || is_detail(&other.marker, &section.marker)
}

/// Returns true if `detail` has the number of `summary`: `§3.1` and `§3.1.2` that of `§2.1`.
pub(crate) fn is_detail(summary: &Marker, detail: &Marker) -> bool {
    let rest = detail.parts().strip_prefix(summary.parts());
    summary.level() == 2
        && detail.level() == 3
        && rest.is_some_and(|it| it.is_empty() || it.starts_with('.'))
}
