//! Random requests to `/mcp`: each gets exactly one valid response, and a rejection changes
//! nothing and leaks nothing.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request};
use proptest::prelude::*;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, value::RawValue};
use shared_context_core::port::{Bucket as _, Kv as _};
use shared_context_wire::http::{Body, Watch};

use crate::{
    bench::{ADMIN_KEY, Bench, SECRET, ready},
    client::MODERN,
    requests::{SENT_VALUE, TestRequest, any_request},
};

/// A key and value that only unlimited credentials of the session `s` can read.
const HIDDEN_KEY: &str = "vault";
const HIDDEN_VALUE: &str = "hidden-value-93";
/// A value that all credentials of `s` can read and no rejection repeats.
const STORED_VALUE: &str = "stored-value-71";

/// A server with stored entries, and the credentials and handshakes of its callers.
pub(crate) struct Fixture {
    bench: Bench,
    tokens: Vec<String>,
    handshakes: Vec<String>,
}

/// Index of the first of [`Fixture::tokens`] that cannot read the hidden entry.
const LIMITED: usize = 3;

impl Fixture {
    fn new() -> Self {
        Self::of(Bench::new())
    }

    pub(crate) fn of(bench: Bench) -> Self {
        let elsewhere = bench.create("t");
        let invitation = r#"{"participant":"subagent:limited","keys":["scope","inv_*"]}"#;
        let seen = bench.send(ADMIN_KEY, "POST /v1/sessions/s/credentials", &[], invitation);
        let limited = seen.json()["credential"].as_str().unwrap().to_owned();
        for (session, key, value) in
            [("s", "scope", STORED_VALUE), ("s", HIDDEN_KEY, HIDDEN_VALUE), ("t", "scope", "x")]
        {
            let body = format!(r#"{{"action":"write","key":"{key}","value":"{value}"}}"#);
            let token = if session == "s" { &bench.orchestrator } else { &elsewhere };
            let target = format!("POST /v1/sessions/{session}/shared_context");
            bench.check_as(token, &target, &[], &body, 200, "");
        }
        let label = r#"{"action":"snapshot","label":"s"}"#;
        bench.check_as(
            &bench.orchestrator,
            "POST /v1/sessions/s/shared_context",
            &[],
            label,
            200,
            "",
        );
        let tokens = vec![
            ADMIN_KEY.to_owned(),
            bench.orchestrator.clone(),
            bench.agent.clone(),
            limited,
            elsewhere,
            "no.such.credential".to_owned(),
        ];
        let mut handshakes: Vec<String> =
            tokens.iter().take(5).map(|it| bench.initialize(it)).collect();
        handshakes.push("no-such-handshake".to_owned());
        Self { bench, tokens, handshakes }
    }

    /// Returns the storage revision of each scope.
    fn positions(&self) -> Vec<(String, u64)> {
        let names = self.bench.engine.kv.names(None, 100);
        let position = |it: &String| self.bench.engine.kv.open(it).unwrap().revision().0;
        names.iter().map(|it| (it.clone(), position(it))).collect()
    }

    /// Sends `sent`, checks the response and returns its text.
    pub(crate) fn send(&self, sent: &TestRequest) -> String {
        let mut request = Request::new(Bytes::from(sent.body.0.clone()));
        *request.method_mut() = sent.method.parse().unwrap();
        *request.uri_mut() = "/mcp".parse().unwrap();
        let mut add = |name: &str, value: &[u8]| {
            if let (Ok(name), Ok(value)) =
                (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_bytes(value))
            {
                request.headers_mut().append(name, value);
            }
        };
        add("authorization", format!("Bearer {}", self.tokens[sent.caller]).as_bytes());
        if let Some(version) = &sent.version {
            add("mcp-protocol-version", version.as_bytes());
        }
        if let Some(id) = sent.handshake.map(|it| &self.handshakes[it]) {
            add("mcp-session-id", id.as_bytes());
        }
        let mut has_type = false;
        for (name, value) in &sent.headers {
            has_type |= name == "content-type";
            add(name, &value.0);
        }
        if !has_type {
            add("content-type", b"application/json");
        }
        if sent.repeats {
            for (name, value) in repeated(&sent.body.0) {
                add(name, value.as_bytes());
            }
        }
        let before = self.positions();
        let (head, body) = self.bench.answer(request).into_parts();
        let seen = match body {
            Body::Whole(body) => {
                let text = String::from_utf8(body.to_vec()).unwrap();
                check_whole(sent, head.status.as_u16(), head.headers.get("content-type"), text)
            }
            Body::Live(watch) => self.check_live(sent, head.status.as_u16(), watch),
            Body::Socket(socket) => panic!("MCP has no sockets: {socket:?}"),
        };
        let secrets = std::iter::once(std::str::from_utf8(SECRET).unwrap());
        for secret in secrets.chain(self.tokens.iter().map(String::as_str)) {
            assert!(!seen.text.contains(secret), "{secret} in {seen:?}");
        }
        if seen.is_rejection {
            assert_eq!(self.positions(), before, "{seen:?}");
            for value in [STORED_VALUE, HIDDEN_VALUE, SENT_VALUE] {
                assert!(!seen.text.contains(value), "{value} in {seen:?}");
            }
        }
        if sent.caller >= LIMITED {
            assert!(!seen.text.contains(HIDDEN_VALUE), "{seen:?}");
            let is_named = String::from_utf8_lossy(&sent.body.0).contains(HIDDEN_KEY);
            assert!(is_named || !seen.text.contains(HIDDEN_KEY), "{seen:?}");
        }
        seen.text
    }

    fn check_live(
        &self,
        sent: &TestRequest,
        status: u16,
        mut watch: Box<Watch>,
    ) -> CheckedResponse {
        assert_eq!(status, 200);
        let first = ready(watch.next(&self.bench.engine)).unwrap();
        let text = String::from_utf8(first.to_vec()).unwrap();
        if sent.method == "POST" {
            let id = Message::read(&sent.body.0).and_then(|it| it.id).unwrap();
            let data = text.lines().find_map(|it| it.strip_prefix("data: ")).unwrap();
            let message: Value = serde_json::from_str(data).unwrap();
            let method = message["method"].as_str().unwrap();
            assert_eq!(method, "notifications/subscriptions/acknowledged", "{text}");
            assert!(data.contains(&format!("subscriptionId\":{}", id.get())), "{text}");
        } else {
            assert!(text.starts_with("retry:") || text.starts_with(':'), "{text}");
        }
        CheckedResponse { text, is_rejection: false }
    }
}

/// A response that passed the checks.
#[derive(Debug)]
struct CheckedResponse {
    text: String,
    is_rejection: bool,
}

/// A JSON-RPC message: a request of the client or a response of the server.
#[derive(Debug, Deserialize)]
struct Message<'b> {
    /// A null id is `Some`, because it is an invalid id, not a missing one.
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'b RawValue>,
    #[serde(borrow, default)]
    method: Option<&'b RawValue>,
    #[serde(borrow, default)]
    result: Option<&'b RawValue>,
    #[serde(default)]
    error: Option<ErrorObject>,
}

#[derive(Debug, Deserialize)]
struct ErrorObject {
    code: i64,
    message: String,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'b> Message<'b> {
    fn read(body: &'b [u8]) -> Option<Self> {
        serde_json::from_slice(body).ok()
    }
}

/// Returns true if the JSON `id` is a valid request id: a string or an integer.
fn is_id(id: &str) -> bool {
    id.starts_with('"') || id.trim_start_matches('-').bytes().all(|it| it.is_ascii_digit())
}

fn check_whole(
    sent: &TestRequest,
    status: u16,
    kind: Option<&HeaderValue>,
    text: String,
) -> CheckedResponse {
    let rejection = |text| CheckedResponse { text, is_rejection: true };
    let kind = kind.map(|it| it.to_str().unwrap());
    if kind == Some("application/problem+json") {
        assert!([400, 401, 403, 404, 405, 406, 413, 415].contains(&status), "{status} {text}");
        if !text.is_empty() {
            let problem: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(problem["status"], status, "{text}");
            assert!(!problem["error"]["message"].as_str().unwrap().is_empty(), "{text}");
        }
        return rejection(text);
    }
    if status == 202 || status == 204 {
        assert_eq!((text.as_str(), kind), ("", None));
        let is_due = if status == 204 {
            matches!(sent.method, "DELETE" | "OPTIONS")
        } else {
            let request = Message::read(&sent.body.0).unwrap();
            let is_named = request.method.is_some_and(|it| it.get().starts_with('"'));
            sent.method == "POST" && request.id.is_none() && is_named
        };
        assert!(is_due, "{status} {sent:?}");
        return rejection(text);
    }
    if sent.method == "HEAD" {
        assert_eq!(text, "");
        return rejection(text);
    }
    assert_eq!(kind, Some("application/json"), "{status} {text}");
    let answer = Message::read(text.as_bytes()).unwrap();
    let message: Value = serde_json::from_str(&text.replace("\\ud800", "")).unwrap();
    assert_eq!(message["jsonrpc"], "2.0", "{text}");
    assert!(answer.result.is_some() != answer.error.is_some(), "{text}");
    let sent_id = Message::read(&sent.body.0).and_then(|it| it.id).filter(|it| is_id(it.get()));
    match (answer.id, sent_id) {
        (Some(seen), Some(sent_id)) => assert_eq!(seen.get(), sent_id.get(), "{text}"),
        (Some(_), None) => panic!("an id that was not sent: {text}"),
        // Only an unreadable message gets no id.
        (None, Some(_)) => {
            let code = answer.error.as_ref().map(|it| it.code);
            assert!(matches!(code, Some(-32700 | -32600)), "{text}");
        }
        (None, None) => assert!(answer.error.is_some(), "{text}"),
    }
    let Some(error) = answer.error else {
        assert_eq!(status, 200, "{text}");
        let is_rejection = message["result"]["isError"] == true;
        if is_rejection {
            assert!(message["result"]["structuredContent"]["error"]["code"].is_string(), "{text}");
        }
        return CheckedResponse { text, is_rejection };
    };
    let is_modern = sent.version.as_deref() == Some(MODERN);
    let statuses: &[u16] = match error.code {
        -32700 | -32020 | -32022 => &[400],
        // 404 is for an unknown handshake.
        -32600 => &[400, 404],
        -32601 if is_modern => &[404],
        -32602 => &[200, 400],
        -32601 | -32002 if !is_modern => &[200],
        code => panic!("{code}: {text}"),
    };
    assert!(statuses.contains(&status), "{status} {text}");
    assert!(!error.message.is_empty(), "{text}");
    rejection(text)
}

/// Returns the headers that repeat members of `body`.
fn repeated(body: &[u8]) -> Vec<(&'static str, String)> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let params = &body["params"];
    let name = text(&params["name"]).or_else(|| text(&params["uri"]));
    let headers = [
        ("mcp-method", text(&body["method"])),
        ("mcp-name", name),
        ("mcp-param-session", text(&params["arguments"]["session"])),
    ];
    headers.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, cases: 250, ..ProptestConfig::default()
    })]

    #[test]
    fn every_request_gets_one_valid_response(all in prop::collection::vec(any_request(), 24..=24)) {
        let fixture = Fixture::new();
        for sent in &all {
            fixture.send(sent);
        }
    }
}

/// The checks above would also pass if no request ever reached a session.
#[test]
fn many_random_requests_reach_the_engine() {
    use proptest::{strategy::ValueTree as _, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let mut requests = 0;
    let all = any_request();
    for _ in 0..20 {
        let fixture = Fixture::new();
        fixture.bench.engine.requests.lock().unwrap().clear();
        for _ in 0..20 {
            fixture.send(&all.new_tree(&mut runner).unwrap().current());
        }
        requests += fixture.bench.engine.requests.lock().unwrap().len();
    }
    assert!(requests > 30, "{requests} of 400");
}
