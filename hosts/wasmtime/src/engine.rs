//! The server's engine: requests in, answers out when they are durable.
//!
//! Not here: HTTP, and the rules, which are in the component. Invariants:
//!
//! - A reply that tells of a change, and its audit record, come out when the
//!   change is on the disk. Meanwhile neither a thread nor an instance waits.
//! - The audit record of a change that happened comes out, whether or not the
//!   caller still waits for the reply.
//! - Changes of one bucket take turns; reads never wait for them.
//!
//! The component runs on the thread that polls: it takes microseconds, and at
//! most [`ComponentOptions::time_max`](crate::ComponentOptions::time_max) before
//! it is stopped. So does reading; a page that is not in memory makes that
//! thread wait for the disk once.

use std::{fmt, sync::Arc, time::Instant};

use shared_context_core::{
    Error,
    audit::AuditRecord,
    port::{Clock, CommitError, KvError, Log},
    time::Timestamp,
};
use tokio::sync::Semaphore;

use crate::{
    Caller, Component, Failure, Host, Reply, SqliteKv,
    deferred::{Attempt, Said},
    turn::{Turn, Turns},
};

#[cfg(test)]
mod tests;

/// How many changes may wait for the disk at one time; who comes later waits
/// before it is looked at.
const CHANGES_MAX: u32 = 1024;
/// How often a request is looked at anew because another commit came first. Only
/// a writer outside of this engine can be the cause.
const ATTEMPTS_MAX: u32 = 16;
/// Where the sessions are among the buckets.
const SESSIONS: &str = "session/";

/// Performs requests of the JSON tool over [`SqliteKv`]. Clones share it.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    component: Component,
    kv: SqliteKv,
    clock: Arc<dyn Clock + Send + Sync>,
    log: Arc<dyn Log + Send + Sync>,
    turns: Arc<Turns>,
    /// One permit for each change under way.
    changes: Arc<Semaphore>,
    started: Instant,
}

impl Engine {
    /// An engine of these parts.
    pub fn new(
        component: Component,
        kv: SqliteKv,
        clock: Arc<dyn Clock + Send + Sync>,
        log: Arc<dyn Log + Send + Sync>,
    ) -> Self {
        let changes = Arc::new(Semaphore::new(usize::try_from(CHANGES_MAX).unwrap_or(1)));
        let (turns, started) = (Arc::default(), Instant::now());
        Self { inner: Arc::new(Inner { component, kv, clock, log, turns, changes, started }) }
    }

    /// Lets the changes under way finish, begins no further ones and closes the
    /// storage.
    pub async fn close(&self) {
        // With every permit in hand no change is under way.
        let all = self.inner.changes.acquire_many(CHANGES_MAX).await;
        self.inner.changes.close();
        drop(all);
        let kv = self.inner.kv.clone();
        drop(tokio::task::spawn_blocking(move || kv.close()).await);
    }
}

impl shared_context_wire::Engine for Engine {
    /// Dropping the future leaves a change that has begun to itself: it finishes,
    /// and is recorded.
    async fn invoke(&self, scope: &str, caller: &Caller, request: &[u8]) -> Result<Reply, Failure> {
        let inner = &self.inner;
        if !shared_context_codec::may_change(request) {
            let (answer, said) = inner.attempt(scope, caller, request, false);
            if !said.wants_turn {
                return answer;
            }
        }
        let turn = inner.turns.take(scope).await;
        let Ok(permit) = Arc::clone(&inner.changes).acquire_owned().await else {
            return Err(stopping());
        };
        let (inner, scope) = (Arc::clone(inner), scope.to_owned());
        let (caller, request) = (caller.clone(), request.to_owned());
        // A task of its own: who hangs up must not stop what a commit started.
        let change = tokio::spawn(async move {
            let answer = inner.change(&scope, &caller, &request, turn).await;
            drop(permit);
            answer
        });
        change.await.unwrap_or_else(|_| Err(failed(KvError("the task was stopped".to_owned()))))
    }

    async fn sessions(&self, after: Option<&str>, limit: usize) -> Result<Vec<String>, Failure> {
        let after = format!("{SESSIONS}{}", after.unwrap_or_default());
        let names = self.inner.kv.names(Some(&after), limit).map_err(failed)?;
        Ok(names.iter().map_while(|it| it.strip_prefix(SESSIONS)).map(str::to_owned).collect())
    }

    fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    fn monotonic_micros(&self) -> u64 {
        u64::try_from(self.inner.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

impl Inner {
    /// Lets the component look at a request.
    fn attempt(
        &self,
        scope: &str,
        caller: &Caller,
        request: &[u8],
        may_commit: bool,
    ) -> (Result<Reply, Failure>, Said) {
        let attempt = Arc::new(Attempt::new(self.kv.clone(), may_commit));
        let host = Host::of(attempt.clone(), Arc::clone(&self.clock), attempt.clone());
        let answer = self.component.invoke(&host, scope, caller, request);
        (answer, attempt.take())
    }

    /// Performs a request that may change something, to the end.
    async fn change(
        &self,
        scope: &str,
        caller: &Caller,
        request: &[u8],
        _turn: Turn,
    ) -> Result<Reply, Failure> {
        for _ in 0..ATTEMPTS_MAX {
            let (answer, said) = self.attempt(scope, caller, request, true);
            let Some(commit) = said.commit else { return answer };
            match commit.await {
                Ok(Ok(_)) => {
                    self.tell(&said.records);
                    return answer;
                }
                Ok(Err(CommitError::Conflict)) => {}
                Ok(Err(CommitError::Failed(error))) => return Err(failed(error)),
                Err(_) => return Err(failed(KvError("the storage was closed".to_owned()))),
            }
        }
        Err(failed(KvError("too many conflicts in a row".to_owned())))
    }

    fn tell(&self, records: &[AuditRecord]) {
        for record in records {
            self.log.record(record);
        }
    }
}

/// The answer when storage failed; why is for the log.
fn failed(error: KvError) -> Failure {
    tracing::error!(target: "shared_context::storage", reason = error.0, "storage failed");
    Error::from(error).into()
}

/// The answer when a change was not begun.
fn stopping() -> Failure {
    Failure::new(
        "STORAGE_UNAVAILABLE",
        "the server is stopping, nothing was changed; try again soon",
    )
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}
