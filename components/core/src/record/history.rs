//! The rows `h/`: the earlier versions of a key, in the order they were written.
//!
//! Each version is framed with its length, so that a write can append one version and
//! remove another without decoding those between.

use serde::{Deserialize, Serialize};

use super::{HISTORY, entry::EntryRecord};
use crate::{
    Error,
    key::Key,
    kv::Revision,
    row::{FORMAT, damaged, stored_key, stored_participant, whole},
    store::history::{self, Ended, EndedHow, Version},
    time::Timestamp,
};

#[derive(Serialize, Deserialize)]
struct VersionRecord {
    entry: EntryRecord,
    how: String,
    at_ms: u64,
    by: String,
    revision: u64,
}

/// The number of bytes of a frame's length.
const LENGTH_BYTES: usize = 4;

/// Encodes the earlier versions of a key; the key is in the row's name.
pub(crate) fn encode_history(versions: &[Version]) -> Result<Vec<u8>, Error> {
    let mut row = vec![FORMAT];
    versions.iter().try_for_each(|it| push(&mut row, it))?;
    Ok(row)
}

/// Decodes the earlier versions of `key`.
pub(crate) fn decode_history(key: &Key, row: &[u8]) -> Result<Vec<Version>, Error> {
    frames(row)?.into_iter().map(|frame| decode_version(key, frame)).collect()
}

/// Appends `version` to `row`, or to a new row, and removes versions beyond
/// `versions_max`. Returns the row and the removed versions.
pub(crate) fn add_to_history(
    row: Option<Vec<u8>>,
    version: &Version,
    versions_max: usize,
) -> Result<(Vec<u8>, Vec<Version>), Error> {
    let mut row = row.unwrap_or_else(|| vec![FORMAT]);
    push(&mut row, version)?;
    let mut removed = Vec::new();
    loop {
        let frames = frames(&row)?;
        if frames.len() <= versions_max {
            return Ok((row, removed));
        }
        let decode = |it: &&[u8]| decode_version(&version.entry.key, it);
        let writers = frames.iter().map(|it| decode(it).map(|it| it.entry.written_by));
        let nth = history::index_to_remove(writers, &version.ended.by)?;
        let bytes = |it: &&[u8]| it.len().saturating_add(LENGTH_BYTES);
        let before = frames.iter().take(nth).map(bytes).sum::<usize>().saturating_add(1);
        let Some(frame) = frames.get(nth) else { return Ok((row, removed)) };
        let end = before.saturating_add(bytes(frame));
        removed.push(decode(frame)?);
        drop(row.drain(before..end));
    }
}

fn push(row: &mut Vec<u8>, Version { entry, ended }: &Version) -> Result<(), Error> {
    let record = VersionRecord {
        entry: EntryRecord::new(entry),
        how: ended.how.as_str().to_owned(),
        at_ms: ended.at.0,
        by: ended.by.as_str().to_owned(),
        revision: ended.revision.0,
    };
    let frame = postcard::to_allocvec(&record).map_err(damaged)?;
    row.extend_from_slice(&u32::try_from(frame.len()).map_err(damaged)?.to_le_bytes());
    row.extend_from_slice(&frame);
    Ok(())
}

/// Returns the frames of a row. Format 1 had no history.
fn frames(row: &[u8]) -> Result<Vec<&[u8]>, Error> {
    let Some((&FORMAT, mut rest)) = row.split_first() else {
        return Err(damaged("a history of a format that is not known to this version"));
    };
    let mut frames = Vec::new();
    while let Some((length, behind)) = rest.split_first_chunk::<LENGTH_BYTES>() {
        let length = usize::try_from(u32::from_le_bytes(*length)).map_err(damaged)?;
        let frame = behind.split_at_checked(length);
        let (frame, behind) = frame.ok_or_else(|| damaged("a history that is cut off"))?;
        frames.push(frame);
        rest = behind;
    }
    if rest.is_empty() { Ok(frames) } else { Err(damaged("a history that is cut off")) }
}

fn decode_version(key: &Key, frame: &[u8]) -> Result<Version, Error> {
    let it: VersionRecord = whole(frame)?;
    let how = EndedHow::ALL.into_iter().find(|how| how.as_str() == it.how);
    Ok(Version {
        entry: it.entry.into_entry(key.clone())?,
        ended: Ended {
            how: how.ok_or_else(|| damaged(format!("{:?} is no end", it.how)))?,
            at: Timestamp(it.at_ms),
            by: stored_participant(&it.by)?,
            revision: Revision(it.revision),
        },
    })
}

/// Decodes the key and the earlier versions in `row`.
pub(crate) fn decode_history_row(row: &str, bytes: &[u8]) -> Result<(Key, Vec<Version>), Error> {
    let key = stored_key(row.strip_prefix(HISTORY).unwrap_or(row))?;
    let versions = decode_history(&key, bytes)?;
    Ok((key, versions))
}
