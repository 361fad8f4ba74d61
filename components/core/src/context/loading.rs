//! The order of scored items, and how each is loaded (spec 16.8).
//!
//! # Invariant
//!
//! The items loaded in advance never exceed the share that the plan gives to loading.

use std::cmp::{Ordering, Reverse};

use super::{capacity::is_crowded, plan::WindowPlan, share::Share};
use crate::{closed_list::closed_list, time::Timestamp, tokens::Tokens};

/// The lowest score of an item that is loaded in advance.
pub const PRELOAD_MIN: u8 = 70;
/// The lowest score of an item that is loaded when it is needed.
pub const JUST_IN_TIME_MIN: u8 = 40;
/// The tokens above which an item is large.
pub const LARGE_ITEM_TOKENS: Tokens = Tokens(10_000);

closed_list! {
    /// The way that an item is loaded.
    Loading "loading" {
        Preload "preload": "It is loaded in advance.";
        JustInTime "just_in_time": "It is loaded when it is needed.";
        OnDemand "on_demand": "It is loaded only when somebody asks for it.";
    }
}

closed_list! {
    /// A rule that makes an item load just in time, whatever its score says.
    LoadingRule "rule" {
        Large "large": "The item has more than 10,000 tokens.";
        Crowded "crowded": "More than 80 % of the window is used.";
        NoRoom "no_room": "The item does not fit what loading may still fill.";
    }
}

impl Loading {
    /// Returns the way that a score asks for.
    pub fn of(score: u8) -> Self {
        match score {
            PRELOAD_MIN.. => Self::Preload,
            JUST_IN_TIME_MIN.. => Self::JustInTime,
            _ => Self::OnDemand,
        }
    }
}

/// Decides how items are loaded, one after the other in the order of their scores.
#[derive(Debug, Clone)]
pub struct Loader {
    window: Tokens,
    used: Tokens,
    left: Tokens,
}

impl Loader {
    /// Creates a loader for a window of which `used` tokens are used.
    pub fn new(plan: &WindowPlan, used: Tokens) -> Self {
        Self { window: plan.window, used, left: plan.active_use.load }
    }

    /// Decides how the next item is loaded, and by which rule if not by its score alone.
    pub fn decide(&mut self, score: u8, tokens: Tokens) -> (Loading, Option<LoadingRule>) {
        let by = |rule| (Loading::JustInTime, Some(rule));
        let loading = Loading::of(score);
        if tokens > LARGE_ITEM_TOKENS {
            return by(LoadingRule::Large);
        }
        if is_crowded(self.used, self.window) {
            return by(LoadingRule::Crowded);
        }
        if loading == Loading::Preload {
            if tokens > self.left {
                return by(LoadingRule::NoRoom);
            }
            self.used = self.used.plus(tokens);
            self.left = self.left.minus(tokens);
        }
        (loading, None)
    }

    /// Returns the tokens that loading may still fill.
    pub fn left(&self) -> Tokens {
        self.left
    }
}

/// The attributes that order an item among others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing<'a> {
    /// Its score, 0 to 100.
    pub score: u8,
    /// Its relevance to the task by words.
    pub relevance: Share,
    /// The time of its last modification.
    pub at: Option<Timestamp>,
    /// Its id.
    pub id: &'a str,
}

impl Standing<'_> {
    /// Compares two items: the one that comes first is less. Higher scores come first, then higher
    /// relevance, then newer items, then by id.
    pub fn compare(&self, other: &Self) -> Ordering {
        let key = |it: &Self| (Reverse(it.score), Reverse(it.relevance), Reverse(it.at));
        key(self).cmp(&key(other)).then_with(|| self.id.cmp(other.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::plan::{Allocation, WINDOW_TOKENS_DEFAULT};

    fn loader(used: u32) -> Loader {
        let plan = WindowPlan::new(WINDOW_TOKENS_DEFAULT, &Allocation::default()).unwrap();
        Loader::new(&plan, Tokens(used))
    }

    #[test]
    fn loading_has_boundaries_at_70_40_and_10000_tokens() {
        use Loading::{JustInTime, OnDemand, Preload};
        for (score, tokens, loading, rule) in [
            (100, 1, Preload, None),
            (70, 10_000, Preload, None),
            (69, 10_000, JustInTime, None),
            (40, 0, JustInTime, None),
            (39, 0, OnDemand, None),
            (0, 10_000, OnDemand, None),
            (100, 10_001, JustInTime, Some(LoadingRule::Large)),
            (0, 10_001, JustInTime, Some(LoadingRule::Large)),
        ] {
            let decided = loader(0).decide(score, Tokens(tokens));
            assert_eq!(decided, (loading, rule), "{score} {tokens}");
        }
    }

    #[test]
    fn above_80_percent_everything_is_just_in_time() {
        let crowded = (Loading::JustInTime, Some(LoadingRule::Crowded));
        for score in [100, 50, 0] {
            let decided = loader(160_000).decide(score, Tokens(1));
            assert_eq!(decided, (Loading::of(score), None), "80 %");
            assert_eq!(loader(160_001).decide(score, Tokens(1)), crowded);
        }
        let mut loader = loader(155_000);
        assert_eq!(loader.decide(90, Tokens(5_000)).0, Loading::Preload);
        assert_eq!(loader.decide(90, Tokens(1)).0, Loading::Preload, "at 80 %");
        assert_eq!(loader.decide(90, Tokens(1)), crowded, "loaded items count as used");
    }

    #[test]
    fn loading_fills_70_percent_of_the_active_part() {
        let mut loader = loader(0);
        for _ in 0..6 {
            assert_eq!(loader.decide(80, Tokens(10_000)), (Loading::Preload, None));
        }
        let no_room = (Loading::JustInTime, Some(LoadingRule::NoRoom));
        assert_eq!(loader.left(), Tokens(3_000));
        assert_eq!(loader.decide(75, Tokens(3_001)), no_room);
        assert_eq!(loader.decide(50, Tokens(3_001)), (Loading::JustInTime, None));
        assert_eq!(loader.decide(70, Tokens(3_000)), (Loading::Preload, None), "it fills the rest");
        assert_eq!(loader.decide(70, Tokens(0)), (Loading::Preload, None));
        assert_eq!(loader.decide(70, Tokens(1)), no_room);
    }

    #[test]
    fn ties_go_to_relevance_then_time_then_id() {
        let of = |score, relevance, at: Option<u64>, id| Standing {
            score,
            relevance: Share(relevance),
            at: at.map(Timestamp),
            id,
        };
        let ordered = [
            of(71, 0, None, "z"),
            of(70, 2, None, "z"),
            of(70, 1, Some(9), "z"),
            of(70, 1, Some(8), "a"),
            of(70, 1, Some(8), "b"),
            of(70, 1, None, "a"),
            of(0, 10_000, Some(9), "a"),
        ];
        for (nth, one) in ordered.iter().enumerate() {
            for (other_nth, other) in ordered.iter().enumerate() {
                assert_eq!(one.compare(other), nth.cmp(&other_nth), "{one:?} {other:?}");
            }
        }
    }
}
