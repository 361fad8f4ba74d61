//! Tests the platform's limits: 2 MB for a row, 30 s of computing for a request, and
//! storage that fails. The error codes are the same as on other hosts.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::{
    collections::BTreeSet,
    process::ExitCode,
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use shared_context_system::{Client, raw::Connection, tell};
use shared_context_workers::{
    Setup, Workerd,
    under_test::{Moment, Storage},
};

/// The platform's maximum length of a row's name and value in bytes; workerd accepts more.
const ROW_BYTES_MAX: u64 = 2_000_000;

fn main() -> ExitCode {
    shared_context_workers::main(&[
        ("no_row_exceeds_the_limit_of_the_platform", rows),
        ("an_aborted_request_is_answered_500_and_the_next_works", aborted),
        ("an_aborted_object_does_not_delay_others", does_not_delay_others),
        ("failing_storage_is_answered_503", storage_fails),
        ("a_thousand_sessions_are_listed", many_sessions),
        ("an_incomplete_request_is_a_client_error", incomplete),
    ])
}

fn start(folder: &tempfile::TempDir) -> Workerd {
    Setup::new(folder.path()).without_rate_limit().under_test().start()
}

/// Returns a key of the maximum length.
fn long_key(nth: usize) -> String {
    format!("k{nth:05}_{}", "x".repeat(57))
}

/// Fills a session to its limits: long keys, written by a participant with a long name, and
/// 2 MB of values. The session is snapshotted, restored, exported and imported.
fn rows() {
    const KEYS: usize = 3_600;
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let (admin, module) = (workerd.admin(), workerd.under_test());
    let config = json!({
        "keys_max": KEYS, "store_tokens_max": 1_000_000, "namespace": {"keys": []},
        "history_bytes_max": 1 << 24,
    });
    let orchestrator = admin.create_session("a", &config);
    let writer = orchestrator.mint("a", &format!("subagent:{}", "w".repeat(50)));
    // Each character has 4 bytes, and 4 characters are a token. No two values are equal.
    let value = |nth: usize| format!("{nth:05}{}", "🦀".repeat(150));
    let began = Instant::now();
    for batch in 0..KEYS / 100 {
        let write = |nth| json!({"key": long_key(nth), "value": value(nth)});
        let writes: Vec<_> = (batch * 100..batch * 100 + 100).map(write).collect();
        writer.tool("a", &json!({"action": "write_batch", "writes": writes})).expect(200);
    }
    let wrote = began.elapsed();
    let timed = |what: &str, client: &Client, request: Value| {
        let began = Instant::now();
        client.tool("a", &request).expect(200);
        format!("{what} {:.1?}", began.elapsed())
    };
    let mut durations = vec![format!("100 batches {wrote:.1?}")];
    durations.push(timed(
        "snapshot",
        &orchestrator,
        json!({"action": "snapshot", "label": "full"}),
    ));
    let deletes: Vec<_> = (0..100).map(|nth| json!({"key": long_key(nth)})).collect();
    let request = json!({"action": "write_batch", "writes": [], "deletes": deletes});
    orchestrator.tool("a", &request).expect(200);
    durations.push(timed(
        "diff",
        &orchestrator,
        json!({"action": "diff_snapshots", "from": "full"}),
    ));
    let restore = json!({"action": "restore_snapshot", "label": "full"});
    durations.push(timed("restore", &orchestrator, restore));
    module.evict();
    durations.push(timed("list_keys cold", &orchestrator, json!({"action": "list_keys"})));
    let longest = module.look("session/a")["longest"].as_u64().unwrap();
    assert!(longest <= ROW_BYTES_MAX, "a row of {longest} bytes");

    let began = Instant::now();
    let exported = admin.get("/v1/sessions/a/export");
    assert_eq!(exported.status, 200, "{}", exported.text);
    let document = exported.text;
    assert!(document.len() > 5_000_000, "{}", document.len());
    durations.push(format!("export {:.1?}", began.elapsed()));
    let began = Instant::now();
    let headers = [("content-type", "application/json")];
    let import = "/v1/sessions/import?session_id=b";
    let imported = admin.try_send("POST", import, &headers, Some(document.as_bytes())).unwrap();
    let imported = imported.expect(201);
    durations.push(format!("import {:.1?}", began.elapsed()));
    // Importing a very large document makes the instance grow, and an isolate has 128 MB.
    let altered = document.replacen(&value(77), &"🦀".repeat(2_200_000), 1);
    let rejected = admin.try_send("POST", import, &headers, Some(altered.as_bytes())).unwrap();
    assert_eq!(rejected.status, 422, "{}", rejected.text);
    let of_b = admin.with_credential(imported["credential"].as_str().unwrap());
    assert_eq!(of_b.read("b", &long_key(77)).expect(200)["value"], value(77));
    let listed = of_b.tool("b", &json!({"action": "list_keys"})).expect(200);
    assert_eq!(listed["key_count"], KEYS);
    assert!(module.instances() > 0, "the bloated instance was not replaced");
    let longest_of_b = module.look("session/b")["longest"].as_u64().unwrap();
    assert!(longest_of_b <= ROW_BYTES_MAX, "a row of {longest_of_b} bytes");
    tell(&format!(
        "{KEYS} keys, a document of {:.1} MB, the longest row {longest} bytes: {}",
        f64::from(u32::try_from(document.len()).unwrap()) / 1e6,
        durations.join(", ")
    ));
}

/// The platform aborts an object that has computed for 30 s. Here it is aborted at the same
/// points without waiting.
fn aborted() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let (admin, module) = (workerd.admin(), workerd.under_test());
    let orchestrator = admin.create_session("a", &json!({}));
    let mut version = 0;
    for round in 0..4 {
        for moment in [Moment::Statement, Moment::BeforeCommit, Moment::AfterCommit] {
            if moment == Moment::Statement {
                module.evict();
            }
            module.abort("session/a", moment);
            let asked = Instant::now();
            let answer = orchestrator.write("a", "scope", &format!("{round} {moment:?}"));
            assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
            answer.refused(500, "INTERNAL");
            assert!(!module.antidote(), "{moment:?} did not come");
            let written = orchestrator.write("a", "scope", "x").expect(200);
            // The unacknowledged write may have happened once.
            let now = written["version"].as_u64().unwrap();
            assert!((version + 1..=version + 2).contains(&now), "{moment:?}: {version} {now}");
            version = now;
        }
    }
    let trail = admin.tool("a", &json!({"action": "audit"})).expect(200);
    let records = trail["records"].as_array().unwrap();
    let revisions: Vec<_> = records.iter().map(|it| it["revision"].as_u64().unwrap()).collect();
    assert_eq!(revisions, (1..=version + 1).collect::<Vec<_>>());
}

/// Other objects share the isolate of an aborted one: their requests finish or fail at once,
/// and later ones work.
fn does_not_delay_others() {
    const OTHERS: usize = 8;
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let (admin, module) = (workerd.admin(), workerd.under_test());
    let cut = admin.create_session("a", &json!({}));
    let others: Vec<_> = (0..OTHERS)
        .map(|nth| format!("other-{nth}"))
        .map(|it| (admin.create_session(&it, &json!({})), it))
        .collect();
    for moment in [Moment::BeforeCommit, Moment::AfterCommit, Moment::BeforeCommit] {
        module.abort("session/a", moment);
        let begin = Barrier::new(OTHERS + 1);
        thread::scope(|scope| {
            for (client, session) in &others {
                let begin = &begin;
                scope.spawn(move || {
                    begin.wait();
                    for nth in 0..40 {
                        let asked = Instant::now();
                        let answer = client.write(session, "scope", &nth.to_string());
                        assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
                        if answer.status != 200 {
                            answer.refused(500, "INTERNAL");
                        }
                    }
                });
            }
            begin.wait();
            cut.write("a", "scope", "x").refused(500, "INTERNAL");
        });
        for (client, session) in others.iter().chain([&(cut.clone(), "a".to_owned())]) {
            client.write(session, "scope", "x").expect(200);
        }
    }
}

fn storage_fails() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let (admin, module) = (workerd.admin(), workerd.under_test());
    let orchestrator = admin.create_session("a", &json!({}));
    orchestrator.write("a", "scope", "one").expect(200);
    for (mode, object) in [
        (Storage::CommitsFail.name(), None),
        (Storage::AnswersLost.name(), None),
        ("too_large", None),
        (Storage::CommitsFail.name(), Some("session/a")),
    ] {
        let fault = match object {
            None => json!({"mode": mode}),
            Some(object) => json!({"mode": mode, "object": object}),
        };
        module.tell("storage", &fault);
        let rejected = orchestrator.write("a", "scope", "two");
        rejected.refused(503, "STORAGE_UNAVAILABLE");
        assert!(!rejected.text.contains("told to fail"), "{}", rejected.text);
        let created = admin.post("/v1/sessions", &json!({"session_id": "new"}));
        if object.is_none() {
            created.refused(503, "STORAGE_UNAVAILABLE");
        } else {
            created.expect(201);
        }
        module.storage(Storage::Works);
        orchestrator.write("a", "scope", "one").expect(200);
        let gone = admin.send("DELETE", "/v1/sessions/new", None);
        assert!([200, 404].contains(&gone.status), "{}", gone.text);
    }
    // If only the directory fails, only the requests that need it are rejected.
    for mode in ["reads_fail", "commits_fail"] {
        module.tell("storage", &json!({"mode": mode, "object": "Directory"}));
        admin
            .post("/v1/sessions", &json!({"session_id": "new"}))
            .refused(503, "STORAGE_UNAVAILABLE");
        orchestrator.write("a", "scope", "three").expect(200);
        module.storage(Storage::Works);
    }
    module.tell("storage", &json!({"mode": "reads_fail", "object": "Directory"}));
    admin.get("/v1/sessions").refused(503, "STORAGE_UNAVAILABLE");
    module.storage(Storage::Works);
    admin.post("/v1/sessions", &json!({"session_id": "new"})).expect(201);
    // A write may succeed without its alarm: an expired entry is invisible anyway.
    module.tell("storage", &json!({"mode": "alarms_fail"}));
    let write = json!({"action": "write", "key": "soon", "value": "x", "ttl_seconds": 60});
    let answer = orchestrator.tool("a", &write);
    assert!([200, 503].contains(&answer.status), "{}", answer.text);
    module.storage(Storage::Works);
    module.set_ahead(Duration::from_mins(2));
    orchestrator.read("a", "soon").refused(404, "KEY_NOT_FOUND");
}

fn many_sessions() {
    const SESSIONS: usize = 1_100;
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let admin = workerd.admin();
    let began = Instant::now();
    thread::scope(|scope| {
        for part in 0..4 {
            let admin = admin.with_credential(admin.credential());
            scope.spawn(move || {
                for nth in (part..SESSIONS).step_by(4) {
                    let body = json!({"session_id": format!("ticket-{nth:04}")});
                    admin.post("/v1/sessions", &body).expect(201);
                }
            });
        }
    });
    let created = began.elapsed();
    let mut listed = BTreeSet::new();
    let (mut after, mut pages, mut slowest) = (String::new(), 0, Duration::ZERO);
    loop {
        let asked = Instant::now();
        let page = admin.get(&format!("/v1/sessions?limit=1000{after}")).expect(200);
        slowest = slowest.max(asked.elapsed());
        pages += 1;
        let ids = page["sessions"].as_array().unwrap().iter();
        listed.extend(ids.map(|it| it["session_id"].as_str().unwrap().to_owned()));
        match page["next_after"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(listed.len(), SESSIONS);
    let page = admin.get("/v1/sessions?prefix=ticket-10").expect(200);
    assert_eq!(page["sessions"].as_array().unwrap().len(), 100);
    tell(&format!(
        "{SESSIONS} sessions created in {created:.1?} and listed in {pages} pages, the slowest in \
         {slowest:.1?}"
    ));
}

/// An incomplete request was once answered 503, as if its object were unreachable and a
/// change in doubt, and logged as a failure. A request with an invalid character in a
/// header was answered 500, without naming the header.
fn incomplete() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let orchestrator = workerd.admin().create_session("a", &json!({}));
    let credential = orchestrator.credential();
    let head = format!(
        "POST /v1/sessions/a/shared_context HTTP/1.1\r\nHost: localhost\r\n\
         Authorization: Bearer {credential}\r\nContent-Type: application/json\r\n"
    );
    let check_rejected = |rest: &str, message: &str| {
        let mut connection = Connection::to(workerd.address());
        connection.send(format!("{head}{rest}"));
        connection.finish();
        let answer = connection.answer().unwrap();
        assert_eq!(answer.status, 400, "{rest:?}: {}", answer.body);
        assert_eq!(answer.code().as_deref(), Some("MALFORMED_REQUEST"));
        assert!(answer.body.contains(message), "{}", answer.body);
        assert!(answer.header("x-request-id").is_some());
    };
    check_rejected("Content-Length: 100\r\n\r\n{\"action\":\"list_keys\"}", "did not arrive whole");
    check_rejected("Transfer-Encoding: chunked\r\n\r\n5\r\n{\"act", "did not arrive whole");
    check_rejected("X-Note: a\u{1}b\r\nContent-Length: 2\r\n\r\n{}", "the header x-note holds");
    assert!(!workerd.log().contains("ERROR"), "{}", workerd.log());
    assert!(!workerd.log().contains("Error:"), "{}", workerd.log());
    assert_eq!(workerd.under_test().instances(), 0);
}
