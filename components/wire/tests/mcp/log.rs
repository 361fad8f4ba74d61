//! The log of the legacy protocols.

use serde_json::{Value, json};

use crate::{
    bench::{Bench, WaitEvent},
    legacy::Client,
    streams::messages,
};

#[track_caller]
fn set_level(client: &Client, level: &Value, expected: &str) {
    let params = json!({ "level": level });
    let seen =
        client.bench.legacy(&client.bench.agent, Some(&client.id), "logging/setLevel", params);
    assert!(seen.body.contains(expected), "{seen:?}");
}

/// Returns level and action of each log message in a chunk of a stream.
fn logged(text: &str) -> Vec<String> {
    let messages = messages(text);
    let messages = messages.iter().filter(|it| it["method"] == "notifications/message");
    let short = |it: &Value| {
        let params = &it["params"];
        assert_eq!(params["logger"], "changes");
        format!(
            "{} {}",
            params["level"].as_str().unwrap(),
            params["data"]["action"].as_str().unwrap()
        )
    };
    messages.map(short).collect()
}

#[test]
fn a_client_gets_log_messages_of_its_level() {
    let client = Client::new();
    client.bench.write("a");
    let (_, mut watch) = client.stream(None);
    // No messages before a level is set.
    client.bench.write_during_wait("a");
    assert_eq!(logged(&client.next(&mut watch)), Vec::<String>::new());
    set_level(&client, &json!("info"), r#""result":{}"#);
    client.bench.write_during_wait("a");
    let text = client.next(&mut watch);
    assert_eq!(logged(&text), ["info write"]);
    let data = &messages(&text)[0]["params"]["data"];
    assert_eq!((&data["key"], &data["version"]), (&json!("a"), &json!(3)));
    assert_eq!(data["written_by"], "subagent:analysis");
    assert!(data.get("value").is_none());
    // Only more severe messages.
    set_level(&client, &json!("notice"), r#""result":{}"#);
    client.bench.write_during_wait("a");
    let redact = r#"{"action":"redact","key":"a","reason":"a name"}"#.to_owned();
    client.bench.during_wait(WaitEvent::RequestOn("session/s", "orchestrator", redact));
    let mut seen = Vec::new();
    while seen.is_empty() {
        seen = logged(&client.next(&mut watch));
    }
    assert_eq!(seen, ["notice redact"]);
}

#[test]
fn a_level_is_valid_and_requires_a_handshake() {
    let client = Client::new();
    for level in ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] {
        set_level(&client, &json!(level), r#""result":{}"#);
    }
    for level in [json!("Info"), json!("trace"), json!(1), json!(null), json!("")] {
        set_level(&client, &level, r#""code":-32602"#);
    }
    let bench = Bench::new();
    let params = json!({"level": "info"});
    let seen = bench.legacy(&bench.agent, None, "logging/setLevel", params);
    assert!(seen.body.contains("send initialize first"), "{seen:?}");
}

#[test]
fn hidden_entries_are_not_in_the_log() {
    let client = Client::new();
    set_level(&client, &json!("debug"), r#""result":{}"#);
    let (_, mut watch) = client.stream(None);
    let hidden = r#"{"action":"write","key":"b","value":"x","readable_by":["orchestrator"]}"#;
    client.bench.during_wait(WaitEvent::Request("orchestrator", hidden.to_owned()));
    client.bench.write_during_wait("a");
    let mut text = client.next(&mut watch);
    while logged(&text).is_empty() {
        text = client.next(&mut watch);
    }
    assert_eq!(logged(&text), ["info write"]);
    assert!(!text.contains("\"b\""), "{text}");
}
