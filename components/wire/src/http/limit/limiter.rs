//! Counts requests by participant and by session.
//!
//! All credentials of a participant share one allowance, so a new credential does not bypass it.
//! All participants of a session share another, so a new participant does not either. The operator
//! has a separate allowance.
//!
//! # Invariant
//!
//! Only identified callers take memory, and only while they send requests.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    ops::Add,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use governor::{
    Quota, RateLimiter,
    clock::{Clock, Reference},
    middleware::StateInformationMiddleware,
    nanos::Nanos,
    state::keyed::HashMapStateStore,
};
use http::HeaderValue;
use shared_context_codec::Failure;

use super::{Allowance, RateLimit, RateLimitExceeded};
use crate::credential::{Grant, Identity};

/// Interval, in requests, after which full allowances are dropped.
const FORGET_AFTER_REQUESTS: u64 = 4096;

/// Enforces a [`RateLimit`].
pub(crate) struct Limiter {
    participants: Allowances,
    sessions: Allowances,
    clock: RequestClock,
    hasher: RandomState,
    requests: AtomicU64,
    policy: HeaderValue,
}

/// Remaining allowances. The key is a hash, so that a request copies no names. Callers whose hashes
/// collide share an allowance, which is harmless.
type Allowances =
    RateLimiter<u64, HashMapStateStore<u64>, RequestClock, StateInformationMiddleware>;

impl Limiter {
    /// Creates a limiter that enforces `limit`.
    #[expect(clippy::unnecessary_wraps, reason = "without the feature there is none")]
    pub(crate) fn new(limit: RateLimit) -> Option<Self> {
        let clock = RequestClock::default();
        let allowances = |per_second, burst| {
            let quota = Quota::per_second(per_second).allow_burst(burst);
            RateLimiter::hashmap_with_clock(quota, clock.clone()).with_middleware()
        };
        let RateLimit { per_second, burst, per_session, .. } = limit;
        let window = burst.get().div_ceil(per_second.get());
        let policy = format!(
            "\"participant\";q={burst};w={window}, \"session\";q={};w={window}",
            limit.of_session(burst)
        );
        Some(Self {
            participants: allowances(per_second, burst),
            sessions: allowances(
                per_second.saturating_mul(per_session),
                burst.saturating_mul(per_session),
            ),
            clock,
            hasher: RandomState::new(),
            requests: AtomicU64::new(1),
            policy: text(policy),
        })
    }

    /// Takes one request of `identity` off its allowance, and off that of its session.
    pub(crate) fn take(
        &self,
        identity: &Identity,
        now_micros: u64,
    ) -> Result<Allowance, Box<RateLimitExceeded>> {
        self.clock.set(now_micros);
        if self.requests.fetch_add(1, Ordering::Relaxed).is_multiple_of(FORGET_AFTER_REQUESTS) {
            self.participants.retain_recent();
            self.sessions.retain_recent();
        }
        let (who, session) = match identity {
            Identity::Admin => (self.hasher.hash_one(()), None),
            Identity::Participant(Grant { scope, participant, .. }) => {
                let who = self.hasher.hash_one((scope, participant));
                (who, Some(self.hasher.hash_one(scope)))
            }
        };
        let of_session = |it| self.take_from("session", &self.sessions, it);
        let left = self.take_from("participant", &self.participants, who)?;
        session.map(of_session).transpose()?;
        Ok(self.allowance(format!("\"participant\";r={left}")))
    }

    /// Takes one request off the allowance of `who`, and returns the remainder. `what` describes
    /// the caller in the error message.
    fn take_from(
        &self,
        what: &str,
        allowances: &Allowances,
        who: u64,
    ) -> Result<u32, Box<RateLimitExceeded>> {
        allowances.check_key(&who).map(|left| left.remaining_burst_capacity()).map_err(|until| {
            let wait = until.wait_time_from(self.clock.now());
            let seconds = wait.as_secs().saturating_add(1);
            Box::new(RateLimitExceeded {
                failure: Failure::new(
                    "RATE_LIMITED",
                    format!(
                        "this {what} makes more requests than it may; wait {} ms, and read \
                         selectively instead of in a loop",
                        wait.as_millis().max(1)
                    ),
                ),
                allowance: self.allowance(format!("\"{what}\";r=0;t={seconds}")),
                retry_after: HeaderValue::from(seconds),
            })
        })
    }

    fn allowance(&self, state: String) -> Allowance {
        Allowance { state: text(state), policy: self.policy.clone() }
    }
}

/// Converts digits and punctuation of our own, which are always a valid header value.
fn text(value: String) -> HeaderValue {
    HeaderValue::try_from(value).unwrap_or(HeaderValue::from_static(""))
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter").field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// Clock that is set to the engine's time on each request. Two racing requests may set it back by
/// the small difference between them.
#[derive(Debug, Clone, Default)]
struct RequestClock {
    micros: Arc<AtomicU64>,
}

/// An instant of the [`RequestClock`], in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Instant(u64);

impl RequestClock {
    /// Sets the time, up to a bound of about 146 years, so that sums of instants fit.
    fn set(&self, micros: u64) {
        const MICROS_MAX: u64 = u64::MAX / 4 / 1000;
        self.micros.store(micros.min(MICROS_MAX), Ordering::Relaxed);
    }
}

impl Clock for RequestClock {
    type Instant = Instant;

    fn now(&self) -> Instant {
        Instant(self.micros.load(Ordering::Relaxed).saturating_mul(1000))
    }
}

impl Reference for Instant {
    fn duration_since(&self, earlier: Self) -> Nanos {
        Nanos::from(self.0.saturating_sub(earlier.0))
    }

    fn saturating_sub(&self, duration: Nanos) -> Self {
        Self(self.0.saturating_sub(duration.as_u64()))
    }
}

impl Add<Nanos> for Instant {
    type Output = Self;

    fn add(self, other: Nanos) -> Self {
        Self(self.0.saturating_add(other.as_u64()))
    }
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroU32, time::Duration};

    use shared_context_codec::Credential;
    use shared_context_core::{Scope, ScopeKind};

    use super::*;
    fn limiter(per_second: u32, burst: u32) -> Limiter {
        let number = |it| NonZeroU32::new(it).unwrap();
        Limiter::new(RateLimit {
            per_second: number(per_second),
            burst: number(burst),
            ..RateLimit::default()
        })
        .unwrap()
    }

    fn agent(task: &str) -> Identity {
        Identity::Participant(Grant {
            scope: Scope::new(ScopeKind::Session, "s").unwrap(),
            participant: format!("subagent:{task}"),
            credential: Credential { incarnation: 1, epoch: 1 },
            keys: Vec::new(),
            project: None,
            tools: None,
        })
    }

    #[test]
    fn a_burst_is_allowed_then_one_request_per_interval() {
        let limiter = limiter(10, 3);
        let (a, b) = (agent("a"), agent("b"));
        for left in [2, 1, 0] {
            let allowance = limiter.take(&a, 1_000_000).unwrap_or_else(|_| unreachable!());
            assert_eq!(allowance.state, format!("\"participant\";r={left}"));
            assert_eq!(allowance.policy, "\"participant\";q=3;w=1, \"session\";q=24;w=1");
        }
        let exceeded = limiter.take(&a, 1_000_000).err().unwrap();
        assert_eq!(exceeded.failure.code, "RATE_LIMITED");
        assert_eq!(exceeded.retry_after, "1");
        assert_eq!(exceeded.allowance.state, "\"participant\";r=0;t=1");
        assert!(exceeded.failure.message.contains("wait 100 ms"), "{}", exceeded.failure.message);
        assert!(limiter.take(&b, 1_000_000).is_ok(), "others are not affected");
        assert!(limiter.take(&Identity::Admin, 1_000_000).is_ok());
        assert!(limiter.take(&a, 1_099_000).is_err());
        assert!(limiter.take(&a, 1_100_000).is_ok());
        assert!(limiter.take(&a, 1_100_000).is_err());
    }

    /// An orchestrator minted subagents, and each could send as many requests as a participant may.
    /// One session could take all requests of a server.
    #[test]
    fn requests_are_limited_per_session() {
        let limiter = limiter(10, 3);
        let taken = (0..30).map(|nth| limiter.take(&agent(&nth.to_string()), 1_000_000));
        let rejected: Vec<_> = taken.filter_map(Result::err).collect();
        assert_eq!(rejected.len(), 30 - 3 * 8);
        assert_eq!(rejected[0].allowance.state, "\"session\";r=0;t=1");
        assert!(rejected[0].failure.message.contains("this session makes more"));
        assert!(limiter.take(&Identity::Admin, 1_000_000).is_ok());
        let Identity::Participant(grant) = agent("0") else { unreachable!() };
        let other = Identity::Participant(Grant {
            scope: Scope::new(ScopeKind::Session, "t").unwrap(),
            ..grant
        });
        assert!(limiter.take(&other, 1_000_000).is_ok(), "others are not affected");
        assert!(limiter.take(&agent("later"), 1_100_000).is_ok());
    }

    #[test]
    fn idle_callers_are_dropped() {
        let limiter = limiter(100, 1);
        for nth in 0..20_000_u64 {
            let _ = limiter.take(&agent(&nth.to_string()), nth * 1000);
        }
        assert!(limiter.participants.len() < 5000, "{}", limiter.participants.len());
    }

    #[test]
    fn the_default_allows_a_burst_of_two_seconds() {
        let RateLimit { per_second, burst, .. } = RateLimit::default();
        assert_eq!((per_second.get(), burst.get()), (200, 400));
    }

    #[test]
    fn an_extreme_clock_causes_no_panic() {
        let limiter = limiter(10, 3);
        for now in [0, u64::MAX, 0, u64::MAX / 1000, 1] {
            let _ = limiter.take(&Identity::Admin, now);
        }
    }

    #[test]
    fn retry_after_is_sufficient_whole_seconds() {
        let limiter = limiter(1, 1);
        assert!(limiter.take(&Identity::Admin, 0).is_ok());
        let exceeded = limiter.take(&Identity::Admin, 1).err().unwrap();
        let seconds: u64 = exceeded.retry_after.to_str().unwrap().parse().unwrap();
        let wait = Duration::from_secs(seconds);
        let later = u64::try_from(wait.as_micros()).unwrap() + 1;
        assert!(limiter.take(&Identity::Admin, later).is_ok());
    }
}
