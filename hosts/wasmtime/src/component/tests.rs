//! The component within its limits, with faulty storage and clocks.

use std::{
    sync::{LazyLock, Mutex},
    thread,
    time::{Duration, Instant},
};

use shared_context_core::{
    ScopeKind,
    memory_kv::{MemoryBucket, MemoryKv},
    port::{Bucket, Change, Clock, CommitError, Kv, KvError, ReadError, Revision, Row},
    time::Timestamp,
};

use super::*;
use crate::{
    Cache,
    bindings::{exports::shared_context::core::store, shared_context::core::log::Host as _},
    log::{AuditLog, AuditRecord},
    options::RECORDS_MAX,
};

static COMPONENT: LazyLock<Component> =
    LazyLock::new(|| Component::new(&ComponentOptions::of_tests()).unwrap());

struct NoLog;

impl AuditLog for NoLog {
    fn record(&self, _: ScopeKind, _: &str, _: &AuditRecord) {}
}

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_000)
    }
}

fn host(kv: &MemoryKv) -> Host {
    Host::new(kv.clone(), FixedClock, NoLog)
}

const CREATE: &[u8] = br#"{"action":"create_session"}"#;
const WRITE: &[u8] = br#"{"action":"write","key":"scope","value":"x"}"#;
const READ: &[u8] = br#"{"action":"read","key":"scope"}"#;

/// Creates the session `s`.
fn with_session(kv: MemoryKv) -> MemoryKv {
    COMPONENT.invoke(&host(&kv), "session/s", &Caller::trusted("admin"), CREATE).unwrap();
    kv
}

fn ask(component: &Component, host: &Host, request: &[u8]) -> Result<Reply, Failure> {
    component.invoke(host, "session/s", &Caller::trusted("orchestrator"), request)
}

/// Returns a request with a list of so many numbers, which takes long to parse.
fn long_read(count: usize) -> String {
    format!(r#"{{"x":[{}0],"action":"read","key":"scope"}}"#, "0,".repeat(count))
}

#[track_caller]
fn assert_stopped(answer: Result<Reply, Failure>, effect: &str) {
    let failure = answer.unwrap_err();
    assert_eq!(failure.code, "INTERNAL");
    assert!(failure.message.contains(effect), "{}", failure.message);
}

#[test]
fn the_tool_answers_through_the_component() {
    let host = host(&with_session(MemoryKv::default()));
    assert_eq!(ask(&COMPONENT, &host, WRITE).unwrap().revision, 2);
    let reply = ask(&COMPONENT, &host, READ).unwrap();
    assert!(reply.body.starts_with(br#"{"key":"scope","value":"x","written_by":"orchestrator""#));
    assert_eq!(ask(&COMPONENT, &host, b"{}").unwrap_err().code, "MALFORMED_REQUEST");
}

#[test]
fn the_typed_functions_answer_as_the_tool_does() {
    let host = host(&with_session(MemoryKv::default()));
    let caller = (&Caller::trusted("orchestrator")).into();
    ask(&COMPONENT, &host, WRITE).unwrap();
    let entry = COMPONENT
        .call(&host, |entries: &store::Guest, store| {
            entries.call_read(store, "s", &caller, "scope", None)
        })
        .unwrap()
        .unwrap();
    assert_eq!((entry.info.version, entry.value.as_str()), (1, "x"));
    let failure = COMPONENT
        .call(&host, |entries: &store::Guest, store| {
            entries.call_read(store, "s", &caller, "absent", None)
        })
        .unwrap_err();
    assert_eq!(failure.code, "KEY_NOT_FOUND");
}

#[test]
fn an_instance_can_serve_many_requests() {
    let host = host(&with_session(MemoryKv::default()));
    let mut instance = COMPONENT.instance(&host).unwrap();
    let caller = Caller::trusted("orchestrator");
    for version in 1..200 {
        let reply = instance.invoke("session/s", &caller, WRITE).unwrap();
        assert_eq!(reply.revision, version + 1);
    }
}

#[test]
fn instances_wait_for_their_session() {
    let options = ComponentOptions { warm_instances_max: 2, ..ComponentOptions::of_tests() };
    let component = Component::new(&options).unwrap();
    let waiting = &component.inner.waiting;
    let host = host(&with_session(MemoryKv::default()));
    let ask = |scope: &str, request: &[u8]| {
        component.invoke(&host, scope, &Caller::trusted("orchestrator"), request)
    };
    for revision in 2..6 {
        assert_eq!(ask("session/s", WRITE).unwrap().revision, revision);
        assert_eq!(waiting.len(), 1);
    }
    ask("session/s", b"{}").unwrap_err();
    assert_eq!(waiting.len(), 1, "an error of the rules stops no instance");
    for scope in ["session/t", "session/u"] {
        assert_eq!(ask(scope, READ).unwrap_err().code, "SESSION_NOT_FOUND");
    }
    assert_eq!(waiting.len(), 2);
    assert!(waiting.take("session/s").is_none(), "it waited for longest");
    assert!(waiting.take("session/u").is_some() && waiting.take("session/u").is_none());
    // What is not about a scope, or about another than it was made for, is for once.
    component
        .instance(&host)
        .unwrap()
        .invoke("session/s", &Caller::trusted("x"), READ)
        .unwrap_err();
    let slot = component.inner.slots.take(Some("session/s".into()));
    component.instance_in(slot, &host).unwrap().wake("session/t").unwrap_err();
    assert_eq!(waiting.len(), 1);
}

#[test]
fn a_stopped_instance_does_not_wait() {
    let options = ComponentOptions {
        time_max: Duration::from_micros(1),
        warm_instances_max: 2,
        ..ComponentOptions::of_tests()
    };
    let component = Component::new(&options).unwrap();
    let host = host(&with_session(MemoryKv::default()));
    // The ticker may come late, as in the next test.
    let long = long_read(1 << 20);
    let answers = (0..300).map(|_| ask(&component, &host, long.as_bytes()));
    let mut stopped = answers.filter(|it| it.as_ref().is_err_and(|it| it.code == "INTERNAL"));
    for _ in 0..3 {
        assert_stopped(stopped.next().unwrap(), "nothing was changed");
        assert_eq!(component.inner.waiting.len(), 0);
    }
}

#[test]
fn a_request_that_takes_too_long_is_stopped() {
    let options =
        ComponentOptions { time_max: Duration::from_micros(1), ..ComponentOptions::of_tests() };
    let component = Component::new(&options).unwrap();
    let kv = with_session(MemoryKv::default());
    let long = long_read(1 << 20);
    // The ticker needs a processor too: on a busy machine it may come late.
    let answers = (0..100).map(|_| ask(&component, &host(&kv), long.as_bytes()));
    let stopped = answers.map(Result::unwrap_err).find(|it| it.code == "INTERNAL");
    assert!(stopped.unwrap().message.contains("nothing was changed"));
    assert_eq!(ask(&COMPONENT, &host(&kv), READ).unwrap_err().code, "KEY_NOT_FOUND");
}

/// Time in which other requests computed once counted as the request's own: sixteen
/// concurrent requests on two processors were all stopped, each within its limit.
#[test]
fn waiting_for_a_processor_uses_no_request_time() {
    let long = long_read(4 << 20);
    let kv = with_session(MemoryKv::default());
    let began = Instant::now();
    assert_eq!(ask(&COMPONENT, &host(&kv), long.as_bytes()).unwrap_err().code, "MALFORMED_REQUEST");
    let options =
        ComponentOptions { time_max: began.elapsed() * 2, ..ComponentOptions::of_tests() };
    let component = Component::new(&options).unwrap();
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let rejection = ask(&component, &host(&kv), long.as_bytes()).unwrap_err();
                assert_eq!(rejection.code, "MALFORMED_REQUEST", "{}", rejection.message);
            });
        }
    });
}

#[test]
fn a_request_that_needs_too_much_memory_is_stopped() {
    let options = ComponentOptions { memory_bytes_max: 1 << 20, ..ComponentOptions::of_tests() };
    let component = Component::new(&options).unwrap();
    let kv = with_session(MemoryKv::default());
    let mut large = br#"{"action":"write","key":"scope","value":""#.to_vec();
    large.resize(2 << 20, b'x');
    large.extend(br#""}"#);
    assert_stopped(ask(&component, &host(&kv), &large), "nothing was changed");
    assert_eq!(ask(&component, &host(&kv), WRITE).unwrap().revision, 2);
}

/// Storage that runs a callback at each open and each commit.
#[derive(Clone)]
struct FaultyKv {
    kv: MemoryKv,
    open: fn(&MemoryKv),
    commit: fn() -> Result<(), CommitError>,
}

struct FaultyBucket(MemoryBucket, FaultyKv);

impl Kv for FaultyKv {
    type Bucket = FaultyBucket;

    fn open(&self, name: &str) -> Result<FaultyBucket, KvError> {
        (self.open)(&self.kv);
        Ok(FaultyBucket(self.kv.open(name)?, self.clone()))
    }
}

impl Bucket for FaultyBucket {
    fn revision(&self) -> Revision {
        self.0.revision()
    }

    fn get(&self, row: &str) -> Result<Option<Vec<u8>>, ReadError> {
        self.0.get(row)
    }

    fn scan(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<Row>, ReadError> {
        self.0.scan(prefix, after, limit)
    }

    fn commit(
        &mut self,
        expected: Revision,
        changes: Vec<Change>,
    ) -> Result<Revision, CommitError> {
        (self.1.commit)()?;
        self.0.commit(expected, changes)
    }
}

#[test]
fn time_in_storage_uses_no_request_time() {
    let options =
        ComponentOptions { time_max: Duration::from_millis(60), ..ComponentOptions::of_tests() };
    let component = Component::new(&options).unwrap();
    let slow = FaultyKv {
        kv: with_session(MemoryKv::default()),
        open: |_| thread::sleep(Duration::from_millis(150)),
        commit: || {
            thread::sleep(Duration::from_millis(150));
            Ok(())
        },
    };
    let started = Instant::now();
    ask(&component, &Host::new(slow, FixedClock, NoLog), WRITE).unwrap();
    assert!(started.elapsed() > Duration::from_millis(300));
}

#[test]
fn a_storage_error_hides_its_reason() {
    let failure = failure_of(|| Err(CommitError::Failed(KvError("disk 7 is on fire".to_owned()))));
    assert_eq!(failure.code, "STORAGE_UNAVAILABLE");
    assert!(!failure.message.contains("fire"));
    assert!(failure.message.contains("not known"), "{}", failure.message);
}

/// The contract once had a single case for every failed commit, so a write that found no
/// room was reported as in doubt.
#[test]
fn a_failed_commit_without_effect_is_reported_so() {
    let failure = failure_of(|| Err(CommitError::Unchanged(KvError("full".to_owned()))));
    assert_eq!(failure.code, "STORAGE_UNAVAILABLE");
    assert!(failure.message.contains("nothing was changed"), "{}", failure.message);
}

/// Returns the failure of a write whose commit ends with `commit`.
fn failure_of(commit: fn() -> Result<(), CommitError>) -> Failure {
    let failing = FaultyKv { kv: with_session(MemoryKv::default()), open: |_| {}, commit };
    ask(&COMPONENT, &Host::new(failing, FixedClock, NoLog), WRITE).unwrap_err()
}

#[test]
fn a_bucket_that_always_conflicts_ends_the_request() {
    let failure = failure_of(|| Err(CommitError::Conflict));
    assert_eq!(failure.code, "STORAGE_UNAVAILABLE");
}

/// A log that fails after the commit.
#[test]
fn a_panic_of_the_log_leaves_the_change_committed() {
    struct BrokenLog;
    impl AuditLog for BrokenLog {
        fn record(&self, _: ScopeKind, _: &str, _: &AuditRecord) {
            panic!("the log is broken");
        }
    }
    let kv = with_session(MemoryKv::default());
    let broken = Host::new(kv.clone(), FixedClock, BrokenLog);
    let answer = thread::spawn(move || ask(&COMPONENT, &broken, WRITE)).join();
    // A host's own panic is not caught for it; the change is stored.
    assert!(answer.is_err());
    assert_eq!(ask(&COMPONENT, &host(&kv), READ).unwrap().revision, 2);
}

/// A component may be newer than its host and log an action that the host does not know.
/// Such a record once stopped the instance, so a committed change was reported as a
/// failure.
#[test]
fn an_unknown_action_is_logged_and_does_not_fail() {
    #[derive(Clone, Default)]
    struct ActionLog(Arc<Mutex<Vec<String>>>);
    impl AuditLog for ActionLog {
        fn record(&self, kind: ScopeKind, id: &str, done: &AuditRecord) {
            let logged = format!("{} in {} {id}", done.action, kind.as_str());
            self.0.lock().unwrap().push(logged);
        }
    }
    let record = |action: &str| types::AuditRecord {
        revision: 2,
        action: action.to_owned(),
        participant: "of_tomorrow:7".to_owned(),
        at_ms: 0,
        entry: None,
        label: None,
        reason: None,
        round: None,
    };
    let names = ActionLog::default();
    let host = Host::new(MemoryKv::default(), FixedClock, names.clone());
    let mut state = State::new(host, wasmtime::StoreLimits::default());
    state.begin_call(Some("session/s"));
    let session = |id: &str| types::Scope::Session(id.to_owned());
    let mut audit = |scope, action| state.audit(scope, record(action)).unwrap();
    audit(session("s"), "write");
    audit(session("s"), "of_tomorrow");
    audit(session("other"), "write");
    audit(types::Scope::Project("s".to_owned()), "write");
    let logged = ["write in session s", "of_tomorrow in session s"];
    assert_eq!(*names.0.lock().unwrap(), logged);
    (0..=RECORDS_MAX).for_each(|_| audit(session("s"), "write"));
    assert_eq!(names.0.lock().unwrap().len(), RECORDS_MAX - 2);
}

#[test]
fn more_callers_than_instances_wait_for_each_other() {
    let options = ComponentOptions { instances_max: 2, ..ComponentOptions::of_tests() };
    let component = Component::new(&options).unwrap();
    let host = host(&with_session(MemoryKv::default()));
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..20 {
                    ask(&component, &host, WRITE).unwrap();
                }
            });
        }
    });
    assert_eq!(ask(&COMPONENT, &host, READ).unwrap().revision, 321);
}

/// Returns the length of the longest file in `folder`, including its subfolders.
fn longest_file(folder: &std::path::Path) -> u64 {
    let files = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let lengths = files.map(|it| match it.metadata().unwrap() {
        metadata if metadata.is_dir() => longest_file(&it.path()),
        metadata => metadata.len(),
    });
    lengths.max().unwrap_or_default()
}

#[test]
fn compiled_code_is_cached() {
    let folder = tempfile::tempdir().unwrap();
    let options = ComponentOptions {
        cache: Cache::Folder(folder.path().join("cache")),
        ..Default::default()
    };
    Component::new(&options).unwrap();
    let compiled = longest_file(folder.path());
    assert!(compiled > 100_000, "{compiled} bytes");
    let component = Component::new(&options).unwrap();
    ask(&component, &host(&with_session(MemoryKv::default())), WRITE).unwrap();
}

#[test]
fn an_unwritable_cache_is_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let options =
        ComponentOptions { cache: Cache::Folder(file.join("cache")), ..Default::default() };
    Component::new(&options).unwrap();
}

/// A component can reach only what it imports. A dependency that needs the time, randomness
/// or a file would add an import of WASI.
#[test]
fn the_component_imports_only_the_contract() {
    let engine = Engine::default();
    let component = wasmtime::component::Component::new(&engine, super::COMPONENT).unwrap();
    let imports: Vec<String> =
        component.component_type().imports(&engine).map(|(name, _)| name.to_owned()).collect();
    let of_the_contract = |name: &str| format!("shared-context:core/{name}@0.1.0");
    assert_eq!(imports, ["types", "kv", "clock", "log", "tokenizer"].map(of_the_contract));
}
