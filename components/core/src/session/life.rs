//! The life cycle of a session (spec 8.4): create, show, archive, revoke, delete. Also
//! sweeps expired entries. `update` changes its configuration.

use super::{
    Decision, Draft, OpenSession, Request, draft::EventDetails, put, require_admin,
    retries::IdempotencyKey,
};
use crate::{
    Error,
    audit::AuditAction,
    config::Config,
    estimate,
    key::RequestId,
    kv::{Bucket, Change},
    namespace::Namespace,
    record::{self, Meta},
    reply::{Outcome, Reply, SessionInfo},
    row,
    scope::SessionId,
    store::Totals,
    time::Timestamp,
};

impl<B: Bucket> Request<'_, B> {
    pub(super) fn create(
        &self,
        config: &Config,
        request_id: Option<&RequestId>,
    ) -> Result<Decision, Error> {
        let meta = self.new_meta(config, 0)?;
        let mut draft = Draft::fresh(self.bucket, self.session, &self.caller.participant, meta);
        draft.changes = config_rows(&Config::default(), config)?;
        if let Some(first) =
            self.expect_new(&mut draft, config, (false, Timestamp(0)), request_id)?
        {
            return Ok(first);
        }
        draft.add_event(AuditAction::CreateSession, EventDetails::default());
        let info = info(self.session, &draft.meta, draft.meta.totals, config.clone());
        draft.commit(Reply::Session(Box::new(info)), None)
    }

    /// Validates the creation of a session with `config` and returns its metadata. Its
    /// revisions follow `latest`, and those of every earlier session of its id.
    pub(super) fn new_meta(&self, config: &Config, latest: u64) -> Result<Meta, Error> {
        config.check()?;
        // Without its tokenizer every write would fail.
        estimate::check(self.tokenizer, "config.estimator", &config.estimator)?;
        require_admin(self.caller)?;
        let bucket = self.bucket.revision();
        let previous = self.bucket.get(record::OFFSET)?;
        let previous = previous.map_or(Ok(0), |bytes| record::decode_offset(&bytes))?;
        let offset = latest.saturating_sub(bucket.0).max(previous);
        Ok(Meta::new(bucket.next(), offset, self.now, config))
    }

    /// Checks that the session that `draft` creates with `config` does not exist. Returns the reply
    /// if the same request created it. `imported` is whether it was archived, and when it was
    /// created.
    pub(super) fn expect_new(
        &self,
        draft: &mut Draft<'_, B>,
        config: &Config,
        imported: (bool, Timestamp),
        request_id: Option<&RequestId>,
    ) -> Result<Option<Decision>, Error> {
        let digest = || record::creation_digest(config, imported, &draft.changes);
        let new_key = |id| Ok::<_, Error>(IdempotencyKey::new(self.caller, id, digest()?));
        draft.idempotency_key = request_id.map(new_key).transpose()?;
        if self.bucket.get(record::META)?.is_none() {
            return Ok(None);
        }
        let replay = self.open()?.replay(draft.idempotency_key.as_ref())??;
        let exists = || Error::SessionExists { session: self.session.to_string() };
        replay.map(Some).ok_or_else(exists)
    }
}

impl<B: Bucket> OpenSession<'_, B> {
    pub(super) fn show(&self) -> Result<Decision, Error> {
        Ok(self.answer(Reply::Session(Box::new(self.info()?))))
    }

    pub(super) fn archive(&self) -> Result<Decision, Error> {
        require_admin(self.caller)?;
        if let Some(first) = self.first_reply()? {
            return Ok(first);
        }
        if self.meta.is_archived {
            return self.show();
        }
        self.change_meta(AuditAction::ArchiveSession, |meta| meta.is_archived = true)
    }

    pub(super) fn revoke_credentials(&self) -> Result<Decision, Error> {
        require_admin(self.caller)?;
        if let Some(first) = self.first_reply()? {
            return Ok(first);
        }
        self.change_meta(AuditAction::RevokeCredentials, |meta| {
            // The number always changes, even at the maximum.
            meta.credential_epoch = meta.credential_epoch.wrapping_add(1);
        })
    }

    pub(super) fn delete_session(&self) -> Result<Decision, Error> {
        require_admin(self.caller)?;
        let mut draft = Draft::fresh(
            self.bucket,
            self.session,
            &self.caller.participant,
            Meta { changed_at: self.at, ..self.meta.clone() },
        );
        draft.add_event(AuditAction::DeleteSession, EventDetails::default());
        let reply = Reply::SessionDeleted(self.session.clone());
        let outcome = Outcome { revision: draft.revision, reply, next_expiry: None };
        let mut changes = vec![Change::DeletePrefix(String::new())];
        if self.meta.revision_offset > 0 {
            let offset = record::encode_offset(self.meta.revision_offset)?;
            changes.push(put(record::OFFSET, offset));
        }
        Ok(Decision::Change { changes, outcome, records: draft.records() })
    }

    /// Removes expired entries.
    pub(super) fn sweep(&self) -> Result<Decision, Error> {
        if !self.has_expired() {
            return Ok(self.answer(Reply::Swept));
        }
        let draft = Draft::new(self)?;
        draft.commit(Reply::Swept, None)
    }

    /// Decides a change of the session's metadata, recorded as `action`.
    fn change_meta(
        &self,
        action: AuditAction,
        change: impl FnOnce(&mut Meta),
    ) -> Result<Decision, Error> {
        let mut draft = Draft::new(self)?;
        draft.add_event(action, EventDetails::default());
        change(&mut draft.meta);
        let config = self.config()?;
        let info = info(self.session, &draft.meta, draft.meta.totals, config);
        draft.commit(Reply::Session(Box::new(info)), None)
    }

    pub(super) fn info(&self) -> Result<SessionInfo, Error> {
        Ok(info(self.session, &self.meta, self.visible_totals()?, self.config()?))
    }

    /// Returns the session's configuration.
    pub(super) fn config(&self) -> Result<Config, Error> {
        Ok(Config {
            limits: self.meta.limits,
            estimator: self.meta.estimator.clone(),
            namespace: self.own_namespace()?,
            retention: self.meta.retention,
            ttl_default: self.meta.ttl_default,
            allows_prefixes: self.meta.allows_prefixes,
            access: self.authorizer.rules().to_vec(),
            project: self.meta.project.clone(),
            tools: self.meta.tools.clone(),
            rejects_secrets: self.meta.rejects_secrets,
            packet: self.meta.packet.clone(),
        })
    }

    /// Returns the session's own namespace; `None` if it uses the template.
    pub(super) fn own_namespace(&self) -> Result<Option<Namespace>, Error> {
        if !self.meta.has_own_namespace {
            return Ok(None);
        }
        let bytes = self.bucket.get(record::NAMESPACE)?;
        let bytes = bytes.ok_or_else(|| row::damaged("namespace is missing"))?;
        record::decode_namespace(&bytes).map(Some)
    }
}

/// Returns the changes of the rows of a session's own namespace and access rules.
pub(super) fn config_rows(old: &Config, new: &Config) -> Result<Vec<Change>, Error> {
    let mut changes = Vec::new();
    if new.namespace != old.namespace {
        changes.push(match &new.namespace {
            Some(it) => put(record::NAMESPACE, record::encode_namespace(it)?),
            None => Change::Delete(record::NAMESPACE.to_owned()),
        });
    }
    if new.access != old.access {
        changes.push(match new.access.as_slice() {
            [] => Change::Delete(record::RULES.to_owned()),
            rules => put(record::RULES, record::encode_rules(rules)?),
        });
    }
    Ok(changes)
}

pub(super) fn info(
    session: &SessionId,
    meta: &Meta,
    Totals { keys, tokens }: Totals,
    config: Config,
) -> SessionInfo {
    SessionInfo {
        session: session.clone(),
        is_archived: meta.is_archived,
        incarnation: meta.incarnation,
        credential_epoch: meta.credential_epoch,
        created_at: meta.created_at,
        changed_at: meta.changed_at,
        key_count: keys,
        total_tokens: tokens,
        config,
    }
}
