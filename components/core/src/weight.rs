//! How many bytes a session takes as a document, counted as it changes.
//!
//! # Invariant
//!
//! Counts are never below what the document has, whatever the numbers and times in it:
//! each stored item counts as if the document repeated its value, with room for its
//! longest numbers. What a redaction leaves without a reason fits into the count of
//! any value.

use crate::{
    Error,
    canonical::string_bytes_max as string,
    key::Line,
    pattern::Participants,
    portable::Portable,
    record::Meta,
    store::{Entry, access::Access, history::Version, snapshot::SnapshotInfo},
};

/// The most bytes that entries, earlier versions and snapshots may take in the document
/// of a session: 7.5 MiB. As much again is left to its rounds and its configuration, so
/// that the document stays below what an import takes.
pub const CARRIED_BYTES_MAX: u64 = 15 << 19;

/// What an entry takes besides its texts: the names of its members, digests, numbers,
/// times.
const ENTRY: u64 = 500;
/// What an earlier version takes besides its entry and who ended it.
const VERSION: u64 = 160;
/// What a snapshot takes besides its texts and its entries.
const SNAPSHOT: u64 = 320;
/// What a value takes besides its text: its digest. There is room for a placeholder.
const VALUE: u64 = 192;

fn list(access: &Access) -> u64 {
    let lists = [&access.readable_by, &access.writable_by];
    let patterns = lists.into_iter().flat_map(Participants::patterns);
    patterns.fold(0, |sum, it| sum.saturating_add(string(it)).saturating_add(1))
}

/// Returns the bytes of a session without its rounds and its configuration.
pub fn of(it: &Portable) -> u64 {
    let entries = it.entries.iter().map(of_entry);
    let history = it.history.iter().map(of_version);
    let snapshots = it.snapshots.iter().map(|it| of_snapshot(&it.info, &it.entries));
    let values = it.values.values().map(|it| of_value(it));
    entries.chain(history).chain(snapshots).chain(values).fold(0, u64::saturating_add)
}

/// Returns the bytes that `meta`, the row of a session, tells; `None` where an earlier
/// version stored it.
///
/// # Errors
///
/// [`Error::Unread`]: the row is damaged.
pub fn stored(meta: &[u8]) -> Result<Option<u64>, Error> {
    Meta::decode(meta).map(|it| it.weight)
}

/// Returns the bytes of an entry without its value.
pub(crate) fn of_entry(it: &Entry) -> u64 {
    let texts = string(it.key.as_str()).saturating_add(string(it.written_by.as_str()));
    ENTRY.saturating_add(texts).saturating_add(list(&it.access))
}

/// Returns the bytes of an earlier version without its value.
pub(crate) fn of_version(it: &Version) -> u64 {
    let ended = VERSION.saturating_add(string(it.ended.by.as_str()));
    of_entry(&it.entry).saturating_add(ended)
}

/// Returns the bytes of a snapshot of `entries` without their values.
pub(crate) fn of_snapshot(it: &SnapshotInfo, entries: &[Entry]) -> u64 {
    let texts =
        [it.label.as_str(), it.note.as_ref().map_or("", Line::as_str), it.taken_by.as_str()];
    let about = texts.into_iter().map(string).fold(SNAPSHOT, u64::saturating_add);
    entries.iter().map(of_entry).fold(about, u64::saturating_add)
}

/// Returns the bytes of a value.
pub(crate) fn of_value(text: &str) -> u64 {
    VALUE.saturating_add(string(text))
}

/// Returns the bytes of a value of which only the length is known: as many, or fewer.
pub(crate) fn of_unread_value(it: &Entry) -> u64 {
    VALUE.saturating_add(2).saturating_add(it.value_bytes.into())
}
