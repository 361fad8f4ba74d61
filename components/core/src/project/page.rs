//! Validation of imported pages of a project (spec 15.6): rejects pages that no project can have
//! exported, even with correct digests.
//!
//! # Invariant
//!
//! A valid page can be stored unchanged. The content of a memory is valid for an addition. Its
//! links lead to memories that link back, or do not exist.

use super::{
    draft::{Draft, RECALLED_MAX, SESSIONS_MAX},
    handoffs::{HANDOFFS_KEPT, check_handoff},
    outline::{check_coordination, check_section},
    record::Meta,
};
use crate::{
    Error,
    digest::is_sha256,
    kv::Bucket,
    memories::{
        DecisionId, Kind, Memory, REDACTED_TITLE, VERSIONS_KEPT, check_importance, check_size,
        check_status, check_title, checked_tags,
    },
    order,
    outline::SECTIONS_MAX,
    portable::{AHEAD_MS_MAX, NUMBER_MAX, PortableMemory, PortableProject},
    row,
    time::Timestamp,
};

/// The most memories that an imported project may ever have had: each keeps 20 bytes.
const LAST_MEMORY_MAX: u64 = 1_000_000;

fn invalid(what: &str) -> Error {
    Error::invalid_document(what)
}

/// Returns the error for a memory.
fn invalid_memory(number: u64, what: &str) -> Error {
    Error::invalid_document(format!("memory {number} {what}"))
}

/// Returns the digest of what all pages of an export have in common.
pub(super) fn digest(it: &PortableProject) -> Result<[u8; 16], Error> {
    let origins = it.origins.all().iter().map(|(first, text)| format!("{first} {text},"));
    let decision = it.last_decision.map_or_else(String::new, |it| it.to_string());
    row::digest(&format!(
        "{}/{}/{}/{}/{}/{}/{}/{decision}/{}/{}/{}/{}",
        it.project,
        it.revision.0,
        it.is_archived,
        it.created_at.0,
        it.config.memories_max,
        it.config.estimator.as_str(),
        it.last_memory,
        it.session_count,
        origins.collect::<String>(),
        it.section_count,
        it.handoff_count,
    ))
}

/// Rejects a page that no project can have exported, as far as the page alone shows that.
///
/// # Errors
///
/// [`Error::Malformed`] with the reason.
pub(super) fn check(it: &PortableProject, now: Timestamp) -> Result<(), Error> {
    it.config.check()?;
    if it.last_memory > LAST_MEMORY_MAX {
        return Err(Error::invalid_document(format!(
            "the project had {} memories, and one of at most {LAST_MEMORY_MAX} can be imported; \
             create a project, and add the memories that still matter",
            it.last_memory
        )));
    }
    let is_over = it.revision.0 > NUMBER_MAX;
    if is_over || it.origins.until(it.last_memory) != it.origins {
        return Err(invalid("its numbers are higher than any can be"));
    }
    if it.last_memory > 0 && it.origins.all().is_empty() {
        return Err(invalid("it has memories and no origins"));
    }
    if latest_time(it).0 > now.0.saturating_add(AHEAD_MS_MAX) {
        return Err(invalid("it has a time in the future; set the clock of this host"));
    }
    let is_first = it.after == 0;
    let sessions = u32::try_from(it.sessions.len()).unwrap_or(u32::MAX);
    if sessions > SESSIONS_MAX.min(it.session_count) || (!is_first && sessions > 0) {
        return Err(invalid("it has more sessions than it counts, or more than a page may have"));
    }
    let ids = it.sessions.iter().map(|it| &it.session);
    if !ids.clone().zip(ids.skip(1)).all(|(a, b)| a < b) {
        return Err(invalid("its sessions are not in the order of their ids, each once"));
    }
    for one in &it.sessions {
        let did = &one.did;
        let is_known = |number: &u64| (1..=it.last_memory).contains(number);
        let is_valid = did.first_at <= did.last_at
            && did.recalled.len() <= RECALLED_MAX
            && did.recalled.iter().all(is_known);
        if !is_valid {
            return Err(Error::invalid_document(format!(
                "session {} has a time before its first, or was shown what is not there",
                one.session
            )));
        }
    }
    let mut last = it.after;
    for one in &it.memories {
        let number = one.memory.number();
        if number <= last || number > it.last_memory {
            return Err(invalid_memory(number, "is there twice, or not in its place"));
        }
        last = number;
        check_memory(it, one)?;
    }
    check_others(it, last)
}

/// Validates what follows the memories, and that the page has all between `after` and `next`. `last` is
/// the number of its last memory.
fn check_others(it: &PortableProject, last: u64) -> Result<(), Error> {
    let (sections, handoffs) = (u64::from(it.section_count), u64::from(it.handoff_count));
    let most = |it: u64, most: usize| usize::try_from(it).is_ok_and(|it| it <= most);
    if !most(sections, SECTIONS_MAX) || !most(handoffs, HANDOFFS_KEPT) {
        return Err(invalid("it has more sections or handoffs than a project keeps"));
    }
    let first_handoff = it.last_memory.saturating_add(sections);
    let end = first_handoff.saturating_add(handoffs);
    let until = it.next.unwrap_or(end);
    if it.next.is_some_and(|next| next < last || next <= it.after || next > end) {
        return Err(invalid("next is not after the last item of the page"));
    }
    let between = |first: u64, last: u64| until.min(last).saturating_sub(it.after.max(first));
    let counts = |it: usize, count: u64| u64::try_from(it).is_ok_and(|it| it == count);
    if !counts(it.sections.len(), between(it.last_memory, first_handoff))
        || !counts(it.handoffs.len(), between(first_handoff, end))
    {
        return Err(invalid(
            "it lacks sections or handoffs between after and next, or has too many",
        ));
    }
    let markers = it.sections.iter().map(|it| it.section.marker.as_str());
    let numbers = it.handoffs.iter().map(|it| it.handoff.id.0);
    if !markers.clone().zip(markers.skip(1)).all(|(a, b)| a < b)
        || !numbers.clone().zip(numbers.skip(1)).all(|(a, b)| a < b)
    {
        return Err(invalid("its sections or handoffs are not in their order, each once"));
    }
    for one in &it.sections {
        check_section(one)?;
    }
    for one in &it.handoffs {
        check_handoff(it, one)?;
    }
    match &it.coordination {
        Some(_) if it.after > 0 => Err(invalid("only the first page has the coordination")),
        Some(one) => check_coordination(one),
        None => Ok(()),
    }
}

/// Validates a memory with its versions.
fn check_memory(page: &PortableProject, it: &PortableMemory) -> Result<(), Error> {
    let memory = &it.memory;
    let number = memory.number();
    let fail = |what: &str| Err(invalid_memory(number, what));
    if page.origins.id(number) != memory.id {
        return fail("has an id that its project cannot have given");
    }
    let is_day = |id: DecisionId| id.day == DecisionId::day_of(memory.created_at) && id.ordinal > 0;
    if memory.decision.is_some() != (memory.kind == Kind::Decision)
        || !memory.decision.is_none_or(is_day)
    {
        return fail("has a decision_id that it cannot have");
    }
    let kept = usize::try_from(memory.version).unwrap_or(usize::MAX).saturating_sub(1);
    if memory.version == 0 || it.versions.len() != kept.min(VERSIONS_KEPT) {
        return fail("has not the versions that it must have");
    }
    let mut version = memory.version;
    let mut changed_at = memory.changed_at;
    for one in it.versions.iter().rev() {
        version = version.saturating_sub(1);
        let is_same = one.id == memory.id
            && one.decision == memory.decision
            && one.kind == memory.kind
            && (one.created_at, &one.created_by) == (memory.created_at, &memory.created_by)
            && one.created_in == memory.created_in;
        if one.version != version || !is_same || one.changed_at > changed_at {
            return fail("has an earlier version that is not one of it, or not in its place");
        }
        changed_at = one.changed_at;
    }
    for one in it.versions.iter().chain([memory]) {
        check_version(page, one)?;
    }
    let use_is_none = it.uses.count == 0;
    if use_is_none != (it.uses.last == Timestamp(0)) {
        return fail("has uses without a time, or a time without uses");
    }
    Ok(())
}

/// Validates one version of a memory: as strictly as an addition.
fn check_version(page: &PortableProject, it: &Memory) -> Result<(), Error> {
    let number = it.number();
    let fail = |what: &str| Err(invalid_memory(number, what));
    let within = |error: Error| match error {
        Error::Malformed { message } => {
            invalid_memory(number, &["is invalid: ", &message].concat())
        }
        other => other,
    };
    check_importance(it.importance.into()).map_err(within)?;
    check_status(it.kind, it.status).map_err(within)?;
    if it.kind == Kind::Issue && it.status.is_none() {
        return fail("is an issue without a status");
    }
    match (&it.content, &it.redacted) {
        (Some(content), None) if content.kind() == it.kind => {
            check_title(&it.title).map_err(within)?;
            if checked_tags(&it.tags).map_err(within)? != it.tags {
                return fail("has tags that are not in lower case, sorted and different");
            }
            check_size(&it.title, content, &it.tags).map_err(within)?;
        }
        (None, Some(mark)) => {
            let is_bare = it.title == REDACTED_TITLE && it.tags.is_empty() && it.source.is_none();
            if !is_bare || !is_sha256(&mark.digest) {
                return fail("is redacted, and says more than its digest");
            }
        }
        _ => return fail("must have a content or be redacted, and not both"),
    }
    if it.at > it.created_at || it.created_at > it.changed_at {
        return fail("happened or was added after it was changed");
    }
    let is_known = |link: &u64| (1..=page.last_memory).contains(link) && *link != number;
    let mut links = it.supersedes.iter().chain(&it.parent).chain(&it.superseded_by);
    let is_again =
        |(nth, link): (usize, &u64)| it.supersedes.iter().take(nth).any(|one| one == link);
    if !links.all(is_known) || it.supersedes.iter().enumerate().any(is_again) {
        return fail("names itself, a memory that never was, or one twice");
    }
    if it.superseded_by.is_some() && it.archived_at.is_none() {
        return fail("was replaced and is not archived");
    }
    Ok(())
}

/// Rejects links that do not lead both ways, and memories that replace each other in a circle. A
/// memory that was removed leaves a number to which nothing belongs.
pub(super) fn check_links<B: Bucket>(
    page: &PortableProject,
    draft: &Draft<'_, B>,
) -> Result<(), Error> {
    // A number of a memory, and the memory from which it was found.
    let mut seen: Vec<(u64, u64)> = Vec::new();
    for PortableMemory { memory, .. } in &page.memories {
        let number = memory.number();
        let one_way =
            || invalid_memory(number, "replaces or was replaced by a memory that does not name it");
        for old in &memory.supersedes {
            let old = draft.memory(*old)?;
            if old.is_some_and(|it| it.superseded_by != Some(number)) {
                return Err(one_way());
            }
        }
        let mut next = Some(number);
        while let Some(one) = next {
            let mut found = 0;
            order::entry(&mut seen, one, |from| {
                found = *from;
                if found == 0 {
                    *from = number;
                }
            });
            if found == number {
                return Err(invalid_memory(number, "replaces itself by way of others"));
            }
            if found != 0 {
                break;
            }
            let Some(it) = draft.memory(one)? else { break };
            next = it.superseded_by;
            if let Some(by) = next
                && let Some(by) = draft.memory(by)?
                && !by.supersedes.contains(&one)
            {
                return Err(one_way());
            }
        }
    }
    Ok(())
}

/// Returns the day and number of the newest decision after the page.
///
/// # Errors
///
/// [`Error::Malformed`] if decisions are not in the order of their second ids.
pub(super) fn last_decision(page: &PortableProject, meta: &Meta) -> Result<(u32, u32), Error> {
    let mut last = if page.after == 0 { (0, 0) } else { meta.totals.last_decision };
    for it in &page.memories {
        let Some(id) = it.memory.decision else { continue };
        if (id.day, id.ordinal) <= last {
            return Err(invalid_memory(it.memory.number(), "has a decision_id that another has"));
        }
        last = (id.day, id.ordinal);
    }
    let whole = page.last_decision.map_or((0, 0), |it| (it.day, it.ordinal));
    if last > whole {
        return Err(invalid("last_decision is not the last one"));
    }
    Ok(if page.next.is_some() { last } else { whole })
}

/// Returns the latest time in a page, except when memories expire.
pub(super) fn latest_time(it: &PortableProject) -> Timestamp {
    let times = |one: &Memory| one.changed_at.max(one.archived_at.unwrap_or_default());
    let memories = it.memories.iter().map(|it| {
        let versions = it.versions.iter().map(times).max().unwrap_or_default();
        times(&it.memory).max(versions).max(it.uses.last)
    });
    let sessions = it.sessions.iter().map(|it| it.did.last_at);
    let sections = it.sections.iter().map(|it| it.section.changed_at);
    let handoffs = it.handoffs.iter().map(|it| match &it.handoff.settled {
        Some((at, _)) => (*at).max(it.handoff.offered_at),
        None => it.handoff.offered_at,
    });
    let coordination = it.coordination.iter().map(|it| it.changed_at);
    let others = sessions.chain(sections).chain(handoffs).chain(coordination);
    memories.chain(others).max().unwrap_or_default().max(it.created_at)
}
