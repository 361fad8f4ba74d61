//! The four operations on entries (000 §3): loads what they are decided on, and
//! lists the changes that follow.

use super::{Decision, Request, put};
use crate::{
    Error,
    audit::{AuditAction, AuditEntry},
    command::{Delete, Deleted, Outcome, Reply, Write, Written},
    key::{Key, RequestId},
    namespace::Namespace,
    port::{Bucket, Change},
    record::{self, Meta},
    store::{self, Entry, Listing, advice},
};

/// How many entries [`Error::StoreFull`] names.
const LARGEST_NAMED: usize = 5;

impl<B: Bucket> Request<'_, B> {
    pub(super) fn list_keys(&self) -> Result<Decision, Error> {
        let meta = self.open()?;
        let listing = Listing {
            entries: self.entries()?,
            totals: meta.totals(),
            tokens_max: meta.limits().store_tokens_max,
        };
        Ok(self.answer(Reply::Listing(listing)))
    }

    pub(super) fn read(&self, key: &Key) -> Result<Decision, Error> {
        self.open()?;
        let entry = self.entry(key)?.ok_or_else(|| Error::KeyNotFound { key: key.clone() })?;
        let value = self.value(&entry)?;
        let revision = entry.revision;
        Ok(Decision::Answer(Outcome { revision, reply: Reply::Entry { entry, value } }))
    }

    pub(super) fn write(&self, write: &Write) -> Result<Decision, Error> {
        let meta = self.open_for_change()?;
        let digest = || record::write_digest(write);
        if let Some(first) = self.first_answer(write.request_id.as_ref(), digest)? {
            return Ok(first);
        }
        let limits = meta.limits();
        let value_tokens = meta.estimator()?.count(&write.value);
        store::check_value(&limits, value_tokens)?;
        let current = self.entry(&write.key)?;
        if !write.condition.holds_for(current.as_ref()) {
            return self.settle_conflict(write, current);
        }
        let entry = Entry {
            key: write.key.clone(),
            written_by: self.caller.participant.clone(),
            written_at: self.now(&meta),
            version: current.as_ref().map_or(0, |it| it.version).saturating_add(1),
            value_tokens,
            revision: self.bucket.revision().next(),
        };
        let totals = meta.totals().replace(current.as_ref(), Some(&entry));
        store::check_totals(&limits, totals).map_err(|err| self.name_largest(err))?;

        let mut advices = advice::on_value(&limits, totals, value_tokens, &write.value);
        if current.is_none() {
            let is_convention = self.is_convention(&meta, &write.key)?;
            let others = self.entries()?;
            advices.extend(advice::on_new_key(
                &write.key,
                is_convention,
                &others,
                entry.written_at,
            ));
        }
        let mut changes = vec![
            put(record::entry_row(&entry.key), record::encode_entry(&entry)?),
            put(record::value_row(&entry.key, entry.revision), write.value.clone().into_bytes()),
        ];
        changes.extend(current.as_ref().map(drop_value));
        let written = Written { entry, advices };
        let request_row = self.request_row(write.request_id.as_ref());
        if let Some(row) = &request_row {
            let revision = written.entry.revision;
            changes.push(put(row, record::encode_written(write, revision, &written)?));
        }
        let meta = meta.changed(written.entry.written_at, totals);
        let about = about(&written.entry);
        let reply = Reply::Written(written);
        self.commit(&meta, AuditAction::Write, Some(about), request_row, changes, reply)
    }

    pub(super) fn delete(&self, delete: &Delete) -> Result<Decision, Error> {
        let meta = self.open_for_change()?;
        let digest = || record::delete_digest(delete);
        if let Some(first) = self.first_answer(delete.request_id.as_ref(), digest)? {
            return Ok(first);
        }
        let key = &delete.key;
        let current = self.entry(key)?.ok_or_else(|| Error::KeyNotFound { key: key.clone() })?;
        if !delete.condition.holds_for(Some(&current)) {
            return Err(conflict(key, Some(&current)));
        }
        let mut changes = vec![Change::Delete(record::entry_row(key)), drop_value(&current)];
        let deleted = Deleted { key: key.clone(), previous_version: current.version };
        let request_row = self.request_row(delete.request_id.as_ref());
        if let Some(row) = &request_row {
            let revision = self.bucket.revision().next();
            changes.push(put(row, record::encode_deleted(delete, revision, &deleted)?));
        }
        let totals = meta.totals().replace(Some(&current), None);
        let meta = meta.changed(self.now(&meta), totals);
        let about = about(&current);
        let reply = Reply::Deleted(deleted);
        self.commit(&meta, AuditAction::Delete, Some(about), request_row, changes, reply)
    }

    /// A failed condition counts as met when the entry already is what was to be
    /// written, so that a retry of a conditional write is safe.
    fn settle_conflict(&self, write: &Write, current: Option<Entry>) -> Result<Decision, Error> {
        let Some(entry) = current else { return Err(conflict(&write.key, None)) };
        let is_same_writer = entry.written_by == self.caller.participant;
        if !is_same_writer || self.value(&entry)? != write.value {
            return Err(conflict(&write.key, Some(&entry)));
        }
        let revision = entry.revision;
        let reply = Reply::Written(Written { entry, advices: Vec::new() });
        Ok(Decision::Answer(Outcome { revision, reply }))
    }

    fn entry(&self, key: &Key) -> Result<Option<Entry>, Error> {
        let bytes = self.bucket.get(&record::entry_row(key))?;
        bytes.map(|bytes| record::decode_entry(key.clone(), &bytes)).transpose()
    }

    fn entries(&self) -> Result<Vec<Entry>, Error> {
        let rows = self.bucket.scan(record::ENTRIES, None, u32::MAX)?;
        rows.iter().map(|(row, bytes)| record::decode_entry_row(row, bytes)).collect()
    }

    fn value(&self, entry: &Entry) -> Result<String, Error> {
        let row = record::value_row(&entry.key, entry.revision);
        match self.bucket.get(&row)? {
            Some(bytes) => record::decode_value(bytes),
            None => Err(record::damaged(format!("{row} is missing"))),
        }
    }

    /// Whether the session's conventions name `key`, or it has none.
    fn is_convention(&self, meta: &Meta, key: &Key) -> Result<bool, Error> {
        Ok(match self.own_namespace(meta)? {
            Some(own) => own.keys.is_empty() || own.has(key),
            None => Namespace::template_has(key),
        })
    }

    fn name_largest(&self, err: Error) -> Error {
        match (err, self.entries()) {
            (Error::StoreFull { over, .. }, Ok(entries)) => {
                Error::StoreFull { over, largest: store::largest(entries, LARGEST_NAMED) }
            }
            (err, _) => err,
        }
    }

    /// What was answered when the same request was made before.
    fn first_answer(
        &self,
        request_id: Option<&RequestId>,
        digest: impl FnOnce() -> Result<[u8; 16], Error>,
    ) -> Result<Option<Decision>, Error> {
        let Some(row) = self.request_row(request_id) else { return Ok(None) };
        let Some(bytes) = self.bucket.get(&row)? else { return Ok(None) };
        let (revision, reply) = record::decode_answer(&bytes, digest()?)?;
        Ok(Some(Decision::Answer(Outcome { revision, reply })))
    }

    fn request_row(&self, request_id: Option<&RequestId>) -> Option<String> {
        request_id.map(|id| record::request_row(&self.caller.participant, id))
    }
}

fn drop_value(entry: &Entry) -> Change {
    Change::Delete(record::value_row(&entry.key, entry.revision))
}

fn about(entry: &Entry) -> AuditEntry {
    let Entry { key, version, value_tokens, .. } = entry;
    AuditEntry { key: key.clone(), version: *version, value_tokens: *value_tokens }
}

fn conflict(key: &Key, current: Option<&Entry>) -> Error {
    Error::VersionConflict {
        key: key.clone(),
        current_version: current.map_or(0, |it| it.version),
        current_revision: current.map_or(0, |it| it.revision.0),
    }
}
