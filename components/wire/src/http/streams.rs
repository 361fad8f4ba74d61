//! Counts of open live streams and of requests that wait for a change, by participant and session.
//!
//! Each takes a connection and some memory for as long as its client likes. The number is therefore
//! limited for each participant, and for all participants of a session together: an agent in a loop
//! leaves room for others, and so does one that mints more participants. The operator is not
//! limited by the session.
//!
//! # Invariant
//!
//! A stream counts from when it is opened until it is dropped, whatever ends it.

use std::fmt;

use prometheus_client::metrics::gauge::Gauge;
use shared_context_codec::{Caller, Failure};

use super::{
    limit::RateLimit,
    permits::{Permit, Permits},
};

/// Streams of one server. The default has no limit and no metrics, for an interface that serves one
/// request and opens at most one stream.
#[derive(Default)]
pub(crate) struct Streams {
    count: Gauge,
    /// Limits; `None` for none.
    limit: Option<RateLimit>,
    own: Permits,
    of_session: Permits,
}

/// An open stream.
pub(crate) struct OpenStream {
    count: Gauge,
    _own: Permit,
    _of_session: Option<Permit>,
}

impl Streams {
    /// Creates an empty count. `count` is the gauge of open streams.
    pub(crate) fn new(count: Gauge, limit: Option<RateLimit>) -> Self {
        Self { count, limit, own: Permits::default(), of_session: Permits::default() }
    }

    /// Counts a stream that `caller` opens on the bucket `scope`.
    ///
    /// # Errors
    ///
    /// `RATE_LIMITED`: the caller, or its session, has too many open.
    pub(crate) fn open(&self, scope: &str, caller: &Caller) -> Result<OpenStream, Failure> {
        let most = self.limit.map(|it| it.streams.get());
        let own = self.own.take((scope, &caller.participant), most).ok_or_else(|| {
            limited(format!(
                "this participant has {} live streams open, as many as it may: close one of them \
                 first, or read changes in pages",
                most.unwrap_or_default()
            ))
        })?;
        let most = self.limit.map(|it| it.of_session(it.streams));
        let of_session = || {
            self.of_session.take(scope, most).ok_or_else(|| {
                limited(format!(
                    "the participants here have {} live streams open, as many as they may together: \
                     close one of them first, or read changes in pages",
                    most.unwrap_or_default()
                ))
            })
        };
        let of_session = (!is_operator(caller)).then(of_session).transpose()?;
        self.count.inc();
        Ok(OpenStream { count: self.count.clone(), _own: own, _of_session: of_session })
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.count.dec();
    }
}

/// Returns true if `caller` is the operator, who belongs to no session.
fn is_operator(caller: &Caller) -> bool {
    caller.participant == "admin"
}

fn limited(message: String) -> Failure {
    Failure::new("RATE_LIMITED", message)
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

    fn open(streams: &Streams, scope: &str, participant: &str) -> Result<OpenStream, Failure> {
        streams.open(scope, &Caller::trusted(participant))
    }

    #[test]
    fn streams_are_limited_per_participant() {
        let limit = RateLimit { streams: NonZeroU32::new(2).unwrap(), ..RateLimit::default() };
        let streams = Streams::new(Gauge::default(), Some(limit));
        let first = open(&streams, "s", "subagent:a").unwrap();
        let second = open(&streams, "s", "subagent:a").unwrap();
        let failure = open(&streams, "s", "subagent:a").map(drop).unwrap_err();
        assert_eq!(failure.code, "RATE_LIMITED");
        assert!(failure.message.contains("has 2 live streams open"), "{failure:?}");
        let others = [open(&streams, "s", "subagent:b"), open(&streams, "t", "subagent:a")];
        assert_eq!(streams.count.get(), 4);
        drop(first);
        assert_eq!(streams.count.get(), 3);
        let third = open(&streams, "s", "subagent:a").unwrap();
        assert!(open(&streams, "s", "subagent:a").is_err());
        drop((third, second, others));
        assert_eq!(streams.count.get(), 0);
    }

    /// An orchestrator minted 66 subagents that opened 64 streams each, which took all connections
    /// of a server. A limit per participant does not bind a caller that can create participants.
    #[test]
    fn streams_are_limited_per_session() {
        let [streams, per_session] = [2, 3].map(|it| NonZeroU32::new(it).unwrap());
        let limit = RateLimit { streams, per_session, ..RateLimit::default() };
        let streams = Streams::new(Gauge::default(), Some(limit));
        let mut held: Vec<_> =
            (0..6).map(|nth| open(&streams, "s", &format!("subagent:{nth}")).unwrap()).collect();
        let failure = open(&streams, "s", "subagent:new").map(drop).unwrap_err();
        assert_eq!(failure.code, "RATE_LIMITED");
        assert!(failure.message.contains("have 6 live streams open"), "{failure:?}");
        let others = [open(&streams, "t", "subagent:a"), open(&streams, "s", "admin")];
        assert!(others.iter().all(Result::is_ok));
        held.pop();
        assert!(open(&streams, "s", "subagent:new").is_ok());
    }

    #[test]
    fn streams_are_unlimited_without_rate_limits() {
        let streams = Streams::new(Gauge::default(), None);
        let open: Vec<_> = (0..1_000).map(|_| open(&streams, "s", "a").unwrap()).collect();
        assert_eq!(streams.count.get(), 1_000);
        drop(open);
        assert_eq!(streams.count.get(), 0);
    }
}
