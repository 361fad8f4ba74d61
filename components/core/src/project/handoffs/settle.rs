//! Accepting, declining and redacting handoffs (spec 21.3).

use super::reply;
use crate::{
    Error,
    audit::{AuditAction, Subject},
    decision::Decision,
    handoffs::{Handoff, HandoffId, HandoffState, Party, free_text, package, rows},
    key::Line,
    kv::{Bucket, Change},
    project::{draft::Draft, open::OpenProject, require_orchestrator},
    store::redaction::check_reason,
};

impl<B: Bucket> OpenProject<'_, B> {
    pub(super) fn accept_handoff(&self, id: HandoffId) -> Result<Decision, Error> {
        self.check_active()?;
        let caller = self.require_worker()?;
        if let Some(first) = self.first_reply()? {
            return Ok(first);
        }
        let mut handoff = self.handoff(id)?;
        if !handoff.to.is(&caller) {
            return Err(Error::Forbidden {
                message: "only the agent that a handoff names accepts it; to move work without it, \
                          the orchestrator calls take_over",
            });
        }
        check_open(&handoff)?;
        self.check_transfers(&handoff).map_err(|it| outdated(it, &handoff))?;
        let mut read = self.shown_handoff(handoff.clone(), true)?;
        let mut draft = Draft::new(self);
        handoff.to = caller.clone();
        self.settle_handoff(&mut draft, &mut handoff, caller, read.package.as_deref())?;
        draft.write_handoff(AuditAction::AcceptHandoff, &handoff)?;
        draft.check_limits()?;
        read.handoff = handoff;
        draft.commit(reply(read))
    }

    /// Settles a handoff as accepted: its sections have a new owner, and the project a memory of it.
    pub(super) fn settle_handoff(
        &self,
        draft: &mut Draft<'_, B>,
        handoff: &mut Handoff,
        by: Party,
        package: Option<&str>,
    ) -> Result<(), Error> {
        let new = package::memory(handoff, package)?;
        let added = self.add(draft, &new, None, &[], &[])?;
        handoff.memory = Some(added.id.number());
        handoff.state = HandoffState::Accepted;
        handoff.settled = Some((self.at, by));
        self.hand_over(draft, handoff)
    }

    pub(super) fn decline_handoff(&self, id: HandoffId, reason: &Line) -> Result<Decision, Error> {
        self.check_active()?;
        let caller = self.require_worker()?;
        if let Some(first) = self.first_reply()? {
            return Ok(first);
        }
        let mut handoff = self.handoff(id)?;
        check_open(&handoff)?;
        handoff.state = HandoffState::Declined;
        handoff.settled = Some((self.at, caller));
        handoff.note = Some(reason.clone());
        let mut draft = Draft::new(self);
        draft.write_handoff(AuditAction::DeclineHandoff, &handoff)?;
        draft.commit(reply(self.shown_handoff(handoff, false)?))
    }

    pub(super) fn redact_handoff(&self, id: HandoffId, reason: &Line) -> Result<Decision, Error> {
        require_orchestrator(
            self.caller,
            "only an orchestrator redacts handoffs; report to it what must not be kept",
        )?;
        if let Some(first) = self.first_reply()? {
            return Ok(first);
        }
        let mut handoff = self.handoff(id)?;
        self.check_redaction(&handoff, reason)?;
        let mut draft = Draft::new(self);
        handoff.note = None;
        self.redact_package(&mut draft, &mut handoff, reason)?;
        self.redact_memory_of(&mut draft, &handoff, reason)?;
        draft.event(
            AuditAction::RedactHandoff,
            Some(Subject::handoff(handoff.id)),
            Some(reason.clone()),
        );
        let mut read = self.shown_handoff(handoff, false)?;
        read.omitted.clear();
        draft.commit(reply(read))
    }

    /// Rejects a reason that repeats a text of the package, of the memory of the handoff, or the
    /// reason for declining the handoff.
    fn check_redaction(&self, handoff: &Handoff, reason: &Line) -> Result<(), Error> {
        if let Some(note) = &handoff.note {
            check_reason(reason, note.as_str())?;
        }
        if let Some(memory) = handoff.memory.map(|it| self.stored(it)).transpose()?.flatten() {
            self.check_words(&memory, reason)?;
        }
        let Some(row) = self.bucket.get(&rows::package_row(handoff.id))? else { return Ok(()) };
        let (package, _) = rows::decode_package(&row)?;
        free_text::of_package(&package).iter().try_for_each(|it| check_reason(reason, it))
    }

    /// Redacts the packages that have the memory or the section that is redacted. Returns true if
    /// there is one.
    pub(in crate::project) fn redact_packages(
        &self,
        draft: &mut Draft<'_, B>,
        has_it: impl Fn(&Handoff) -> bool,
        reason: &Line,
    ) -> Result<bool, Error> {
        let mut found = false;
        for mut it in self.kept_handoffs()? {
            if it.redacted.is_none() && has_it(&it) {
                self.redact_package(draft, &mut it, reason)?;
                found = true;
            }
        }
        Ok(found)
    }

    /// Redacts the memories of the handoffs that have the memory that is redacted.
    pub(in crate::project) fn redact_memories_of(
        &self,
        draft: &mut Draft<'_, B>,
        has_it: impl Fn(&Handoff) -> bool,
        reason: &Line,
    ) -> Result<(), Error> {
        for it in self.kept_handoffs()?.iter().filter(|it| has_it(it)) {
            self.redact_memory_of(draft, it, reason)?;
        }
        Ok(())
    }

    /// Redacts the memory that the acceptance of a handoff added, which repeats its package.
    fn redact_memory_of(
        &self,
        draft: &mut Draft<'_, B>,
        handoff: &Handoff,
        reason: &Line,
    ) -> Result<(), Error> {
        let Some(number) = handoff.memory else { return Ok(()) };
        // It may have been removed, or redacted before.
        match draft.memory(number)?.filter(|it| it.content.is_some()) {
            Some(memory) => self.redact_words(draft, memory, reason).map(drop),
            None => Ok(()),
        }
    }

    fn redact_package(
        &self,
        draft: &mut Draft<'_, B>,
        it: &mut Handoff,
        reason: &Line,
    ) -> Result<(), Error> {
        it.redacted = Some(reason.clone());
        draft.push(Change::Put(rows::handoff_row(it.id), rows::encode_handoff(it)?));
        self.remove_row(draft, rows::package_row(it.id))
    }
}

/// Returns the error of an acceptance for the receiver, which can only decline an offer that came too late.
fn outdated(error: Error, it: &Handoff) -> Error {
    match error {
        Error::NotOwner { marker, .. } | Error::NotExclusive { marker, .. } => {
            let from = it.from.participant.as_str().to_owned();
            Error::OfferOutdated { id: it.id.to_string(), marker, from }
        }
        other => other,
    }
}

/// Rejects a handoff that is settled.
fn check_open(it: &Handoff) -> Result<(), Error> {
    if it.state == HandoffState::Offered {
        return Ok(());
    }
    Err(Error::HandoffSettled { id: it.id.to_string(), state: it.state.as_str() })
}
