//! The interface `store`.

use serde_json::json;
use shared_context_wasmtime::bindings::exports::shared_context::core::store::{
    BatchDelete, BatchWrite, Condition, WriteOptions,
};

use crate::{
    bench::{Bench, NOW_MS, call, rejected},
    forms,
};

const AGENT: &str = "subagent:analysis:3";
const OTHER: &str = "subagent:review";
const ORCHESTRATOR: &str = "orchestrator";

fn list(patterns: &[&str]) -> Vec<String> {
    patterns.iter().map(|it| (*it).to_owned()).collect()
}

#[test]
fn writes_are_the_same() {
    let it = Bench::new();
    let (plain, long) = (WriteOptions::default(), "x".repeat(2_400));
    let typed = call!(it, store.call_write(AGENT, "scope", &long, &plain, Some("once"))).unwrap();
    let request = json!({"action": "write", "key": "scope", "value": long, "request_id": "once"});
    assert_eq!(forms::written(&typed), it.json(AGENT, request.clone()));
    assert_eq!(typed.warnings[0].code, "DISTILL");
    let again = call!(it, store.call_write(AGENT, "scope", &long, &plain, Some("once"))).unwrap();
    assert_eq!(forms::written(&again), it.json(AGENT, request));
    assert_eq!(again.revision, typed.revision, "a retry changes nothing");
    let reused = call!(it, store.call_write(AGENT, "scope", "y", &plain, Some("once")));
    let request = json!({"action": "write", "key": "scope", "value": "y", "request_id": "once"});
    assert_eq!(rejected(reused), it.json_rejected(AGENT, request));

    let options = WriteOptions {
        if_version: Some(1),
        ttl_seconds: Some(60),
        readable_by: Some(list(&["orchestrator", "subagent:analysis*:*"])),
        writable_by: Some(list(&["subagent:analysis:*"])),
        keeps_history: Some(false),
        ..WriteOptions::default()
    };
    let typed = call!(it, store.call_write(AGENT, "scope", "short", &options, None)).unwrap();
    let json = it.json(
        AGENT,
        json!({
            "action": "write", "key": "scope", "value": "short", "if_version": 1,
            "ttl_seconds": 60, "readable_by": ["orchestrator", "subagent:analysis*:*"],
            "writable_by": ["subagent:analysis:*"], "history": false,
        }),
    );
    assert_eq!(forms::written(&typed), json);
    assert_eq!((typed.version, typed.expires_at_ms), (2, Some(NOW_MS + 60_000)));

    let at = WriteOptions { expires_at_ms: Some(NOW_MS + 1_500), ..WriteOptions::default() };
    let typed = call!(it, store.call_write(AGENT, "status", "x", &at, None)).unwrap();
    let request = json!({
        "action": "write", "key": "status", "value": "x", "expires_at": "2026-02-20T14:30:01.500Z",
    });
    assert_eq!(forms::written(&typed), it.json(AGENT, request));
}

#[test]
fn write_rejections_are_the_same() {
    let it = Bench::with_config(json!({"value_tokens_max": 5, "store_tokens_max": 5}));
    let rejected = |who: &str, key: &str, options: &WriteOptions, request_id: Option<&str>| {
        rejected(call!(it, store.call_write(who, key, "four", options, request_id)))
    };
    let request = |key: &str, more: &[(&str, serde_json::Value)]| {
        let mut request = json!({"action": "write", "key": key, "value": "four"});
        for (name, value) in more {
            request[*name] = value.clone();
        }
        request
    };
    let plain = WriteOptions::default();
    for (key, options, more) in [
        ("Scope", plain.clone(), vec![]),
        ("inv:scope", plain.clone(), vec![]),
        (
            "Scope",
            WriteOptions { if_version: Some(0), if_revision: Some(2), ..plain.clone() },
            vec![("if_version", json!(0)), ("if_revision", json!(2))],
        ),
        (
            "scope",
            WriteOptions { ttl_seconds: Some(0), ..plain.clone() },
            vec![("ttl_seconds", json!(0))],
        ),
        (
            "scope",
            WriteOptions {
                ttl_seconds: Some(1),
                expires_at_ms: Some(NOW_MS + 1_000),
                ..plain.clone()
            },
            vec![("ttl_seconds", json!(1)), ("expires_at", json!("2026-02-20T14:30:01Z"))],
        ),
        (
            "scope",
            WriteOptions { expires_at_ms: Some(NOW_MS), ..plain.clone() },
            vec![("expires_at", json!("2026-02-20T14:30:00Z"))],
        ),
        (
            "scope",
            WriteOptions { readable_by: Some(list(&["orch*"])), ..plain.clone() },
            vec![("readable_by", json!(["orch*"]))],
        ),
        (
            "scope",
            WriteOptions { writable_by: Some(Vec::new()), ..plain.clone() },
            vec![("writable_by", json!([]))],
        ),
        (
            "scope",
            WriteOptions { if_revision: Some(1), ..plain.clone() },
            vec![("if_revision", json!(1))],
        ),
    ] {
        let json = it.json_rejected(AGENT, request(key, &more));
        assert_eq!(rejected(AGENT, key, &options, None), json, "{key} {more:?}");
    }
    let json = it.json_rejected(AGENT, request("scope", &[("request_id", json!(""))]));
    assert_eq!(rejected(AGENT, "scope", &plain, Some("")), json);
    assert_eq!(rejected("admin", "scope", &plain, None).code, "FORBIDDEN");

    it.write(ORCHESTRATOR, "findings", &"x".repeat(20));
    let full = it.json_rejected(AGENT, request("scope", &[]));
    assert_eq!(full.code, "STORE_FULL");
    assert_eq!(rejected(AGENT, "scope", &plain, None), full, "details are the same as well");
}

#[test]
fn lists_and_reads_are_the_same() {
    let it = Bench::with_config(json!({
        "allows_prefixes": true,
        "access": [{"keys": "plan_*", "writable_by": ["orchestrator"]}],
    }));
    for (who, key) in [(AGENT, "inv:one"), (AGENT, "scope"), (ORCHESTRATOR, "plan_a")] {
        it.write(who, key, key);
    }
    let list = |prefix: Option<&str>, since: Option<u64>| {
        let answer = call!(it, store.call_list_keys(AGENT, prefix, since)).unwrap();
        forms::or_unchanged(answer, 4, forms::listing)
    };
    assert_eq!(list(None, None), it.json(AGENT, json!({"action": "list_keys"})));
    assert_eq!(list(None, None)["keys"][1]["read_only"], true);
    let request = json!({"action": "list_keys", "prefix": "inv"});
    assert_eq!(list(Some("inv"), None), it.json(AGENT, request));
    for since in [3, 4] {
        let request = json!({"action": "list_keys", "if_changed_since": since});
        assert_eq!(list(None, Some(since)), it.json(AGENT, request));
    }
    let bad = call!(it, store.call_list_keys(AGENT, Some("Inv"), None));
    let request = json!({"action": "list_keys", "prefix": "Inv"});
    assert_eq!(rejected(bad), it.json_rejected(AGENT, request));

    for since in [None, Some(2), Some(3)] {
        let answer = call!(it, store.call_read(AGENT, "scope", since)).unwrap();
        let request = json!({"action": "read", "key": "scope", "if_changed_since": since});
        assert_eq!(forms::or_unchanged(answer, 3, forms::entry), it.json(AGENT, request));
    }
    for key in ["absent", "Absent"] {
        let typed = rejected(call!(it, store.call_read(AGENT, key, None)));
        assert_eq!(typed, it.json_rejected(AGENT, json!({"action": "read", "key": key})));
    }

    for (keys, since) in [
        (vec!["scope", "inv:one"], None),
        (vec!["scope", "inv:one"], Some(2)),
        (vec!["scope", "inv:one"], Some(3)),
        (vec!["absent", "plan_a"], Some(4)),
    ] {
        let owned = self::list(&keys);
        let answer = call!(it, store.call_read_batch(AGENT, &owned, since)).unwrap();
        let request = json!({"action": "read_batch", "keys": keys, "if_changed_since": since});
        assert_eq!(forms::or_unchanged(answer, 4, forms::found), it.json(AGENT, request));
    }
    for keys in [vec![], vec!["Scope"], vec!["scope", "scope"], vec!["Scope", "Scope"]] {
        let owned = self::list(&keys);
        let typed = rejected(call!(it, store.call_read_batch(AGENT, &owned, None)));
        let request = json!({"action": "read_batch", "keys": keys});
        assert_eq!(typed, it.json_rejected(AGENT, request), "{keys:?}");
    }
}

#[test]
fn deletes_are_the_same() {
    let it = Bench::new();
    it.write(AGENT, "scope", "x");
    let none = Condition::default();
    let stale = Condition { if_version: None, if_revision: Some(1) };
    let typed = rejected(call!(it, store.call_delete(OTHER, "scope", stale, None)));
    let request = json!({"action": "delete", "key": "scope", "if_revision": 1});
    assert_eq!(typed, it.json_rejected(OTHER, request));
    assert_eq!(typed.code, "VERSION_CONFLICT");

    let request = json!({"action": "delete", "key": "scope", "request_id": "once"});
    for _ in 0..2 {
        let typed = call!(it, store.call_delete(OTHER, "scope", none, Some("once"))).unwrap();
        assert_eq!(forms::deleted(&typed), it.json(OTHER, request.clone()));
    }
    for key in ["scope", "Scope"] {
        let typed = rejected(call!(it, store.call_delete(OTHER, key, none, None)));
        assert_eq!(typed, it.json_rejected(OTHER, json!({"action": "delete", "key": key})));
    }
}

#[test]
fn batches_are_the_same() {
    let it = Bench::new();
    it.write(AGENT, "scope", "x");
    let write = |key: &str, if_version| BatchWrite {
        key: key.to_owned(),
        value: "y".to_owned(),
        options: WriteOptions { if_version, ..WriteOptions::default() },
    };
    let delete = |key: &str| BatchDelete { key: key.to_owned(), condition: Condition::default() };
    let gone = json!([{"key": "scope"}]);
    for (writes, deletes, json_writes, json_deletes) in [
        (vec![], vec![], json!([]), json!([])),
        (
            vec![write("a", Some(1))],
            vec![delete("scope")],
            json!([{"key": "a", "value": "y", "if_version": 1}]),
            gone.clone(),
        ),
        (
            vec![write("scope", None)],
            vec![delete("scope")],
            json!([{"key": "scope", "value": "y"}]),
            gone.clone(),
        ),
        (
            vec![write("A", None)],
            vec![delete("absent")],
            json!([{"key": "A", "value": "y"}]),
            json!([{"key": "absent"}]),
        ),
    ] {
        let typed = rejected(call!(it, store.call_write_batch(AGENT, &writes, &deletes, None)));
        let request =
            json!({"action": "write_batch", "writes": json_writes, "deletes": json_deletes});
        assert_eq!(typed, it.json_rejected(AGENT, request));
    }

    let (writes, deletes) = ([write("a", Some(0)), write("b", None)], [delete("scope")]);
    let request = json!({
        "action": "write_batch",
        "writes": [{"key": "a", "value": "y", "if_version": 0}, {"key": "b", "value": "y"}],
        "deletes": gone,
        "request_id": "once",
    });
    for _ in 0..2 {
        let typed =
            call!(it, store.call_write_batch(AGENT, &writes, &deletes, Some("once"))).unwrap();
        assert_eq!(forms::batch_written(&typed), it.json(AGENT, request.clone()));
        assert_eq!(typed.deleted[0].revision, typed.revision);
    }
}

#[test]
fn access_is_changed_the_same() {
    let it = Bench::new();
    it.write(AGENT, "scope", "x");
    let request = json!({"action": "set_access", "key": "scope", "writable_by": ["*"]});
    let everyone = list(&["*"]);
    let typed = rejected(call!(it, store.call_set_access(OTHER, "scope", None, Some(&everyone))));
    assert_eq!(typed, it.json_rejected(OTHER, request));
    let typed = rejected(call!(it, store.call_set_access(AGENT, "Scope", None, None)));
    let request = json!({"action": "set_access", "key": "Scope"});
    assert_eq!(typed, it.json_rejected(AGENT, request));

    let (readers, writers) = (list(&["subagent:*:*", "orchestrator"]), list(&[AGENT]));
    let readers = Some(readers.as_slice());
    let writers = Some(writers.as_slice());
    let typed = call!(it, store.call_set_access(ORCHESTRATOR, "scope", readers, writers)).unwrap();
    let request = json!({
        "action": "set_access", "key": "scope",
        "readable_by": ["subagent:*:*", "orchestrator"], "writable_by": [AGENT],
    });
    assert_eq!(forms::entry_info(&typed), it.json(ORCHESTRATOR, request));
    assert!(typed.is_read_only);
    let hidden = rejected(call!(it, store.call_read(OTHER, "scope", None)));
    assert_eq!(hidden, it.json_rejected(OTHER, json!({"action": "read", "key": "scope"})));
}

#[test]
fn redactions_are_the_same() {
    let it = Bench::new();
    it.write(AGENT, "scope", "secret");
    it.write(AGENT, "scope", "better");
    for (who, key, revision, reason) in [
        (AGENT, "scope", None, "leaked"),
        (ORCHESTRATOR, "scope", None, "two\nlines"),
        (ORCHESTRATOR, "scope", Some(9), "leaked"),
    ] {
        let typed = rejected(call!(it, store.call_redact(who, key, revision, reason)));
        let request =
            json!({"action": "redact", "key": key, "revision": revision, "reason": reason});
        assert_eq!(typed, it.json_rejected(who, request));
    }
    for revision in [Some(2), None] {
        let typed = call!(it, store.call_redact("admin", "scope", revision, "leaked")).unwrap();
        let request =
            json!({"action": "redact", "key": "scope", "revision": revision, "reason": "leaked"});
        assert_eq!(forms::redacted(&typed), it.json("admin", request));
        assert_eq!(typed.digests.len(), 1);
    }
}
