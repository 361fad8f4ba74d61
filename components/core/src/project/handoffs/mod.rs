//! Commands on handoffs, and the system prompt of a project (spec 21).
//!
//! `carry` exports and imports, `offer` offers and takes over, `settle` accepts, declines and
//! redacts, `read` finds and traces, `gather` reads the input of packages and prompts, `sections`
//! accesses the outline.

mod carry;
mod gather;
mod offer;
mod read;
mod sections;
mod settle;

use super::{draft::Draft, open::OpenProject};
use crate::{
    Error,
    audit::{AuditAction, Subject},
    decision::Decision,
    handoffs::{Command, Handoff, HandoffId, HandoffRead, Party, Reply, rows},
    key::{LINE_CHARS_MAX, Line},
    kv::{Bucket, Change},
    participant::Role,
};
pub(super) use carry::check_handoff;

/// The number of handoffs that are kept.
pub(super) const HANDOFFS_KEPT: usize = 100;

impl<B: Bucket> OpenProject<'_, B> {
    pub(super) fn handoffs(&self, command: &Command) -> Result<Decision, Error> {
        match command {
            Command::Offer(it) => self.offer_handoff(it),
            Command::Accept(id) => self.accept_handoff(*id),
            Command::Decline { id, reason } => self.decline_handoff(*id, reason),
            Command::List(it) => self.list_handoffs(it),
            Command::Read(id) => self.read_handoff(*id),
            Command::Redact { id, reason } => self.redact_handoff(*id, reason),
            Command::Trace(id) => self.trace_decision(*id),
            Command::Prompt(it) => self.project_prompt(it),
        }
    }

    /// Rejects the operator, which owns no work.
    fn require_worker(&self) -> Result<Party, Error> {
        if self.caller.participant.role() == Role::Admin {
            return Err(Error::Forbidden {
                message: "only agents and orchestrators hand over work; call as a participant of one \
                          of the project's sessions",
            });
        }
        Ok(Party::of(self.caller))
    }

    /// Returns the handoffs that are kept, the oldest first, as they are now.
    pub(super) fn kept_handoffs(&self) -> Result<Vec<Handoff>, Error> {
        let mut all = Vec::new();
        for (_, bytes) in self.bucket.scan(rows::HANDOFFS, None, u32::MAX)? {
            all.push(rows::decode_handoff(&bytes)?.at(self.at));
        }
        Ok(all)
    }

    /// Returns a handoff that the caller may see.
    fn handoff(&self, id: HandoffId) -> Result<Handoff, Error> {
        let bytes = self.bucket.get(&rows::handoff_row(id))?;
        let found = bytes.map(|it| rows::decode_handoff(&it)).transpose()?;
        let missing = || Error::HandoffNotFound { id: id.to_string() };
        Ok(found.filter(|it| self.may_see(it)).ok_or_else(missing)?.at(self.at))
    }

    /// Returns true if a handoff is from or to the caller, or the caller is no agent.
    fn may_see(&self, it: &Handoff) -> bool {
        let caller = Party::of(self.caller);
        !self.is_agent() || it.from.is(&caller) || it.to.is(&caller)
    }

    /// Returns the handoffs by which the work of a handoff came to its agent, the latest first.
    fn chain(&self, it: &Handoff) -> Result<Vec<HandoffId>, Error> {
        let mut chain = Vec::new();
        let mut previous = it.previous.as_ref();
        let all = self.kept_handoffs()?;
        for one in all.iter().rev().filter(|one| one.id.0 < it.id.0) {
            if previous == Some(&one.digest) {
                chain.push(one.id);
                previous = one.previous.as_ref();
            }
        }
        Ok(chain)
    }

    /// Returns a handoff as it is read. The receiver of a change gets the package, and others do not.
    fn shown_handoff(&self, handoff: Handoff, with_package: bool) -> Result<HandoffRead, Error> {
        let chain = self.chain(&handoff)?;
        let bytes = self.bucket.get(&rows::package_row(handoff.id))?;
        let stored = bytes.map(|it| rows::decode_package(&it)).transpose()?;
        let (package, omitted) = stored
            .map_or((None, Vec::new()), |(text, omitted)| (with_package.then_some(text), omitted));
        Ok(HandoffRead { handoff, package, omitted, chain })
    }

    /// Returns the first reply to a change, which is sent again.
    pub(super) fn first_handoff(&self, number: u64) -> Result<Decision, Error> {
        let handoff = self.handoff(HandoffId(number))?;
        let is_receiver = handoff.to.is(&Party::of(self.caller));
        Ok(self.answer(reply(self.shown_handoff(handoff, is_receiver)?)))
    }
}

impl<B: Bucket> Draft<'_, B> {
    /// Writes a handoff, and what was done to it.
    fn write_handoff(&mut self, action: AuditAction, it: &Handoff) -> Result<(), Error> {
        let mut text = format!("from {} to {}", it.from.participant, it.to.participant);
        for marker in &it.sections {
            text.push(' ');
            text.push_str(marker);
        }
        let line: String = text.chars().take(LINE_CHARS_MAX).collect();
        self.event(action, Some(Subject::handoff(it.id)), Line::parse("reason", &line).ok());
        self.push(Change::Put(rows::handoff_row(it.id), rows::encode_handoff(it)?));
        Ok(())
    }
}

fn reply(it: HandoffRead) -> crate::reply::Reply {
    crate::reply::Reply::Handoffs(Reply::Handoff(Box::new(it)))
}
