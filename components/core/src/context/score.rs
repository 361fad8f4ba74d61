//! The scores of items, each with the signals that it consists of (spec 16.8).
//!
//! It leaves out relevance by words, which only orders items of one score.
//!
//! # Invariant
//!
//! A score is the sum of its three parts, each at most its maximum, so at most 100.

use super::{
    dependency::Dependency,
    mention::{Task, has_open_issue},
};
use crate::{
    closed_list::closed_list,
    item::{Item, ItemRole},
    time::Timestamp,
};

/// The highest relevance of a score.
pub const RELEVANCE_MAX: u8 = 50;

/// The most operations since a modification that count as recent.
const OPERATIONS_AGO_MAX: u32 = 5;
/// An hour, in milliseconds.
const HOUR_MS: u64 = 60 * 60 * 1_000;

/// The facts that an item is scored by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a signal of its own")]
pub struct Facts {
    /// True if the task names it.
    pub is_mentioned: bool,
    /// True if much depends on it.
    pub is_core: bool,
    /// True if it is a helper.
    pub is_utility: bool,
    /// True if it has open issues.
    pub has_open_issues: bool,
    /// The number of operations since it was modified; 1 for the last operation.
    pub operations_ago: Option<u32>,
    /// The time of its last modification.
    pub modified_at: Option<Timestamp>,
    /// Its relation to the active items.
    pub dependency: Dependency,
}

closed_list! {
    /// A signal that gives an item points.
    Signal "signal" {
        Mentioned "mentioned": "The task names the item.";
        Core "core": "Much depends on the item.";
        ChangedRecently "changed_recently": "One of the last 5 operations modified the item.";
        OpenIssues "open_issues": "The item has open issues.";
        Utility "utility": "The item is a helper.";
        Within1Hour "modified_within_1_hour": "The item was modified within the last hour.";
        Within4Hours "modified_within_4_hours": "The item was modified within the last 4 hours.";
        Within24Hours "modified_within_24_hours": "The item was modified within the last 24 hours.";
        Within7Days "modified_within_7_days": "The item was modified within the last 7 days.";
        DirectDependency "direct_dependency": "An active item depends on the item.";
        DependsOnActive "depends_on_active": "The item depends on an active item.";
        SecondDegree "second_degree_dependency": "A dependency of an active item depends on the item.";
    }
}

impl Signal {
    /// Returns the points of the signal.
    pub fn points(self) -> u8 {
        match self {
            Self::Within1Hour => 30,
            Self::Mentioned => 25,
            Self::Core | Self::Within4Hours | Self::DirectDependency => 20,
            Self::ChangedRecently | Self::DependsOnActive => 15,
            Self::OpenIssues | Self::Within24Hours | Self::SecondDegree => 10,
            Self::Utility | Self::Within7Days => 5,
        }
    }
}

/// The score of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileScore {
    /// The relevance for the task, 0 to 50.
    pub relevance: u8,
    /// The recency, 0 to 30.
    pub recency: u8,
    /// The dependency, 0 to 20.
    pub dependency: u8,
    /// The signals that were found, in the order of [`Signal::ALL`]. Those of relevance may have
    /// more than 50 points together.
    pub signals: Vec<Signal>,
}

impl Facts {
    /// Collects the facts of an item, from its members and its text. `dependency` is its relation
    /// to the active items.
    pub fn of(item: &Item, task: &Task, dependency: Dependency) -> Self {
        Self {
            is_mentioned: task.names(&item.id),
            is_core: item.roles.contains(&ItemRole::Core),
            is_utility: item.roles.contains(&ItemRole::Utility),
            has_open_issues: item.open_issues > 0 || item.text().is_some_and(has_open_issue),
            operations_ago: item.operations_ago,
            modified_at: item.at,
            dependency,
        }
    }

    /// Scores the item as of `now`.
    pub fn score(&self, now: Timestamp) -> FileScore {
        let is_recent = self.operations_ago.is_some_and(|it| it <= OPERATIONS_AGO_MAX);
        let relevant: Vec<Signal> = [
            (self.is_mentioned, Signal::Mentioned),
            (self.is_core, Signal::Core),
            (is_recent, Signal::ChangedRecently),
            (self.has_open_issues, Signal::OpenIssues),
            (self.is_utility, Signal::Utility),
        ]
        .into_iter()
        .filter_map(|(is_found, signal)| is_found.then_some(signal))
        .collect();
        let points = relevant.iter().map(|it| it.points()).fold(0, u8::saturating_add);
        let recent = self.modified_at.and_then(|at| recency(now.0.saturating_sub(at.0)));
        let depends = match self.dependency {
            Dependency::Direct => Some(Signal::DirectDependency),
            Dependency::OnActive => Some(Signal::DependsOnActive),
            Dependency::SecondDegree => Some(Signal::SecondDegree),
            Dependency::None => None,
        };
        FileScore {
            relevance: points.min(RELEVANCE_MAX),
            recency: recent.map_or(0, Signal::points),
            dependency: depends.map_or(0, Signal::points),
            signals: relevant.into_iter().chain(recent).chain(depends).collect(),
        }
    }
}

/// Returns the signal of an age in milliseconds.
fn recency(age_ms: u64) -> Option<Signal> {
    let signals = [
        (1, Signal::Within1Hour),
        (4, Signal::Within4Hours),
        (24, Signal::Within24Hours),
        (7 * 24, Signal::Within7Days),
    ];
    let found = signals.into_iter().find(|(hours, _)| age_ms <= hours * HOUR_MS);
    found.map(|(_, signal)| signal)
}

impl FileScore {
    /// Returns the sum of the parts, 0 to 100.
    pub fn total(&self) -> u8 {
        self.relevance.saturating_add(self.recency).saturating_add(self.dependency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::{Kind, ListedKind};

    const NOW: Timestamp = Timestamp(10_000_000_000);

    fn parts(facts: Facts) -> (u8, u8, u8, String) {
        let it = facts.score(NOW);
        let signals: Vec<&str> = it.signals.iter().map(|it| it.as_str()).collect();
        (it.relevance, it.recency, it.dependency, signals.join(" "))
    }

    #[test]
    fn recency_changes_a_millisecond_after_its_limit() {
        const HOUR: u64 = 3_600_000;
        for (age_ms, points) in [
            (0, 30),
            (HOUR - 1, 30),
            (HOUR, 30),
            (HOUR + 1, 20),
            (4 * HOUR, 20),
            (4 * HOUR + 1, 10),
            (24 * HOUR, 10),
            (24 * HOUR + 1, 5),
            (7 * 24 * HOUR, 5),
            (7 * 24 * HOUR + 1, 0),
            (NOW.0, 0),
        ] {
            let modified_at = Some(Timestamp(NOW.0 - age_ms));
            let score = Facts { modified_at, ..Facts::default() }.score(NOW);
            assert_eq!((score.recency, score.total()), (points, points), "{age_ms}");
        }
        let later = Facts { modified_at: Some(Timestamp(u64::MAX)), ..Facts::default() };
        assert_eq!(later.score(NOW).recency, 30, "a time in the future is now");
        assert_eq!(Facts::default().score(NOW).recency, 0, "no time");
    }

    #[test]
    fn relevance_is_a_sum_of_at_most_50() {
        let none = Facts::default();
        let all = Facts {
            is_mentioned: true,
            is_core: true,
            is_utility: true,
            has_open_issues: true,
            operations_ago: Some(1),
            ..none
        };
        let names = "mentioned core changed_recently open_issues utility";
        for (facts, points, signals) in [
            (none, 0, ""),
            (Facts { is_mentioned: true, ..none }, 25, "mentioned"),
            (Facts { is_core: true, ..none }, 20, "core"),
            (Facts { operations_ago: Some(0), ..none }, 15, "changed_recently"),
            (Facts { operations_ago: Some(5), ..none }, 15, "changed_recently"),
            (Facts { operations_ago: Some(6), ..none }, 0, ""),
            (Facts { has_open_issues: true, ..none }, 10, "open_issues"),
            (Facts { is_utility: true, ..none }, 5, "utility"),
            (Facts { is_mentioned: false, ..all }, 50, names.trim_start_matches("mentioned ")),
            (all, 50, names),
        ] {
            assert_eq!(parts(facts), (points, 0, 0, signals.to_owned()), "{facts:?}");
        }
    }

    #[test]
    fn dependency_has_the_points_of_its_relation() {
        for (dependency, points, signals) in [
            (Dependency::None, 0, ""),
            (Dependency::SecondDegree, 10, "second_degree_dependency"),
            (Dependency::OnActive, 15, "depends_on_active"),
            (Dependency::Direct, 20, "direct_dependency"),
        ] {
            let facts = Facts { dependency, ..Facts::default() };
            assert_eq!(parts(facts), (0, 0, points, signals.to_owned()));
        }
    }

    #[test]
    fn facts_come_from_the_item_the_task_and_the_text() {
        let kind = Kind::Listed(ListedKind::FileExcerpt);
        let mut item = Item::inline("src/auth.rs", kind, "// TODO: rotate");
        item.roles = vec![ItemRole::Core, ItemRole::Utility];
        item.at = Some(NOW);
        item.operations_ago = Some(2);
        let facts = Facts::of(&item, &Task::new("Fix auth.rs"), Dependency::Direct);
        let expected = Facts {
            is_mentioned: true,
            is_core: true,
            is_utility: true,
            has_open_issues: true,
            operations_ago: Some(2),
            modified_at: Some(NOW),
            dependency: Dependency::Direct,
        };
        assert_eq!(facts, expected);
        assert_eq!(facts.score(NOW).total(), 100);

        let plain = Item::inline("src/auth.rs", item.kind.clone(), "done");
        let facts = Facts::of(&plain, &Task::new("Fix it"), Dependency::None);
        assert_eq!(facts, Facts::default());
        let facts =
            Facts::of(&Item { open_issues: 1, ..plain }, &Task::default(), Dependency::None);
        assert!(facts.has_open_issues);
    }
}
