//! Facts: what is extracted, and its place in the conversation.

use super::settle::{Report, Reported};
use crate::{closed_list::closed_list, item::Authority};

closed_list! {
    /// The class of a fact.
    Class "class" {
        Goal "goal": "A goal, a task or a criterion of success.";
        Constraint "constraint": "A rule that must be kept.";
        Preference "preference": "What somebody prefers.";
        Decision "decision": "A decision.";
        Issue "issue": "A bug or another issue.";
        Critical "critical": "A critical detail of the implementation.";
        State "state": "The state of the work: progress, next actions, blockers.";
        Modification "modification": "A change of a file.";
        Question "question": "An open question.";
        Learning "learning": "Something that was learned.";
        Failure "failure": "An attempt that failed.";
        Pattern "pattern": "A convention to follow or to avoid.";
        Fact "fact": "A detail that is used again: a path, a version, a number.";
        Prune "prune": "What somebody said is no longer needed.";
        Noise "noise": "A confirmation, a trace, a log: what is safe to lose.";
    }
}

closed_list! {
    /// The severity of an issue.
    Severity "severity" {
        Critical "critical": "Nothing works without a solution.";
        High "high": "Much does not work.";
        Medium "medium": "Something does not work.";
        Low "low": "An inconvenience.";
    }
}

closed_list! {
    /// The status of a fact.
    Status "status" {
        Open "open": "It holds, or is still to be done.";
        Resolved "resolved": "It is done: the issue is fixed, the question is answered.";
        Superseded "superseded": "A later fact replaces it.";
    }
}

/// A position in a conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The place of the item, from 0.
    pub item: usize,
    /// The line in its text, from 0.
    pub line: u32,
}

/// The place of a fact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// The place of the item, from 0.
    pub item: usize,
    /// The line in its text, from 0.
    pub line: u32,
    /// The first byte of the fact in the text of the item.
    pub start: usize,
    /// The byte after its last.
    pub end: usize,
    /// Its first character in the text of the item, counted in Unicode characters from 0.
    pub char_start: u32,
    /// The character after its last.
    pub char_end: u32,
}

/// A labelled part of a fact, such as its rationale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    /// The label in lower case with `_` for spaces, such as `rationale` or `next_actions`.
    pub label: String,
    /// The text after it.
    pub text: String,
}

/// A fact of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// Its class.
    pub class: Class,
    /// Its importance: 100 is always kept, 31 to 99 rather, 0 to 30 not.
    pub score: u8,
    /// Its text, byte for byte a part of the item's text.
    pub text: String,
    /// Its place.
    pub place: Place,
    /// The labelled parts of its text.
    pub details: Vec<Detail>,
    /// The id of an issue, such as `BUG-2847`.
    pub id: Option<String>,
    /// The severity of an issue.
    pub severity: Option<Severity>,
    /// Its status.
    pub status: Status,
    /// The time before it in the text, unchanged.
    pub said_at: Option<String>,
    /// The named author: the label `Agent`, or the name of the speaker.
    pub made_by: Option<String>,
    /// The authority of its item.
    pub authority: Authority,
    /// The digest of its text, as [`digest::sha256`](crate::digest::sha256) writes it.
    pub digest: String,
    /// The place in [`Extraction::facts`] of the fact that replaces or resolves it.
    pub superseded_by: Option<usize>,
}

impl Fact {
    /// Returns true if no compaction may lose the fact.
    pub fn is_preserved(&self) -> bool {
        self.score == 100
    }
}

/// The facts of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extraction {
    /// The facts, in the order of their places.
    pub facts: Vec<Fact>,
    /// The number of lines that were read.
    pub lines: u32,
    /// The position to go on from, if a limit was reached.
    pub next: Option<Position>,
    /// The sentences that say that issues are done or came back, in their order.
    pub(crate) reports: Vec<Report>,
    /// For each fact, what was reported of it.
    pub(crate) reported: Vec<Reported>,
}
