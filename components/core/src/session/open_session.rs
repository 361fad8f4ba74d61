//! A session loaded for one request, and the reads its commands share.
//!
//! Invariant: an entry that has expired at [`OpenSession::now`] does not exist, even
//! before it is swept.

use super::{Decision, Draft, answer, draft::load_history, retries::IdempotencyKey};
use crate::{
    Error,
    command::Command,
    estimate,
    key::{Key, Prefix},
    kv::{Bucket, Revision},
    order::sorted,
    participant::{Caller, Role},
    port::Tokenizer,
    record::{self, Meta},
    reply::{EntryRead, Reply, Shown},
    row,
    scope::SessionId,
    store::{Entry, Totals, access::Authorizer, history::Version},
    time::Timestamp,
    tokens::Tokens,
};

/// A session at one revision, for one caller.
pub(super) struct OpenSession<'a, B> {
    pub(super) bucket: &'a B,
    pub(super) tokenizer: &'a dyn Tokenizer,
    pub(super) session: &'a SessionId,
    pub(super) caller: &'a Caller,
    /// The time of the clock, which alone determines what has expired.
    pub(super) now: Timestamp,
    /// The recorded time of a change: the clock's, but never before the last change.
    pub(super) at: Timestamp,
    pub(super) authorizer: Authorizer<'a>,
    pub(super) meta: Meta,
    /// The key of a [`Command::Named`].
    pub(super) idempotency_key: Option<IdempotencyKey>,
}

impl<B: Bucket> OpenSession<'_, B> {
    pub(super) fn revision(&self) -> Revision {
        self.meta.revision(self.bucket.revision())
    }

    /// Creates the decision of a read at the session's revision.
    pub(super) fn answer(&self, reply: Reply) -> Decision {
        answer(self.revision(), reply, &self.meta)
    }

    /// Rejects keys with a prefix if the session allows none.
    pub(super) fn check_prefixes(&self, command: &Command) -> Result<(), Error> {
        if self.meta.allows_prefixes {
            return Ok(());
        }
        let reject = |key: String| Err(Error::InvalidKey { key, has_prefix: true });
        let keys: Vec<&Key> = match command {
            Command::ListKeys { prefix: Some(prefix), .. } => {
                return reject(prefix.as_sent().to_owned());
            }
            Command::Read { key, .. }
            | Command::ReadHistory { key, .. }
            | Command::SetAccess { key, .. }
            | Command::ReadSnapshot { key: Some(key), .. }
            | Command::Redact { key, .. } => vec![key],
            Command::Write(it) => vec![&it.key],
            Command::Delete(it) => vec![&it.key],
            Command::ReadBatch { keys, .. } => keys.iter().collect(),
            Command::WriteBatch(it) => {
                let writes = it.writes.iter().map(|it| &it.key);
                writes.chain(it.deletes.iter().map(|it| &it.key)).collect()
            }
            _ => return Ok(()),
        };
        match keys.iter().find(|it| it.prefix().is_some()) {
            Some(key) => reject(key.to_string()),
            None => Ok(()),
        }
    }

    /// Rejects changes of an archived session.
    pub(super) fn require_active(&self) -> Result<(), Error> {
        if self.meta.is_archived {
            return Err(Error::SessionArchived { session: self.session.to_string() });
        }
        Ok(())
    }

    /// Rejects entry changes by the admin role.
    pub(super) fn require_participant(&self) -> Result<(), Error> {
        self.require_active()?;
        match self.caller.participant.role() {
            Role::Agent | Role::Orchestrator => Ok(()),
            Role::Admin => Err(Error::Forbidden {
                message: "the admin reads entries but writes none: a participant must write it",
            }),
        }
    }

    /// Rejects changes by any role except the orchestrator.
    pub(super) fn require_orchestrator(&self) -> Result<(), Error> {
        self.require_active()?;
        match self.caller.participant.role() {
            Role::Orchestrator => Ok(()),
            Role::Agent => Err(Error::Forbidden {
                message: "only the orchestrator may do this; write what you need from it to a key of your own",
            }),
            Role::Admin => Err(Error::Forbidden {
                message: "only the orchestrator may do this; use a credential of the orchestrator",
            }),
        }
    }

    /// Counts the tokens of `text` with the session's estimator.
    pub(super) fn count(&self, text: &str) -> Result<Tokens, Error> {
        estimate::count(self.tokenizer, &self.meta.estimator, text)
    }

    /// Recomputes the next expiry once the recorded instant has passed: it may be of an
    /// entry that no longer exists.
    pub(super) fn find_next_expiry(&mut self) -> Result<(), Error> {
        if self.has_expired() {
            let entries = self.stored_entries(None)?;
            self.meta.next_expiry = entries.iter().filter_map(|it| it.expires_at).min();
        }
        Ok(())
    }

    /// Returns true if expired entries may not be swept yet.
    pub(super) fn has_expired(&self) -> bool {
        self.meta.next_expiry.is_some_and(|at| at <= self.now)
    }

    /// Returns true if the caller's credential is for some keys only.
    pub(super) fn is_limited(&self) -> bool {
        !self.caller.keys().is_every_key()
    }

    pub(super) fn totals(&self) -> Result<Totals, Error> {
        if !self.has_expired() {
            return Ok(self.meta.totals);
        }
        Ok(Totals::of(&self.entries(None)?))
    }

    /// Returns the stored entry `key`, even if it has expired.
    fn stored_entry(&self, key: &Key) -> Result<Option<Entry>, Error> {
        let bytes = self.bucket.get(&record::entry_row(key))?;
        bytes.map(|bytes| record::decode_entry(key.clone(), &bytes)).transpose()
    }

    /// Returns the stored entries, even those that have expired.
    pub(super) fn stored_entries(&self, prefix: Option<&Prefix>) -> Result<Vec<Entry>, Error> {
        let rows = self.bucket.scan(&record::entry_rows(prefix), None, u32::MAX)?;
        rows.iter().map(|(row, bytes)| record::decode_entry_row(row, bytes)).collect()
    }

    /// Returns the entry `key`, even if it is hidden from the caller.
    pub(super) fn entry(&self, key: &Key) -> Result<Option<Entry>, Error> {
        Ok(self.stored_entry(key)?.filter(|it| !it.is_expired(self.now)))
    }

    /// Returns the entries, even those hidden from the caller.
    pub(super) fn entries(&self, prefix: Option<&Prefix>) -> Result<Vec<Entry>, Error> {
        let mut entries = self.stored_entries(prefix)?;
        entries.retain(|it| !it.is_expired(self.now));
        Ok(entries)
    }

    pub(super) fn may_read(&self, entry: &Entry) -> bool {
        self.authorizer.may_read(&entry.key, &entry.access)
    }

    /// Returns true if the caller sees the metadata of `entry`.
    pub(super) fn may_see(&self, entry: &Entry) -> bool {
        self.authorizer.may_see(&entry.key, &entry.access)
    }

    pub(super) fn shown(&self, entry: Entry) -> Shown {
        let is_readable = self.may_read(&entry);
        let is_read_only = self.caller.participant.role() != Role::Admin
            && !self.authorizer.may_write(&entry.key, &entry.access);
        Shown { entry, is_readable, is_read_only }
    }

    /// Returns an entry with its value and the caller's permissions.
    pub(super) fn with_value(&self, entry: Entry) -> Result<EntryRead, Error> {
        let value = self.value(&entry)?;
        Ok(EntryRead { shown: self.shown(entry), value })
    }

    /// Returns the value of a version of an entry.
    pub(super) fn value(&self, entry: &Entry) -> Result<String, Error> {
        let row = record::value_row(&entry.key, entry.revision);
        match self.bucket.get(&row)? {
            Some(bytes) => record::decode_value(bytes),
            None => Err(row::damaged(format!("{row} is missing"))),
        }
    }

    /// Returns the earlier versions of `key`, including an expired one.
    pub(super) fn history(&self, key: &Key) -> Result<Vec<Version>, Error> {
        if self.has_expired() {
            return Draft::new(self)?.pruned_history(key);
        }
        load_history(self.bucket, key)
    }

    /// Returns the earlier versions of all keys, including expired ones.
    pub(super) fn histories(&self) -> Result<Vec<Version>, Error> {
        let mut all =
            if self.has_expired() { Draft::new(self)?.pruned_histories()? } else { Vec::new() };
        for (row, bytes) in self.bucket.scan(record::HISTORY, None, u32::MAX)? {
            all.push(record::decode_history_row(&row, &bytes)?);
        }
        // The draft's versions come first and replace the stored ones of the same key.
        let mut all = sorted(all, |(a, _), (b, _)| a.cmp(b));
        all.dedup_by(|(later, _), (first, _)| later == first);
        Ok(all.into_iter().flat_map(|(_, versions)| versions).collect())
    }
}
