//! Offering a handoff, and taking over (spec 21.1).

use super::{HANDOFFS_KEPT, reply};
use crate::{
    Error,
    audit::AuditAction,
    decision::Decision,
    handoffs::{
        Handoff, HandoffId, HandoffKind, HandoffRead, HandoffState, OfferHandoff, Party, material,
        package, rows,
    },
    kv::{Bucket, Change},
    outline::Marker,
    project::{draft::Draft, open::OpenProject, require_orchestrator},
    time::Timestamp,
    tokens::Tokens,
};

impl<B: Bucket> OpenProject<'_, B> {
    pub(super) fn offer_handoff(&self, it: &OfferHandoff) -> Result<Decision, Error> {
        self.check_active()?;
        let caller = self.require_worker()?;
        if it.from.is_some() {
            require_orchestrator(
                self.caller,
                "only an orchestrator takes over from another agent; ask it, or wait until the lease \
                 of the section ends",
            )?;
        }
        if let Some(first) = self.first_reply()? {
            return Ok(first);
        }
        let from = it.from.clone().unwrap_or_else(|| caller.clone());
        let mut to = it.to.clone();
        if it.kind == HandoffKind::Emergency {
            // It owns the sections at once, and an owner is a participant of one session.
            to.session = to.session.or_else(|| caller.session.clone());
        }
        if from.is(&to) {
            return Err(Error::malformed(
                "the work would be handed over to the agent that has it; name another agent, or its \
                 other session in to_session_id",
            ));
        }
        let kept = self.kept_handoffs()?;
        let mut handoff = self.new_handoff(it, from, to, &kept)?;
        self.check_transfers(&handoff)?;
        let packet = it.packet.as_deref().map(material::packet).transpose()?;
        let gathered = self.gather(&handoff.from)?;
        let sections = self.section_items(&handoff.sections)?;
        let package =
            package::write(self.project, &handoff, it, packet.as_ref(), &gathered, &sections)?;
        (handoff.tokens, handoff.digest) = (package.tokens, package.digest);
        handoff.named = package.named;
        let mut draft = Draft::new(self);
        self.make_room(&mut draft, &kept)?;
        let row = rows::package_row(handoff.id);
        let stored = rows::encode_package(&package.text, &package.omitted)?;
        draft.put_sized(row, 0, stored);
        let action =
            if handoff.is_takeover { AuditAction::TakeOver } else { AuditAction::OfferHandoff };
        if it.kind == HandoffKind::Emergency {
            self.settle_handoff(&mut draft, &mut handoff, caller.clone(), Some(&package.text))?;
        }
        draft.write_handoff(action, &handoff)?;
        draft.check_limits()?;
        let is_receiver = handoff.to.is(&caller);
        let chain = self.chain(&handoff)?;
        draft.commit(reply(HandoffRead {
            handoff,
            package: is_receiver.then_some(package.text),
            omitted: package.omitted,
            chain,
        }))
    }

    /// Returns the handoff that is offered. Its sections have their sign, and each is there once. A
    /// takeover that names none takes all.
    fn new_handoff(
        &self,
        it: &OfferHandoff,
        from: Party,
        to: Party,
        kept: &[Handoff],
    ) -> Result<Handoff, Error> {
        let is_takeover = it.from.is_some();
        let sections = if is_takeover && it.sections.is_empty() {
            self.sections_of(&from)?
        } else {
            different(&it.sections)?
        };
        let last = kept.last().map_or(0, |it| it.id.0);
        let received = |one: &&Handoff| one.state == HandoffState::Accepted && one.to.is(&from);
        let previous = kept.iter().rev().find(received).map(|it| it.digest.clone());
        Ok(Handoff {
            id: HandoffId(last.saturating_add(1)),
            kind: it.kind,
            reason: it.reason,
            state: HandoffState::Offered,
            to,
            is_takeover,
            from,
            offered_at: self.at,
            expires_at: Timestamp(self.at.0.saturating_add(it.seconds.saturating_mul(1_000))),
            settled: None,
            note: None,
            sections,
            budget: it.budget,
            tokens: Tokens(0),
            digest: String::new(),
            previous,
            memory: None,
            named: Vec::new(),
            redacted: None,
        })
    }

    /// Removes the oldest handoff that is settled, if the project keeps no more.
    fn make_room(&self, draft: &mut Draft<'_, B>, kept: &[Handoff]) -> Result<(), Error> {
        if kept.len() < HANDOFFS_KEPT {
            return Ok(());
        }
        // The newest one has the last number that was given.
        let older = kept.iter().take(HANDOFFS_KEPT.saturating_sub(1));
        let oldest = older.filter(|it| it.state != HandoffState::Offered).map(|it| it.id).next();
        let Some(oldest) = oldest else {
            return Err(Error::MemoryLimit {
                message: format!(
                    "the project keeps {HANDOFFS_KEPT} handoffs, and all of them are open; accept or \
                     decline some, or wait until they expire"
                ),
            });
        };
        draft.push(Change::Delete(rows::handoff_row(oldest)));
        self.remove_row(draft, rows::package_row(oldest))
    }
}

/// Returns markers with their sign, each once.
fn different(markers: &[String]) -> Result<Vec<String>, Error> {
    let mut different = Vec::new();
    for marker in markers {
        let marker = Marker::parse(marker)?.to_string();
        if !different.contains(&marker) {
            different.push(marker);
        }
    }
    Ok(different)
}
