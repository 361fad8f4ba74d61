//! Whatever is sent to `/mcp`, exactly one thing that the protocol knows is
//! answered, and a refusal neither changes anything nor gives anything away.

use std::fmt;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request};
use proptest::{prelude::*, sample::select, strategy::Union};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, value::RawValue};
use shared_context_core::port::{Bucket as _, Kv as _};
use shared_context_wire::http::{Body, Watch};

use crate::{
    bench::{ADMIN_KEY, Bench, SECRET, ready},
    client::{LEGACY, MODERN, meta},
};

/// What is stored where only the orchestrator's session sees it.
const HIDDEN_KEY: &str = "vault";
const HIDDEN_VALUE: &str = "hidden-value-93";
/// What everybody may read, and no refusal repeats.
const STORED_VALUE: &str = "stored-value-71";
/// What is sent to be stored: no refusal repeats it.
const SENT_VALUE: &str = "sent-value-58";

const METHODS: [&str; 20] = [
    "tools/call",
    "tools/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "skills/list",
    "skills/get",
    "server/discover",
    "subscriptions/listen",
    "initialize",
    "ping",
    "notifications/initialized",
    "notifications/cancelled",
    "logging/setLevel",
    "Tools/call",
];
const IDS: [&str; 16] = [
    "1",
    "0",
    "-5",
    "\"a\"",
    "\"\"",
    "\"\\u00e4\\n \\\"\"",
    "\"\\ud800\"",
    "123456789012345678901234567890",
    "-0",
    "null",
    "1.5",
    "1e2",
    "true",
    "[]",
    "{}",
    "\"data: x\"",
];
const URIS: [&str; 14] = [
    "session://s/keys",
    "session://s/entries/scope",
    "session://s/entries/vault",
    "session://s/entries/no_such",
    "session://%73/entries/sc%6fpe",
    "session://t/keys",
    "session://t/entries/scope",
    "session://s%2F..%2Ft/keys",
    "session://s/entries/..%2F..%2Ft%2Fkeys",
    "session://s/entries/%ff",
    "session://s/entries/A",
    "skill://shared-context/SKILL.md",
    "file:///etc/passwd",
    "",
];
/// Arguments of `shared_context` that are as they should be.
const ARGUMENTS: [&str; 17] = [
    r#"{"action":"list_keys"}"#,
    r#"{"action":"list_keys","session":"s"}"#,
    r#"{"action":"list_keys","session":"t"}"#,
    r#"{"action":"read","key":"scope"}"#,
    r#"{"action":"read","key":"vault"}"#,
    r#"{"action":"read_batch","keys":["scope","vault"]}"#,
    r#"{"action":"read_history","key":"vault"}"#,
    r#"{"action":"write","key":"scope","value":"sent-value-58"}"#,
    r#"{"action":"write","key":"inv_1","value":"sent-value-58","if_version":0}"#,
    r#"{"action":"write","key":"vault","value":"sent-value-58","if_version":9}"#,
    r#"{"action":"delete","key":"inv_1"}"#,
    r#"{"action":"show_session"}"#,
    r#"{"action":"list_snapshots"}"#,
    r#"{"action":"read_snapshot","label":"s"}"#,
    r#"{"action":"diff_snapshots","from":"s"}"#,
    r#"{"action":"changes","since":0}"#,
    r#"{"action":"prompt"}"#,
];
/// JSON that may stand anywhere.
const VALUES: [&str; 20] = [
    "null",
    "true",
    "0",
    "1",
    "-1",
    "2",
    "60",
    "1e400",
    "18446744073709551616",
    "\"\"",
    "\"s\"",
    "\"t\"",
    "\"scope\"",
    "\"vault\"",
    "\"*\"",
    "\"subagent:limited\"",
    "\"\\u0000\\ud83e\\udd80\"",
    "[]",
    "[{\"key\":\"scope\",\"key\":\"vault\"}]",
    "{\"a\":{\"a\":[[[[]]]]}}",
];
const ACTIONS: [&str; 27] = [
    "list_keys",
    "read",
    "write",
    "delete",
    "read_batch",
    "write_batch",
    "read_history",
    "set_access",
    "snapshot",
    "list_snapshots",
    "read_snapshot",
    "diff_snapshots",
    "restore_snapshot",
    "delete_snapshot",
    "changes",
    "redact",
    "prompt",
    "show_session",
    "create_session",
    "archive_session",
    "delete_session",
    "revoke_credentials",
    "inspect",
    "export_session",
    "import_session",
    "audit",
    "no_such_action",
];

/// A request, before it is known who sends it where.
#[derive(Debug, Clone)]
struct Sent {
    method: &'static str,
    /// Of [`Place::tokens`], who sends it.
    who: usize,
    version: Option<String>,
    /// Of [`Place::handshakes`], the one it names.
    handshake: Option<usize>,
    /// Whether the headers that repeat the body are there.
    repeats: bool,
    /// More headers, which may come on top of those.
    headers: Vec<(String, Text)>,
    body: Text,
}

/// A body, shown as text where a test fails.
#[derive(Clone)]
struct Text(Vec<u8>);

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

/// A server on which things are stored, and those who ask it.
struct Place {
    bench: Bench,
    tokens: Vec<String>,
    handshakes: Vec<String>,
}

/// Who of [`Place::tokens`] sees some keys only.
const LIMITED: usize = 3;

impl Place {
    fn new() -> Self {
        let bench = Bench::new();
        let elsewhere = bench.create("t");
        let invitation = r#"{"participant":"subagent:limited","keys":["scope","inv_*"]}"#;
        let seen = bench.send(ADMIN_KEY, "POST /v1/sessions/s/participants", &[], invitation);
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

    /// How far each session is.
    fn positions(&self) -> Vec<(String, u64)> {
        let names = self.bench.engine.kv.names(None, 100);
        let position = |it: &String| self.bench.engine.kv.open(it).unwrap().revision().0;
        names.iter().map(|it| (it.clone(), position(it))).collect()
    }

    fn send(&self, sent: &Sent) {
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
        let response = ready(self.bench.http.handle(&self.bench.engine, request));
        let (head, body) = response.into_parts();
        let seen = match body {
            Body::Whole(body) => {
                let text = String::from_utf8(body.to_vec()).unwrap();
                check_whole(sent, head.status.as_u16(), head.headers.get("content-type"), text)
            }
            Body::Live(watch) => self.check_live(sent, head.status.as_u16(), watch),
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

/// Whether `id`, JSON, is one that a request may have.
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

/// The headers that repeat what `body` says.
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

/// A JSON string of one of these.
fn quoted(texts: &'static [&'static str]) -> BoxedStrategy<String> {
    select(texts).prop_map(|it| Value::from(it).to_string()).boxed()
}

fn plain(texts: &'static [&'static str]) -> BoxedStrategy<String> {
    select(texts).prop_map(str::to_owned).boxed()
}

fn value() -> BoxedStrategy<String> {
    prop_oneof![
        6 => plain(&VALUES),
        1 => "[ -~]{0,12}".prop_map(|it| Value::from(it).to_string()),
        1 => any::<f64>().prop_map(|it| Value::from(it).to_string()),
    ]
    .boxed()
}

/// A list of some of these.
fn list(of: BoxedStrategy<String>) -> BoxedStrategy<String> {
    prop::collection::vec(of, 0..4).prop_map(|it| format!("[{}]", it.join(","))).boxed()
}

/// A member of an object: its name, its chance in ten to be there, its values.
type Member = (&'static str, u32, BoxedStrategy<String>);

/// An object: each of `members` is there by its chance in ten, now and then one of
/// them twice, or under a name that is written with an escape, or another one.
fn object(members: Vec<Member>) -> BoxedStrategy<String> {
    let each: Vec<_> = members
        .into_iter()
        .map(|(name, chance, fitting)| {
            let fitting = prop_oneof![19 => fitting, 1 => value()];
            (0..10_u32, fitting).prop_map(move |(at, it)| (at < chance).then_some((name, it)))
        })
        .collect();
    (each, 0..40_u8)
        .prop_map(|(members, twist)| {
            let mut texts: Vec<String> = Vec::new();
            for (name, value) in members.iter().flatten() {
                texts.push(format!("\"{name}\":{value}"));
            }
            if let Some((name, value)) = members.iter().flatten().next() {
                let (first, rest) = name.split_at(1);
                let code = u32::from(first.as_bytes()[0]);
                match twist {
                    0 => texts.push(format!("\"{name}\":{value}")),
                    1 => texts.push(format!("\"\\u{code:04x}{rest}\":{value}")),
                    2 => texts[0] = format!("\"\\u{code:04x}{rest}\":{value}"),
                    3 => texts.push("\"no_such_member\":1".to_owned()),
                    _ => {}
                }
            }
            format!("{{{}}}", texts.join(","))
        })
        .boxed()
}

fn arguments() -> BoxedStrategy<String> {
    let sent = Just(Value::from(SENT_VALUE).to_string()).boxed();
    let session = || quoted(&["s", "t", "no_such", "", "s/../t"]);
    let key = || quoted(&["scope", "vault", "inv_1", "no_such", "A", "", "inv:1"]);
    let write =
        object(vec![("key", 9, key()), ("value", 9, sent.clone()), ("if_version", 2, value())]);
    let shared_context = object(vec![
        ("action", 10, quoted(&ACTIONS)),
        ("key", 6, key()),
        ("value", 5, sent),
        ("session", 2, session()),
        ("if_version", 1, value()),
        ("ttl_seconds", 1, value()),
        ("label", 2, quoted(&["s", "x", "", "A b"])),
        ("from", 1, quoted(&["s", "x"])),
        ("keys", 1, plain(&["[\"scope\",\"vault\"]", "\"*\"", "[7]"])),
        ("writes", 1, list(write)),
        ("deletes", 1, plain(&["[{\"key\":\"scope\"}]", "[{\"key\":\"vault\"},{}]"])),
        ("since", 1, value()),
        ("participant", 1, quoted(&["orchestrator", "subagent:x", "admin", "*"])),
        ("readable_by", 1, plain(&["[\"*\"]", "[\"subagent:x\"]", "[]", "[\"\"]"])),
        ("reason", 1, value()),
        ("request_id", 1, quoted(&["r", "", "q"])),
    ]);
    let subagent = object(vec![
        ("task", 9, quoted(&["x", "", "a:b", "*", "limited"])),
        ("id", 3, quoted(&["1", "", "b:c"])),
        ("ttl_seconds", 3, plain(&["60", "59", "2592001", "60.0"])),
        ("keys", 3, plain(&["[\"scope\"]", "[]", "[\"*\"]", "[\"A b\"]", "[7]"])),
        ("session", 2, session()),
    ]);
    prop_oneof![4 => plain(&ARGUMENTS), 3 => shared_context, 1 => subagent].boxed()
}

/// A method and its parameters, which mostly fit.
fn call(is_modern: bool) -> BoxedStrategy<(String, String)> {
    let wrong = object(vec![
        ("io.modelcontextprotocol/protocolVersion", 7, quoted(&[MODERN, LEGACY, "x"])),
        ("io.modelcontextprotocol/clientCapabilities", 7, plain(&["{}", "[]"])),
    ]);
    let meta = prop_oneof![12 => Just(meta().to_string()), 1 => wrong].boxed();
    let notifications = object(vec![
        ("resourcesListChanged", 7, plain(&["true", "false"])),
        ("toolsListChanged", 2, plain(&["true"])),
        ("resourceSubscriptions", 7, list(quoted(&URIS))),
    ]);
    let reference = object(vec![
        ("type", 9, quoted(&["ref/resource", "ref/prompt", "ref/x"])),
        ("uri", 8, quoted(&["session://{session}/entries/{key}", "session://{session}/keys", "x"])),
        ("name", 8, quoted(&["shared_context", "x"])),
    ]);
    let argument = object(vec![
        ("name", 9, quoted(&["key", "session", "participant", "max_tokens", "x"])),
        ("value", 9, quoted(&["", "s", "v", "vault", "\u{0}"])),
    ]);
    let session = object(vec![("session", 5, quoted(&["s", "t", ""]))]);
    let filled_in = object(vec![("arguments", 9, session)]);
    let prompt = object(vec![
        ("participant", 5, quoted(&["orchestrator", "subagent:x", "", "admin"])),
        ("max_tokens", 5, quoted(&["800", "0", "-1", "1e3", "18446744073709551616"])),
        ("session", 3, quoted(&["s", "t", ""])),
    ]);
    let name = || quoted(&["shared_context", "shared_context", "subagent", "x", ""]);
    let cursor = quoted(&["YWZ0ZXIgYQ", "YWZ0ZXIg", "", "!", "YWZ0ZXIg_w"]);
    let version = quoted(&[LEGACY, MODERN, "x"]);
    let of = |weight: u32, method: BoxedStrategy<String>, mut members: Vec<Member>| {
        members.push(("_meta", if is_modern { 10 } else { 1 }, meta.clone()));
        let params = prop_oneof![30 => object(members), 1 => value()];
        (weight, (method, params).boxed())
    };
    Union::new_weighted(vec![
        of(6, quoted(&["tools/call"]), vec![("name", 10, name()), ("arguments", 10, arguments())]),
        of(2, quoted(&METHODS), vec![("uri", 10, quoted(&URIS)), ("name", 3, name())]),
        of(2, quoted(&["resources/read"]), vec![("uri", 10, quoted(&URIS))]),
        of(1, quoted(&["resources/list"]), vec![("cursor", 6, cursor)]),
        of(1, quoted(&["prompts/get"]), vec![("name", 10, name()), ("arguments", 8, prompt)]),
        of(
            1,
            quoted(&["completion/complete"]),
            vec![("ref", 10, reference), ("argument", 10, argument), ("context", 5, filled_in)],
        ),
        of(2, quoted(&["subscriptions/listen"]), vec![("notifications", 10, notifications)]),
        of(1, quoted(&["initialize"]), vec![("protocolVersion", 9, version)]),
        of(1, value(), vec![("name", 5, value())]),
    ])
    .boxed()
}

/// A body: most are messages, or would be but for one thing.
fn body(is_modern: bool) -> BoxedStrategy<Vec<u8>> {
    let id = prop_oneof![9 => Just("1".to_owned()), 2 => plain(&IDS)].boxed();
    let rest = object(vec![("id", 9, id), ("jsonrpc", 10, plain(&["\"2.0\""]))]);
    let message =
        (call(is_modern), rest, 0..40_u8).prop_map(|((method, params), rest, left_out)| {
            let rest = rest.trim_matches(['{', '}']);
            match left_out {
                0 => format!("{{{rest},\"params\":{params}}}"),
                1 => format!("{{{rest},\"method\":{method}}}"),
                2 => format!("{{{rest},\"method\":{method},\"params\":{params},\"method\":\"x\"}}"),
                _ => format!("{{{rest},\"method\":{method},\"params\":{params}}}"),
            }
        });
    let message = message.boxed();
    let cut = (message.clone(), any::<prop::sample::Index>()).prop_map(|(it, at)| {
        let mut bytes = it.into_bytes();
        bytes.truncate(at.index(bytes.len()));
        bytes
    });
    prop_oneof![
        60 => message.clone().prop_map(String::into_bytes),
        1 => message.prop_map(|it| format!("[{it}]").into_bytes()),
        1 => cut,
        1 => prop::collection::vec(any::<u8>(), 0..40),
        1 => value().prop_map(String::into_bytes),
        1 => Just(Value::from(SENT_VALUE).to_string().into_bytes()),
    ]
    .boxed()
}

fn header() -> BoxedStrategy<(String, Text)> {
    const NAMES: [&str; 10] = [
        "mcp-method",
        "mcp-name",
        "mcp-param-session",
        "mcp-protocol-version",
        "mcp-session-id",
        "accept",
        "content-type",
        "last-event-id",
        "origin",
        "host",
    ];
    const TEXTS: [&str; 10] = [
        "tools/call",
        "shared_context",
        "s",
        "=?base64?cw==?=",
        "=?base64?_w==?=",
        "=?base64?",
        "text/event-stream",
        "0",
        "99999999999999999999",
        "http://example.com",
    ];
    let value = prop_oneof![
        4 => select(&TEXTS[..]).prop_map(|it| it.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..30),
    ];
    (select(&NAMES[..]).prop_map(str::to_owned), value.prop_map(Text)).boxed()
}

/// A request that is modern, or of another version.
fn sent_in(version: BoxedStrategy<Option<String>>, is_modern: bool) -> BoxedStrategy<Sent> {
    let method = Union::new_weighted(vec![
        (40, Just("POST").boxed()),
        (4, select(&["GET", "DELETE", "HEAD", "PUT", "OPTIONS"][..]).boxed()),
    ]);
    let headers = prop_oneof![9 => Just(Vec::new()), 1 => prop::collection::vec(header(), 1..3)];
    // Mostly none, or one's own.
    let handshake = prop_oneof![4 => Just(None), 3 => Just(Some(None)), 1 => (0..6_usize).prop_map(|it| Some(Some(it)))];
    let repeats = prop::bool::weighted(0.95);
    (
        method,
        prop_oneof![20 => 0..5_usize, 1 => Just(5)],
        version,
        handshake,
        repeats,
        headers,
        body(is_modern),
    )
        .prop_map(|(method, who, version, handshake, repeats, mut headers, body)| {
            if method == "GET" {
                headers.push(("accept".to_owned(), Text(b"text/event-stream".to_vec())));
            }
            let handshake = handshake.map(|it| it.unwrap_or(who));
            Sent { method, who, version, handshake, repeats, headers, body: Text(body) }
        })
        .boxed()
}

fn sent() -> BoxedStrategy<Sent> {
    let older = prop_oneof![
        5 => Just(Some(LEGACY.to_owned())),
        1 => Just(None),
        1 => select(&["2025-06-18", "2024-11-05", "x", ""][..]).prop_map(|it| Some(it.to_owned())),
    ];
    prop_oneof![
        9 => sent_in(Just(Some(MODERN.to_owned())).boxed(), true),
        1 => sent_in(Just(Some(MODERN.to_owned())).boxed(), false),
        8 => sent_in(older.boxed(), false),
    ]
    .boxed()
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
