//! The rules in this process itself, in place of the WebAssembly component: what the
//! library is without the feature `wasm`.
//!
//! It serves for a first look, because it needs no compiler for WebAssembly. Answers and
//! storage are the same as the component's. Invariants: a panic in the rules fails its
//! request alone. Time and memory of a request are not limited.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use shared_context_core::{
    audit,
    port::{
        Bucket, Change, CommitError, Kv, KvError, Log, Ports, ReadError, Revision, Row, Tokenizer,
    },
};

use crate::{
    Caller, ComponentOptions, Failure, Host, Reply, StartError, failures,
    host::AnyKv,
    slots::{Slot, Slots},
};

/// The rules, under the name of what stands here with the feature `wasm`. Clones share
/// their slots.
#[derive(Debug, Clone)]
pub struct Component {
    slots: Arc<Slots>,
}

/// The rules for one request.
#[derive(Debug)]
pub struct Instance {
    host: Host,
    _slot: Slot,
}

impl Component {
    /// Prepares the rules. Of `options` it uses the number of concurrent requests.
    ///
    /// # Errors
    ///
    /// None.
    pub fn new(options: &ComponentOptions) -> Result<Self, StartError> {
        let instances = usize::try_from(options.instances_max.max(1)).unwrap_or(usize::MAX);
        Ok(Self { slots: Arc::new(Slots::new(instances, instances.div_ceil(2))) })
    }

    /// Performs one request of the JSON tool on `scope` (`session/{id}`).
    ///
    /// # Errors
    ///
    /// The tool's errors; `INTERNAL` if the rules panicked.
    pub fn invoke(
        &self,
        host: &Host,
        scope: &str,
        caller: &Caller,
        request: &[u8],
    ) -> Result<Reply, Failure> {
        let slot = self.slots.take(Some(scope.into()));
        self.instance_in(slot, host)?.invoke(scope, caller, request)
    }

    /// Removes the expired entries of `scope`. Returns the time of the next expiry, or an
    /// earlier one, in milliseconds since the epoch.
    ///
    /// # Errors
    ///
    /// The tool's errors; `INTERNAL` if the rules panicked.
    pub fn wake(&self, host: &Host, scope: &str) -> Result<Option<u64>, Failure> {
        let slot = self.slots.take(Some(scope.into()));
        self.instance_in(slot, host)?.wake(scope)
    }

    pub(crate) async fn wait_for_slot(&self, scope: &str) -> Slot {
        self.slots.wait(Some(scope.into())).await
    }

    #[expect(
        clippy::unnecessary_wraps,
        clippy::unused_self,
        reason = "the same signature as the component's"
    )]
    pub(crate) fn instance_in(&self, slot: Slot, host: &Host) -> Result<Instance, Failure> {
        Ok(Instance { host: host.clone(), _slot: slot })
    }
}

impl Instance {
    /// Does what [`Component::invoke`] does.
    ///
    /// # Errors
    ///
    /// As for [`Component::invoke`].
    pub fn invoke(
        &mut self,
        scope: &str,
        caller: &Caller,
        request: &[u8],
    ) -> Result<Reply, Failure> {
        self.run(|ports| shared_context_codec::invoke(ports, scope, caller, request))
    }

    /// Does what [`Component::wake`] does.
    ///
    /// # Errors
    ///
    /// As for [`Component::wake`].
    pub fn wake(&mut self, scope: &str) -> Result<Option<u64>, Failure> {
        self.run(|ports| shared_context_codec::wake(ports, scope))
    }

    fn run<T>(&self, run: impl FnOnce(&HostPorts<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
        let Host { kv, clock, log, tokenizer } = &self.host;
        let (kv, log) = (Storage(&**kv), Records(&**log));
        let ports = Ports { kv: &kv, clock: &&**clock, log: &log, tokenizer: &&**tokenizer };
        catch_unwind(AssertUnwindSafe(|| run(&ports))).unwrap_or_else(|_| {
            if let Some(suppressed) = failures::admit("a panic in the rules") {
                tracing::error!(suppressed, "a request was stopped by a panic, reported above");
            }
            Err(Failure::new(
                "INTERNAL",
                "the request failed inside the rules; whether its change was made is not known: \
                 read before you try again, and report it to the operator if it happens twice",
            ))
        })
    }
}

type HostPorts<'a> = Ports<
    'a,
    Storage<'a>,
    &'a (dyn shared_context_core::port::Clock + Send + Sync),
    Records<'a>,
    &'a (dyn Tokenizer + Send + Sync),
>;

/// The host's storage. It logs every failure, whose text goes no further.
struct Storage<'a>(&'a dyn AnyKv);

struct LoggedBucket(Box<dyn Bucket + Send>);

impl Kv for Storage<'_> {
    type Bucket = LoggedBucket;

    fn open(&self, name: &str) -> Result<LoggedBucket, KvError> {
        self.0.open(name).map(LoggedBucket).inspect_err(failures::storage_failure)
    }
}

impl Bucket for LoggedBucket {
    fn revision(&self) -> Revision {
        self.0.revision()
    }

    fn get(&self, row: &str) -> Result<Option<Vec<u8>>, ReadError> {
        self.0.get(row).inspect_err(log_read)
    }

    fn scan(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<Row>, ReadError> {
        self.0.scan(prefix, after, limit).inspect_err(log_read)
    }

    fn commit(
        &mut self,
        expected: Revision,
        changes: Vec<Change>,
    ) -> Result<Revision, CommitError> {
        self.0.commit(expected, changes).inspect_err(|error| match error {
            CommitError::Conflict => {}
            CommitError::Unchanged(error) | CommitError::Failed(error) => {
                failures::storage_failure(error);
            }
        })
    }
}

fn log_read(error: &ReadError) {
    if let ReadError::Failed(error) = error {
        failures::storage_failure(error);
    }
}

/// The host's audit log.
struct Records<'a>(&'a (dyn crate::AuditLog + Send + Sync));

impl Log for Records<'_> {
    fn record(&self, done: &audit::AuditRecord) {
        self.0.record(done.scope.kind(), done.scope.id(), &done.into());
    }
}
