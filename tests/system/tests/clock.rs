//! A clock that jumps: back by a day, to the epoch, to the end of time. Order never contradicts the
//! revision, no credential lives longer for it, and an entry expires at its instant, whether it is
//! watched or not read at all.
//!
//! The program has no clock to set, so its server runs in this process.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Value, json};
use shared_context_core::{port::Clock, time::Timestamp};
use shared_context_system::{Client, Watch};
use shared_context_wasmtime::{Server, ServerOptions};
use tokio::runtime::Runtime;

/// 2026-02-20T14:30:00Z, in milliseconds.
const START: u64 = 1_771_597_800_000;
const MINUTE: u64 = 60_000;
const DAY: u64 = 86_400_000;

/// A clock that only moves when it is set.
#[derive(Debug, Clone)]
struct HandClock(Arc<AtomicU64>);

impl HandClock {
    fn set(&self, milliseconds: u64) {
        self.0.store(milliseconds, Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

/// A server on `folder` that goes by `clock`.
struct Place {
    runtime: Runtime,
    server: Server,
    admin: Client,
}

impl Place {
    fn start(folder: &Path, clock: &HandClock) -> Self {
        let runtime = Runtime::new().unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut options = ServerOptions::new(folder, address);
        options.clock = Arc::new(clock.clone());
        let server = runtime.block_on(Server::start(options)).unwrap();
        let admin = Client::new(&server.url(), server.admin_key());
        Self { runtime, server, admin }
    }

    fn stop(self) {
        self.runtime.block_on(self.server.stop());
    }
}

fn written_at(answer: &Value) -> &str {
    answer["written_at"].as_str().unwrap()
}

#[test]
fn a_backward_clock_jump_repeats_the_last_instant() {
    let folder = tempfile::tempdir().unwrap();
    let clock = HandClock(Arc::new(AtomicU64::new(START)));
    let place = Place::start(folder.path(), &clock);
    let orchestrator = place.admin.create_session("a", &json!({}));
    let first = orchestrator.write("a", "key", "1").expect(200);
    assert_eq!(written_at(&first), "2026-02-20T14:30:00Z");
    clock.set(START - DAY);
    let second = orchestrator.write("a", "key", "2").expect(200);
    assert_eq!(written_at(&second), written_at(&first));
    assert_eq!((&second["version"], &second["revision"]), (&json!(2), &json!(3)));
    place.stop();

    // Still so for a server that starts under the wrong time.
    let place = Place::start(folder.path(), &clock);
    let orchestrator = place.admin.with_credential(orchestrator.credential());
    let third = orchestrator.write("a", "key", "3").expect(200);
    assert_eq!(written_at(&third), written_at(&first));
    clock.set(START + 1_500);
    let fourth = orchestrator.write("a", "key", "4").expect(200);
    assert_eq!(written_at(&fourth), "2026-02-20T14:30:01.500Z");
    let audit = place.admin.get("/v1/sessions/a/audit").expect(200);
    let times: Vec<_> = audit["records"].as_array().unwrap().iter().map(written_at).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!(times.len(), 5);
    place.stop();
}

#[test]
fn a_clock_jump_does_not_prolong_credentials() {
    let folder = tempfile::tempdir().unwrap();
    let clock = HandClock(Arc::new(AtomicU64::new(START)));
    let place = Place::start(folder.path(), &clock);
    let orchestrator = place.admin.create_session("a", &json!({}));
    orchestrator.write("a", "key", "1").expect(200);
    let body = json!({"participant": "subagent:x", "ttl_seconds": 60});
    let minted = orchestrator.post("/v1/sessions/a/credentials", &body).expect(201);
    assert_eq!(minted["expires_at"], "2026-02-20T14:31:00Z");
    let agent = place.admin.with_credential(minted["credential"].as_str().unwrap());
    agent.read("a", "key").expect(200);
    // It expires after a minute, and half a minute is allowed for skew.
    clock.set(START + MINUTE + 29_999);
    agent.read("a", "key").expect(200);
    clock.set(START + MINUTE + 30_001);
    agent.read("a", "key").refused(401, "UNAUTHENTICATED");
    // Who was minted before the jump back is not shut out by it.
    clock.set(START - DAY);
    agent.read("a", "key").expect(200);
    let early = orchestrator.post("/v1/sessions/a/credentials", &body).expect(201);
    let early = place.admin.with_credential(early["credential"].as_str().unwrap());
    clock.set(START);
    early.read("a", "key").refused(401, "UNAUTHENTICATED");
    place.stop();
}

/// A clock without a battery, and one with a broken counter.
#[test]
fn a_clock_at_its_ends_brings_no_server_down() {
    let folder = tempfile::tempdir().unwrap();
    let clock = HandClock(Arc::new(AtomicU64::new(0)));
    let place = Place::start(folder.path(), &clock);
    for (nth, now) in [0, 1, START, u64::MAX, u64::MAX / 1000, 0].into_iter().enumerate() {
        clock.set(now);
        let id = format!("session-{nth}");
        let created = place.admin.post("/v1/sessions", &json!({"session_id": id}));
        assert!(matches!(created.status, 201 | 500), "{now}: {}", created.text);
        let shown = place.admin.get(&format!("/v1/sessions/{id}"));
        assert!(matches!(shown.status, 200 | 404), "{now}: {}", shown.text);
        assert_eq!(place.admin.get("/healthz").status, 200);
    }
    place.stop();
    clock.set(START);
    let place = Place::start(folder.path(), &clock);
    assert_eq!(place.admin.get("/v1/sessions").status, 200);
    place.stop();
}

/// The header was made of the system's time, by what panics from the year 10000 on: the
/// connection ended without an answer.
#[test]
fn a_clock_beyond_the_year_9999_ends_no_connection() {
    let folder = tempfile::tempdir().unwrap();
    let clock = HandClock(Arc::new(AtomicU64::new(START)));
    let place = Place::start(folder.path(), &clock);
    for (now, date) in [
        (START, "Fri, 20 Feb 2026 14:30:00 GMT"),
        (253_402_300_800_000, "Fri, 31 Dec 9999 23:59:59 GMT"),
        (u64::MAX, "Fri, 31 Dec 9999 23:59:59 GMT"),
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
    ] {
        clock.set(now);
        let answer = place.admin.get("/healthz");
        assert_eq!((answer.status, answer.headers["date"].to_str().unwrap()), (200, date));
    }
    place.stop();
}

/// Writes an entry that lives for `ttl_seconds`.
fn write_for(client: &Client, session: &str, key: &str, ttl_seconds: u64) {
    let request = json!({"action": "write", "key": key, "value": "x", "ttl_seconds": ttl_seconds});
    client.tool(session, &request).expect(200);
}

/// An agent leaves a note that is valid for a minute, and then nothing is written.
#[test]
fn an_entry_goes_at_its_instant_although_nobody_writes() {
    let folder = tempfile::tempdir().unwrap();
    let clock = HandClock(Arc::new(AtomicU64::new(START)));
    let place = Place::start(folder.path(), &clock);
    let orchestrator = place.admin.create_session("a", &json!({}));
    write_for(&orchestrator, "a", "later", 120);
    write_for(&orchestrator, "a", "sooner", 60);
    orchestrator.write("a", "kept", "x").expect(200);
    let mut watch = Watch::open(&orchestrator, "a", "");
    clock.set(START + MINUTE);
    let event = watch.event();
    assert_eq!((event.revision(), event.told()), (5, vec!["expire sooner".to_owned()]));
    clock.set(START + 2 * MINUTE);
    let event = watch.event();
    assert_eq!((event.revision(), event.told()), (6, vec!["expire later".to_owned()]));
    let listed = orchestrator.get("/v1/sessions/a/entries").expect(200);
    assert_eq!((&listed["key_count"], &listed["revision"]), (&json!(1), &json!(6)), "{listed}");
    // It came about as any change does, and is accounted for as one.
    let audit = place.admin.get("/v1/sessions/a/audit?after=4").expect(200);
    let actions: Vec<_> =
        audit["records"].as_array().unwrap().iter().map(|it| &it["action"]).collect();
    assert_eq!(actions, [&json!("expire"), &json!("expire")]);
    place.stop();
}

/// An entry that expires while no server runs is removed when one starts. Later expiries are on
/// time without any request.
#[test]
fn expiries_outlive_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let clock = HandClock(Arc::new(AtomicU64::new(START)));
    let place = Place::start(folder.path(), &clock);
    let orchestrator = place.admin.create_session("a", &json!({}));
    write_for(&orchestrator, "a", "first", 60);
    write_for(&orchestrator, "a", "second", 3_600);
    place.stop();

    clock.set(START + 2 * MINUTE);
    let place = Place::start(folder.path(), &clock);
    let orchestrator = place.admin.with_credential(orchestrator.credential());
    let mut watch = Watch::open(&orchestrator, "a", "?since=3");
    assert_eq!(watch.event().told(), ["expire first"]);
    clock.set(START + 60 * MINUTE);
    assert_eq!(watch.event().told(), ["expire second"]);
    place.stop();
}

/// A hundred sessions whose entries expire at one and the same instant.
#[test]
fn what_expires_at_once_goes_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let clock = HandClock(Arc::new(AtomicU64::new(START)));
    let place = Place::start(folder.path(), &clock);
    let sessions: Vec<_> = (0..100).map(|nth| format!("session-{nth}")).collect();
    let mut watches = Vec::new();
    for session in &sessions {
        let orchestrator = place.admin.create_session(session, &json!({}));
        write_for(&orchestrator, session, "note", 60);
        watches.push(Watch::open(&orchestrator, session, ""));
    }
    clock.set(START + MINUTE);
    for watch in &mut watches {
        assert_eq!(watch.event().told(), ["expire note"]);
    }
    place.stop();
}
