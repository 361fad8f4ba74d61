//! The capacity of a window: its level with the actions it demands, the triggers that are due, and
//! the error of an estimate (spec 16.5, 16.6, 16.7).

use std::cmp::Ordering;

use super::share::Share;
use crate::{closed_list::closed_list, tokens::Tokens};

/// The share of the window from which the level is yellow, and compaction is due.
pub const YELLOW: Share = Share(8_000);
/// The share of the window from which the level is orange.
pub const ORANGE: Share = Share(9_000);
/// The share of the window from which the level is red.
pub const RED: Share = Share(9_500);

/// The number of operations within which a yellow window needs a plan.
pub const PLAN_WITHIN_OPERATIONS: u32 = 10;
/// The score below which items leave a red window.
pub const SHED_BELOW_SCORE: u8 = 30;
/// The tokens above which a load makes compaction due.
pub const LARGE_LOAD_TOKENS: Tokens = Tokens(20_000);
/// The number of operations after which compaction is due.
pub const OPERATIONS_MAX: u32 = 50;
/// The error in percent above which an estimator should be adjusted.
const ESTIMATE_ERROR_PERCENT_MAX: u64 = 10;

closed_list! {
    /// The capacity level of a window.
    Level "level" {
        Green "green": "Normal operation.";
        Yellow "yellow": "Plan compaction within 10 operations.";
        Orange "orange": "Compact now before next major operation.";
        Red "red": "Emergency compaction required.";
    }
}

closed_list! {
    /// An action that a level demands.
    Action "action" {
        PlanCompaction "plan_compaction": "Make a plan of compaction within 10 operations.";
        NameCandidates "name_candidates": "Name the items that could be removed.";
        Compact "compact": "Compact before the next major operation.";
        DeferLoads "defer_loads": "Do not load what is not critical.";
        CompactAggressively "compact_aggressively": "Compact immediately, as far as the rules allow.";
        ShedLowScores "shed_low_scores": "Remove all items with a score below 30.";
        SummarizeVerbose "summarize_verbose": "Replace verbose outputs by summaries.";
    }
}

impl Level {
    /// Returns the level of a window of which `used` tokens are used, by the exact ratio. More than
    /// the window is red, as is anything in a window without tokens.
    pub fn of(used: Tokens, window: Tokens) -> Self {
        let reaches = |share| Share::compare(used, window, share) != Ordering::Less;
        match () {
            () if reaches(RED) => Self::Red,
            () if reaches(ORANGE) => Self::Orange,
            () if reaches(YELLOW) => Self::Yellow,
            () => Self::Green,
        }
    }

    /// Returns the actions that the level demands, in order.
    pub fn actions(self) -> &'static [Action] {
        match self {
            Self::Green => &[],
            Self::Yellow => &[Action::PlanCompaction, Action::NameCandidates],
            Self::Orange => &[Action::Compact, Action::DeferLoads],
            Self::Red => {
                &[Action::CompactAggressively, Action::ShedLowScores, Action::SummarizeVerbose]
            }
        }
    }
}

closed_list! {
    /// A reason to compact a window.
    Trigger "trigger" {
        Capacity "capacity": "80 % of the window or more is used.";
        PlanningEnded "planning_ended": "A planning session has ended.";
        LargeLoad "large_load": "More than 20,000 tokens are about to be loaded.";
        Handoff "handoff": "The work is about to be handed to another agent.";
        Operations "operations": "50 operations were made since the last compaction.";
        Asked "asked": "Somebody asked for it.";
        Degradation "degradation": "The model has become slower or worse.";
        CriticalDecision "critical_decision": "A critical decision is about to be made.";
    }
}

impl Trigger {
    /// Returns true if the system detects the trigger without being asked.
    pub fn is_automatic(self) -> bool {
        !matches!(self, Self::Asked | Self::Degradation | Self::CriticalDecision)
    }
}

/// The state of a window, as its client reports it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a member of the request")]
pub struct Situation {
    /// The tokens in the window.
    pub used: Tokens,
    /// The tokens that are about to be loaded.
    pub to_load: Tokens,
    /// The operations since the last compaction.
    pub operations: u32,
    /// True if a planning session has ended.
    pub has_planned: bool,
    /// True if the work is about to be handed over.
    pub is_handoff: bool,
    /// True if a compaction was requested.
    pub is_asked: bool,
    /// True if the model has become slower or worse.
    pub is_degraded: bool,
    /// True if a critical decision is about to be made.
    pub is_decision_next: bool,
}

impl Situation {
    /// Returns the triggers that are due in a window of this size, in the order of
    /// [`Trigger::ALL`].
    pub fn due(&self, window: Tokens) -> Vec<Trigger> {
        let is_due = |trigger: &Trigger| match trigger {
            Trigger::Capacity => Level::of(self.used, window) != Level::Green,
            Trigger::PlanningEnded => self.has_planned,
            Trigger::LargeLoad => self.to_load > LARGE_LOAD_TOKENS,
            Trigger::Handoff => self.is_handoff,
            Trigger::Operations => self.operations >= OPERATIONS_MAX,
            Trigger::Asked => self.is_asked,
            Trigger::Degradation => self.is_degraded,
            Trigger::CriticalDecision => self.is_decision_next,
        };
        Trigger::ALL.into_iter().filter(is_due).collect()
    }
}

/// Returns true if more than 80 % of the window is used, so that nothing more is loaded in advance
/// (spec 16.8).
pub fn is_crowded(used: Tokens, window: Tokens) -> bool {
    Share::compare(used, window, YELLOW) == Ordering::Greater
}

/// An estimate beside the exact count of the same text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// The estimate.
    pub estimated: Tokens,
    /// The exact count.
    pub exact: Tokens,
}

impl Estimate {
    /// Returns the error of the estimate in units of 1/10 % of the exact count, rounded to the
    /// nearest, halves away from 0. It is negative if the estimate is too low, and `None` if the
    /// exact count is 0 but the estimate is not.
    pub fn error_permille(self) -> Option<i64> {
        let (estimated, exact) = (u64::from(self.estimated.0), u64::from(self.exact.0));
        if exact == 0 {
            return (estimated == 0).then_some(0);
        }
        let difference = estimated.abs_diff(exact).saturating_mul(1_000);
        let rounded = difference.saturating_add(exact / 2).checked_div(exact)?;
        let error = i64::try_from(rounded).ok()?;
        Some(if estimated < exact { error.saturating_neg() } else { error })
    }

    /// Returns true if the estimate differs by more than 10 % of the exact count.
    pub fn is_off(self) -> bool {
        let (estimated, exact) = (u64::from(self.estimated.0), u64::from(self.exact.0));
        let difference = estimated.abs_diff(exact).saturating_mul(100);
        difference > exact.saturating_mul(ESTIMATE_ERROR_PERCENT_MAX)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WINDOW: Tokens = Tokens(200_000);

    #[test]
    fn levels_change_at_the_exact_ratio() {
        use Level::{Green, Orange, Red, Yellow};
        for (used, level) in [
            (0, Green),
            (158_000, Green),
            (159_980, Green), // 79.99 %
            (159_999, Green),
            (160_000, Yellow), // 80 %
            (178_001, Yellow),
            (179_999, Yellow),
            (180_000, Orange), // 90 %
            (188_001, Orange),
            (189_999, Orange),
            (190_000, Red), // 95 %
            (200_000, Red),
            (200_001, Red),
            (u32::MAX, Red),
            (164_000, Yellow), // 82 % and 85 %, as in the examples of a large analysis
            (170_000, Yellow),
        ] {
            assert_eq!(Level::of(Tokens(used), WINDOW), level, "{used}");
        }
        // Windows where the thresholds are between two counts.
        for (used, window, level) in
            [(2, 3, Green), (3, 3, Red), (5, 7, Green), (6, 7, Yellow), (13, 14, Orange)]
        {
            assert_eq!(Level::of(Tokens(used), Tokens(window)), level, "{used} of {window}");
        }
        assert_eq!(Level::of(Tokens(0), Tokens(0)), Red);
    }

    #[test]
    fn each_level_has_its_sentence_and_actions() {
        let table: Vec<(&str, Vec<&str>)> = Level::ALL
            .into_iter()
            .map(|it| (it.description(), it.actions().iter().map(|it| it.as_str()).collect()))
            .collect();
        assert_eq!(
            table,
            [
                ("Normal operation.", vec![]),
                (
                    "Plan compaction within 10 operations.",
                    vec!["plan_compaction", "name_candidates"]
                ),
                ("Compact now before next major operation.", vec!["compact", "defer_loads"]),
                (
                    "Emergency compaction required.",
                    vec!["compact_aggressively", "shed_low_scores", "summarize_verbose"]
                ),
            ]
        );
        let numbers = [PLAN_WITHIN_OPERATIONS.to_string(), SHED_BELOW_SCORE.to_string()];
        let texts = [Action::PlanCompaction, Action::ShedLowScores].map(Action::description);
        for (text, number) in texts.into_iter().zip(&numbers) {
            assert!(text.contains(&format!(" {number}")), "{text}");
        }
    }

    #[test]
    fn each_trigger_has_its_boundary() {
        let due = |it: Situation| {
            it.due(WINDOW).into_iter().map(Trigger::as_str).collect::<Vec<_>>().join(" ")
        };
        let none = Situation::default();
        let cases = [
            (none, ""),
            (Situation { used: Tokens(159_999), ..none }, ""),
            (Situation { used: Tokens(160_000), ..none }, "capacity"),
            (Situation { to_load: Tokens(20_000), ..none }, ""),
            (Situation { to_load: Tokens(20_001), ..none }, "large_load"),
            (Situation { operations: 49, ..none }, ""),
            (Situation { operations: 50, ..none }, "operations"),
            (Situation { operations: u32::MAX, ..none }, "operations"),
            (Situation { has_planned: true, ..none }, "planning_ended"),
            (Situation { is_handoff: true, ..none }, "handoff"),
            (Situation { is_asked: true, ..none }, "asked"),
            (Situation { is_degraded: true, ..none }, "degradation"),
            (Situation { is_decision_next: true, ..none }, "critical_decision"),
        ];
        for (situation, names) in cases {
            assert_eq!(due(situation), names, "{situation:?}");
        }
        let all = Situation {
            used: WINDOW,
            to_load: WINDOW,
            operations: 50,
            has_planned: true,
            is_handoff: true,
            is_asked: true,
            is_degraded: true,
            is_decision_next: true,
        };
        assert_eq!(all.due(WINDOW), Trigger::ALL);
        assert_eq!(Trigger::ALL.into_iter().filter(|it| it.is_automatic()).count(), 5);
    }

    #[test]
    fn a_window_is_crowded_above_80_percent() {
        let is = |used| is_crowded(Tokens(used), WINDOW);
        assert_eq!([is(159_999), is(160_000), is(160_001)], [false, false, true]);
    }

    #[test]
    fn the_error_of_an_estimate_is_relative_to_the_exact_count() {
        for (estimated, exact, error, is_off) in [
            (100, 100, Some(0), false),
            (110, 100, Some(100), false),
            (1_101, 1_000, Some(101), true),
            (90, 100, Some(-100), false),
            (899, 1_000, Some(-101), true),
            (11_004, 10_000, Some(100), true), // rounded, but above 10 %
            (2_001, 2_000, Some(1), false),    // half of 1/10 %
            (1_999, 2_000, Some(-1), false),
            (2_001, 2_001, Some(0), false),
            (0, 7, Some(-1_000), true),
            (0, 0, Some(0), false),
            (1, 0, None, true),
            (u32::MAX, 1, Some(4_294_967_294_000), true),
        ] {
            let it = Estimate { estimated: Tokens(estimated), exact: Tokens(exact) };
            assert_eq!((it.error_permille(), it.is_off()), (error, is_off), "{it:?}");
        }
    }

    proptest! {
        /// Compares with the ratio in floating point, away from the thresholds.
        #[test]
        fn a_level_follows_the_ratio(used: u32, window in 1_u32..) {
            let percent = f64::from(used) / f64::from(window) * 100.0;
            let near = [80.0, 90.0, 95.0].iter().any(|it| (percent - it).abs() < 1e-9);
            let expected = match percent {
                _ if near => return Ok(()),
                it if it < 80.0 => Level::Green,
                it if it < 90.0 => Level::Yellow,
                it if it < 95.0 => Level::Orange,
                _ => Level::Red,
            };
            prop_assert_eq!(Level::of(Tokens(used), Tokens(window)), expected);
        }
    }
}
