//! Export of a session as a document, and import (spec 8.5.3).
//!
//! Invariant: an imported session has the same versions, writers, times and revisions.
//! Later changes have higher revisions. Credentials of the original session are not valid
//! for it.

use std::collections::{BTreeMap, btree_map};

use super::{
    Decision, Draft, OpenSession, Request, document, draft::EventDetails, life, require_admin,
};
use crate::{
    Error,
    audit::AuditAction,
    config::Config,
    context::{self, stored::StoredContext},
    count::narrow,
    key::RequestId,
    kv::Bucket,
    packets::{self, stored::StoredPackets},
    portable::Portable,
    reply::Reply,
    rounds::stored::{self, StoredRounds},
    store::{history::Version, snapshot::Snapshot},
};

impl<B: Bucket> OpenSession<'_, B> {
    pub(super) fn export(&self) -> Result<Decision, Error> {
        require_admin(self.caller)?;
        let mut entries = self.entries(None)?;
        let mut history: Vec<Version> = self.histories()?;
        let mut snapshots = Vec::new();
        for info in self.snapshots()? {
            let entries = self.snapshot_entries(info.revision)?;
            snapshots.push(Snapshot { info, entries });
        }
        let past = history.iter_mut().map(|it| &mut it.entry);
        let held = snapshots.iter_mut().flat_map(|it| &mut it.entries);
        let mut values = BTreeMap::new();
        for entry in entries.iter_mut().chain(past).chain(held) {
            let value = match values.entry((entry.key.clone(), entry.revision)) {
                btree_map::Entry::Vacant(it) => it.insert(self.value(entry)?),
                btree_map::Entry::Occupied(it) => it.into_mut(),
            };
            // Format 1 did not store the size in bytes.
            entry.value_bytes = narrow(value.len());
        }
        Ok(self.answer(Reply::Portable(Box::new(Portable {
            session: self.session.clone(),
            is_archived: self.meta.is_archived,
            created_at: self.meta.created_at,
            config: self.config()?,
            entries,
            history,
            snapshots,
            rounds: StoredRounds(self.bucket).history()?,
            context: StoredContext(self.bucket).all()?,
            packets: StoredPackets(self.bucket).all()?,
            values,
        }))))
    }
}

impl<B: Bucket> Request<'_, B> {
    pub(super) fn import(
        &self,
        it: &Portable,
        request_id: Option<&RequestId>,
    ) -> Result<Decision, Error> {
        document::check(it, self.now, self.tokenizer)?;
        let mut meta = self.new_meta(&it.config, document::latest_revision(it).0)?;
        // Many hosts can import the same document at one revision; the time distinguishes
        // them. On one host the revision does.
        meta.incarnation = self.now.0.saturating_add(meta.first_revision.0);
        meta.is_archived = it.is_archived;
        meta.created_at = it.created_at;
        meta.changed_at = document::latest_time(it).max(self.now);
        meta.snapshots = it.snapshots.iter().map(|it| it.info.revision).collect();
        let participant = &self.caller.participant;
        let mut draft = Draft::fresh(self.bucket, self.session, participant, meta);
        draft.changes = life::config_rows(&Config::default(), &it.config)?;
        draft.add_event(AuditAction::ImportSession, EventDetails::default());
        for entry in &it.entries {
            draft.store(None, entry)?;
        }
        for versions in it.history.chunk_by(|a, b| a.entry.key == b.entry.key) {
            let Some(first) = versions.first() else { continue };
            draft.replace_history(&first.entry.key, &[], versions.to_vec());
        }
        for Snapshot { info, entries } in &it.snapshots {
            draft.add_snapshot(info, entries)?;
        }
        for ((key, revision), value) in &it.values {
            draft.put_value(key, *revision, value.clone());
        }
        stored::portable::store(&it.rounds, &mut draft.changes)?;
        context::stored::store(&it.context, &mut draft.changes)?;
        packets::stored::store(&it.packets, &mut draft.changes)?;
        let imported = (it.is_archived, it.created_at);
        if let Some(first) = self.expect_new(&mut draft, &it.config, imported, request_id)? {
            return Ok(first);
        }
        // A document of an earlier version is imported at any size.
        draft.weight_before = u64::MAX;
        let totals = draft.meta.totals;
        let info = life::info(self.session, &draft.meta, totals, it.config.clone());
        draft.commit(Reply::Session(Box::new(info)), None)
    }
}
