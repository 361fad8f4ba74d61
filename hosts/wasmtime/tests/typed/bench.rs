//! The component over a store in memory, with two sessions: `typed` and `json`.

use std::{fmt::Debug, sync::LazyLock};

use serde_json::{Value, json};
use shared_context_core::{ScopeKind, memory_kv::MemoryKv, port::Clock, time::Timestamp};
pub(crate) use shared_context_wasmtime::bindings::exports::shared_context::core as wit;
use shared_context_wasmtime::{
    AuditLog, AuditRecord, Caller, Component, ComponentOptions, Failure, Host,
    bindings::shared_context::core::types,
};

use self::wit::store::{WriteOptions, Written};

/// The time of every request.
pub(crate) const NOW_MS: u64 = 1_771_597_800_000;

pub(crate) static COMPONENT: LazyLock<Component> =
    LazyLock::new(|| Component::new(&ComponentOptions::default()).unwrap());

struct FixedHost;

impl Clock for FixedHost {
    fn now(&self) -> Timestamp {
        Timestamp(NOW_MS)
    }
}

impl AuditLog for FixedHost {
    fn record(&self, _: ScopeKind, _: &str, _: &AuditRecord) {}
}

/// Calls a typed function on the session `typed`:
/// `call!(bench, store.call_read("orchestrator", "scope", None))`.
macro_rules! call {
    ($bench:expr, $interface:ident.$function:ident($who:expr $(, $argument:expr)* $(,)?)) => {
        crate::bench::call_in!("typed", $bench, $interface.$function($who $(, $argument)*))
    };
}
pub(crate) use call;

/// Calls a typed function as `call` does, on another session.
macro_rules! call_in {
    ($session:expr, $bench:expr,
     $interface:ident.$function:ident($who:expr $(, $argument:expr)* $(,)?)) => {{
        let who = crate::bench::caller($who);
        crate::bench::COMPONENT.call(&$bench.host, |it: &crate::bench::wit::$interface::Guest, store| {
            it.$function(store, $session, &who $(, $argument)*)
        })
    }};
}
pub(crate) use call_in;

pub(crate) fn caller(participant: &str) -> types::Caller {
    (&Caller::trusted(participant)).into()
}

/// Returns the error of a rejected request.
pub(crate) fn rejected<T: Debug>(answer: Result<T, Failure>) -> Failure {
    answer.unwrap_err()
}

pub(crate) struct Bench {
    pub(crate) host: Host,
}

impl Bench {
    /// Creates a bench without sessions.
    pub(crate) fn empty() -> Self {
        Self { host: Host::new(MemoryKv::default(), FixedHost, FixedHost) }
    }

    /// Creates a bench with both sessions.
    pub(crate) fn new() -> Self {
        Self::with_config(json!({}))
    }

    /// Creates a bench with both sessions, of this configuration.
    pub(crate) fn with_config(config: Value) -> Self {
        let it = Self::empty();
        let create = json!({"action": "create_session", "config": config});
        for session in ["typed", "json"] {
            it.ask(session, "admin", &create).unwrap();
        }
        it
    }

    /// Returns the JSON tool's reply in the session `json`.
    #[track_caller]
    pub(crate) fn json(&self, who: &str, request: Value) -> Value {
        self.ask("json", who, &request).unwrap()
    }

    /// Returns the JSON tool's error in the session `json`.
    #[track_caller]
    pub(crate) fn json_rejected(&self, who: &str, request: Value) -> Failure {
        rejected(self.ask("json", who, &request))
    }

    pub(crate) fn ask(&self, session: &str, who: &str, request: &Value) -> Result<Value, Failure> {
        let (who, scope) = (Caller::trusted(who), format!("session/{session}"));
        let reply = COMPONENT.invoke(&self.host, &scope, &who, request.to_string().as_bytes())?;
        Ok(serde_json::from_slice(&reply.body).unwrap())
    }

    /// Writes in both sessions.
    #[track_caller]
    pub(crate) fn write(&self, who: &str, key: &str, value: &str) -> Written {
        self.json(who, json!({"action": "write", "key": key, "value": value}));
        let options = WriteOptions::default();
        call!(self, store.call_write(who, key, value, &options, None)).unwrap()
    }
}
