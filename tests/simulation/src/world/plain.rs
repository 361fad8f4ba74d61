//! Replies and records as far as the model knows of them, to be compared.

use serde_json::Value;
use shared_context_codec as codec;
use shared_context_core::{
    Outcome, Reply,
    audit::{AuditAction, AuditRecord},
    port::Revision,
    reply::ChangesPage,
    tokens::Tokens,
};

use crate::model::Expected;

/// Returns what must be answered, as far as there is one right form of it.
pub(super) fn promise(expected: &Expected) -> Result<Value, String> {
    let (revision, reply) = match expected {
        Expected::Exactly(Err(code)) => return Err(code.as_str().to_owned()),
        Expected::Refused(codes) => {
            return Err(codes.first().map_or("a commit", |it| it.as_str()).to_owned());
        }
        Expected::Exactly(Ok((revision, reply))) => (*revision, reply.clone()),
        Expected::Changes(revision, page, _) => (*revision, Reply::Changes(page.clone())),
    };
    let text = codec::to_json(&Outcome { revision, reply, next_expiry: None });
    let mut told: Value = serde_json::from_str(&text).unwrap_or_default();
    if let Some(members) = told.as_object_mut() {
        for name in ["records", "changes", "digests"] {
            members.remove(name);
        }
    }
    Ok(told)
}

/// Returns whether a reply says that nothing asked for changed.
pub(super) fn is_unchanged(body: &Value) -> bool {
    body.get("unchanged") == Some(&Value::Bool(true))
}

/// Returns a reply as far as the model knows of it: without warnings, and what has no order
/// of its own in one.
pub(super) fn plain(body: &Value) -> Value {
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
            *records = plain_records(records);
        }
    }
    body
}

/// Returns what one commit did has no order of its own, and of a redaction it is told which
/// key it was of, not of which of its versions.
fn plain_records(records: &[Value]) -> Vec<Value> {
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

/// Returns whether what must be told is told, and nothing that may not be.
pub(super) fn is_page(
    revision: Revision,
    page: &ChangesPage,
    musts: &[bool],
    body: &Value,
) -> bool {
    let json = |page: ChangesPage| {
        let reply = Reply::Changes(page);
        let text = codec::to_json(&Outcome { revision, reply, next_expiry: None });
        serde_json::from_str::<Value>(&text).unwrap_or_default()
    };
    let told = plain(body);
    let told_changes = told.get("changes").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut musts = musts.iter();
    let mut page = page.clone();
    page.changes.retain(|it| {
        let one = json(ChangesPage {
            changes: vec![it.clone()],
            next_since: Revision(0),
            has_more: false,
        });
        let one = plain(&one);
        let one = one.get("changes").and_then(|it| it.get(0));
        musts.next() == Some(&true) || one.is_some_and(|it| told_changes.contains(it))
    });
    plain(&json(page)) == told
}

/// Revisions never go back, and what expired stands before what its commit did
/// besides.
pub(super) fn is_in_order(body: &Value) -> bool {
    let lists = ["records", "changes"].into_iter().filter_map(|it| body.get(it)?.as_array());
    let place = |it: &Value| {
        let is_expiry = it.get("action").and_then(Value::as_str) == Some("expire");
        (it.get("revision").and_then(Value::as_u64), !is_expiry)
    };
    lists.into_iter().all(|it| it.is_sorted_by_key(place))
}

/// Records in an order of their own, as far as the model knows of them.
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
