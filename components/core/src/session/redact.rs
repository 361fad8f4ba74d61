//! Redaction (spec 8.5.4), for a secret that was stored by mistake. One commit replaces a
//! value with its digest and a reason, in every place it is stored.

use std::collections::BTreeMap;

use super::{Decision, Draft, OpenSession, draft::EventDetails, not_found};
use crate::{
    Error,
    audit::AuditAction,
    context::{kept::Part, stored::StoredContext},
    count::narrow,
    digest,
    key::{Key, Line},
    kv::{Bucket, Revision},
    packets::{conceal::Secrets, stored::StoredPackets},
    participant::Role,
    reply::{Redacted, Reply},
    store::{Entry, history::Version, redaction},
    tokens::approximate,
};

/// The fewest bytes of a value that is also replaced inside of other texts: shorter ones are in
/// many words.
const SECRET_BYTES_MIN: usize = 4;

/// Returns the mark that replaces a redacted text.
pub(super) fn mark(reason: &Line) -> String {
    format!("[redacted: {}]", reason.as_str())
}

/// The values or placeholders of a key, by the revision that wrote each value.
type ValuesByRevision = BTreeMap<Revision, String>;

impl<B: Bucket> OpenSession<'_, B> {
    pub(super) fn redact(
        &self,
        key: &Key,
        revision: Option<Revision>,
        reason: &Line,
    ) -> Result<Decision, Error> {
        match self.redact_with(key, revision, reason, Some(reason)) {
            // The secret is removed even if there is no room for the reason.
            Err(Error::StoreFull { .. }) => self.redact_with(key, revision, reason, None),
            decision => decision,
        }
    }

    /// Redacts for `reason`; placeholders contain `shown`.
    fn redact_with(
        &self,
        key: &Key,
        revision: Option<Revision>,
        reason: &Line,
        shown: Option<&Line>,
    ) -> Result<Decision, Error> {
        self.require_redactor()?;
        if let Some(first) = self.first_reply()? {
            return Ok(first);
        }
        let current = self.entry(key)?;
        let mut draft = Draft::new(self)?;
        let mut snapshots = Vec::new();
        for info in self.snapshots()? {
            let entries = self.snapshot_entries(info.revision)?;
            if entries.iter().any(|it| it.key == *key) {
                snapshots.push((info, entries));
            }
        }
        let past = draft.history(key)?;
        let held = snapshots.iter().flat_map(|(_, entries)| entries).filter(|it| it.key == *key);
        let all: Vec<&Entry> =
            current.iter().chain(past.iter().map(|it| &it.entry)).chain(held).collect();
        let is_selected = |it: &&Entry| revision.is_none_or(|only| only == it.revision);
        let selected: Vec<&Entry> = all.iter().copied().filter(is_selected).collect();
        let Some(first) = selected.first().copied().cloned() else {
            return Err(match revision.filter(|_| !all.is_empty()) {
                Some(revision) => Error::RevisionNotFound { key: key.clone(), revision },
                None => not_found(key),
            });
        };

        let (mut placeholders, mut replaced) = (ValuesByRevision::new(), ValuesByRevision::new());
        let mut digests = Vec::new();
        for entry in selected.into_iter().filter(|it| !it.is_redacted) {
            if placeholders.contains_key(&entry.revision) {
                continue;
            }
            let value = self.value(entry)?;
            redaction::check_reason(reason, &value)?;
            let digest = digest::sha256(&value);
            placeholders.insert(entry.revision, redaction::placeholder(&value, shown));
            replaced.insert(entry.revision, value);
            if !digests.contains(&digest) {
                digests.push(digest);
            }
        }
        let reply = Reply::Redacted(Redacted { key: key.clone(), digests });
        if placeholders.is_empty() {
            return Ok(self.answer(reply));
        }
        let is_secret = |part: Option<&Part>, text: &str| {
            let entry = part.and_then(|it| it.entry.as_ref());
            entry.is_some_and(|(of, revision)| of == key && placeholders.contains_key(revision))
                || replaced.values().any(|it| it.len() >= SECRET_BYTES_MIN && text.contains(it))
        };
        let (_, changes) = StoredContext(self.bucket).redacted(reason.as_str(), &is_secret)?;
        draft.changes.extend(changes);
        let values: Vec<String> = replaced.values().cloned().collect();
        let secrets = Secrets { values: &values, has_parts: true, mark: mark(reason) };
        let (_, changes) =
            StoredPackets(self.bucket).redacted(&secrets, &|text| self.count(text))?;
        draft.changes.extend(changes);
        for ((written, text), value) in placeholders.iter().zip(replaced.values()) {
            draft.replace_value(key, *written, value, text.clone());
        }
        let redacted = past.iter().map(|it| Version {
            entry: self.redacted(&it.entry, &placeholders),
            ended: it.ended.clone(),
        });
        draft.replace_history(key, &past, redacted.collect());
        for (mut info, mut entries) in snapshots {
            for entry in entries.iter_mut().filter(|it| it.key == *key) {
                let new = self.redacted(entry, &placeholders);
                info.totals = info.totals.replace(Some(entry), Some(&new));
                *entry = new;
            }
            draft.store_snapshot(&info, &entries)?;
        }
        if let Some(old) = &current
            && let Some(text) = placeholders.get(&old.revision)
        {
            // The value read before is no longer current, so the entry gets a new
            // revision.
            let revision = draft.revision;
            let redacted = self.redacted(old, &placeholders);
            let new = Entry { revision, touched: revision, ..redacted };
            draft.drop_value(old, revision)?;
            draft.store(Some(old), &new)?;
            draft.put_value(key, revision, text.clone());
        }
        if shown.is_none() {
            draft.weight_before = u64::MAX;
        }
        let details =
            EventDetails { entry: Some(&first), reason: Some(reason), ..EventDetails::default() };
        draft.add_event(AuditAction::Redact, details);
        draft.commit(reply, None)
    }

    /// Rejects redactions by agents, and by the orchestrator in an archived session.
    pub(super) fn require_redactor(&self) -> Result<(), Error> {
        match self.caller.participant.role() {
            // A secret can be discovered after the session has ended.
            Role::Admin => Ok(()),
            Role::Orchestrator => self.require_active(),
            Role::Agent => {
                self.require_active()?;
                Err(Error::Forbidden {
                    message: "only the orchestrator and the operator may redact; tell the orchestrator in a key of \
                              your own, and overwrite the value meanwhile",
                })
            }
        }
    }

    /// Returns `entry` with the size of its placeholder, if it has one.
    fn redacted(&self, entry: &Entry, placeholders: &ValuesByRevision) -> Entry {
        let Some(text) = placeholders.get(&entry.revision) else { return entry.clone() };
        Entry {
            // The secret is removed even if the placeholder's tokens cannot be counted
            // exactly.
            value_tokens: self.count(text).unwrap_or_else(|_| approximate(text)),
            value_bytes: narrow(text.len()),
            is_redacted: true,
            ..entry.clone()
        }
    }
}
