//! What a session takes as a document: rejects what would make it too large to carry,
//! and counts what earlier versions stored.

use super::{Draft, Opened};
use crate::{
    Error,
    error::StoreLimit,
    kv::Bucket,
    record,
    weight::{self, CARRIED_BYTES_MAX},
};

/// How many values are looked at together where all are counted.
const VALUES_AT_ONCE: u32 = 16;

impl<B: Bucket> Opened<'_, B> {
    /// Returns what the session takes, counted now where an earlier version stored it.
    /// While some of that cannot be read it is unknown, and nothing is rejected for it.
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
    /// Counts `more` where there was `less`.
    pub(super) fn weigh(&mut self, less: u64, more: u64) {
        let weight = &mut self.meta.weight;
        *weight = weight.map(|it| it.saturating_sub(less).saturating_add(more));
    }

    /// Returns by how much the session is larger than what can be carried.
    pub(super) fn overweight(&self) -> u64 {
        self.meta.weight.map_or(0, |it| it.saturating_sub(CARRIED_BYTES_MAX))
    }

    /// Rejects what would make the session too large to carry, unless it was no smaller
    /// before.
    pub(super) fn check_weight(&self) -> Result<(), Error> {
        let Some(bytes) = self.meta.weight else { return Ok(()) };
        if bytes <= CARRIED_BYTES_MAX || bytes <= self.weight_before {
            return Ok(());
        }
        let over = StoreLimit::Document { bytes, bytes_max: CARRIED_BYTES_MAX };
        Err(Error::StoreFull { over, largest: Vec::new() })
    }
}
