//! The server's engine: requests in, answers out when they are durable, and word
//! of changes to those who wait for one.
//!
//! Not here: HTTP, and the rules, which are in the component. Invariants:
//!
//! - A reply that tells of a change, and its audit record, come out when the
//!   change is on the disk. Meanwhile neither a thread nor an instance waits.
//! - The audit record of a change that happened comes out, whether or not the
//!   caller still waits for the reply, and when that said that it is not known.
//! - Changes of one bucket take turns; reads never wait for them.
//! - Who waits for a change hears of it when it is on the disk, and takes up
//!   neither a thread nor an instance meanwhile.
//!
//! The component runs on the thread that polls: it takes microseconds, and is
//! stopped after [`ComponentOptions::time_max`](crate::ComponentOptions::time_max).
//! Where it takes longer than 50 ms, another thread takes over what waits for this
//! one; on a runtime of one thread nobody can, and in a `LocalSet` it must not run.
//! Who finds no room for an instance waits without a thread. So does
//! reading; a page that is not in memory makes that thread wait for the disk once.

use std::{
    fmt,
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use shared_context_core::{
    Error, ScopeKind,
    port::{Bucket as _, Clock, CommitError, Kv as _, KvError},
    time::Timestamp,
};
use shared_context_wire::Woken;
use tokio::{sync::Semaphore, time::timeout};

use crate::{
    Caller, Component, Failure, Host, Instance, Reply, SqliteKv,
    alarm::Alarm,
    deferred::{Attempt, Said},
    failures,
    hub::Hub,
    log::{AuditLog, AuditRecord},
    onlooker,
    turn::Turns,
};

#[cfg(test)]
mod tests;
mod timer;

/// How many bytes of changes may wait for the disk at one time; who comes later waits
/// before it is looked at. The room that a body took while it arrived does not bound
/// them: it is given back when the client leaves, and the change goes on.
const CHANGES_BYTES_MAX: u32 = 64 << 20;
/// What a change takes of those at least, for what the rules write beside its request:
/// so that there are no more than 1024.
const CHANGE_BYTES_MIN: u32 = 64 << 10;
const _: () = assert!((CHANGES_BYTES_MAX / CHANGE_BYTES_MIN) as usize <= crate::sqlite::QUEUE_MAX);
/// How often a request is looked at anew because another commit came first. Only
/// a writer outside of this engine can be the cause.
const ATTEMPTS_MAX: u32 = 16;

/// Performs requests of the JSON tool over [`SqliteKv`]. Clones share it.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    component: Component,
    kv: SqliteKv,
    clock: Arc<dyn Clock + Send + Sync>,
    log: Arc<dyn AuditLog + Send + Sync>,
    turns: Arc<Turns>,
    /// A permit for each byte of the changes under way.
    changes: Arc<Semaphore>,
    hub: Arc<Hub>,
    onlookers: Arc<Semaphore>,
    alarm: Alarm,
    started: Instant,
}

impl Engine {
    /// Creates an engine of these parts.
    pub fn new(
        component: Component,
        kv: SqliteKv,
        clock: Arc<dyn Clock + Send + Sync>,
        log: Arc<dyn AuditLog + Send + Sync>,
    ) -> Self {
        let bytes_max = usize::try_from(CHANGES_BYTES_MAX).unwrap_or(Semaphore::MAX_PERMITS);
        let changes = Arc::new(Semaphore::new(bytes_max));
        let inner = Inner {
            component,
            kv,
            clock,
            log,
            turns: Arc::default(),
            changes,
            hub: Arc::default(),
            onlookers: onlooker::turns(),
            alarm: Alarm::default(),
            started: Instant::now(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns a permit for each stream that may read at one time.
    pub(crate) fn onlookers(&self) -> Arc<Semaphore> {
        Arc::clone(&self.inner.onlookers)
    }

    /// Ends all waits for changes; from now on nobody waits for one.
    pub fn end_waits(&self) {
        self.inner.hub.stop();
    }

    /// Lets the changes under way finish, begins no further ones and closes the
    /// storage.
    pub async fn close(&self) {
        // With every permit in hand no change is under way.
        let all = self.inner.changes.acquire_many(CHANGES_BYTES_MAX).await;
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
            let ask = |mut it: Instance| it.invoke(scope, caller, request);
            let (answer, said) = inner.attempt(scope, false, ask).await;
            if !said.wants_turn {
                return answer;
            }
        }
        let (inner, owned) = (Arc::clone(inner), scope.to_owned());
        let (caller, request) = (caller.clone(), request.to_owned());
        self.in_turn(scope, request.len(), async move {
            let ask = |mut it: Instance| it.invoke(&owned, &caller, &request);
            let answer = inner.change(&owned, ask).await;
            if let Ok(Reply { next_expiry_ms: Some(at), .. }) = answer {
                inner.alarm.set(&owned, Timestamp(at));
            }
            answer
        })
        .await
    }

    async fn position(&self, scope: &str) -> u64 {
        // If storage cannot tell, whoever reads next is told why.
        self.inner.kv.open(scope).map_or(0, |bucket| bucket.revision().0)
    }

    async fn wait_for_change(&self, scope: &str, seen: u64, at_most: Duration) -> Woken {
        let hub = &self.inner.hub;
        let listener = hub.listen(scope);
        let told = listener.told();
        // Looked at after listening began: a change is seen or heard of.
        let woken = if hub.is_stopping() || self.inner.has_changed(scope, seen) {
            Woken::Changed
        } else {
            timeout(at_most, told).await.map_or(Woken::TimeUp, |()| Woken::Changed)
        };
        if hub.is_stopping() { Woken::Stopping } else { woken }
    }

    async fn ids(
        &self,
        kind: ScopeKind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, Failure> {
        let after = kind.bucket_name(after.unwrap_or_default());
        let names = self.inner.kv.names(Some(&after), limit);
        let names = names.map_err(|it| failed(it, Error::Unread))?;
        let ids = names.iter().map_while(|it| it.strip_prefix(kind.prefix()));
        Ok(ids.map(str::to_owned).collect())
    }

    fn failure(&self) -> Option<&'static str> {
        self.inner.kv.failure()
    }

    fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    fn monotonic_micros(&self) -> u64 {
        u64::try_from(self.inner.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

impl Engine {
    /// Removes what has expired in `scope`; the next instant at which something
    /// expires.
    async fn wake(&self, scope: &str) -> Result<Option<u64>, Failure> {
        let (inner, owned) = (Arc::clone(&self.inner), scope.to_owned());
        let ask = move |mut it: Instance| it.wake(&owned);
        let (answer, said) = inner.attempt(scope, false, &ask).await;
        if !said.wants_turn {
            return answer;
        }
        let (inner, owned) = (Arc::clone(&self.inner), scope.to_owned());
        self.in_turn(scope, 0, async move { inner.change(&owned, ask).await }).await
    }

    /// Does `work`, which may change `scope` as a request of `bytes` says, when its turn
    /// has come.
    async fn in_turn<T: Send + 'static>(
        &self,
        scope: &str,
        bytes: usize,
        work: impl Future<Output = Result<T, Failure>> + Send + 'static,
    ) -> Result<T, Failure> {
        let turn = self.inner.turns.take(scope).await;
        let changes = Arc::clone(&self.inner.changes);
        let Ok(permit) = changes.acquire_many_owned(share(bytes)).await else {
            return Err(stopping());
        };
        // A task of its own: who hangs up must not stop what a commit started.
        let change = tokio::spawn(async move {
            let answer = work.await;
            drop((turn, permit));
            answer
        });
        let stopped = |_| in_doubt(KvError("the task was stopped".to_owned()));
        change.await.unwrap_or_else(|it| Err(stopped(it)))
    }
}

impl Inner {
    /// Lets the component look at what it is asked, as soon as there is room for it.
    async fn attempt<T>(
        &self,
        scope: &str,
        may_commit: bool,
        ask: impl FnOnce(Instance) -> Result<T, Failure>,
    ) -> (Result<T, Failure>, Said) {
        let room = self.component.room(scope).await;
        let attempt = Arc::new(Attempt::new(self.kv.clone(), may_commit));
        let host = Host::of(attempt.clone(), Arc::clone(&self.clock), attempt.clone());
        let answer = self.component.instance_in(room, &host).and_then(ask);
        (answer, attempt.take())
    }

    /// Asks what may change `scope`, to the end.
    async fn change<T>(
        self: &Arc<Self>,
        scope: &str,
        ask: impl Fn(Instance) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        for _ in 0..ATTEMPTS_MAX {
            let (answer, said) = self.attempt(scope, true, &ask).await;
            let Some(mut commit) = said.commit else { return answer };
            match commit.recv().await {
                Some(Ok(_)) => {
                    self.tell(scope, &said.records);
                    return answer;
                }
                Some(Err(CommitError::Conflict)) => {}
                Some(Err(CommitError::Unchanged(error))) => {
                    return Err(failed(error, Error::Unstored));
                }
                Some(Err(CommitError::Failed(error))) => {
                    let (inner, scope) = (Arc::clone(self), scope.to_owned());
                    tokio::spawn(async move {
                        if let Some(Ok(_)) = commit.recv().await {
                            inner.tell(&scope, &said.records);
                        }
                    });
                    return Err(in_doubt(error));
                }
                None => return Err(in_doubt(KvError("the storage was closed".to_owned()))),
            }
        }
        Err(Error::Overtaken.into())
    }

    /// Returns whether `scope` may be further than `seen`: if storage cannot tell, whoever
    /// reads next is told why.
    fn has_changed(&self, scope: &str, seen: u64) -> bool {
        !self.kv.open(scope).is_ok_and(|bucket| bucket.revision().0 <= seen)
    }

    /// Tells the log and those who wait for it of a change that was made.
    fn tell(&self, scope: &str, records: &[AuditRecord]) {
        if let Some((kind, id)) = ScopeKind::split(scope) {
            for record in records {
                self.log.record(kind, id, record);
            }
        }
        self.hub.tell(scope);
    }
}

/// Returns what a change that was asked for in `bytes` takes of [`CHANGES_BYTES_MAX`].
fn share(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX).clamp(CHANGE_BYTES_MIN, CHANGES_BYTES_MAX)
}

/// Returns the answer when storage failed, which is the one that `answer` makes of it; why is
/// for the log.
fn failed(error: KvError, answer: impl FnOnce(KvError) -> Error) -> Failure {
    failures::storage_failure(&error);
    answer(error).into()
}

/// Returns the answer when it is not known whether a change was made.
fn in_doubt(error: KvError) -> Failure {
    failed(error, Error::InDoubt)
}

/// Returns the answer when a change was not begun.
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
