//! The façade: loads what a command needs, lets a system decide, commits once.
//!
//! The only module that talks to the ports; its files hold the commands by what
//! they are about. Order of refusals: [`Code::ALL`];
//! the code below checks in that order. Invariants: a command commits at most
//! once; an error means that nothing changed, except [`Error::Storage`]; what is
//! logged has been committed.
//!
//! [`Code::ALL`]: crate::Code::ALL

mod entries;
mod life;
mod reports;

use crate::{
    Error,
    audit::{AuditAction, AuditEntry, AuditRecord},
    command::{Command, Outcome, Reply},
    key::SessionId,
    namespace::Namespace,
    participant::{Caller, Role},
    port::{Bucket, Change, Clock, CommitError, Kv, KvError, Log, Revision},
    record::{self, Meta},
    time::Timestamp,
};

/// How often a command is decided anew because another one committed first.
const ATTEMPTS_MAX: u32 = 16;
/// How many audit records a session keeps: those of its last changes.
const AUDIT_RECORDS_MAX: u64 = 1_000;
/// For how many changes a session remembers a request id.
const REQUESTS_REMEMBERED: u64 = 256;

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

    /// The namespace the session brought along; `None` when it uses the template.
    fn own_namespace(&self, meta: &Meta) -> Result<Option<Namespace>, Error> {
        if !meta.has_own_namespace {
            return Ok(None);
        }
        let bytes = self.bucket.get(record::NAMESPACE)?;
        let bytes = bytes.ok_or_else(|| record::damaged("namespace is missing"))?;
        record::decode_namespace(&bytes).map(Some)
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
