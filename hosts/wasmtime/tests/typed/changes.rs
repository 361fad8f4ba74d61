//! The interface `changes`.

use serde_json::json;

use crate::{
    bench::{Bench, call, rejected},
    forms,
};

const AGENT: &str = "subagent:analysis";

#[test]
fn the_change_feed_is_the_same() {
    let it = Bench::new();
    for key in ["scope", "findings_a", "findings_b"] {
        it.write(AGENT, key, "x");
    }
    call!(it, snapshots.call_take("orchestrator", "one", None)).unwrap();
    it.json("orchestrator", json!({"action": "snapshot", "label": "one"}));
    for (since, limit, keys, except_own) in [
        (None, None, None, false),
        (Some(1), Some(2), None, false),
        (Some(0), None, Some("findings_*"), false),
        (Some(0), None, None, true),
        (Some(5), None, None, false),
    ] {
        let typed = call!(it, changes.call_read(AGENT, since, limit, keys, except_own)).unwrap();
        let request = json!({
            "action": "changes", "since": since, "limit": limit, "keys": keys,
            "except_own": except_own,
        });
        assert_eq!(forms::changes(&typed), it.json(AGENT, request));
    }
    for (since, limit, keys) in
        [(Some(6), None, None), (None, Some(0), None), (None, None, Some("Findings"))]
    {
        let typed = rejected(call!(it, changes.call_read(AGENT, since, limit, keys, false)));
        let request = json!({"action": "changes", "since": since, "limit": limit, "keys": keys});
        assert_eq!(typed, it.json_rejected(AGENT, request));
    }
}

#[test]
fn the_audit_trail_is_the_same() {
    let it = Bench::new();
    it.write(AGENT, "scope", "secret");
    call!(it, store.call_redact("admin", "scope", None, "leaked")).unwrap();
    it.json("admin", json!({"action": "redact", "key": "scope", "reason": "leaked"}));
    for (since, limit) in [(None, None), (Some(1), Some(1)), (Some(9), None)] {
        let typed = call!(it, changes.call_audit("admin", since, limit)).unwrap();
        let request = json!({"action": "audit", "after": since, "limit": limit});
        assert_eq!(forms::audit(&typed), it.json("admin", request));
    }
    for (who, limit) in [(AGENT, None), ("admin", Some(1_001))] {
        let typed = rejected(call!(it, changes.call_audit(who, None, limit)));
        let request = json!({"action": "audit", "limit": limit});
        assert_eq!(typed, it.json_rejected(who, request));
    }
}
