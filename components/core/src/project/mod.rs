//! Commands on a project, decided from the rows of its bucket.
//!
//! A project outlives its sessions. `life` creates, shows, archives and deletes it, `portable`
//! exports and imports it in pages that `page` checks, `sessions` lists the sessions that worked on
//! it, `memories` has the commands on memories, `outline` those on sections and their owners,
//! `handoffs` those on handoffs, `feed` its changes. Every change goes through `draft`.

mod check;
mod draft;
mod feed;
mod handoffs;
mod life;
mod memories;
mod open;
mod outline;
mod page;
mod portable;
mod record;
mod retries;
mod rows;
mod sessions;

use crate::{
    Error,
    command::{Command, ProjectCommand},
    decision::{Decision, check_credential},
    kv::{Bucket, Revision},
    participant::{Caller, Role},
    port::Tokenizer,
    reply::{Outcome, Reply},
    scope::{ProjectId, ScopeKind},
    time::Timestamp,
};
pub use check::check_project_rows;
use open::OpenProject;
use record::Meta;

/// One attempt at a command, on the rows of one revision.
pub(crate) struct Request<'a, B> {
    pub(crate) bucket: &'a B,
    pub(crate) tokenizer: &'a dyn Tokenizer,
    pub(crate) now: Timestamp,
    pub(crate) project: &'a ProjectId,
    pub(crate) caller: &'a Caller,
}

impl<B: Bucket> Request<'_, B> {
    /// Decides `command`.
    pub(crate) fn decide(&self, command: &Command) -> Result<Decision, Error> {
        let (command, request_id) = match command {
            Command::Named { request_id, command } => (&**command, Some(request_id)),
            _ => (command, None),
        };
        let Command::Project(command) = command else {
            return Err(Error::malformed(
                "this is done to a session, and the request names a project",
            ));
        };
        let retry = request_id.map(|id| retries::Retry::new(self.caller, id, command));
        match command {
            ProjectCommand::Create(config) => return self.create(config, retry.transpose()?),
            ProjectCommand::Import { page, .. } => return self.import(page, retry.transpose()?),
            _ => {}
        }
        let meta = load(self.bucket, self.project, self.caller)?;
        let mut it = OpenProject::new(self, meta);
        it.retry = retry.transpose()?;
        match command {
            ProjectCommand::Create(_) | ProjectCommand::Import { .. } | ProjectCommand::Show => {
                Ok(it.show())
            }
            ProjectCommand::Export { after } => it.export(*after),
            ProjectCommand::Sessions { limit } => it.sessions(*limit),
            ProjectCommand::Archive => it.archive(),
            ProjectCommand::Delete => it.delete(),
            ProjectCommand::Changes { since, limit } => it.changes(*since, *limit),
            ProjectCommand::Memories(command) => it.memories(command),
            ProjectCommand::Outline(command) => it.outline(command),
            ProjectCommand::Handoffs(command) => it.handoffs(command),
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

/// Rejects agents.
fn require_orchestrator(caller: &Caller, what: &'static str) -> Result<(), Error> {
    match caller.participant.role() {
        Role::Orchestrator | Role::Admin => Ok(()),
        Role::Agent => Err(Error::Forbidden { message: what }),
    }
}

/// Returns the outcome of a project command, without an expiry.
fn outcome(revision: Revision, reply: Reply) -> Outcome {
    Outcome { revision, reply, next_expiry: None }
}
