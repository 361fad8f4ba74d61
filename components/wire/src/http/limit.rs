//! Rate limits of a participant and of all participants of a session together. An agent in a loop
//! cannot crowd out the rest of its session, nor a session all others.
//!
//! Counting is in `limiter`, which needs the feature `rate-limits`.

#[cfg(feature = "rate-limits")]
mod limiter;

use std::num::NonZeroU32;

use http::HeaderValue;
use shared_context_codec::Failure;

#[cfg(feature = "rate-limits")]
pub(crate) use limiter::Limiter;

/// Rate limits of a participant, and of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// Requests per second, in the long run.
    pub per_second: NonZeroU32,
    /// Burst of requests after a pause.
    pub burst: NonZeroU32,
    /// Concurrent live streams.
    pub streams: NonZeroU32,
    /// Factor for all participants of a session together.
    pub per_session: NonZeroU32,
}

impl RateLimit {
    /// Creates limits of this many requests per second, bursts of twice as many, and 64 live
    /// streams; eight times as much for a session.
    pub fn per_second(per_second: NonZeroU32) -> Self {
        Self {
            per_second,
            burst: per_second.saturating_mul(NonZeroU32::MIN.saturating_add(1)),
            streams: NonZeroU32::MIN.saturating_add(63),
            per_session: NonZeroU32::MIN.saturating_add(7),
        }
    }

    /// Returns the limit of a session, given that of a participant.
    pub(crate) fn of_session(&self, own: NonZeroU32) -> u32 {
        own.saturating_mul(self.per_session).get()
    }
}

impl Default for RateLimit {
    /// Returns 200 requests per second, bursts of 400, 64 live streams, and eight times as much for
    /// a session: far more than models need, and little for a server.
    fn default() -> Self {
        Self::per_second(NonZeroU32::MIN.saturating_add(199))
    }
}

/// Headers that report an allowance.
pub(crate) struct Allowance {
    /// `RateLimit` header.
    pub(crate) state: HeaderValue,
    /// `RateLimit-Policy` header.
    pub(crate) policy: HeaderValue,
}

/// Rejection of a request over its limit.
pub(crate) struct RateLimitExceeded {
    pub(crate) failure: Failure,
    pub(crate) allowance: Allowance,
    /// `Retry-After` header.
    pub(crate) retry_after: HeaderValue,
}

/// Placeholder without the feature: it cannot be created, so nothing is limited.
#[cfg(not(feature = "rate-limits"))]
#[derive(Debug)]
pub(crate) enum Limiter {}

#[cfg(not(feature = "rate-limits"))]
impl Limiter {
    pub(crate) fn new(_: RateLimit) -> Option<Self> {
        None
    }

    pub(crate) fn take(
        &self,
        _: &crate::credential::Identity,
        _: u64,
    ) -> Result<Allowance, Box<RateLimitExceeded>> {
        match *self {}
    }
}
