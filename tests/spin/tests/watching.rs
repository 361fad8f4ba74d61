//! Tests watching a session live. A stream or a wait is a long request in its own instance
//! and must report the commits of other instances.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test: an unexpected result fails it"
)]

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use shared_context_spin_tests::{
    Kill, Leaving, Over, Storage, Times,
    suite::{self, App, Test, TestHost},
};
use shared_context_system::{Client, Event, Watch, raw, tell};

/// The maximum delay until a change is reported. Instances poll every 250 ms.
const SOON: Duration = Duration::from_secs(2);
/// The number of requests and streams that are served at once: each takes three of the
/// thousand linear memories.
const INSTANCES_MAX: usize = 333;

fn main() -> ExitCode {
    suite::main(&[
        Test::anywhere("streams_and_waits_report_every_change_in_order", all_changes),
        Test::anywhere("a_reader_resumes_at_its_position", resumed),
        Test::anywhere("a_wait_ends_with_a_change_or_at_its_timeout", waits),
        Test::anywhere("a_reader_loses_no_event_over_restarts", restarts),
        Test::anywhere("fifty_streams_report_concurrent_writes", fifty),
        Test::anywhere("deleting_and_revoking_end_a_stream", endings),
        Test::anywhere("long_waits_are_answered_and_can_be_resumed", long),
        Test::in_emulator("another_instance_resumes_an_aborted_stream", aborted),
        Test::in_emulator("a_stream_ends_with_a_reason_when_storage_fails", storage_fails),
        Test::in_emulator("a_client_that_disconnects_ends_its_instance", leaves),
        Test::in_emulator("instances_are_freed_when_clients_disconnect", leaves_before_4_1),
    ])
}

fn create(app: &App) -> Client {
    app.admin().create_session("a", &json!({"namespace": {"keys": []}, "changes_max": 2_000}))
}

fn all_changes(host: &TestHost) {
    const CHANGES: u64 = 60;
    let folder = tempfile::tempdir().unwrap();
    let app = host.app(&folder);
    let orchestrator = create(&app);
    let agent = orchestrator.mint("a", "subagent:a");
    let mut watch = Watch::open(&orchestrator, "a", "");
    let mut filtered = Watch::open(&agent, "a", "?keys=findings_*");
    thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let (mut since, mut seen) = (1, Vec::new());
            while since <= CHANGES {
                let path = format!("/v1/sessions/a/changes?wait=25&since={since}");
                let page = agent.get(&path).expect(200);
                let changes = page["changes"].as_array().unwrap().iter();
                seen.extend(changes.map(|it| it["revision"].as_u64().unwrap()));
                since = page["next_since"].as_u64().unwrap();
            }
            seen
        });
        for nth in 0..CHANGES {
            let key = if nth % 5 == 0 { "findings_1" } else { "notes" };
            orchestrator.write("a", key, "secret").expect(200);
        }
        let all: Vec<_> = (2..=CHANGES + 1).collect();
        assert_eq!(waits.join().unwrap(), all);
        assert_eq!(all.iter().map(|_| watch.event().revision()).collect::<Vec<_>>(), all);
    });
    for nth in (2..=CHANGES + 1).step_by(5) {
        let event = filtered.event();
        assert_eq!((event.revision(), event.told()), (nth, vec!["write findings_1".to_owned()]));
        assert!(!event.data.to_string().contains("secret"), "{event:?}");
    }
    let latency = |_| {
        // Writes at varying times between two polls.
        thread::sleep(Duration::from_millis(17));
        let written = Instant::now();
        orchestrator.write("a", "notes", "x").expect(200);
        watch.event();
        written.elapsed()
    };
    let times: Times = (0..40).map(latency).collect();
    tell(&format!("from sending a write to hearing of it on a stream: {times}"));
    assert!(times.percentile(100) < SOON, "{times}");
}

fn resumed(host: &TestHost) {
    let folder = tempfile::tempdir().unwrap();
    let app = host.app(&folder);
    let orchestrator = create(&app);
    for _ in 0..9 {
        orchestrator.write("a", "key", "x").expect(200);
    }
    // The header takes precedence over the query.
    let mut watches = [
        Watch::open(&orchestrator, "a", "?since=6"),
        Watch::resume(&orchestrator, "a", "?since=1", Some(6)),
    ];
    for revision in 7..=10 {
        for watch in &mut watches {
            assert_eq!(watch.event().revision(), revision);
        }
    }
    // A stream without a position reports no earlier changes.
    let mut watch = Watch::open(&orchestrator, "a", "");
    orchestrator.write("a", "key", "x").expect(200);
    assert_eq!(watch.event().revision(), 11);
}

fn waits(host: &TestHost) {
    let folder = tempfile::tempdir().unwrap();
    let app = host.app(&folder);
    let orchestrator = create(&app);
    let waiting = orchestrator.with_credential(orchestrator.credential());
    for round in 0..5 {
        let path = format!("/v1/sessions/a/changes?since={}&wait=25", round + 1);
        let (page, late) = thread::scope(|scope| {
            let waits = scope.spawn(|| (waiting.get(&path).expect(200), Instant::now()));
            // By then it is probably waiting; the result is the same if not.
            thread::sleep(Duration::from_millis(100));
            orchestrator.write("a", "key", "x").expect(200);
            let written = Instant::now();
            let (page, answered) = waits.join().unwrap();
            (page, answered.saturating_duration_since(written))
        });
        assert_eq!(page["next_since"], round + 2, "{page}");
        assert!(late < SOON, "{late:?}");
    }
    let asked = Instant::now();
    let page = orchestrator.get("/v1/sessions/a/changes?since=6&wait=1").expect(200);
    assert_eq!((&page["changes"], &page["next_since"]), (&json!([]), &json!(6)));
    let took = asked.elapsed();
    assert!((Duration::from_secs(1)..SOON).contains(&took), "{took:?}");
}

fn restarts(host: &TestHost) {
    let folder = tempfile::tempdir().unwrap();
    let setup = host.setup(Over::Sqlite, &folder);
    let mut app = host.start(&setup);
    let credential = create(&app).credential().to_owned();
    let (mut seen, mut last_id) = (vec![1], Some(1));
    for _ in 0..4 {
        let client = app.admin().with_credential(&credential);
        let mut watch = Watch::resume(&client, "a", "", last_id);
        for _ in 0..20 {
            client.write("a", "key", "x").expect(200);
            seen.push(watch.event().revision());
        }
        // This change may not have been reported yet when the server stops.
        client.write("a", "key", "x").expect(200);
        drop(app);
        seen.extend(watch.rest().iter().map(Event::revision));
        last_id = watch.last_id;
        app = host.start(&setup);
    }
    let client = app.admin().with_credential(&credential);
    let now = client.get("/v1/sessions/a").expect(200)["revision"].as_u64().unwrap();
    assert_eq!(now, 4 * 21 + 1);
    let mut watch = Watch::resume(&client, "a", "", last_id);
    while seen.last() != Some(&now) {
        seen.push(watch.event().revision());
    }
    assert_eq!(seen, (1..=now).collect::<Vec<_>>());
}

fn fifty(host: &TestHost) {
    const STREAMS: usize = 50;
    const WRITERS: usize = 4;
    const WRITES: usize = 25;
    let folder = tempfile::tempdir().unwrap();
    let app = host.app(&folder);
    let orchestrator = create(&app);
    let readers = (0..STREAMS).map(|nth| orchestrator.mint("a", &format!("subagent:r:{nth}")));
    let mut watches: Vec<_> = readers.map(|it| Watch::open(&it, "a", "")).collect();
    let began = Instant::now();
    let times: Times = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|nth| {
                let client = orchestrator.mint("a", &format!("subagent:w:{nth}"));
                scope.spawn(move || {
                    let write = |it: usize| {
                        let start = Instant::now();
                        client.write("a", &format!("key_{}", it % 3), "x").expect(200);
                        start.elapsed()
                    };
                    (0..WRITES).map(write).collect::<Vec<_>>()
                })
            })
            .collect();
        writers.into_iter().flat_map(|it| it.join().unwrap()).collect()
    });
    let wrote = began.elapsed();
    let last = u64::try_from(WRITERS * WRITES + 1).unwrap();
    for watch in &mut watches {
        let seen: Vec<_> = (2..=last).map(|_| watch.event().revision()).collect();
        assert_eq!(seen, (2..=last).collect::<Vec<_>>());
    }
    tell(&format!(
        "{STREAMS} streams and {WRITERS} writers: {} writes in {wrote:.1?}, {times}; all told {:.1?} \
         after the last",
        WRITERS * WRITES,
        began.elapsed().saturating_sub(wrote),
    ));
}

fn endings(host: &TestHost) {
    let folder = tempfile::tempdir().unwrap();
    let app = host.app(&folder);
    let (admin, orchestrator) = (app.admin(), create(&app));
    let mut revoked = Watch::open(&orchestrator, "a", "");
    admin.send("POST", "/v1/sessions/a/revoke", None).expect(200);
    let last = revoked.rest();
    assert_eq!(last.last().unwrap().code(), "UNAUTHENTICATED", "{last:?}");
    let orchestrator = admin.mint("a", "orchestrator");
    let mut deleted = Watch::open(&orchestrator, "a", "");
    admin.send("DELETE", "/v1/sessions/a", None).expect(200);
    let last = deleted.rest();
    assert_eq!(last.last().unwrap().code(), "SESSION_NOT_FOUND", "{last:?}");
}

/// An instance waits at most half a minute. Then a wait is answered, and a stream ends
/// without an error, so that its reader resumes it.
fn long(host: &TestHost) {
    const WAITS_MAX: Duration = Duration::from_secs(30);
    let folder = tempfile::tempdir().unwrap();
    let app = host.app(&folder);
    let orchestrator = create(&app);
    let began = Instant::now();
    let mut watch = Watch::open(&orchestrator, "a", "");
    let (answer, rest) = thread::scope(|scope| {
        let wait =
            scope.spawn(|| patiently(&orchestrator, "/v1/sessions/a/changes?since=1&wait=60"));
        let rest = watch.rest();
        (wait.join().unwrap(), rest)
    });
    let took = began.elapsed();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains(r#""changes":[]"#) && answer.contains(r#""next_since":1"#), "{answer}");
    assert_eq!(rest, [], "the stream must end without an error");
    tell(&format!("a wait and a stream without changes end after {took:.1?}"));
    assert!((WAITS_MAX..WAITS_MAX + SOON).contains(&took), "{took:?}");
    let mut watch = Watch::resume(&orchestrator, "a", "", watch.last_id);
    orchestrator.write("a", "key", "x").expect(200);
    assert_eq!(watch.event().revision(), 2);
}

/// Returns the whole answer to `GET path`, with a longer timeout than that of [`Client`].
fn patiently(client: &Client, path: &str) -> String {
    let mut stream = TcpStream::connect(client.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(2))).unwrap();
    let credential = format!("Bearer {}", client.credential());
    let headers = [("authorization", &*credential), ("connection", "close")];
    stream.write_all(&raw::request(&format!("GET {path} HTTP/1.1"), &headers, "")).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn aborted(host: &TestHost) {
    let folder = tempfile::tempdir().unwrap();
    let app = host.app(&folder);
    let orchestrator = create(&app);
    let (mut seen, mut last_id) = (Vec::new(), Some(1));
    for kill in [Kill::Before(1), Kill::After(1), Kill::Before(2), Kill::After(2)] {
        let mut watch = Watch::resume(&orchestrator, "a", "", last_id);
        orchestrator.write("a", "key", "x").expect(200);
        seen.push(watch.event().revision());
        // Only the stream makes calls now.
        app.emulator().kill(kill);
        seen.extend(watch.rest().iter().map(Event::revision));
        last_id = watch.last_id;
    }
    assert_eq!(app.emulator().killed(), 4);
    orchestrator.write("a", "key", "x").expect(200);
    let mut watch = Watch::resume(&orchestrator, "a", "", last_id);
    seen.push(watch.event().revision());
    assert_eq!(seen, (2..=6).collect::<Vec<_>>());
}

fn storage_fails(host: &TestHost) {
    let folder = tempfile::tempdir().unwrap();
    let app = host.app(&folder);
    let orchestrator = create(&app);
    let mut watch = Watch::open(&orchestrator, "a", "");
    app.emulator().set_storage(Storage::ReadsFail);
    let last = watch.rest();
    assert_eq!(last.last().unwrap().code(), "STORAGE_UNAVAILABLE", "{last:?}");
    let waits = orchestrator.get("/v1/sessions/a/changes?since=1&wait=25");
    waits.refused(503, "STORAGE_UNAVAILABLE");
    app.emulator().set_storage(Storage::Works);
    let mut watch = Watch::resume(&orchestrator, "a", "", watch.last_id);
    orchestrator.write("a", "key", "x").expect(200);
    assert_eq!(watch.event().revision(), 2);
}

/// Returns the number of calls to storage while no client sends a request.
fn idle_calls(app: &App) -> u64 {
    let before = app.emulator().calls();
    thread::sleep(Duration::from_millis(700));
    app.emulator().calls() - before
}

/// Waits until no instance polls for changes any more.
#[track_caller]
fn quiet(app: &App) -> Duration {
    let began = Instant::now();
    while idle_calls(app) > 0 {
        assert!(began.elapsed() < Duration::from_secs(10), "instances go on");
    }
    began.elapsed()
}

fn leaves(host: &TestHost) {
    const STREAMS: u64 = 8;
    let folder = tempfile::tempdir().unwrap();
    let app = host.app(&folder);
    let orchestrator = create(&app);
    let watches: Vec<_> = (0..STREAMS).map(|_| Watch::open(&orchestrator, "a", "")).collect();
    let polls = idle_calls(&app);
    assert!(polls >= STREAMS, "{polls} polls of {STREAMS} streams");
    drop(watches);
    let took = quiet(&app);
    tell(&format!(
        "{STREAMS} streams poll {polls} times in 0.7 s; left, they end within {took:.1?}"
    ));
    assert_eq!(app.emulator().failures(), [""; 0]);
}

/// Spin before 4.1 lets an instance continue after its client has disconnected. It once
/// continued until its next heartbeat could not be written, up to 15 seconds. When streams
/// occupied all instances, requests got 500 for as long.
fn leaves_before_4_1(host: &TestHost) {
    let folder = tempfile::tempdir().unwrap();
    let app = host.start(&host.setup(Over::Sqlite, &folder).leaving(Leaving::FailsItsWrites));
    let orchestrator = create(&app);
    let watches: Vec<_> = (0..INSTANCES_MAX).map(|_| Watch::open(&orchestrator, "a", "")).collect();
    let is_served = || app.stranger().get("/healthz").status == 200;
    assert!(!is_served(), "there is room for more than {INSTANCES_MAX}");
    let left = Instant::now();
    drop(watches);
    while !is_served() {
        assert!(left.elapsed() < SOON, "no instance has ended");
        thread::sleep(Duration::from_millis(20));
    }
    let served = left.elapsed();
    let quiet = left.elapsed() + quiet(&app);
    tell(&format!(
        "{INSTANCES_MAX} streams take all instances; left, there is room after {served:.1?}, and \
         all have ended within {quiet:.1?}"
    ));
    assert!(quiet < SOON * 2, "{quiet:?}");
}
