//! The window plan: the division of a model's context window into parts (spec 16.4).
//!
//! It counts tokens only. How full the window is and when to compact it is in `capacity`.
//!
//! # Invariants
//!
//! - The parts of a plan never exceed its window, and the share for loading never exceeds the
//!   active part.
//! - All ratios are exact: a limit is compared by multiplication, never by rounding.

use super::share::Share;
use crate::{Error, closed_list::closed_list, tokens::Tokens};

/// The window when none is given.
pub const WINDOW_TOKENS_DEFAULT: Tokens = Tokens(200_000);
/// The largest window.
pub const WINDOW_TOKENS_MAX: Tokens = Tokens(10_000_000);

closed_list! {
    /// A part of the window.
    Part "part" {
        Knowledge "knowledge": "System instructions, skills and knowledge that does not change.";
        Active "active": "The task: files, recent outputs, working state.";
        SessionMemory "session_memory": "Decisions and the state that persists.";
        Buffer "buffer": "Space that stays free.";
    }
}

impl Part {
    /// Returns the share of the window when none is given (spec 16.4).
    pub fn default_share(self) -> Share {
        match self {
            Self::Knowledge => Share(3_500),
            Self::Active => Share(4_500),
            Self::SessionMemory => Share(1_250),
            Self::Buffer => Share(750),
        }
    }

    /// Returns the least and the highest share of the window that the part may have (spec 16.4).
    pub fn bounds(self) -> (Share, Share) {
        match self {
            Self::Knowledge => (Share(0), Share(4_000)),
            Self::Active => (Share(0), Share(5_000)),
            Self::SessionMemory => (Share(0), Share(1_500)),
            Self::Buffer => (Share(500), Share::WHOLE),
        }
    }
}

/// A value for each part of a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parts<T> {
    /// The value for the instructions and the knowledge.
    pub knowledge: T,
    /// The value for the task.
    pub active: T,
    /// The value for the session's memory.
    pub session_memory: T,
    /// The value for the free space.
    pub buffer: T,
}

impl<T: Copy> Parts<T> {
    /// Creates the value of each part.
    fn each(value: impl Fn(Part) -> T) -> Self {
        Self {
            knowledge: value(Part::Knowledge),
            active: value(Part::Active),
            session_memory: value(Part::SessionMemory),
            buffer: value(Part::Buffer),
        }
    }

    /// Returns the value of a part.
    pub fn of(&self, part: Part) -> T {
        match part {
            Part::Knowledge => self.knowledge,
            Part::Active => self.active,
            Part::SessionMemory => self.session_memory,
            Part::Buffer => self.buffer,
        }
    }
}

impl Parts<Tokens> {
    /// Returns the tokens of all parts.
    fn sum(&self) -> u64 {
        Part::ALL.into_iter().map(|it| u64::from(self.of(it).0)).sum()
    }
}

/// The sizes that a plan asks for. A part without one has its default share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allocation {
    /// Shares of the window.
    Shares(Parts<Option<Share>>),
    /// Numbers of tokens.
    Tokens(Parts<Option<Tokens>>),
}

impl Default for Allocation {
    /// Returns the default shares.
    fn default() -> Self {
        Self::Shares(Parts::default())
    }
}

/// The division of the active part of a window (spec 16.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActiveUse {
    /// The tokens that loading may fill: 70 %.
    pub load: Tokens,
    /// The tokens for outputs of tools: 15 %.
    pub tool_outputs: Tokens,
    /// The tokens for context that turns out to be needed: 10 %.
    pub expansion: Tokens,
    /// The tokens that stay free: the rest, 5 %.
    pub safety: Tokens,
}

/// The share of the active part that loading may fill (spec 16.4).
const LOAD: Share = Share(7_000);
/// The share of the active part for outputs of tools.
const TOOL_OUTPUTS: Share = Share(1_500);
/// The share of the active part for expansion.
const EXPANSION: Share = Share(1_000);

/// The plan of a context window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowPlan {
    /// The size of the window.
    pub window: Tokens,
    /// The sizes of its parts.
    pub parts: Parts<Tokens>,
    /// The use of the active part.
    pub active_use: ActiveUse,
    /// The tokens of the window that are in no part.
    pub unplanned: Tokens,
}

impl WindowPlan {
    /// Plans a window. Shares are rounded down to tokens, that of the buffer is rounded up.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`], naming the member, its value and its range, for the first of: a window
    /// out of range, a part out of its bounds in the order of [`Part::ALL`], parts that exceed the
    /// window.
    pub fn new(window: Tokens, allocation: &Allocation) -> Result<Self, Error> {
        if !(Tokens(1)..=WINDOW_TOKENS_MAX).contains(&window) {
            return Err(Error::malformed(format!(
                "window_tokens is {}; it must be 1 to {}",
                window.0, WINDOW_TOKENS_MAX.0
            )));
        }
        for part in Part::ALL {
            check_part(window, allocation, part)?;
        }
        let parts = Parts::each(|part| match (allocation.tokens(part), part) {
            (Some(tokens), _) => tokens,
            (None, Part::Buffer) => allocation.share(part).ceil(window),
            (None, _) => allocation.share(part).floor(window),
        });
        let Some(unplanned) = u64::from(window.0).checked_sub(parts.sum()) else {
            return Err(too_much(window, &parts));
        };
        let active = parts.active;
        let load = LOAD.floor(active);
        let tool_outputs = TOOL_OUTPUTS.floor(active);
        let expansion = EXPANSION.floor(active);
        let safety = active.minus(load).minus(tool_outputs).minus(expansion);
        Ok(Self {
            window,
            parts,
            active_use: ActiveUse { load, tool_outputs, expansion, safety },
            unplanned: Tokens(u32::try_from(unplanned).unwrap_or(u32::MAX)),
        })
    }
}

impl Allocation {
    /// Returns the number of tokens of a part, if it was given as one.
    fn tokens(&self, part: Part) -> Option<Tokens> {
        match self {
            Self::Tokens(parts) => parts.of(part),
            Self::Shares(_) => None,
        }
    }

    /// Returns the share of a part that was not given in tokens.
    fn share(&self, part: Part) -> Share {
        let given = match self {
            Self::Shares(parts) => parts.of(part),
            Self::Tokens(_) => None,
        };
        given.unwrap_or_else(|| part.default_share())
    }
}

/// Validates that a part is within its bounds.
fn check_part(window: Tokens, allocation: &Allocation, part: Part) -> Result<(), Error> {
    let (min, max) = part.bounds();
    let name = part.as_str();
    let (is_within, value, range) = if let Some(tokens) = allocation.tokens(part) {
        let (least, most) = (min.ceil(window), max.floor(window));
        let is_within = (least..=most).contains(&tokens);
        let range = format!("{} to {}, {min} to {max} of the window", least.0, most.0);
        (is_within, format!("parts.{name} is {tokens}"), range)
    } else {
        let share = allocation.share(part);
        let is_within = (min..=max).contains(&share);
        (is_within, format!("shares.{name} is {share}"), format!("{min} to {max} of the window"))
    };
    if is_within {
        return Ok(());
    }
    Err(Error::malformed(format!("{value}; it must be {range}")))
}

/// Creates the error for parts that exceed the window.
fn too_much(window: Tokens, parts: &Parts<Tokens>) -> Error {
    let listed: Vec<String> =
        Part::ALL.into_iter().map(|it| format!("{} {}", it.as_str(), parts.of(it).0)).collect();
    Error::malformed(format!(
        "the parts have {} tokens together ({}), the window has {}; make one of them smaller",
        parts.sum(),
        listed.join(", "),
        window.0
    ))
}

#[cfg(test)]
mod tests {
    use proptest::{option, prelude::*};

    use super::*;

    const WINDOW: Tokens = WINDOW_TOKENS_DEFAULT;

    fn tokens(window: u32, parts: [u32; 4]) -> Result<WindowPlan, Error> {
        let [knowledge, active, session_memory, buffer] = parts.map(|it| Some(Tokens(it)));
        let parts = Parts { knowledge, active, session_memory, buffer };
        WindowPlan::new(Tokens(window), &Allocation::Tokens(parts))
    }

    fn sizes(plan: &WindowPlan) -> [u32; 4] {
        Part::ALL.map(|it| plan.parts.of(it).0)
    }

    #[test]
    fn the_default_plan_fills_the_window() {
        let plan = WindowPlan::new(WINDOW, &Allocation::default()).unwrap();
        assert_eq!(sizes(&plan), [70_000, 90_000, 25_000, 15_000]);
        assert_eq!(plan.unplanned, Tokens(0));
        let expected = ActiveUse {
            load: Tokens(63_000),
            tool_outputs: Tokens(13_500),
            expansion: Tokens(9_000),
            safety: Tokens(4_500),
        };
        assert_eq!(plan.active_use, expected);
        let total: u32 = Part::ALL.iter().map(|it| it.default_share().0).sum();
        assert_eq!(Share(total), Share::WHOLE);
    }

    /// Published examples of allocations, in tokens of a window of 200,000, each with the reason
    /// for which it is rejected.
    #[test]
    fn examples_of_allocations_are_accepted_or_rejected() {
        for (name, parts, problem) in [
            ("small feature", [60_000, 90_000, 30_000, 20_000], ""),
            ("medium, session 1", [70_000, 85_000, 25_000, 20_000], ""),
            ("medium, session 2", [70_000, 90_000, 40_000, 0], "parts.session_memory is 40000"),
            ("large, session 1", [65_000, 95_000, 25_000, 15_000], ""),
            ("large, synthesis", [0, 120_000, 50_000, 0], "parts.active is 120000"),
            ("an agent of five", [100_000, 60_000, 25_000, 15_000], "parts.knowledge is 100000"),
            ("the caps", [80_000, 100_000, 30_000, 10_000], "the parts have 220000"),
            ("a checklist", [80_000, 100_000, 20_000, 10_000], "the parts have 210000"),
            ("no buffer", [70_000, 90_000, 20_000, 0], "parts.buffer is 0"),
        ] {
            match tokens(WINDOW.0, parts) {
                Ok(plan) => assert_eq!((sizes(&plan), problem), (parts, ""), "{name}"),
                Err(error) => {
                    let error = error.to_string();
                    assert!(!problem.is_empty() && error.starts_with(problem), "{name}: {error}");
                }
            }
        }
    }

    #[test]
    fn windows_have_a_range() {
        for window in [1, 10_000_000] {
            assert!(WindowPlan::new(Tokens(window), &Allocation::default()).is_ok(), "{window}");
        }
        for window in [0, 10_000_001, u32::MAX] {
            assert_eq!(
                WindowPlan::new(Tokens(window), &Allocation::default()).unwrap_err().to_string(),
                format!("window_tokens is {window}; it must be 1 to 10000000")
            );
        }
    }

    #[test]
    fn parts_have_bounds() {
        let with = |part, units| {
            let shares = Parts::each(|it| (it == part).then_some(Share(units)));
            WindowPlan::new(WINDOW, &Allocation::Shares(shares))
        };
        // A cap is allowed for itself; beside the other defaults it exceeds the window.
        for (part, units) in [(Part::Knowledge, 4_000), (Part::Active, 5_000)] {
            let error = with(part, units).unwrap_err().to_string();
            assert!(error.starts_with("the parts have 210000 tokens"), "{error}");
        }
        for (part, units, text) in [
            (Part::Knowledge, 4_001, "shares.knowledge is 40.01 %; it must be 0 % to 40 %"),
            (Part::Active, 5_001, "shares.active is 50.01 %; it must be 0 % to 50 %"),
            (
                Part::SessionMemory,
                1_501,
                "shares.session_memory is 15.01 %; it must be 0 % to 15 %",
            ),
            (Part::Buffer, 499, "shares.buffer is 4.99 %; it must be 5 % to 100 %"),
        ] {
            assert_eq!(with(part, units).unwrap_err().to_string(), format!("{text} of the window"));
        }
        assert!(with(Part::Buffer, 500).is_ok());
        assert_eq!(
            tokens(199_999, [0, 0, 0, 9_999]).unwrap_err().to_string(),
            "parts.buffer is 9999 tokens; it must be 10000 to 199999, 5 % to 100 % of the window"
        );
        assert!(tokens(199_999, [79_999, 0, 0, 10_000]).is_ok());
        assert!(tokens(199_999, [80_000, 0, 0, 10_000]).is_err());
    }

    #[test]
    fn parts_that_exceed_the_window_are_listed() {
        assert_eq!(
            tokens(100, [40, 50, 6, 5]).unwrap_err().to_string(),
            "the parts have 101 tokens together (knowledge 40, active 50, session_memory 6, \
             buffer 5), the window has 100; make one of them smaller"
        );
        assert_eq!(tokens(100, [40, 50, 5, 5]).unwrap().unplanned, Tokens(0));
        assert_eq!(tokens(100, [0, 0, 0, 5]).unwrap().unplanned, Tokens(95));
        assert!(tokens(u32::MAX, [u32::MAX; 4]).is_err());
    }

    fn parts<T: Clone + std::fmt::Debug>(
        of: impl Strategy<Value = T> + Clone,
    ) -> impl Strategy<Value = Parts<Option<T>>> {
        let one = || option::of(of.clone());
        (one(), one(), one(), one()).prop_map(|(knowledge, active, session_memory, buffer)| Parts {
            knowledge,
            active,
            session_memory,
            buffer,
        })
    }

    fn allocations() -> impl Strategy<Value = Allocation> {
        prop_oneof![
            parts((0_u32..6_000).prop_map(Share)).prop_map(Allocation::Shares),
            parts((0_u32..120_000).prop_map(Tokens)).prop_map(Allocation::Tokens),
            parts(any::<u32>().prop_map(Tokens)).prop_map(Allocation::Tokens),
        ]
    }

    proptest! {
        #[test]
        fn a_plan_keeps_to_its_window_and_bounds(
            window in prop_oneof![0_u32..300, 100_000_u32..300_000, any::<u32>()],
            allocation in allocations(),
        ) {
            let Ok(plan) = WindowPlan::new(Tokens(window), &allocation) else { return Ok(()) };
            let sum: u64 = sizes(&plan).into_iter().map(u64::from).sum();
            prop_assert_eq!(sum + u64::from(plan.unplanned.0), u64::from(window));
            let percent = |part: Tokens| f64::from(part.0) / f64::from(window) * 100.0;
            prop_assert!(percent(plan.parts.knowledge) <= 40.0 + 1e-9);
            prop_assert!(percent(plan.parts.active) <= 50.0 + 1e-9);
            prop_assert!(percent(plan.parts.session_memory) <= 15.0 + 1e-9);
            prop_assert!(percent(plan.parts.buffer) >= 5.0 - 1e-9);
            let ActiveUse { load, tool_outputs, expansion, safety } = plan.active_use;
            let used = load.plus(tool_outputs).plus(expansion).plus(safety);
            prop_assert_eq!(used, plan.parts.active);
            prop_assert!(u64::from(load.0) * 10 <= u64::from(plan.parts.active.0) * 7);
        }
    }

    #[test]
    fn default_shares_fit_every_window() {
        for window in (1..=2_000).chain([199_999, 200_001, 9_999_999]) {
            let plan = WindowPlan::new(Tokens(window), &Allocation::default());
            assert!(plan.is_ok_and(|it| it.unplanned <= Tokens(3)), "{window}");
        }
    }
}
