//! The rows `c/`: who changed what, and which request asked for it.

use serde::{Deserialize, Serialize};

use super::{AUDIT, damaged, decode, encode, stored_key, stored_participant};
use crate::{
    Error,
    audit::{AuditAction, AuditEntry, AuditRecord},
    key::SessionId,
    port::Revision,
    time::Timestamp,
    tokens::Tokens,
};

/// An audit record as stored, with the row of the request it answered, so that
/// the answer can be forgotten in time.
#[derive(Serialize, Deserialize)]
struct AuditRow {
    action: String,
    participant: String,
    at_ms: u64,
    entry: Option<(String, u64, u32)>,
    request_row: Option<String>,
}

/// Encodes an audit record; its revision is in the row's name, its session in
/// the bucket's.
pub(crate) fn encode_audit(
    record: &AuditRecord,
    request_row: Option<String>,
) -> Result<Vec<u8>, Error> {
    encode(&AuditRow {
        action: record.action.as_str().to_owned(),
        participant: record.participant.as_str().to_owned(),
        at_ms: record.at.0,
        entry: record
            .entry
            .as_ref()
            .map(|it| (it.key.as_str().to_owned(), it.version, it.value_tokens.0)),
        request_row,
    })
}

/// Decodes the audit record that lies in `row`.
pub(crate) fn decode_audit(
    session: &SessionId,
    row: &str,
    bytes: &[u8],
) -> Result<AuditRecord, Error> {
    let it: AuditRow = decode(bytes)?;
    let number = row.strip_prefix(AUDIT).unwrap_or(row);
    let entry = |(key, version, value_tokens): (String, u64, u32)| {
        Ok::<_, Error>(AuditEntry {
            key: stored_key(&key)?,
            version,
            value_tokens: Tokens(value_tokens),
        })
    };
    Ok(AuditRecord {
        session: session.as_str().to_owned(),
        revision: Revision(u64::from_str_radix(number, 16).map_err(damaged)?),
        action: AuditAction::ALL
            .into_iter()
            .find(|action| action.as_str() == it.action)
            .ok_or_else(|| damaged(format!("action {:?} is not known", it.action)))?,
        participant: stored_participant(&it.participant)?,
        at: Timestamp(it.at_ms),
        entry: it.entry.map(entry).transpose()?,
    })
}

/// The row of the request that the audit record `bytes` tells of, if it had one.
pub(crate) fn decode_audit_request(bytes: &[u8]) -> Result<Option<String>, Error> {
    let it: AuditRow = decode(bytes)?;
    Ok(it.request_row)
}
