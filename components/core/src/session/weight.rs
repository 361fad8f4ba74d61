//! The size of a session as a document: rejects changes beyond the limit, and counts
//! sessions stored by earlier versions.

use super::{Draft, OpenSession};
use crate::{
    Error,
    error::StoreLimit,
    kv::Bucket,
    record,
    weight::{self, CARRIED_BYTES_MAX},
};

/// The number of values that are read at once to count them all.
const VALUES_AT_ONCE: u32 = 16;

impl<B: Bucket> OpenSession<'_, B> {
    /// Returns the session's size, counted now if an earlier version stored the session.
    /// If part of it cannot be read, the size is unknown and no limit applies.
    pub(super) fn weight(&self) -> Result<Option<u64>, Error> {
        match self.meta.weight.map_or_else(|| self.weigh(), Ok) {
            Err(Error::Unread(_)) => Ok(None),
            weight => weight.map(Some),
        }
    }

    fn weigh(&self) -> Result<u64, Error> {
        let entries = self.stored_entries(None)?;
        let mut all = entries.iter().map(weight::of_entry).fold(0, u64::saturating_add);
        for (row, bytes) in self.bucket.scan(record::HISTORY, None, u32::MAX)? {
            let (_, versions) = record::decode_history_row(&row, &bytes)?;
            all = versions.iter().map(weight::of_version).fold(all, u64::saturating_add);
        }
        for info in self.snapshots()? {
            let entries = self.snapshot_entries(info.revision)?;
            all = all.saturating_add(weight::of_snapshot(&info, &entries));
        }
        let mut after = None;
        loop {
            let rows = self.bucket.scan(record::VALUES, after.as_deref(), VALUES_AT_ONCE)?;
            let Some((last, _)) = rows.last() else { return Ok(all) };
            after = Some(last.clone());
            for (_, bytes) in rows {
                all = all.saturating_add(weight::of_value(&record::decode_value(bytes)?));
            }
        }
    }
}

impl<B> Draft<'_, B> {
    /// Subtracts `less` from the weight and adds `more`.
    pub(super) fn weigh(&mut self, less: u64, more: u64) {
        let weight = &mut self.meta.weight;
        *weight = weight.map(|it| it.saturating_sub(less).saturating_add(more));
    }

    /// Returns the bytes by which the session exceeds the document limit.
    pub(super) fn overweight(&self) -> u64 {
        self.meta.weight.map_or(0, |it| it.saturating_sub(CARRIED_BYTES_MAX))
    }

    /// Rejects a commit that exceeds the document limit, unless the session was at least
    /// as large before.
    pub(super) fn check_weight(&self) -> Result<(), Error> {
        let Some(bytes) = self.meta.weight else { return Ok(()) };
        if bytes <= CARRIED_BYTES_MAX || bytes <= self.weight_before {
            return Ok(());
        }
        let over = StoreLimit::Document { bytes, bytes_max: CARRIED_BYTES_MAX };
        Err(Error::StoreFull { over, is_limited: false, largest: Vec::new() })
    }
}
