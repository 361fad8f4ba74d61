//! The interface `snapshots`.

use serde_json::json;
use shared_context_wasmtime::bindings::exports::shared_context::core::store::Condition;

use crate::{
    bench::{Bench, call, rejected},
    forms,
};

const AGENT: &str = "subagent:analysis";
const ORCHESTRATOR: &str = "orchestrator";

/// Creates a bench whose sessions have the snapshot `before` and later changes.
fn with_snapshot() -> Bench {
    let it = Bench::with_config(json!({"snapshots_max": 2}));
    for key in ["kept", "changed", "removed"] {
        it.write(AGENT, key, "x");
    }
    let note = Some("before approval");
    let typed = call!(it, snapshots.call_take(ORCHESTRATOR, "before", note)).unwrap();
    let request = json!({"action": "snapshot", "label": "before", "note": "before approval"});
    assert_eq!(forms::snapshot_info(&typed), it.json(ORCHESTRATOR, request));
    it.write(AGENT, "changed", "longer than before");
    it.write(AGENT, "added", "y");
    call!(it, store.call_delete(AGENT, "removed", Condition::default(), None)).unwrap();
    it.json(AGENT, json!({"action": "delete", "key": "removed"}));
    it
}

#[test]
fn snapshots_are_taken_listed_and_read_the_same() {
    let it = with_snapshot();
    let listed = call!(it, snapshots.call_list_all(AGENT)).unwrap();
    assert_eq!(forms::snapshots(&listed), it.json(AGENT, json!({"action": "list_snapshots"})));

    let read = call!(it, snapshots.call_read(AGENT, "before")).unwrap();
    let request = json!({"action": "read_snapshot", "label": "before"});
    assert_eq!(forms::snapshot(&read, listed.revision), it.json(AGENT, request));
    let entry = call!(it, snapshots.call_read_entry(AGENT, "before", "removed")).unwrap();
    let request = json!({"action": "read_snapshot", "label": "before", "key": "removed"});
    assert_eq!(forms::entry(&entry), it.json(AGENT, request));

    for (label, key) in [("absent", "kept"), ("two words", "Kept"), ("before", "added")] {
        let typed = rejected(call!(it, snapshots.call_read_entry(AGENT, label, key)));
        let request = json!({"action": "read_snapshot", "label": label, "key": key});
        assert_eq!(typed, it.json_rejected(AGENT, request), "{label}");
    }
    for (who, label, note) in [
        (AGENT, "mine", None),
        (ORCHESTRATOR, "before", None),
        (ORCHESTRATOR, "-", None),
        (ORCHESTRATOR, "after", Some("")),
    ] {
        let typed = rejected(call!(it, snapshots.call_take(who, label, note)));
        let request = json!({"action": "snapshot", "label": label, "note": note});
        assert_eq!(typed, it.json_rejected(who, request), "{label}");
    }
    call!(it, snapshots.call_take(ORCHESTRATOR, "after", None)).unwrap();
    it.json(ORCHESTRATOR, json!({"action": "snapshot", "label": "after"}));
    let typed = rejected(call!(it, snapshots.call_take(ORCHESTRATOR, "third", None)));
    let request = json!({"action": "snapshot", "label": "third"});
    assert_eq!(typed, it.json_rejected(ORCHESTRATOR, request));
    assert_eq!(typed.code, "SNAPSHOT_LIMIT");
}

#[test]
fn snapshots_are_compared_restored_and_deleted_the_same() {
    let it = with_snapshot();
    call!(it, snapshots.call_take(ORCHESTRATOR, "after", None)).unwrap();
    it.json(ORCHESTRATOR, json!({"action": "snapshot", "label": "after"}));
    for (from, to) in [("before", None), ("before", Some("after")), ("after", Some("before"))] {
        let typed = call!(it, snapshots.call_diff(AGENT, from, to)).unwrap();
        let request = json!({"action": "diff_snapshots", "from": from, "to": to});
        assert_eq!(forms::difference(from, to, &typed), it.json(AGENT, request));
    }
    for (from, to) in [("absent", None), ("before", Some("a b"))] {
        let typed = rejected(call!(it, snapshots.call_diff(AGENT, from, to)));
        let request = json!({"action": "diff_snapshots", "from": from, "to": to});
        assert_eq!(typed, it.json_rejected(AGENT, request));
    }

    for (who, label) in [(AGENT, "before"), (ORCHESTRATOR, "absent"), (ORCHESTRATOR, "a b")] {
        let typed = rejected(call!(it, snapshots.call_restore(who, label)));
        let request = json!({"action": "restore_snapshot", "label": label});
        assert_eq!(typed, it.json_rejected(who, request));
        let typed = rejected(call!(it, snapshots.call_delete(who, label)));
        let request = json!({"action": "delete_snapshot", "label": label});
        assert_eq!(typed, it.json_rejected(who, request));
    }
    let restored = call!(it, snapshots.call_restore(ORCHESTRATOR, "before")).unwrap();
    let request = json!({"action": "restore_snapshot", "label": "before"});
    assert_eq!(forms::restored("before", &restored), it.json(ORCHESTRATOR, request));
    assert_eq!((restored.written.len(), restored.unchanged), (2, 1));

    let revision = call!(it, snapshots.call_delete(ORCHESTRATOR, "before")).unwrap();
    let request = json!({"action": "delete_snapshot", "label": "before"});
    let json = json!({"deleted_snapshot": "before", "revision": revision});
    assert_eq!(json, it.json(ORCHESTRATOR, request));
    assert_eq!(
        rejected(call!(it, snapshots.call_read(AGENT, "before"))).code,
        "SNAPSHOT_NOT_FOUND"
    );
}
