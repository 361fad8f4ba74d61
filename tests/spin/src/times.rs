//! Durations of requests, with their percentiles for reports.

use std::{fmt, time::Duration};

/// The durations of some requests.
#[derive(Debug, Clone, Default)]
pub struct Times(Vec<Duration>);

impl Times {
    /// Returns the duration that `percent` percent of the requests do not exceed, or zero
    /// without requests.
    pub fn percentile(&self, percent: usize) -> Duration {
        let last = self.0.len().saturating_sub(1);
        self.0.get(last * percent.min(100) / 100).copied().unwrap_or_default()
    }
}

impl FromIterator<Duration> for Times {
    fn from_iter<I: IntoIterator<Item = Duration>>(times: I) -> Self {
        let mut times: Vec<_> = times.into_iter().collect();
        times.sort_unstable();
        Self(times)
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (p50, p99) = (self.percentile(50), self.percentile(99));
        write!(f, "p50 {p50:.1?}, p99 {p99:.1?} of {}", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_times() {
        let times: Times = (1..=100).rev().map(Duration::from_millis).collect();
        assert_eq!(times.percentile(50), Duration::from_millis(50));
        assert_eq!(times.percentile(99), Duration::from_millis(99));
        assert_eq!(times.percentile(100), Duration::from_millis(100));
        assert_eq!(times.to_string(), "p50 50.0ms, p99 99.0ms of 100");
        assert_eq!(Times::default().percentile(50), Duration::ZERO);
    }
}
