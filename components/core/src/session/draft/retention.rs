//! The pruning in a commit: versions over the history budget, commits that neither the
//! feed nor the audit trail retains, and the oldest request id.

use super::{Draft, LoadedHistory};
use crate::{
    Error,
    audit::{self, AUDIT_COMMITS_MAX, AUDIT_PRUNED_EVERY, Commit},
    config::REQUESTS_REMEMBERED,
    count::widen,
    kv::{Bucket, Change, Revision},
    record::{self, StoredChange},
    scope::Scope,
    store::history,
};

/// The share of the history budget that is freed at once when it is exceeded, so that not
/// every write scans all versions.
const HISTORY_FREED: u64 = 8;

impl<B: Bucket> Draft<'_, B> {
    /// Removes versions while they exceed the history budget, or while the session
    /// exceeds the document limit.
    pub(super) fn prune_history(&mut self) -> Result<(), Error> {
        while self.meta.history_versions > 0 {
            let bytes_max = u64::from(self.meta.retention.history_bytes_max);
            // A version counts more toward the document than toward the budget.
            let bytes_left = self.meta.history_bytes.saturating_sub(self.overweight());
            let bytes_max = bytes_max.min(bytes_left);
            if self.meta.history_bytes <= bytes_max {
                break;
            }
            if !self.prune_history_to(bytes_max - bytes_max / HISTORY_FREED)? {
                break;
            }
        }
        Ok(())
    }

    /// Removes versions until they take at most `bytes_max`. Returns true if it removed
    /// any.
    fn prune_history_to(&mut self, bytes_max: u64) -> Result<bool, Error> {
        self.load_histories()?;
        let all = self.histories.values().filter_map(|past| match past {
            LoadedHistory::Versions(versions, _) => Some(&**versions),
            LoadedHistory::Row(_) => None,
        });
        let surplus = self.meta.history_bytes.saturating_sub(bytes_max);
        let chosen = history::to_remove(all, surplus);
        let mut removed = Vec::new();
        for past in self.histories.values_mut() {
            let LoadedHistory::Versions(versions, is_changed) = past else { continue };
            let address = |it: &history::Version| (it.entry.key.clone(), it.entry.revision);
            let gone = versions.extract_if(.., |it| chosen.contains(&address(it)));
            let before = removed.len();
            removed.extend(gone);
            *is_changed |= removed.len() > before;
        }
        removed.iter().try_for_each(|it| self.remove_version(it))?;
        Ok(!removed.is_empty())
    }

    /// Loads and decodes the earlier versions of all keys.
    fn load_histories(&mut self) -> Result<(), Error> {
        for (row, bytes) in self.bucket.scan(record::HISTORY, None, u32::MAX)? {
            let (key, versions) = record::decode_history_row(&row, &bytes)?;
            self.histories.entry(key).or_insert(LoadedHistory::Versions(versions, false));
        }
        for (key, past) in &mut self.histories {
            if let LoadedHistory::Row(_) = past {
                *past = LoadedHistory::Versions(past.versions(key)?, true);
            }
        }
        Ok(())
    }

    /// Removes versions beyond the most of one key, after that number was lowered.
    pub(in crate::session) fn shorten_histories(&mut self) -> Result<(), Error> {
        self.load_histories()?;
        let versions_max = self.meta.retention.history_versions_max;
        let versions_max = widen(versions_max);
        let mut removed = Vec::new();
        for past in self.histories.values_mut() {
            let LoadedHistory::Versions(versions, is_changed) = past else { continue };
            while versions.len() > versions_max
                && let Some(last) = versions.last()
            {
                let writers = versions.iter().map(|it| Ok::<_, Error>(it.entry.written_by.clone()));
                let nth = history::index_to_remove(writers, &last.ended.by)?;
                // Only the last version that is left can be the second of one.
                removed.push(versions.remove(nth.min(versions.len().saturating_sub(1))));
                *is_changed = true;
            }
        }
        removed.iter().try_for_each(|it| self.remove_version(it))
    }

    /// Removes commits older than the feed at intervals; the audit trail retains a number
    /// of them.
    pub(super) fn prune_commits(&mut self) -> Result<(), Error> {
        if !self.revision.0.is_multiple_of(AUDIT_PRUNED_EVERY) {
            return Ok(());
        }
        // The feed can begin later than the oldest request id that is remembered.
        let remembered = self.revision.next().0.saturating_sub(REQUESTS_REMEMBERED.into());
        let of_feed = self.meta.first_of_feed(self.revision).min(Revision(remembered));
        let scope = Scope::Session(self.session.clone());
        let mut commits = Vec::new();
        for (row, bytes) in self.bucket.scan(record::CHANGES, None, u32::MAX)? {
            let revision = record::revision_of_change(&row)?;
            if revision >= of_feed {
                break;
            }
            let events = StoredChange::decode(&scope, revision, &bytes)?.events;
            // Expired entries come first; the last event is the one that was requested.
            let Some(requested) = events.into_iter().last().map(|it| it.record) else { continue };
            commits.push(Commit { revision, participant: requested.participant, at: requested.at });
        }
        let removed = audit::to_remove(&commits, AUDIT_COMMITS_MAX, self.at);
        let rows = removed.into_iter().map(record::change_row);
        self.changes.extend(rows.map(Change::Delete));
        Ok(())
    }

    /// Removes the stored reply to the oldest request.
    pub(super) fn prune_request(&mut self) -> Result<(), Error> {
        let Some(ago) = self.revision.0.checked_sub(REQUESTS_REMEMBERED.into()) else {
            return Ok(());
        };
        if let Some(bytes) = self.bucket.get(&record::change_row(Revision(ago)))? {
            self.changes.extend(StoredChange::decode_request_row(&bytes)?.map(Change::Delete));
        }
        Ok(())
    }
}
