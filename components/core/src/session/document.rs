//! Validation of imported documents (spec 8.5.3): rejects documents that no session can
//! have exported, even with correct digests.
//!
//! Invariant: a valid document can be stored unchanged. No value is missing or left over,
//! and a version is in exactly those snapshots taken while it existed.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Error,
    config::{KEYS_LIMIT_MAX, SNAPSHOTS_LIMIT_MAX, VALUE_TOKENS_LIMIT_MAX},
    estimate,
    key::Key,
    kv::Revision,
    participant::Role,
    port::Tokenizer,
    portable::{AHEAD_MS_MAX, NUMBER_MAX, Portable},
    rounds::stored::portable,
    store::{
        Entry, Totals,
        history::{EndedHow, Version},
        redaction,
        snapshot::{Snapshot, SnapshotInfo},
    },
    time::Timestamp,
    tokens::approximate,
};

/// The identity of a version: its key and the revision that wrote it.
type VersionId<'a> = (&'a Key, Revision);

/// Rejects a document that no session can have exported.
///
/// # Errors
///
/// [`Error::Malformed`] with the reason.
pub(super) fn check(it: &Portable, now: Timestamp, tokenizer: &dyn Tokenizer) -> Result<(), Error> {
    it.config.check()?;
    check_versions(it, &check_snapshots(it)?)?;
    if latest_revision(it).0 > NUMBER_MAX {
        return Err(Error::invalid_document("its revisions are higher than any can be"));
    }
    if latest_time(it).0 > now.0.saturating_add(AHEAD_MS_MAX) {
        return Err(Error::invalid_document(
            "it has a time in the future; set the clock of this host",
        ));
    }
    check_entries(it, tokenizer)?;
    portable::check(&it.rounds, NUMBER_MAX)?;
    it.context.check(NUMBER_MAX)?;
    it.packets.check(NUMBER_MAX)?;
    check_limits(it)
}

/// Validates the snapshots against each other and returns the versions that each holds.
fn check_snapshots(it: &Portable) -> Result<Vec<BTreeSet<VersionId<'_>>>, Error> {
    let mut labels = BTreeSet::new();
    let (mut last, mut all) = (Revision(0), Vec::<BTreeSet<VersionId<'_>>>::new());
    for Snapshot { info, entries } in &it.snapshots {
        let SnapshotInfo { label, revision, totals, taken_by, .. } = info;
        if !labels.insert(label) || *revision <= last {
            return Err(Error::invalid_document(format!(
                "snapshot {label} is there twice, or not in its place"
            )));
        }
        if taken_by.role() != Role::Orchestrator {
            return Err(Error::invalid_document(format!(
                "snapshot {label} was taken by {taken_by}, and only the orchestrator takes one"
            )));
        }
        // Filled one by one: `collect` would instantiate a sort for each type.
        let (mut keys, mut held) = (BTreeSet::new(), BTreeSet::new());
        keys.extend(entries.iter().map(|it| &it.key));
        held.extend(entries.iter().map(version_id));
        // A version older than the last snapshot must be in that one too.
        let is_new = |(key, written): &VersionId<'_>| {
            *written > last || all.last().is_some_and(|it| it.contains(&(*key, *written)))
        };
        let was_there = |it: &VersionId<'_>| it.1 <= *revision && is_new(it);
        let is_later = |it: &Entry| it.touched > *revision;
        if keys.len() < entries.len() || !held.iter().all(was_there) || entries.iter().any(is_later)
        {
            return Err(Error::invalid_document(format!(
                "snapshot {label} holds what was not there"
            )));
        }
        if Totals::of(entries) != *totals {
            return Err(Error::invalid_document(format!("snapshot {label} does not add up")));
        }
        last = *revision;
        all.push(held);
    }
    Ok(all)
}

/// Validates the versions: one after the other, and in the snapshots taken while they
/// existed.
fn check_versions(it: &Portable, held: &[BTreeSet<VersionId<'_>>]) -> Result<(), Error> {
    for pair in it.history.windows(2) {
        if let [a, b] = pair
            && (&a.entry.key, a.ended.revision) > (&b.entry.key, b.entry.revision)
        {
            return Err(Error::invalid_document(format!(
                "the history of {} is not in order",
                b.entry.key
            )));
        }
    }
    let mut past = BTreeMap::new();
    for version in &it.history {
        if let Some(before) = past.insert(&version.entry.key, version) {
            check_end(before, Some(&version.entry))?;
        }
    }
    let mut keys = BTreeSet::new();
    for entry in &it.entries {
        let Entry { key, revision, .. } = entry;
        let before = past.remove(key);
        if !keys.insert(key) || before.is_some_and(|it| it.ended.revision > *revision) {
            return Err(Error::invalid_document(format!(
                "the entry {key} is there twice, or before its past"
            )));
        }
        if let Some(before) = before {
            check_end(before, Some(entry))?;
        }
    }
    past.into_values().try_for_each(|it| check_end(it, None))?;
    let current = it.entries.iter().map(|it| (it, Revision(u64::MAX)));
    let all = it.history.iter().map(|it| (&it.entry, it.ended.revision)).chain(current);
    for (entry, ended) in all {
        let Entry { key, version, revision, .. } = entry;
        if ended <= *revision || ended <= entry.touched {
            return Err(Error::invalid_document(format!(
                "version {version} of {key} ended before it was written"
            )));
        }
        for (SnapshotInfo { label, revision: taken, .. }, held) in
            it.snapshots.iter().map(|it| &it.info).zip(held)
        {
            let was_there = revision <= taken && *taken < ended;
            if was_there != held.contains(&version_id(entry)) {
                return Err(Error::invalid_document(format!(
                    "version {version} of {key} does not fit snapshot {label}"
                )));
            }
        }
    }
    Ok(())
}

/// Validates how a version ended; `next` is the version after it, if one is kept. Versions
/// between the two may have been removed.
fn check_end(it: &Version, next: Option<&Entry>) -> Result<(), Error> {
    let Version { entry, ended } = it;
    let is_possible = match ended.how {
        EndedHow::Expired => entry.expires_at == Some(ended.at) && ended.by == entry.written_by,
        EndedHow::Superseded | EndedHow::Deleted => ended.by.role() != Role::Admin,
    };
    // An entry that ended begins again with version 1.
    let fits = |next: &Entry| {
        if next.created != entry.created {
            return next.created >= ended.revision;
        }
        let writes = next.version.saturating_sub(entry.version);
        let commits = next.revision.0.saturating_sub(ended.revision.0);
        ended.how == EndedHow::Superseded && (1..=commits.saturating_add(1)).contains(&writes)
    };
    if is_possible && next.is_none_or(fits) {
        return Ok(());
    }
    let (Entry { key, version, .. }, how) = (entry, ended.how.as_str());
    Err(Error::invalid_document(format!("version {version} of {key} cannot have been {how}")))
}

/// Validates each version by itself, its value, and that copies of it agree. No value is
/// left over. (An entry may expire before it was written: expiry follows a clock that can
/// be set back, and times of writes do not.)
fn check_entries(it: &Portable, tokenizer: &dyn Tokenizer) -> Result<(), Error> {
    let mut seen = BTreeMap::new();
    for entry in all_entries(&it.entries, &it.history, &it.snapshots) {
        let Entry { key, version, revision, .. } = entry;
        if key.prefix().is_some() && !it.config.allows_prefixes {
            return Err(Error::invalid_document(format!(
                "the key {key} has a prefix, the session allows none"
            )));
        }
        let is_written = entry.created <= *revision
            && (1..=revision.0.saturating_sub(entry.created.0).saturating_add(1)).contains(version)
            && entry.touched >= *revision
            && entry.written_by.role() != Role::Admin;
        if revision.0 == 0 || !is_written {
            return Err(Error::invalid_document(format!(
                "version {version} of {key} was not written"
            )));
        }
        let Some(value) = it.values.get(&(key.clone(), *revision)) else {
            return Err(Error::invalid_document(format!(
                "the value of version {version} of {key} is missing"
            )));
        };
        // A host without the tokenizer rejects the session when it is created, and counts
        // placeholders approximately.
        let tokens = estimate::count(tokenizer, &it.config.estimator, value);
        let is_other = tokens.is_ok_and(|it| it != entry.value_tokens)
            && !(entry.is_redacted && approximate(value) == entry.value_tokens);
        if is_other || u32::try_from(value.len()) != Ok(entry.value_bytes) {
            return Err(Error::invalid_document(format!(
                "the size of version {version} of {key} is not its size"
            )));
        }
        // A redaction skips what was redacted, so that it would leave a value in the clear.
        if entry.is_redacted && !redaction::is_placeholder(value) {
            return Err(Error::invalid_document(format!(
                "version {version} of {key} is redacted, and its value is no placeholder"
            )));
        }
        if let Some(other) = seen.insert(version_id(entry), entry)
            && !is_copy(other, entry)
        {
            return Err(Error::invalid_document(format!(
                "version {version} of {key} is there in two forms"
            )));
        }
    }
    if seen.len() < it.values.len() {
        return Err(Error::invalid_document("it has values that no version of it has"));
    }
    let mut before: Option<&Entry> = None;
    for entry in seen.into_values() {
        if let Some(before) = before.filter(|it| it.key == entry.key)
            && !may_follow(before, entry)
        {
            let Entry { key, version, .. } = entry;
            return Err(Error::invalid_document(format!(
                "version {version} of {key} cannot be later than version {}",
                before.version
            )));
        }
        before = Some(entry);
    }
    Ok(())
}

/// Returns true if two copies of one version can be of one session. Access lists, expiry and
/// the history flag can change without a new version.
fn is_copy(a: &Entry, b: &Entry) -> bool {
    a.written_by == b.written_by
        && a.written_at == b.written_at
        && a.version == b.version
        && a.created == b.created
        && a.is_redacted == b.is_redacted
}

/// Returns true if `later` can be a version of the key of `it` that was written after it.
fn may_follow(it: &Entry, later: &Entry) -> bool {
    if it.created != later.created {
        return later.created > it.revision;
    }
    // A redaction gives the current entry a new revision and keeps its version.
    it.version < later.version || it.version == later.version && it.is_redacted && later.is_redacted
}

/// Rejects documents over the limits of every session. One may be over its own, which were
/// lowered after the entries were written or the snapshots taken; only history is removed
/// then. A placeholder may be longer than the value it replaced.
fn check_limits(it: &Portable) -> Result<(), Error> {
    let retention = &it.config.retention;
    let is_over = |count: usize, max: u32| u32::try_from(count).is_ok_and(|it| it > max);
    let is_too_large = |it: &Entry| it.value_tokens > VALUE_TOKENS_LIMIT_MAX && !it.is_redacted;
    let mut histories = it.history.chunk_by(|a, b| a.entry.key == b.entry.key);
    if is_over(it.entries.len(), KEYS_LIMIT_MAX)
        || is_over(it.snapshots.len(), SNAPSHOTS_LIMIT_MAX)
        || histories.any(|it| is_over(it.len(), retention.history_versions_max))
        || it.entries.iter().any(is_too_large)
    {
        return Err(Error::invalid_document("it is over the limits of a session"));
    }
    Ok(())
}

fn version_id(entry: &Entry) -> VersionId<'_> {
    (&entry.key, entry.revision)
}

/// Returns every version in a session, some more than once.
fn all_entries<'a>(
    entries: &'a [Entry],
    history: &'a [Version],
    snapshots: &'a [Snapshot],
) -> impl Iterator<Item = &'a Entry> {
    let held = snapshots.iter().flat_map(|it| &it.entries);
    entries.iter().chain(history.iter().map(|it| &it.entry)).chain(held)
}

/// Returns the highest revision that a document names.
pub(super) fn latest_revision(it: &Portable) -> Revision {
    let all = all_entries(&it.entries, &it.history, &it.snapshots);
    let touched = all.map(|it| it.revision.max(it.touched));
    let ended = it.history.iter().map(|it| it.ended.revision);
    let taken = it.snapshots.iter().map(|it| it.info.revision);
    let last = touched.chain(ended).chain(taken).max().unwrap_or_default();
    last.max(it.packets.latest_revision())
}

/// Returns the latest time in a document.
pub(super) fn latest_time(it: &Portable) -> Timestamp {
    let written = all_entries(&it.entries, &it.history, &it.snapshots).map(|it| it.written_at);
    let ended = it.history.iter().map(|it| it.ended.at);
    let taken = it.snapshots.iter().map(|it| it.info.taken_at);
    let rounds = portable::latest_time(&it.rounds);
    let last = written.chain(ended).chain(taken).max().unwrap_or_default();
    let kept = it.context.latest_time().max(it.packets.latest_time());
    last.max(it.created_at).max(rounds).max(kept)
}
