//! The closed lists of memories: kinds, the members of their contents, states (spec 19.1).

use crate::{Error, closed_list::closed_list};

closed_list! {
    /// The kind of a memory.
    Kind "type" {
        Decision "decision": "What was decided, and why.";
        Issue "issue": "A bug, a blocker or a question that is open.";
        State "state": "How far a task is.";
        Learning "learning": "A lesson for later.";
        Handoff "handoff": "What an agent handed over to another.";
    }
}

closed_list! {
    /// The severity of an issue, the lowest first.
    Severity "severity" {
        Low "low": "It can wait.";
        Medium "medium": "It should be resolved.";
        High "high": "It hinders work.";
        Critical "critical": "It stops work or loses data.";
    }
}

closed_list! {
    /// The status of an issue. Other kinds have no status.
    Status "status" {
        Open "open": "It is not resolved.";
        Resolved "resolved": "It is resolved.";
    }
}

closed_list! {
    /// A mark of a memory.
    Mark "mark" {
        Archived "archived": "Kept, and shown only to who asks for archived memories.";
        Active "active": "Neither archived nor marked for deletion, and replaced by none.";
        Deleted "deleted": "Removed by the next maintenance.";
        Verified "verified": "Confirmed: an unverified memory counts from then on.";
    }
}

closed_list! {
    /// The order of found memories.
    Sort "sort" {
        Relevance "relevance": "The best rank first; of equal ranks the newest.";
        Importance "importance": "The most important first; of equally important ones the newest.";
        Timestamp "timestamp": "The newest first.";
        Severity "severity": "The most severe issue first; of equally severe ones the newest.";
        Access "access": "The most used first; of equally used ones the newest.";
    }
}

/// The type of a member's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// A text.
    Text,
    /// A list of texts.
    Texts,
    /// A whole number from 0 to 100.
    Percent,
    /// The name of a severity.
    Severity,
}

/// A member of the content of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberRule {
    /// The name.
    pub name: &'static str,
    /// The heading in a text.
    pub heading: &'static str,
    /// The type of its value.
    pub holds: Holds,
    /// True if a content needs it.
    pub is_needed: bool,
}

const fn needed(name: &'static str, heading: &'static str, holds: Holds) -> MemberRule {
    MemberRule { name, heading, holds, is_needed: true }
}

const fn text(name: &'static str, heading: &'static str) -> MemberRule {
    MemberRule { name, heading, holds: Holds::Text, is_needed: false }
}

const fn texts(name: &'static str, heading: &'static str) -> MemberRule {
    MemberRule { name, heading, holds: Holds::Texts, is_needed: false }
}

const DECISION: &[MemberRule] = &[
    needed("decision", "Decision", Holds::Text),
    text("rationale", "Rationale"),
    texts("alternatives_considered", "Alternatives Considered"),
    text("expected_impact", "Expected Impact"),
    text("validation_criteria", "Validation Criteria"),
    text("context", "Context"),
];
const ISSUE: &[MemberRule] = &[
    needed("description", "Description", Holds::Text),
    needed("severity", "Severity", Holds::Severity),
    text("reproduction_steps", "Reproduction"),
    text("investigation_status", "Investigation"),
    texts("attempted_fixes", "Attempted Fixes"),
    text("next_actions", "Next Actions"),
];
const STATE: &[MemberRule] = &[
    needed("task_description", "Task", Holds::Text),
    needed("completion_percentage", "Completion", Holds::Percent),
    texts("substeps_completed", "Completed"),
    texts("substeps_remaining", "Remaining"),
    texts("blockers", "Blockers"),
    texts("next_actions", "Next Actions"),
];
const LEARNING: &[MemberRule] = &[
    needed("lesson", "Lesson", Holds::Text),
    text("context", "Context"),
    text("applicability", "Applicability"),
    text("evidence", "Evidence"),
];
const HANDOFF: &[MemberRule] = &[
    needed("summary", "Summary", Holds::Text),
    text("from_agent", "From"),
    text("to_agent", "To"),
    texts("work_products", "Work Products"),
    texts("next_actions", "Next Actions"),
    text("notes", "Notes"),
];

impl Kind {
    /// Returns the members of a content of this kind, in their order.
    pub fn members(self) -> &'static [MemberRule] {
        match self {
            Self::Decision => DECISION,
            Self::Issue => ISSUE,
            Self::State => STATE,
            Self::Learning => LEARNING,
            Self::Handoff => HANDOFF,
        }
    }

    /// Returns the place of a member of a content and its rule.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if this kind has no such member; it lists those there are.
    pub fn member(self, name: &str) -> Result<(usize, &'static MemberRule), Error> {
        let found = self.members().iter().enumerate().find(|(_, it)| it.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.members().iter().map(|it| it.name).collect();
            let shown: String = name.chars().take(80).collect();
            Error::malformed(format!(
                "the content of {} has no member {shown:?}; its members are {}",
                self.with_article(),
                names.join(", ")
            ))
        })
    }

    /// Returns the name with its article, for messages.
    pub(super) fn with_article(self) -> String {
        let article = if self == Self::Issue { "an" } else { "a" };
        format!("{article} {}", self.as_str())
    }
}
