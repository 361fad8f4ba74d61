//! A host in memory that executes the requests: the rules over rows in memory, with two
//! sessions, and the host's part of the wire.

use std::{
    future::Future,
    pin::pin,
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use shared_context_codec::{Caller, Failure, Reply, invoke};
use shared_context_core::{
    ScopeKind,
    audit::AuditRecord,
    memory_kv::MemoryKv,
    port::{Bucket as _, Change, Clock, Kv as _, Log, NoTokenizer, Ports, Row},
    time::Timestamp,
};
use shared_context_wire::{Engine, Woken};

/// 2026-02-20T14:00:00Z, the start time of the conformance suite's cases too.
pub const START_MS: u64 = 1_771_596_000_000;
/// The value that only the orchestrator of `main` may read.
pub const HIDDEN_VALUE: &str = "hidden-value-93";
/// The key of that value.
pub const HIDDEN_KEY: &str = "vault";
/// A value of the session `other`.
pub const OTHER_VALUE: &str = "elsewhere-value-71";

/// The request that keeps the envelope of `main`.
pub const ASSEMBLED: &str = r#"{"action":"assemble_context","task":"Which pool size?","entries":"*","items":[{"id":"f","kind":"file_excerpt","text":"pool = 20"}],"keep":true,"request_id":"r5"}"#;

/// The request that writes the packet of `subagent:a`.
pub const GENERATED: &str = r#"{"action":"context_generate","task":"Raise the pool size","address":"subagent:a","task_type":"tuning","depth":"deep","conversation":[{"id":"m","kind":"user_message","text":"DECISION: Use 20 connections."}],"facts":{"failed_attempts":[{"approach":"pool = 200","reason_failed":"memory"}]},"request_id":"r6"}"#;

/// The requests that create the sessions: session, participant and request.
const SETUP: &[(&str, &str, &str)] = &[
    (
        "main",
        "admin",
        r#"{"action":"create_session","config":{"project":"webshop","allows_prefixes":true,"history_versions_max":3,"access":[{"keys":"plan_*","writable_by":["orchestrator"]}]}}"#,
    ),
    ("main", "orchestrator", r#"{"action":"write","key":"scope","value":"one"}"#),
    ("main", "subagent:a", r#"{"action":"write","key":"scope","value":"two","request_id":"r1"}"#),
    (
        "main",
        "orchestrator",
        r#"{"action":"write","key":"vault","value":"hidden-value-93","readable_by":["orchestrator"]}"#,
    ),
    (
        "main",
        "subagent:a",
        r#"{"action":"write","key":"inv:draft","value":"é \"quoted\"\n","ttl_seconds":600}"#,
    ),
    ("main", "subagent:a", r#"{"action":"write","key":"findings","value":"Pool size: 20."}"#),
    (
        "main",
        "orchestrator",
        r#"{"action":"snapshot","label":"before","note":"before the review"}"#,
    ),
    (
        "main",
        "subagent:a",
        r#"{"action":"write_batch","writes":[{"key":"scope","value":"three"},{"key":"gone","value":"x"}],"deletes":[{"key":"findings"}],"request_id":"r2"}"#,
    ),
    ("main", "subagent:a", r#"{"action":"delete","key":"gone","request_id":"r3"}"#),
    ("main", "subagent:a", r#"{"action":"write","key":"beat","value":"1","history":false}"#),
    ("main", "orchestrator", r#"{"action":"write","key":"secret","value":"hunter2"}"#),
    ("main", "orchestrator", r#"{"action":"redact","key":"secret","reason":"a password"}"#),
    ("main", "orchestrator", r#"{"action":"write","key":"plan_a","value":"kept"}"#),
    (
        "main",
        "orchestrator",
        r#"{"action":"open_round","query":"q","weights":[{"participant":"subagent:*","weight":0.5}],"strategies":[{"path":"$.rules","strategy":"union"}]}"#,
    ),
    (
        "main",
        "subagent:a",
        r#"{"action":"propose_deltas","deltas":[{"operation":"add","path":"$.bindings.term","value":"c:1","provenance":"p"},{"operation":"add","path":"$.entities","value":[{"a":null}],"provenance":"p"}]}"#,
    ),
    (
        "main",
        "subagent:b",
        r#"{"action":"propose_deltas","deltas":[{"operation":"add","path":"$.bindings.term","value":"c:2","provenance":"p"}]}"#,
    ),
    ("main", "orchestrator", r#"{"action":"close_round"}"#),
    ("main", "orchestrator", r#"{"action":"open_round"}"#),
    (
        "main",
        "subagent:a",
        r#"{"action":"propose_deltas","deltas":[{"operation":"add","path":"$.rules","value":1.5,"provenance":"p"},{"operation":"add","path":"$.rules","value":2,"provenance":"p"}]}"#,
    ),
    (
        "main",
        "orchestrator",
        r#"{"action":"reject_deltas","sequences":[2],"reason":"r","request_id":"r4"}"#,
    ),
    ("main", "subagent:a", ASSEMBLED),
    (
        "main",
        "subagent:a",
        r#"{"action":"compact","items":[{"id":"m","kind":"user_message","text":"DECISION: Use NATS."}],"keep":true}"#,
    ),
    (
        "main",
        "subagent:a",
        r#"{"action":"record_injection","envelope":"ENV-1","place":"system_prompt"}"#,
    ),
    (
        "main",
        "subagent:a",
        r#"{"action":"report_missing","kind":"input","text":"The pool size.","envelope":"ENV-1"}"#,
    ),
    ("main", "subagent:a", r#"{"action":"report_missing","kind":"question","text":"Why 20?"}"#),
    (
        "main",
        "orchestrator",
        r#"{"action":"answer_missing","missing":"MIS-1","answer":"It is 20."}"#,
    ),
    ("main", "orchestrator", GENERATED),
    (
        "main",
        "orchestrator",
        r#"{"action":"context_generate","task":"Raise the pool size","address":"shared","depth":"minimal"}"#,
    ),
    ("main", "subagent:a", r#"{"action":"context_read"}"#),
    ("main", "subagent:b", r#"{"action":"context_read","layer":"codebase"}"#),
    ("main", "subagent:b", r#"{"action":"context_query","question":"Zebra?"}"#),
    (
        "main",
        "subagent:b",
        r#"{"action":"context_feedback","outcome":"failed","gaps":["the vault"],"note":"n","request_id":"r7"}"#,
    ),
    ("other", "admin", r#"{"action":"create_session"}"#),
    ("other", "orchestrator", r#"{"action":"write","key":"scope","value":"elsewhere-value-71"}"#),
];

/// The project of `main`.
pub const PROJECT: &str = "webshop";

/// The requests that create the project: participant of `main`, and request.
const PROJECT_SETUP: &[(&str, &str)] = &[
    ("admin", r#"{"action":"create_project"}"#),
    (
        "subagent:a",
        r#"{"action":"add_memories","memories":[{"memory_type":"decision","title":"Use 20 connections","content":{"decision":"The pool has 20 connections."},"importance":9},{"memory_type":"issue","title":"Slow","content":{"description":"The pool is slow.","severity":"high"}}],"request_id":"r1"}"#,
    ),
    (
        "orchestrator",
        r#"{"action":"put_section","marker":"§1.0","title":"Shop","content":"Goal: see §2.1","shortcuts":[{"need":"Pool","marker":"§3.1"}]}"#,
    ),
    (
        "orchestrator",
        r#"{"action":"put_section","marker":"§2.1","title":"Pool","content":"Status: see §3.1","progress":50}"#,
    ),
    (
        "subagent:a",
        r#"{"action":"put_section","marker":"§3.1","title":"Pool","content":"Rationale: 20, see §4.pool","readers":["subagent:b"],"request_id":"r2"}"#,
    ),
    (
        "subagent:a",
        r#"{"action":"put_section","marker":"§4.pool","title":"pool.rs","file":{"path":"pool.rs","size":9,"purpose":"The pool"}}"#,
    ),
    ("subagent:a", r#"{"action":"transfer","marker":"§4.pool","to":"subagent:b"}"#),
    ("orchestrator", r#"{"action":"acquire","marker":"§2.1","ttl_seconds":60,"reason":"r"}"#),
    (
        "orchestrator",
        r#"{"action":"coordinate","sync_version":0,"global_blockers":["The review"]}"#,
    ),
    (
        "subagent:a",
        r#"{"action":"offer_handoff","to_agent":"subagent:b","handoff_type":"complete","summary":"The pool works.","sections":["§3.1"],"completed":["The pool"],"request_id":"r3"}"#,
    ),
    ("orchestrator", r#"{"action":"take_over","from_agent":"subagent:b","sections":["§4.pool"]}"#),
];

/// The stored buckets: their names, revisions and rows.
type StoredBuckets = Vec<(String, u64, Vec<Row>)>;

static SETUP_ROWS: LazyLock<StoredBuckets> = LazyLock::new(|| {
    let host = MemoryHost::empty();
    for (session, participant, request) in SETUP {
        let reply = host.invoke(session, &Caller::trusted(*participant), request.as_bytes());
        assert!(reply.is_ok(), "{request}: {reply:?}");
    }
    for (participant, request) in PROJECT_SETUP {
        let caller = MemoryHost::of_session(Caller::trusted(*participant), "main");
        let reply = host.invoke_project(PROJECT, &caller, request.as_bytes());
        assert!(reply.is_ok(), "{request}: {reply:?}");
    }
    host.stored()
});

/// A host in memory.
#[derive(Debug, Default)]
pub struct MemoryHost {
    /// The storage.
    pub kv: MemoryKv,
    now_ms: AtomicU64,
}

impl MemoryHost {
    /// Creates a host without sessions.
    pub fn empty() -> Self {
        Self { kv: MemoryKv::default(), now_ms: START_MS.into() }
    }

    /// Creates a host with the sessions `main` and `other`, which have a row of every kind, and the
    /// project of `main`.
    pub fn populated() -> Self {
        Self::restore(&SETUP_ROWS)
    }

    fn restore(stored: &StoredBuckets) -> Self {
        let host = Self::empty();
        for (name, revision, rows) in stored {
            let puts = rows.iter().cloned().map(|(row, bytes)| Change::Put(row, bytes));
            host.commit(name, puts.collect());
            for _ in 1..*revision {
                host.commit(name, Vec::new());
            }
        }
        host
    }

    /// Changes rows directly, bypassing the rules.
    pub fn commit(&self, name: &str, changes: Vec<Change>) {
        let mut bucket = self.kv.open(name).expect("memory opens");
        bucket.commit(bucket.revision(), changes).expect("memory commits");
    }

    /// Returns the rows of the bucket `name`.
    pub fn rows(&self, name: &str) -> Vec<Row> {
        let bucket = self.kv.open(name).expect("memory opens");
        bucket.scan("", None, u32::MAX).expect("memory reads")
    }

    fn stored(&self) -> StoredBuckets {
        let rows = |(name, revision): (String, u64)| {
            let rows = self.rows(&name);
            (name, revision, rows)
        };
        self.revisions().into_iter().map(rows).collect()
    }

    /// Returns the revision of each bucket. Equal revisions mean equal rows.
    pub fn revisions(&self) -> Vec<(String, u64)> {
        let revision = |it: &str| self.kv.open(it).expect("memory opens").revision().0;
        let names = self.kv.names(None, usize::MAX);
        names.into_iter().map(|it| (it.clone(), revision(&it))).collect()
    }

    /// Advances the clock.
    pub fn pass(&self, milliseconds: u64) {
        self.now_ms.fetch_add(milliseconds, Ordering::Relaxed);
    }

    /// Performs a JSON tool request.
    ///
    /// # Errors
    ///
    /// The errors of the JSON tool.
    pub fn invoke(&self, session: &str, caller: &Caller, request: &[u8]) -> Result<Reply, Failure> {
        let ports = Ports { kv: &self.kv, clock: self, log: self, tokenizer: &NoTokenizer };
        invoke(&ports, &format!("session/{session}"), caller, request)
    }

    /// Performs a JSON tool request on a project.
    ///
    /// # Errors
    ///
    /// The errors of the JSON tool.
    pub fn invoke_project(
        &self,
        project: &str,
        caller: &Caller,
        request: &[u8],
    ) -> Result<Reply, Failure> {
        let ports = Ports { kv: &self.kv, clock: self, log: self, tokenizer: &NoTokenizer };
        invoke(&ports, &format!("project/{project}"), caller, request)
    }

    /// Returns a caller as a participant of a session. The admin is of none.
    pub fn of_session(caller: Caller, session: &str) -> Caller {
        let session = Some(session.to_owned()).filter(|_| caller.participant != "admin");
        Caller { session, ..caller }
    }
}

impl Clock for MemoryHost {
    fn now(&self) -> Timestamp {
        Timestamp(self.now_ms.load(Ordering::Relaxed))
    }
}

impl Log for MemoryHost {
    fn record(&self, _: &AuditRecord) {}
}

impl Engine for MemoryHost {
    async fn invoke(&self, scope: &str, caller: &Caller, request: &[u8]) -> Result<Reply, Failure> {
        let ports = Ports { kv: &self.kv, clock: self, log: self, tokenizer: &NoTokenizer };
        invoke(&ports, scope, caller, request)
    }

    async fn ids(
        &self,
        kind: ScopeKind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, Failure> {
        let after = kind.bucket_name(after.unwrap_or_default());
        let names = self.kv.names(Some(&after), limit);
        Ok(names
            .iter()
            .filter_map(|it| it.strip_prefix(kind.prefix()))
            .map(str::to_owned)
            .collect())
    }

    async fn position(&self, scope: &str) -> u64 {
        self.kv.open(scope).expect("memory opens").revision().0
    }

    /// Advances the clock, because nothing else can change the session meanwhile.
    async fn wait_for_change(&self, scope: &str, seen: u64, at_most: Duration) -> Woken {
        if self.position(scope).await > seen {
            return Woken::Changed;
        }
        self.pass(u64::try_from(at_most.as_millis()).unwrap_or(u64::MAX));
        Woken::TimeUp
    }

    fn now(&self) -> Timestamp {
        Clock::now(self)
    }

    fn monotonic_micros(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed).wrapping_sub(START_MS).wrapping_mul(1_000)
    }
}

/// Returns the result of a future that is never pending.
pub fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("nothing here waits"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sessions_have_a_row_of_every_kind() {
        let host = MemoryHost::populated();
        let rows = host.rows("session/main");
        let mut kinds: Vec<&str> =
            rows.iter().filter_map(|(row, _)| row.split_inclusive('/').next()).collect();
        kinds.dedup();
        let expected =
            ["a/", "access", "c/", "e/", "h/", "k/", "meta", "p/", "q/", "r/", "s/", "v/"];
        assert_eq!(kinds, expected);
        let rows = host.rows("project/webshop");
        for kind in ["m/", "o/", "w/", "y/", "yd/", "coordination"] {
            assert!(rows.iter().any(|it| it.0.starts_with(kind)), "{kind}");
        }
        assert_eq!(host.stored(), *SETUP_ROWS);
    }
}
