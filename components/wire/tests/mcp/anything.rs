//! Whatever is sent to `/mcp`, exactly one thing that the protocol knows is
//! answered, and a refusal neither changes anything nor gives anything away.

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
    requests::{SENT_VALUE, Sent, sent},
};

/// What is stored where only the orchestrator's session sees it.
const HIDDEN_KEY: &str = "vault";
const HIDDEN_VALUE: &str = "hidden-value-93";
/// What everybody may read, and no refusal repeats.
const STORED_VALUE: &str = "stored-value-71";

/// A server on which things are stored, and those who ask it.
pub(crate) struct Place {
    bench: Bench,
    tokens: Vec<String>,
    handshakes: Vec<String>,
}

/// Who of [`Place::tokens`] sees some keys only.
const LIMITED: usize = 3;

impl Place {
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

    /// Returns how far each session is.
    fn positions(&self) -> Vec<(String, u64)> {
        let names = self.bench.engine.kv.names(None, 100);
        let position = |it: &String| self.bench.engine.kv.open(it).unwrap().revision().0;
        names.iter().map(|it| (it.clone(), position(it))).collect()
    }

    /// Sends `sent`, and checks the answer: its text.
    pub(crate) fn send(&self, sent: &Sent) -> String {
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
        add("authorization", format!("Bearer {}", self.tokens[sent.who]).as_bytes());
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
            Body::Socket(socket) => panic!("nobody has sockets here: {socket:?}"),
        };
        let secrets = std::iter::once(std::str::from_utf8(SECRET).unwrap());
        for secret in secrets.chain(self.tokens.iter().map(String::as_str)) {
            assert!(!seen.text.contains(secret), "{secret} in {seen:?}");
        }
        if seen.is_refusal {
            assert_eq!(self.positions(), before, "{seen:?}");
            for value in [STORED_VALUE, HIDDEN_VALUE, SENT_VALUE] {
                assert!(!seen.text.contains(value), "{value} in {seen:?}");
            }
        }
        if sent.who >= LIMITED {
            assert!(!seen.text.contains(HIDDEN_VALUE), "{seen:?}");
            let is_named = String::from_utf8_lossy(&sent.body.0).contains(HIDDEN_KEY);
            assert!(is_named || !seen.text.contains(HIDDEN_KEY), "{seen:?}");
        }
        seen.text
    }

    fn check_live(&self, sent: &Sent, status: u16, mut watch: Box<Watch>) -> Seen {
        assert_eq!(status, 200);
        let first = ready(watch.next(&self.bench.engine)).unwrap();
        let text = String::from_utf8(first.to_vec()).unwrap();
        if sent.method == "POST" {
            let id = Told::read(&sent.body.0).and_then(|it| it.id).unwrap();
            let data = text.lines().find_map(|it| it.strip_prefix("data: ")).unwrap();
            let message: Value = serde_json::from_str(data).unwrap();
            let method = message["method"].as_str().unwrap();
            assert_eq!(method, "notifications/subscriptions/acknowledged", "{text}");
            assert!(data.contains(&format!("subscriptionId\":{}", id.get())), "{text}");
        } else {
            assert!(text.starts_with("retry:") || text.starts_with(':'), "{text}");
        }
        Seen { text, is_refusal: false }
    }
}

/// What was answered, checked.
#[derive(Debug)]
struct Seen {
    text: String,
    is_refusal: bool,
}

/// What can be read of a message, ours or theirs.
#[derive(Debug, Deserialize)]
struct Told<'b> {
    /// Null is an id as well, and a wrong one.
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'b RawValue>,
    #[serde(borrow, default)]
    method: Option<&'b RawValue>,
    #[serde(borrow, default)]
    result: Option<&'b RawValue>,
    #[serde(default)]
    error: Option<Refused>,
}

#[derive(Debug, Deserialize)]
struct Refused {
    code: i64,
    message: String,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'b> Told<'b> {
    fn read(body: &'b [u8]) -> Option<Self> {
        serde_json::from_slice(body).ok()
    }
}

/// Returns whether `id`, JSON, is one that a request may have.
fn is_id(id: &str) -> bool {
    id.starts_with('"') || id.trim_start_matches('-').bytes().all(|it| it.is_ascii_digit())
}

fn check_whole(sent: &Sent, status: u16, kind: Option<&HeaderValue>, text: String) -> Seen {
    let refusal = |text| Seen { text, is_refusal: true };
    let kind = kind.map(|it| it.to_str().unwrap());
    if kind == Some("application/problem+json") {
        assert!([400, 401, 403, 404, 405, 413, 415].contains(&status), "{status} {text}");
        if !text.is_empty() {
            let problem: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(problem["status"], status, "{text}");
            assert!(!problem["error"]["message"].as_str().unwrap().is_empty(), "{text}");
        }
        return refusal(text);
    }
    if status == 202 || status == 204 {
        assert_eq!((text.as_str(), kind), ("", None));
        let is_due = if status == 204 {
            matches!(sent.method, "DELETE" | "OPTIONS")
        } else {
            let told = Told::read(&sent.body.0).unwrap();
            let is_named = told.method.is_some_and(|it| it.get().starts_with('"'));
            sent.method == "POST" && told.id.is_none() && is_named
        };
        assert!(is_due, "{status} {sent:?}");
        return refusal(text);
    }
    if sent.method == "HEAD" {
        assert_eq!(text, "");
        return refusal(text);
    }
    assert_eq!(kind, Some("application/json"), "{status} {text}");
    let answer = Told::read(text.as_bytes()).unwrap();
    let message: Value = serde_json::from_str(&text.replace("\\ud800", "")).unwrap();
    assert_eq!(message["jsonrpc"], "2.0", "{text}");
    assert!(answer.result.is_some() != answer.error.is_some(), "{text}");
    let asked = Told::read(&sent.body.0).and_then(|it| it.id).filter(|it| is_id(it.get()));
    match (answer.id, asked) {
        (Some(seen), Some(asked)) => assert_eq!(seen.get(), asked.get(), "{text}"),
        (Some(_), None) => panic!("an id that nobody sent: {text}"),
        // Only what cannot be read as a whole has no id.
        (None, Some(_)) => {
            let code = answer.error.as_ref().map(|it| it.code);
            assert!(matches!(code, Some(-32700 | -32600)), "{text}");
        }
        (None, None) => assert!(answer.error.is_some(), "{text}"),
    }
    let Some(error) = answer.error else {
        assert_eq!(status, 200, "{text}");
        let is_refusal = message["result"]["isError"] == true;
        if is_refusal {
            assert!(message["result"]["structuredContent"]["error"]["code"].is_string(), "{text}");
        }
        return Seen { text, is_refusal };
    };
    let is_modern = sent.version.as_deref() == Some(MODERN);
    let statuses: &[u16] = match error.code {
        -32700 | -32020 | -32022 => &[400],
        // Of a handshake that is not there.
        -32600 => &[400, 404],
        -32601 if is_modern => &[404],
        -32602 => &[200, 400],
        -32601 | -32002 if !is_modern => &[200],
        code => panic!("{code}: {text}"),
    };
    assert!(statuses.contains(&status), "{status} {text}");
    assert!(!error.message.is_empty(), "{text}");
    refusal(text)
}

/// Returns the headers that repeat what `body` says.
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
    fn anything_gets_one_answer(all in prop::collection::vec(sent(), 24..=24)) {
        let place = Place::new();
        for sent in &all {
            place.send(sent);
        }
    }
}

/// The checks above would not notice if nothing ever got as far as a session.
#[test]
fn much_of_anything_is_answered_with_a_result() {
    use proptest::{strategy::ValueTree as _, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let mut requests = 0;
    let all = sent();
    for _ in 0..20 {
        let place = Place::new();
        place.bench.engine.requests.lock().unwrap().clear();
        for _ in 0..20 {
            place.send(&all.new_tree(&mut runner).unwrap().current());
        }
        requests += place.bench.engine.requests.lock().unwrap().len();
    }
    assert!(requests > 30, "{requests} of 400");
}
