//! What a commit forgets: versions over the budget of history, commits that neither the
//! feed nor the audit trail keeps, and the oldest request id.

use super::{Draft, Past};
use crate::{
    Error,
    audit::{self, AUDIT_COMMITS_MAX, AUDIT_PRUNED_EVERY, Commit},
    config::REQUESTS_REMEMBERED,
    kv::{Bucket, Change, Revision},
    record::{self, StoredChange},
    store::history,
};

/// When the budget for history is exceeded, this part of it is freed at once, so
/// that not every write has to look at all versions.
const HISTORY_FREED: u64 = 8;

impl<B: Bucket> Draft<'_, B> {
    /// Forgets versions while they take more bytes than they may, or the session with
    /// them more than can be carried.
    pub(super) fn keep_to_the_budget(&mut self) -> Result<(), Error> {
        while self.meta.history_versions > 0 {
            let bytes_max = u64::from(self.meta.retention.history_bytes_max);
            // A version takes more of a document than of the budget.
            let kept = self.meta.history_bytes.saturating_sub(self.overweight());
            let bytes_max = bytes_max.min(kept);
            if self.meta.history_bytes <= bytes_max {
                break;
            }
            if !self.forget_down_to(bytes_max - bytes_max / HISTORY_FREED)? {
                break;
            }
        }
        Ok(())
    }

    /// Forgets versions until they take no more than `bytes_max`. Returns whether there
    /// was any.
    fn forget_down_to(&mut self, bytes_max: u64) -> Result<bool, Error> {
        for (row, bytes) in self.bucket.scan(record::HISTORY, None, u32::MAX)? {
            let (key, versions) = record::decode_history_row(&row, &bytes)?;
            self.histories.entry(key).or_insert(Past::Versions(versions, false));
        }
        for (key, past) in &mut self.histories {
            if let Past::Row(_) = past {
                *past = Past::Versions(past.versions(key)?, true);
            }
        }
        let all = self.histories.values().filter_map(|past| match past {
            Past::Versions(versions, _) => Some(&**versions),
            Past::Row(_) => None,
        });
        let surplus = self.meta.history_bytes.saturating_sub(bytes_max);
        let chosen = history::to_forget(all, surplus);
        let mut forgotten = Vec::new();
        for past in self.histories.values_mut() {
            let Past::Versions(versions, is_changed) = past else { continue };
            let address = |it: &history::Version| (it.entry.key.clone(), it.entry.revision);
            let gone = versions.extract_if(.., |it| chosen.contains(&address(it)));
            let before = forgotten.len();
            forgotten.extend(gone);
            *is_changed |= forgotten.len() > before;
        }
        forgotten.iter().try_for_each(|it| self.forget(it))?;
        Ok(!forgotten.is_empty())
    }

    /// Forgets commits that are not of the feed, once in a while: the audit trail keeps
    /// a number of them.
    pub(super) fn forget_commits(&mut self) -> Result<(), Error> {
        if !self.revision.0.is_multiple_of(AUDIT_PRUNED_EVERY) {
            return Ok(());
        }
        let of_feed = self.meta.first_of_feed(self.revision);
        let mut commits = Vec::new();
        for (row, bytes) in self.bucket.scan(record::CHANGES, None, u32::MAX)? {
            let revision = record::revision_of_change(&row)?;
            if revision >= of_feed {
                break;
            }
            let events = StoredChange::decode(self.session, revision, &bytes)?.events;
            // What expired stands first: it is not what was asked for.
            let Some(asked) = events.into_iter().last().map(|it| it.record) else { continue };
            commits.push(Commit { revision, participant: asked.participant, at: asked.at });
        }
        let forgotten = audit::to_forget(&commits, AUDIT_COMMITS_MAX, self.at);
        let rows = forgotten.into_iter().map(record::change_row);
        self.changes.extend(rows.map(Change::Delete));
        Ok(())
    }

    /// Forgets the request that has been remembered the longest.
    pub(super) fn forget_request(&mut self) -> Result<(), Error> {
        let Some(ago) = self.revision.0.checked_sub(REQUESTS_REMEMBERED.into()) else {
            return Ok(());
        };
        if Revision(ago) >= self.meta.first_revision
            && let Some(bytes) = self.bucket.get(&record::change_row(Revision(ago)))?
        {
            self.changes.extend(StoredChange::decode_request_row(&bytes)?.map(Change::Delete));
        }
        Ok(())
    }
}
