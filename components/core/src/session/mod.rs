//! The façade: loads what a command needs, lets a system decide, commits once.
//!
//! The only module that talks to the ports; its files hold the commands by what
//! they are about. Order of refusals: [`Code::ALL`];
//! the code below checks in that order. Invariants: a command commits at most
//! once; an error means that nothing changed, except [`Error::InDoubt`]; what is
//! logged has been committed.
//!
//! [`Code::ALL`]: crate::Code::ALL

mod changes;
mod document;
mod draft;
mod life;
mod opened;
mod portable;
mod reads;
mod redact;
mod reports;
mod retries;
mod rounds;
mod snapshots;
mod weight;
mod writes;

use crate::{
    Error,
    audit::AuditRecord,
    command::Command,
    key::{Key, SessionId},
    kv::{Bucket, Change, CommitError, Kv, Revision},
    participant::{Caller, Role},
    port::{Clock, Log, Ports, Tokenizer},
    record::{self, Meta},
    reply::{Outcome, Reply},
    row,
    store::access::Gate,
    time::Timestamp,
};
use draft::Draft;
use opened::Opened;

/// How often a command is decided anew because another one committed meanwhile.
const ATTEMPTS_MAX: u32 = 16;

/// Performs `command` on `session` as `caller`.
///
/// # Errors
///
/// The first that applies, in the order of [`Code::ALL`](crate::Code::ALL).
/// After any but [`Error::InDoubt`] nothing has changed.
pub fn execute<K: Kv, C: Clock, L: Log, T: Tokenizer>(
    ports: &Ports<'_, K, C, L, T>,
    session: &SessionId,
    caller: &Caller,
    command: &Command,
) -> Result<Outcome, Error> {
    for _ in 0..ATTEMPTS_MAX {
        let mut bucket = ports.kv.open(&session.bucket_name())?;
        let read_at = bucket.revision();
        let now = ports.clock.now();
        let request = Request { bucket: &bucket, tokenizer: ports.tokenizer, now, session, caller };
        match request.decide(command) {
            Err(Error::Overtaken) => {}
            Err(error) => return Err(error),
            Ok(Decision::Answer(outcome)) => return Ok(outcome),
            Ok(Decision::Change { changes, outcome, records }) => {
                match bucket.commit(read_at, changes) {
                    Ok(_) => {
                        for record in &records {
                            ports.log.record(record);
                        }
                        return Ok(outcome);
                    }
                    Err(CommitError::Conflict) => {}
                    Err(CommitError::Unchanged(err)) => return Err(Error::Unstored(err)),
                    Err(CommitError::Failed(err)) => return Err(Error::InDoubt(err)),
                }
            }
        }
    }
    Err(Error::Overtaken)
}

/// What to answer to a request that makes no command because of `error`: that,
/// unless the caller's credential is void, which comes first.
pub fn refuse(kv: &impl Kv, session: &SessionId, caller: &Caller, error: Error) -> Error {
    if caller.credential.is_none() {
        return error;
    }
    for _ in 0..ATTEMPTS_MAX {
        let Ok(bucket) = kv.open(&session.bucket_name()) else { break };
        match load(&bucket, session, caller) {
            Err(Error::Overtaken) => {}
            Err(void @ Error::Unauthenticated { .. }) => return void,
            _ => break,
        }
    }
    error
}

/// What is to be done for a command.
enum Decision {
    /// Nothing but to answer.
    Answer(Outcome),
    /// To commit `changes`; then the answer is `outcome`, and `records` are what
    /// happened.
    Change { changes: Vec<Change>, outcome: Outcome, records: Vec<AuditRecord> },
}

/// One attempt at one command, on the rows of one revision.
struct Request<'a, B> {
    bucket: &'a B,
    tokenizer: &'a dyn Tokenizer,
    now: Timestamp,
    session: &'a SessionId,
    caller: &'a Caller,
}

impl<B: Bucket> Request<'_, B> {
    fn decide(&self, command: &Command) -> Result<Decision, Error> {
        match command {
            Command::CreateSession(config) => return self.create(config),
            Command::Import(portable) => return self.import(portable),
            _ => {}
        }
        let mut it = self.open()?;
        it.check_prefixes(command)?;
        // Neither needs to know, and reading one entry should read no others.
        if !matches!(command, Command::Read { .. } | Command::DeleteSession) {
            it.find_next_expiry()?;
        }
        match command {
            Command::CreateSession(_) | Command::Import(_) | Command::ShowSession => it.show(),
            Command::ArchiveSession => it.archive(),
            Command::DeleteSession => it.delete_session(),
            Command::RevokeCredentials => it.revoke_credentials(),
            Command::ListKeys { prefix, if_changed_since } => {
                it.list_keys(prefix.as_ref(), *if_changed_since)
            }
            Command::Read { key, if_changed_since } => it.read(key, *if_changed_since),
            Command::ReadBatch { keys, if_changed_since } => it.read_batch(keys, *if_changed_since),
            Command::Write(write) => it.write(write),
            Command::Delete(delete) => it.delete(delete),
            Command::WriteBatch(batch) => it.write_batch(batch),
            Command::ReadHistory { key, versions } => it.read_history(key, versions),
            Command::SetAccess { key, change } => it.set_access(key, change),
            Command::TakeSnapshot { label, note } => it.take_snapshot(label, note.as_ref()),
            Command::ListSnapshots => it.list_snapshots(),
            Command::ReadSnapshot { label, key } => it.read_snapshot(label, key.as_ref()),
            Command::DiffSnapshots { from, to } => it.diff_snapshots(from, to.as_ref()),
            Command::RestoreSnapshot(label) => it.restore_snapshot(label),
            Command::DeleteSnapshot(label) => it.delete_snapshot(label),
            Command::Changes { since, limit, keys } => it.changes(*since, *limit, keys.as_ref()),
            Command::Rounds(command) => it.rounds(command),
            Command::Redact { key, revision, reason } => it.redact(key, *revision, reason),
            Command::Inspect => it.inspect(),
            Command::Export => it.export(),
            Command::Sweep => it.sweep(),
            Command::Prompt { participant, max_tokens } => {
                it.prompt(participant.as_ref(), *max_tokens)
            }
            Command::Audit { since, limit } => it.audit(*since, *limit),
        }
    }

    /// Loads the session and checks the caller's credential against it.
    fn open(&self) -> Result<Opened<'_, B>, Error> {
        let meta = load(self.bucket, self.session, self.caller)?;
        let rules = if meta.has_rules {
            let bytes = self.bucket.get(record::RULES)?;
            record::decode_rules(&bytes.ok_or_else(|| row::damaged("access is missing"))?)?
        } else {
            Vec::new()
        };
        Ok(Opened {
            bucket: self.bucket,
            tokenizer: self.tokenizer,
            session: self.session,
            caller: self.caller,
            now: self.now,
            at: self.now.max(meta.changed_at),
            gate: Gate::new(self.caller, rules),
            meta,
        })
    }
}

/// Loads what is known of the session and checks the caller's credential
/// against it.
fn load(bucket: &impl Bucket, session: &SessionId, caller: &Caller) -> Result<Meta, Error> {
    let Some(bytes) = bucket.get(record::META)? else {
        return Err(Error::SessionNotFound { session: session.to_string() });
    };
    let meta = Meta::decode(&bytes)?;
    let reason = match &caller.credential {
        Some(it) if it.incarnation != meta.incarnation => {
            "this credential was issued for an earlier session of this name; \
             ask the operator for a new one"
        }
        Some(it) if it.epoch != meta.credential_epoch => {
            "this credential was revoked, or is of a session of this name elsewhere; \
             ask the operator for a new one"
        }
        _ => return Ok(meta),
    };
    Err(Error::Unauthenticated { reason })
}

fn require_admin(caller: &Caller) -> Result<(), Error> {
    match caller.participant.role() {
        Role::Admin => Ok(()),
        Role::Agent | Role::Orchestrator => Err(Error::Forbidden {
            message: "only the admin may do this; ask the operator of the session",
        }),
    }
}

fn put(row: impl Into<String>, value: Vec<u8>) -> Change {
    Change::Put(row.into(), value)
}

/// A key was asked for that does not exist, or not for the caller.
fn not_found(key: &Key) -> Error {
    Error::KeyNotFound { key: key.clone() }
}

/// `revision` as the revision of an answer that reads it.
fn answer(revision: Revision, reply: Reply, meta: &Meta) -> Decision {
    Decision::Answer(Outcome { revision, reply, next_expiry: meta.next_expiry })
}
