//! Commands on a session: loads the rows a command needs and lets a system decide.
//!
//! Each file has the commands of one subject. The code checks for errors in the order of
//! [`Code::ALL`].
//!
//! [`Code::ALL`]: crate::Code::ALL

mod changes;
mod compaction;
mod context;
mod document;
mod draft;
mod life;
mod open_session;
mod packets;
mod portable;
mod reads;
mod redact;
mod reports;
mod retries;
mod rounds;
mod snapshots;
mod summary;
mod update;
mod weight;
mod writes;

use crate::{
    Error,
    command::Command,
    decision::{Decision, check_credential, require_admin},
    key::Key,
    kv::{Bucket, Change, Revision},
    participant::Caller,
    port::Tokenizer,
    record::{self, Meta},
    reply::{Outcome, Reply},
    row,
    scope::{ScopeKind, SessionId},
    store::access::Authorizer,
    time::Timestamp,
};
use draft::Draft;
use open_session::OpenSession;

/// One attempt at a command, on the rows of one revision.
pub(crate) struct Request<'a, B> {
    pub(crate) bucket: &'a B,
    pub(crate) tokenizer: &'a dyn Tokenizer,
    pub(crate) now: Timestamp,
    pub(crate) session: &'a SessionId,
    pub(crate) caller: &'a Caller,
}

impl<B: Bucket> Request<'_, B> {
    /// Decides `command`.
    pub(crate) fn decide(&self, command: &Command) -> Result<Decision, Error> {
        let (command, request_id) = match command {
            Command::Named { request_id, command } => (&**command, Some(request_id)),
            _ => (command, None),
        };
        match command {
            Command::CreateSession(config) => return self.create(config, request_id),
            Command::Import(portable) => return self.import(portable, request_id),
            _ => {}
        }
        let mut it = self.open()?;
        it.idempotency_key = it.idempotency_key(request_id, || record::command_digest(command))?;
        it.check_prefixes(command)?;
        // These two do not need the next expiry, and reading one entry should not read
        // others.
        if !matches!(command, Command::Read { .. } | Command::DeleteSession) {
            it.find_next_expiry()?;
        }
        match command {
            Command::CreateSession(_) | Command::Import(_) | Command::ShowSession => it.show(),
            Command::UpdateSession(change) => it.update(change),
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
            Command::Changes { since, limit, keys, except_own } => {
                it.changes(*since, *limit, keys.as_ref(), *except_own)
            }
            Command::Rounds(command) => it.rounds(command),
            Command::Context(command) => it.context(command),
            Command::Packets(command) => it.packets(command),
            Command::Compaction(command) => it.compaction(command),
            Command::Summarize(request) => it.summarize(request),
            Command::Redact { key, revision, reason } => it.redact(key, *revision, reason),
            Command::Inspect => it.inspect(),
            Command::Export => it.export(),
            Command::Sweep => it.sweep(),
            Command::RenderContext { task, max_tokens, if_changed_since } => {
                it.render_context(task.as_deref(), *max_tokens, *if_changed_since)
            }
            Command::Prompt { participant, max_tokens } => {
                it.prompt(participant.as_ref(), *max_tokens)
            }
            Command::Audit { after, limit } => it.audit(*after, *limit),
            Command::Project(_) => {
                Err(Error::malformed("this is done to a project, and the request names a session"))
            }
            Command::Named { .. } => Err(Error::malformed("a request has one name")),
        }
    }

    /// Loads the session and checks the caller's credential against it.
    fn open(&self) -> Result<OpenSession<'_, B>, Error> {
        let meta = load(self.bucket, self.session, self.caller)?;
        let rules = if meta.has_rules {
            let bytes = self.bucket.get(record::RULES)?;
            record::decode_rules(&bytes.ok_or_else(|| row::damaged("access is missing"))?)?
        } else {
            Vec::new()
        };
        Ok(OpenSession {
            bucket: self.bucket,
            tokenizer: self.tokenizer,
            session: self.session,
            caller: self.caller,
            now: self.now,
            at: self.now.max(meta.changed_at),
            authorizer: Authorizer::new(self.caller, rules),
            meta,
            idempotency_key: None,
        })
    }
}

/// Loads the session's metadata and checks the caller's credential against it.
pub(crate) fn load(
    bucket: &impl Bucket,
    session: &SessionId,
    caller: &Caller,
) -> Result<Meta, Error> {
    let Some(bytes) = bucket.get(record::META)? else {
        return Err(Error::SessionNotFound { session: session.to_string() });
    };
    let meta = Meta::decode(&bytes)?;
    check_credential(caller, ScopeKind::Session, meta.incarnation, meta.credential_epoch)?;
    Ok(meta)
}

fn put(row: impl Into<String>, value: Vec<u8>) -> Change {
    Change::Put(row.into(), value)
}

/// Creates the error for a key that does not exist or is hidden from the caller.
fn not_found(key: &Key) -> Error {
    Error::KeyNotFound { key: key.clone() }
}

/// Creates the decision of a read at `revision`.
fn answer(revision: Revision, reply: Reply, meta: &Meta) -> Decision {
    Decision::Answer(Outcome { revision, reply, next_expiry: meta.next_expiry })
}
