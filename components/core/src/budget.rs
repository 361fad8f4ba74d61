//! Budgets: limits of the context that is shown at once, a meter that enforces them, and the list
//! of omissions (spec 16.3).
//!
//! # Invariant
//!
//! The admitted items of a [`Meter`] never exceed its budget without the reserve.

use crate::{Error, closed_list::closed_list, item::ITEMS_MAX, time::Timestamp, tokens::Tokens};

/// The highest token budget.
pub const BUDGET_TOKENS_MAX: Tokens = Tokens(10_000_000);
/// The highest byte budget: 1 TiB.
pub const BUDGET_BYTES_MAX: u64 = 1 << 40;

/// The limits of what is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The most tokens, the reserve included.
    pub tokens: Tokens,
    /// The most bytes of text.
    pub bytes: Option<u64>,
    /// The most items.
    pub items: Option<u32>,
    /// The instant that items must be newer than.
    pub newer_than: Option<Timestamp>,
    /// The tokens that stay free, for example for the answer.
    pub reserved: Tokens,
}

/// The size of one or several items.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// The tokens.
    pub tokens: Tokens,
    /// The bytes.
    pub bytes: u64,
    /// The number of items.
    pub items: u32,
}

closed_list! {
    /// A limit of a budget.
    Limit "limit" {
        Tokens "tokens": "The tokens.";
        Bytes "bytes": "The bytes.";
        Items "items": "The number of items.";
    }
}

/// A budget, and what was taken from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meter {
    budget: Budget,
    used: Size,
}

/// The limit that an item would exceed, the first in the order of [`Limit::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overrun {
    /// The limit.
    pub limit: Limit,
    /// The size of the item.
    pub needs: u64,
    /// The rest of the budget.
    pub left: u64,
}

/// An item that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Omission {
    /// The id of the item.
    pub item: String,
    /// The reason.
    pub reason: Reason,
    /// The numbers of the reason, each with its name.
    pub numbers: Vec<(&'static str, u64)>,
    /// The id of the item that it repeats or that supersedes it.
    pub other: Option<String>,
}

closed_list! {
    /// The reason that an item was left out.
    Reason "reason" {
        NotVisible "not_visible": "The target may not see the item.";
        Expired "expired": "The item has expired.";
        DigestMismatch "digest_mismatch": "The text does not have the digest that was given.";
        TooOld "too_old": "The item is not newer than the budget demands.";
        Pruned "pruned": "The agent said that it no longer needs the item.";
        Superseded "superseded": "A later item replaces it.";
        DuplicateOf "duplicate_of": "Another item has the same or nearly the same text.";
        Irrelevant "irrelevant": "The item has nothing in common with the task.";
        JustInTime "just_in_time": "The item is to be loaded when it is needed.";
        OnDemand "on_demand": "The item is to be loaded only when somebody asks for it.";
        OverBudget "over_budget": "The item does not fit what is left of the budget.";
    }
}

impl Reason {
    /// Returns true if only the orchestrator may see omissions for this reason: the others must not
    /// learn that the item exists.
    pub fn is_confidential(self) -> bool {
        self == Self::NotVisible
    }
}

impl Budget {
    /// Creates a budget of `tokens` without other limits.
    pub fn of(tokens: Tokens) -> Self {
        Self { tokens, bytes: None, items: None, newer_than: None, reserved: Tokens(0) }
    }

    /// Validates that something can be shown.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`], naming the member and its range, for the first of `tokens`, `bytes`,
    /// `items`, `reserved`.
    pub fn check(&self) -> Result<(), Error> {
        let reserved_max = u64::from(self.tokens.0).saturating_sub(1);
        let ranges = [
            ("tokens", Some(u64::from(self.tokens.0)), 1, u64::from(BUDGET_TOKENS_MAX.0)),
            ("bytes", self.bytes, 1, BUDGET_BYTES_MAX),
            ("items", self.items.map(u64::from), 1, u64::from(ITEMS_MAX)),
            ("reserved", Some(u64::from(self.reserved.0)), 0, reserved_max),
        ];
        for (member, value, min, max) in ranges {
            let Some(value) = value else { continue };
            if value < min || value > max {
                let less = if member == "reserved" { ", less than budget.tokens" } else { "" };
                return Err(Error::malformed(format!(
                    "budget.{member} is {value}; it must be {min} to {max}{less}"
                )));
            }
        }
        Ok(())
    }

    /// Returns true if an item of this time is new enough. An item without a time is.
    pub fn is_new_enough(&self, at: Option<Timestamp>) -> bool {
        at.zip(self.newer_than).is_none_or(|(at, limit)| at > limit)
    }

    /// Returns the most tokens of items: without the reserve.
    pub fn usable(&self) -> Tokens {
        self.tokens.minus(self.reserved)
    }
}

impl Size {
    /// Returns the sum of both.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self {
            tokens: self.tokens.plus(more.tokens),
            bytes: self.bytes.saturating_add(more.bytes),
            items: self.items.saturating_add(more.items),
        }
    }
}

impl Meter {
    /// Creates a meter of an unused budget.
    pub fn new(budget: Budget) -> Self {
        Self { budget, used: Size::default() }
    }

    /// Returns this meter with a lower limit of tokens in all, if it is lower.
    #[must_use]
    pub fn capped(&self, tokens: Tokens) -> Self {
        let tokens = tokens.min(self.budget.usable());
        Self { budget: Budget { tokens, reserved: Tokens(0), ..self.budget }, used: self.used }
    }

    /// Returns what was taken so far.
    pub fn used(&self) -> Size {
        self.used
    }

    /// Returns the most tokens of items.
    pub fn limit(&self) -> Tokens {
        self.budget.usable()
    }

    /// Returns the tokens that are left for items.
    pub fn tokens_left(&self) -> Tokens {
        self.budget.usable().minus(self.used.tokens)
    }

    /// Takes `size` from the budget if it fits; otherwise nothing changes.
    ///
    /// # Errors
    ///
    /// The first limit that it would exceed.
    pub fn take(&mut self, size: Size) -> Result<(), Overrun> {
        let Budget { bytes, items, .. } = self.budget;
        let limits = [
            (Limit::Tokens, size.tokens.0.into(), self.tokens_left().0.into()),
            (Limit::Bytes, size.bytes, left(bytes, self.used.bytes)),
            (Limit::Items, size.items.into(), left(items.map(u64::from), self.used.items.into())),
        ];
        for (limit, needs, left) in limits {
            if needs > left {
                return Err(Overrun { limit, needs, left });
            }
        }
        self.used = self.used.plus(size);
        Ok(())
    }
}

/// Returns what is left of `max`, up to which a sum can be counted.
fn left(max: Option<u64>, used: u64) -> u64 {
    max.unwrap_or(u64::MAX).saturating_sub(used)
}

impl Omission {
    /// Creates an omission without numbers.
    pub fn new(item: impl Into<String>, reason: Reason) -> Self {
        Self { item: item.into(), reason, numbers: Vec::new(), other: None }
    }

    /// Creates the omission of an item that does not fit, with what it needs and what is left.
    pub fn over_budget(item: impl Into<String>, overrun: &Overrun) -> Self {
        let Overrun { limit, needs, left } = *overrun;
        let names = match limit {
            Limit::Tokens => ["tokens", "tokens_left"],
            Limit::Bytes => ["bytes", "bytes_left"],
            Limit::Items => ["items", "items_left"],
        };
        let numbers = names.into_iter().zip([needs, left]).collect();
        Self { numbers, ..Self::new(item, Reason::OverBudget) }
    }

    /// Creates the omission of an item because of another.
    pub fn because_of(item: impl Into<String>, reason: Reason, other: impl Into<String>) -> Self {
        Self { other: Some(other.into()), ..Self::new(item, reason) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, option, prelude::*};

    use super::*;

    fn error(budget: &Budget) -> String {
        budget.check().map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn a_budget_must_leave_room_for_something() {
        let of =
            |tokens, reserved| Budget { reserved: Tokens(reserved), ..Budget::of(Tokens(tokens)) };
        for (tokens, reserved) in [(1, 0), (2_000, 1_999), (10_000_000, 0)] {
            assert_eq!(error(&of(tokens, reserved)), "");
        }
        for (tokens, reserved, text) in [
            (0, 0, "budget.tokens is 0; it must be 1 to 10000000"),
            (10_000_001, 0, "budget.tokens is 10000001; it must be 1 to 10000000"),
            (5, 5, "budget.reserved is 5; it must be 0 to 4, less than budget.tokens"),
            (5, 9, "budget.reserved is 9; it must be 0 to 4, less than budget.tokens"),
        ] {
            assert_eq!(error(&of(tokens, reserved)), text);
        }
        let of = |bytes, items| Budget { bytes, items, ..Budget::of(Tokens(5)) };
        assert_eq!(error(&of(Some(1), Some(2_000))), "");
        assert_eq!(error(&of(Some(0), None)), "budget.bytes is 0; it must be 1 to 1099511627776");
        assert_eq!(error(&of(None, Some(0))), "budget.items is 0; it must be 1 to 2000");
        assert_eq!(error(&of(None, Some(2_001))), "budget.items is 2001; it must be 1 to 2000");
    }

    #[test]
    fn an_item_as_old_as_the_limit_is_too_old() {
        let budget = Budget { newer_than: Some(Timestamp(1_000)), ..Budget::of(Tokens(1)) };
        let is = |at: u64| budget.is_new_enough(Some(Timestamp(at)));
        assert_eq!([is(999), is(1_000), is(1_001)], [false, false, true]);
        assert!(budget.is_new_enough(None));
        assert!(Budget::of(Tokens(1)).is_new_enough(Some(Timestamp(0))));
    }

    #[test]
    fn the_first_limit_that_is_exceeded_is_reported() {
        let budget = Budget {
            bytes: Some(100),
            items: Some(2),
            reserved: Tokens(4),
            ..Budget::of(Tokens(14))
        };
        let size = |tokens, bytes, items| Size { tokens: Tokens(tokens), bytes, items };
        let mut meter = Meter::new(budget);
        assert_eq!(meter.take(size(6, 60, 1)), Ok(()));
        let over = |limit, needs, left| Err(Overrun { limit, needs, left });
        assert_eq!(meter.take(size(5, 50, 2)), over(Limit::Tokens, 5, 4));
        assert_eq!(meter.take(size(4, 41, 2)), over(Limit::Bytes, 41, 40));
        assert_eq!(meter.take(size(4, 40, 2)), over(Limit::Items, 2, 1));
        assert_eq!(meter.take(size(4, 40, 1)), Ok(()), "it fills the budget");
        assert_eq!(meter.used(), size(10, 100, 2));
        let overrun = meter.take(size(1, 0, 0)).unwrap_err();
        let omission = Omission::over_budget("a", &overrun);
        assert_eq!(omission.numbers, [("tokens", 1), ("tokens_left", 0)]);
        assert_eq!((omission.item.as_str(), omission.reason), ("a", Reason::OverBudget));
    }

    #[test]
    fn only_hidden_items_are_confidential() {
        let confidential: Vec<Reason> =
            Reason::ALL.into_iter().filter(|it| it.is_confidential()).collect();
        assert_eq!(confidential, [Reason::NotVisible]);
        for reason in Reason::ALL {
            assert_eq!(Reason::parse(reason.as_str()), Ok(reason));
        }
    }

    proptest! {
        #[test]
        fn a_meter_never_exceeds_its_budget(
            tokens: u32, reserved: u32, bytes: Option<u64>, items in option::of(0_u32..9),
            sizes in vec((any::<u32>(), any::<u64>(), 0_u32..4, 0_u32..28), 0..20),
        ) {
            let reserved = Tokens(reserved);
            let budget = Budget { bytes, items, reserved, ..Budget::of(Tokens(tokens)) };
            let mut meter = Meter::new(budget);
            let mut sum = (0_u128, 0_u128, 0_u128);
            for (tokens, bytes, items, shift) in sizes {
                // Sizes of every order, so that several fit.
                let size = Size { tokens: Tokens(tokens >> shift), bytes: bytes >> (2 * shift), items };
                let before = meter.clone();
                let with = (
                    sum.0 + u128::from(size.tokens.0),
                    sum.1 + u128::from(size.bytes),
                    sum.2 + u128::from(size.items),
                );
                let fits = with.0 <= u128::from(tokens_of(&budget))
                    && budget.bytes.is_none_or(|max| with.1 <= u128::from(max))
                    && budget.items.is_none_or(|max| with.2 <= u128::from(max))
                    && with.1 <= u128::from(u64::MAX);
                match meter.take(size) {
                    Ok(()) => {
                        prop_assert!(fits);
                        sum = with;
                    }
                    Err(overrun) => {
                        prop_assert!(!fits && overrun.needs > overrun.left);
                        prop_assert_eq!(&before, &meter);
                    }
                }
                let used = meter.used();
                prop_assert_eq!(
                    sum,
                    (used.tokens.0.into(), used.bytes.into(), used.items.into())
                );
            }
        }
    }

    fn tokens_of(budget: &Budget) -> u32 {
        budget.tokens.0.saturating_sub(budget.reserved.0)
    }
}
