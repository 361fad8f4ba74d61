//! The façade: loads what a command needs, lets a system decide, commits once.
//!
//! The only module that talks to the ports. Order of refusals: [`Code::ALL`];
//! the code below checks in that order. Invariants: a command commits at most
//! once; an error means that nothing changed, except [`Error::Storage`]; what is
//! logged has been committed.
//!
//! [`Code::ALL`]: crate::Code::ALL

use crate::{
    Error,
    audit::{AuditAction, AuditEntry, AuditRecord},
    command::{AuditPage, Command, Delete, Deleted, Outcome, Reply, SessionInfo, Write, Written},
    config::Config,
    key::{Key, RequestId, SessionId},
    namespace::Namespace,
    participant::{Caller, Participant, Role},
    port::{Bucket, Change, Clock, CommitError, Kv, KvError, Log, Revision},
    prompt,
    record::{self, Meta},
    store::{self, Entry, Listing, Totals, advice},
    time::Timestamp,
    tokens::Tokens,
};

/// How often a command is decided anew because another one committed first.
const ATTEMPTS_MAX: u32 = 16;
/// How many audit records a session keeps: those of its last changes.
pub(crate) const AUDIT_RECORDS_MAX: u64 = 1_000;
/// For how many changes a session remembers a request id.
pub(crate) const REQUESTS_REMEMBERED: u64 = 256;
/// How many entries [`Error::StoreFull`] names.
const LARGEST_NAMED: usize = 5;

const _: () = assert!(REQUESTS_REMEMBERED <= AUDIT_RECORDS_MAX);

/// Performs `command` on `session` as `caller`.
///
/// # Errors
///
/// The first that applies, in the order of [`Code::ALL`](crate::Code::ALL).
/// After any but [`Error::Storage`] nothing has changed.
pub fn execute(
    kv: &impl Kv,
    clock: &impl Clock,
    log: &impl Log,
    session: &SessionId,
    caller: &Caller,
    command: &Command,
) -> Result<Outcome, Error> {
    for _ in 0..ATTEMPTS_MAX {
        let mut bucket = kv.open(&session.bucket_name())?;
        let read_at = bucket.revision();
        let request = Request { bucket: &bucket, now: clock.now(), session, caller };
        match request.decide(command)? {
            Decision::Answer(outcome) => return Ok(outcome),
            Decision::Change { changes, reply, record } => match bucket.commit(read_at, changes) {
                Ok(revision) => {
                    log.record(&record);
                    return Ok(Outcome { revision, reply });
                }
                Err(CommitError::Conflict) => {}
                Err(CommitError::Failed(err)) => return Err(err.into()),
            },
        }
    }
    Err(KvError(format!("{ATTEMPTS_MAX} commits in a row met a conflict")).into())
}

/// What to answer to a request that makes no command because of `error`: that,
/// unless the caller's credential is void, which comes first.
pub fn refuse(kv: &impl Kv, session: &SessionId, caller: &Caller, error: Error) -> Error {
    if caller.credential.is_none() {
        return error;
    }
    let Ok(bucket) = kv.open(&session.bucket_name()) else { return error };
    let request = Request { bucket: &bucket, now: Timestamp::default(), session, caller };
    match request.open() {
        Err(void @ Error::Unauthenticated { .. }) => void,
        _ => error,
    }
}

/// What is to be done for a command.
enum Decision {
    /// Nothing but to answer.
    Answer(Outcome),
    /// To commit `changes`; then the answer is `reply`.
    Change { changes: Vec<Change>, reply: Reply, record: AuditRecord },
}

/// One attempt at one command, on the rows of one revision.
struct Request<'a, B> {
    bucket: &'a B,
    now: Timestamp,
    session: &'a SessionId,
    caller: &'a Caller,
}

impl<B: Bucket> Request<'_, B> {
    fn decide(&self, command: &Command) -> Result<Decision, Error> {
        match command {
            Command::CreateSession(config) => self.create(config),
            Command::ShowSession => self.show(),
            Command::ArchiveSession => self.archive(),
            Command::DeleteSession => self.delete_session(),
            Command::RevokeCredentials => self.revoke_credentials(),
            Command::ListKeys => self.list_keys(),
            Command::Read(key) => self.read(key),
            Command::Write(write) => self.write(write),
            Command::Delete(delete) => self.delete(delete),
            Command::Prompt { participant, max_tokens } => {
                self.prompt(participant.as_ref(), *max_tokens)
            }
            Command::Audit { since, limit } => self.audit(*since, *limit),
        }
    }

    // The life of a session.

    fn create(&self, config: &Config) -> Result<Decision, Error> {
        config.check()?;
        self.require_admin()?;
        if self.bucket.get(record::META)?.is_some() {
            return Err(Error::SessionExists { session: self.session.to_string() });
        }
        let incarnation = self.bucket.revision().next();
        let has_own_namespace = config.namespace.is_some();
        let meta =
            Meta::new(incarnation, self.now, &config.limits, config.estimator, has_own_namespace);
        let mut changes = Vec::new();
        if let Some(namespace) = &config.namespace {
            changes.push(put(record::NAMESPACE, record::encode_namespace(namespace)?));
        }
        let reply = Reply::Session(Box::new(self.info(&meta, config.namespace.clone())?));
        self.commit(&meta, AuditAction::CreateSession, None, None, changes, reply)
    }

    fn show(&self) -> Result<Decision, Error> {
        let meta = self.open()?;
        let namespace = self.own_namespace(&meta)?;
        Ok(self.answer(Reply::Session(Box::new(self.info(&meta, namespace)?))))
    }

    fn archive(&self) -> Result<Decision, Error> {
        let meta = self.open()?;
        self.require_admin()?;
        if meta.is_archived {
            return self.show();
        }
        let mut meta = meta.changed(self.now(&meta), meta.totals());
        meta.is_archived = true;
        self.commit_life(&meta, AuditAction::ArchiveSession)
    }

    fn revoke_credentials(&self) -> Result<Decision, Error> {
        let meta = self.open()?;
        self.require_admin()?;
        let mut meta = meta.changed(self.now(&meta), meta.totals());
        meta.credential_epoch = meta.credential_epoch.saturating_add(1);
        self.commit_life(&meta, AuditAction::RevokeCredentials)
    }

    fn delete_session(&self) -> Result<Decision, Error> {
        let meta = self.open()?;
        self.require_admin()?;
        let changes = vec![Change::DeletePrefix(String::new())];
        let reply = Reply::SessionDeleted(self.session.clone());
        let record = self.record(AuditAction::DeleteSession, self.now(&meta), None);
        Ok(Decision::Change { changes, reply, record })
    }

    // The store.

    fn list_keys(&self) -> Result<Decision, Error> {
        let meta = self.open()?;
        let listing = Listing {
            entries: self.entries()?,
            totals: meta.totals(),
            tokens_max: meta.limits().store_tokens_max,
        };
        Ok(self.answer(Reply::Listing(listing)))
    }

    fn read(&self, key: &Key) -> Result<Decision, Error> {
        self.open()?;
        let entry = self.entry(key)?.ok_or_else(|| Error::KeyNotFound { key: key.clone() })?;
        let value = self.value(&entry)?;
        let revision = entry.revision;
        Ok(Decision::Answer(Outcome { revision, reply: Reply::Entry { entry, value } }))
    }

    fn write(&self, write: &Write) -> Result<Decision, Error> {
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

    fn delete(&self, delete: &Delete) -> Result<Decision, Error> {
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

    // Prompt and audit.

    fn prompt(
        &self,
        participant: Option<&Participant>,
        max_tokens: Option<Tokens>,
    ) -> Result<Decision, Error> {
        let meta = self.open()?;
        let namespace = self.own_namespace(&meta)?.unwrap_or_else(Namespace::template);
        let reply = prompt::render(
            participant.unwrap_or(&self.caller.participant),
            &namespace,
            meta.estimator()?,
            max_tokens.unwrap_or(prompt::PROMPT_TOKENS_DEFAULT),
        )?;
        Ok(self.answer(Reply::Prompt(reply)))
    }

    fn audit(&self, since: Revision, limit: u32) -> Result<Decision, Error> {
        self.open()?;
        self.require_admin()?;
        let decode =
            |(row, bytes): &(String, Vec<u8>)| record::decode_audit(self.session, row, bytes);
        let first = self.bucket.scan(record::AUDIT, None, 1)?;
        let oldest = first.first().map(decode).transpose()?.map(|it| it.revision);
        let after = record::audit_row(since);
        let rows = self.bucket.scan(record::AUDIT, Some(&after), limit)?;
        let records = rows.iter().map(decode).collect::<Result<Vec<_>, _>>()?;
        let last = records.last().map(|it| it.revision);
        let next_since = last.filter(|last| *last < self.bucket.revision());
        Ok(self.answer(Reply::Audit(AuditPage { records, oldest, next_since })))
    }

    // What every command shares.

    /// Loads the session and checks the caller's credential against it.
    fn open(&self) -> Result<Meta, Error> {
        let Some(bytes) = self.bucket.get(record::META)? else {
            return Err(Error::SessionNotFound { session: self.session.to_string() });
        };
        let meta = Meta::decode(&bytes)?;
        let reason = match &self.caller.credential {
            Some(it) if it.incarnation != meta.incarnation => {
                "this credential was issued for an earlier session of this name; \
                 ask the operator for a new one"
            }
            Some(it) if it.epoch != meta.credential_epoch => {
                "this credential was revoked; ask the operator for a new one"
            }
            _ => return Ok(meta),
        };
        Err(Error::Unauthenticated { reason })
    }

    /// As [`Self::open`], for a change of entries.
    fn open_for_change(&self) -> Result<Meta, Error> {
        let meta = self.open()?;
        if meta.is_archived {
            return Err(Error::SessionArchived { session: self.session.to_string() });
        }
        match self.caller.participant.role() {
            Role::Agent | Role::Orchestrator => Ok(meta),
            Role::Admin => Err(Error::Forbidden {
                message: "the admin reads entries but writes none; \
                          use a credential of the orchestrator or of a subagent",
            }),
        }
    }

    fn require_admin(&self) -> Result<(), Error> {
        match self.caller.participant.role() {
            Role::Admin => Ok(()),
            Role::Agent | Role::Orchestrator => Err(Error::Forbidden {
                message: "only the admin may do this; ask the operator of the session",
            }),
        }
    }

    /// The time of a change: the clock's, but never before the last change.
    fn now(&self, meta: &Meta) -> Timestamp {
        self.now.max(meta.changed_at())
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

    /// The namespace the session brought along; `None` when it uses the template.
    fn own_namespace(&self, meta: &Meta) -> Result<Option<Namespace>, Error> {
        if !meta.has_own_namespace {
            return Ok(None);
        }
        let bytes = self.bucket.get(record::NAMESPACE)?;
        let bytes = bytes.ok_or_else(|| record::damaged("namespace is missing"))?;
        record::decode_namespace(&bytes).map(Some)
    }

    /// Whether the session's conventions name `key`, or it has none.
    fn is_convention(&self, meta: &Meta, key: &Key) -> Result<bool, Error> {
        Ok(match self.own_namespace(meta)? {
            Some(own) => own.keys.is_empty() || own.has(key),
            None => Namespace::template_has(key),
        })
    }

    fn info(&self, meta: &Meta, namespace: Option<Namespace>) -> Result<SessionInfo, Error> {
        let Totals { keys, tokens } = meta.totals();
        Ok(SessionInfo {
            session: self.session.clone(),
            is_archived: meta.is_archived,
            incarnation: meta.incarnation,
            credential_epoch: meta.credential_epoch,
            created_at: meta.created_at(),
            changed_at: meta.changed_at(),
            key_count: keys,
            total_tokens: tokens,
            config: Config { limits: meta.limits(), estimator: meta.estimator()?, namespace },
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

    fn answer(&self, reply: Reply) -> Decision {
        Decision::Answer(Outcome { revision: self.bucket.revision(), reply })
    }

    fn record(&self, action: AuditAction, at: Timestamp, entry: Option<AuditEntry>) -> AuditRecord {
        AuditRecord {
            session: self.session.to_string(),
            revision: self.bucket.revision().next(),
            action,
            participant: self.caller.participant.clone(),
            at,
            entry,
        }
    }

    /// Decides for a step in the session's life that leaves it as `meta`.
    fn commit_life(&self, meta: &Meta, action: AuditAction) -> Result<Decision, Error> {
        let namespace = self.own_namespace(meta)?;
        let reply = Reply::Session(Box::new(self.info(meta, namespace)?));
        self.commit(meta, action, None, None, Vec::new(), reply)
    }

    /// Decides for `changes`, completed by what goes with every change: the
    /// session's record, the audit record, and forgetting what is too old.
    fn commit(
        &self,
        meta: &Meta,
        action: AuditAction,
        entry: Option<AuditEntry>,
        request_row: Option<String>,
        mut changes: Vec<Change>,
        reply: Reply,
    ) -> Result<Decision, Error> {
        let record = self.record(action, meta.changed_at(), entry);
        changes.push(put(record::META, meta.encode()?));
        let row = record::audit_row(record.revision);
        changes.push(put(row, record::encode_audit(&record, request_row)?));

        let ago = |count| {
            let revision = record.revision.0.checked_sub(count)?;
            (revision >= meta.incarnation).then(|| record::audit_row(Revision(revision)))
        };
        changes.extend(ago(AUDIT_RECORDS_MAX).map(Change::Delete));
        if let Some(row) = ago(REQUESTS_REMEMBERED)
            && let Some(bytes) = self.bucket.get(&row)?
        {
            changes.extend(record::decode_audit_request(&bytes)?.map(Change::Delete));
        }
        Ok(Decision::Change { changes, reply, record })
    }
}

fn put(row: impl Into<String>, value: Vec<u8>) -> Change {
    Change::Put(row.into(), value)
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
