//! The server's engine: performs requests, replies when their changes are durable, and
//! notifies those who wait for a change.
//!
//! HTTP is in `server`; the rules are in the component. Invariants:
//!
//! - The reply to a change, and its audit record, are released when the change is on the
//!   disk. Neither a thread nor an instance waits meanwhile.
//! - Every committed change is recorded in the audit log, even if the caller has left, or
//!   was told that the outcome is in doubt.
//! - Changes of one bucket are serialized; reads never wait for them.
//! - A read returns what is in the database when it is performed, also where its reply was kept
//!   (`answers`).
//! - A client that waits for a change is notified when the change is on the disk, and uses
//!   neither a thread nor an instance meanwhile.
//!
//! The component runs on the polling thread: it takes microseconds, and is stopped after
//! [`ComponentOptions::time_max`](crate::ComponentOptions::time_max). If it takes longer
//! than a tick (2 ms), another thread takes over the tasks that wait for this one. A runtime with
//! one thread cannot do that, and in a `LocalSet` the engine must not run. Waiting for an
//! instance blocks no thread. Reads run on the polling thread too; a page that is not in
//! memory blocks it for one disk access.

use std::{
    fmt,
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use shared_context_codec::{RequestKind, kind_of};
use shared_context_core::{
    Error, ScopeKind,
    port::{Bucket as _, Clock, CommitError, Kv as _, KvError},
    time::Timestamp,
};
use shared_context_wire::{EntryReads, Woken};
use tokio::{sync::Semaphore, time::timeout};

use self::answers::{Answers, Question};
use crate::{
    Caller, Component, Failure, Host, Instance, Reply, SqliteKv,
    alarm::Alarm,
    deferred::{Attempt, Effects},
    failures,
    log::{AuditLog, AuditRecord},
    notifier::Notifier,
    slots::Slot,
    sqlite::NextExpiry,
    throttled_reader,
    write_lock::WriteLocks,
};

mod answers;
mod maintenance;
#[cfg(test)]
mod tests;
mod timer;

/// The limit on the bytes of changes under way; later changes wait before they are looked
/// at. The memory limit of request bodies does not cover them: it is released when the
/// client leaves, while the change goes on.
const CHANGES_BYTES_MAX: u32 = 64 << 20;
/// The minimum share of a change, for the rows it writes besides its request. It limits the
/// changes under way to 1024.
const CHANGE_BYTES_MIN: u32 = 64 << 10;
const _: () = assert!((CHANGES_BYTES_MAX / CHANGE_BYTES_MIN) as usize <= crate::sqlite::QUEUE_MAX);
/// How many times a change is retried because another commit came first. Only a writer
/// outside this engine can cause that.
const ATTEMPTS_MAX: u32 = 16;

/// The engine that performs requests of the JSON tool over [`SqliteKv`]. Clones share it.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    component: Component,
    kv: SqliteKv,
    clock: Arc<dyn Clock + Send + Sync>,
    log: Arc<dyn AuditLog + Send + Sync>,
    write_locks: Arc<WriteLocks>,
    /// One permit for each byte of the changes under way.
    changes: Arc<Semaphore>,
    notifier: Arc<Notifier>,
    read_permits: Arc<Semaphore>,
    alarm: Alarm,
    answers: Answers,
    started: Instant,
}

impl Engine {
    /// Creates an engine.
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
            write_locks: Arc::default(),
            changes,
            notifier: Arc::default(),
            read_permits: throttled_reader::read_permits(),
            alarm: Alarm::default(),
            answers: Answers::default(),
            started: Instant::now(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns one permit for each stream that may read at the same time.
    pub(crate) fn read_permits(&self) -> Arc<Semaphore> {
        Arc::clone(&self.inner.read_permits)
    }

    /// Ends all waits for changes, and makes all later ones end at once.
    pub fn end_waits(&self) {
        self.inner.notifier.stop();
    }

    /// Finishes the changes under way, rejects further ones and closes the storage.
    pub async fn close(&self) {
        // When all permits are taken, no change is under way.
        let all = self.inner.changes.acquire_many(CHANGES_BYTES_MAX).await;
        self.inner.changes.close();
        drop(all);
        let kv = self.inner.kv.clone();
        drop(tokio::task::spawn_blocking(move || kv.close()).await);
    }
}

impl shared_context_wire::Engine for Engine {
    /// Performs a request. A change that has begun is finished and recorded even if the
    /// future is dropped.
    async fn invoke(&self, scope: &str, caller: &Caller, request: &[u8]) -> Result<Reply, Failure> {
        let inner = &self.inner;
        let kind = kind_of(request);
        if kind != RequestKind::Change
            && let Some(answer) = inner.read(scope, caller, request, kind).await
        {
            return answer;
        }
        let (inner, owned) = (Arc::clone(inner), scope.to_owned());
        let (caller, request) = (caller.clone(), request.to_owned());
        self.with_write_lock(scope, request.len(), async move {
            let ask = |mut it: Instance| {
                let reply = it.invoke(&owned, &caller, &request)?;
                Ok((reply.next_expiry_ms.map(Timestamp), reply))
            };
            let (next_expiry, reply) = inner.change(&owned, ask).await?;
            if let Some(at) = next_expiry {
                inner.alarm.set(at);
            }
            Ok(reply)
        })
        .await
    }

    async fn position(&self, scope: &str) -> u64 {
        // If storage fails here, the next read returns the error.
        self.inner.kv.open(scope).map_or(0, |bucket| bucket.revision().0)
    }

    async fn wait_for_change(&self, scope: &str, seen: u64, at_most: Duration) -> Woken {
        let notifier = &self.inner.notifier;
        let listener = notifier.listen(scope);
        let notified = listener.notified();
        // Checked after subscribing, so no change is missed in between.
        let woken = if notifier.is_stopping() || self.inner.has_changed(scope, seen) {
            Woken::Changed
        } else {
            timeout(at_most, notified).await.map_or(Woken::TimeUp, |()| Woken::Changed)
        };
        if notifier.is_stopping() { Woken::Stopping } else { woken }
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

    fn entry_reads(&self) -> Option<EntryReads> {
        Some(self.inner.answers.counts())
    }

    fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    fn monotonic_micros(&self) -> u64 {
        u64::try_from(self.inner.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

impl Engine {
    /// Runs `work`, which may change `scope`, with the write lock of `scope`. `bytes` is
    /// the size of the request.
    async fn with_write_lock<T: Send + 'static>(
        &self,
        scope: &str,
        bytes: usize,
        work: impl Future<Output = Result<T, Failure>> + Send + 'static,
    ) -> Result<T, Failure> {
        let lock = self.inner.write_locks.lock(scope).await;
        let changes = Arc::clone(&self.inner.changes);
        let Ok(permit) = changes.acquire_many_owned(share(bytes)).await else {
            return Err(stopping());
        };
        // A separate task: a client that disconnects must not stop a change under way.
        let change = tokio::spawn(async move {
            let answer = work.await;
            drop((lock, permit));
            answer
        });
        let stopped = |_| in_doubt(KvError("the task was stopped".to_owned()));
        change.await.unwrap_or_else(|it| Err(stopped(it)))
    }
}

impl Inner {
    /// Performs a request that reads. Returns `None` if it must change something first, as when an
    /// entry has expired.
    async fn read(
        &self,
        scope: &str,
        caller: &Caller,
        request: &[u8],
        kind: RequestKind,
    ) -> Option<Result<Reply, Failure>> {
        let slot = self.component.wait_for_slot(scope).await;
        let attempt = Arc::new(Attempt::new(self.kv.clone(), false));
        let lasts = kind == RequestKind::ReadEntries;
        // If storage fails here, the attempt returns the error.
        let revision = if lasts { attempt.open_early(scope).ok() } else { None };
        let question = revision.map(|revision| {
            let question = Question { scope, revision, caller, request };
            (self.answers.hash(&question), question)
        });
        let kept = |(hash, it)| self.answers.find(hash, &it, self.clock.now());
        if let Some(reply) = question.and_then(kept) {
            return Some(Ok(reply));
        }
        let ask = |mut it: Instance| it.invoke(scope, caller, request);
        let (answer, effects) = self.run(slot, &attempt, ask);
        if effects.needs_write_lock {
            return None;
        }
        if let (Some((hash, question)), Ok(reply)) = (&question, &answer) {
            self.answers.keep(*hash, question, reply, self.clock.now());
        }
        Some(answer)
    }

    /// Runs one attempt in a new instance, as soon as there is a slot. Returns its answer
    /// and its effects.
    async fn attempt<T>(
        &self,
        scope: &str,
        may_commit: bool,
        ask: impl FnOnce(Instance) -> Result<T, Failure>,
    ) -> (Result<T, Failure>, Effects) {
        let slot = self.component.wait_for_slot(scope).await;
        self.run(slot, &Arc::new(Attempt::new(self.kv.clone(), may_commit)), ask)
    }

    /// Runs `attempt` in an instance in `slot`. Returns its answer and its effects.
    fn run<T>(
        &self,
        slot: Slot,
        attempt: &Arc<Attempt>,
        ask: impl FnOnce(Instance) -> Result<T, Failure>,
    ) -> (Result<T, Failure>, Effects) {
        let host = Host::of(attempt.clone(), Arc::clone(&self.clock), attempt.clone());
        let answer = self.component.instance_in(slot, &host).and_then(ask);
        (answer, attempt.take())
    }

    /// Performs a request that may change `scope`, and waits for its commit. `ask` returns the
    /// next expiry of `scope` besides its answer.
    async fn change<T>(
        self: &Arc<Self>,
        scope: &str,
        ask: impl Fn(Instance) -> Result<(Option<Timestamp>, T), Failure>,
    ) -> Result<(Option<Timestamp>, T), Failure> {
        for _ in 0..ATTEMPTS_MAX {
            let (answer, effects) = self.attempt(scope, true, &ask).await;
            let Some(commit) = effects.commit else { return answer };
            let next = answer.as_ref().map_or(NextExpiry::Unknown, |it| NextExpiry::Known(it.0));
            let mut commit = commit.submit(&self.kv, next);
            match commit.recv().await {
                Some(Ok(_)) => {
                    self.report_change(scope, &effects.records);
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
                            inner.report_change(&scope, &effects.records);
                        }
                    });
                    return Err(in_doubt(error));
                }
                None => return Err(in_doubt(KvError("the storage was closed".to_owned()))),
            }
        }
        Err(Error::Overtaken.into())
    }

    /// Returns true if `scope` may have changed since revision `seen`. If storage fails,
    /// the next read returns the error.
    fn has_changed(&self, scope: &str, seen: u64) -> bool {
        !self.kv.open(scope).is_ok_and(|bucket| bucket.revision().0 <= seen)
    }

    /// Logs a committed change and notifies those who wait for it.
    fn report_change(&self, scope: &str, records: &[AuditRecord]) {
        if let Some((kind, id)) = ScopeKind::split(scope) {
            for record in records {
                self.log.record(kind, id, record);
            }
        }
        self.notifier.notify(scope);
    }
}

/// Returns the share of [`CHANGES_BYTES_MAX`] for a request of `bytes`.
fn share(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX).clamp(CHANGE_BYTES_MIN, CHANGES_BYTES_MAX)
}

/// Logs a storage error and returns its failure: `answer` without the reason.
fn failed(error: KvError, answer: impl FnOnce(KvError) -> Error) -> Failure {
    failures::storage_failure(&error);
    answer(error).into()
}

/// Returns the failure of a change whose outcome is in doubt.
fn in_doubt(error: KvError) -> Failure {
    failed(error, Error::InDoubt)
}

/// Returns the failure of a change that was not begun because the server stops.
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
