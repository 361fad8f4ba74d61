//! The engine that the wire calls: the component, the storage and the clocks, through
//! the imports of `hosts/spin/wit`.
//!
//! # Invariant
//!
//! No method is ever pending: each blocks until it is done. Meanwhile the host works in
//! other instances.

use std::time::Duration;

use shared_context_codec::{Caller, Effect, Failure, Reply};
use shared_context_core::{Error, ScopeKind, port::KvError, time::Timestamp};
use shared_context_wire::Woken;

use crate::{
    bindings::{
        shared_context::{
            core::{tool, types},
            spin::buckets,
        },
        wasi::{
            clocks::{monotonic_clock, wall_clock},
            io::streams::OutputStream,
        },
    },
    log,
    wait::{self, WAIT_MAX},
};

/// The first and the maximum interval at which a wait for a change polls the revision:
/// instances are not notified of each other's commits.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const POLL_INTERVAL_MAX: Duration = Duration::from_millis(250);

/// The engine of one request.
pub(crate) struct Engine<'s> {
    /// The end of all waiting, in nanoseconds of the monotonic clock.
    waits_until: u64,
    /// The body of the response, once it is being sent.
    body: Option<&'s OutputStream>,
}

impl Engine<'_> {
    /// Creates the engine of a request that has just arrived.
    pub(crate) fn new() -> Self {
        Self { waits_until: wait::after(WAIT_MAX), body: None }
    }

    /// Returns the engine for sending `body`. It stops waiting when the client of `body`
    /// disconnects.
    pub(crate) fn sending<'s>(&self, body: &'s OutputStream) -> Engine<'s> {
        Engine { waits_until: self.waits_until, body: Some(body) }
    }

    /// Returns true if the client is known to have disconnected. A platform that keeps the
    /// instance running reports this only when asked for room to write.
    fn is_disconnected(&self) -> bool {
        self.body.is_some_and(|it| it.check_write().is_err())
    }
}

impl shared_context_wire::Engine for Engine<'_> {
    async fn invoke(&self, scope: &str, caller: &Caller, request: &[u8]) -> Result<Reply, Failure> {
        let Caller { participant, credential, keys, session } = caller;
        let caller = types::Caller {
            participant: participant.clone(),
            credential: credential
                .map(|it| types::Credential { incarnation: it.incarnation, epoch: it.epoch }),
            keys: keys.clone(),
            session: session.clone(),
        };
        match tool::invoke(scope, &caller, request) {
            Ok(tool::Reply { revision, body, effect, next_expiry_ms }) => {
                let effect = match effect {
                    tool::Effect::Done => Effect::Done,
                    tool::Effect::Created => Effect::Created,
                    tool::Effect::Unchanged => Effect::Unchanged,
                };
                Ok(Reply { revision, body, effect, next_expiry_ms })
            }
            Err(types::Error { code, message, details }) => {
                let failure = Failure { code: code.into(), message, details };
                if failure.code == "STORAGE_UNAVAILABLE" {
                    log::unavailable(scope, &failure);
                }
                Err(failure)
            }
        }
    }

    async fn ids(
        &self,
        kind: ScopeKind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, Failure> {
        let after = after.map(|it| kind.bucket_name(it));
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let names = buckets::names(kind.prefix(), after.as_deref(), limit)
            .map_err(|why| Failure::from(Error::from(KvError(why))))?;
        let ids = names.iter().filter_map(|it| it.strip_prefix(kind.prefix()));
        Ok(ids.map(str::to_owned).collect())
    }

    async fn position(&self, scope: &str) -> u64 {
        // If storage fails here, the next read reports why.
        buckets::revision(scope).unwrap_or_default()
    }

    async fn wait_for_change(&self, scope: &str, seen: u64, at_most: Duration) -> Woken {
        let (mut left, mut pause) = (at_most, POLL_INTERVAL);
        loop {
            if !buckets::revision(scope).is_ok_and(|revision| revision <= seen) {
                return Woken::Changed;
            }
            if monotonic_clock::now() >= self.waits_until || self.is_disconnected() {
                return Woken::Stopping;
            }
            if left.is_zero() {
                return Woken::TimeUp;
            }
            let nap = pause.min(left);
            wait::sleep(nap);
            left = left.saturating_sub(nap);
            pause = pause.saturating_mul(2).min(POLL_INTERVAL_MAX);
        }
    }

    fn now(&self) -> Timestamp {
        let now = wall_clock::now();
        let millis = u64::from(now.nanoseconds / 1_000_000);
        Timestamp(now.seconds.saturating_mul(1_000).saturating_add(millis))
    }

    fn monotonic_micros(&self) -> u64 {
        monotonic_clock::now() / 1_000
    }
}
