//! How a session lies in its bucket. The only module that knows an encoding.
//!
//! Rows: `meta` · `namespace` and `access` (only when the session brought its
//! own) · `k/<key>` (what is known of an entry) · `v/<key>/<revision>` (a value,
//! immutable but for redaction) · `h/<key>` (its earlier versions) ·
//! `s/<revision>` and `e/<revision>` (a snapshot, and its entries) ·
//! `c/<revision>` (what a commit did) · `q/<participant>/<request id>` (the first
//! answer to a request) · `r/head`, `r/s/<round>`, `r/d/<round>/<sequence>` and
//! `r/c/<round>` (the rounds; the state after one; its deltas as they were proposed;
//! how it ended), `r/p/<participant>` (how much it has proposed to the open one) · `offset` (only where a session was imported; all that is
//! left when it is deleted, so that the revisions of a name never go back).
//! Numbers in names are 16 hexadecimal digits, so that they sort.
//!
//! Types of the systems are not serializable: what is stored changes only here,
//! and on purpose. Every row starts with its format number; rows of an unknown
//! format are refused, rows of older formats stay readable for ever.

mod access;
mod change;
mod entry;
mod format_1;
mod history;
mod meta;
mod namespace;
mod request;
mod round;
mod snapshot;

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    Error,
    key::{Key, Label, Line, Prefix, RequestId},
    kv::{KvError, Revision},
    participant::Participant,
    pattern::{ParticipantPattern, Participants},
    rounds::Share,
};

pub(crate) use access::{decode_rules, encode_rules};
pub(crate) use change::{StoredChange, StoredEvent};
pub(crate) use entry::{decode_entry, decode_entry_row, decode_value, encode_entry};
pub(crate) use history::{add_to_history, decode_history, decode_history_row, encode_history};
pub(crate) use meta::Meta;
pub(crate) use namespace::{decode_namespace, encode_namespace};
pub(crate) use request::{
    batch_digest, change_round_of_answer, decode_answer, delete_digest, encode_answer, write_digest,
};
pub(crate) use round::{
    close_digest, decode_deltas, decode_document, decode_ended, decode_rounds, decode_state,
    encode_deltas, encode_ended, encode_rounds, encode_state, open_digest, proposal_digest,
};
pub(crate) use snapshot::{
    decode_snapshot_entries, decode_snapshot_info, encode_snapshot_entries, encode_snapshot_info,
};

/// The format written by this version.
const FORMAT: u8 = 2;

/// The row of [`Meta`].
pub(crate) const META: &str = "meta";
/// The row of how far the revisions of a name are ahead of its bucket's.
pub(crate) const OFFSET: &str = "offset";
/// The row of a session's own [`Namespace`](crate::namespace::Namespace).
pub(crate) const NAMESPACE: &str = "namespace";
/// The row of a session's rules of access.
pub(crate) const RULES: &str = "access";
/// The rows of entries.
pub(crate) const ENTRIES: &str = "k/";
/// The rows of values.
pub(crate) const VALUES: &str = "v/";
/// The rows of earlier versions.
pub(crate) const HISTORY: &str = "h/";
/// The rows of snapshots.
pub(crate) const SNAPSHOTS: &str = "s/";
/// The rows of what commits did.
pub(crate) const CHANGES: &str = "c/";

/// The rows of first answers to requests.
pub(crate) const REQUESTS: &str = "q/";

/// The row of [`Rounds`](crate::rounds::Rounds).
pub(crate) const ROUNDS: &str = "r/head";

/// The rows of what participants have proposed to the round that is open.
pub(crate) const SHARES: &str = "r/p/";

/// The row of what `participant` has proposed to the round that is open.
pub(crate) fn share_row(participant: &Participant) -> String {
    format!("{SHARES}{participant}")
}

/// The row of how many bytes each of the last rounds that ended takes, oldest first.
pub(crate) const ROUND_SIZES: &str = "r/sizes";

/// The row of the state that `round` made.
pub(crate) fn state_row(round: u64) -> String {
    format!("r/s/{round:016x}")
}

/// The rows of the deltas of `round`.
pub(crate) fn delta_rows(round: u64) -> String {
    format!("r/d/{round:016x}/")
}

/// The row of deltas of `round` that were proposed together, the first of them
/// with this sequence.
pub(crate) fn delta_row(round: u64, first: u32) -> String {
    format!("{}{first:016x}", delta_rows(round))
}

/// The row of how `round` ended.
pub(crate) fn ended_row(round: u64) -> String {
    format!("r/c/{round:016x}")
}

/// The row of what is known of the entry `key`.
pub(crate) fn entry_row(key: &Key) -> String {
    format!("{ENTRIES}{key}")
}

/// The beginning of the rows of entries with this prefix.
pub(crate) fn entry_rows(prefix: Option<&Prefix>) -> String {
    prefix.map_or_else(|| ENTRIES.to_owned(), |it| format!("{ENTRIES}{}:", it.as_str()))
}

/// The row of the value that was written to `key` at `revision`.
pub(crate) fn value_row(key: &Key, revision: Revision) -> String {
    format!("{VALUES}{key}/{:016x}", revision.0)
}

/// The row of the earlier versions of `key`.
pub(crate) fn history_row(key: &Key) -> String {
    format!("{HISTORY}{key}")
}

/// The row of the snapshot taken at `revision`.
pub(crate) fn snapshot_row(revision: Revision) -> String {
    format!("{SNAPSHOTS}{:016x}", revision.0)
}

/// The row of the entries of the snapshot taken at `revision`.
pub(crate) fn snapshot_entries_row(revision: Revision) -> String {
    format!("e/{:016x}", revision.0)
}

/// The row of what the commit did that made `revision`.
pub(crate) fn change_row(revision: Revision) -> String {
    format!("{CHANGES}{:016x}", revision.0)
}

/// The revision in the name of a row of [`CHANGES`].
pub(crate) fn revision_of_change(row: &str) -> Result<Revision, Error> {
    let number = row.strip_prefix(CHANGES).unwrap_or(row);
    u64::from_str_radix(number, 16).map(Revision).map_err(damaged)
}

/// The row of the first answer to `participant`'s request `id`. Each participant
/// has request ids of its own.
pub(crate) fn request_row(participant: &Participant, id: &RequestId) -> String {
    format!("{REQUESTS}{participant}/{}", id.as_str())
}

/// Encodes what a participant has proposed to the open round.
pub(crate) fn encode_share(it: Share) -> Result<Vec<u8>, Error> {
    encode(&(it.deltas, it.bytes))
}

/// Decodes what a participant has proposed to the open round.
pub(crate) fn decode_share(bytes: &[u8]) -> Result<Share, Error> {
    let (deltas, bytes) = decode(bytes)?;
    Ok(Share { deltas, bytes })
}

/// Encodes how many bytes the last rounds take.
pub(crate) fn encode_sizes(sizes: &[u32]) -> Result<Vec<u8>, Error> {
    encode(&sizes)
}

/// Decodes how many bytes the last rounds take.
pub(crate) fn decode_sizes(bytes: &[u8]) -> Result<Vec<u32>, Error> {
    decode(bytes)
}

/// Encodes how far the revisions of a name are ahead of its bucket's.
pub(crate) fn encode_offset(offset: u64) -> Result<Vec<u8>, Error> {
    encode(&offset)
}

/// Decodes how far the revisions of a name are ahead of its bucket's.
pub(crate) fn decode_offset(bytes: &[u8]) -> Result<u64, Error> {
    decode(bytes)
}

fn encode(record: &impl Serialize) -> Result<Vec<u8>, Error> {
    postcard::to_extend(record, vec![FORMAT]).map_err(damaged)
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    decode_either::<T, T>(bytes)
}

/// Decodes a row that format 1 wrote in another way.
fn decode_either<T, Old>(bytes: &[u8]) -> Result<T, Error>
where
    T: DeserializeOwned,
    Old: DeserializeOwned + Into<T>,
{
    match bytes.split_first() {
        Some((&FORMAT, rest)) => whole(rest),
        Some((1, rest)) => whole::<Old>(rest).map(Into::into),
        Some((format, _)) => Err(damaged(format!("format {format} is not known to this version"))),
        None => Err(damaged("an empty row")),
    }
}

/// Decodes a record that has nothing behind it: what has was not written by this.
fn whole<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    match postcard::take_from_bytes(bytes).map_err(damaged)? {
        (record, []) => Ok(record),
        (_, behind) => Err(damaged(format!("{} bytes behind its end", behind.len()))),
    }
}

fn stored_key(text: &str) -> Result<Key, Error> {
    Key::parse(text).map_err(damaged)
}

fn stored_label(text: &str) -> Result<Label, Error> {
    Label::parse(text).map_err(damaged)
}

fn stored_line(text: &str) -> Result<Line, Error> {
    Line::parse("a stored line", text).map_err(damaged)
}

fn stored_participant(text: &str) -> Result<Participant, Error> {
    Participant::parse(text).map_err(damaged)
}

/// A list of participants as stored; empty stands for everyone, which no list
/// can be.
fn list_to_store(it: &Participants) -> Vec<String> {
    if it.is_everyone() { Vec::new() } else { it.patterns().map(str::to_owned).collect() }
}

fn stored_list(texts: &[String]) -> Result<Participants, Error> {
    if texts.is_empty() {
        return Ok(Participants::default());
    }
    let patterns = texts.iter().map(|it| ParticipantPattern::parse(it));
    patterns.collect::<Result<_, _>>().and_then(Participants::new).map_err(damaged)
}

/// What storage returned is not what was stored.
pub(crate) fn damaged(why: impl std::fmt::Display) -> Error {
    Error::Unread(KvError(format!("stored record: {why}")))
}
