//! Token counts, and the estimate every limit is measured by.

use std::fmt;

/// A number of model tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tokens(pub u32);

impl Tokens {
    /// `self + more`, at most [`u32::MAX`].
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self(self.0.saturating_add(more.0))
    }

    /// `self - less`, at least 0.
    #[must_use]
    pub fn minus(self, less: Self) -> Self {
        Self(self.0.saturating_sub(less.0))
    }

    /// Whether this is `percent` or more of `whole`.
    pub fn is_share_of(self, percent: u8, whole: Self) -> bool {
        u64::from(self.0) * 100 >= u64::from(whole.0) * u64::from(percent)
    }
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, if self.0 == 1 { "token" } else { "tokens" })
    }
}

/// How a session counts tokens. It is chosen when the session is created and
/// never changes, so that its totals stay comparable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Estimator {
    /// A quarter of the characters (Unicode scalar values), rounded up
    /// (000 §8.2).
    #[default]
    Approximate,
}

impl Estimator {
    /// Every estimator.
    pub const ALL: [Self; 1] = [Self::Approximate];

    /// Its name in a configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approximate => "approximate",
        }
    }

    /// Counts the tokens of `text`.
    pub fn count(self, text: &str) -> Tokens {
        match self {
            Self::Approximate => {
                let chars = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
                Tokens(chars.div_ceil(4))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_of_the_characters_rounded_up() {
        let count = |text: &str| Estimator::Approximate.count(text).0;
        assert_eq!([count(""), count("a"), count("abcd"), count("abcde")], [0, 1, 1, 2]);
        assert_eq!(count("👩‍🚀"), 1, "three scalar values, eleven bytes");
        assert_eq!(count(&"x".repeat(4_000)), 1_000);
        assert_eq!(count(&"x".repeat(4_001)), 1_001);
    }
}
