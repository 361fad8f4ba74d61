//! How a session lies in its bucket. The only module that knows an encoding.
//!
//! Rows: `meta` · `namespace` (only when the session brought its own) ·
//! `k/<key>` (what is known of an entry) · `v/<key>/<revision>` (its value,
//! immutable) · `c/<revision>` (audit) · `q/<participant>/<request id>` (the
//! first answer to a request). Numbers in names are 16 hexadecimal digits, so
//! that they sort.
//!
//! Types of the systems are not serializable: what is stored changes only here,
//! and on purpose. Every row starts with its format number; rows of an unknown
//! format are refused, rows of older formats stay readable for ever.

mod audit;
mod entry;
mod meta;
mod namespace;
mod request;

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    Error,
    key::{Key, RequestId},
    participant::Participant,
    port::{KvError, Revision},
};

pub(crate) use audit::{decode_audit, decode_audit_request, encode_audit};
pub(crate) use entry::{decode_entry, decode_entry_row, decode_value, encode_entry};
pub(crate) use meta::Meta;
pub(crate) use namespace::{decode_namespace, encode_namespace};
pub(crate) use request::{
    decode_answer, delete_digest, encode_deleted, encode_written, write_digest,
};

/// The format written by this version.
const FORMAT: u8 = 1;

/// The row of [`Meta`].
pub(crate) const META: &str = "meta";
/// The row of a session's own [`Namespace`].
pub(crate) const NAMESPACE: &str = "namespace";
/// The rows of entries.
pub(crate) const ENTRIES: &str = "k/";
/// The rows of audit records.
pub(crate) const AUDIT: &str = "c/";

/// The row of what is known of the entry `key`.
pub(crate) fn entry_row(key: &Key) -> String {
    format!("{ENTRIES}{key}")
}

/// The row of the value that was written to `key` at `revision`.
pub(crate) fn value_row(key: &Key, revision: Revision) -> String {
    format!("v/{key}/{:016x}", revision.0)
}

/// The row of the audit record of the change that made `revision`.
pub(crate) fn audit_row(revision: Revision) -> String {
    format!("{AUDIT}{:016x}", revision.0)
}

/// The row of the first answer to `participant`'s request `id`. Each participant
/// has request ids of its own.
pub(crate) fn request_row(participant: &Participant, id: &RequestId) -> String {
    format!("q/{participant}/{}", id.as_str())
}

fn encode(record: &impl Serialize) -> Result<Vec<u8>, Error> {
    postcard::to_extend(record, vec![FORMAT]).map_err(damaged)
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    match bytes.split_first() {
        Some((&FORMAT, rest)) => postcard::from_bytes(rest).map_err(damaged),
        Some((format, _)) => Err(damaged(format!("format {format} is not known to this version"))),
        None => Err(damaged("an empty row")),
    }
}

fn stored_key(text: &str) -> Result<Key, Error> {
    Key::parse(text).map_err(damaged)
}

fn stored_participant(text: &str) -> Result<Participant, Error> {
    Participant::parse(text).map_err(damaged)
}

/// What storage returned is not what was stored.
pub(crate) fn damaged(why: impl std::fmt::Display) -> Error {
    Error::Storage(KvError(format!("stored record: {why}")))
}
