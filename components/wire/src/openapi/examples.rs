//! Answers as they look, for the document. A test asks a server for each and
//! compares the members.

use serde_json::{Value, json};

pub(super) fn show_session() -> Value {
    json!({
        "session_id": "ticket-7",
        "status": "active",
        "incarnation": 1,
        "credential_epoch": 1,
        "created_at": "2026-02-20T14:30:00Z",
        "changed_at": "2026-02-20T14:30:00Z",
        "key_count": 0,
        "total_tokens": 0,
        "max_tokens": 10_000,
        "config": {
            "value_tokens_max": 1000,
            "store_tokens_max": 10_000,
            "keys_max": 1000,
            "estimator": "approximate",
            "namespace": null,
        },
        "revision": 1,
    })
}

pub(super) fn created_session() -> Value {
    let mut created = show_session();
    created["credential"] = credential();
    created["expires_at"] = json!("2026-03-22T14:30:00Z");
    created
}

pub(super) fn minted_credential() -> Value {
    json!({
        "participant": "subagent:analysis",
        "credential": credential(),
        "expires_at": "2026-02-20T15:30:00Z",
    })
}

fn credential() -> Value {
    json!("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.…")
}

pub(super) fn list_keys() -> Value {
    json!({
        "keys": [{
            "key": "problem_summary",
            "written_by": "orchestrator",
            "written_at": "2026-02-20T14:30:00Z",
            "version": 2,
            "value_size_tokens": 14,
            "revision": 3,
        }],
        "total_tokens": 14,
        "max_tokens": 10_000,
        "key_count": 1,
        "revision": 3,
    })
}

pub(super) fn read() -> Value {
    json!({
        "key": "problem_summary",
        "value": "Throughput dropped 30% after config change on Feb 18.",
        "written_by": "orchestrator",
        "written_at": "2026-02-20T14:30:00Z",
        "version": 2,
        "value_size_tokens": 14,
        "revision": 3,
    })
}

pub(super) fn written() -> Value {
    json!({
        "key": "problem_summary",
        "version": 1,
        "written_by": "orchestrator",
        "written_at": "2026-02-20T14:30:00Z",
        "value_size_tokens": 14,
        "revision": 2,
    })
}

pub(super) fn delete() -> Value {
    json!({"deleted": "problem_summary", "previous_version": 2, "revision": 4})
}

pub(super) fn deleted_session() -> Value {
    json!({"deleted_session": "ticket-7", "revision": 8})
}

pub(super) fn prompt() -> Value {
    json!({
        "text": "Shared context key conventions:\n\nState keys:\n  …",
        "tokens": 700,
        "max_tokens": 1000,
        "left_out": [],
    })
}

pub(super) fn audit() -> Value {
    json!({
        "records": [{
            "revision": 2,
            "action": "write",
            "written_by": "orchestrator",
            "written_at": "2026-02-20T14:30:00Z",
            "key": "problem_summary",
            "version": 1,
            "value_size_tokens": 14,
        }],
        "oldest": 1,
        "next_since": null,
    })
}
