//! Handoffs in exported and imported pages of a project (spec 15.6).
//!
//! # Invariants
//!
//! - Leases end with the move, so an offer that is still open is carried as expired.
//! - An imported package is the one of its digest.

use super::gather::NAMED_MAX;
use crate::{
    Error,
    digest::is_sha256,
    handoffs::{
        Handoff, HandoffId, HandoffKind, HandoffState, OFFER_SECONDS, PACKAGE_TOKENS_MIN,
        SECTIONS_MAX, free_text,
        package::{OMITTED_MAX, is_package_of},
        rows::{decode_package, encode_handoff, encode_package, handoff_row, package_row},
    },
    item::ID_CHARS_MAX,
    kv::{Bucket, Change},
    memories::MemoryRef,
    outline::{MARKER_BYTES_MAX, Marker},
    participant::Role,
    portable::{NUMBER_MAX, PortableHandoff, PortableProject},
    project::{draft::Draft, open::OpenProject},
};

impl<B: Bucket> OpenProject<'_, B> {
    /// Returns a handoff with its package, and its bytes in a document.
    pub(in crate::project) fn export_handoff(
        &self,
        mut handoff: Handoff,
    ) -> Result<(PortableHandoff, usize), Error> {
        if handoff.state == HandoffState::Offered {
            handoff.state = HandoffState::Expired;
        }
        let mut bytes = encode_handoff(&handoff)?.len();
        let (mut package, mut omitted) = (None, Vec::new());
        if let Some(row) = self.bucket.get(&package_row(handoff.id))? {
            bytes = bytes.saturating_add(row.len());
            let (text, all) = decode_package(&row)?;
            (package, omitted) = (Some(text), all);
        }
        Ok((PortableHandoff { handoff, package, omitted }, bytes))
    }
}

impl<B: Bucket> Draft<'_, B> {
    /// Writes a handoff that was imported.
    pub(in crate::project) fn import_handoff(&mut self, it: &PortableHandoff) -> Result<(), Error> {
        let row = handoff_row(it.handoff.id);
        if self.open.bucket.get(&row)?.is_some() {
            return Err(invalid(it.handoff.id, "is there twice"));
        }
        self.push(Change::put(row, encode_handoff(&it.handoff)?));
        if let Some(package) = &it.package {
            let row = package_row(it.handoff.id);
            self.put_sized(row, 0, encode_package(package, &it.omitted)?);
        }
        Ok(())
    }
}

/// Creates the error for a handoff.
fn invalid(id: HandoffId, what: &str) -> Error {
    Error::invalid_document(["handoff ", &id.to_string(), " ", what].concat())
}

/// Validates that a handoff names the memories in its package: their redaction finds the package by that.
fn check_named(page: &PortableProject, one: &Handoff, package: &str) -> Result<(), Error> {
    let number = |id: &String| match MemoryRef::parse(id).ok()? {
        MemoryRef::Id(id) => page.origins.number(id),
        MemoryRef::Decision(_) => None,
    };
    let is_named = |id: &String| number(id).is_some_and(|it| one.named.contains(&it));
    if free_text::memory_ids(package).iter().all(is_named) {
        return Ok(());
    }
    Err(invalid(one.id, "does not name a memory that its package has"))
}

/// Validates a handoff with its package: as strictly as an offer and an answer.
pub(in crate::project) fn check_handoff(
    page: &PortableProject,
    it: &PortableHandoff,
) -> Result<(), Error> {
    let one = &it.handoff;
    let fail = |what: &str| Err(invalid(one.id, what));
    let is_accepted = one.state == HandoffState::Accepted;
    let is_declined = one.state == HandoffState::Declined;
    if one.state == HandoffState::Offered {
        return fail("is open, and offers end with the move");
    }
    if one.settled.is_some() != (is_accepted || is_declined)
        || (one.note.is_some() && !is_declined)
        || (one.note.is_none() && is_declined && one.redacted.is_none())
        || one.memory.is_some() != is_accepted
        || (one.kind == HandoffKind::Emergency && !is_accepted)
    {
        return fail("has what does not belong to its state, or lacks what does");
    }
    let milliseconds = one.expires_at.0.saturating_sub(one.offered_at.0);
    let is_within = |at: u64| (one.offered_at.0..one.expires_at.0).contains(&at);
    if !OFFER_SECONDS.contains(&(milliseconds / 1_000))
        || !one.settled.as_ref().is_none_or(|it| is_within(it.0.0))
    {
        return fail("has a time that it cannot have");
    }
    let is_known = |number: &u64| (1..=page.last_memory).contains(number);
    let is_number = (1..=NUMBER_MAX).contains(&one.id.0)
        && one.memory.as_ref().is_none_or(is_known)
        && one.named.len() <= NAMED_MAX
        && one.named.iter().all(is_known)
        && (PACKAGE_TOKENS_MIN..=one.kind.budget().1).contains(&one.budget)
        && one.tokens <= one.budget;
    if !is_number {
        return fail("has a number that it cannot have, or names a memory that never was");
    }
    let is_marker = |it: &String| it.len() <= MARKER_BYTES_MAX && Marker::parse(it).is_ok();
    if one.to.participant.role() == Role::Admin
        || one.sections.len() > SECTIONS_MAX
        || !one.sections.iter().all(is_marker)
    {
        return fail("is for the operator, or transfers what is no section");
    }
    let is_short = it.omitted.len() <= OMITTED_MAX
        && it.omitted.iter().all(|it| it.item.chars().count() <= ID_CHARS_MAX);
    if !is_short || !is_sha256(&one.digest) || !one.previous.as_deref().is_none_or(is_sha256) {
        return fail("has a digest that is none, or says too much of what its package lacks");
    }
    match (&it.package, &one.redacted) {
        (Some(text), None) if is_package_of(one, text) => check_named(page, one, text),
        (Some(_), None) => fail("has a package that is not that of its digest"),
        (None, Some(_)) if it.omitted.is_empty() => Ok(()),
        _ => fail("must have a package or be redacted, and not both"),
    }
}
