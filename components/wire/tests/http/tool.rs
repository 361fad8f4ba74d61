//! The JSON tool over HTTP: request bytes pass unchanged, errors become problems.

use serde_json::json;
use shared_context_codec::Failure;

use crate::bench::{ADMIN_KEY, Bench};

const TOOL: &str = "POST /v1/sessions/s/shared_context";

#[test]
fn the_examples_of_the_specification_work_as_written() {
    let bench = Bench::new();
    let write = r#"{
  "action": "write",
  "key": "problem_summary",
  "value": "Updated summary after investigation..."
}"#;
    let read = "{\n  \"action\": \"read\",\n  \"key\": \"problem_summary\"\n}";
    bench.check(
        TOOL,
        write,
        200,
        r#"{"key":"problem_summary","version":1,"written_by":"subagent:analysis","written_at":"2026-02-20T14:30:00Z""#,
    );
    bench.check(
        TOOL,
        read,
        200,
        r#"{"key":"problem_summary","value":"Updated summary after investigation...","written_by":"subagent:analysis","written_at":"2026-02-20T14:30:00Z","version":1"#,
    );
    bench.check(TOOL, r#"{"action":"list_keys"}"#, 200, r#"{"keys":[{"key":"problem_summary""#);
    let delete = r#"{"action":"delete","key":"problem_summary"}"#;
    bench.check(TOOL, delete, 200, r#"{"deleted":"problem_summary","previous_version":1"#);
    let sent = bench.engine.requests.lock().unwrap();
    assert_eq!(sent[0], write.as_bytes(), "passed on byte by byte");
    assert_eq!(sent[1], read.as_bytes());
}

#[test]
fn errors_of_the_tool_are_problems_that_contain_them() {
    let bench = Bench::new();
    let seen = bench.check(TOOL, r#"{"action":"read","key":"none"}"#, 404, "");
    assert_eq!(seen.json()["error"]["code"], "KEY_NOT_FOUND");
    assert_eq!(seen.json()["title"], "No such entry");
    let check = |body: &str, status: u16, code: &str| {
        let seen = bench.check(TOOL, body, status, "");
        assert_eq!(seen.json()["error"]["code"], code, "{body}");
    };
    check("", 400, "MALFORMED_REQUEST");
    check("{", 400, "MALFORMED_REQUEST");
    check("[]", 400, "MALFORMED_REQUEST");
    check("{}", 400, "MALFORMED_REQUEST");
    check(r#"{"action":"fly"}"#, 400, "MALFORMED_REQUEST");
    check(r#"{"action":"read","key":"a","written_by":"admin"}"#, 400, "MALFORMED_REQUEST");
    check(r#"{"action":"read","key":"A"}"#, 400, "INVALID_KEY");
    check(r#"{"action":"audit"}"#, 403, "FORBIDDEN");
    check(r#"{"action":"delete_session"}"#, 403, "FORBIDDEN");
    check(r#"{"action":"create_session"}"#, 403, "FORBIDDEN");
    let value = "x".repeat(4001);
    let body = json!({"action": "write", "key": "a", "value": value}).to_string();
    check(&body, 413, "VALUE_TOO_LARGE");
    let nested = format!("{}{}", "[".repeat(100), "]".repeat(100));
    check(&format!(r#"{{"action":{nested}}}"#), 400, "MALFORMED_REQUEST");
}

#[test]
fn the_content_type_is_json_or_absent() {
    let bench = Bench::new();
    let check = |content_type: &str, status: u16| {
        let headers = [("content-type", content_type)];
        let body = r#"{"action":"list_keys"}"#;
        bench.check_as(&bench.agent, TOOL, &headers, body, status, "");
    };
    check("application/json", 200);
    check("application/json; charset=utf-8", 200);
    check("text/plain", 415);
    check("application/x-www-form-urlencoded", 415);
    bench.check(TOOL, r#"{"action":"list_keys"}"#, 200, "keys");
    bench.check(&format!("{TOOL}?action=read"), "{}", 400, "takes no query parameters");
}

/// `If-Match` on the tool's route was once ignored, and the entry was overwritten.
#[test]
fn conditional_headers_are_rejected_where_nothing_has_a_tag() {
    let bench = Bench::new();
    let write = r#"{"action":"write","key":"a","value":"x"}"#;
    let session = r#"{"session_id":"t"}"#;
    let mint = r#"{"participant":"subagent:b"}"#;
    for header in ["if-match", "if-none-match"] {
        for (target, body) in [
            (TOOL, write),
            ("POST /v1/sessions", session),
            ("POST /v1/sessions/s/credentials", mint),
            ("POST /v1/sessions/import", "{}"),
            ("POST /v1/projects/p/import", "{}"),
        ] {
            let token = if target == TOOL { &bench.agent } else { ADMIN_KEY };
            let expected = format!("the header {header} means nothing here");
            bench.check_as(token, target, &[(header, "\"1\"")], body, 400, &expected);
        }
    }
    bench.check("GET /v1/sessions/s/entries", "", 200, r#""keys":[]"#);
    bench.check_as(ADMIN_KEY, "GET /v1/sessions/t", &[], "", 404, "SESSION_NOT_FOUND");
}

/// `"request_id":null` was once a second id beside the header, although null means absent.
#[test]
fn a_request_id_that_is_null_leaves_the_header_alone() {
    let bench = Bench::new();
    let send = |body: &str, status: u16, expected: &str| {
        let headers = [("idempotency-key", "once")];
        bench.check_as(&bench.agent, TOOL, &headers, body, status, expected).body
    };
    let write = r#" { "action" : "write" , "request_id" : null , "key" : "a" , "value" : "x" } "#;
    assert_eq!(send(write, 200, r#""version":1"#), send(write, 200, r#""version":1"#));
    let twice = r#"{"action":"write","request_id":"once","key":"a","value":"x"}"#;
    send(twice, 400, "request_id occurs twice");
    send(r#"{"action":"write","key":"a","key":"b","value":"x"}"#, 400, "key occurs twice");
    send(r#"{"action":"write","key":"a""#, 400, "the JSON ends before it is complete");
    send(
        r#"{"action":"write","request_id":null,"request_id":null}"#,
        400,
        "request_id occurs twice",
    );
}

#[test]
fn a_failure_of_the_host_affects_one_request_only() {
    let bench = Bench::new();
    for (code, status) in
        [("INTERNAL", 500), ("STORAGE_UNAVAILABLE", 503), ("FROM_A_NEWER_COMPONENT", 500)]
    {
        *bench.engine.next_failure.lock().unwrap() = Some(Failure::new(code, "the guest trapped"));
        bench.check(TOOL, r#"{"action":"list_keys"}"#, status, "the guest trapped");
        bench.check(TOOL, r#"{"action":"list_keys"}"#, 200, "keys");
    }
}

#[test]
fn a_malformed_reply_of_the_engine_is_a_server_error() {
    use std::time::Duration;

    use bytes::Bytes;
    use http::Request;
    use shared_context_codec::{Caller, Effect, Reply};
    use shared_context_core::{ScopeKind, time::Timestamp};
    use shared_context_wire::{Engine, Woken};

    struct BrokenEngine;
    impl Engine for BrokenEngine {
        async fn invoke(&self, _: &str, _: &Caller, _: &[u8]) -> Result<Reply, Failure> {
            Ok(Reply {
                revision: 1,
                body: b"not json".to_vec(),
                effect: Effect::Done,
                next_expiry_ms: None,
            })
        }
        async fn ids(
            &self,
            _: ScopeKind,
            _: Option<&str>,
            _: usize,
        ) -> Result<Vec<String>, Failure> {
            Ok(vec!["a\"b".to_owned()])
        }
        async fn position(&self, _: &str) -> u64 {
            0
        }
        async fn wait_for_change(&self, _: &str, _: u64, _: Duration) -> Woken {
            Woken::TimeUp
        }
        fn now(&self) -> Timestamp {
            Timestamp(0)
        }
        fn monotonic_micros(&self) -> u64 {
            0
        }
    }
    let bench = Bench::new();
    let request = Request::post("/v1/sessions/s/credentials")
        .header("host", "localhost")
        .header("authorization", format!("Bearer {ADMIN_KEY}"))
        .body(Bytes::from_static(br#"{"participant":"subagent:a"}"#))
        .unwrap();
    let response = crate::bench::ready(bench.http.handle(&BrokenEngine, request));
    assert_eq!(response.status(), 500);
}

/// Calls every action as a model does. Where the schema requires all members, unused ones are
/// null; elsewhere they are absent.
#[test]
fn every_offered_action_works_with_its_required_members() {
    for (format, schema, is_null_sent) in [
        ("openai", "/tools/0/function/parameters", true),
        ("anthropic", "/tools/0/input_schema", false),
    ] {
        let bench = Bench::new();
        let target = format!("GET /v1/tools?format={format}");
        let document = bench.check_as("", &target, &[], "", 200, "").json();
        let properties = &document.pointer(schema).unwrap()["properties"];
        let names: Vec<&String> = properties.as_object().unwrap().keys().collect();
        bench.check("PUT /v1/sessions/s/entries/plan", "Look first.", 201, "");
        for action in properties["action"]["enum"].as_array().unwrap() {
            let action = action.as_str().unwrap();
            let mut request = json!({ "action": action });
            if is_null_sent {
                request = names.iter().map(|it| ((**it).clone(), json!(null))).collect();
                request["action"] = json!(action);
            }
            for (name, value) in required_members(action) {
                assert!(properties.get(name).is_some(), "{format} lacks {name} for {action}");
                request[name] = value;
            }
            bench.check_as(&bench.orchestrator, TOOL, &[], &request.to_string(), 200, "");
            if ["delete", "write_batch"].contains(&action) {
                bench.check("PUT /v1/sessions/s/entries/scope", "Find it.", 201, "");
            }
        }
    }
}

/// Returns the members that `action` requires.
fn required_members(action: &str) -> Vec<(&'static str, serde_json::Value)> {
    let key = ("key", json!("scope"));
    let label = ("label", json!("first"));
    match action {
        "read" => vec![("key", json!("plan"))],
        "write" => vec![key, ("value", json!("Find it."))],
        "delete" | "read_history" => vec![key],
        "set_access" => vec![key, ("readable_by", json!(["*"]))],
        "redact" => vec![key, ("reason", json!("a password"))],
        "read_batch" => vec![("keys", json!(["scope", "plan"]))],
        "write_batch" => vec![("deletes", json!([{"key": "scope"}]))],
        "snapshot" | "read_snapshot" | "restore_snapshot" | "delete_snapshot" => vec![label],
        "diff_snapshots" => vec![("from", json!("first"))],
        _ => Vec::new(),
    }
}

#[cfg(not(feature = "memory-tool"))]
#[test]
fn a_build_without_the_memory_tool_names_the_other_route() {
    let bench = Bench::new();
    let view = r#"{"command":"view","path":"/memories"}"#;
    bench.check("POST /v1/sessions/s/memory", view, 404, "without the memory tool; use POST");
}
