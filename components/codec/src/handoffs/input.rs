//! Builders of commands about handoffs (spec 21).

use serde::Serialize;
use serde_json::value::RawValue;
use shared_context_core::{
    Command, Error, HandoffsCommand, Participant, ProjectCommand, SessionId,
    handoffs::{
        HandoffId, HandoffKind, HandoffState, ListHandoffs, ListName, OFFER_SECONDS_DEFAULT,
        OfferHandoff, PROMPT_TOKENS_DEFAULT, Party, PromptRequest, Trigger,
    },
    key::Line,
    memories::MemoryRef,
    tokens::Tokens,
};

use crate::{
    checks,
    form::{Member, Slot},
    item::{self, ItemForm},
};

/// A JSON object that the core wrote and reads: a packet, or the package of a handoff.
#[derive(Debug, Default, Serialize)]
pub(crate) struct CoreDocument(pub(crate) Box<RawValue>);

impl Member for CoreDocument {
    fn slot(&mut self) -> Slot<'_> {
        self.0.slot()
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for CoreDocument {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "core_document".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "object"})
    }
}

fn command(request_id: Option<&str>, it: HandoffsCommand) -> Result<Command, Error> {
    let id = checks::request_id(request_id)?;
    Ok(checks::named(id, Command::Project(ProjectCommand::Handoffs(it))))
}

/// An offer, not yet validated.
#[derive(Debug, Default)]
pub(super) struct OfferInput {
    pub(super) to_agent: String,
    pub(super) handoff_type: String,
    pub(super) summary: String,
    pub(super) to_session_id: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) task: Option<String>,
    pub(super) sections: Option<Vec<String>>,
    pub(super) required_skills: Option<Vec<String>>,
    pub(super) capabilities: Option<Vec<String>>,
    pub(super) texts: [Option<Vec<String>>; ListName::ALL.len()],
    pub(super) packet: Option<CoreDocument>,
    pub(super) items: Option<Vec<ItemForm>>,
    pub(super) max_tokens: Option<u32>,
    pub(super) ttl_seconds: Option<u64>,
    /// The agent that is taken over from, and its session.
    pub(super) from: Option<(String, Option<String>)>,
}

fn party(member: &str, participant: &str, session: Option<&str>) -> Result<Party, Error> {
    let session = session.map(|id| {
        SessionId::new(id).ok_or_else(|| {
            Error::malformed(format!(
                "{member} is the id of a session; leave it out for any session"
            ))
        })
    });
    Ok(Party { participant: Participant::parse(participant)?, session: session.transpose()? })
}

/// Builds the command to offer a handoff.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, `DOCUMENT_ALTERED`.
pub(super) fn offer(it: OfferInput, request_id: Option<&str>) -> Result<Command, Error> {
    let kind = HandoffKind::parse(&it.handoff_type)?;
    let from = it.from.map(|(by, session)| party("from_session_id", &by, session.as_deref()));
    let (items, _) = item::items(it.items.unwrap_or_default())?;
    let offer = OfferHandoff {
        from: from.transpose()?,
        to: party("to_session_id", &it.to_agent, it.to_session_id.as_deref())?,
        kind,
        reason: it.reason.as_deref().map_or(Ok(kind.trigger()), Trigger::parse)?,
        summary: it.summary,
        task: it.task,
        sections: it.sections.unwrap_or_default(),
        required_skills: it.required_skills.unwrap_or_default(),
        capabilities: it.capabilities.unwrap_or_default(),
        texts: it.texts.into_iter().map(Option::unwrap_or_default).collect(),
        packet: it.packet.map(|it| it.0.get().to_owned()),
        items,
        budget: it.max_tokens.map_or(kind.budget().1, Tokens),
        seconds: it.ttl_seconds.unwrap_or(OFFER_SECONDS_DEFAULT),
    };
    offer.check()?;
    command(request_id, HandoffsCommand::Offer(Box::new(offer)))
}

/// Builds the command to take over from an agent.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn take_over(mut it: OfferInput, request_id: Option<&str>) -> Result<Command, Error> {
    HandoffKind::Emergency.as_str().clone_into(&mut it.handoff_type);
    if it.summary.is_empty() {
        let from = it.from.as_ref().map(|it| it.0.as_str()).unwrap_or_default();
        it.summary = ["Taken over from ", from, ", which did not hand over itself."].concat();
    }
    offer(it, request_id)
}

/// Builds the command to accept a handoff.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn accept(id: &str, request_id: Option<&str>) -> Result<Command, Error> {
    command(request_id, HandoffsCommand::Accept(HandoffId::parse(id)?))
}

/// Builds the command to decline a handoff.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn decline(id: &str, reason: &str, request_id: Option<&str>) -> Result<Command, Error> {
    let (id, reason) = (HandoffId::parse(id)?, Line::parse("reason", reason)?);
    command(request_id, HandoffsCommand::Decline { id, reason })
}

/// Builds the command to list handoffs.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn list(state: Option<&str>, agent_id: Option<&str>) -> Result<Command, Error> {
    let list = ListHandoffs {
        state: state.map(HandoffState::parse).transpose()?,
        participant: agent_id.map(Participant::parse).transpose()?,
    };
    command(None, HandoffsCommand::List(list))
}

/// Builds the command to read a handoff.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn read(id: &str) -> Result<Command, Error> {
    command(None, HandoffsCommand::Read(HandoffId::parse(id)?))
}

/// Builds the command to replace a package by its digest.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn redact(id: &str, reason: &str, request_id: Option<&str>) -> Result<Command, Error> {
    let (id, reason) = (HandoffId::parse(id)?, Line::parse("reason", reason)?);
    command(request_id, HandoffsCommand::Redact { id, reason })
}

/// Builds the command for what a decision is linked with.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn trace(id: &str) -> Result<Command, Error> {
    command(None, HandoffsCommand::Trace(MemoryRef::parse(id)?))
}

/// Builds the command to write a system prompt.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn prompt(
    agent: Option<String>,
    task: Option<String>,
    criteria: Option<String>,
    focus: Option<&str>,
    max_tokens: Option<u32>,
) -> Result<Command, Error> {
    let breaks = |it: char| it.is_whitespace() || it == ',';
    let focus = focus.unwrap_or_default().split(breaks).filter(|it| !it.is_empty());
    let focus = focus.map(str::to_owned).collect();
    let budget = max_tokens.map_or(PROMPT_TOKENS_DEFAULT, Tokens);
    let request = PromptRequest { agent, task, criteria, focus, budget };
    request.check()?;
    command(None, HandoffsCommand::Prompt(Box::new(request)))
}
