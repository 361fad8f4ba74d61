//! Live streams that are open: how many, and whose.
//!
//! A stream takes a connection and some memory for as long as its client likes.
//! So each participant may have some of them open, and one agent in a loop leaves
//! the others room.
//!
//! # Invariant
//!
//! A stream counts from when it is opened until it is dropped, whatever ends it.

use std::{
    collections::BTreeMap,
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use prometheus_client::metrics::gauge::Gauge;
use shared_context_codec::Failure;

use super::limit::RateLimit;

/// The streams of one server; by default as many as anyone likes, not told to any
/// metrics: of an interface that serves one request, which opens one at most.
#[derive(Default)]
pub(crate) struct Streams {
    count: Gauge,
    /// How many each participant may have open; `None` for any number.
    most: Option<u32>,
    open: Arc<Mutex<Open>>,
    hasher: RandomState,
}

/// How many streams each participant has open, by a hash of its name.
type Open = BTreeMap<u64, u32>;

/// One open stream.
pub(crate) struct OpenStream {
    count: Gauge,
    open: Arc<Mutex<Open>>,
    who: u64,
}

impl Streams {
    /// None yet. `count` is told how many there are.
    pub(crate) fn new(count: Gauge, limit: Option<&RateLimit>) -> Self {
        Self {
            count,
            most: limit.map(|it| it.streams.get()),
            open: Arc::default(),
            hasher: RandomState::new(),
        }
    }

    /// Counts a stream that `participant` opens on the bucket `scope`.
    ///
    /// # Errors
    ///
    /// `RATE_LIMITED`: it has as many open as it may.
    pub(crate) fn open(&self, scope: &str, participant: &str) -> Result<OpenStream, Failure> {
        let who = self.hasher.hash_one((scope, participant));
        let mut open = locked(&self.open);
        let own = open.entry(who).or_default();
        if let Some(most) = self.most.filter(|most| *own >= *most) {
            return Err(Failure::new(
                "RATE_LIMITED",
                format!(
                    "this participant has {most} live streams open, as many as it may: close one \
                     of them first, or read changes in pages"
                ),
            ));
        }
        *own = own.saturating_add(1);
        self.count.inc();
        Ok(OpenStream { count: self.count.clone(), open: Arc::clone(&self.open), who })
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.count.dec();
        let mut open = locked(&self.open);
        let left = open.get(&self.who).map_or(0, |own| own.saturating_sub(1));
        if left == 0 {
            open.remove(&self.who);
        } else {
            open.insert(self.who, left);
        }
    }
}

fn locked(open: &Mutex<Open>) -> MutexGuard<'_, Open> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams").field("count", &self.count).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn a_participant_has_some_streams_and_leaves_the_others_room() {
        let limit = RateLimit { streams: NonZeroU32::new(2).unwrap(), ..RateLimit::default() };
        let streams = Streams::new(Gauge::default(), Some(&limit));
        let first = streams.open("s", "subagent:a").unwrap();
        let second = streams.open("s", "subagent:a").unwrap();
        let refused = streams.open("s", "subagent:a").map(drop).unwrap_err();
        assert_eq!(refused.code, "RATE_LIMITED");
        assert!(refused.message.contains("has 2 live streams open"), "{refused:?}");
        let others = [streams.open("s", "subagent:b"), streams.open("t", "subagent:a")];
        assert_eq!(streams.count.get(), 4);
        drop(first);
        assert_eq!(streams.count.get(), 3);
        let third = streams.open("s", "subagent:a").unwrap();
        assert!(streams.open("s", "subagent:a").is_err());
        drop((third, second, others));
        assert_eq!(streams.count.get(), 0);
        assert!(locked(&streams.open).is_empty());
    }

    #[test]
    fn where_nobodys_rate_is_limited_nobodys_streams_are() {
        let streams = Streams::new(Gauge::default(), None);
        let open: Vec<_> = (0..1_000).map(|_| streams.open("s", "a").unwrap()).collect();
        assert_eq!(streams.count.get(), 1_000);
        drop(open);
        assert_eq!(streams.count.get(), 0);
    }
}
