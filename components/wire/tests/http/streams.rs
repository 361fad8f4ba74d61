//! Streams that send changes: their events, start, filters and end.

use std::{num::NonZeroU32, sync::atomic::Ordering};

use serde_json::{Value, json};
use shared_context_core::memory_kv::MemoryKv;
use shared_context_wire::http::{Options, RateLimit, Watch};

use crate::{
    bench::{ADMIN_KEY, Bench, WaitEvent},
    changes::{CHANGES, keys},
};

const STREAM: &[(&str, &str)] = &[("accept", "text/event-stream")];

/// Returns id and data of each event in a chunk of a stream.
fn events(text: &str) -> Vec<(u64, Value)> {
    let blocks = text.split("\n\n").filter(|it| it.contains("event: change\n"));
    let line = |block: &str, field: &str| {
        block.lines().find_map(|it| it.strip_prefix(field)).unwrap().to_owned()
    };
    blocks
        .map(|it| (line(it, "id: ").parse().unwrap(), line(it, "data: ")))
        .map(|(id, data)| (id, serde_json::from_str(&data).unwrap()))
        .collect()
}

fn ids(text: &str) -> Vec<u64> {
    events(text).iter().map(|(id, _)| *id).collect()
}

#[test]
fn a_stream_sends_each_commit_once_and_at_once() {
    let bench = Bench::new();
    bench.write("before");
    let (headers, mut watch) = bench.watch(&bench.agent, "", None);
    assert_eq!(headers["content-type"], "text/event-stream");
    assert_eq!(headers["cache-control"], "no-store");
    assert_eq!(headers["x-accel-buffering"], "no");
    // A client that disconnects before the first event still has a cursor.
    let opening = bench.next(&mut watch).unwrap();
    assert_eq!(opening, "retry: 1000\nid: 2\n: changes after revision 2\n\n");
    bench.write_during_wait("a");
    bench.write_during_wait("b");
    for (revision, key) in [(3, "a"), (4, "b")] {
        let text = bench.next(&mut watch).unwrap();
        let [(id, data)] = &events(&text)[..] else { panic!("{text}") };
        assert_eq!((*id, &data["revision"]), (revision, &json!(revision)));
        let change = &data["changes"][0];
        assert_eq!((&change["key"], &change["action"]), (&json!(key), &json!("write")));
        assert_eq!(change["written_by"], "subagent:analysis");
        assert!(!text.contains("value\""), "{text}");
    }
}

#[test]
fn all_changes_of_a_commit_are_one_event() {
    let bench = Bench::new();
    let (_, mut watch) = bench.watch(&bench.agent, "", None);
    bench.next(&mut watch).unwrap();
    let batch =
        r#"{"action":"write_batch","writes":[{"key":"b","value":"x"},{"key":"a","value":"x"}]}"#;
    bench.during_wait(WaitEvent::Request("orchestrator", batch.to_owned()));
    let text = bench.next(&mut watch).unwrap();
    let [(2, data)] = &events(&text)[..] else { panic!("{text}") };
    let mut keys = keys(data);
    keys.sort_unstable();
    assert_eq!(keys, ["a", "b"]);
}

#[test]
fn a_hidden_key_is_not_sent_but_advances_the_cursor() {
    let bench = Bench::new();
    let (_, mut agents) = bench.watch(&bench.agent, "", None);
    let (_, mut orchestrators) = bench.watch(&bench.orchestrator, "", None);
    bench.next(&mut agents).unwrap();
    bench.next(&mut orchestrators).unwrap();
    let hidden =
        r#"{"action":"write","key":"plan","value":"x","readable_by":["orchestrator"]}"#.to_owned();
    bench.during_wait(WaitEvent::Request("orchestrator", hidden));
    assert_eq!(bench.next(&mut agents).unwrap(), "id: 2\n: heartbeat\n\n");
    assert_eq!(ids(&bench.next(&mut orchestrators).unwrap()), [2]);
}

#[test]
fn a_stream_begins_at_the_cursor_of_the_reader() {
    let bench = Bench::new();
    for key in ["a", "b", "c"] {
        bench.write(key);
    }
    let opened = |query: &str, id: Option<&str>| {
        let (_, mut watch) = bench.watch(&bench.agent, query, id);
        ids(&bench.next(&mut watch).unwrap())
    };
    assert_eq!(opened("?since=0", None), [1, 2, 3, 4]);
    assert_eq!(opened("?since=2", None), [3, 4]);
    assert_eq!(opened("", Some("3")), [4]);
    assert_eq!(opened("?since=0", Some("4")), [] as [u64; 0], "the last id counts, not since");
    assert_eq!(opened("?since=0&keys=b", None), [3]);
}

#[test]
fn an_invalid_stream_request_is_rejected() {
    let bench = Bench::new();
    let check = |query: &str, headers: &[(&str, &str)], status: u16, expected: &str| {
        let headers = [STREAM, headers].concat();
        let target = format!("{CHANGES}{query}");
        bench.check_as(&bench.agent, &target, &headers, "", status, expected);
    };
    for id in ["", "x", "-1", "1.0", "+1", "18446744073709551616", "1,2"] {
        check("", &[("last-event-id", id)], 400, "Last-Event-ID is no revision");
    }
    check("", &[("last-event-id", "1"), ("last-event-id", "1")], 400, "twice");
    check("", &[("last-event-id", "99")], 410, "CHANGES_TRUNCATED");
    check("?since=99", &[], 410, "CHANGES_TRUNCATED");
    check("?limit=5", &[], 400, "limit is for requests that do not accept");
    check("?wait=5", &[], 400, "wait is for requests that do not accept");
    bench.check_as("", CHANGES, STREAM, "", 401, "shows no credential");
    bench.check_as(&bench.agent, "GET /v1/sessions/t/changes", STREAM, "", 403, "for session s");
    bench.check_as(ADMIN_KEY, "GET /v1/sessions/t/changes", STREAM, "", 404, "SESSION_NOT_FOUND");
    let metrics = bench.check_as("", "GET /metrics", &[], "", 200, "").body;
    assert!(metrics.contains("shared_context_open_streams 0\n"), "{metrics}");
}

#[test]
fn head_returns_the_headers_and_opens_no_stream() {
    let bench = Bench::new();
    let head = format!("HEAD {}", &CHANGES[4..]);
    let seen = bench.check_as(&bench.agent, &head, STREAM, "", 200, "");
    assert_eq!(seen.header("content-type"), "text/event-stream");
    assert_eq!((seen.header("content-length"), seen.body.as_str()), ("", ""));
    let metrics = bench.check_as("", "GET /metrics", &[], "", 200, "").body;
    assert!(metrics.contains("shared_context_open_streams 0\n"), "{metrics}");
}

#[test]
fn open_streams_are_counted_and_opening_is_rate_limited() {
    let bench = Bench::with(|options| {
        let number = |it| NonZeroU32::new(it).unwrap();
        let limit = RateLimit { per_second: number(1), burst: number(2), ..RateLimit::default() };
        Options { rate_limit: Some(limit), ..options }
    });
    let (headers, mut first) = bench.watch(&bench.agent, "", None);
    assert_eq!(headers["ratelimit"], "\"participant\";r=1");
    for _ in 0..20 {
        bench.during_wait(WaitEvent::Request(
            "orchestrator",
            r#"{"action":"write","key":"a","value":"x"}"#.to_owned(),
        ));
        assert!(bench.next(&mut first).is_some());
    }
    let (_, _second) = bench.watch(&bench.agent, "", None);
    bench.check_as(&bench.agent, CHANGES, STREAM, "", 429, "RATE_LIMITED");
    let open = |count: u32| {
        let metrics = bench.check_as("", "GET /metrics", &[], "", 200, "").body;
        assert!(metrics.contains(&format!("shared_context_open_streams {count}\n")), "{metrics}");
    };
    open(2);
    drop(first);
    open(1);
}

#[test]
fn a_quiet_stream_sends_heartbeats() {
    let bench = Bench::new();
    let (_, mut watch) = bench.watch(&bench.agent, "", None);
    bench.next(&mut watch).unwrap();
    for nth in 1..=3 {
        assert_eq!(bench.next(&mut watch).unwrap(), ": heartbeat\n\n");
        assert_eq!(bench.engine.micros.load(Ordering::SeqCst), nth * 15_000_000);
    }
}

/// Others write ten times a second entries that the reader filters out. It must still get
/// heartbeats, and must not read those changes again after a reconnect.
#[test]
fn heartbeats_advance_the_cursor_of_a_filtering_stream() {
    let bench = Bench::new();
    let (_, mut watch) = bench.watch(&bench.agent, "?keys=findings_*", None);
    bench.next(&mut watch).unwrap();
    for _ in 0..200 {
        bench.write_during_wait("other");
        bench.during_wait(WaitEvent::TimePasses(100));
    }
    let heartbeat = bench.next(&mut watch).unwrap();
    assert_eq!(bench.engine.micros.load(Ordering::SeqCst), 15_000_000);
    assert_eq!(heartbeat, "id: 151\n: heartbeat\n\n");
    bench.write_during_wait("findings_1");
    let before = bench.engine.requests.lock().unwrap().len();
    let text = bench.next(&mut watch).unwrap();
    assert_eq!(ids(&text), [202]);
    assert!(bench.engine.requests.lock().unwrap().len() - before <= 51, "nothing is read twice");
    assert_eq!(bench.next(&mut watch).unwrap(), ": heartbeat\n\n", "its cursor is current");
}

/// A client that reopens its stream after each disconnect.
struct Reader {
    last: Option<String>,
    seen: Vec<u64>,
}

impl Reader {
    /// Processes a chunk as a browser does: an id counts once its block is complete.
    fn take(&mut self, text: &str) {
        self.seen.extend(ids(text));
        let mut ids = text.lines().filter_map(|it| it.strip_prefix("id: "));
        self.last = ids.next_back().map(str::to_owned).or(self.last.take());
    }
}

#[test]
fn a_reader_that_reconnects_gets_every_change_once() {
    let bench = Bench::new();
    let mut reader = Reader { last: None, seen: Vec::new() };
    let mut wanted = Vec::new();
    for round in 0..30_u64 {
        let (_, mut watch) = bench.watch(&bench.agent, "?keys=wanted_*", reader.last.as_deref());
        for step in 0..=round % 4 {
            if let Some(text) = bench.next(&mut watch) {
                reader.take(&text);
            }
            let key = if step % 2 == 0 { "other" } else { "wanted_1" };
            bench.write(key);
            if step % 2 == 1 {
                wanted.push(bench.check(CHANGES, "", 200, "").json()["revision"].as_u64().unwrap());
            }
        }
        if round % 5 == 0 {
            bench.during_wait(WaitEvent::ServerStops);
            let (_, mut watch) =
                bench.watch(&bench.agent, "?keys=wanted_*", reader.last.as_deref());
            while let Some(text) = bench.next(&mut watch) {
                reader.take(&text);
            }
        }
    }
    let (_, mut watch) = bench.watch(&bench.agent, "?keys=wanted_*", reader.last.as_deref());
    reader.take(&bench.next(&mut watch).unwrap());
    assert_eq!(reader.seen, wanted);
}

#[test]
fn a_long_history_is_sent_completely_in_chunks() {
    let bench = Bench::new();
    for _ in 0..350 {
        bench.write("a");
    }
    let (_, mut watch) = bench.watch(&bench.agent, "?since=0", None);
    let mut seen = Vec::new();
    while seen.len() < 351 {
        let text = bench.next(&mut watch).unwrap();
        assert!(text.len() < 16 << 10, "{}", text.len());
        seen.extend(ids(&text));
    }
    assert_eq!(seen, (1..=351).collect::<Vec<_>>());
    assert_eq!(bench.next(&mut watch).unwrap(), ": heartbeat\n\n");
}

/// `except_own` was promised for the feed, and rejected as unknown.
#[test]
fn a_stream_can_leave_out_the_callers_own_changes() {
    let bench = Bench::new();
    bench.write("a");
    bench.engine.invoke_as("orchestrator", r#"{"action":"write","key":"b","value":"x"}"#);
    let (_, mut watch) = bench.watch(&bench.agent, "?since=1&except_own=true", None);
    assert_eq!(ids(&bench.next(&mut watch).unwrap()).last(), Some(&3));
    let (_, mut watch) = bench.watch(&bench.agent, "?since=1&except_own=false", None);
    assert_eq!(ids(&bench.next(&mut watch).unwrap()), [2, 3]);
}

/// Checks that the stream sends an error with this code and ends.
#[track_caller]
fn check_end(bench: &Bench, watch: &mut Watch, code: &str) {
    let text = bench.next(watch).unwrap();
    let data = text.strip_prefix("event: end\ndata: ").unwrap_or_else(|| panic!("{text}"));
    let data: Value = serde_json::from_str(data.trim_end()).unwrap();
    assert_eq!(data["error"]["code"], code, "{text}");
    assert!(data["error"]["message"].is_string());
    assert_eq!(bench.next(watch), None);
}

#[test]
fn a_stream_ends_when_its_credential_expires() {
    let bench = Bench::new();
    let body = r#"{"participant":"subagent:brief","ttl_seconds":60}"#;
    let minted =
        bench.check_as(ADMIN_KEY, "POST /v1/sessions/s/credentials", &[], body, 201, "").json();
    let (_, mut watch) = bench.watch(minted["credential"].as_str().unwrap(), "", None);
    bench.next(&mut watch).unwrap();
    let mut heartbeats = 0;
    // One minute, and 30 s of leeway for clock skew.
    while bench.engine.micros.load(Ordering::SeqCst) < 90_000_000 {
        assert_eq!(bench.next(&mut watch).unwrap(), ": heartbeat\n\n");
        heartbeats += 1;
    }
    assert_eq!(heartbeats, 6);
    bench.during_wait(WaitEvent::TimePasses(1));
    bench.write_during_wait("a");
    check_end(&bench, &mut watch, "UNAUTHENTICATED");
}

#[test]
fn a_stream_ends_when_its_credential_is_revoked() {
    let bench = Bench::new();
    let (_, mut watch) = bench.watch(&bench.agent, "", None);
    let (_, mut admins) = bench.watch(ADMIN_KEY, "", None);
    bench.next(&mut watch).unwrap();
    bench.next(&mut admins).unwrap();
    bench.during_wait(WaitEvent::Request("admin", r#"{"action":"revoke_credentials"}"#.to_owned()));
    bench.write_during_wait("a");
    check_end(&bench, &mut watch, "UNAUTHENTICATED");
    assert_eq!(ids(&bench.next(&mut admins).unwrap()), [2]);
}

/// The reader is idle while more changes are made than the session stores.
#[test]
fn a_stream_that_fell_behind_ends_with_its_next_cursor() {
    let bench = Bench::new();
    let body = r#"{"session_id":"t","config":{"changes_max":256}}"#;
    bench.check_as(ADMIN_KEY, "POST /v1/sessions", &[], body, 201, "");
    let tool = "POST /v1/sessions/t/shared_context";
    let writer = bench.mint("t", "subagent:writer");
    let (_, mut watch) = bench.watch_session(&writer, "t", "", None);
    bench.next(&mut watch).unwrap();
    for _ in 0..300 {
        let write = r#"{"action":"write","key":"a","value":"x"}"#;
        bench.check_as(&writer, tool, &[], write, 200, "");
    }
    let end = bench.next(&mut watch).unwrap();
    assert!(end.contains(r#""oldest":45"#) && end.contains(r#""revision":301"#), "{end}");
    assert!(
        end.starts_with("event: end\ndata: {\"error\":{\"code\":\"CHANGES_TRUNCATED\""),
        "{end}"
    );
    assert_eq!(bench.next(&mut watch), None);
    let (_, mut watch) = bench.watch_session(&writer, "t", "", Some("45"));
    assert_eq!(ids(&bench.next(&mut watch).unwrap())[..2], [46, 47]);
}

#[test]
fn deletion_ends_a_stream_but_archiving_does_not() {
    let bench = Bench::new();
    let (_, mut watch) = bench.watch(&bench.agent, "", None);
    bench.next(&mut watch).unwrap();
    bench.during_wait(WaitEvent::Request("admin", r#"{"action":"archive_session"}"#.to_owned()));
    let archived = bench.next(&mut watch).unwrap();
    assert_eq!(events(&archived)[0].1["changes"][0]["action"], "archive_session");
    assert_eq!(bench.next(&mut watch).unwrap(), ": heartbeat\n\n");
    bench.during_wait(WaitEvent::Request("admin", r#"{"action":"delete_session"}"#.to_owned()));
    check_end(&bench, &mut watch, "SESSION_NOT_FOUND");
}

#[test]
fn a_stream_does_not_continue_in_a_recreated_session() {
    let bench = Bench::new();
    let (_, mut watch) = bench.watch(&bench.agent, "", None);
    bench.next(&mut watch).unwrap();
    for action in ["delete_session", "create_session"] {
        let body = format!(r#"{{"action":"{action}"}}"#);
        bench.check_as(ADMIN_KEY, "POST /v1/sessions/s/shared_context", &[], &body, 200, "");
    }
    check_end(&bench, &mut watch, "UNAUTHENTICATED");
}

#[test]
fn a_stopping_server_ends_a_stream_with_a_cursor() {
    let bench = Bench::new();
    let (_, mut watch) = bench.watch(&bench.agent, "?keys=b", None);
    bench.next(&mut watch).unwrap();
    bench.write_during_wait("a");
    bench.during_wait(WaitEvent::ServerStops);
    let farewell = bench.next(&mut watch).unwrap();
    assert_eq!(farewell, "id: 2\n: the server ends this stream; connect again\n\n");
    assert_eq!(bench.next(&mut watch), None);
}

#[test]
fn a_stopping_server_first_sends_earlier_changes() {
    let bench = Bench::new();
    let (_, mut watch) = bench.watch(&bench.agent, "", None);
    bench.next(&mut watch).unwrap();
    bench.write("a");
    bench.during_wait(WaitEvent::ServerStops);
    let last = bench.next(&mut watch).unwrap();
    assert_eq!(ids(&last), [2]);
    assert!(last.ends_with("\n\n: the server ends this stream; connect again\n\n"), "{last}");
    assert_eq!(bench.next(&mut watch), None);
}

#[test]
fn a_storage_failure_ends_a_stream_and_it_can_reconnect() {
    let bench = Bench::new();
    let (_, mut watch) = bench.watch(&bench.agent, "", None);
    bench.next(&mut watch).unwrap();
    bench.write_during_wait("a");
    let failure = shared_context_codec::Failure::new("STORAGE_UNAVAILABLE", "the disk is away");
    *bench.engine.next_failure.lock().unwrap() = Some(failure);
    check_end(&bench, &mut watch, "STORAGE_UNAVAILABLE");
    let (_, mut watch) = bench.watch(&bench.agent, "", Some("1"));
    assert_eq!(ids(&bench.next(&mut watch).unwrap()), [2]);
}

/// The revision of an imported session is ahead of its storage's. A wait that confused them
/// missed changes between reading and waiting, and reported them late or never.
#[test]
fn a_change_of_an_imported_session_ends_the_wait() {
    let mut bench = Bench::new();
    for n in 0..9 {
        bench.write(&format!("key_{n}"));
    }
    let target = |rest: &str| format!("{rest} /v1/sessions/s");
    let document = bench.send(ADMIN_KEY, &format!("{}/export", target("GET")), &[], "").body;
    assert_eq!(bench.send(ADMIN_KEY, &target("DELETE"), &[], "").status, 200);
    bench.engine.kv = MemoryKv::default();
    let json = &[("content-type", "application/json")];
    let imported = bench.send(ADMIN_KEY, "POST /v1/sessions/import", json, document);
    assert_eq!(imported.json()["revision"], 11, "{imported:?}");
    let agent = bench.mint("s", "subagent:analysis");

    let (_, mut watch) = bench.watch(&agent, "", None);
    bench.next(&mut watch).unwrap();
    bench.write_during_wait("after");
    assert_eq!(ids(&bench.next(&mut watch).unwrap()), [12]);

    bench.write_during_wait("later");
    let page = bench.send(&agent, &format!("{CHANGES}?since=12&wait=60"), &[], "");
    assert_eq!(keys(&page.json()), ["later"]);
    assert!(bench.engine.micros.load(Ordering::SeqCst) < 60_000_000, "the time was not up");
}
