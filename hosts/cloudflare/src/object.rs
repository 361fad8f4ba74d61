//! The Durable Object of one session's bucket, as seen by the wire.
//!
//! Requests are performed without waiting, over the object's own database. Other modules
//! do HTTP (`exchange`), the platform's calls (`boundary`) and the rules (the core).
//!
//! # Invariants
//!
//! - A bucket is entered in the directory before its first commit and removed after the
//!   commit that left it without rows. These two steps never overlap.
//! - A deleted bucket leaves an empty database and no alarm. If that fails, the alarm
//!   retries it later.
//! - Waiting clients and the log see a change only once it is durable.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::Duration,
};

use futures_util::lock::Mutex;
use shared_context_codec::{
    Caller, Failure, Reply,
    maintenance::{has_more, is_over, maintain_request, next_maintenance_ms},
};
use shared_context_core::{
    Error, Scope, ScopeKind,
    audit::AuditRecord,
    port::{Clock, KvError, Log, NoTokenizer, Ports},
    time::Timestamp,
};
use shared_context_wire::Woken;

use crate::{
    directory::DirectoryClient,
    exchange::maintains_daily,
    hub::Notifier,
    js::{self, Storage},
    kv::ObjectKv,
    log,
    remote::BucketClient,
    sockets::Sockets,
};

/// The delay before a failed cleanup or alarm is retried.
const RETRY: Duration = Duration::from_secs(30);

/// A Durable Object in memory.
pub(crate) struct Object {
    /// The scope whose bucket it stores.
    scope: Scope,
    /// The bucket's name.
    name: String,
    storage: Storage,
    kv: ObjectKv<Storage>,
    pub(crate) directory: DirectoryClient,
    /// The objects of other buckets.
    pub(crate) others: BucketClient,
    notifier: Notifier,
    pub(crate) sockets: Sockets,
    /// The time for which this instance has set the alarm.
    alarm: Cell<Option<Timestamp>>,
    /// Held during changes of the directory.
    directory_lock: Mutex<()>,
}

/// The ports that the rules use here.
type ObjectPorts<'o> = Ports<'o, ObjectKv<Storage>, WorkerClock, Records, NoTokenizer>;

/// Rejects a request whose session or project id is invalid. The rules do so without
/// reading storage.
pub(crate) fn reject_invalid_session_id(
    scope: &str,
    caller: &Caller,
    request: &[u8],
) -> Result<Reply, Failure> {
    let ports: ObjectPorts<'_> = Ports {
        kv: &ObjectKv::new(Storage::unusable()),
        clock: &WorkerClock,
        log: &Records::default(),
        tokenizer: &NoTokenizer,
    };
    shared_context_codec::invoke(&ports, scope, caller, request)
}

impl Object {
    /// Creates the object of the bucket `scope`, over `storage`.
    pub(crate) fn new(
        scope: Scope,
        storage: Storage,
        directory: DirectoryClient,
        others: BucketClient,
        sockets: Sockets,
    ) -> Rc<Self> {
        let kv = ObjectKv::new(storage.handle());
        Rc::new(Self {
            name: scope.bucket_name(),
            scope,
            storage,
            kv,
            directory,
            others,
            notifier: Notifier::default(),
            sockets,
            alarm: Cell::default(),
            directory_lock: Mutex::new(()),
        })
    }

    /// Waits until all changes reported so far are durable.
    pub(crate) async fn settle(&self) -> Result<(), Failure> {
        self.storage.sync().await.map_err(unavailable)
    }

    /// Handles the alarm: clears a deleted bucket, removes the expired entries of a session and
    /// maintains a project.
    pub(crate) async fn wake(self: &Rc<Self>) {
        self.alarm.take();
        self.clear_away().await;
        if self.next_maintenance().is_some() {
            return self.maintain().await;
        }
        let scope = &self.name;
        let ask = |ports: &ObjectPorts<'_>| {
            shared_context_codec::wake(ports, scope).map(|next| (next, next))
        };
        match self.perform(ask).await {
            Ok(next) => self.set_alarm(next.map(Timestamp)),
            Err(failure) if failure.code == "SESSION_NOT_FOUND" => {}
            Err(_) => self.set_alarm(Some(later())),
        }
    }

    /// Maintains the project once. The next alarm is soon if there is more to do, and else a day
    /// later. A deleted or archived project gets none.
    async fn maintain(self: &Rc<Self>) {
        let (caller, request) = maintain_request();
        let next = match self.invoke(&self.name, &caller, request).await {
            Ok(reply) if has_more(&reply) => Some(js::now()),
            Ok(_) => self.next_maintenance(),
            Err(failure) if is_over(&failure.code) => None,
            Err(_) => Some(later()),
        };
        self.set_alarm(next);
    }

    /// Returns when the project is to be maintained next; `None` for never, and for a session.
    /// It is a fixed time of day, so that a new instance does not postpone it.
    fn next_maintenance(&self) -> Option<Timestamp> {
        let is_maintained = self.scope.kind() == ScopeKind::Project && maintains_daily();
        is_maintained.then(|| Timestamp(next_maintenance_ms(self.scope.id(), js::now().0)))
    }

    /// Performs `ask` on the bucket. It returns its answer and the time of the next
    /// expiry in milliseconds.
    async fn perform<T>(
        self: &Rc<Self>,
        ask: impl Fn(&ObjectPorts<'_>) -> Result<(T, Option<u64>), Failure>,
    ) -> Result<T, Failure> {
        let answer = self.attempt(&ask);
        if !self.kv.take_needs_directory() {
            return answer;
        }
        let _lock = self.directory_lock.lock().await;
        let begins_after = self.directory.enter(&self.scope).await.map_err(|error| {
            log::failure(&error);
            Failure::new(
                "STORAGE_UNAVAILABLE",
                "the directory does not answer, nothing was changed; try again soon",
            )
        })?;
        self.kv.begin_after(begins_after);
        let answer = self.attempt(&ask);
        self.kv.forbid_begin();
        answer
    }

    fn attempt<T>(
        self: &Rc<Self>,
        ask: impl Fn(&ObjectPorts<'_>) -> Result<(T, Option<u64>), Failure>,
    ) -> Result<T, Failure> {
        let records = Records::default();
        let ports =
            Ports { kv: &self.kv, clock: &WorkerClock, log: &records, tokenizer: &NoTokenizer };
        let answer = ask(&ports);
        if let Some(error) = self.kv.take_failure() {
            log::failure(&error);
            // A commit may have happened without the steps that follow one.
            self.set_alarm(Some(later()));
        }
        if self.kv.take_committed() {
            if let Ok((_, Some(next_expiry_ms))) = &answer {
                self.set_alarm(Some(Timestamp(*next_expiry_ms)));
            }
            if answer.is_ok() && !self.is_left_over() {
                self.set_alarm(self.next_maintenance());
            }
            self.changed(records.0.into_inner());
        }
        answer.map(|(answer, _)| answer)
    }

    /// Takes the steps that follow a commit: cleanup, notifications, and the log of its
    /// audit `records`.
    fn changed(self: &Rc<Self>, records: Vec<AuditRecord>) {
        if self.is_left_over() {
            // Takes effect together with the commit, so the cleanup is certain to happen.
            self.set_alarm(Some(later()));
            let object = Rc::clone(self);
            js::spawn(async move { object.clear_away().await });
        }
        self.notifier.notify();
        let object = Rc::clone(self);
        js::spawn(async move {
            if object.settle().await.is_ok() {
                records.iter().for_each(log::record);
                object.update_sockets().await;
            }
        });
    }

    /// Sends new changes on all open web sockets.
    pub(crate) async fn update_sockets(self: &Rc<Self>) {
        if !self.sockets.is_empty() {
            self.sockets.send_changes(self).await;
        }
    }

    /// Returns true if this is the object of the bucket `scope`.
    pub(crate) fn stores(&self, scope: &str) -> bool {
        self.name == scope
    }

    /// Implements [`Engine::invoke`](shared_context_wire::Engine::invoke).
    pub(crate) async fn invoke(
        self: &Rc<Self>,
        scope: &str,
        caller: &Caller,
        request: &[u8],
    ) -> Result<Reply, Failure> {
        if !self.stores(scope) {
            return Err(Failure::new("INTERNAL", "the request came to another object"));
        }
        let ask = |ports: &ObjectPorts<'_>| {
            let reply = shared_context_codec::invoke(ports, scope, caller, request)?;
            let next_expiry_ms = reply.next_expiry_ms;
            Ok((reply, next_expiry_ms))
        };
        self.perform(ask).await
    }

    /// Implements [`Engine::position`](shared_context_wire::Engine::position).
    pub(crate) fn position(&self) -> u64 {
        // If storage fails here, the next read reports why.
        self.kv.revision().unwrap_or_default().0
    }

    /// Implements [`Engine::wait_for_change`](shared_context_wire::Engine::wait_for_change).
    pub(crate) async fn wait_for_change(&self, seen: u64, at_most: Duration) -> Woken {
        if self.kv.revision().is_ok_and(|it| it.0 <= seen) {
            self.notifier.wait(at_most).await
        } else {
            Woken::Changed
        }
    }

    /// Empties the storage of a deleted bucket and removes it from the directory.
    async fn clear_away(&self) {
        let _lock = self.directory_lock.lock().await;
        let Ok(revision) = self.kv.revision() else { return };
        if !self.is_left_over() {
            return;
        }
        if let Err(error) = self.directory.strike_out(&self.scope, revision).await {
            log::failure(&error);
            return self.set_alarm(Some(later()));
        }
        // Nothing was created meanwhile: creation needs the lock held here.
        let cleared = (self.storage.delete_alarm(), self.storage.delete_all());
        self.alarm.take();
        self.kv.note_emptied(revision);
        for failed in [cleared.0.await, cleared.1.await].into_iter().filter_map(Result::err) {
            log::failure(&failed);
        }
    }

    fn is_left_over(&self) -> bool {
        self.kv.is_left_over().unwrap_or_default()
    }

    /// Sets the alarm for `at`, unless it is set for an earlier time.
    fn set_alarm(&self, at: Option<Timestamp>) {
        let Some(at) = at else { return };
        if self.alarm.get().is_some_and(|set| set <= at) {
            return;
        }
        self.alarm.set(Some(at));
        let set = self.storage.set_alarm(at);
        js::spawn(async move {
            if let Err(error) = set.await {
                log::failure(&error);
            }
        });
    }
}

/// Logs a storage failure and returns the error for the client.
pub(crate) fn unavailable(error: KvError) -> Failure {
    log::failure(&error);
    Error::from(error).into()
}

/// Returns the error for a `request` whose reply was lost. If it may change something, the
/// error says that its outcome is unknown.
pub(crate) fn lost(request: &[u8], error: KvError) -> Failure {
    if !shared_context_codec::may_change(request) {
        return unavailable(error);
    }
    log::failure(&error);
    Error::InDoubt(error).into()
}

fn later() -> Timestamp {
    let retry = u64::try_from(RETRY.as_millis()).unwrap_or_default();
    Timestamp(js::now().0.saturating_add(retry))
}

/// The platform's clock.
struct WorkerClock;

impl Clock for WorkerClock {
    fn now(&self) -> Timestamp {
        js::now()
    }
}

/// The audit records of one attempt.
#[derive(Default)]
struct Records(RefCell<Vec<AuditRecord>>);

impl Log for Records {
    fn record(&self, record: &AuditRecord) {
        self.0.borrow_mut().push(record.clone());
    }
}
