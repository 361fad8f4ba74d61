//! How much a participant may ask for, and all participants of a session together: so
//! that one agent in a loop does not crowd out the others of its session, nor one session
//! all others.
//!
//! Not here: counting (`limiter`), which needs the feature `rate-limits`.

#[cfg(feature = "rate-limits")]
mod limiter;

use std::num::NonZeroU32;

use http::HeaderValue;
use shared_context_codec::Failure;

#[cfg(feature = "rate-limits")]
pub(crate) use limiter::Limiter;

/// How much a participant may ask for, and all of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// Requests a second, in the long run.
    pub per_second: NonZeroU32,
    /// Requests at once, after a pause.
    pub burst: NonZeroU32,
    /// Live streams open at a time.
    pub streams: NonZeroU32,
    /// How many times as much all participants of a session may have together.
    pub per_session: NonZeroU32,
}

impl RateLimit {
    /// So many requests a second, twice that at once, and 64 live streams; eight times
    /// as much for a session.
    pub fn per_second(per_second: NonZeroU32) -> Self {
        Self {
            per_second,
            burst: per_second.saturating_mul(NonZeroU32::MIN.saturating_add(1)),
            streams: NonZeroU32::MIN.saturating_add(63),
            per_session: NonZeroU32::MIN.saturating_add(7),
        }
    }

    /// Returns what a session may have of what a participant may have so much of.
    pub(crate) fn of_session(&self, own: NonZeroU32) -> u32 {
        own.saturating_mul(self.per_session).get()
    }
}

impl Default for RateLimit {
    /// 200 requests a second, 400 at once, 64 live streams, and eight times as much for a
    /// session: far more than models can ask for, and little for a server.
    fn default() -> Self {
        Self::per_second(NonZeroU32::MIN.saturating_add(199))
    }
}

/// What is said of an allowance in a response.
pub(crate) struct Allowance {
    /// The `RateLimit` header.
    pub(crate) state: HeaderValue,
    /// The `RateLimit-Policy` header.
    pub(crate) policy: HeaderValue,
}

/// Why a request was not let through.
pub(crate) struct Exceeded {
    pub(crate) failure: Failure,
    pub(crate) allowance: Allowance,
    /// The `Retry-After` header.
    pub(crate) retry_after: HeaderValue,
}

/// Keeps nobody to anything: there is none.
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
    ) -> Result<Allowance, Box<Exceeded>> {
        match *self {}
    }
}
