//! An update of a session is a merge patch (RFC 7396) of its configuration.

use serde_json::{Map, Value, json};

use super::Session;

/// Configurations of sessions. Members with a value of their own are restored by null.
fn configurations() -> Vec<Value> {
    vec![
        json!({}),
        json!({"keys_max": 7, "value_tokens_max": 20, "store_tokens_max": 40, "project": "webshop"}),
        json!({
            "history_versions_max": 0, "history_bytes_max": 0, "snapshots_max": 0,
            "changes_max": 256, "ttl_seconds_default": 60, "rejects_secrets": true,
            "tools": ["delta_rounds"], "allows_prefixes": true,
            "access": [{"keys": "p:*", "readable_by": ["orchestrator"]}],
            "namespace": {"keys": [{"key": "p:a", "group": "g", "purpose": "what is done"}]},
        }),
    ]
}

/// Returns patches: every configuration, each of its members alone, and each restored.
fn patches() -> Vec<Value> {
    let mut patches = configurations();
    for config in configurations() {
        for (name, value) in config.as_object().into_iter().flatten() {
            patches.push(json!({name: value}));
            patches.push(json!({name: null}));
        }
        let nulls = config.as_object().into_iter().flatten().map(|(name, _)| name.clone());
        patches.push(nulls.map(|name| (name, Value::Null)).collect::<Map<_, _>>().into());
    }
    patches.push(json!({"estimator": null}));
    patches
}

/// Returns the configuration in force, or `None` for an error.
fn config(answer: &str) -> Option<Value> {
    serde_json::from_str::<Value>(answer).unwrap().get("config").cloned()
}

fn create(config: &Value) -> (Session, Option<Value>) {
    let it = Session::new();
    it.ask("admin", r#"{"action":"delete_session"}"#);
    let request = json!({"action": "create_session", "config": config});
    let made = it.ask("admin", &request.to_string());
    (it, self::config(&made))
}

/// An update gives the configuration that a new session gets from the merged members.
#[test]
fn an_update_is_a_merge_patch() {
    let mut rejected = 0;
    for start in configurations() {
        for patch in patches() {
            let mut merged = start.clone();
            for (name, value) in patch.as_object().into_iter().flatten() {
                merged[name] = value.clone();
            }
            let (it, before) = create(&start);
            let request = json!({"action": "update_session", "config": patch});
            let answer = it.ask("admin", &request.to_string());
            let (_, expected) = create(&merged);
            assert_eq!(config(&answer), expected, "{start} with {patch}: {answer}");
            let shown = config(&it.ask("subagent:a", r#"{"action":"show_session"}"#));
            assert_eq!(shown, expected.clone().or(before), "{start} with {patch}");
            rejected += u32::from(expected.is_none());
        }
    }
    assert!(rejected > 0, "some merged configurations are invalid");
}
