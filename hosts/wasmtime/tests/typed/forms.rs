//! Converts typed results to the JSON that the tool returns.

use serde_json::{Map, Value, json};
use shared_context_codec::Time;
use shared_context_core::time::Timestamp;
use shared_context_wasmtime::bindings::{
    exports::shared_context::core::{changes, history, sessions, snapshots, store},
    shared_context::core::types,
};

fn time(ms: u64) -> String {
    Time(Timestamp(ms)).to_string()
}

/// Removes the members that are null, which JSON leaves out.
fn without_nulls(mut value: Value) -> Value {
    if let Some(members) = value.as_object_mut() {
        members.retain(|_, it| !it.is_null());
    }
    value
}

fn merged(mut one: Value, other: Value) -> Value {
    if let (Some(one), Value::Object(other)) = (one.as_object_mut(), other) {
        one.extend(other);
    }
    one
}

pub(crate) fn entry_info(it: &types::EntryInfo) -> Value {
    let narrowed = |list: &Vec<String>| (list != &["*"]).then(|| list.clone());
    without_nulls(json!({
        "key": it.key,
        "written_by": it.written_by,
        "written_at": time(it.written_at_ms),
        "version": it.version,
        "value_size_tokens": it.value_tokens,
        "revision": it.revision,
        "expires_at": it.expires_at_ms.map(time),
        "readable_by": narrowed(&it.readable_by),
        "writable_by": narrowed(&it.writable_by),
        "history": (!it.keeps_history).then_some(false),
        "readable": (!it.is_readable).then_some(false),
        "read_only": it.is_read_only.then_some(true),
    }))
}

pub(crate) fn entry(it: &types::Entry) -> Value {
    merged(entry_info(&it.info), json!({"value": it.value}))
}

pub(crate) fn entries(all: &[types::Entry]) -> Vec<Value> {
    all.iter().map(entry).collect()
}

/// Returns the reply to a read that may be unchanged since `revision`.
pub(crate) fn or_unchanged<T>(
    answer: Option<T>,
    revision: u64,
    form: impl Fn(&T) -> Value,
) -> Value {
    answer.map_or_else(|| json!({"unchanged": true, "revision": revision}), |it| form(&it))
}

pub(crate) fn listing(it: &store::Listing) -> Value {
    json!({
        "keys": it.entries.iter().map(entry_info).collect::<Vec<_>>(),
        "total_tokens": it.total_tokens,
        "max_tokens": it.max_tokens,
        "key_count": it.entries.len(),
        "revision": it.revision,
    })
}

pub(crate) fn found(it: &store::Found) -> Value {
    json!({"entries": entries(&it.entries), "missing": it.missing, "revision": it.revision})
}

pub(crate) fn written(it: &store::Written) -> Value {
    let warnings: Vec<Value> =
        it.warnings.iter().map(|it| json!({"code": it.code, "message": it.message})).collect();
    without_nulls(json!({
        "key": it.key,
        "version": it.version,
        "written_by": it.written_by,
        "written_at": time(it.written_at_ms),
        "value_size_tokens": it.value_tokens,
        "revision": it.revision,
        "expires_at": it.expires_at_ms.map(time),
        "warnings": (!warnings.is_empty()).then_some(warnings),
    }))
}

pub(crate) fn deleted(it: &store::Deleted) -> Value {
    json!({
        "deleted": it.key,
        "previous_version": it.previous_version,
        "revision": it.revision,
    })
}

pub(crate) fn batch_written(it: &store::BatchWritten) -> Value {
    let deleted = it
        .deleted
        .iter()
        .map(|it| json!({"deleted": it.key, "previous_version": it.previous_version}));
    json!({
        "written": it.written.iter().map(written).collect::<Vec<_>>(),
        "deleted": deleted.collect::<Vec<_>>(),
        "revision": it.revision,
    })
}

pub(crate) fn redacted(it: &store::Redacted) -> Value {
    json!({"redacted": it.key, "digests": it.digests, "revision": it.revision})
}

pub(crate) fn kept(key: &str, it: &history::Kept) -> Value {
    let versions = it.versions.iter().map(|it| {
        let ended = it.ended.as_ref();
        without_nulls(json!({
            "version": it.version,
            "value": it.value,
            "written_by": it.written_by,
            "written_at": time(it.written_at_ms),
            "value_size_tokens": it.value_tokens,
            "revision": it.revision,
            "status": ended.map_or("current", |it| it.how.as_str()),
            "ended_at": ended.map(|it| time(it.at_ms)),
            "ended_by": ended.map(|it| it.by.as_str()),
            "is_deleted": it.is_deleted.then_some(true),
        }))
    });
    json!({"key": key, "versions": versions.collect::<Vec<_>>(), "revision": it.revision})
}

pub(crate) fn snapshot_info(it: &snapshots::SnapshotInfo) -> Value {
    without_nulls(json!({
        "label": it.label,
        "note": it.note,
        "taken_by": it.taken_by,
        "taken_at": time(it.taken_at_ms),
        "key_count": it.key_count,
        "total_tokens": it.total_tokens,
        "revision": it.revision,
    }))
}

pub(crate) fn snapshots(it: &snapshots::Listing) -> Value {
    json!({
        "snapshots": it.snapshots.iter().map(snapshot_info).collect::<Vec<_>>(),
        "max_snapshots": it.max_snapshots,
        "revision": it.revision,
    })
}

/// Returns the form of a snapshot that was read at the session's `revision`.
pub(crate) fn snapshot(it: &snapshots::Snapshot, revision: u64) -> Value {
    let more = json!({"entries": entries(&it.entries), "revision": revision});
    merged(snapshot_info(&it.info), more)
}

pub(crate) fn difference(from: &str, to: Option<&str>, it: &snapshots::Difference) -> Value {
    let sided = |all: &[snapshots::SidedEntry]| -> Vec<Value> {
        let form = |it: &snapshots::SidedEntry| {
            let tokens = it.value_tokens;
            json!({"key": it.key, "version": it.version, "value_size_tokens": tokens})
        };
        all.iter().map(form).collect()
    };
    let changed = it.changed.iter().map(|it| {
        json!({
            "key": it.key,
            "from_version": it.from_version,
            "to_version": it.to_version,
            "from_tokens": it.from_tokens,
            "to_tokens": it.to_tokens,
        })
    });
    without_nulls(json!({
        "from": from,
        "to": to,
        "added": sided(&it.added),
        "removed": sided(&it.removed),
        "changed": changed.collect::<Vec<_>>(),
        "unchanged": it.unchanged,
        "added_tokens": it.added_tokens,
        "removed_tokens": it.removed_tokens,
        "changed_tokens": it.changed_tokens,
        "revision": it.revision,
    }))
}

pub(crate) fn restored(label: &str, it: &snapshots::Restored) -> Value {
    let written = it.written.iter().map(|it| json!({"key": it.key, "version": it.version}));
    json!({
        "restored": label,
        "written": written.collect::<Vec<_>>(),
        "deleted": it.deleted,
        "unchanged": it.unchanged,
        "revision": it.revision,
    })
}

pub(crate) fn audit_record(it: &types::AuditRecord) -> Value {
    let entry = it.entry.as_ref();
    without_nulls(json!({
        "revision": it.revision,
        "action": it.action,
        "written_by": it.participant,
        "written_at": time(it.at_ms),
        "key": entry.map(|it| it.key.as_str()),
        "version": entry.map(|it| it.version),
        "value_size_tokens": entry.map(|it| it.value_tokens),
        "label": it.label,
        "reason": it.reason,
        "round": it.round,
    }))
}

pub(crate) fn changes(it: &changes::Page) -> Value {
    json!({
        "changes": it.changes.iter().map(audit_record).collect::<Vec<_>>(),
        "next_since": it.next_since,
        "has_more": it.has_more,
        "revision": it.revision,
    })
}

pub(crate) fn audit(it: &changes::AuditPage) -> Value {
    json!({
        "records": it.records.iter().map(audit_record).collect::<Vec<_>>(),
        "oldest": it.oldest,
        "next_after": it.next_after,
    })
}

/// Returns the form of a session, with the id of the session `json`.
pub(crate) fn session(it: &sessions::SessionInfo) -> Value {
    let config: Map<String, Value> = serde_json::from_str(&it.config).unwrap();
    json!({
        "session_id": "json",
        "status": if it.is_archived { "archived" } else { "active" },
        "incarnation": it.incarnation,
        "credential_epoch": it.credential_epoch,
        "created_at": time(it.created_at_ms),
        "changed_at": time(it.changed_at_ms),
        "key_count": it.key_count,
        "total_tokens": it.total_tokens,
        "max_tokens": it.max_tokens,
        "config": config,
        "revision": it.revision,
    })
}
