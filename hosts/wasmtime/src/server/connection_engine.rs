//! The engine for requests of one connection. While a request waits for a change, its
//! connection is a listener, which may be asked to end in favour of another.

use std::{sync::Arc, time::Duration};

use shared_context_core::{ScopeKind, time::Timestamp};
use shared_context_wire::{EntryReads, Woken};

use super::connection_slots::ConnectionSlot;
use crate::{Caller, Engine, Failure, Reply};

/// An engine that tracks the waits of one connection.
#[derive(Clone)]
pub(crate) struct ConnectionEngine {
    pub(super) engine: Engine,
    pub(super) slot: Arc<ConnectionSlot>,
}

impl shared_context_wire::Engine for ConnectionEngine {
    async fn invoke(&self, scope: &str, caller: &Caller, request: &[u8]) -> Result<Reply, Failure> {
        self.engine.invoke(scope, caller, request).await
    }

    async fn position(&self, scope: &str) -> u64 {
        self.engine.position(scope).await
    }

    async fn wait_for_change(&self, scope: &str, seen: u64, at_most: Duration) -> Woken {
        self.slot.start_listening(scope);
        let woken = tokio::select! {
            biased;
            () = self.slot.must_end_stream() => Woken::Stopping,
            woken = self.engine.wait_for_change(scope, seen, at_most) => woken,
        };
        if woken == Woken::Changed {
            self.slot.note_change();
        }
        woken
    }

    async fn ids(
        &self,
        kind: ScopeKind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, Failure> {
        self.engine.ids(kind, after, limit).await
    }

    fn entry_reads(&self) -> Option<EntryReads> {
        self.engine.entry_reads()
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
