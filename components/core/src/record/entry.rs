//! The rows `k/` and `v/`: entries and their values.

use serde::{Deserialize, Serialize};

use super::{ENTRIES, format_1};
use crate::{
    Error,
    key::Key,
    kv::Revision,
    row::{
        damaged, decode_either, encode, list_to_store, stored_key, stored_list, stored_participant,
    },
    store::{Entry, access::Access},
    time::Timestamp,
    tokens::Tokens,
};

#[derive(Serialize, Deserialize)]
pub(super) struct EntryRecord {
    pub(super) written_by: String,
    pub(super) written_at_ms: u64,
    pub(super) version: u64,
    pub(super) value_tokens: u32,
    pub(super) value_bytes: u32,
    pub(super) revision: u64,
    pub(super) created: u64,
    pub(super) touched: u64,
    pub(super) expires_at_ms: Option<u64>,
    pub(super) readable_by: Vec<String>,
    pub(super) writable_by: Vec<String>,
    pub(super) keeps_history: bool,
    pub(super) is_redacted: bool,
}

impl EntryRecord {
    pub(super) fn new(entry: &Entry) -> Self {
        Self {
            written_by: entry.written_by.as_str().to_owned(),
            written_at_ms: entry.written_at.0,
            version: entry.version,
            value_tokens: entry.value_tokens.0,
            value_bytes: entry.value_bytes,
            revision: entry.revision.0,
            created: entry.created.0,
            touched: entry.touched.0,
            expires_at_ms: entry.expires_at.map(|it| it.0),
            readable_by: list_to_store(&entry.access.readable_by),
            writable_by: list_to_store(&entry.access.writable_by),
            keeps_history: entry.keeps_history,
            is_redacted: entry.is_redacted,
        }
    }

    pub(super) fn into_entry(self, key: Key) -> Result<Entry, Error> {
        Ok(Entry {
            key,
            written_by: stored_participant(&self.written_by)?,
            written_at: Timestamp(self.written_at_ms),
            version: self.version,
            value_tokens: Tokens(self.value_tokens),
            value_bytes: self.value_bytes,
            revision: Revision(self.revision),
            created: Revision(self.created),
            touched: Revision(self.touched),
            expires_at: self.expires_at_ms.map(Timestamp),
            access: Access {
                readable_by: stored_list(&self.readable_by)?,
                writable_by: stored_list(&self.writable_by)?,
            },
            keeps_history: self.keeps_history,
            is_redacted: self.is_redacted,
        })
    }
}

/// Encodes an entry, without its value. Its key is in the row's name.
pub(crate) fn encode_entry(entry: &Entry) -> Result<Vec<u8>, Error> {
    encode(&EntryRecord::new(entry))
}

/// Decodes the entry `key`.
pub(crate) fn decode_entry(key: Key, bytes: &[u8]) -> Result<Entry, Error> {
    decode_either::<EntryRecord, format_1::EntryRecord>(bytes)?.into_entry(key)
}

/// Decodes the entry in `row`.
pub(crate) fn decode_entry_row(row: &str, bytes: &[u8]) -> Result<Entry, Error> {
    let key = row.strip_prefix(ENTRIES).unwrap_or(row);
    decode_entry(stored_key(key)?, bytes)
}

/// Decodes a value. Values are stored verbatim, without a format number.
pub(crate) fn decode_value(bytes: Vec<u8>) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(damaged)
}
