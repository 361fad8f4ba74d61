//! The life of a session (000 §8.4): create, show, archive, revoke, delete.

use super::{Decision, Request, put};
use crate::{
    Error,
    audit::AuditAction,
    command::{Reply, SessionInfo},
    config::Config,
    namespace::Namespace,
    port::{Bucket, Change},
    record::{self, Meta},
    store::Totals,
};

impl<B: Bucket> Request<'_, B> {
    pub(super) fn create(&self, config: &Config) -> Result<Decision, Error> {
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

    pub(super) fn show(&self) -> Result<Decision, Error> {
        let meta = self.open()?;
        Ok(self.answer(self.told(&meta)?))
    }

    pub(super) fn archive(&self) -> Result<Decision, Error> {
        let meta = self.open()?;
        self.require_admin()?;
        if meta.is_archived {
            return Ok(self.answer(self.told(&meta)?));
        }
        let mut meta = meta.changed(self.now(&meta), meta.totals());
        meta.is_archived = true;
        self.commit_life(&meta, AuditAction::ArchiveSession)
    }

    pub(super) fn revoke_credentials(&self) -> Result<Decision, Error> {
        let meta = self.open()?;
        self.require_admin()?;
        let mut meta = meta.changed(self.now(&meta), meta.totals());
        meta.credential_epoch = meta.credential_epoch.saturating_add(1);
        self.commit_life(&meta, AuditAction::RevokeCredentials)
    }

    pub(super) fn delete_session(&self) -> Result<Decision, Error> {
        let meta = self.open()?;
        self.require_admin()?;
        let changes = vec![Change::DeletePrefix(String::new())];
        let reply = Reply::SessionDeleted(self.session.clone());
        let record = self.record(AuditAction::DeleteSession, self.now(&meta), None);
        Ok(Decision::Change { changes, reply, record })
    }

    /// What is told of the session as `meta` says it is.
    fn told(&self, meta: &Meta) -> Result<Reply, Error> {
        let namespace = self.own_namespace(meta)?;
        Ok(Reply::Session(Box::new(self.info(meta, namespace)?)))
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

    /// Decides for a step in the session's life that leaves it as `meta`.
    fn commit_life(&self, meta: &Meta, action: AuditAction) -> Result<Decision, Error> {
        let reply = self.told(meta)?;
        self.commit(meta, action, None, None, Vec::new(), reply)
    }
}
