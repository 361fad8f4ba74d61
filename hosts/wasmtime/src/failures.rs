//! Rate limits the logging of failures.
//!
//! Invariant: a repeating failure is logged once per [`PAUSE`], with the number of
//! suppressed lines. A failing disk does not fill its remaining space with its own log.

use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex, PoisonError},
    time::{Duration, Instant},
};

use shared_context_core::port::KvError;

/// The time between two lines of the same cause.
const PAUSE: Duration = Duration::from_secs(10);
/// The maximum number of causes that are limited separately.
const CAUSES_MAX: usize = 256;

/// Logs why storage failed.
pub(crate) fn storage_failure(KvError(reason): &KvError) {
    if let Some(suppressed) = admit(reason) {
        tracing::error!(target: "shared_context::storage", reason, suppressed, "storage failed");
    }
}

/// Decides whether to log a failure with this cause. Returns the number of lines suppressed
/// since the last one, or `None` to suppress this one too.
pub(crate) fn admit(cause: &str) -> Option<u64> {
    static LIMITER: LazyLock<Mutex<Limiter>> = LazyLock::new(Mutex::default);
    LIMITER.lock().unwrap_or_else(PoisonError::into_inner).admit(cause, Instant::now())
}

/// The time of the last line of each cause, and the number of lines suppressed since.
#[derive(Debug, Default)]
struct Limiter(HashMap<String, (Instant, u64)>);

impl Limiter {
    fn admit(&mut self, cause: &str, now: Instant) -> Option<u64> {
        if let Some((written_at, suppressed)) = self.0.get_mut(cause) {
            if now.duration_since(*written_at) < PAUSE {
                *suppressed += 1;
                return None;
            }
            *written_at = now;
            return Some(std::mem::take(suppressed));
        }
        if self.0.len() >= CAUSES_MAX {
            self.0.retain(|_, (written_at, _)| now.duration_since(*written_at) < PAUSE);
        }
        // Further causes share one limit.
        if self.0.len() >= CAUSES_MAX && !cause.is_empty() {
            return self.admit("", now);
        }
        self.0.insert(cause.to_owned(), (now, 0));
        Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A failing disk once logged a line for each request: 5,310 in four seconds.
    #[test]
    fn a_repeating_cause_is_logged_once_per_pause() {
        let (mut limiter, now) = (Limiter::default(), Instant::now());
        assert_eq!(limiter.admit("full", now), Some(0));
        for _ in 0..5_000 {
            assert_eq!(limiter.admit("full", now), None);
        }
        assert_eq!(limiter.admit("locked", now), Some(0));
        let later = now + PAUSE;
        assert_eq!(limiter.admit("full", later), Some(5_000));
        assert_eq!(limiter.admit("full", later), None);
        assert_eq!(limiter.admit("full", later + PAUSE), Some(1));
    }

    #[test]
    fn causes_beyond_the_limit_count_as_one() {
        let (mut limiter, now) = (Limiter::default(), Instant::now());
        let written = (0..5_000).filter(|it| limiter.admit(&format!("{it}"), now).is_some());
        assert_eq!(written.count(), CAUSES_MAX + 1);
        assert!(limiter.0.len() <= CAUSES_MAX + 1);
        assert_eq!(limiter.admit("later", now + PAUSE), Some(0));
    }
}
