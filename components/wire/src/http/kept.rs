//! In-process state of an interface between requests: rate limits, metrics, and handshakes of older
//! versions of MCP.
//!
//! If each request has an interface of its own ([`Options::is_kept`](super::Options::is_kept)),
//! there is no such state, and features that need it are not offered.
//!
//! # Invariant
//!
//! No content of a session depends on it: losing it loses no change.

use http::{
    HeaderMap,
    header::{HeaderName, RETRY_AFTER},
};
use shared_context_codec::Failure;

use super::{
    limit::{Limiter, RateLimit},
    metrics::Metrics,
    permits::{Permit, Permits},
    table::Endpoint,
};
use crate::{credential::Identity, mcp::legacy::Handshakes};

static RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
static RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// In-process state of one [`Http`](super::Http).
#[derive(Debug)]
pub(super) struct InProcessState {
    limiter: Option<Limiter>,
    /// Requests in flight of each session, and their limit.
    in_flight: Permits,
    in_flight_max: Option<u32>,
    pub(super) metrics: Metrics,
    pub(super) handshakes: Handshakes,
}

impl InProcessState {
    /// Creates an empty state with `rate_limit`, for a host with `connections_max`.
    pub(super) fn new(rate_limit: Option<RateLimit>, connections_max: Option<u32>) -> Self {
        let share = connections_max.map_or(u32::MAX, |it| (it / 4).max(1));
        Self {
            limiter: rate_limit.and_then(Limiter::new),
            in_flight: Permits::default(),
            in_flight_max: rate_limit.map(|it| it.of_session(it.streams).min(share)),
            metrics: Metrics::new(),
            handshakes: Handshakes::new(),
        }
    }

    /// Takes one request of `identity` off its allowance, and writes the remaining allowance to
    /// `headers`.
    ///
    /// # Errors
    ///
    /// `RATE_LIMITED`: the allowance is used up.
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

    /// Counts a request of `identity` as in flight until the permit is dropped. The operator's
    /// requests are not counted.
    ///
    /// # Errors
    ///
    /// `RATE_LIMITED`: its session has too many requests in flight.
    pub(super) fn begin(&self, identity: &Identity) -> Result<Option<Permit>, Failure> {
        let Some(scope) = identity.scope() else { return Ok(None) };
        let begin_all = self.in_flight.take(scope.bucket_name(), self.in_flight_max);
        begin_all.map(Some).ok_or_else(|| {
            Failure::new(
                "RATE_LIMITED",
                format!(
                    "this {} has {} requests under way, as many as its participants may \
                     have together: wait for answers before you ask for more",
                    scope.kind().as_str(),
                    self.in_flight_max.unwrap_or_default()
                ),
            )
        })
    }
}

/// Builds the error for `endpoint`, which [needs memory](Endpoint::needs_memory), on a server
/// without in-process state.
pub(super) fn unavailable(endpoint: Endpoint) -> Failure {
    match endpoint {
        Endpoint::Metrics => Failure::new(
            "NOT_FOUND",
            "this server keeps nothing between requests, so there are no metrics to read; measure \
             it by what the platform that runs it reports of requests, and take this target out of \
             the scraper's configuration",
        ),
        _ => Failure::new(
            "METHOD_NOT_ALLOWED",
            "this server keeps nothing between requests, so there are no MCP sessions: only POST \
             can be used here; for changes as they come, POST subscriptions/listen of 2026-07-28",
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use shared_context_codec::Credential;
    use shared_context_core::{Scope, ScopeKind};

    use super::*;
    use crate::credential::Grant;

    fn agent(session: &str, nth: u32) -> Identity {
        Identity::Participant(Grant {
            scope: Scope::new(ScopeKind::Session, session).unwrap(),
            participant: format!("subagent:{nth}"),
            credential: Credential { incarnation: 1, epoch: 1 },
            keys: Vec::new(),
            project: None,
            tools: None,
        })
    }

    fn begin_all(state: &InProcessState, session: &str) -> Vec<Permit> {
        (0..100).filter_map(|nth| state.begin(&agent(session, nth)).ok().flatten()).collect()
    }

    /// A waiting request takes a connection. One session could take all connections.
    #[test]
    fn requests_in_flight_are_limited_per_session() {
        let [streams, per_session] = [4, 3].map(|it| NonZeroU32::new(it).unwrap());
        let limit = RateLimit { streams, per_session, ..RateLimit::default() };
        let state = InProcessState::new(Some(limit), None);
        let own = begin_all(&state, "s");
        assert_eq!((own.len(), begin_all(&state, "t").len()), (12, 12));
        let failure = state.begin(&agent("s", 0)).map(drop).unwrap_err();
        assert_eq!(failure.code, "RATE_LIMITED");
        assert!(failure.message.contains("has 12 requests under way"), "{failure:?}");
        assert!(state.begin(&Identity::Admin).unwrap().is_none());
        drop(own);
        assert!(state.begin(&agent("s", 0)).is_ok());
        // The limit is a quarter of the connections if these are few.
        assert_eq!(begin_all(&InProcessState::new(Some(limit), Some(20)), "s").len(), 5);
        assert_eq!(begin_all(&InProcessState::new(None, Some(20)), "s").len(), 100);
    }
}
