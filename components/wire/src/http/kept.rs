//! What an interface remembers from one request to the next: how many requests came
//! from whom, what became of them, and who shook hands in an older protocol of MCP.
//!
//! Where each request has an interface of its own
//! ([`Options::is_kept`](super::Options::is_kept)) there is none of it, and what
//! would need it is not offered.
//!
//! # Invariant
//!
//! Nothing a session holds depends on it: whoever forgets it all loses no change.

use http::{
    HeaderMap,
    header::{HeaderName, RETRY_AFTER},
};
use shared_context_codec::Failure;

use super::{
    limit::{Limiter, RateLimit},
    metrics::Metrics,
    table::Endpoint,
};
use crate::{credential::Identity, mcp::legacy::Handshakes};

static RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
static RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The memory of one [`Http`](super::Http).
#[derive(Debug)]
pub(super) struct Kept {
    limiter: Option<Limiter>,
    pub(super) metrics: Metrics,
    pub(super) handshakes: Handshakes,
}

impl Kept {
    /// Nothing yet; everyone is kept to `rate_limit`.
    pub(super) fn new(rate_limit: Option<RateLimit>) -> Self {
        Self {
            limiter: rate_limit.and_then(Limiter::new),
            metrics: Metrics::new(),
            handshakes: Handshakes::new(),
        }
    }

    /// Takes one request of `identity` off its allowance, and tells in `headers` what
    /// is left.
    ///
    /// # Errors
    ///
    /// `RATE_LIMITED`: nothing is.
    pub(super) fn take(
        &self,
        identity: &Identity,
        now_micros: u64,
        headers: &mut HeaderMap,
    ) -> Result<(), Failure> {
        let Some(limiter) = &self.limiter else { return Ok(()) };
        let (allowance, taken) = match limiter.take(identity, now_micros) {
            Ok(allowance) => (allowance, Ok(())),
            Err(exceeded) => {
                headers.insert(RETRY_AFTER, exceeded.retry_after);
                (exceeded.allowance, Err(exceeded.failure))
            }
        };
        headers.insert(RATELIMIT.clone(), allowance.state);
        headers.insert(RATELIMIT_POLICY.clone(), allowance.policy);
        taken
    }
}

/// Why `endpoint`, which [needs memory](Endpoint::needs_memory), is not there without.
pub(super) fn missing(endpoint: Endpoint) -> Failure {
    match endpoint {
        Endpoint::Metrics => Failure::new(
            "NOT_FOUND",
            "this server keeps nothing between requests, so there are no metrics to read; measure \
             it by what the platform that runs it tells of requests, and take this target out of \
             the scraper's configuration",
        ),
        _ => Failure::new(
            "METHOD_NOT_ALLOWED",
            "this server keeps nothing between requests, so there are no MCP sessions: only POST \
             can be used here; for changes as they come, POST subscriptions/listen of 2026-07-28",
        ),
    }
}
