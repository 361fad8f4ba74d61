//! The values that a commit stores and removes, and their sizes.

use super::{super::put, Draft};
use crate::{
    Error,
    key::Key,
    kv::{Bucket, Change, ReadError, Revision},
    record,
    store::{Entry, snapshot},
    weight,
};

impl<B: Bucket> Draft<'_, B> {
    /// Stores the value written to `key` at `revision`.
    pub(in crate::session) fn put_value(&mut self, key: &Key, revision: Revision, value: String) {
        let (row, bytes) = (record::value_row(key, revision), weight::of_value(&value));
        self.weigh(0, bytes);
        self.values.insert(row.clone(), bytes);
        self.changes.push(put(row, value.into_bytes()));
    }

    /// Replaces `old`, the value written to `key` at `revision`, with `new`.
    pub(in crate::session) fn replace_value(
        &mut self,
        key: &Key,
        revision: Revision,
        old: &str,
        new: String,
    ) {
        self.weigh(weight::of_value(old), 0);
        self.put_value(key, revision, new);
    }

    /// Removes the value of a version that ended at `ended`, unless a snapshot holds it.
    pub(in crate::session) fn drop_value(
        &mut self,
        entry: &Entry,
        ended: Revision,
    ) -> Result<(), Error> {
        if snapshot::is_held(&self.meta.snapshots, entry.revision, ended) {
            return Ok(());
        }
        self.delete_value(entry)
    }

    /// Removes the value of a version that nothing holds, even if the value cannot be
    /// read.
    pub(in crate::session) fn delete_value(&mut self, entry: &Entry) -> Result<(), Error> {
        let row = record::value_row(&entry.key, entry.revision);
        let unread = weight::of_unread_value(entry);
        let bytes = match self.values.remove(&row) {
            Some(bytes) => bytes,
            None => match self.bucket.get(&row) {
                Err(ReadError::Moved) => return Err(Error::Overtaken),
                Err(ReadError::Failed(_)) | Ok(None) => unread,
                Ok(Some(it)) => record::decode_value(it).map_or(unread, |it| weight::of_value(&it)),
            },
        };
        self.weigh(bytes, 0);
        self.changes.push(Change::Delete(row));
        Ok(())
    }
}
