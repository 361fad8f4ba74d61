//! Shares of a whole as integers, so that they compare exactly and equally on every host.

use std::{cmp::Ordering, fmt};

use crate::{Error, tokens::Tokens};

/// A share of a whole, in units of 1/10,000. It may be more than the whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(pub u32);

impl Share {
    /// The whole.
    pub const WHOLE: Self = Self(10_000);

    /// Creates a share from a number in percent with at most two decimals.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if it is not from 0 to 100, or no multiple of 0.01: rounding could move
    /// it within a bound.
    pub fn from_percent(percent: f64) -> Result<Self, Error> {
        let units = percent * 100.0;
        // A decimal fraction such as 7.05 is not exact as binary.
        let is_step = (units - units.round()).abs() < 1e-6;
        if !(0.0..=100.0).contains(&percent) || !is_step {
            return Err(Error::malformed(format!(
                "a share is a number from 0 to 100 in steps of 0.01, for example 12.5; it is {percent}"
            )));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "from 0 to 10,000, as was just checked"
        )]
        let units = units.round() as u32;
        Ok(Self(units))
    }

    /// Returns the share of `whole` that `part` is, rounded down; of no tokens, 0.
    pub fn of(part: Tokens, whole: Tokens) -> Self {
        let units = u64::from(part.0).saturating_mul(u64::from(Self::WHOLE.0));
        let units = units.checked_div(u64::from(whole.0)).unwrap_or(0);
        Self(u32::try_from(units).unwrap_or(u32::MAX))
    }

    /// Returns this share of `whole`, rounded down.
    pub(super) fn floor(self, whole: Tokens) -> Tokens {
        self.round(whole, 0)
    }

    /// Returns this share of `whole`, rounded up.
    pub(super) fn ceil(self, whole: Tokens) -> Tokens {
        self.round(whole, u64::from(Self::WHOLE.0).saturating_sub(1))
    }

    fn round(self, whole: Tokens, more: u64) -> Tokens {
        let product = u64::from(whole.0).saturating_mul(u64::from(self.0));
        let tokens = product.saturating_add(more) / u64::from(Self::WHOLE.0);
        Tokens(u32::try_from(tokens).unwrap_or(u32::MAX))
    }

    /// Compares the exact share that `part` is of `whole` with this one.
    pub fn compare(part: Tokens, whole: Tokens, share: Self) -> Ordering {
        let exact = u64::from(part.0).saturating_mul(u64::from(Self::WHOLE.0));
        exact.cmp(&u64::from(whole.0).saturating_mul(u64::from(share.0)))
    }
}

impl fmt::Display for Share {
    /// Writes the share in percent with as many decimals as it has, such as `12.5 %`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, hundredths) = (self.0 / 100, self.0 % 100);
        match (hundredths / 10, hundredths % 10) {
            (0, 0) => write!(f, "{whole} %"),
            (tenths, 0) => write!(f, "{whole}.{tenths} %"),
            (tenths, rest) => write!(f, "{whole}.{tenths}{rest} %"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn percents_are_read_and_written() {
        for (percent, units, text) in [
            (0.0, 0, "0 %"),
            (12.5, 1_250, "12.5 %"),
            (33.33, 3_333, "33.33 %"),
            (7.05, 705, "7.05 %"),
            (0.29, 29, "0.29 %"),
            (99.99, 9_999, "99.99 %"),
            (100.0, 10_000, "100 %"),
        ] {
            let share = Share::from_percent(percent).unwrap();
            assert_eq!((share, share.to_string()), (Share(units), text.to_owned()));
        }
        // 4.999 was once rounded to the least share of a buffer.
        for percent in [-0.01, 100.01, 4.999, 33.333_333, 99.999_9, f64::NAN, f64::INFINITY] {
            assert!(Share::from_percent(percent).is_err(), "{percent}");
        }
    }

    #[test]
    fn a_share_is_rounded_down() {
        let of = |part, whole| Share::of(Tokens(part), Tokens(whole)).to_string();
        assert_eq!(of(159_999, 200_000), "79.99 %");
        assert_eq!(of(160_000, 200_000), "80 %");
        assert_eq!(of(720_000, 1_000_000), "72 %");
        assert_eq!(of(300_000, 200_000), "150 %");
        assert_eq!([of(0, 0), of(5, 0)], ["0 %", "0 %"]);
    }

    proptest! {
        #[test]
        fn rounding_is_exact_to_one_token(whole: u32, units in 0_u32..=10_000) {
            let (share, whole_tokens) = (Share(units), Tokens(whole));
            let exact = u128::from(whole) * u128::from(units);
            let down = u128::from(share.floor(whole_tokens).0) * 10_000;
            let up = u128::from(share.ceil(whole_tokens).0) * 10_000;
            prop_assert!(down <= exact && exact < down + 10_000);
            prop_assert!(up >= exact && up < exact + 10_000);
            let compared = Share::compare(share.floor(whole_tokens), whole_tokens, share);
            prop_assert_eq!(compared, down.cmp(&exact));
        }
    }
}
