//! The encoding of records as rows: the bytes, the format number, and values stored as
//! text.
//!
//! The names and contents of rows are defined by `record` and by the `rows` of a system.
//!
//! # Invariant
//!
//! Every row starts with its format number. Rows of an unknown format are rejected. Rows
//! of older formats stay readable forever.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    Error,
    key::{Key, Label, Line},
    kv::KvError,
    participant::Participant,
    pattern::{ParticipantPattern, Participants},
};

/// The format written by this version.
pub(crate) const FORMAT: u8 = 2;

/// Encodes a record in the format of this version.
pub(crate) fn encode(record: &impl Serialize) -> Result<Vec<u8>, Error> {
    postcard::to_extend(record, vec![FORMAT]).map_err(damaged)
}

/// Decodes a record whose encoding is the same in every format.
pub(crate) fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Error> {
    decode_either::<T, T>(bytes)
}

/// Decodes a row whose encoding differs in format 1.
pub(crate) fn decode_either<'a, T, Old>(bytes: &'a [u8]) -> Result<T, Error>
where
    T: Deserialize<'a>,
    Old: Deserialize<'a> + Into<T>,
{
    match bytes.split_first() {
        Some((&FORMAT, rest)) => whole(rest),
        Some((1, rest)) => whole::<Old>(rest).map(Into::into),
        Some((format, _)) => Err(damaged(format!("format {format} is not known to this version"))),
        None => Err(damaged("an empty row")),
    }
}

/// Decodes a record and rejects trailing bytes.
pub(crate) fn whole<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Error> {
    match postcard::take_from_bytes(bytes).map_err(damaged)? {
        (record, []) => Ok(record),
        (_, behind) => Err(damaged(format!("{} bytes behind its end", behind.len()))),
    }
}

/// Parses a stored key.
pub(crate) fn stored_key(text: &str) -> Result<Key, Error> {
    Key::parse(text).map_err(damaged)
}

/// Parses a stored label.
pub(crate) fn stored_label(text: &str) -> Result<Label, Error> {
    Label::parse(text).map_err(damaged)
}

/// Parses a stored line.
pub(crate) fn stored_line(text: &str) -> Result<Line, Error> {
    Line::parse("a stored line", text).map_err(damaged)
}

/// Parses a stored participant.
pub(crate) fn stored_participant(text: &str) -> Result<Participant, Error> {
    Participant::parse(text).map_err(damaged)
}

/// Returns a list of participants in its stored form. An empty list, otherwise invalid, means
/// everyone.
pub(crate) fn list_to_store(it: &Participants) -> Vec<String> {
    if it.is_everyone() { Vec::new() } else { it.patterns().map(str::to_owned).collect() }
}

/// Parses a stored list of participants.
pub(crate) fn stored_list(texts: &[String]) -> Result<Participants, Error> {
    if texts.is_empty() {
        return Ok(Participants::default());
    }
    let patterns = texts.iter().map(|it| ParticipantPattern::parse(it));
    patterns.collect::<Result<_, _>>().and_then(Participants::new).map_err(damaged)
}

/// Creates the error for a damaged row.
pub(crate) fn damaged(why: impl std::fmt::Display) -> Error {
    Error::Unread(KvError(format!("stored record: {why}")))
}

/// Returns a digest of `content`: the first half of the SHA-256 of its encoding.
pub(crate) fn digest(content: &impl Serialize) -> Result<[u8; 16], Error> {
    let bytes = postcard::to_allocvec(content).map_err(damaged)?;
    let whole: [u8; 32] = Sha256::digest(bytes).into();
    whole.first_chunk().copied().ok_or_else(|| damaged("a digest is shorter than it can be"))
}
