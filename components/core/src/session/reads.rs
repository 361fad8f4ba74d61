//! Reading entries and their history (spec 3.1, 3.2, 7.3, 7.4).
//!
//! Invariant: a hidden entry is reported as one that does not exist. The orchestrator
//! sees the metadata of entries it may not read.

use super::{Decision, OpenSession, answer, not_found};
use crate::{
    Error,
    key::{Key, Prefix},
    kv::{Bucket, Revision},
    participant::Role,
    reply::{EntriesRead, History, Listing, PastVersion, Reply},
    store::{Entry, Totals, history::Version},
    tokens::Tokens,
};

/// Returns the totals of `entries`.
pub(super) fn totals_of(entries: &[Entry]) -> Totals {
    Totals {
        keys: u32::try_from(entries.len()).unwrap_or(u32::MAX),
        tokens: entries.iter().fold(Tokens(0), |sum, it| sum.plus(it.value_tokens)),
    }
}

impl<B: Bucket> OpenSession<'_, B> {
    /// Returns the totals of the entries. They would tell a caller that is limited to some keys
    /// about the others, so it gets those of the entries it sees.
    pub(super) fn visible_totals(&self) -> Result<Totals, Error> {
        if !self.is_limited() {
            return self.totals();
        }
        let mut entries = self.entries(None)?;
        entries.retain(|it| self.may_see(it));
        Ok(totals_of(&entries))
    }

    pub(super) fn list_keys(
        &self,
        prefix: Option<&Prefix>,
        if_changed_since: Option<Revision>,
    ) -> Result<Decision, Error> {
        if self.is_unchanged(if_changed_since) {
            return Ok(self.answer(Reply::Unchanged));
        }
        let entries = self.entries(prefix)?;
        let visible: Vec<Entry> = entries.into_iter().filter(|it| self.may_see(it)).collect();
        let listing = Listing {
            entries: visible.into_iter().map(|it| self.shown(it)).collect(),
            total_tokens: self.visible_totals()?.tokens,
            tokens_max: self.meta.limits.store_tokens_max,
        };
        Ok(self.answer(Reply::Listing(listing)))
    }

    pub(super) fn read(
        &self,
        key: &Key,
        if_changed_since: Option<Revision>,
    ) -> Result<Decision, Error> {
        let entry = self.entry(key)?.ok_or_else(|| not_found(key))?;
        if !self.may_read(&entry) {
            return Err(self.hidden(key));
        }
        let revision = entry.revision;
        let reply = if self.is_older(&entry, if_changed_since) {
            Reply::Unchanged
        } else {
            Reply::Entry(self.with_value(entry)?)
        };
        Ok(answer(revision, reply, &self.meta))
    }

    pub(super) fn read_batch(
        &self,
        keys: &[Key],
        if_changed_since: Option<Revision>,
    ) -> Result<Decision, Error> {
        if self.is_unchanged(if_changed_since) {
            return Ok(self.answer(Reply::Unchanged));
        }
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for key in keys {
            match self.entry(key)? {
                Some(entry) if self.may_read(&entry) => found.push(entry),
                _ => missing.push(key.clone()),
            }
        }
        // It is unknown if a missing key existed before.
        if missing.is_empty() && found.iter().all(|it| self.is_older(it, if_changed_since)) {
            return Ok(self.answer(Reply::Unchanged));
        }
        let entries = found.into_iter().map(|it| self.with_value(it)).collect::<Result<_, _>>()?;
        Ok(self.answer(Reply::Entries(EntriesRead { entries, missing })))
    }

    pub(super) fn read_history(&self, key: &Key, versions: &[u64]) -> Result<Decision, Error> {
        let current = self.entry(key)?;
        if current.as_ref().is_some_and(|it| !self.may_read(it)) {
            return Err(self.hidden(key));
        }
        let past = self.history(key)?;
        let is_visible = |it: &&Version| {
            let last = last_of(current.as_ref(), &past, it.entry.created);
            self.may_read(&it.entry) && last.is_none_or(|last| self.may_read(last))
        };
        let mut past: Vec<Version> = past.iter().filter(is_visible).cloned().collect();
        if current.is_none() && past.is_empty() {
            return Err(not_found(key));
        }
        let created = current.as_ref().map(|it| it.created);
        let is_requested = |entry: &Entry| versions.is_empty() || versions.contains(&entry.version);
        past.retain(|it| is_requested(&it.entry));
        let past = past.into_iter().map(|version| {
            let value = self.value(&version.entry)?;
            let is_deleted = created != Some(version.entry.created);
            Ok::<_, Error>(PastVersion { version, value, is_deleted })
        });
        let past = past.collect::<Result<_, _>>()?;
        let current = current.filter(is_requested).map(|it| self.with_value(it)).transpose()?;
        Ok(self.answer(Reply::History(History { key: key.clone(), past, current })))
    }

    /// Creates the error for reading a value of `key` that is closed to the caller.
    pub(super) fn hidden(&self, key: &Key) -> Error {
        if self.authorizer.sees_all() {
            if let Some(rule) = self.authorizer.closing_rule(key) {
                return Error::ClosedByRule { keys: rule.keys.clone() };
            }
            return Error::Forbidden {
                message: "you see this entry and may not read its value; open it to yourself \
                          with set_access, or ask its writer",
            };
        }
        not_found(key)
    }

    /// Returns the entries that the caller may read, of a snapshot's or the current
    /// `entries`.
    pub(super) fn without_hidden(&self, entries: Vec<Entry>) -> Result<Vec<Entry>, Error> {
        if self.caller.participant.role() == Role::Admin {
            return Ok(entries);
        }
        let now = self.entries(None)?;
        let mut shown = Vec::new();
        for entry in entries {
            let current = now.binary_search_by(|it| it.key.cmp(&entry.key)).ok();
            let current = current.and_then(|nth| now.get(nth));
            let is_living = current.is_some_and(|it| it.created == entry.created);
            let past = if is_living { Vec::new() } else { self.history(&entry.key)? };
            let is_shown = self.may_read(&entry)
                && current.is_none_or(|it| self.may_read(it))
                && last_of(current, &past, entry.created).is_none_or(|it| self.may_read(it));
            shown.extend(is_shown.then_some(entry));
        }
        Ok(shown)
    }

    /// Returns true if no entry changed since `since`. A revision beyond the session's
    /// own belongs to another session.
    pub(super) fn is_unchanged(&self, since: Option<Revision>) -> bool {
        let valid = self.meta.entries_revision..=self.revision();
        !self.has_expired() && since.is_some_and(|it| valid.contains(&it))
    }

    /// Returns true if `entry` has not changed since `since`, a revision of this session
    /// under its present access rules, and not of an earlier session with its id.
    fn is_older(&self, entry: &Entry, since: Option<Revision>) -> bool {
        let valid = self.meta.first_revision.max(entry.touched)..=self.revision();
        since.is_some_and(|it| valid.contains(&it))
    }
}

/// Returns the latest retained version of the entry created at `created`. Closing an
/// entry also closes its past: the lists of its latest version apply to all its versions,
/// in addition to their own.
fn last_of<'e>(
    current: Option<&'e Entry>,
    past: &'e [Version],
    created: Revision,
) -> Option<&'e Entry> {
    let past = past.iter().map(|it| &it.entry);
    past.chain(current).rfind(|it| it.created == created)
}
