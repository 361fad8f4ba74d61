//! Watching a session live: through restarts, beside slow readers, in crowds,
//! and to the end.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test: whatever is not as it should be fails it"
)]

use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use shared_context_system::{Client, Server, Setup, Watch, tell};

/// Writes one after another until stopped; returns the last revision.
fn write_on(client: &Client, told: &mpsc::Receiver<()>, key: &str) -> u64 {
    let mut last = 0;
    while let Err(mpsc::TryRecvError::Empty) = told.try_recv() {
        let request = json!({"action": "write", "key": key, "value": "x"});
        // An answer may be lost when the server is killed; what counts is what
        // the session says in the end.
        match client.try_tool("a", &request) {
            Ok(answer) if answer.status == 200 => {
                last = answer.json()["revision"].as_u64().unwrap();
            }
            _ => break,
        }
    }
    last
}

fn revision(client: &Client) -> u64 {
    client.get("/v1/sessions/a").expect(200)["revision"].as_u64().unwrap()
}

/// A reader follows a session while its server is stopped, killed and started
/// again, in the middle of writes. It sees every revision, once, in order.
#[test]
fn a_reader_loses_no_event_and_gets_none_twice_over_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let start = || Setup::new(folder.path()).without_rate_limit().start();
    let mut server = start();
    let created = server.admin().create_session("a", &json!({}));
    let credential = created.credential().to_owned();
    let (mut seen, mut last_id) = (vec![1], Some(1));
    for round in 0..6 {
        let client = server.admin().with_credential(&credential);
        let mut watch = Watch::resume(&client, "a", "", last_id);
        let (tell, told) = mpsc::channel();
        thread::scope(|scope| {
            let writer = scope.spawn(move || write_on(&client, &told, "busy"));
            for _ in 0..40 {
                seen.push(watch.event().revision());
            }
            if round % 2 == 0 {
                server.kill();
            } else {
                server.stop();
            }
            drop(tell);
            writer.join().unwrap();
        });
        // What was on its way when the server went.
        seen.extend(watch.rest().iter().map(shared_context_system::Event::revision));
        last_id = watch.last_id;
        server = start();
    }
    let client = server.admin().with_credential(&credential);
    let now = revision(&client);
    let mut watch = Watch::resume(&client, "a", "", last_id);
    while seen.last() != Some(&now) {
        seen.push(watch.event().revision());
    }
    assert_eq!(seen, (1..=now).collect::<Vec<_>>());
    tell(&format!("6 restarts, 3 of them kills: {now} revisions seen once each, in order"));
}

/// One reader of a busy session stops reading. Others notice nothing, the server
/// keeps nothing for it; when it reads on, it gets what it missed, or learns
/// from where to go on.
#[test]
fn a_slow_reader_keeps_nobody_waiting_and_misses_nothing() {
    const COMMITS: usize = 600;
    let folder = tempfile::tempdir().unwrap();
    let server = Setup::new(folder.path()).without_rate_limit().start();
    let config = json!({"changes_max": 10_000, "namespace": {"keys": []}});
    let orchestrator = server.admin().create_session("a", &config);
    let mut slow = Watch::open(&orchestrator, "a", "");
    let mut quick = Watch::open(&orchestrator, "a", "");
    let before = resident_kilobytes(server.id());
    let writes: Vec<Value> =
        (0..100).map(|nth| json!({"key": format!("key_{nth:02}"), "value": ""})).collect();
    for nth in 0..COMMITS {
        let request = json!({"action": "write_batch", "writes": writes});
        orchestrator.tool("a", &request).expect(200);
        let event = quick.event();
        assert_eq!(event.revision(), u64::try_from(nth).unwrap() + 2);
        assert_eq!(event.told().len(), 100);
    }
    let grown = resident_kilobytes(server.id()).saturating_sub(before);
    let mut seen = Vec::new();
    let mut connections = 1;
    while seen.len() < COMMITS {
        if let Some(event) = slow.next_event() {
            seen.push(event.revision());
        } else {
            slow = Watch::resume(&orchestrator, "a", "", slow.last_id);
            connections += 1;
        }
    }
    assert_eq!(seen, (2..=u64::try_from(COMMITS).unwrap() + 1).collect::<Vec<_>>());
    tell(&format!(
        "a reader that slept through {COMMITS} commits of 100 entries got each once, over \
         {connections} connections; the server grew by {grown} kB meanwhile"
    ));
    assert!(grown < 30_000, "{grown} kB");
}

fn resident_kilobytes(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

/// A reader that comes back too late gets an error before a stream begins.
#[test]
fn who_comes_back_too_late_is_told_from_where_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let server = Setup::new(folder.path()).without_rate_limit().start();
    let orchestrator = server.admin().create_session("a", &json!({"changes_max": 256}));
    for _ in 0..300 {
        orchestrator.write("a", "key", "x").expect(200);
    }
    let headers = [("accept", "text/event-stream"), ("last-event-id", "5")];
    let refused = orchestrator.try_send("GET", "/v1/sessions/a/changes", &headers, None).unwrap();
    let message = refused.refused(410, "CHANGES_TRUNCATED");
    assert!(message.contains("read what is there now"), "{message}");
    let error = &refused.json()["error"];
    assert_eq!((&error["oldest"], &error["revision"]), (&json!(45), &json!(301)));
    let mut watch = Watch::resume(&orchestrator, "a", "", Some(45));
    assert_eq!((watch.event().revision(), watch.event().revision()), (46, 47));
}

#[test]
fn a_write_reaches_200_streams_at_once() {
    const STREAMS: usize = 200;
    let folder = tempfile::tempdir().unwrap();
    let server = Setup::new(folder.path()).without_rate_limit().start();
    let orchestrator = server.admin().create_session("a", &json!({}));
    let mut streams: Vec<_> = (0..STREAMS).map(|_| Watch::open(&orchestrator, "a", "")).collect();
    let metrics = server.stranger().get("/metrics").text;
    assert!(metrics.contains(&format!("shared_context_open_streams {STREAMS}\n")), "{metrics}");
    let written = Instant::now();
    orchestrator.write("a", "key", "x").expect(200);
    for stream in &mut streams {
        let event = stream.event();
        assert_eq!((event.revision(), event.told()), (2, vec!["write key".to_owned()]));
    }
    let took = written.elapsed();
    tell(&format!("a write reached {STREAMS} streams within {took:.0?}"));
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn a_stream_tells_only_the_keys_it_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let orchestrator = server.admin().create_session("a", &json!({"namespace": {"keys": []}}));
    let mut watch = Watch::open(&orchestrator, "a", "?keys=findings_*");
    for key in ["scope", "findings_1", "notes", "findings_2", "finding"] {
        orchestrator.write("a", key, "secret").expect(200);
    }
    for (revision, key) in [(3, "findings_1"), (5, "findings_2")] {
        let event = watch.event();
        assert_eq!((event.revision(), event.told()), (revision, vec![format!("write {key}")]));
        assert!(!event.data.to_string().contains("secret"), "{event:?}");
    }
}

#[test]
fn revoking_credentials_ends_the_streams_they_opened() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let orchestrator = server.admin().create_session("a", &json!({}));
    let agent = orchestrator.mint("a", "subagent:analysis");
    let mut streams: Vec<_> =
        [&orchestrator, &agent].map(|it| Watch::open(it, "a", "")).into_iter().collect();
    let mut admins = Watch::open(&server.admin(), "a", "");
    server.admin().post("/v1/sessions/a/revoke", &json!({})).expect(200);
    for stream in &mut streams {
        assert_eq!(stream.event().code(), "UNAUTHENTICATED");
        assert_eq!(stream.next_event(), None);
    }
    assert_eq!(admins.event().told(), ["revoke_credentials"]);
}

#[test]
fn deleting_a_session_ends_its_streams_and_those_of_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let (a, b) = (
        server.admin().create_session("a", &json!({})),
        server.admin().create_session("b", &json!({})),
    );
    let (mut of_a, mut of_b) = (Watch::open(&a, "a", ""), Watch::open(&b, "b", ""));
    server.admin().send("DELETE", "/v1/sessions/a", None).expect(200);
    assert_eq!(of_a.event().code(), "SESSION_NOT_FOUND");
    assert_eq!(of_a.next_event(), None);
    b.write("b", "key", "x").expect(200);
    assert_eq!(of_b.event().told(), ["write key"]);
}

/// A supervisor that waits for the server to end must not have to wait for its
/// readers, who never end by themselves.
#[test]
fn a_server_with_open_streams_stops_at_once_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let server = Setup::new(folder.path()).without_rate_limit().start();
    let orchestrator = server.admin().create_session("a", &json!({}));
    let mut streams: Vec<_> = (0..50).map(|_| Watch::open(&orchestrator, "a", "")).collect();
    orchestrator.write("a", "key", "x").expect(200);
    let asked = Instant::now();
    server.stop();
    let took = asked.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
    for stream in &mut streams {
        let rest = stream.rest();
        assert_eq!(
            rest.iter().map(shared_context_system::Event::revision).collect::<Vec<_>>(),
            [2]
        );
        assert_eq!(stream.last_id, Some(2));
    }
}

#[test]
fn who_waits_for_a_page_gets_it_when_there_is_something_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let orchestrator = server.admin().create_session("a", &json!({}));
    let waiting = orchestrator.clone();
    let page = thread::scope(|scope| {
        let page = scope.spawn(move || {
            waiting.get("/v1/sessions/a/changes?since=1&keys=wanted&wait=25").expect(200)
        });
        orchestrator.write("a", "other", "x").expect(200);
        orchestrator.write("a", "wanted", "x").expect(200);
        page.join().unwrap()
    });
    assert_eq!(page["changes"][0]["key"], "wanted", "{page}");
    assert_eq!(page["next_since"], 3, "{page}");
    let page = orchestrator.get("/v1/sessions/a/changes?since=3&wait=1").expect(200);
    assert_eq!((&page["changes"], &page["next_since"]), (&json!([]), &json!(3)));
}
