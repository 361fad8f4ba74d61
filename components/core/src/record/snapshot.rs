//! The rows `s/` and `e/`: snapshots and their entries.

use serde::{Deserialize, Serialize};

use super::entry::EntryRecord;
use crate::{
    Error,
    kv::Revision,
    row::{decode, encode, stored_key, stored_label, stored_line, stored_participant},
    store::{Entry, Totals, snapshot::SnapshotInfo},
    time::Timestamp,
    tokens::Tokens,
};

#[derive(Serialize, Deserialize)]
struct InfoRecord {
    label: String,
    note: Option<String>,
    taken_by: String,
    taken_at_ms: u64,
    key_count: u32,
    total_tokens: u32,
    revision: u64,
}

/// Encodes a snapshot's metadata.
pub(crate) fn encode_snapshot_info(it: &SnapshotInfo) -> Result<Vec<u8>, Error> {
    encode(&InfoRecord {
        label: it.label.as_str().to_owned(),
        note: it.note.as_ref().map(|it| it.as_str().to_owned()),
        taken_by: it.taken_by.as_str().to_owned(),
        taken_at_ms: it.taken_at.0,
        key_count: it.totals.keys,
        total_tokens: it.totals.tokens.0,
        revision: it.revision.0,
    })
}

/// Decodes a snapshot's metadata.
pub(crate) fn decode_snapshot_info(bytes: &[u8]) -> Result<SnapshotInfo, Error> {
    let it: InfoRecord = decode(bytes)?;
    Ok(SnapshotInfo {
        label: stored_label(&it.label)?,
        note: it.note.as_deref().map(stored_line).transpose()?,
        taken_by: stored_participant(&it.taken_by)?,
        taken_at: Timestamp(it.taken_at_ms),
        totals: Totals { keys: it.key_count, tokens: Tokens(it.total_tokens) },
        revision: Revision(it.revision),
    })
}

/// Encodes the entries of a snapshot.
pub(crate) fn encode_snapshot_entries(entries: &[Entry]) -> Result<Vec<u8>, Error> {
    let records = entries.iter().map(|it| (it.key.as_str(), EntryRecord::new(it)));
    encode(&records.collect::<Vec<_>>())
}

/// Decodes the entries of a snapshot.
pub(crate) fn decode_snapshot_entries(bytes: &[u8]) -> Result<Vec<Entry>, Error> {
    let records: Vec<(String, EntryRecord)> = decode(bytes)?;
    records.into_iter().map(|(key, it)| it.into_entry(stored_key(&key)?)).collect()
}
