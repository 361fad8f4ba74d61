//! Token counts, and the estimators that measure every limit.

use std::fmt;

use crate::{Error, count::narrow};

/// A number of model tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tokens(pub u32);

impl Tokens {
    /// Returns `self + more`, at most [`u32::MAX`].
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self(self.0.saturating_add(more.0))
    }

    /// Returns `self - less`, at least 0.
    #[must_use]
    pub fn minus(self, less: Self) -> Self {
        Self(self.0.saturating_sub(less.0))
    }

    /// Returns true if this is `percent` or more of `whole`.
    pub fn is_share_of(self, percent: u8, whole: Self) -> bool {
        u64::from(self.0) * 100 >= u64::from(whole.0) * u64::from(percent)
    }
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, if self.0 == 1 { "token" } else { "tokens" })
    }
}

/// The token counter of a session. It is fixed at creation so that totals stay
/// comparable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Estimator {
    /// A quarter of the characters (Unicode scalar values), rounded up
    /// (spec 8.2).
    #[default]
    Approximate,
    /// The exact count by a tokenizer of the host.
    Encoding(Encoding),
}

/// The name of a tokenizer's encoding, such as `o200k_base`: 1 to 32 of `a-z`,
/// `0-9`, `_`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoding(String);

/// The name of [`Estimator::Approximate`].
const APPROXIMATE: &str = "approximate";
/// The longest name of an encoding, in bytes.
const ENCODING_BYTES_MAX: usize = 32;

impl Estimator {
    /// Parses the name of an estimator. The caller checks if the host has the encoding.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if the name is invalid.
    pub fn parse(name: &str) -> Result<Self, Error> {
        let fits = (1..=ENCODING_BYTES_MAX).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        match name {
            APPROXIMATE => Ok(Self::Approximate),
            _ if fits => Ok(Self::Encoding(Encoding(name.to_owned()))),
            _ => Err(Error::malformed(
                "config.estimator must be approximate, or the name of an encoding of the host, \
                 such as o200k_base",
            )),
        }
    }

    /// Returns the estimator's name in a configuration.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Approximate => APPROXIMATE,
            Self::Encoding(Encoding(name)) => name,
        }
    }
}

/// Returns a quarter of the characters of `text`, rounded up (spec 8.2).
pub fn approximate(text: &str) -> Tokens {
    let chars = narrow(text.chars().count());
    Tokens(chars.div_ceil(4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_of_the_characters_rounded_up() {
        let count = |text: &str| approximate(text).0;
        assert_eq!([count(""), count("a"), count("abcd"), count("abcde")], [0, 1, 1, 2]);
        assert_eq!(count("👩‍🚀"), 1, "three scalar values, eleven bytes");
        assert_eq!(count(&"x".repeat(4_000)), 1_000);
        assert_eq!(count(&"x".repeat(4_001)), 1_001);
    }
}
