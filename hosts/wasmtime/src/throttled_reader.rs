//! Throttles the reads of streams.
//!
//! One change can wake thousands of streams, which then all read. At most half of the
//! processors serve their reads; the other half is left to requests. The remaining streams
//! wait, and read several changes at once when they continue.

use std::{num::NonZero, sync::Arc, thread, time::Duration};

use shared_context_core::{ScopeKind, time::Timestamp};
use shared_context_wire::{Engine, Woken};
use tokio::sync::Semaphore;

use crate::{Caller, Failure, Reply};

/// Returns one permit for each stream that may read at the same time.
pub(crate) fn read_permits() -> Arc<Semaphore> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    Arc::new(Semaphore::new((processors / 2).max(1)))
}

/// An engine whose reads need a permit, for use by streams.
#[derive(Clone)]
pub(crate) struct ThrottledReader<E> {
    pub(crate) engine: E,
    pub(crate) permits: Arc<Semaphore>,
}

impl<E: Engine> Engine for ThrottledReader<E> {
    async fn invoke(&self, scope: &str, caller: &Caller, request: &[u8]) -> Result<Reply, Failure> {
        let _permit = self.permits.acquire().await;
        self.engine.invoke(scope, caller, request).await
    }

    async fn position(&self, scope: &str) -> u64 {
        let _permit = self.permits.acquire().await;
        self.engine.position(scope).await
    }

    async fn wait_for_change(&self, scope: &str, seen: u64, at_most: Duration) -> Woken {
        self.engine.wait_for_change(scope, seen, at_most).await
    }

    async fn ids(
        &self,
        kind: ScopeKind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, Failure> {
        self.engine.ids(kind, after, limit).await
    }

    fn failure(&self) -> Option<&'static str> {
        self.engine.failure()
    }

    fn now(&self) -> Timestamp {
        self.engine.now()
    }

    fn monotonic_micros(&self) -> u64 {
        self.engine.monotonic_micros()
    }
}
