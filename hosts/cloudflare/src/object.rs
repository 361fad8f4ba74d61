//! The Durable Object of one bucket: a session's, as seen by the wire.
//!
//! What asks is performed at once, over the object's own database. Not here: HTTP
//! (`exchange`), what the platform calls (`boundary`), the rules.
//!
//! # Invariants
//!
//! - A bucket is entered in the directory before its first commit, and struck out
//!   after the one that left it without rows; one after the other, never both at
//!   once.
//! - What was deleted leaves an empty database and no alarm. If that cannot be
//!   done at once, the alarm does it later.
//! - Who waits for a change, and the log, hear of it when it is durable.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::Duration,
};

use futures_util::lock::Mutex;
use shared_context_codec::{Caller, Failure, Reply};
use shared_context_core::{
    Error, Scope,
    audit::AuditRecord,
    port::{Clock, KvError, Log, NoTokenizer, Ports},
    time::Timestamp,
};
use shared_context_wire::Woken;

use crate::{
    directory::FarDirectory,
    hub::Hub,
    js::{self, Storage},
    kv::ObjectKv,
    log,
    sockets::Sockets,
};

/// When what could not be done is tried again.
const RETRY: Duration = Duration::from_secs(30);

/// An object, as it is while it lives.
pub(crate) struct Object {
    /// Whose bucket it has.
    scope: Scope,
    /// The bucket's name.
    name: String,
    storage: Storage,
    kv: ObjectKv<Storage>,
    pub(crate) directory: FarDirectory,
    hub: Hub,
    pub(crate) sockets: Sockets,
    /// For when the alarm is set, as far as is known.
    alarm: Cell<Option<Timestamp>>,
    /// Held while the directory is told something.
    turn: Mutex<()>,
}

/// What the rules get here.
type ObjectPorts<'o> = Ports<'o, ObjectKv<Storage>, WorkerClock, Records, NoTokenizer>;

/// Returns what the rules say of a request about a session of a name that none can have:
/// they look at no storage for that.
pub(crate) fn invoke_nowhere(
    scope: &str,
    caller: &Caller,
    request: &[u8],
) -> Result<Reply, Failure> {
    let ports: ObjectPorts<'_> = Ports {
        kv: &ObjectKv::new(Storage::nowhere()),
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
        directory: FarDirectory,
        sockets: Sockets,
    ) -> Rc<Self> {
        let kv = ObjectKv::new(storage.handle());
        Rc::new(Self {
            name: scope.bucket_name(),
            scope,
            storage,
            kv,
            directory,
            hub: Hub::default(),
            sockets,
            alarm: Cell::default(),
            turn: Mutex::new(()),
        })
    }

    /// Waits until all that was told so far is durable.
    pub(crate) async fn settle(&self) -> Result<(), Failure> {
        self.storage.sync().await.map_err(unavailable)
    }

    /// Does what the alarm was set for.
    pub(crate) async fn wake(self: &Rc<Self>) {
        self.alarm.take();
        self.clear_away().await;
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

    /// Performs what `ask` asks of the bucket, which tells when something expires
    /// next beside its answer.
    async fn perform<T>(
        self: &Rc<Self>,
        ask: impl Fn(&ObjectPorts<'_>) -> Result<(T, Option<u64>), Failure>,
    ) -> Result<T, Failure> {
        let answer = self.attempt(&ask);
        if !self.kv.take_wish_to_begin() {
            return answer;
        }
        let _turn = self.turn.lock().await;
        let begins_after = self.directory.enter(&self.scope).await.map_err(|error| {
            log::failure(&error);
            Failure::new(
                "STORAGE_UNAVAILABLE",
                "the directory does not answer, nothing was changed; try again soon",
            )
        })?;
        self.kv.begin_after(begins_after);
        let answer = self.attempt(&ask);
        self.kv.may_not_begin();
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
            // A commit may have happened, and nobody saw to what follows from it.
            self.set_alarm(Some(later()));
        }
        if self.kv.take_committed() {
            if let Ok((_, Some(next_expiry_ms))) = &answer {
                self.set_alarm(Some(Timestamp(*next_expiry_ms)));
            }
            self.changed(records.0.into_inner());
        }
        answer.map(|(answer, _)| answer)
    }

    /// Sees to what follows from a commit, which `records` tell of.
    fn changed(self: &Rc<Self>, records: Vec<AuditRecord>) {
        if self.is_left_over() {
            // Takes effect together with the commit: it will be cleared away.
            self.set_alarm(Some(later()));
            let object = Rc::clone(self);
            js::spawn(async move { object.clear_away().await });
        }
        self.hub.tell();
        let object = Rc::clone(self);
        js::spawn(async move {
            if object.settle().await.is_ok() {
                records.iter().for_each(log::record);
                object.tell_sockets().await;
            }
        });
    }

    /// Tells those who listen on a WebSocket what there is to tell.
    pub(crate) async fn tell_sockets(self: &Rc<Self>) {
        if !self.sockets.is_empty() {
            self.sockets.tell(self).await;
        }
    }

    /// As [`Engine::invoke`](shared_context_wire::Engine::invoke).
    pub(crate) async fn invoke(
        self: &Rc<Self>,
        scope: &str,
        caller: &Caller,
        request: &[u8],
    ) -> Result<Reply, Failure> {
        if scope != self.name {
            return Err(Failure::new("INTERNAL", "the request came to another object"));
        }
        let ask = |ports: &ObjectPorts<'_>| {
            let reply = shared_context_codec::invoke(ports, scope, caller, request)?;
            let next_expiry_ms = reply.next_expiry_ms;
            Ok((reply, next_expiry_ms))
        };
        self.perform(ask).await
    }

    /// As [`Engine::position`](shared_context_wire::Engine::position).
    pub(crate) fn position(&self) -> u64 {
        // If storage cannot tell, whoever reads next is told why.
        self.kv.revision().unwrap_or_default().0
    }

    /// As [`Engine::wait_for_change`](shared_context_wire::Engine::wait_for_change).
    pub(crate) async fn wait_for_change(&self, seen: u64, at_most: Duration) -> Woken {
        if self.kv.revision().is_ok_and(|it| it.0 <= seen) {
            self.hub.wait(at_most).await
        } else {
            Woken::Changed
        }
    }

    /// Leaves nothing of a deleted bucket behind.
    async fn clear_away(&self) {
        let _turn = self.turn.lock().await;
        let Ok(revision) = self.kv.revision() else { return };
        if !self.is_left_over() {
            return;
        }
        if let Err(error) = self.directory.strike_out(&self.scope, revision).await {
            log::failure(&error);
            return self.set_alarm(Some(later()));
        }
        // Nothing was created here meanwhile: that waits for its turn.
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

    /// Sets the alarm for `at`, if it is not set for an earlier time.
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

/// Returns the answer when storage failed; why is for the log.
pub(crate) fn unavailable(error: KvError) -> Failure {
    log::failure(&error);
    Error::from(error).into()
}

/// Returns the answer when that of an object to `request` was lost: a change may have been made.
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
