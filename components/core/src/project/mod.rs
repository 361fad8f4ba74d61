//! Commands on a project, decided from the rows of its bucket.
//!
//! A project outlives its sessions. So far it can only be created, read and deleted.
//! Memories, outline and ownership will be stored in the same bucket.

mod record;

use crate::{
    Error,
    audit::{AuditAction, AuditRecord},
    command::ProjectCommand,
    decision::{Decision, check_credential, require_admin},
    kv::{Bucket, Change, Revision},
    participant::Caller,
    reply::{Outcome, ProjectInfo, Reply},
    scope::{ProjectId, Scope, ScopeKind},
    time::Timestamp,
};
use record::Meta;

/// One attempt at a command, on the rows of one revision.
pub(crate) struct Request<'a, B> {
    pub(crate) bucket: &'a B,
    pub(crate) now: Timestamp,
    pub(crate) project: &'a ProjectId,
    pub(crate) caller: &'a Caller,
}

impl<B: Bucket> Request<'_, B> {
    /// Decides `command`.
    pub(crate) fn decide(&self, command: ProjectCommand) -> Result<Decision, Error> {
        if command == ProjectCommand::Create {
            return self.create();
        }
        let meta = load(self.bucket, self.project, self.caller)?;
        match command {
            ProjectCommand::Create | ProjectCommand::Show => {
                let reply = Reply::Project(self.info(&meta));
                Ok(Decision::Answer(outcome(self.bucket.revision(), reply)))
            }
            ProjectCommand::Delete => self.delete(&meta),
        }
    }

    fn create(&self) -> Result<Decision, Error> {
        require_admin(self.caller)?;
        if self.bucket.get(record::META)?.is_some() {
            return Err(Error::ProjectExists { project: self.project.to_string() });
        }
        let meta = Meta {
            // Revisions of a bucket never go back, so no earlier project had this one.
            incarnation: self.bucket.revision().next().0,
            credential_epoch: self.now.0,
            created_at: self.now,
            changed_at: self.now,
        };
        let changes = vec![Change::put(record::META, meta.encode()?)];
        let reply = Reply::Project(self.info(&meta));
        Ok(self.change(AuditAction::CreateProject, self.now, changes, reply))
    }

    fn delete(&self, meta: &Meta) -> Result<Decision, Error> {
        require_admin(self.caller)?;
        let changes = vec![Change::DeletePrefix(String::new())];
        let reply = Reply::ProjectDeleted(self.project.clone());
        let at = self.now.max(meta.changed_at);
        Ok(self.change(AuditAction::DeleteProject, at, changes, reply))
    }

    /// Returns the decision to commit `changes` at `at`, recorded as `action` by the
    /// caller.
    fn change(
        &self,
        action: AuditAction,
        at: Timestamp,
        changes: Vec<Change>,
        reply: Reply,
    ) -> Decision {
        let revision = self.bucket.revision().next();
        let record = AuditRecord {
            scope: Scope::Project(self.project.clone()),
            revision,
            action,
            participant: self.caller.participant.clone(),
            at,
            entry: None,
            label: None,
            reason: None,
            round: None,
        };
        Decision::Change { changes, outcome: outcome(revision, reply), records: vec![record] }
    }

    fn info(&self, meta: &Meta) -> ProjectInfo {
        ProjectInfo {
            project: self.project.clone(),
            incarnation: meta.incarnation,
            credential_epoch: meta.credential_epoch,
            created_at: meta.created_at,
            changed_at: meta.changed_at,
        }
    }
}

/// Loads the project's metadata and checks the caller's credential against it.
pub(crate) fn load(
    bucket: &impl Bucket,
    project: &ProjectId,
    caller: &Caller,
) -> Result<Meta, Error> {
    let Some(bytes) = bucket.get(record::META)? else {
        return Err(Error::ProjectNotFound { project: project.to_string() });
    };
    let meta = Meta::decode(&bytes)?;
    check_credential(caller, ScopeKind::Project, meta.incarnation, meta.credential_epoch)?;
    Ok(meta)
}

/// Returns the outcome of a project command, without an expiry.
fn outcome(revision: Revision, reply: Reply) -> Outcome {
    Outcome { revision, reply, next_expiry: None }
}
