//! Changes of entries (spec 3.3, 3.4, 7.2, 7.4): decides from the loaded rows and drafts
//! the resulting changes.

use std::slice;

use super::{
    Decision, Draft, OpenSession, answer, not_found,
    reads::totals_of,
    retries::{Replay, answer_row},
};
use crate::{
    Code, Error,
    command::{Batch, Delete, Write},
    count::narrow,
    key::{Key, similar},
    kv::Bucket,
    namespace::Namespace,
    participant::Role,
    record,
    reply::{BatchWritten, Deleted, Reply, Written},
    store::{
        self, Entry, Totals,
        access::{Access, AccessChange},
        expiry::Expiry,
        warning,
    },
    time::Timestamp,
    tokens::Tokens,
};

/// The number of entries that [`Error::StoreFull`] names.
const LARGEST_NAMED: usize = 5;

impl<B: Bucket> OpenSession<'_, B> {
    pub(super) fn write(&self, write: &Write) -> Result<Decision, Error> {
        let idempotency_key =
            self.idempotency_key(write.request_id.as_ref(), || record::write_digest(write))?;
        let replay = self.replay(idempotency_key.as_ref())?;
        self.check_expiry(slice::from_ref(write), &replay)?;
        self.require_participant()?;
        if let Ok(Some(first)) = replay {
            // The reply may have gone to another credential of the participant.
            self.authorizer.check_granted(&write.key)?;
            return Ok(first);
        }
        let current = self.entry(&write.key)?;
        self.check_write_access(write, current.as_ref())?;
        replay?;
        let new = self.plan_write(write, current.as_ref())?;
        let before = self.totals()?;
        let totals = before.replace(current.as_ref(), Some(&new));
        self.check_totals(before, totals)?;
        let mut draft = Draft::new(self)?;
        draft.write(current.as_ref(), &new, write.value.clone())?;
        let others = current.is_none().then(|| self.others(&[])).transpose()?;
        let warnings = self.warnings(&write.value, &new, totals, others.as_ref());
        let revision = draft.revision;
        let reply = Reply::Written(Written { entry: new, warnings });
        let request = answer_row(idempotency_key, revision, &reply)?;
        draft.commit(reply, request)
    }

    pub(super) fn delete(&self, delete: &Delete) -> Result<Decision, Error> {
        let idempotency_key =
            self.idempotency_key(delete.request_id.as_ref(), || record::delete_digest(delete))?;
        let replay = self.replay(idempotency_key.as_ref())?;
        self.require_participant()?;
        if let Ok(Some(first)) = replay {
            self.authorizer.check_granted(&delete.key)?;
            return Ok(first);
        }
        let current = self.entry(&delete.key)?;
        self.check_may_delete(&delete.key, current.as_ref())?;
        replay?;
        let current = plan_delete(delete, current)?;
        let mut draft = Draft::new(self)?;
        draft.delete(&current)?;
        let (key, previous_version) = (delete.key.clone(), current.version);
        let reply = Reply::Deleted(Deleted { key, previous_version });
        let revision = draft.revision;
        let request = answer_row(idempotency_key, revision, &reply)?;
        draft.commit(reply, request)
    }

    pub(super) fn write_batch(&self, batch: &Batch) -> Result<Decision, Error> {
        let idempotency_key =
            self.idempotency_key(batch.request_id.as_ref(), || record::batch_digest(batch))?;
        let replay = self.replay(idempotency_key.as_ref())?;
        self.check_expiry(&batch.writes, &replay)?;
        self.require_participant()?;
        let mut first_error = FirstError::default();
        if let Ok(Some(first)) = replay {
            let written = batch.writes.iter().map(|it| &it.key);
            for key in written.chain(batch.deletes.iter().map(|it| &it.key)) {
                first_error.check(key, self.authorizer.check_granted(key));
            }
            first_error.into_result(None)?;
            return Ok(first);
        }
        let mut planned = Vec::new();
        for write in &batch.writes {
            let current = self.entry(&write.key)?;
            let plan = self
                .check_write_access(write, current.as_ref())
                .and_then(|()| self.plan_write(write, current.as_ref()));
            let new = first_error.check(&write.key, plan);
            planned.extend(new.map(|new| (write, new, current)));
        }
        let mut ended = Vec::new();
        for delete in &batch.deletes {
            let current = self.entry(&delete.key)?;
            let plan = self
                .check_may_delete(&delete.key, current.as_ref())
                .and_then(|()| plan_delete(delete, current));
            ended.extend(first_error.check(&delete.key, plan));
        }
        first_error.into_result(replay.err())?;

        let before = self.totals()?;
        let mut totals = ended.iter().fold(before, |it, old| it.replace(Some(old), None));
        for (_, new, old) in &planned {
            totals = totals.replace(old.as_ref(), Some(new));
        }
        self.check_totals(before, totals)?;
        // All new keys are compared with the same entries.
        let others = planned.iter().any(|(_, _, old)| old.is_none());
        let others = others.then(|| self.others(&batch.deletes)).transpose()?;
        let mut draft = Draft::new(self)?;
        let mut done = BatchWritten { written: Vec::new(), deleted: Vec::new() };
        for old in ended {
            draft.delete(&old)?;
            done.deleted.push(Deleted { key: old.key, previous_version: old.version });
        }
        for (write, entry, old) in planned {
            draft.write(old.as_ref(), &entry, write.value.clone())?;
            let others = others.as_ref().filter(|_| old.is_none());
            let warnings = self.warnings(&write.value, &entry, totals, others);
            done.written.push(Written { entry, warnings });
        }
        let (revision, reply) = (draft.revision, Reply::BatchWritten(done));
        let request = answer_row(idempotency_key, revision, &reply)?;
        draft.commit(reply, request)
    }

    pub(super) fn set_access(&self, key: &Key, change: &AccessChange) -> Result<Decision, Error> {
        self.require_participant()?;
        self.authorizer.check_granted(key)?;
        let old = self.entry(key)?.ok_or_else(|| not_found(key))?;
        self.check_may_set_access(&old)?;
        let access = old.access.changed(change);
        if access == old.access {
            return Ok(answer(old.revision, Reply::Access(self.shown(old)), &self.meta));
        }
        let mut draft = Draft::new(self)?;
        let new = Entry { access, touched: draft.revision, ..old.clone() };
        draft.store(Some(&old), &new)?;
        draft.add_access_event(&old, &new);
        draft.commit(Reply::Access(self.shown(new)), None)
    }

    /// Returns the entry that replaces `current`, if the condition of `write` holds. The
    /// caller has checked write access.
    fn plan_write(&self, write: &Write, current: Option<&Entry>) -> Result<Entry, Error> {
        let value_tokens = self.count(&write.value)?;
        store::check_value(&self.meta.limits, value_tokens)?;
        if self.meta.rejects_secrets {
            store::check_secrets(&write.value)?;
        }
        if !write.condition.holds_for(current) {
            return Err(conflict(&write.key, current));
        }
        self.entry_of(write, current, value_tokens)
    }

    /// Returns the entry that replaces `current`.
    fn entry_of(
        &self,
        write: &Write,
        current: Option<&Entry>,
        value_tokens: Tokens,
    ) -> Result<Entry, Error> {
        let (options, revision) = (&write.options, self.revision().next());
        let access = current.map_or_else(Access::default, |it| it.access.clone());
        let keeps_history = current.is_none_or(|it| it.keeps_history);
        Ok(Entry {
            key: write.key.clone(),
            written_by: self.caller.participant.clone(),
            written_at: self.at,
            version: current.map_or(0, |it| it.version).saturating_add(1),
            value_tokens,
            value_bytes: narrow(write.value.len()),
            revision,
            created: current.map_or(revision, |it| it.created),
            touched: revision,
            expires_at: self.expires_at(write)?,
            access: access.changed(&options.access),
            keeps_history: options.keeps_history.unwrap_or(keeps_history),
            is_redacted: false,
        })
    }

    fn expires_at(&self, write: &Write) -> Result<Option<Timestamp>, Error> {
        let default = self.meta.ttl_default.map(Expiry::After);
        write.options.expiry.or(default).map(|it| it.instant(self.now)).transpose()
    }

    /// Rejects an expiry in the past. A retry is exempt: its expiry was valid at first.
    fn check_expiry(&self, writes: &[Write], replay: &Replay) -> Result<(), Error> {
        if matches!(replay, Ok(Some(_))) {
            return Ok(());
        }
        writes.iter().try_for_each(|it| self.expires_at(it).map(drop))
    }

    fn check_write_access(&self, write: &Write, current: Option<&Entry>) -> Result<(), Error> {
        self.check_may_write(&write.key, current)?;
        match current {
            Some(it) if it.access.changed(&write.options.access) != it.access => {
                self.check_may_set_access(it)
            }
            _ => Ok(()),
        }
    }

    fn check_may_write(&self, key: &Key, current: Option<&Entry>) -> Result<(), Error> {
        self.authorizer.check_granted(key)?;
        let default = Access::default();
        if self.authorizer.may_write(key, current.map_or(&default, |it| &it.access)) {
            return Ok(());
        }
        Err(Error::Forbidden {
            message: "you may not write this key; write what belongs there to a key of your own",
        })
    }

    fn check_may_delete(&self, key: &Key, current: Option<&Entry>) -> Result<(), Error> {
        match current {
            Some(it) if self.authorizer.may_delete(key, &it.access) => Ok(()),
            _ => self.check_may_write(key, current),
        }
    }

    fn check_may_set_access(&self, entry: &Entry) -> Result<(), Error> {
        let caller = &self.caller.participant;
        if caller.role() == Role::Orchestrator || entry.written_by == *caller {
            return Ok(());
        }
        Err(Error::Forbidden {
            message: "only the orchestrator and who wrote an entry last may change who reads and \
                      writes it; write what you need from them to a key of your own",
        })
    }

    fn check_totals(&self, before: Totals, totals: Totals) -> Result<(), Error> {
        let checked = store::check_totals(&self.meta.limits, before, totals);
        checked.map_err(|err| match (err, self.entries(None)) {
            (Error::StoreFull { over, .. }, Ok(mut entries)) => {
                entries.retain(|it| self.may_see(it));
                let is_limited = self.is_limited();
                let over = if is_limited {
                    // It is not told the totals of keys that it cannot see.
                    let own = totals_of(&entries);
                    let own = Totals {
                        keys: own.keys.saturating_add(totals.keys.saturating_sub(before.keys)),
                        tokens: own.tokens.plus(totals.tokens.minus(before.tokens)),
                    };
                    store::with_totals(over, own)
                } else {
                    over
                };
                let largest = store::largest(entries, LARGEST_NAMED);
                Error::StoreFull { over, is_limited, largest }
            }
            (err, _) => err,
        })
    }

    /// Returns the data that new keys are compared with, if `deleted` are removed in the
    /// same commit.
    fn others(&self, deleted: &[Delete]) -> Result<NewKeyContext, Error> {
        let mut entries = self.entries(None)?;
        entries
            .retain(|it| self.may_see(it) && deleted.iter().all(|deleted| deleted.key != it.key));
        Ok(NewKeyContext { entries, namespace: self.own_namespace()? })
    }

    /// Returns the warnings on a written `entry`; `others` is set for a new key.
    fn warnings(
        &self,
        value: &str,
        entry: &Entry,
        totals: Totals,
        others: Option<&NewKeyContext>,
    ) -> Vec<warning::Warning> {
        let (limits, is_limited) = (&self.meta.limits, self.is_limited());
        let mut warnings = warning::on_value(limits, totals, is_limited, entry.value_tokens, value);
        if let Some(NewKeyContext { entries, namespace }) = others {
            let has = |own: &Namespace| own.keys.is_empty() || own.has(&entry.key);
            let is_convention =
                self.is_of_own_task(&entry.key) || namespace.as_ref().is_none_or(has);
            warnings.extend(warning::on_new_key(&entry.key, is_convention, entries, self.now));
        }
        warnings
    }

    /// Returns true if `key` begins with the caller's task, as the prompt advises.
    fn is_of_own_task(&self, key: &Key) -> bool {
        let task = self.caller.participant.task().and_then(similar);
        let rest = task.as_ref().and_then(|it| key.as_str().strip_prefix(&**it));
        rest.is_some_and(|it| it.starts_with('_'))
    }
}

/// The data that a new key is compared with.
struct NewKeyContext {
    /// The entries that the writer can see.
    entries: Vec<Entry>,
    /// The session's own key conventions.
    namespace: Option<Namespace>,
}

/// The first error of a batch, by order of codes and then of the batch.
#[derive(Default)]
struct FirstError(Option<Error>);

impl FirstError {
    /// Returns the value of `result`, or records its error.
    fn check<T>(&mut self, key: &Key, result: Result<T, Error>) -> Option<T> {
        result
            .map_err(|error| {
                let error = match error {
                    Error::Unread(_) | Error::Overtaken => error,
                    error => Error::InBatch { key: key.clone(), error: Box::new(error) },
                };
                self.record(error);
            })
            .ok()
    }

    fn record(&mut self, error: Error) {
        let place = |it: &Error| Code::ALL.iter().position(|code| *code == it.code());
        if self.0.as_ref().is_none_or(|first| place(&error) < place(first)) {
            self.0 = Some(error);
        }
    }

    /// Returns the first error, if any; `other` is an error of the whole batch.
    fn into_result(mut self, other: Option<Error>) -> Result<(), Error> {
        if let Some(other) = other {
            self.record(other);
        }
        self.0.map_or(Ok(()), Err)
    }
}

fn plan_delete(delete: &Delete, current: Option<Entry>) -> Result<Entry, Error> {
    let current = current.ok_or_else(|| not_found(&delete.key))?;
    if delete.condition.holds_for(Some(&current)) {
        Ok(current)
    } else {
        Err(conflict(&delete.key, Some(&current)))
    }
}

fn conflict(key: &Key, current: Option<&Entry>) -> Error {
    Error::VersionConflict {
        key: key.clone(),
        current_version: current.map_or(0, |it| it.version),
        current_revision: current.map_or(0, |it| it.revision.0),
    }
}
