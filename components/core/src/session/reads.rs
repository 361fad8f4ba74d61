//! Reading entries and their history (spec 3.1, 3.2, 7.3, 7.4).
//!
//! Invariant: what is hidden from the caller is answered as what does not exist. The
//! orchestrator sees what it may not read, without values.

use super::{Decision, Opened, answer, not_found};
use crate::{
    Error,
    key::{Key, Prefix},
    kv::{Bucket, Revision},
    participant::Role,
    reply::{EntriesRead, History, Listing, PastVersion, Reply},
    store::{Entry, history::Version},
};

impl<B: Bucket> Opened<'_, B> {
    pub(super) fn list_keys(
        &self,
        prefix: Option<&Prefix>,
        if_changed_since: Option<Revision>,
    ) -> Result<Decision, Error> {
        if self.is_unchanged(if_changed_since) {
            return Ok(self.answer(Reply::Unchanged));
        }
        let entries = self.entries(prefix)?;
        let visible = entries.into_iter().filter(|it| self.may_see(it));
        let listing = Listing {
            entries: visible.map(|it| self.shown(it)).collect(),
            total_tokens: self.totals()?.tokens,
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
        // Of what is missing nothing tells whether it was there before.
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
        let is_asked_for = |entry: &Entry| versions.is_empty() || versions.contains(&entry.version);
        past.retain(|it| is_asked_for(&it.entry));
        let past = past.into_iter().map(|version| {
            let value = self.value(&version.entry)?;
            let is_deleted = created != Some(version.entry.created);
            Ok::<_, Error>(PastVersion { version, value, is_deleted })
        });
        let past = past.collect::<Result<_, _>>()?;
        let current = current.filter(is_asked_for).map(|it| self.with_value(it)).transpose()?;
        Ok(self.answer(Reply::History(History { key: key.clone(), past, current })))
    }

    /// Returns the refusal to read a value under `key` that is closed to the caller.
    pub(super) fn hidden(&self, key: &Key) -> Error {
        if self.gate.sees_all() {
            return Error::Forbidden {
                message: "you see this entry and may not read its value; open it to yourself \
                          with set_access, or ask its writer",
            };
        }
        not_found(key)
    }

    /// Returns what the caller may read of `entries`, which are of a snapshot or of now.
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

    /// Returns whether no entry changed since `since`. A revision that the session has
    /// not reached is of another one.
    fn is_unchanged(&self, since: Option<Revision>) -> bool {
        let known = self.meta.entries_revision..=self.revision();
        !self.has_expired() && since.is_some_and(|it| known.contains(&it))
    }

    /// Returns whether `entry` is as it was at `since`, a revision of this session and not
    /// of one that had its name before.
    fn is_older(&self, entry: &Entry, since: Option<Revision>) -> bool {
        let known = self.meta.first_revision.max(entry.touched)..=self.revision();
        since.is_some_and(|it| known.contains(&it))
    }
}

/// Returns the entry that was `created` then, as it is or as it ended, as far as that is
/// kept. Who closed an entry meant its past as well: these lists hold for all its
/// versions, beside those they had then.
fn last_of<'e>(
    current: Option<&'e Entry>,
    past: &'e [Version],
    created: Revision,
) -> Option<&'e Entry> {
    let past = past.iter().map(|it| &it.entry);
    past.chain(current).rfind(|it| it.created == created)
}
