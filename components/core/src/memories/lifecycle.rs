//! The life of memories: which are archived, and which are removed (spec 19.6, source 002).
//!
//! The rules are data. Rules that remove are tried before those that archive, and a run does at
//! most one of both to a memory. The importance of a memory protects it from all rules for a time
//! or forever, except from a mark for deletion and from its expiry.

use super::{
    id::DAY_MS,
    kinds::{Kind, Status},
    rows::Use,
    signature::Head,
};
use crate::{closed_list::closed_list, time::Timestamp};

/// The most actions of one run.
pub const ACTIONS_MAX: usize = 500;

closed_list! {
    /// An action of maintenance on a memory.
    LifecycleAction "action" {
        Archived "ARCHIVED": "It is kept, and shown only to who asks for archived memories.";
        Deleted "DELETED": "It is removed.";
    }
}

/// A condition of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// It is marked for deletion.
    Marked,
    /// Its expiry has passed.
    Expired,
    /// Its importance is at most this.
    ImportanceAtMost(u8),
    /// More days than these have passed since its last version.
    OlderThanDays(u64),
    /// More days than these have passed since it was archived.
    ArchivedForDays(u64),
    /// Another memory replaced it; a state also if there is a newer one.
    Superseded,
    /// The issue is resolved.
    Resolved,
    /// It was never read.
    Unread,
}

/// A rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// The name in replies.
    pub name: &'static str,
    /// The action.
    pub action: LifecycleAction,
    /// The kind that it is about; all when `None`.
    pub kind: Option<Kind>,
    /// The conditions, all of which must hold.
    pub conditions: &'static [Condition],
}

use Condition::{
    ArchivedForDays, Expired, ImportanceAtMost, Marked, OlderThanDays, Resolved, Superseded, Unread,
};
use LifecycleAction::{Archived, Deleted};

const fn rule(
    name: &'static str,
    action: LifecycleAction,
    kind: Kind,
    conditions: &'static [Condition],
) -> Rule {
    Rule { name, action, kind: Some(kind), conditions }
}

/// The rules, in the order in which they are tried.
pub static RULES: [Rule; 11] = [
    Rule { name: "marked", action: Deleted, kind: None, conditions: &[Marked] },
    Rule { name: "expired", action: Deleted, kind: None, conditions: &[Expired] },
    rule(
        "unimportant_decision",
        Deleted,
        Kind::Decision,
        &[ImportanceAtMost(3), ArchivedForDays(365)],
    ),
    rule("old_resolved_issue", Deleted, Kind::Issue, &[Resolved, ArchivedForDays(180)]),
    rule("old_superseded_state", Deleted, Kind::State, &[Superseded, OlderThanDays(90)]),
    rule("never_read_learning", Deleted, Kind::Learning, &[Unread, OlderThanDays(365)]),
    rule("old_decision", Archived, Kind::Decision, &[ImportanceAtMost(5), OlderThanDays(90)]),
    rule("superseded_decision", Archived, Kind::Decision, &[Superseded]),
    rule("resolved_issue", Archived, Kind::Issue, &[Resolved, OlderThanDays(30)]),
    rule("superseded_state", Archived, Kind::State, &[Superseded]),
    rule("unread_learning", Archived, Kind::Learning, &[Unread, OlderThanDays(180)]),
];

impl Rule {
    /// Returns true for an explicit request, a mark or an expiry, from which importance does not
    /// protect.
    fn is_said(&self) -> bool {
        self.conditions.iter().any(|it| matches!(it, Marked | Expired))
    }
}

/// A memory, as rules see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate<'a> {
    pub(crate) head: &'a Head,
    pub(crate) uses: Use,
    /// True for a state that is not the newest one.
    pub(crate) has_newer: bool,
}

/// Returns the days for which an importance keeps a memory from every rule; `None` for ever.
pub(crate) fn protected_days(importance: u8) -> Option<u64> {
    match importance {
        8.. => None,
        5..=7 => Some(30),
        _ => Some(7),
    }
}

/// Returns the first rule that applies to a memory at `now`.
pub(crate) fn rule_for(it: Candidate<'_>, now: Timestamp) -> Option<&'static Rule> {
    let head = it.head;
    let has_passed =
        |since: Timestamp, days: u64| now.0.saturating_sub(since.0) > days.saturating_mul(DAY_MS);
    let days = protected_days(head.importance);
    let is_protected = !days.is_some_and(|days| has_passed(head.changed_at, days));
    let holds = |condition: &Condition| match condition {
        Marked => head.is_marked,
        Expired => head.is_expired(now),
        ImportanceAtMost(most) => head.importance <= *most,
        OlderThanDays(days) => has_passed(head.changed_at, *days),
        ArchivedForDays(days) => head.archived_at.is_some_and(|it| has_passed(it, *days)),
        Superseded => head.is_superseded || head.kind == Kind::State && it.has_newer,
        Resolved => head.status == Some(Status::Resolved),
        Unread => it.uses.count == 0,
    };
    RULES.iter().find(|rule| {
        let is_done = rule.action == Archived && head.archived_at.is_some();
        rule.kind.is_none_or(|it| it == head.kind)
            && !is_done
            && (rule.is_said() || !is_protected)
            && rule.conditions.iter().all(holds)
    })
}
