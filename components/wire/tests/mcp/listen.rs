//! `subscriptions/listen`: acknowledgements and notifications.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use shared_context_wire::http::Watch;

use crate::{
    bench::{ADMIN_KEY, Bench},
    streams::{messages, subject, subjects},
};

const KEYS: &str = "session://s/keys";
const A: &str = "session://s/entries/a";

/// Returns a filter for the list, the keys and the entry `a`.
pub(crate) fn everything() -> Value {
    json!({"resourcesListChanged": true, "resourceSubscriptions": [KEYS, A]})
}

fn write(key: &str) -> Value {
    json!({"action": "write", "key": key, "value": "x"})
}

/// Opens a stream of the agent with the filter `everything`, and reads its acknowledgement.
pub(crate) fn opened(bench: &Bench) -> Box<Watch> {
    let mut watch = bench.listen(&bench.agent, &json!(1), &everything());
    bench.next(&mut watch).unwrap();
    watch
}

/// Returns the acknowledged part of the filter `wanted`, and true if the stream continues after
/// the acknowledgement.
#[track_caller]
fn acknowledged(bench: &Bench, token: &str, wanted: &Value) -> (Value, bool) {
    let mut watch = bench.listen(token, &json!("listen:0"), wanted);
    let messages = bench.next_messages(&mut watch);
    let params = &messages[0]["params"];
    assert_eq!(messages[0]["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(params["_meta"], json!({"io.modelcontextprotocol/subscriptionId": "listen:0"}));
    if let Some(last) = messages.get(1) {
        check_result(last, &json!("listen:0"));
        assert_eq!(bench.next(&mut watch), None);
    }
    (params["notifications"].clone(), messages.len() == 1)
}

/// Checks that `message` is the final result of the stream with this id.
#[track_caller]
pub(crate) fn check_result(message: &Value, id: &Value) {
    assert_eq!(message["id"], *id, "{message}");
    assert_eq!(message["result"]["resultType"], "complete", "{message}");
    let meta = &message["result"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/subscriptionId"], *id, "{message}");
    assert_eq!(meta["io.modelcontextprotocol/serverInfo"]["name"], "shared-context", "{message}");
}

#[test]
fn only_the_supported_part_of_a_filter_is_acknowledged() {
    let bench = Bench::new();
    bench.create("t");
    let check = |wanted: Value, expected: Value| {
        let is_open = expected != json!({});
        assert_eq!(acknowledged(&bench, &bench.agent, &wanted), (expected, is_open), "{wanted}");
    };
    check(everything(), everything());
    check(json!({"resourceSubscriptions": [A]}), json!({"resourceSubscriptions": [A]}));
    check(json!({"resourcesListChanged": true}), json!({"resourcesListChanged": true}));
    check(
        json!({"resourcesListChanged": true, "toolsListChanged": true, "promptsListChanged": true,
               "taskIds": ["1"]}),
        json!({"resourcesListChanged": true}),
    );
    // URIs are repeated as written, without duplicates. Other URIs are left out.
    check(
        json!({"resourceSubscriptions": [
            "session://t/keys", A, "session://t/entries/a", "file:///a", "session://s/entries/A b",
            "session://s/entries/inv%3Afindings", "skill://shared-context/SKILL.md", A, "",
            "session://s/snapshots/x", KEYS, "session://s/context", "session://t/context", format!("session://s/entries/{}", "a".repeat(5_000)),
        ]}),
        json!({"resourceSubscriptions": [
            A, "session://s/entries/inv%3Afindings", KEYS, "session://s/context",
        ]}),
    );
    // With nothing to report the stream ends at once, without an error.
    for nothing in [
        json!({}),
        json!({"toolsListChanged": true}),
        json!({"resourcesListChanged": false, "resourceSubscriptions": []}),
        json!({"resourcesListChanged": null, "resourceSubscriptions": null}),
        json!({"resourceSubscriptions": ["session://t/keys"]}),
    ] {
        check(nothing, json!({}));
    }
    assert_eq!(bench.open_streams(), 0);
}

#[test]
fn the_admin_watches_the_session_in_the_uris() {
    let bench = Bench::new();
    bench.create("t");
    let check = |wanted: Value, expected: Value| {
        let is_open = expected != json!({});
        assert_eq!(acknowledged(&bench, ADMIN_KEY, &wanted), (expected, is_open), "{wanted}");
    };
    check(everything(), everything());
    check(
        json!({"resourceSubscriptions": [A, "file:///a"]}),
        json!({"resourceSubscriptions": [A]}),
    );
    check(json!({"resourcesListChanged": true}), json!({}));
    check(json!({"resourceSubscriptions": ["file:///a"]}), json!({}));

    let check_rejected = |uris: Value, expected: &str| {
        let notifications = json!({"notifications": {"resourceSubscriptions": uris}});
        let error = bench.modern_error(ADMIN_KEY, "subscriptions/listen", notifications);
        assert_eq!(error["code"], -32602, "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    };
    check_rejected(json!([KEYS, "session://t/keys"]), "the sessions s and t");
    check_rejected(json!(["session://gone/keys"]), "SESSION_NOT_FOUND");

    let mut watch = bench.listen(ADMIN_KEY, &json!(1), &everything());
    bench.next(&mut watch).unwrap();
    let hidden =
        json!({"action": "write", "key": "a", "value": "x", "readable_by": ["orchestrator"]});
    bench.request_during_wait("orchestrator", &hidden);
    assert_eq!(subjects(&bench.next(&mut watch).unwrap()), "a keys list");
}

#[test]
fn an_invalid_filter_is_rejected() {
    let bench = Bench::new();
    let many: Vec<String> = (0..1_001).map(|it| format!("session://s/entries/k{it}")).collect();
    for notifications in [
        Value::Null,
        json!(7),
        json!([true]),
        json!("resourcesListChanged"),
        json!({"resourcesListChanged": 1}),
        json!({"resourcesListChanged": "true"}),
        json!({"resourceSubscriptions": A}),
        json!({"resourceSubscriptions": [7]}),
        json!({"resourceSubscriptions": [null]}),
        json!({"resourceSubscriptions": many}),
    ] {
        let params = json!({ "notifications": notifications });
        let seen = bench.modern(&bench.agent, "subscriptions/listen", params);
        assert_eq!(seen.status, 200);
        assert_eq!(seen.json()["error"]["code"], -32602, "{notifications}: {seen:?}");
        assert_eq!(seen.json()["id"], 1);
    }
    let error = bench.modern_error(&bench.agent, "subscriptions/listen", json!({}));
    assert!(error["message"].as_str().unwrap().contains("resourceSubscriptions"), "{error}");
    let fits = json!({ "resourceSubscriptions": many[..1_000] });
    assert_eq!(acknowledged(&bench, &bench.agent, &fits), (fits.clone(), true));
}

#[test]
fn a_void_credential_gets_http_401() {
    let bench = Bench::new();
    bench.check_as(ADMIN_KEY, "POST /v1/sessions/s/revoke", &[], "", 200, "");
    for notifications in [everything(), json!({})] {
        let params = json!({ "notifications": notifications });
        assert_eq!(bench.modern(&bench.agent, "subscriptions/listen", params).status, 401);
    }
    assert_eq!(bench.open_streams(), 0);
}

#[test]
fn every_kind_of_change_is_reported() {
    const AGENT: &str = "subagent:analysis";
    let bench = Bench::new();
    let mut watch = opened(&bench);
    let mut check = |participant: &'static str, request: Value, expected: &str| {
        bench.request_during_wait(participant, &request);
        let text = bench.next(&mut watch).unwrap();
        assert_eq!(subjects(&text), expected, "{request}");
        for message in messages(&text) {
            let meta = json!({"io.modelcontextprotocol/subscriptionId": 1});
            assert_eq!(message["params"]["_meta"], meta, "{message}");
        }
        // The event has no id, because these streams are not resumable.
        assert!(text.starts_with("event: message\ndata: {") && !text.contains("\nid:"), "{text}");
    };

    check(AGENT, write("a"), "a keys list");
    check(AGENT, write("a"), "a keys");
    check(AGENT, write("b"), "keys list");
    check(AGENT, write("b"), "keys");
    check("orchestrator", json!({"action": "snapshot", "label": "one"}), "keys");
    let batch = json!({"action": "write_batch", "writes": [
        {"key": "a", "value": "y"}, {"key": "b", "value": "y"}, {"key": "c", "value": "y"}]});
    check(AGENT, batch, "a keys list");
    check(AGENT, json!({"action": "delete", "key": "b"}), "keys list");
    check(AGENT, json!({"action": "delete", "key": "a"}), "a keys list");
    check("orchestrator", json!({"action": "restore_snapshot", "label": "one"}), "a keys list");
    let access = json!({"action": "set_access", "key": "a", "writable_by": ["orchestrator"]});
    check("orchestrator", access, "a keys list");
    let redact = json!({"action": "redact", "key": "a", "reason": "it held a password"});
    check("orchestrator", redact, "a keys");
    check("orchestrator", json!({"action": "delete_snapshot", "label": "one"}), "keys");
    let brief = json!({"action": "write", "key": "a", "value": "z", "ttl_seconds": 60});
    check("orchestrator", brief, "a keys");
    bench.engine.now_ms.fetch_add(61_000, Ordering::SeqCst);
    // An expired entry is reported with the commit that sweeps it.
    check(AGENT, write("b"), "a keys list");
    check("admin", json!({"action": "archive_session"}), "keys");
}

#[test]
fn only_the_requested_notifications_are_sent() {
    let bench = Bench::new();
    let check = |wanted: Value, expected: &[&str]| {
        let mut watch = bench.listen(&bench.agent, &json!(1), &wanted);
        bench.next(&mut watch).unwrap();
        for key in ["a", "b"] {
            for request in [write(key), write(key), json!({"action": "delete", "key": key})] {
                bench.request_during_wait("subagent:analysis", &request);
            }
        }
        let mut seen = Vec::new();
        while let text = bench.next(&mut watch).unwrap()
            && text != ": heartbeat\n\n"
        {
            seen.push(subjects(&text));
        }
        assert_eq!(seen, expected, "{wanted}");
    };
    check(json!({"resourceSubscriptions": [A]}), &["a"; 3]);
    check(json!({"resourceSubscriptions": [KEYS]}), &["keys"; 6]);
    check(json!({"resourcesListChanged": true}), &["list"; 4]);
    check(json!({"resourceSubscriptions": ["session://s/entries/c"]}), &[]);
    let both = json!({"resourcesListChanged": true, "resourceSubscriptions": [A]});
    check(both, &["a list", "a", "a list", "list", "list"]);
}

#[test]
fn hidden_entries_are_reported_only_once_visible() {
    let bench = Bench::new();
    let mut watch = opened(&bench);
    let request = |request: Value| bench.request_during_wait("orchestrator", &request);
    request(json!({"action": "write", "key": "a", "value": "x", "readable_by": ["orchestrator"]}));
    request(write("a"));
    assert_eq!(bench.next(&mut watch).unwrap(), ": heartbeat\n\n");
    request(json!({"action": "set_access", "key": "a", "readable_by": ["*"]}));
    assert_eq!(subjects(&bench.next(&mut watch).unwrap()), "a keys list");
    request(json!({"action": "set_access", "key": "a", "readable_by": ["orchestrator"]}));
    request(json!({"action": "delete", "key": "a"}));
    assert_eq!(bench.next(&mut watch).unwrap(), ": heartbeat\n\n");
}

#[test]
fn a_limited_credential_is_notified_of_its_keys_only() {
    let bench = Bench::new();
    let body = r#"{"participant":"subagent:brief","keys":["inv_*"]}"#;
    let minted = bench.check_as(ADMIN_KEY, "POST /v1/sessions/s/credentials", &[], body, 201, "");
    let token = minted.json()["credential"].as_str().unwrap().to_owned();
    let inv = "session://s/entries/inv_1";
    let mut wanted = everything();
    wanted["resourceSubscriptions"] = json!([A, inv, KEYS]);
    let mut honoured = everything();
    honoured["resourceSubscriptions"] = json!([inv, KEYS]);
    assert_eq!(acknowledged(&bench, &token, &wanted), (honoured, true));
    let mut watch = bench.listen(&token, &json!(1), &wanted);
    bench.next(&mut watch).unwrap();
    bench.write_during_wait("a");
    bench.write_during_wait("inv_1");
    assert_eq!(subjects(&bench.next(&mut watch).unwrap()), "inv_1 keys list");
    bench.request_during_wait("subagent:analysis", &json!({"action": "delete", "key": "a"}));
    assert_eq!(bench.next(&mut watch).unwrap(), ": heartbeat\n\n");
}

/// A client reads a resource after the acknowledgement, and relies on notifications of all
/// later changes.
#[test]
fn changes_right_after_the_acknowledgement_are_reported() {
    let bench = Bench::new();
    let hook = |request: Value| {
        let hook = move |engine: &crate::bench::LocalEngine| {
            engine.invoke_as("subagent:analysis", &request.to_string());
        };
        Box::new(hook) as crate::bench::Hook
    };
    *bench.engine.hooks.lock().unwrap() =
        [("show_session", hook(write("b"))), ("\"changes\"", hook(write("a")))].into();
    let mut watch = bench.listen(&bench.agent, &json!(1), &everything());
    let messages = bench.next_messages(&mut watch);
    let [first, rest @ ..] = &messages[..] else { panic!("{messages:?}") };
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    let rest: Vec<&str> = rest.iter().map(subject).collect();
    assert_eq!(rest, ["list", "keys", "a"]);
    bench.write("a");
    assert_eq!(subjects(&bench.next(&mut watch).unwrap()), "a keys");
    assert_eq!(bench.next(&mut watch).unwrap(), ": heartbeat\n\n");
}

#[test]
fn a_quiet_stream_sends_heartbeats() {
    let bench = Bench::new();
    let mut watch = opened(&bench);
    for nth in 1..=3 {
        assert_eq!(bench.next(&mut watch).unwrap(), ": heartbeat\n\n");
        assert_eq!(bench.engine.micros.load(Ordering::SeqCst), nth * 15_000_000);
    }
}

/// An agent writes a hundred times while the client reads nothing. Each batch of changes then
/// makes one notification per resource.
#[test]
fn a_slow_client_gets_merged_notifications_and_misses_none() {
    let bench = Bench::new();
    let mut watch = opened(&bench);
    for nth in 0..100 {
        bench.write(if nth < 99 { "b" } else { "a" });
    }
    let mut seen = Vec::new();
    while let text = bench.next(&mut watch).unwrap()
        && text != ": heartbeat\n\n"
    {
        assert!(text.len() < 600, "{text}");
        seen.push(subjects(&text));
    }
    assert_eq!(seen, ["keys list", "keys", "keys", "a keys list"]);
}

/// More changes were made than the session stores. The missing ones are unknown, so every
/// resource counts as changed.
#[test]
fn a_client_that_fell_behind_is_notified_of_everything() {
    let bench = Bench::new();
    let body = r#"{"session_id":"t","config":{"changes_max":256}}"#;
    bench.check_as(ADMIN_KEY, "POST /v1/sessions", &[], body, 201, "");
    let writer = bench.mint("t", "subagent:writer");
    let wanted = json!({"resourcesListChanged": true,
        "resourceSubscriptions": ["session://t/entries/a", "session://t/entries/b"]});
    let mut watch = bench.listen(&writer, &json!(1), &wanted);
    bench.next(&mut watch).unwrap();
    let write = |key: &str| {
        bench.call(&writer, "context_write", json!({"key": key, "value": "x"}));
    };
    for _ in 0..300 {
        write("c");
    }
    assert_eq!(subjects(&bench.next(&mut watch).unwrap()), "a b list");
    assert_eq!(bench.next(&mut watch).unwrap(), ": heartbeat\n\n");
    write("a");
    assert_eq!(subjects(&bench.next(&mut watch).unwrap()), "a list");
}
