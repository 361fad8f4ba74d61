//! The rows `k/` and `v/`: what is known of an entry, and its value.

use serde::{Deserialize, Serialize};

use super::{ENTRIES, damaged, decode, encode, stored_key, stored_participant};
use crate::{Error, key::Key, port::Revision, store::Entry, time::Timestamp, tokens::Tokens};

#[derive(Serialize, Deserialize)]
pub(super) struct EntryRecord {
    written_by: String,
    written_at_ms: u64,
    version: u64,
    value_tokens: u32,
    revision: u64,
}

impl EntryRecord {
    pub(super) fn new(entry: &Entry) -> Self {
        Self {
            written_by: entry.written_by.as_str().to_owned(),
            written_at_ms: entry.written_at.0,
            version: entry.version,
            value_tokens: entry.value_tokens.0,
            revision: entry.revision.0,
        }
    }

    pub(super) fn into_entry(self, key: Key) -> Result<Entry, Error> {
        Ok(Entry {
            key,
            written_by: stored_participant(&self.written_by)?,
            written_at: Timestamp(self.written_at_ms),
            version: self.version,
            value_tokens: Tokens(self.value_tokens),
            revision: Revision(self.revision),
        })
    }
}

/// Encodes what is known of an entry; its key is in the row's name.
pub(crate) fn encode_entry(entry: &Entry) -> Result<Vec<u8>, Error> {
    encode(&EntryRecord::new(entry))
}

/// Decodes what is known of the entry `key`.
pub(crate) fn decode_entry(key: Key, bytes: &[u8]) -> Result<Entry, Error> {
    decode::<EntryRecord>(bytes)?.into_entry(key)
}

/// Decodes the entry that lies in `row`.
pub(crate) fn decode_entry_row(row: &str, bytes: &[u8]) -> Result<Entry, Error> {
    let key = row.strip_prefix(ENTRIES).unwrap_or(row);
    decode_entry(stored_key(key)?, bytes)
}

/// Decodes a value. Values are stored as they are, without a format number.
pub(crate) fn decode_value(bytes: Vec<u8>) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(damaged)
}
