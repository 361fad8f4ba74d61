//! The changes of a project (spec 15.5). They are kept with those of sessions in one form.

use super::open::OpenProject;
use crate::{
    Error,
    decision::Decision,
    kv::{Bucket, Revision},
    record::{self, StoredChange},
    reply::{ChangesPage, PAGE_BYTES_MAX, Reply},
    scope::Scope,
};

/// The number of commits that are kept.
pub(crate) const COMMITS_KEPT: u64 = 4_096;

impl<B: Bucket> OpenProject<'_, B> {
    pub(super) fn changes(&self, since: Option<Revision>, limit: u32) -> Result<Decision, Error> {
        let now = self.bucket.revision();
        let first = now.next().0.saturating_sub(COMMITS_KEPT).max(self.meta.incarnation);
        let oldest = Revision(first.saturating_sub(1));
        let since = since.unwrap_or(oldest);
        if !(oldest..=now).contains(&since) {
            return Err(Error::ChangesTruncated { oldest, revision: now });
        }
        let scope = Scope::Project(self.project.clone());
        let (mut changes, mut next_since, mut room) = (Vec::new(), now, PAGE_BYTES_MAX);
        let rows = self.bucket.scan(record::CHANGES, Some(&record::change_row(since)), limit)?;
        let is_whole = u32::try_from(rows.len()).is_ok_and(|it| it < limit);
        let mut last = None;
        let mut is_cut = false;
        for (row, bytes) in rows {
            if last.is_some() && bytes.len() > room {
                is_cut = true;
                break;
            }
            room = room.saturating_sub(bytes.len());
            let revision = record::revision_of_change(&row)?;
            let events = StoredChange::decode(&scope, revision, &bytes)?.events;
            changes.extend(events.into_iter().map(|it| it.record));
            last = Some(revision);
        }
        if let Some(last) = last.filter(|_| is_cut || !is_whole) {
            next_since = last;
        }
        let has_more = next_since < now;
        Ok(self.answer(Reply::Changes(ChangesPage { changes, next_since, has_more })))
    }
}
