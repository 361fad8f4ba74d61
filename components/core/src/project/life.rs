//! The life of a project: create, show, archive, delete (spec 15.2).

use super::{Request, draft::Draft, open::OpenProject, outcome, record};
use crate::{
    Error,
    audit::AuditAction,
    decision::{Decision, require_admin},
    kv::{Bucket, Change},
    reply::{ProjectConfig, ProjectInfo, Reply},
};

impl<B: Bucket> Request<'_, B> {
    pub(super) fn create(&self, config: ProjectConfig) -> Result<Decision, Error> {
        config.check()?;
        require_admin(self.caller)?;
        if self.bucket.get(record::META)?.is_some() {
            return Err(Error::ProjectExists { project: self.project.to_string() });
        }
        // Revisions of a bucket never go back, so no earlier project had this one.
        let incarnation = self.bucket.revision().next().0;
        let meta = record::Meta::new(incarnation, self.now, config);
        let open = OpenProject::new(self, meta);
        let mut draft = Draft::new(&open);
        draft.event(AuditAction::CreateProject, None, None);
        let info = draft.info();
        draft.commit(Reply::Project(info))
    }
}

impl<B: Bucket> OpenProject<'_, B> {
    pub(super) fn show(&self) -> Decision {
        self.answer(Reply::Project(self.info()))
    }

    pub(super) fn archive(&self) -> Result<Decision, Error> {
        require_admin(self.caller)?;
        if let Some(first) = self.first_reply()? {
            return Ok(first);
        }
        if self.meta.is_archived {
            return Ok(self.show());
        }
        let mut draft = Draft::new(self);
        draft.meta.is_archived = true;
        draft.event(AuditAction::ArchiveProject, None, None);
        let info = draft.info();
        draft.commit(Reply::Project(info))
    }

    pub(super) fn delete(&self) -> Result<Decision, Error> {
        require_admin(self.caller)?;
        let mut draft = Draft::new(self);
        draft.event(AuditAction::DeleteProject, None, None);
        let records = draft.records();
        let reply = Reply::ProjectDeleted(self.project.clone());
        Ok(Decision::Change {
            changes: vec![Change::DeletePrefix(String::new())],
            outcome: outcome(self.bucket.revision().next(), reply),
            records,
        })
    }

    fn info(&self) -> ProjectInfo {
        info(self, &self.meta)
    }
}

impl<B: Bucket> Draft<'_, B> {
    fn info(&self) -> ProjectInfo {
        info(self.open, &self.meta)
    }
}

fn info<B>(open: &OpenProject<'_, B>, meta: &record::Meta) -> ProjectInfo {
    ProjectInfo {
        project: open.project.clone(),
        incarnation: meta.incarnation,
        credential_epoch: meta.credential_epoch,
        created_at: meta.created_at,
        changed_at: meta.changed_at,
        is_archived: meta.is_archived,
        config: meta.config,
        memories: meta.totals.memories,
        bytes: meta.totals.bytes,
        sessions: meta.totals.sessions,
    }
}
