//! Snapshots as resources, by label.

use crate::bench::{ADMIN_KEY, Bench};

const SNAPSHOTS: &str = "/v1/sessions/s/snapshots";

/// Creates a session with one entry, a snapshot `first`, and a later change of the entry.
fn with_a_snapshot() -> Bench {
    let bench = Bench::new();
    bench.check("PUT /v1/sessions/s/entries/scope", "one", 201, "");
    take(&bench, r#"{"label":"first","note":"as shown"}"#, 201, r#""key_count":1"#);
    bench.check("PUT /v1/sessions/s/entries/scope", "two", 200, "");
    bench.check("PUT /v1/sessions/s/entries/plan", "new", 201, "");
    bench
}

#[track_caller]
fn take(bench: &Bench, body: &str, status: u16, expected: &str) -> crate::bench::TestResponse {
    let target = format!("POST {SNAPSHOTS}");
    bench.check_as(&bench.orchestrator, &target, &[], body, status, expected)
}

#[test]
fn a_snapshot_is_taken_listed_read_and_deleted() {
    let bench = Bench::new();
    bench.check("PUT /v1/sessions/s/entries/scope", "one", 201, "");
    let taken = take(&bench, r#"{"label":"v1.0-rc","note":null}"#, 201, r#""label":"v1.0-rc""#);
    assert_eq!(taken.header("location"), "/v1/sessions/s/snapshots/v1.0-rc");
    assert!(taken.json().get("note").is_none());
    bench.check(&format!("GET {}", taken.header("location")), "", 200, r#""value":"one""#);
    let list = bench.check(&format!("GET {SNAPSHOTS}"), "", 200, "max_snapshots").json();
    assert_eq!(list["snapshots"][0]["label"], "v1.0-rc");
    let delete = format!("DELETE {SNAPSHOTS}/v1.0-rc");
    bench.check(&delete, "", 403, "FORBIDDEN");
    bench.check_as(ADMIN_KEY, &delete, &[], "", 403, "FORBIDDEN");
    let gone = r#""deleted_snapshot":"v1.0-rc""#;
    bench.check_as(&bench.orchestrator, &delete, &[], "", 200, gone);
    bench.check_as(&bench.orchestrator, &delete, &[], "", 404, "SNAPSHOT_NOT_FOUND");
    bench.check(&format!("GET {SNAPSHOTS}/v1.0-rc"), "", 404, "SNAPSHOT_NOT_FOUND");
}

#[test]
fn an_invalid_snapshot_request_is_rejected() {
    let bench = with_a_snapshot();
    let check = |body: &str, status: u16, expected: &str| {
        take(&bench, body, status, expected);
    };
    check("", 400, "the body is empty");
    check("[]", 400, "not a JSON object");
    check("{}", 400, "label");
    check(r#"{"label":null}"#, 400, "label");
    check(r#"{"label":7}"#, 400, "label");
    check(r#"{"label":"pre approval"}"#, 400, "must be 1 to 64");
    check(r#"{"label":"a","label":"b"}"#, 400, "the member label twice");
    check(r#"{"label":"a","value":"b"}"#, 400, r#"no member \"value\", it knows label, note"#);
    check(r#"{"label":"a","action":"write"}"#, 400, r#"no member \"action\""#);
    check(r#"{"label":"a","note":"two\nlines"}"#, 400, "note must be one line");
    check(r#"{"label":"first"}"#, 409, "SNAPSHOT_EXISTS");
    let text = [("content-type", "text/plain")];
    let target = format!("POST {SNAPSHOTS}");
    bench.check_as(&bench.orchestrator, &target, &text, "a", 415, "application/json");
    bench.check(&target, r#"{"label":"a"}"#, 403, "FORBIDDEN");
    bench.check_as("", &target, &[], r#"{"label":"a"}"#, 401, "UNAUTHENTICATED");
}

#[test]
fn too_many_snapshots_are_rejected_with_the_limit() {
    let bench = Bench::new();
    let body = r#"{"session_id":"one","config":{"snapshots_max":1}}"#;
    let created = bench.check_as(ADMIN_KEY, "POST /v1/sessions", &[], body, 201, "").json();
    let orchestrator = created["credential"].as_str().unwrap();
    let take = |label: &str, status: u16, expected: &str| {
        let body = format!(r#"{{"label":"{label}"}}"#);
        let target = "POST /v1/sessions/one/snapshots";
        bench.check_as(orchestrator, target, &[], &body, status, expected)
    };
    take("a", 201, "");
    assert_eq!(take("b", 409, "SNAPSHOT_LIMIT").json()["error"]["limit"], 1);
}

#[test]
fn an_entry_is_read_as_the_snapshot_has_it() {
    let bench = with_a_snapshot();
    let read = |key: &str, status: u16, expected: &str| {
        bench.check(&format!("GET {SNAPSHOTS}/first/entries/{key}"), "", status, expected)
    };
    let seen = read("scope", 200, r#""value":"one""#);
    assert_eq!((&seen.json()["version"], &seen.json()["revision"]), (&1.into(), &2.into()));
    read("plan", 404, "KEY_NOT_FOUND");
    read("Plan", 400, "INVALID_KEY");
    bench.check(&format!("GET {SNAPSHOTS}/none/entries/scope"), "", 404, "SNAPSHOT_NOT_FOUND");
    let redact = "POST /v1/sessions/s/entries/scope/redact";
    bench.check_as(&bench.orchestrator, redact, &[], r#"{"reason":"a password"}"#, 200, "");
    // The revision is unchanged, so a tag could wrongly suggest that nothing changed.
    for tag in ["\"2\"", "*"] {
        let target = format!("GET {SNAPSHOTS}/first/entries/scope");
        let headers = [("if-none-match", tag)];
        let seen = bench.check_as(&bench.agent, &target, &headers, "", 200, "redacted");
        assert_eq!(seen.header("etag"), "");
    }
}

#[test]
fn snapshots_are_compared_with_another_or_the_present() {
    let bench = with_a_snapshot();
    take(&bench, r#"{"label":"second"}"#, 201, "");
    bench.check("DELETE /v1/sessions/s/entries/plan", "", 200, "");
    let diff = |query: &str, status: u16, expected: &str| {
        bench.check(&format!("GET {SNAPSHOTS}/first/diff{query}"), "", status, expected);
    };
    diff("?to=second", 200, r#""added":[{"key":"plan","version":1"#);
    diff("", 200, r#""added":[],"removed":[],"changed":[{"key":"scope""#);
    diff("?to=none", 404, "SNAPSHOT_NOT_FOUND");
    diff("?to=", 400, "must be 1 to 64");
    diff("?to=a%20b", 400, "must be 1 to 64");
    diff("?from=second", 400, "this route takes only to");
    diff("?to=second&to=second", 400, "to is given twice");
}

#[test]
fn the_orchestrator_restores_a_snapshot() {
    let bench = with_a_snapshot();
    let restore = format!("POST {SNAPSHOTS}/first/restore");
    let orchestrator = |body: &str, status: u16, expected: &str| {
        bench.check_as(&bench.orchestrator, &restore, &[], body, status, expected);
    };
    bench.check(&restore, "", 403, "FORBIDDEN");
    orchestrator(r#"{"label":"first"}"#, 400, r#"no member \"label\", it takes no members"#);
    orchestrator("[]", 400, "for example {}, or no body at all");
    let form = [("content-type", "application/x-www-form-urlencoded")];
    bench.check_as(&bench.orchestrator, &restore, &form, "x=1", 415, "");
    orchestrator("", 200, r#""written":[{"key":"scope","version":3}],"deleted":["plan"]"#);
    orchestrator("{}", 200, r#""written":[],"deleted":[],"unchanged":1"#);
    bench.check("GET /v1/sessions/s/entries/scope", "", 200, r#""value":"one""#);
    let none = format!("POST {SNAPSHOTS}/none/restore");
    bench.check_as(&bench.orchestrator, &none, &[], "", 404, "SNAPSHOT_NOT_FOUND");
    bench.check_as(ADMIN_KEY, "POST /v1/sessions/s/archive", &[], "", 200, "");
    orchestrator("", 409, "SESSION_ARCHIVED");
    take(&bench, r#"{"label":"late"}"#, 409, "SESSION_ARCHIVED");
}
