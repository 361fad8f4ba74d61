//! Counting who made how many requests.
//!
//! All credentials of one participant share one allowance, so a new credential
//! is no way around it. The operator has one too.
//!
//! # Invariant
//!
//! Only who is known takes up memory, and only while it makes requests.

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

use super::{Allowance, Exceeded, RateLimit};
use crate::credential::Identity;

/// After this many requests, allowances that are whole again are forgotten.
const FORGET_AFTER_REQUESTS: u64 = 4096;

/// Keeps everyone to a [`RateLimit`].
pub(crate) struct Limiter {
    /// Keyed by a hash, so that a request costs no copy of its names. Two
    /// participants with one hash would share an allowance, which does no harm.
    allowances: RateLimiter<u64, HashMapStateStore<u64>, HandedClock, StateInformationMiddleware>,
    clock: HandedClock,
    hasher: RandomState,
    requests: AtomicU64,
    policy: HeaderValue,
}

impl Limiter {
    /// One that keeps everyone to `limit`.
    #[expect(clippy::unnecessary_wraps, reason = "without the feature there is none")]
    pub(crate) fn new(limit: RateLimit) -> Option<Self> {
        let clock = HandedClock::default();
        let quota = Quota::per_second(limit.per_second).allow_burst(limit.burst);
        let window = limit.burst.get().div_ceil(limit.per_second.get());
        let policy = format!("\"participant\";q={};w={window}", limit.burst);
        Some(Self {
            allowances: RateLimiter::hashmap_with_clock(quota, clock.clone()).with_middleware(),
            clock,
            hasher: RandomState::new(),
            requests: AtomicU64::new(1),
            policy: text(policy),
        })
    }

    /// Takes one request of `identity` off its allowance.
    pub(crate) fn take(
        &self,
        identity: &Identity,
        now_micros: u64,
    ) -> Result<Allowance, Box<Exceeded>> {
        self.clock.set(now_micros);
        if self.requests.fetch_add(1, Ordering::Relaxed).is_multiple_of(FORGET_AFTER_REQUESTS) {
            self.allowances.retain_recent();
        }
        let who = match identity {
            Identity::Admin => self.hasher.hash_one(()),
            Identity::Participant(grant) => {
                self.hasher.hash_one((&grant.session, &grant.participant))
            }
        };
        match self.allowances.check_key(&who) {
            Ok(left) => {
                let left = left.remaining_burst_capacity();
                Ok(self.allowance(format!("\"participant\";r={left}")))
            }
            Err(until) => {
                let wait = until.wait_time_from(self.clock.now());
                let seconds = wait.as_secs().saturating_add(1);
                Err(Box::new(Exceeded {
                    failure: Failure::new(
                        "RATE_LIMITED",
                        format!(
                            "this participant makes more requests than it may; wait {} ms, and \
                             read selectively instead of in a loop",
                            wait.as_millis().max(1)
                        ),
                    ),
                    allowance: self.allowance(format!("\"participant\";r=0;t={seconds}")),
                    retry_after: HeaderValue::from(seconds),
                }))
            }
        }
    }

    fn allowance(&self, state: String) -> Allowance {
        Allowance { state: text(state), policy: self.policy.clone() }
    }
}

/// Digits and punctuation of our own: always a header value.
fn text(value: String) -> HeaderValue {
    HeaderValue::try_from(value).unwrap_or(HeaderValue::from_static(""))
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter").field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// The clock of the engine, handed over request by request. Two requests that
/// race may set it back by the little that lies between them.
#[derive(Debug, Clone, Default)]
struct HandedClock {
    micros: Arc<AtomicU64>,
}

/// An instant of a [`HandedClock`], in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Instant(u64);

impl HandedClock {
    /// Stops after a century and a half, where sums of instants would not fit.
    fn set(&self, micros: u64) {
        const MICROS_MAX: u64 = u64::MAX / 4 / 1000;
        self.micros.store(micros.min(MICROS_MAX), Ordering::Relaxed);
    }
}

impl Clock for HandedClock {
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

    use super::*;
    use crate::credential::Grant;

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
            session: "s".to_owned(),
            participant: format!("subagent:{task}"),
            credential: Credential { incarnation: 1, epoch: 1 },
            keys: Vec::new(),
        })
    }

    #[test]
    fn a_burst_is_let_through_and_then_one_request_per_interval() {
        let limiter = limiter(10, 3);
        let (a, b) = (agent("a"), agent("b"));
        for left in [2, 1, 0] {
            let allowance = limiter.take(&a, 1_000_000).unwrap_or_else(|_| unreachable!());
            assert_eq!(allowance.state, format!("\"participant\";r={left}"));
            assert_eq!(allowance.policy, "\"participant\";q=3;w=1");
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

    #[test]
    fn who_made_no_request_for_a_while_is_forgotten() {
        let limiter = limiter(100, 1);
        for nth in 0..20_000_u64 {
            let _ = limiter.take(&agent(&nth.to_string()), nth * 1000);
        }
        assert!(limiter.allowances.len() < 5000, "{}", limiter.allowances.len());
    }

    #[test]
    fn the_default_allows_a_burst_of_two_seconds() {
        let RateLimit { per_second, burst, .. } = RateLimit::default();
        assert_eq!((per_second.get(), burst.get()), (200, 400));
    }

    #[test]
    fn a_clock_at_its_end_lets_nobody_crash() {
        let limiter = limiter(10, 3);
        for now in [0, u64::MAX, 0, u64::MAX / 1000, 1] {
            let _ = limiter.take(&Identity::Admin, now);
        }
    }

    #[test]
    fn waiting_is_told_in_whole_seconds_that_are_enough() {
        let limiter = limiter(1, 1);
        assert!(limiter.take(&Identity::Admin, 0).is_ok());
        let exceeded = limiter.take(&Identity::Admin, 1).err().unwrap();
        let seconds: u64 = exceeded.retry_after.to_str().unwrap().parse().unwrap();
        let wait = Duration::from_secs(seconds);
        let later = u64::try_from(wait.as_micros()).unwrap() + 1;
        assert!(limiter.take(&Identity::Admin, later).is_ok());
    }
}
