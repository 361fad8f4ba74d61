//! The engine over a real disk, with callers that leave, concurrent writers and full disks.

use std::{
    future::Future,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use rusqlite::Connection;
use shared_context_core::port::{Bucket, Change, Kv};
use shared_context_wire::Engine as _;
use tempfile::{TempDir, tempdir};
use tokio::time::{sleep, timeout};

use super::*;
use crate::{ComponentOptions, SqliteOptions};

/// An audit log that collects its records.
#[derive(Debug, Default)]
struct Records(Mutex<Vec<AuditRecord>>);

impl AuditLog for Records {
    fn record(&self, _: ScopeKind, _: &str, done: &AuditRecord) {
        self.0.lock().unwrap().push(done.clone());
    }
}

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_000)
    }
}

/// An engine over its own folder.
struct Bench {
    engine: Engine,
    kv: SqliteKv,
    records: Arc<Records>,
    folder: TempDir,
}

impl Bench {
    fn new(options: &SqliteOptions, clock: Arc<dyn Clock + Send + Sync>) -> Self {
        let folder = tempdir().unwrap();
        let kv = SqliteKv::open(folder.path(), options).unwrap();
        let component = Component::new(&ComponentOptions::of_tests()).unwrap();
        let records = Arc::new(Records::default());
        let engine = Engine::new(component, kv.clone(), clock, records.clone());
        Self { engine, kv, records, folder }
    }

    /// Creates the engine with a session `s`.
    async fn with_session() -> Self {
        let bench = Self::new(&SqliteOptions::default(), Arc::new(FixedClock));
        bench.create("s").await.unwrap();
        bench
    }

    async fn create(&self, session: &str) -> Result<Reply, Failure> {
        let request = br#"{"action":"create_session"}"#;
        let scope = format!("session/{session}");
        self.engine.invoke(&scope, &Caller::trusted("admin"), request).await
    }

    async fn ask(&self, session: &str, request: &str) -> Result<Reply, Failure> {
        let caller = Caller::trusted("orchestrator");
        self.engine.invoke(&format!("session/{session}"), &caller, request.as_bytes()).await
    }

    async fn write(&self, session: &str, key: &str, value: &str) -> Result<Reply, Failure> {
        let request = format!(r#"{{"action":"write","key":"{key}","value":"{value}"}}"#);
        self.ask(session, &request).await
    }

    fn recorded(&self) -> usize {
        self.records.0.lock().unwrap().len()
    }

    /// Blocks the writer until the returned connection is dropped.
    fn lock_the_database(&self) -> Connection {
        let database = Connection::open(self.folder.path().join("shared-context.db")).unwrap();
        database.busy_timeout(Duration::from_secs(5)).unwrap();
        database.execute_batch("BEGIN IMMEDIATE").unwrap();
        database
    }
}

mod maintenance;
mod timer;

const READ: &str = r#"{"action":"read","key":"scope"}"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_and_its_record_wait_for_the_disk() {
    let bench = Bench::with_session().await;
    assert_eq!(bench.recorded(), 1);
    let disk = bench.lock_the_database();
    let mut write = Box::pin(bench.write("s", "scope", "x"));
    timeout(Duration::from_millis(100), &mut write).await.unwrap_err();
    assert_eq!(bench.recorded(), 1);
    // A concurrent read returns what is on the disk, and does not wait.
    let read = timeout(Duration::from_secs(1), bench.ask("s", READ)).await.unwrap();
    assert_eq!(read.unwrap_err().code, "KEY_NOT_FOUND");
    drop(disk);
    assert_eq!(write.await.unwrap().revision, 2);
    assert_eq!(bench.recorded(), 2);
    assert_eq!(bench.ask("s", READ).await.unwrap().revision, 2);
}

/// A clock that tests set.
#[derive(Debug, Default)]
struct SetClock(std::sync::atomic::AtomicU64);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

/// A read was computed again each time, although nothing had changed.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_read_is_answered_by_the_reply_that_was_kept() {
    let bench = Bench::with_session().await;
    bench.write("s", "scope", "one").await.unwrap();
    let kept = || bench.engine.entry_reads().unwrap().kept;
    let first = bench.ask("s", READ).await.unwrap();
    assert_eq!(kept(), 0);
    assert_eq!(bench.ask("s", READ).await.unwrap(), first);
    assert_eq!(kept(), 1);
    // Other callers are not answered by it, nor is who asks in another way.
    let other = Caller::trusted("subagent:a");
    bench.engine.invoke("session/s", &other, READ.as_bytes()).await.unwrap();
    bench.ask("s", r#"{"key":"scope","action":"read"}"#).await.unwrap();
    assert_eq!(kept(), 1);
    // Nor is anyone after a change, also of another engine on the same storage.
    bench.write("s", "scope", "two").await.unwrap();
    let second = bench.ask("s", READ).await.unwrap();
    assert!(String::from_utf8_lossy(&second.body).contains("two"));
    let component = Component::new(&ComponentOptions::of_tests()).unwrap();
    let elsewhere = Engine::new(
        component,
        bench.kv.clone(),
        Arc::new(FixedClock),
        Arc::new(Records::default()),
    );
    let write = br#"{"action":"write","key":"scope","value":"three"}"#;
    elsewhere.invoke("session/s", &Caller::trusted("orchestrator"), write).await.unwrap();
    let third = bench.ask("s", READ).await.unwrap();
    assert!(String::from_utf8_lossy(&third.body).contains("three"));
    assert_eq!(kept(), 1);
    // A rejection is not kept, and a session that was created again is another one.
    let missing = r#"{"action":"read","key":"missing"}"#;
    for _ in 0..2 {
        assert_eq!(bench.ask("s", missing).await.unwrap_err().code, "KEY_NOT_FOUND");
    }
    let admin = Caller::trusted("admin");
    let delete = br#"{"action":"delete_session"}"#;
    bench.engine.invoke("session/s", &admin, delete).await.unwrap();
    assert_eq!(bench.ask("s", READ).await.unwrap_err().code, "SESSION_NOT_FOUND");
    bench.create("s").await.unwrap();
    assert_eq!(bench.ask("s", READ).await.unwrap_err().code, "KEY_NOT_FOUND");
    assert_eq!(kept(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_reply_ends_with_the_next_expiry() {
    let clock = Arc::new(SetClock::default());
    clock.0.store(1_000_000, Ordering::SeqCst);
    let bench = Bench::new(&SqliteOptions::default(), clock.clone());
    bench.create("s").await.unwrap();
    bench.write("s", "scope", "x").await.unwrap();
    let short = r#"{"action":"write","key":"short","value":"x","ttl_seconds":60}"#;
    bench.ask("s", short).await.unwrap();
    let list = r#"{"action":"list_keys"}"#;
    for (at, is_there, kept) in
        [(1_000_000, true, 0), (1_059_999, true, 1), (1_060_000, false, 1), (1_060_001, false, 1)]
    {
        clock.0.store(at, Ordering::SeqCst);
        let reply = bench.ask("s", list).await.unwrap();
        assert_eq!(String::from_utf8_lossy(&reply.body).contains("short"), is_there, "{at}");
        assert_eq!(bench.engine.entry_reads().unwrap().kept, kept, "{at}");
    }
    // Replies are kept again once the entry was removed.
    bench.engine.clean_up("session/s").await.unwrap();
    for kept in [1, 2] {
        bench.ask("s", list).await.unwrap();
        assert_eq!(bench.engine.entry_reads().unwrap().kept, kept);
    }
}

/// Changes that waited for the disk were once limited only in number. A client that sent
/// large requests and left had all of them held in memory.
#[tokio::test(flavor = "multi_thread")]
async fn large_changes_wait_for_free_bytes() {
    let bench = Bench::with_session().await;
    bench.create("t").await.unwrap();
    let large = format!(r#"{{"action":"delete","key":"scope"}}{}"#, " ".repeat(200 << 10));
    let changes = &bench.engine.inner.changes;
    let taken = changes.acquire_many(CHANGES_BYTES_MAX - (100 << 10)).await.unwrap();
    bench.write("s", "scope", "a small one finds room").await.unwrap();
    let mut waiting = Box::pin(bench.ask("s", &large));
    timeout(Duration::from_millis(100), &mut waiting).await.unwrap_err();
    assert_eq!(bench.ask("s", READ).await.unwrap().revision, 2);
    drop(taken);
    assert_eq!(waiting.await.unwrap().revision, 3);
    let all = usize::try_from(CHANGES_BYTES_MAX).unwrap();
    assert_eq!(changes.available_permits(), all, "a share was not given back");
    // No share is larger than the total.
    assert_eq!([0, 1, usize::MAX].map(share), [64 << 10, 64 << 10, 64 << 20]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_recorded_even_if_its_caller_left() {
    let bench = Bench::with_session().await;
    let disk = bench.lock_the_database();
    {
        let mut write = Box::pin(bench.write("s", "scope", "x"));
        timeout(Duration::from_millis(100), &mut write).await.unwrap_err();
    }
    drop(disk);
    assert_eq!(bench.write("s", "scope", "y").await.unwrap().revision, 3);
    assert_eq!(bench.recorded(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_leaves_the_queue_changes_nothing() {
    let bench = Bench::with_session().await;
    let disk = bench.lock_the_database();
    let mut first = Box::pin(bench.write("s", "scope", "first"));
    timeout(Duration::from_millis(100), &mut first).await.unwrap_err();
    {
        let mut second = Box::pin(bench.write("s", "scope", "second"));
        let mut context = Context::from_waker(Waker::noop());
        assert!(matches!(second.as_mut().poll(&mut context), Poll::Pending));
    }
    drop(disk);
    first.await.unwrap();
    let reply = bench.ask("s", READ).await.unwrap();
    assert!(String::from_utf8(reply.body).unwrap().contains(r#""value":"first""#));
    assert_eq!(bench.recorded(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_writers_get_consecutive_revisions() {
    let bench = Arc::new(Bench::with_session().await);
    let mut writers = Vec::new();
    for _ in 0..64 {
        let bench = bench.clone();
        writers.push(tokio::spawn(async move {
            let mut revisions = Vec::new();
            for _ in 0..4 {
                revisions.push(bench.write("s", "scope", "x").await.unwrap().revision);
            }
            revisions
        }));
    }
    let mut revisions = Vec::new();
    for writer in writers {
        revisions.extend(writer.await.unwrap());
    }
    revisions.sort_unstable();
    assert_eq!(revisions, (2..258).collect::<Vec<_>>());
    let records = bench.records.0.lock().unwrap();
    assert!(records.iter().map(|it| it.revision).eq(1..258), "records come in order");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_do_not_wait_for_each_other() {
    let bench = Arc::new(Bench::new(&SqliteOptions::default(), Arc::new(FixedClock)));
    let sessions = (0..100).map(|n| {
        let bench = bench.clone();
        tokio::spawn(async move {
            let session = format!("s{n:02}");
            bench.create(&session).await.unwrap();
            for key in ["a", "b", "c"] {
                bench.write(&session, key, "x").await.unwrap();
            }
        })
    });
    for session in sessions.collect::<Vec<_>>() {
        session.await.unwrap();
    }
    assert_eq!(bench.recorded(), 400);
    let listed = bench.engine.ids(ScopeKind::Session, None, 1000).await.unwrap();
    assert_eq!(listed, (0..100).map(|n| format!("s{n:02}")).collect::<Vec<_>>());
    assert_eq!(
        bench.engine.ids(ScopeKind::Session, Some("s97"), 10).await.unwrap(),
        ["s98", "s99"]
    );
    assert_eq!(bench.engine.ids(ScopeKind::Session, None, 1).await.unwrap(), ["s00"]);
}

/// A clock that, once, lets another writer of the same database commit first, after the
/// component has opened the bucket.
struct InterferingClock {
    kv: Mutex<Option<SqliteKv>>,
    is_armed: AtomicBool,
}

impl Clock for InterferingClock {
    fn now(&self) -> Timestamp {
        if self.is_armed.swap(false, Ordering::SeqCst) {
            let kv = self.kv.lock().unwrap().clone().unwrap();
            let mut bucket = kv.open("session/s").unwrap();
            let row = Change::Put("zzz".to_owned(), b"foreign".to_vec());
            bucket.commit(bucket.revision(), vec![row]).unwrap();
        }
        Timestamp(1_000)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflicting_change_is_retried_on_top() {
    let clock =
        Arc::new(InterferingClock { kv: Mutex::default(), is_armed: AtomicBool::new(false) });
    let bench = Bench::new(&SqliteOptions::default(), clock.clone());
    *clock.kv.lock().unwrap() = Some(bench.kv.clone());
    bench.create("s").await.unwrap();
    clock.is_armed.store(true, Ordering::SeqCst);
    // Revision 2 is the other writer's commit.
    assert_eq!(bench.write("s", "scope", "x").await.unwrap().revision, 3);
    assert_eq!(bench.recorded(), 2, "the attempt that was discarded left no record");
    assert_eq!(bench.kv.open("session/s").unwrap().get("zzz").unwrap().unwrap(), b"foreign");
    clock.kv.lock().unwrap().take();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_fails_the_change_only() {
    let full = SqliteOptions { bytes_max: Some(200 << 10), ..SqliteOptions::default() };
    let bench = Bench::new(&full, Arc::new(FixedClock));
    bench.create("s").await.unwrap();
    let large = "x".repeat(3_900);
    let mut written = 0;
    let failure = loop {
        match bench.write("s", &format!("k{}", written % 10), &large).await {
            Ok(_) => written += 1,
            Err(failure) if failure.code == "STORE_FULL" => {
                bench.ask("s", r#"{"action":"delete","key":"k0"}"#).await.unwrap();
            }
            Err(failure) => break failure,
        }
        let session = format!("filler{written}");
        if let Err(failure) = bench.create(&session).await {
            break failure;
        }
        assert!(written < 1_000, "the disk never gets full");
    };
    assert_eq!(failure.code, "STORAGE_UNAVAILABLE");
    assert!(!failure.message.contains("disk"), "why is for the log: {}", failure.message);
    let recorded = bench.recorded();
    assert_eq!(bench.write("s", "k1", &large).await.is_ok(), bench.recorded() > recorded);
    assert!(bench.ask("s", r#"{"action":"list_keys"}"#).await.is_ok());
    let delete = br#"{"action":"delete_session"}"#;
    bench.engine.invoke("session/s", &Caller::trusted("admin"), delete).await.unwrap();
    bench.create("again").await.unwrap();
}

/// Longer than anything but a wait that must not end.
const SOON: Duration = Duration::from_secs(5);
const SHORT: Duration = Duration::from_millis(100);

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_when_the_change_is_on_the_disk() {
    let bench = Bench::with_session().await;
    bench.create("other").await.unwrap();
    let mut waiting = Box::pin(bench.engine.wait_for_change("session/s", 1, SOON));
    timeout(SHORT, &mut waiting).await.unwrap_err();
    bench.write("other", "scope", "x").await.unwrap();
    timeout(SHORT, &mut waiting).await.unwrap_err();
    let disk = bench.lock_the_database();
    let mut write = Box::pin(bench.write("s", "scope", "x"));
    timeout(SHORT, &mut write).await.unwrap_err();
    timeout(SHORT, &mut waiting).await.unwrap_err();
    drop(disk);
    assert_eq!(timeout(SOON, waiting).await.unwrap(), Woken::Changed);
    write.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_earlier_change_ends_the_wait_at_once() {
    let bench = Bench::with_session().await;
    bench.write("s", "scope", "x").await.unwrap();
    let wait = async |seen, at_most| bench.engine.wait_for_change("session/s", seen, at_most).await;
    assert_eq!(timeout(SHORT, wait(1, SOON)).await.unwrap(), Woken::Changed);
    assert_eq!(timeout(SHORT, wait(1, Duration::ZERO)).await.unwrap(), Woken::Changed);
    assert_eq!(wait(2, Duration::ZERO).await, Woken::TimeUp);
    assert_eq!(wait(2, Duration::from_millis(1)).await, Woken::TimeUp);
    bench.engine.end_waits();
    assert_eq!(wait(1, SOON).await, Woken::Stopping);
    assert_eq!(wait(2, SOON).await, Woken::Stopping);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_waits_end_on_a_change_and_on_shutdown() {
    let bench = Bench::with_session().await;
    let wait = |seen| {
        let engine = bench.engine.clone();
        tokio::spawn(async move { engine.wait_for_change("session/s", seen, SOON).await })
    };
    let waiting: Vec<_> = (0..100).map(|_| wait(1)).collect();
    bench.write("s", "scope", "x").await.unwrap();
    for it in waiting {
        assert_eq!(it.await.unwrap(), Woken::Changed);
    }
    let waiting: Vec<_> = (0..100).map(|_| wait(2)).collect();
    tokio::task::yield_now().await;
    bench.engine.end_waits();
    for it in waiting {
        assert_eq!(it.await.unwrap(), Woken::Stopping);
    }
}

/// A writer may commit at any moment, also between a reader's read and its wait. The reader
/// must miss no change.
#[tokio::test(flavor = "multi_thread")]
async fn no_change_is_missed_between_read_and_wait() {
    let bench = Arc::new(Bench::with_session().await);
    let writer = Arc::clone(&bench);
    let writes = tokio::spawn(async move {
        for _ in 0..300 {
            writer.write("s", "scope", "x").await.unwrap();
        }
    });
    let mut seen = 1;
    while seen < 301 {
        let woken = bench.engine.wait_for_change("session/s", seen, SOON).await;
        assert_eq!(woken, Woken::Changed, "after {seen}");
        seen = bench.kv.open("session/s").unwrap().revision().0;
    }
    writes.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_finishes_begun_changes_and_rejects_others() {
    let bench = Bench::with_session().await;
    let disk = bench.lock_the_database();
    let mut write = Box::pin(bench.write("s", "scope", "x"));
    timeout(Duration::from_millis(100), &mut write).await.unwrap_err();
    let mut close = Box::pin(bench.engine.close());
    timeout(Duration::from_millis(100), &mut close).await.unwrap_err();
    let mut late = Box::pin(bench.write("s", "late", "x"));
    timeout(Duration::from_millis(100), &mut late).await.unwrap_err();
    drop(disk);
    let (write, (), late) = tokio::join!(write, close, late);
    assert_eq!(write.unwrap().revision, 2);
    let late = late.unwrap_err();
    assert_eq!(late.code, "STORAGE_UNAVAILABLE");
    assert!(late.message.contains("nothing was changed"));
    assert_eq!(bench.ask("s", READ).await.unwrap_err().code, "STORAGE_UNAVAILABLE");
    sleep(Duration::from_millis(1)).await;
    let kv = SqliteKv::open(bench.folder.path(), &SqliteOptions::default()).unwrap();
    assert_eq!(kv.open("session/s").unwrap().revision().0, 2);
}
