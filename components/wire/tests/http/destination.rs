//! Routing on a server of many hosts: the destination of a request, and that handling it uses
//! no other scope.

use std::{
    sync::{LazyLock, Mutex},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Uri};
use proptest::prelude::*;
use serde_json::Value;
use shared_context_codec::{Caller, Credential, Failure, Reply};
use shared_context_core::{Scope, ScopeKind, time::Timestamp};
use shared_context_wire::{
    Engine, Woken,
    credential::{Grant, Keys},
    http::Body,
};

use crate::{
    anything,
    bench::{ADMIN_KEY, Bench, LocalEngine, SECRET, START_MS, ready},
};

/// An engine that records the calls it gets.
struct RecordingEngine<'e> {
    engine: &'e LocalEngine,
    calls: Mutex<Vec<EngineCall>>,
}

#[derive(Debug, PartialEq, Eq)]
enum EngineCall {
    /// The list of ids.
    Ids,
    /// A call on this scope, with the action of the request.
    Scoped(String, String),
}

impl RecordingEngine<'_> {
    fn record(&self, scope: &str, action: &str) {
        self.calls.lock().unwrap().push(EngineCall::Scoped(scope.to_owned(), action.to_owned()));
    }
}

impl Engine for RecordingEngine<'_> {
    async fn invoke(&self, scope: &str, caller: &Caller, request: &[u8]) -> Result<Reply, Failure> {
        let request_read: Value = serde_json::from_slice(request).unwrap_or_default();
        self.record(scope, request_read["action"].as_str().unwrap_or_default());
        self.engine.invoke(scope, caller, request).await
    }

    async fn ids(
        &self,
        kind: ScopeKind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, Failure> {
        self.calls.lock().unwrap().push(EngineCall::Ids);
        self.engine.ids(kind, after, limit).await
    }

    async fn position(&self, scope: &str) -> u64 {
        self.record(scope, "position");
        if scope.is_empty() { 0 } else { self.engine.position(scope).await }
    }

    async fn wait_for_change(&self, scope: &str, seen: u64, at_most: Duration) -> Woken {
        self.record(scope, "wait");
        self.engine.wait_for_change(scope, seen, at_most).await
    }

    fn now(&self) -> Timestamp {
        Engine::now(self.engine)
    }

    fn monotonic_micros(&self) -> u64 {
        self.engine.monotonic_micros()
    }
}

static BENCH: LazyLock<Bench> = LazyLock::new(|| {
    let bench = Bench::new();
    bench.create("t");
    bench
});

fn destination(method: &str, path: &str, authorization: Option<&str>) -> Option<String> {
    let now = Timestamp(START_MS);
    BENCH.http.destination(&method.parse().unwrap(), path, authorization, now)
}

#[test]
fn a_request_is_routed_to_its_session() {
    #[track_caller]
    fn check(token: &str, target: &str, scope: Option<&str>) {
        let (method, path) = target.split_once(' ').unwrap();
        let bearer = format!("Bearer {token}");
        assert_eq!(destination(method, path, Some(&bearer)).as_deref(), scope, "{target}");
        assert_eq!(destination(method, path, None), None, "{target}");
        assert_eq!(destination(method, path, Some(token)), None, "{target}");
    }
    let agent = &BENCH.agent;
    for token in [agent, ADMIN_KEY] {
        for target in [
            "GET /v1/sessions/s",
            "HEAD /v1/sessions/s",
            "PATCH /v1/sessions/s",
            "DELETE /v1/sessions/s",
            "GET /v1/sessions/%73",
            "POST /v1/sessions/s/shared_context",
            "PUT /v1/sessions/s/entries/scope",
            "GET /v1/sessions/s/changes",
        ] {
            check(token, target, Some("session/s"));
        }
        for target in [
            "GET /",
            "GET /healthz",
            "GET /metrics",
            "GET /v1/tools",
            "GET /nowhere",
            "GET /v1/sessions",
            "POST /v1/sessions",
            "POST /v1/sessions/import",
            "PUT /v1/sessions/s",
            "OPTIONS /v1/sessions/s",
            "POST /v1/sessions/s/entries",
            "GET /v1/sessions/s/",
            "GET /v1/sessions/%2e%2e",
            "GET /v1/sessions/a%20b",
            "GET /v1/sessions/%ff",
            "HEAD /mcp",
            "GET /.well-known/oauth-protected-resource/mcp",
        ] {
            check(token, target, None);
        }
    }
    check(ADMIN_KEY, "GET /v1/sessions/import", Some("session/import"));
    check(ADMIN_KEY, "GET /v1/sessions/t/entries", Some("session/t"));
    check(agent, "GET /v1/sessions/t/entries", None);
    for target in ["POST /mcp", "GET /mcp", "DELETE /mcp"] {
        check(agent, target, Some("session/s"));
        check(ADMIN_KEY, target, None);
    }
}

#[test]
fn an_invalid_credential_is_not_routed_to_a_host() {
    let bearer = format!("Bearer {}", BENCH.agent);
    let path = "/v1/sessions/s/entries";
    let at = |now| BENCH.http.destination(&Method::GET, path, Some(&bearer), Timestamp(now));
    assert_eq!(at(START_MS).as_deref(), Some("session/s"));
    assert_eq!(at(START_MS + 86_400_000 + 30_000).as_deref(), Some("session/s"));
    assert_eq!(at(START_MS + 86_400_000 + 30_001), None, "it has expired");
    let grant = Grant {
        scope: Scope::new(ScopeKind::Session, "s").unwrap(),
        participant: "subagent:analysis".to_owned(),
        credential: Credential { incarnation: 1, epoch: 1 },
        keys: Vec::new(),
        project: None,
        tools: None,
    };
    let others = Keys::new(&[7; 32], ADMIN_KEY).unwrap();
    let forged = others.mint(&grant, Timestamp(START_MS), 60).unwrap().credential;
    assert_eq!(destination("GET", path, Some(&format!("Bearer {forged}"))), None);
}

/// A credential of a project routes to the project's host, one of a session to the session's
/// host, even if both have the same id.
#[test]
fn a_project_and_a_session_of_one_id_are_different_destinations() {
    let keys = Keys::new(SECRET, ADMIN_KEY).unwrap();
    let bearer = |kind| {
        let grant = Grant {
            scope: Scope::new(kind, "s").unwrap(),
            participant: "orchestrator".to_owned(),
            credential: Credential { incarnation: 1, epoch: 1 },
            keys: Vec::new(),
            project: None,
            tools: None,
        };
        format!("Bearer {}", keys.mint(&grant, Timestamp(START_MS), 60).unwrap().credential)
    };
    let (session, project) = (bearer(ScopeKind::Session), bearer(ScopeKind::Project));
    for (method, path, of_session, of_project) in [
        ("GET", "/v1/sessions/s", Some("session/s"), None),
        ("GET", "/v1/projects/s", None, Some("project/s")),
        ("DELETE", "/v1/projects/s", None, Some("project/s")),
        ("GET", "/v1/projects", None, None),
        ("POST", "/mcp", Some("session/s"), None),
    ] {
        assert_eq!(destination(method, path, Some(&session)).as_deref(), of_session, "{path}");
        assert_eq!(destination(method, path, Some(&project)).as_deref(), of_project, "{path}");
    }
    let admin = format!("Bearer {ADMIN_KEY}");
    assert_eq!(destination("PUT", "/v1/projects/s", Some(&admin)).as_deref(), Some("project/s"));
    assert_eq!(destination("PUT", "/v1/projects/..", Some(&admin)), None);
}

/// Generates MCP messages that concern sessions, in both protocol eras.
fn message() -> impl Strategy<Value = (&'static str, String)> {
    let session = prop::sample::select(&["", r#""session":"s""#, r#""session":"t""#][..]);
    let arguments = session.prop_map(|session| {
        let comma = if session.is_empty() { "" } else { "," };
        format!(r#"{{"action":"list_keys"{comma}{session}}}"#)
    });
    let uri = prop::sample::select(
        &["session://s/keys", "session://t/keys", "session://s/entries/a", "session://%2e/keys"][..],
    );
    let call = prop_oneof![
        arguments.prop_map(|it| {
            ("tools/call", format!(r#""name":"shared_context","arguments":{it}"#))
        }),
        uri.clone().prop_map(|it| ("resources/read", format!(r#""uri":"{it}""#))),
        uri.clone().prop_map(|it| {
            let wanted = format!(r#""notifications":{{"resourceSubscriptions":["{it}"]}}"#);
            ("subscriptions/listen", wanted)
        }),
        Just((
            "completion/complete",
            r#""ref":{"type":"ref/prompt","name":"shared_context"},"argument":{"name":"session","value":""}"#
                .to_owned(),
        )),
        Just(("resources/list", String::new())),
        Just(("prompts/get", r#""name":"shared_context""#.to_owned())),
    ];
    call.prop_map(|(method, members)| {
        let comma = if members.is_empty() { "" } else { "," };
        let params = format!(
            r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"a","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{{}}}}{comma}{members}}}"#
        );
        (method, format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#))
    })
}

/// Generates an MCP request: a message with its headers.
fn mcp() -> impl Strategy<Value = Request<Bytes>> {
    message().prop_map(|(method, body)| {
        let parsed: Value = serde_json::from_str(&body).unwrap();
        let params = &parsed["params"];
        let mut request = Request::post("/mcp")
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method);
        if let Some(name) = params["uri"].as_str().or(params["name"].as_str()) {
            request = request.header("mcp-name", name);
        }
        if let Some(session) = params["arguments"]["session"].as_str() {
            request = request.header("mcp-param-session", session);
        }
        request.body(Bytes::from(body)).unwrap()
    })
}

/// Generates a request below `/v1/sessions` or elsewhere.
fn request() -> impl Strategy<Value = Request<Bytes>> {
    let elsewhere = prop::sample::select(
        &[
            "/",
            "/mcp",
            "/healthz",
            "/v1/tools",
            "/v1/sessions",
            "/v1/sessions?status=active",
            "/v1/projects",
            "/v1/projects/s",
        ][..],
    );
    let target = prop_oneof![
        4 => anything::target(),
        1 => elsewhere.prop_map(|it| it.parse::<Uri>().unwrap()),
    ];
    let create = r#"{"session_id":"s"}"#.as_bytes().to_vec();
    let body = prop_oneof![4 => anything::body(), 1 => Just(create)];
    let parts = (anything::method(), target, anything::headers(), body);
    let anything = parts.prop_map(|(method, target, headers, body)| {
        let mut request = Request::new(Bytes::from(body));
        *request.method_mut() = method;
        *request.uri_mut() = target;
        request.headers_mut().extend(headers);
        request
    });
    prop_oneof![4 => anything, 1 => mcp()]
}

/// Returns the header `authorization` as a host reads it: present exactly once, and text.
fn authorization(request: &Request<Bytes>) -> Option<&str> {
    let mut given = request.headers().get_all("authorization").iter();
    given.next().filter(|_| given.next().is_none()).and_then(|it| it.to_str().ok())
}

/// Returns true if the receiving host may make `call` itself. The operator has such requests:
/// at `/mcp`, for lists and creations, and for invalid scopes.
fn may_run_on_receiver(call: &EngineCall, path: &str, is_admin: bool) -> bool {
    let EngineCall::Scoped(scope, action) = call else { return is_admin };
    let is_possible = Scope::of_bucket(scope).is_some();
    let is_listed = matches!(
        (path, &**action),
        ("/v1/sessions", "show_session") | ("/v1/projects", "show_project")
    );
    let is_creation = action == "create_session" || action == "import_session";
    is_admin && (path == "/mcp" || is_creation || is_listed || !is_possible)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1_024, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn a_request_uses_only_the_scope_it_is_routed_to(
        mut request in request(), caller in 0..4_u8,
    ) {
        let token = match caller {
            0 => ADMIN_KEY,
            1 => &BENCH.orchestrator,
            2 => &BENCH.agent,
            _ => "x",
        };
        let bearer = HeaderValue::try_from(format!("Bearer {token}")).unwrap();
        request.headers_mut().append("authorization", bearer);
        request.headers_mut().append("host", HeaderValue::from_static("localhost"));
        let path = request.uri().path().to_owned();
        let now = Engine::now(&BENCH.engine);
        let authorization = authorization(&request);
        let goes_to = BENCH.http.destination(request.method(), &path, authorization, now);
        let engine = RecordingEngine { engine: &BENCH.engine, calls: Mutex::default() };
        let response = ready(BENCH.http.handle(&engine, request));
        if let Body::Live(mut watch) = response.into_body() {
            ready(watch.next(&engine));
            ready(watch.next(&engine));
        }
        for call in engine.calls.into_inner().unwrap() {
            let is_expected = match (&goes_to, &call) {
                (Some(scope), EngineCall::Scoped(about, _)) => about == scope,
                (Some(_), EngineCall::Ids) => false,
                (None, call) => may_run_on_receiver(call, &path, caller == 0),
            };
            prop_assert!(is_expected, "{goes_to:?}: {call:?}");
        }
    }
}
