//! Timestamps of the host's clock.

use std::fmt;

/// Milliseconds since the Unix epoch, UTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub u64);

impl fmt::Display for Timestamp {
    /// Writes the instant as RFC 3339 in UTC. Milliseconds are written only if they are not zero,
    /// so that whole seconds look as in spec 3.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(ms) = *self;
        let at = i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
        let at = at.unwrap_or(jiff::Timestamp::MAX);
        if ms.is_multiple_of(1_000) { write!(f, "{at:.0}") } else { write!(f, "{at:.3}") }
    }
}
