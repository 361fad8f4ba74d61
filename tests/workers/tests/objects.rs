//! A request wakes an object only with a valid credential for its session. Woken objects
//! cost their operator money, so third parties must not be able to wake them.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{process::ExitCode, time::Duration};

use serde_json::json;
use shared_context_system::{Client, tell};
use shared_context_workers::{Setup, UnderTest, Workerd};

fn main() -> ExitCode {
    shared_context_workers::main(&[
        ("a_request_without_a_valid_credential_wakes_no_object", invalid_credentials),
        ("a_valid_credential_wakes_only_the_object_of_its_session", participants),
    ])
}

/// Sends the request `line` as `client` and asserts that it wakes exactly `woken`.
#[track_caller]
fn check(module: &UnderTest, client: &Client, line: &str, woken: &[&str]) {
    module.evict();
    let before = module.built();
    let (method, path) = line.split_once(' ').unwrap();
    let body = (method != "GET").then_some(&b"{\"action\":\"show_session\"}"[..]);
    let headers = [("content-type", "application/json"), ("accept", "application/json")];
    let answer = client.try_send(method, path, &headers, body).unwrap();
    let after = module.built();
    let built = after.iter().filter(|(name, it)| before.get(*name) != Some(it));
    let built: Vec<_> = built.map(|(name, _)| name.as_str()).collect();
    assert_eq!(built, woken, "{line}: {}", answer.text);
    assert_ne!(answer.status, 500, "{line}: {}", answer.text);
}

/// Requests to all routes.
const ROUTES: [&str; 24] = [
    "GET /",
    "GET /healthz",
    "GET /metrics",
    "GET /openapi.json",
    "GET /nothing",
    "GET /v1/tools",
    "GET /v1/sessions",
    "POST /v1/sessions",
    "POST /v1/sessions/import?session_id=a",
    "GET /v1/sessions/a",
    "DELETE /v1/sessions/a",
    "PATCH /v1/sessions/a",
    "GET /v1/sessions/a/nothing",
    "GET /v1/sessions/a/entries",
    "GET /v1/sessions/a/entries/scope",
    "PUT /v1/sessions/a/entries/scope",
    "POST /v1/sessions/a/shared_context",
    "POST /v1/sessions/a/credentials",
    "GET /v1/sessions/a/changes",
    "GET /v1/sessions/a/changes?wait=20",
    "GET /v1/sessions/a/export",
    "GET /v1/sessions/%00",
    "POST /mcp",
    "GET /mcp",
];

fn setup(folder: &tempfile::TempDir) -> Workerd {
    Setup::new(folder.path()).without_rate_limit().under_test().start()
}

fn invalid_credentials() {
    let (folder, other_folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let workerd = setup(&folder);
    let elsewhere = Setup::new(other_folder.path())
        .keys("another secret of another server, 32 bytes", "another-admin-key-0123456789abcdef")
        .start();
    let orchestrator = workerd.admin().create_session("a", &json!({}));
    let of_b = workerd.admin().create_session("b", &json!({}));
    let foreign = elsewhere.admin().create_session("a", &json!({}));
    let module = workerd.under_test();
    let token = orchestrator.credential();
    let foreign_admin = elsewhere.admin();
    let (head, signature) = token.rsplit_once('.').unwrap();
    let (_, payload) = head.split_once('.').unwrap();
    let unsigned = format!("eyJhbGciOiJub25lIn0.{payload}.");
    let altered = format!("{head}A.{signature}");
    let cut = &token[..token.len() - 4];
    let mut tried = 0;
    let credentials: [(&str, &str); 9] = [
        ("none", ""),
        ("garbage", "garbage"),
        ("a word in three parts", "a.b.c"),
        ("one that says it needs no signature", &unsigned),
        ("one that was altered", &altered),
        ("half of one", cut),
        ("another server's", foreign.credential()),
        ("another server's admin key", foreign_admin.credential()),
        ("a long one", &"x".repeat(6_000)),
    ];
    for (what, credential) in credentials {
        let client = workerd.stranger().with_credential(credential);
        for route in ROUTES {
            check(&module, &client, route, &[]);
            tried += 1;
        }
        tell(&format!("{what}: no object"));
    }
    // The credential of another session wakes only that session's object.
    for route in ROUTES {
        let own: &[&str] = if route.ends_with("/mcp") { &["session/b"] } else { &[] };
        check(&module, &of_b, route, own);
        tried += 1;
    }
    // An expired credential.
    module.set_ahead(Duration::from_hours(31 * 24));
    for route in ROUTES {
        check(&module, &orchestrator, route, &[]);
        tried += 1;
    }
    tell(&format!("{tried} requests, no object but their own"));
}

fn participants() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = setup(&folder);
    let orchestrator = workerd.admin().create_session("a", &json!({}));
    let module = workerd.under_test();
    for line in ["GET /v1/sessions/a", "GET /v1/sessions/a/entries", "POST /mcp"] {
        check(&module, &orchestrator, line, &["session/a"]);
    }
    let answered_by_entry =
        ["GET /healthz", "GET /openapi.json", "GET /v1/nothing", "POST /v1/sessions/a"];
    for line in answered_by_entry {
        check(&module, &orchestrator, line, &[]);
    }
    let admin = workerd.admin();
    check(&module, &admin, "GET /v1/sessions/a", &["session/a"]);
    check(&module, &admin, "GET /v1/sessions", &["Directory", "session/a"]);
    // No object has this name.
    check(&module, &admin, "GET /v1/sessions/%20", &[]);
}
