//! Generators of requests to `/mcp`: valid ones, ones with a single fault, and random ones.

use std::fmt;

use proptest::{prelude::*, sample::select, strategy::Union};
use serde_json::Value;

use crate::client::{LEGACY, MODERN, meta};

/// The value that generated requests write.
pub(crate) const SENT_VALUE: &str = "sent-value-58";

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
/// Valid arguments of the tools.
const ARGUMENTS: [&str; 16] = [
    "{}",
    r#"{"session":"s"}"#,
    r#"{"session":"t"}"#,
    r#"{"keys":["scope"]}"#,
    r#"{"keys":["scope","vault"]}"#,
    r#"{"since":1,"wait_seconds":0}"#,
    r#"{"since":1,"keys":"v*","except_own":true}"#,
    r#"{"key":"scope","value":"sent-value-58"}"#,
    r#"{"key":"inv_1","value":"sent-value-58","if_version":0}"#,
    r#"{"key":"vault","value":"sent-value-58","if_version":9}"#,
    r#"{"key":"inv_1"}"#,
    r#"{"action":"list_snapshots"}"#,
    r#"{"action":"read_snapshot","label":"s"}"#,
    r#"{"action":"diff_snapshots","from":"s"}"#,
    r#"{"action":"read_history","key":"vault"}"#,
    r#"{"action":"read_state"}"#,
];
/// JSON values for any place.
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
const ACTIONS: [&str; 28] = [
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
    "update_session",
    "archive_session",
    "delete_session",
    "revoke_credentials",
    "inspect",
    "export_session",
    "import_session",
    "audit",
    "no_such_action",
];

/// A generated request. Credential and handshake are indexes into those of the fixture.
#[derive(Debug, Clone)]
pub(crate) struct TestRequest {
    pub(crate) method: &'static str,
    /// Index of the sender among the tokens.
    pub(crate) caller: usize,
    pub(crate) version: Option<String>,
    /// Index of the handshake that it names.
    pub(crate) handshake: Option<usize>,
    /// The request has the headers that repeat its body.
    pub(crate) repeats: bool,
    /// Additional headers, which may duplicate those.
    pub(crate) headers: Vec<(String, Text)>,
    pub(crate) body: Text,
}

/// A body whose debug output is text.
#[derive(Clone)]
pub(crate) struct Text(pub(crate) Vec<u8>);

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

/// Generates a JSON string from one of `texts`.
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

/// Generates a JSON array of up to three of these values.
fn list(of: BoxedStrategy<String>) -> BoxedStrategy<String> {
    prop::collection::vec(of, 0..4).prop_map(|it| format!("[{}]", it.join(","))).boxed()
}

/// A member of an object: its name, its probability in tenths, its values.
type Member = (&'static str, u32, BoxedStrategy<String>);

/// Generates an object in which each of `members` has its probability. Some have a duplicate
/// member, an escaped name or an unknown member.
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
    let session_tool = object(vec![
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
    prop_oneof![4 => plain(&ARGUMENTS), 3 => session_tool, 1 => subagent].boxed()
}

/// Generates a method and parameters that usually fit it.
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
    let name = || {
        quoted(&[
            "context_list",
            "context_read",
            "context_changes",
            "context_write",
            "context_delete",
            "context_session",
            "delta_rounds_read",
            "delta_rounds_propose",
            "shared_context",
            "",
        ])
    };
    let cursor = quoted(&["YWZ0ZXIgYQ", "YWZ0ZXIg", "", "!", "YWZ0ZXIg_w"]);
    let version = quoted(&[LEGACY, MODERN, "x"]);
    let of = |weight: u32, method: BoxedStrategy<String>, mut members: Vec<Member>| {
        members.push(("_meta", if is_modern { 10 } else { 1 }, meta.clone()));
        let params = prop_oneof![30 => object(members), 1 => value()];
        (weight, (method, params).boxed())
    };
    Union::new_weighted(vec![
        of(6, quoted(&["tools/call"]), vec![("name", 10, name()), ("arguments", 10, arguments())]),
        of(
            2,
            quoted(&["tools/call"]),
            vec![
                ("name", 10, quoted(&["context_write"])),
                ("arguments", 10, plain(&[r#"{"key":"scope","value":"sent-value-58"}"#])),
            ],
        ),
        of(
            2,
            quoted(&["tools/call"]),
            vec![
                ("name", 10, quoted(&["context_read"])),
                ("arguments", 10, plain(&[r#"{"keys":["scope","vault"]}"#])),
            ],
        ),
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

/// Generates a body: mostly messages, valid or with a single fault.
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
        "context_list",
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

/// Generates a request of a modern or another version.
fn request_in(
    version: BoxedStrategy<Option<String>>,
    is_modern: bool,
) -> BoxedStrategy<TestRequest> {
    let method = Union::new_weighted(vec![
        (40, Just("POST").boxed()),
        (4, select(&["GET", "DELETE", "HEAD", "PUT", "OPTIONS"][..]).boxed()),
    ]);
    let headers = prop_oneof![9 => Just(Vec::new()), 1 => prop::collection::vec(header(), 1..3)];
    // Mostly none or the caller's own.
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
        .prop_map(|(method, caller, version, handshake, repeats, mut headers, body)| {
            if method == "GET" {
                headers.push(("accept".to_owned(), Text(b"text/event-stream".to_vec())));
            }
            let handshake = handshake.map(|it| it.unwrap_or(caller));
            TestRequest { method, caller, version, handshake, repeats, headers, body: Text(body) }
        })
        .boxed()
}

/// Generates a request of any version.
pub(crate) fn any_request() -> BoxedStrategy<TestRequest> {
    let older = prop_oneof![
        5 => Just(Some(LEGACY.to_owned())),
        1 => Just(None),
        1 => select(&["2025-06-18", "2024-11-05", "x", ""][..]).prop_map(|it| Some(it.to_owned())),
    ];
    prop_oneof![
        9 => request_in(Just(Some(MODERN.to_owned())).boxed(), true),
        1 => request_in(Just(Some(MODERN.to_owned())).boxed(), false),
        8 => request_in(older.boxed(), false),
    ]
    .boxed()
}
