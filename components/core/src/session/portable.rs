//! Taking a session out as a document, and bringing it in again (000 §8.5).
//!
//! Invariant: what is brought in is shown as it was taken out: versions, writers,
//! times and revisions are the same. What comes after has higher revisions; the
//! credentials of the session it came from do not open it.

use std::collections::{BTreeMap, BTreeSet, btree_map};

use super::{Decision, Draft, Opened, Request, draft::About, life, opened, put, require_admin};
use crate::{
    Error,
    audit::AuditAction,
    key::Key,
    port::{Bucket, Revision},
    portable::Portable,
    record,
    reply::Reply,
    store::{
        Entry, Totals,
        history::Version,
        snapshot::{Snapshot, SnapshotInfo},
    },
    time::Timestamp,
};

/// How far the clock of where a document comes from may be ahead, in
/// milliseconds: a day.
const AHEAD_MS_MAX: u64 = 86_400_000;

/// The highest revision that a document may name: numbers up to this are exact
/// in every reader of JSON (RFC 8259 §6), with room for what comes after.
const REVISION_MAX: u64 = 1 << 52;

impl<B: Bucket> Opened<'_, B> {
    pub(super) fn export(&self) -> Result<Decision, Error> {
        require_admin(self.caller)?;
        let entries = self.entries(None)?;
        let mut histories: BTreeMap<Key, Vec<Version>> = BTreeMap::new();
        for (row, bytes) in self.bucket.scan(record::HISTORY, None, u32::MAX)? {
            let (key, versions) = record::decode_history_row(&row, &bytes)?;
            histories.insert(key, versions);
        }
        for version in self.stored_entries(None)?.into_iter().filter_map(|it| self.expired(it)) {
            histories.entry(version.entry.key.clone()).or_default().push(version);
        }
        let history: Vec<Version> = histories.into_values().flatten().collect();
        let mut snapshots = Vec::new();
        for info in self.snapshots()? {
            let entries = self.snapshot_entries(info.revision)?;
            snapshots.push(Snapshot { info, entries });
        }
        let mut values = BTreeMap::new();
        for entry in all_entries(&entries, &history, &snapshots) {
            if let btree_map::Entry::Vacant(it) = values.entry((entry.key.clone(), entry.revision)) {
                it.insert(self.value(entry)?);
            }
        }
        Ok(self.answer(Reply::Portable(Box::new(Portable {
            session: self.session.clone(),
            is_archived: self.meta.is_archived,
            created_at: self.meta.created_at,
            config: self.config()?,
            entries,
            history,
            snapshots,
            values,
        }))))
    }
}

impl<B: Bucket> Request<'_, B> {
    pub(super) fn import(&self, it: &Portable) -> Result<Decision, Error> {
        self.check(it)?;
        let mut meta = self.begin(&it.config, latest_revision(it).0)?;
        meta.is_archived = it.is_archived;
        meta.created_at = it.created_at;
        meta.changed_at = latest_time(it).max(self.now);
        meta.history_versions = u64::try_from(it.history.len()).unwrap_or(u64::MAX);
        meta.history_bytes = it.history.iter().fold(0, |sum, it| sum.saturating_add(it.bytes()));
        meta.snapshots = it.snapshots.iter().map(|it| it.info.revision).collect();
        let participant = &self.caller.participant;
        let mut draft = Draft::fresh(self.bucket, self.session, participant, meta);
        draft.changes = life::brought_along(&it.config)?;
        draft.tell(AuditAction::ImportSession, About::default());
        for entry in &it.entries {
            draft.store(None, entry)?;
        }
        for versions in it.history.chunk_by(|a, b| a.entry.key == b.entry.key) {
            let Some(first) = versions.first() else { continue };
            draft.history_mut(&first.entry.key)?.extend_from_slice(versions);
        }
        for Snapshot { info, entries } in &it.snapshots {
            draft.store_snapshot(info, entries)?;
        }
        for ((key, revision), value) in &it.values {
            let row = record::value_row(key, *revision);
            draft.changes.push(put(row, value.clone().into_bytes()));
        }
        let totals = draft.meta.totals;
        let info = life::info(self.session, &draft.meta, totals, it.config.clone());
        draft.commit(Reply::Session(Box::new(info)), None)
    }

    /// Refuses a document that no session can have left, whatever its digests
    /// say.
    fn check(&self, it: &Portable) -> Result<(), Error> {
        it.config.check()?;
        let wrong = |what: String| Err(Error::malformed(format!("the document is none: {what}")));
        let mut keys = BTreeSet::new();
        if let Some(twice) = it.entries.iter().find(|it| !keys.insert(&it.key)) {
            return wrong(format!("entries name the key {} twice", twice.key));
        }
        let (mut labels, mut last) = (BTreeSet::new(), Revision(0));
        for Snapshot { info: SnapshotInfo { label, revision, totals, .. }, entries } in
            &it.snapshots
        {
            if !labels.insert(label) || *revision <= last {
                return wrong(format!("snapshot {label} is there twice, or not in its place"));
            }
            last = *revision;
            let mut keys = BTreeSet::new();
            if entries.iter().any(|it| !keys.insert(&it.key) || it.revision > *revision) {
                return wrong(format!("snapshot {label} holds what was not there"));
            }
            if sum(entries) != *totals {
                return wrong(format!("snapshot {label} does not add up"));
            }
        }
        for pair in it.history.windows(2) {
            if let [a, b] = pair
                && (&a.entry.key, a.ended.revision) > (&b.entry.key, b.entry.revision)
            {
                return wrong(format!("the history of {} is not in order", b.entry.key));
            }
        }
        let past = it.history.iter().map(|it| (&it.entry, it.ended.revision));
        let current = it.entries.iter().map(|it| (it, Revision(u64::MAX)));
        for (entry, ended) in past.chain(current) {
            let Entry { key, version, revision, .. } = entry;
            let is_later = |it: &Version| it.entry.key == *key && it.ended.revision > *revision;
            let is_second = ended.0 == u64::MAX && it.history.iter().any(is_later);
            if ended <= *revision || *version == 0 || entry.created > *revision || is_second {
                return wrong(format!(
                    "version {version} of {key} was not written, or ended first"
                ));
            }
            let was_there =
                |it: &Snapshot| *revision <= it.info.revision && it.info.revision < ended;
            let holds = |it: &Snapshot| {
                it.entries.iter().any(|it| it.key == *key && it.revision == *revision)
            };
            if let Some(it) = it.snapshots.iter().find(|it| was_there(it) != holds(it)) {
                let label = &it.info.label;
                return wrong(format!("version {version} of {key} does not fit snapshot {label}"));
            }
        }
        if latest_revision(it).0 > REVISION_MAX {
            return wrong("its revisions are higher than any can be".to_owned());
        }
        let now = self.now.0.saturating_add(AHEAD_MS_MAX);
        if latest_time(it).0 > now {
            return wrong("it tells of the future; set the clock of this host".to_owned());
        }
        let all = || all_entries(&it.entries, &it.history, &it.snapshots);
        for entry in all() {
            let Entry { key, version, revision, .. } = entry;
            if key.prefix().is_some() && !it.config.allows_prefixes {
                return wrong(format!("the key {key} has a prefix, the session allows none"));
            }
            let Some(value) = it.values.get(&(key.clone(), *revision)) else {
                return wrong(format!("the value of version {version} of {key} is missing"));
            };
            let tokens = opened::count(self.tokenizer, &it.config.estimator, value);
            // A host without the tokenizer says so where the session begins.
            let is_counted = tokens.is_ok_and(|it| it != entry.value_tokens);
            let bytes = u32::try_from(value.len()).unwrap_or(u32::MAX);
            if is_counted || bytes != entry.value_bytes {
                return wrong(format!("the size of version {version} of {key} is not its size"));
            }
            if revision.0 == 0 {
                return wrong(format!("version {version} of {key} has no revision"));
            }
        }
        let limits = &it.config.limits;
        let totals = sum(&it.entries);
        let is_redacted = |it: &Entry| it.is_redacted;
        let is_too_large =
            |it: &Entry| it.value_tokens > limits.value_tokens_max && !is_redacted(it);
        // What redaction leaves may be longer than what was there.
        let is_over = totals.keys > limits.keys_max
            || totals.tokens > limits.store_tokens_max && !it.entries.iter().any(is_redacted);
        if is_over || it.entries.iter().any(is_too_large) {
            return wrong("its entries are over its own limits".to_owned());
        }
        Ok(())
    }
}

/// Every version that a session keeps, some more than once.
fn all_entries<'a>(
    entries: &'a [Entry],
    history: &'a [Version],
    snapshots: &'a [Snapshot],
) -> impl Iterator<Item = &'a Entry> {
    let kept = snapshots.iter().flat_map(|it| &it.entries);
    entries.iter().chain(history.iter().map(|it| &it.entry)).chain(kept)
}

fn sum(entries: &[Entry]) -> Totals {
    entries.iter().fold(Totals::default(), |it, new| it.replace(None, Some(new)))
}

/// The highest revision that a document names.
fn latest_revision(it: &Portable) -> Revision {
    let written = all_entries(&it.entries, &it.history, &it.snapshots).map(|it| it.revision);
    let ended = it.history.iter().map(|it| it.ended.revision);
    let taken = it.snapshots.iter().map(|it| it.info.revision);
    written.chain(ended).chain(taken).max().unwrap_or_default()
}

/// The last instant at which a document says that something was done.
fn latest_time(it: &Portable) -> Timestamp {
    let written = all_entries(&it.entries, &it.history, &it.snapshots).map(|it| it.written_at);
    let ended = it.history.iter().map(|it| it.ended.at);
    let taken = it.snapshots.iter().map(|it| it.info.taken_at);
    written.chain(ended).chain(taken).max().unwrap_or_default().max(it.created_at)
}
