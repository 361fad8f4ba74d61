//! The rows `h/`: the earlier versions of a key, in the order they were written.

use serde::{Deserialize, Serialize};

use super::{HISTORY, damaged, decode, encode, entry::EntryRecord, stored_key, stored_participant};
use crate::{
    Error,
    key::Key,
    port::Revision,
    store::history::{Ended, EndedHow, Version},
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

/// Encodes the earlier versions of a key; the key is in the row's name.
pub(crate) fn encode_history(versions: &[Version]) -> Result<Vec<u8>, Error> {
    let records = versions.iter().map(|Version { entry, ended }| VersionRecord {
        entry: EntryRecord::new(entry),
        how: ended.how.as_str().to_owned(),
        at_ms: ended.at.0,
        by: ended.by.as_str().to_owned(),
        revision: ended.revision.0,
    });
    encode(&records.collect::<Vec<_>>())
}

/// Decodes the earlier versions of `key`.
pub(crate) fn decode_history(key: &Key, bytes: &[u8]) -> Result<Vec<Version>, Error> {
    let records: Vec<VersionRecord> = decode(bytes)?;
    let versions = records.into_iter().map(|it| {
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
    });
    versions.collect()
}

/// Decodes the earlier versions that lie in `row`, with their key.
pub(crate) fn decode_history_row(row: &str, bytes: &[u8]) -> Result<(Key, Vec<Version>), Error> {
    let key = stored_key(row.strip_prefix(HISTORY).unwrap_or(row))?;
    let versions = decode_history(&key, bytes)?;
    Ok((key, versions))
}
