//! The rows of a session in its bucket, except those of rounds.
//!
//! Rows: `meta` · `namespace` and `access` (only if the session has its own) · `k/<key>`
//! (an entry without its value) · `v/<key>/<revision>` (a value; only redaction changes
//! it) · `h/<key>` (the entry's earlier versions) · `s/<revision>` and `e/<revision>` (a
//! snapshot, and its entries) · `c/<revision>` (the events of a commit) ·
//! `q/<participant>/<request id>` (the first reply to a request) · `offset` (only if a
//! session was imported; it remains when the session is deleted, so that the revisions of
//! an id never go back). The rows `r/` are in [`rounds::rows`](crate::rounds::rows).
//! Numbers in names are 16 hexadecimal digits, so that they sort.
//!
//! Types of the systems are not serializable. So the stored format changes only by an
//! edit here or in a system's `rows`.

mod access;
mod change;
mod entry;
mod format_1;
mod history;
mod meta;
mod namespace;
mod request;
mod snapshot;

use crate::{
    Error,
    key::{Key, Prefix, RequestId},
    kv::Revision,
    participant::Participant,
    row::{damaged, decode, encode},
};

pub(crate) use access::{decode_rules, encode_rules};
pub(crate) use change::{StoredChange, StoredEvent};
pub(crate) use entry::{decode_entry, decode_entry_row, decode_value, encode_entry};
pub(crate) use history::{add_to_history, decode_history, decode_history_row, encode_history};
pub(crate) use meta::Meta;
pub(crate) use namespace::{decode_namespace, encode_namespace};
pub(crate) use request::{
    batch_digest, command_digest, creation_digest, decode_answer, delete_digest, encode_answer,
    redact_answer, write_digest,
};
pub(crate) use snapshot::{
    decode_snapshot_entries, decode_snapshot_info, encode_snapshot_entries, encode_snapshot_info,
};

/// The name of the row of [`Meta`].
pub(crate) const META: &str = "meta";
/// The name of the row of an id's revision offset.
pub(crate) const OFFSET: &str = "offset";
/// The name of the row of a session's own [`Namespace`](crate::namespace::Namespace).
pub(crate) const NAMESPACE: &str = "namespace";
/// The name of the row of a session's access rules.
pub(crate) const RULES: &str = "access";
/// The prefix of the rows of entries.
pub(crate) const ENTRIES: &str = "k/";
/// The prefix of the rows of values.
pub(crate) const VALUES: &str = "v/";
/// The prefix of the rows of earlier versions.
pub(crate) const HISTORY: &str = "h/";
/// The prefix of the rows of snapshots.
pub(crate) const SNAPSHOTS: &str = "s/";
/// The prefix of the rows of commits.
pub(crate) const CHANGES: &str = "c/";

/// The prefix of the rows of replies to requests.
pub(crate) const REQUESTS: &str = "q/";

/// Returns the name of the row of the entry `key`.
pub(crate) fn entry_row(key: &Key) -> String {
    format!("{ENTRIES}{key}")
}

/// Returns the prefix of the rows of entries with this key prefix.
pub(crate) fn entry_rows(prefix: Option<&Prefix>) -> String {
    prefix.map_or_else(|| ENTRIES.to_owned(), |it| format!("{ENTRIES}{}:", it.as_str()))
}

/// Returns the name of the row of the value written to `key` at `revision`.
pub(crate) fn value_row(key: &Key, revision: Revision) -> String {
    format!("{VALUES}{key}/{:016x}", revision.0)
}

/// Returns the name of the row of the earlier versions of `key`.
pub(crate) fn history_row(key: &Key) -> String {
    format!("{HISTORY}{key}")
}

/// Returns the name of the row of the snapshot taken at `revision`.
pub(crate) fn snapshot_row(revision: Revision) -> String {
    format!("{SNAPSHOTS}{:016x}", revision.0)
}

/// Returns the name of the row of the entries of the snapshot taken at `revision`.
pub(crate) fn snapshot_entries_row(revision: Revision) -> String {
    format!("e/{:016x}", revision.0)
}

/// Returns the name of the row of the commit that made `revision`.
pub(crate) fn change_row(revision: Revision) -> String {
    format!("{CHANGES}{:016x}", revision.0)
}

/// Parses the revision in the name of a row of [`CHANGES`].
pub(crate) fn revision_of_change(row: &str) -> Result<Revision, Error> {
    let number = row.strip_prefix(CHANGES).unwrap_or(row);
    u64::from_str_radix(number, 16).map(Revision).map_err(damaged)
}

/// Returns the name of the row of the first reply to `participant`'s request `id`. Each
/// participant has its own request ids.
pub(crate) fn request_row(participant: &Participant, id: &RequestId) -> String {
    format!("{REQUESTS}{participant}/{}", id.as_str())
}

/// Encodes the revision offset of an id.
pub(crate) fn encode_offset(offset: u64) -> Result<Vec<u8>, Error> {
    encode(&offset)
}

/// Decodes the revision offset of an id.
pub(crate) fn decode_offset(bytes: &[u8]) -> Result<u64, Error> {
    decode(bytes)
}
