//! Export, import and inspection of sessions.

use serde_json::Value;

use crate::bench::{ADMIN_KEY, Bench, TestResponse};

const IMPORT: &str = "POST /v1/sessions/import";

/// Exports a session with an entry, its history and a snapshot.
fn exported(bench: &Bench) -> TestResponse {
    bench.check("PUT /v1/sessions/s/entries/scope", "one", 201, "");
    let label = r#"{"label":"first"}"#;
    let take = "POST /v1/sessions/s/snapshots";
    bench.check_as(&bench.orchestrator, take, &[], label, 201, "");
    bench.check("PUT /v1/sessions/s/entries/scope", "two \u{1f980} \"\\", 200, "");
    bench.check_as(ADMIN_KEY, "GET /v1/sessions/s/export", &[], "", 200, "shared-context/session/")
}

#[test]
fn a_session_is_exported_as_a_file_and_imported_byte_for_byte() {
    let bench = Bench::new();
    let document = exported(&bench);
    assert_eq!(document.header("content-type"), "application/json");
    assert_eq!(document.header("content-disposition"), "attachment; filename=\"s.json\"");
    assert_eq!(document.header("cache-control"), "no-store");
    bench.check_as(ADMIN_KEY, IMPORT, &[], &document.body, 409, "SESSION_EXISTS");
    bench.check_as(ADMIN_KEY, "DELETE /v1/sessions/s", &[], "", 200, "");
    let created = bench.check_as(ADMIN_KEY, IMPORT, &[], &document.body, 201, "");
    assert_eq!(created.header("location"), "/v1/sessions/s");
    assert_eq!(created.json()["session_id"], "s");
    assert_eq!(created.json()["expires_at"], "2026-03-22T14:30:00Z");
    let again = bench.check_as(ADMIN_KEY, "GET /v1/sessions/s/export", &[], "", 200, "");
    assert_eq!(again.body, document.body);
    // The new orchestrator's credential is valid, the earlier ones are not.
    let credential = created.json()["credential"].as_str().unwrap().to_owned();
    bench.check_as(&credential, "PUT /v1/sessions/s/entries/scope", &[], "three", 200, "");
    bench.check("GET /v1/sessions/s/entries/scope", "", 401, "UNAUTHENTICATED");
}

#[test]
fn a_session_is_imported_under_another_id() {
    let bench = Bench::new();
    let document = exported(&bench).body;
    let import = |query: &str, status: u16, expected: &str| {
        let target = format!("{IMPORT}{query}");
        bench.check_as(ADMIN_KEY, &target, &[], &document, status, expected)
    };
    assert_eq!(import("?session_id=copy", 201, "").header("location"), "/v1/sessions/copy");
    import("?session_id=copy", 409, "SESSION_EXISTS");
    import("?session_id=", 400, "session_id must be 1 to 128");
    import("?session_id=a%2Fb", 400, "session_id must be 1 to 128");
    import("?session=copy", 400, "this route takes only session_id");
    import("?session_id=a&session_id=b", 400, "session_id is given twice");
    for path in ["entries/scope", "snapshots/first/entries/scope", "entries/scope/history"] {
        let read = |session: &str| {
            let target = format!("GET /v1/sessions/{session}/{path}");
            let mut seen = bench.check_as(ADMIN_KEY, &target, &[], "", 200, "").json();
            // The revision of a copy differs from that of the original.
            seen.as_object_mut().unwrap().remove("revision");
            seen
        };
        assert_eq!(read("copy"), read("s"), "{path}");
    }
}

#[test]
fn an_invalid_or_altered_document_is_rejected() {
    let bench = Bench::new();
    let document = exported(&bench).body;
    let check = |body: &str, status: u16, expected: &str| {
        let target = format!("{IMPORT}?session_id=t");
        let seen = bench.check_as(ADMIN_KEY, &target, &[], body, status, expected);
        assert!(!seen.body.contains("hidden"), "{seen:?}");
        bench.check_as(ADMIN_KEY, "GET /v1/sessions/t", &[], "", 404, "SESSION_NOT_FOUND");
        seen
    };
    check("", 400, "the body is empty; send the document");
    check(" \n", 400, "the body is empty; send the document");
    check("{\"hidden\":", 400, "the body is not JSON: it ends too early");
    check(&format!("{document} {{}}"), 400, "the body is not JSON: see line 1");
    check("null", 400, "document");
    for none in ["[]", "\"hidden\"", "7", "{}", r#"{"format":"hidden"}"#] {
        check(none, 400, "MALFORMED_REQUEST");
    }
    check(&format!("{{\"a\":{}1{}}}", "[".repeat(9_999), "]".repeat(9_999)), 400, "");
    // The document is one JSON value and cannot inject members into the request around it.
    check(r#"{},"action":"delete_session""#, 400, "see line 1, at character 3");
    let newer = document.replace("/session/1", "/session/9");
    check(&newer, 422, "FORMAT_TOO_NEW");
    let altered = document.replace("\"version\":2", "\"version\":3");
    let place = check(&altered, 422, "DOCUMENT_ALTERED").json()["error"]["place"].clone();
    assert!(place.as_str().unwrap().starts_with("entries.0"), "{place}");
    let seen = bench.send(ADMIN_KEY, IMPORT, &[], b"{\"a\":\"hidden\xff\"}".to_vec());
    assert!(seen.body.contains("not UTF-8 at byte 12"), "{seen:?}");
    bench.check_as(ADMIN_KEY, IMPORT, &[], "{}", 400, "names no session_id; send the document");
    bench.check_as(ADMIN_KEY, IMPORT, &[], "[\"t\"]", 400, "MALFORMED_REQUEST");
    let text = [("content-type", "text/plain")];
    bench.check_as(ADMIN_KEY, IMPORT, &text, &document, 415, "application/json");
}

#[test]
fn only_the_operator_exports_and_imports_sessions() {
    let bench = Bench::new();
    let document = exported(&bench).body;
    for path in ["export", "inspect"] {
        let target = format!("GET /v1/sessions/s/{path}");
        bench.check(&target, "", 403, "FORBIDDEN");
        bench.check_as(&bench.orchestrator, &target, &[], "", 403, "FORBIDDEN");
        bench.check_as("", &target, &[], "", 401, "UNAUTHENTICATED");
        bench.check_as(ADMIN_KEY, &format!("{target}?full=1"), &[], "", 400, "no query parameters");
        bench.check_as(ADMIN_KEY, &target.replace("/s/", "/t/"), &[], "", 404, "SESSION_NOT_FOUND");
    }
    bench.check(IMPORT, &document, 403, "FORBIDDEN");
    bench.check_as(&bench.orchestrator, IMPORT, &[], &document, 403, "FORBIDDEN");
    bench.check_as("", IMPORT, &[], &document, 401, "UNAUTHENTICATED");
}

#[test]
fn an_inspection_reports_the_whole_session() {
    let bench = Bench::new();
    exported(&bench);
    let seen = bench.check_as(ADMIN_KEY, "GET /v1/sessions/s/inspect", &[], "", 200, "").json();
    assert_eq!(seen["session"]["session_id"], "s");
    assert_eq!(seen["entries"][0]["value"], "two \u{1f980} \"\\");
    assert_eq!(seen["snapshots"][0]["label"], "first");
    assert_eq!(seen["history"]["versions"], 1);
    assert_eq!(seen["next_expiry"], Value::Null);
}

#[test]
fn a_session_may_be_called_import() {
    let bench = Bench::new();
    let orchestrator = bench.create("import");
    bench.check_as(&orchestrator, "GET /v1/sessions/import", &[], "", 200, r#""import""#);
    bench.check_as(&orchestrator, "PUT /v1/sessions/import/entries/scope", &[], "x", 201, "");
    bench.check_as(ADMIN_KEY, "DELETE /v1/sessions/import", &[], "", 200, "deleted_session");
}
