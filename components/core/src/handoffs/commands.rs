//! The operations on handoffs, and their replies.

use super::{
    handoff::{Handoff, HandoffId, HandoffRead, Party},
    kinds::{HandoffKind, HandoffState, ListName, Trigger},
    material,
    prompt::{ProjectPrompt, PromptRequest},
    trace::Trace,
};
use crate::{
    Error,
    item::{self, Item},
    key::Line,
    memories::{MemoryRef, check_query},
    outline::MARKER_BYTES_MAX,
    participant::{Participant, Role},
    tokens::Tokens,
};

/// The most sections of a handoff.
pub const SECTIONS_MAX: usize = 64;
/// The longest summary, in bytes.
pub const SUMMARY_BYTES_MAX: usize = 4_000;
/// The most texts of a list, and the most skills.
pub const TEXTS_MAX: usize = 50;
/// The longest text of a list, in bytes.
pub const TEXT_BYTES_MAX: usize = 2_000;
/// The longest skill, in bytes.
pub const SKILL_BYTES_MAX: usize = 100;
/// The most items of a conversation.
pub const ITEMS_MAX: u32 = 2_000;
/// The least budget of a package.
pub const PACKAGE_TOKENS_MIN: Tokens = Tokens(1_000);
/// The default of the seconds that an offer is valid.
pub const OFFER_SECONDS_DEFAULT: u64 = 24 * 60 * 60;
/// The range of the seconds that an offer is valid.
pub const OFFER_SECONDS: std::ops::RangeInclusive<u64> = 60..=7 * 24 * 60 * 60;

/// An operation on handoffs, or the system prompt of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Offers a handoff, or takes over from an agent that does not answer.
    Offer(Box<OfferHandoff>),
    /// Accepts a handoff.
    Accept(HandoffId),
    /// Declines a handoff, or withdraws it.
    Decline {
        /// The handoff.
        id: HandoffId,
        /// The reason.
        reason: Line,
    },
    /// Lists handoffs.
    List(ListHandoffs),
    /// Reads a handoff with its package.
    Read(HandoffId),
    /// Replaces the package of a handoff by its digest.
    Redact {
        /// The handoff.
        id: HandoffId,
        /// The reason.
        reason: Line,
    },
    /// Returns what a decision is linked with.
    Trace(MemoryRef),
    /// Writes a system prompt.
    Prompt(Box<PromptRequest>),
}

/// A filter for the list of handoffs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListHandoffs {
    /// Only of this state.
    pub state: Option<HandoffState>,
    /// Only from or to this participant.
    pub participant: Option<Participant>,
}

/// A handoff that is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferHandoff {
    /// The agent that an orchestrator takes over from; `None` for an offer of the caller.
    pub from: Option<Party>,
    /// The receiver.
    pub to: Party,
    /// The kind.
    pub kind: HandoffKind,
    /// The reason for handing the work over.
    pub reason: Trigger,
    /// A description of the work and its progress.
    pub summary: String,
    /// The task.
    pub task: Option<String>,
    /// The markers of the sections whose ownership is transferred.
    pub sections: Vec<String>,
    /// The skills that the work needs.
    pub required_skills: Vec<String>,
    /// The skills that the receiver has.
    pub capabilities: Vec<String>,
    /// The lists of texts, in the order of [`ListName::ALL`].
    pub texts: Vec<Vec<String>>,
    /// A packet, as JSON.
    pub packet: Option<String>,
    /// The conversation.
    pub items: Vec<Item>,
    /// The most tokens of the package.
    pub budget: Tokens,
    /// The seconds that the offer is valid.
    pub seconds: u64,
}

impl OfferHandoff {
    /// Validates the offer, except what depends on the project.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] for the first of: receiver, summary, task, sections, skills, texts, packet,
    /// items, budget, time. [`Error::PacketAltered`].
    pub fn check(&self) -> Result<(), Error> {
        if self.to.participant.role() == Role::Admin {
            return Err(Error::malformed(
                "the operator owns nothing and receives no handoff; name an agent or the orchestrator",
            ));
        }
        check_texts("summary", std::slice::from_ref(&self.summary), 1, SUMMARY_BYTES_MAX)?;
        check_query("task", self.task.as_deref())?;
        check_texts("sections", &self.sections, SECTIONS_MAX, MARKER_BYTES_MAX)?;
        check_texts("required_skills", &self.required_skills, TEXTS_MAX, SKILL_BYTES_MAX)?;
        check_texts("to_agent_capabilities", &self.capabilities, TEXTS_MAX, SKILL_BYTES_MAX)?;
        for (name, texts) in ListName::ALL.into_iter().zip(&self.texts) {
            check_texts(name.as_str(), texts, TEXTS_MAX, TEXT_BYTES_MAX)?;
        }
        self.packet.as_deref().map(material::packet).transpose()?;
        item::check_up_to(&self.items, ITEMS_MAX)?;
        item::check_bytes(&self.items, "send the latest part of the conversation")?;
        let (most, seconds) = (self.kind.budget().1, self.seconds);
        if !(PACKAGE_TOKENS_MIN..=most).contains(&self.budget) {
            return Err(Error::malformed(format!(
                "max_tokens is {}; for a handoff of type {} it must be {} to {}",
                self.budget.0,
                self.kind.as_str(),
                PACKAGE_TOKENS_MIN.0,
                most.0
            )));
        }
        if !OFFER_SECONDS.contains(&seconds) {
            return Err(Error::malformed(format!(
                "ttl_seconds is {seconds}; it must be {} to {}",
                OFFER_SECONDS.start(),
                OFFER_SECONDS.end()
            )));
        }
        Ok(())
    }
}

/// Validates the texts of a member.
fn check_texts(name: &str, texts: &[String], most: usize, bytes_max: usize) -> Result<(), Error> {
    if texts.len() > most {
        return Err(Error::malformed(format!(
            "{name} has {} elements, at most {most} fit",
            texts.len()
        )));
    }
    match texts.iter().find(|it| it.trim().is_empty() || it.len() > bytes_max) {
        Some(it) => Err(Error::malformed(format!(
            "{name} has a text of {} bytes; it must be 1 to {bytes_max}",
            it.len()
        ))),
        None => Ok(()),
    }
}

/// The reply to an operation on handoffs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The reply to `Offer`, `Accept`, `Decline`, `Read` and `Redact`.
    Handoff(Box<HandoffRead>),
    /// The reply to `List`: the handoffs, the newest first.
    Listed(Vec<Handoff>),
    /// The reply to `Trace`.
    Traced(Box<Trace>),
    /// The reply to `Prompt`.
    Prompt(Box<ProjectPrompt>),
}
