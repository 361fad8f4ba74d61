//! The change feed and the audit trail, which share their rows (spec 7.7, 8.5.1). The
//! audit trail goes back further: of older commits it retains those that
//! [`to_remove`](crate::audit::to_remove) leaves.
//!
//! Invariant: the feed never reveals a key to a participant that it was hidden from then,
//! or is hidden from now.

use std::collections::BTreeMap;

use super::{Decision, OpenSession, require_admin};
use crate::{
    Error,
    audit::{AuditAction, AuditRecord},
    key::Key,
    kv::{Bucket, Revision},
    packets::Address,
    pattern::KeyPattern,
    record::{self, StoredChange, StoredEvent},
    reply::{AuditPage, ChangesPage, PAGE_BYTES_MAX, Reply},
    scope::Scope,
    store::access::Access,
};

/// The number of commits read at once.
const ROWS_READ: u32 = 100;

impl<B: Bucket> OpenSession<'_, B> {
    pub(super) fn changes(
        &self,
        since: Option<Revision>,
        limit: u32,
        keys: Option<&KeyPattern>,
        except_own: bool,
    ) -> Result<Decision, Error> {
        let now = self.revision();
        let oldest_since = Revision(self.meta.first_of_feed(now).0.saturating_sub(1));
        let since = since.unwrap_or(oldest_since);
        if !(oldest_since..=now).contains(&since) {
            return Err(Error::ChangesTruncated { oldest: oldest_since, revision: now });
        }
        let (stored, last) = self.stored_changes(since, limit)?;
        let next_since = last.unwrap_or(now);
        let mut asked = stored;
        asked.retain(|StoredEvent { record, .. }| {
            let is_turn = matches!(record.action, AuditAction::OpenRound | AuditAction::CloseRound);
            let is_own = except_own && record.participant == self.caller.participant;
            let is_asked = match (&record.entry, keys) {
                (_, None) => true,
                (Some(it), Some(keys)) => keys.matches(&it.key),
                (None, Some(_)) => is_turn,
            };
            !is_own && is_asked
        });
        let changes = self.visible_changes(asked)?;
        let has_more = next_since < now;
        Ok(self.answer(Reply::Changes(ChangesPage { changes, next_since, has_more })))
    }

    /// Returns the changes in the feed that the caller may know of.
    pub(super) fn feed(&self) -> Result<Vec<AuditRecord>, Error> {
        let now = self.revision();
        let mut since = Revision(self.meta.first_of_feed(now).0.saturating_sub(1));
        let mut all = Vec::new();
        loop {
            let (stored, last) = self.stored_changes(since, u32::MAX)?;
            all.extend(self.visible_changes(stored)?);
            match last {
                Some(last) if last > since && last < now => since = last,
                _ => return Ok(all),
            }
        }
    }

    /// Returns the changes that the caller may know of.
    fn visible_changes(&self, stored: Vec<StoredEvent>) -> Result<Vec<AuditRecord>, Error> {
        let mut hidden = BTreeMap::new();
        let mut changes = Vec::new();
        for StoredEvent { record, readable_by } in stored {
            let access = Access { readable_by, ..Access::default() };
            let is_visible = match &record.entry {
                Some(it) => {
                    self.authorizer.may_see(&it.key, &access)
                        && !self.is_hidden(&it.key, &mut hidden)?
                }
                None => !record.action.is_of_packets() || self.sees_packet_events(&record),
            };
            if is_visible {
                changes.push(record);
            }
        }
        Ok(changes)
    }

    pub(super) fn audit(&self, after: Revision, limit: u32) -> Result<Decision, Error> {
        require_admin(self.caller)?;
        let first = self.bucket.scan(record::CHANGES, None, 1)?;
        let oldest = first.first().map(|(row, _)| record::revision_of_change(row)).transpose()?;
        let (stored, last) = self.stored_changes(after, limit)?;
        let records = stored.into_iter().map(|it| it.record).collect();
        let next_after = last.filter(|last| *last < self.revision());
        Ok(self.answer(Reply::Audit(AuditPage { records, oldest, next_after })))
    }

    /// Returns the events of at most `limit` commits after `since`, up to one page, and
    /// the revision of the last commit.
    fn stored_changes(
        &self,
        since: Revision,
        limit: u32,
    ) -> Result<(Vec<StoredEvent>, Option<Revision>), Error> {
        let scope = Scope::Session(self.session.clone());
        let (mut events, mut last) = (Vec::new(), None);
        let (mut left, mut room) = (limit, PAGE_BYTES_MAX);
        let mut is_more = true;
        while is_more && left > 0 {
            let after = record::change_row(last.unwrap_or(since));
            let step = left.min(ROWS_READ);
            let rows = self.bucket.scan(record::CHANGES, Some(&after), step)?;
            is_more = u32::try_from(rows.len()).is_ok_and(|it| it == step);
            for (row, bytes) in rows {
                if last.is_some() && bytes.len() > room {
                    return Ok((events, last));
                }
                room = room.saturating_sub(bytes.len());
                let revision = record::revision_of_change(&row)?;
                events.extend(StoredChange::decode(&scope, revision, &bytes)?.events);
                last = Some(revision);
                left = left.saturating_sub(1);
            }
        }
        Ok((events, last))
    }

    /// Returns true if the caller may know of the packet that `record` names: one that it may read.
    fn sees_packet_events(&self, record: &AuditRecord) -> bool {
        let address = record.label.as_ref().and_then(|it| Address::parse(it.as_str()).ok());
        let participant = &self.caller.participant;
        self.authorizer.sees_all() || address.is_some_and(|it| it.is_for(participant))
    }

    /// Returns true if `key` is now hidden from the caller; `cache` holds the results.
    fn is_hidden(&self, key: &Key, cache: &mut BTreeMap<Key, bool>) -> Result<bool, Error> {
        if self.authorizer.sees_all() {
            return Ok(false);
        }
        if let Some(is_hidden) = cache.get(key) {
            return Ok(*is_hidden);
        }
        let is_hidden = self.entry(key)?.is_some_and(|it| !self.may_read(&it));
        cache.insert(key.clone(), is_hidden);
        Ok(is_hidden)
    }
}
