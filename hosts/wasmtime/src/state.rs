//! The component's imports, from the [`Host`] of its request.
//!
//! Limits on time and memory are in `component`. Invariants:
//!
//! - The text of a storage error goes to the log and to the component, never to a caller.
//! - An audit record from the component is logged, unless it exceeds a limit or names
//!   another scope; then the error is logged.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use shared_context_core::{
    ScopeKind,
    port::{Bucket, Change, CommitError, KvError, ReadError, Revision},
};
use wasmtime::{
    ResourceLimiter, StoreLimits, bail,
    component::{Resource, ResourceTable, ResourceTableError},
};

use crate::{
    Caller, Failure, Host,
    bindings::{
        exports::shared_context::core::store,
        shared_context::core::{clock, kv, log, tokenizer, types},
    },
    failures::storage_failure,
    log::{AuditEntry, AuditRecord},
    options::{BUCKETS_MAX, RECORDS_MAX},
    slots::Slot,
};

/// The host's state for one instance of the component.
pub struct State {
    /// `None` between two requests.
    host: Option<Host>,
    buckets: ResourceTable,
    pub(crate) limits: Limits,
    pub(crate) meter: Meter,
    /// The processor slot of a request that computes for long.
    pub(crate) processor: Option<Slot>,
    /// The only bucket that the instance may open: the one its request is about.
    scope: Option<String>,
    /// The number of audit records so far.
    records: usize,
    /// True if a commit may have changed the bucket.
    pub(crate) has_committed: bool,
}

/// The limits of an instance, and the memory that it has.
pub(crate) struct Limits {
    limits: StoreLimits,
    memory_bytes: usize,
}

impl ResourceLimiter for Limits {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let may_grow = self.limits.memory_growing(current, desired, maximum)?;
        if may_grow {
            self.memory_bytes = desired;
        }
        Ok(may_grow)
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        self.limits.memory_grow_failed(error)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.limits.table_growing(current, desired, maximum)
    }

    fn table_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        self.limits.table_grow_failed(error)
    }

    fn instances(&self) -> usize {
        self.limits.instances()
    }

    fn tables(&self) -> usize {
        self.limits.tables()
    }

    fn memories(&self) -> usize {
        self.limits.memories()
    }
}

/// The meter of a request's time, in the host and in the component.
///
/// Computing time is the thread's CPU time, so neither a busy machine nor a suspended one
/// uses it up. The clock is first read at the first check: a request that ends earlier
/// makes no system call for it.
pub(crate) struct Meter {
    began: Instant,
    hosted: Duration,
    /// The thread's CPU time at the first check, plus all the host has used since.
    computing_from: Option<Duration>,
}

impl Meter {
    fn new() -> Self {
        Self { began: Instant::now(), hosted: Duration::ZERO, computing_from: None }
    }

    /// Returns the time since the request began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Returns the time that the host has worked for the request.
    pub(crate) fn hosted(&self) -> Duration {
        self.hosted
    }

    /// Returns the time that the component has computed since the first call of this.
    pub(crate) fn computed(&mut self) -> Duration {
        let now = thread_time();
        now.saturating_sub(*self.computing_from.get_or_insert(now))
    }

    /// Begins to count time for the host.
    fn pause(&self) -> (Instant, Duration) {
        (Instant::now(), self.computing_from.map_or(Duration::ZERO, |_| thread_time()))
    }

    /// Counts the time since `paused` for the host.
    fn resume(&mut self, paused: (Instant, Duration)) {
        let (began, from) = paused;
        self.hosted += began.elapsed();
        if let Some(computing_from) = &mut self.computing_from {
            *computing_from += thread_time().saturating_sub(from);
        }
    }
}

/// Returns the CPU time of this thread.
#[cfg(unix)]
fn thread_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// Returns the time since the first call, which stands in for the CPU time of this thread.
#[cfg(not(unix))]
fn thread_time() -> Duration {
    static BEGAN: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    BEGAN.elapsed()
}

/// A bucket that the component has open.
pub struct OpenBucket(Box<dyn Bucket + Send>);

impl State {
    pub(crate) fn new(host: Host, limits: StoreLimits) -> Self {
        let mut buckets = ResourceTable::new();
        buckets.set_max_capacity(BUCKETS_MAX);
        let meter = Meter::new();
        Self {
            host: Some(host),
            buckets,
            limits: Limits { limits, memory_bytes: 0 },
            meter,
            processor: None,
            scope: None,
            records: 0,
            has_committed: false,
        }
    }

    /// Lets the instance reach `host`, for the calls of one request.
    pub(crate) fn begin_request(&mut self, host: Host) {
        self.host = Some(host);
    }

    /// Takes away what the instance could reach.
    pub(crate) fn end_request(&mut self) {
        (self.host, self.scope) = (None, None);
    }

    /// Returns true if the instance has no bucket open, and at most `bytes_max` of memory.
    pub(crate) fn is_clean(&self, bytes_max: usize) -> bool {
        self.buckets.is_empty() && self.limits.memory_bytes <= bytes_max
    }

    fn host(&self) -> wasmtime::Result<&Host> {
        self.host.as_ref().ok_or_else(|| wasmtime::Error::msg("no request is under way"))
    }

    pub(crate) fn begin_call(&mut self, scope: Option<&str>) {
        self.scope = scope.map(str::to_owned);
        (self.meter, self.records, self.has_committed) = (Meter::new(), 0, false);
    }

    /// Runs `work` and counts its time for the host, not the component.
    fn work<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let began = self.meter.pause();
        let done = work(self);
        self.meter.resume(began);
        done
    }

    fn bucket(
        &mut self,
        bucket: &Resource<OpenBucket>,
    ) -> Result<&mut dyn Bucket, ResourceTableError> {
        Ok(&mut *self.buckets.get_mut(bucket)?.0)
    }
}

/// Logs a storage error and returns its text for the component.
fn reason(error: KvError) -> String {
    storage_failure(&error);
    error.0
}

/// Converts the outcome of a read for the component.
fn read<T>(outcome: Result<T, ReadError>) -> Result<T, kv::ReadError> {
    outcome.map_err(|error| match error {
        ReadError::Moved => kv::ReadError::Moved,
        ReadError::Failed(error) => kv::ReadError::Failed(reason(error)),
    })
}

impl kv::Host for State {
    fn open(&mut self, name: String) -> wasmtime::Result<Result<Resource<OpenBucket>, String>> {
        if *self.scope.get_or_insert_with(|| name.clone()) != name {
            bail!("it asked for a bucket that its request is not about");
        }
        let kv = Arc::clone(&self.host()?.kv);
        self.work(|state| match kv.open(&name) {
            Ok(bucket) => Ok(Ok(state.buckets.push(OpenBucket(bucket))?)),
            Err(error) => Ok(Err(reason(error))),
        })
    }
}

impl kv::HostBucket for State {
    fn revision(&mut self, bucket: Resource<OpenBucket>) -> wasmtime::Result<u64> {
        Ok(self.bucket(&bucket)?.revision().0)
    }

    fn get(
        &mut self,
        bucket: Resource<OpenBucket>,
        row: String,
    ) -> wasmtime::Result<Result<Option<Vec<u8>>, kv::ReadError>> {
        self.work(|state| Ok(read(state.bucket(&bucket)?.get(&row))))
    }

    fn scan(
        &mut self,
        bucket: Resource<OpenBucket>,
        prefix: String,
        after: Option<String>,
        limit: u32,
    ) -> wasmtime::Result<Result<Vec<kv::Row>, kv::ReadError>> {
        self.work(|state| Ok(read(state.bucket(&bucket)?.scan(&prefix, after.as_deref(), limit))))
    }

    fn commit(
        &mut self,
        bucket: Resource<OpenBucket>,
        expected: u64,
        changes: Vec<kv::Change>,
    ) -> wasmtime::Result<Result<u64, kv::CommitError>> {
        let change = |it| match it {
            kv::Change::Put((row, value)) => Change::Put(row, value),
            kv::Change::Delete(row) => Change::Delete(row),
            kv::Change::DeletePrefix(prefix) => Change::DeletePrefix(prefix),
        };
        let outcome = self.work(|state| -> Result<_, ResourceTableError> {
            let changes = changes.into_iter().map(change).collect();
            Ok(state.bucket(&bucket)?.commit(Revision(expected), changes))
        })?;
        let is_unchanged =
            matches!(outcome, Err(CommitError::Conflict | CommitError::Unchanged(_)));
        self.has_committed |= !is_unchanged;
        Ok(match outcome {
            Ok(revision) => Ok(revision.0),
            Err(CommitError::Conflict) => Err(kv::CommitError::Conflict),
            Err(CommitError::Unchanged(error)) => Err(kv::CommitError::Unchanged(reason(error))),
            Err(CommitError::Failed(error)) => Err(kv::CommitError::Failed(reason(error))),
        })
    }

    fn drop(&mut self, bucket: Resource<OpenBucket>) -> wasmtime::Result<()> {
        self.work(|state| state.buckets.delete(bucket).map(drop))?;
        Ok(())
    }
}

impl clock::Host for State {
    fn now_ms(&mut self) -> wasmtime::Result<u64> {
        Ok(self.host()?.clock.now().0)
    }
}

impl log::Host for State {
    fn audit(&mut self, scope: types::Scope, done: types::AuditRecord) -> wasmtime::Result<()> {
        self.records = self.records.saturating_add(1);
        let (kind, id) = match &scope {
            types::Scope::Session(id) => (ScopeKind::Session, id.as_str()),
            types::Scope::Project(id) => (ScopeKind::Project, id.as_str()),
        };
        // The change is committed, so a bad record must not fail the request.
        let wrong = match self.records {
            it if it == RECORDS_MAX.saturating_add(1) => "more audit records than one request has",
            it if it > RECORDS_MAX => return Ok(()),
            _ if self.scope.as_deref().and_then(ScopeKind::split) != Some((kind, id)) => {
                "a record of another session or project than it was asked about"
            }
            _ => {
                let log = Arc::clone(&self.host()?.log);
                self.work(|_| log.record(kind, id, &done.into()));
                return Ok(());
            }
        };
        tracing::error!(scope = self.scope, "the component reported {wrong}, which is left out");
        Ok(())
    }
}

impl tokenizer::Host for State {
    fn encodings(&mut self) -> wasmtime::Result<Vec<String>> {
        Ok(self.host()?.tokenizer.encodings())
    }

    fn count(&mut self, encoding: String, text: String) -> wasmtime::Result<Option<u32>> {
        let tokenizer = Arc::clone(&self.host()?.tokenizer);
        Ok(self.work(|_| tokenizer.count(&encoding, &text)))
    }
}

impl types::Host for State {}

impl Default for store::Condition {
    /// Returns the empty condition, which always holds.
    fn default() -> Self {
        Self { if_version: None, if_revision: None }
    }
}

impl Default for store::WriteOptions {
    /// Returns options that write the value unconditionally and set nothing else.
    fn default() -> Self {
        Self {
            if_version: None,
            if_revision: None,
            ttl_seconds: None,
            expires_at_ms: None,
            readable_by: None,
            writable_by: None,
            keeps_history: None,
        }
    }
}

impl From<types::AuditRecord> for AuditRecord {
    fn from(it: types::AuditRecord) -> Self {
        let types::AuditRecord {
            revision,
            action,
            participant,
            at_ms,
            entry,
            label,
            reason,
            round,
        } = it;
        let entry = entry.map(|types::AuditEntry { key, version, value_tokens }| AuditEntry {
            key,
            version,
            value_tokens,
        });
        Self { revision, action, participant, at_ms, entry, label, reason, round }
    }
}

impl From<&Caller> for types::Caller {
    fn from(it: &Caller) -> Self {
        let credential = it
            .credential
            .map(|it| types::Credential { incarnation: it.incarnation, epoch: it.epoch });
        let (participant, keys) = (it.participant.clone(), it.keys.clone());
        Self { participant, credential, keys, session: it.session.clone() }
    }
}

impl From<types::Error> for Failure {
    fn from(it: types::Error) -> Self {
        Self { code: it.code.into(), message: it.message, details: it.details }
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").finish_non_exhaustive()
    }
}

impl fmt::Debug for OpenBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenBucket").finish_non_exhaustive()
    }
}
