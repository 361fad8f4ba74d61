//! The size of a session as a document, in bytes, updated with every change.
//!
//! # Invariant
//!
//! A count is an upper bound of the document's size. Each stored item counts as if the
//! document repeated its value, with space for its longest numbers and times. A
//! placeholder without a reason fits into the count of any value.

use crate::{
    Error,
    canonical::string_bytes_max as string,
    key::Line,
    pattern::Participants,
    portable::Portable,
    record::Meta,
    store::{Entry, access::Access, history::Version, snapshot::SnapshotInfo},
};

/// The most bytes of entries, earlier versions and snapshots in the document of a
/// session: 7.5 MiB. The same amount remains for its rounds and configuration, so that
/// the document stays below the import limit.
pub const CARRIED_BYTES_MAX: u64 = 15 << 19;

/// The bytes of an entry besides its texts: member names, digests, numbers, times.
const ENTRY: u64 = 500;
/// The bytes of an earlier version besides its entry and the participant that ended it.
const VERSION: u64 = 160;
/// The bytes of a snapshot besides its texts and its entries.
const SNAPSHOT: u64 = 320;
/// The bytes of a value besides its text: its digest. A placeholder fits into them.
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

/// Returns the byte count recorded in `meta`, the meta row of a session; `None` if an
/// earlier version stored the row.
///
/// # Errors
///
/// [`Error::Unread`] if the row is damaged.
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

/// Returns a lower bound of the bytes of a value of which only the length is known.
pub(crate) fn of_unread_value(it: &Entry) -> u64 {
    VALUE.saturating_add(2).saturating_add(it.value_bytes.into())
}
