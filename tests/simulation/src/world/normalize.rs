//! Normalizes replies and records to the parts that the model predicts, for comparisons.

use serde_json::Value;
use shared_context_codec as codec;
use shared_context_core::{
    Outcome, Reply,
    audit::{AuditAction, AuditRecord},
    port::Revision,
    reply::ChangesPage,
    tokens::Tokens,
};

use crate::model::ExpectedAnswer;

/// Returns the part of the expected answer that has one correct form.
pub(super) fn expected_answer(expected: &ExpectedAnswer) -> Result<Value, String> {
    let (revision, reply) = match expected {
        ExpectedAnswer::Exactly(Err(code)) => return Err(code.as_str().to_owned()),
        ExpectedAnswer::Rejected(codes) => {
            return Err(codes.first().map_or("a commit", |it| it.as_str()).to_owned());
        }
        ExpectedAnswer::Exactly(Ok((revision, reply))) => (*revision, reply.clone()),
        ExpectedAnswer::Changes(revision, page, _) => (*revision, Reply::Changes(page.clone())),
    };
    let text = codec::to_json(&Outcome { revision, reply, next_expiry: None });
    let mut reply: Value = serde_json::from_str(&text).unwrap_or_default();
    if let Some(members) = reply.as_object_mut() {
        for name in ["records", "changes", "digests"] {
            members.remove(name);
        }
    }
    Ok(reply)
}

/// Returns true if the reply is `unchanged`.
pub(super) fn is_unchanged(body: &Value) -> bool {
    body.get("unchanged") == Some(&Value::Bool(true))
}

/// Removes warnings from a reply, and sorts parts without a defined order.
pub(super) fn normalized(body: &Value) -> Value {
    let mut body = body.clone();
    let Some(members) = body.as_object_mut() else { return body };
    members.remove("warnings");
    for written in members.get_mut("written").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(written) = written.as_object_mut() {
            written.remove("warnings");
        }
    }
    if let Some(digests) = members.get_mut("digests").and_then(Value::as_array_mut) {
        digests.sort_by_key(ToString::to_string);
    }
    for list in ["records", "changes"] {
        if let Some(records) = members.get_mut(list).and_then(Value::as_array_mut) {
            *records = normalized_records(records);
        }
    }
    body
}

/// Sorts the records of each commit, which have no defined order. Removes versions from redactions,
/// which name the key only.
fn normalized_records(records: &[Value]) -> Vec<Value> {
    let plain = |record: &Value| {
        let mut record = record.clone();
        if let Some(members) = record.as_object_mut()
            && members.get("action").and_then(Value::as_str) == Some("redact")
        {
            members.remove("version");
            members.remove("value_size_tokens");
        }
        record
    };
    let mut all: Vec<Value> = records.iter().map(plain).collect();
    all.sort_by_cached_key(|it| (it.get("revision").and_then(Value::as_u64), it.to_string()));
    all
}

/// Returns true if a page has all required changes and no change that it must not have.
pub(super) fn page_matches(
    revision: Revision,
    page: &ChangesPage,
    required: &[bool],
    body: &Value,
) -> bool {
    let json = |page: ChangesPage| {
        let reply = Reply::Changes(page);
        let text = codec::to_json(&Outcome { revision, reply, next_expiry: None });
        serde_json::from_str::<Value>(&text).unwrap_or_default()
    };
    let actual = normalized(body);
    let reply_changes =
        actual.get("changes").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut required = required.iter();
    let mut page = page.clone();
    page.changes.retain(|it| {
        let one = json(ChangesPage {
            changes: vec![it.clone()],
            next_since: Revision(0),
            has_more: false,
        });
        let one = normalized(&one);
        let one = one.get("changes").and_then(|it| it.get(0));
        required.next() == Some(&true) || one.is_some_and(|it| reply_changes.contains(it))
    });
    normalized(&json(page)) == actual
}

/// Returns true if revisions ascend, and expiries come before the other records of their commit.
pub(super) fn is_in_order(body: &Value) -> bool {
    let lists = ["records", "changes"].into_iter().filter_map(|it| body.get(it)?.as_array());
    let place = |it: &Value| {
        let is_expiry = it.get("action").and_then(Value::as_str) == Some("expire");
        (it.get("revision").and_then(Value::as_u64), !is_expiry)
    };
    lists.into_iter().all(|it| it.is_sorted_by_key(place))
}

/// Normalizes and sorts audit records.
pub(super) fn sorted(records: &[AuditRecord]) -> Vec<AuditRecord> {
    let plain = |record: &AuditRecord| {
        let mut plain = record.clone();
        if let (AuditAction::Redact, Some(entry)) = (record.action, &mut plain.entry) {
            entry.version = 0;
            entry.value_tokens = Tokens(0);
        }
        plain
    };
    let mut all: Vec<_> = records.iter().map(plain).collect();
    all.sort_by_cached_key(|it| (it.revision, format!("{it:?}")));
    all
}
