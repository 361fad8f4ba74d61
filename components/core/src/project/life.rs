//! The life of a project: create, show, archive, delete (spec 15.2).

use super::{Request, draft::Draft, open::OpenProject, outcome, record, retries::Retry};
use crate::{
    Error,
    audit::AuditAction,
    config::ProjectConfig,
    decision::{Decision, require_admin},
    estimate,
    kv::{Bucket, Change},
    reply::{ProjectInfo, Reply},
};

impl<B: Bucket> Request<'_, B> {
    pub(super) fn create(
        &self,
        config: &ProjectConfig,
        retry: Option<Retry>,
    ) -> Result<Decision, Error> {
        config.check()?;
        // Without its tokenizer the project could not write a text within a budget.
        estimate::check(self.tokenizer, "estimator", &config.estimator)?;
        require_admin(self.caller)?;
        if let Some(mut it) = self.existing()? {
            it.retry = retry;
            let exists = Error::ProjectExists { project: self.project.to_string() };
            return it.first_reply()?.ok_or(exists);
        }
        // Revisions of a bucket never go back, so no earlier project had this one.
        let incarnation = self.bucket.revision().next().0;
        let meta = record::Meta::new(incarnation, self.now, config.clone());
        let mut open = OpenProject::new(self, meta);
        open.retry = retry;
        let mut draft = Draft::new(&open);
        draft.event(AuditAction::CreateProject, None, None);
        let info = draft.info();
        draft.commit(Reply::Project(info))
    }

    /// Returns the project if there is one of this id.
    pub(super) fn existing(&self) -> Result<Option<OpenProject<'_, B>>, Error> {
        let bytes = self.bucket.get(record::META)?;
        let meta = bytes.map(|it| record::Meta::decode(&it)).transpose()?;
        Ok(meta.map(|it| OpenProject::new(self, it)))
    }
}

impl<B: Bucket> OpenProject<'_, B> {
    pub(super) fn show(&self) -> Decision {
        self.answer(Reply::Project(self.info()))
    }

    pub(super) fn archive(&self) -> Result<Decision, Error> {
        // The last page says whether the project is archived.
        self.check_imported()?;
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
    pub(super) fn info(&self) -> ProjectInfo {
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
        imported_until: meta.import.as_ref().map(|it| it.until),
        config: meta.config.clone(),
        memories: meta.totals.memories,
        bytes: meta.totals.bytes,
        sessions: meta.totals.sessions,
    }
}
