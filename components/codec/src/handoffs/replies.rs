//! Replies about handoffs (spec 21).

use serde::{Serialize, Serializer, ser::Error as _};
use serde_json::value::RawValue;
use shared_context_core::{
    Line, SessionId,
    budget::Omission,
    handoffs::{Handoff, HandoffRead, ProjectPrompt, Reply, Trace, TraceStep},
};

use crate::json::{Time, to_vec};

/// A handoff, with its package where the reply has it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "handoff_reply"))]
pub(crate) struct HandoffReply<'a> {
    /// What is known of the handoff.
    handoff: HandoffForm<'a>,
    /// The package, of the format `shared-context/handoff/1`; absent in replies to the offering agent,
    /// and if it was redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    package: Option<PackageText<'a>>,
    /// What did not fit the package, at most 1000.
    omitted: Vec<OmittedForm<'a>>,
    /// The handoffs by which the agent received the work, the latest first.
    chain: Vec<String>,
    /// The project's revision.
    revision: u64,
}

/// A package, as it was written.
struct PackageText<'a>(&'a str);

impl Serialize for PackageText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_slice(self.0.as_bytes()).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for PackageText<'_> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "handoff_package".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let texts = || serde_json::json!({"type": "array", "items": {"type": "string"}});
        let list = || serde_json::json!({"type": "array", "items": {}});
        let object = |members: &[&str]| {
            let members: serde_json::Map<String, serde_json::Value> =
                members.iter().map(|it| ((*it).to_owned(), list())).collect();
            serde_json::json!({"type": "object", "properties": members, "required": members.keys().collect::<Vec<_>>()})
        };
        schemars::json_schema!({
            "type": "object",
            "description": "The package of a handoff. The digest is the SHA-256 over canonical JSON \
                            (RFC 8785) without `digest`.",
            "properties": {
                "format": {"const": "shared-context/handoff/1"},
                "digest": {"type": "string"},
                "previous": {"type": "string"},
                "handoff_metadata": {"type": "object"},
                "agent_expertise_match": {
                    "type": "object",
                    "properties": {
                        "required_skills": texts(),
                        "to_agent_capabilities": texts(),
                        "missing_skills": texts(),
                        "skill_match_score": {"type": "number"},
                    },
                },
                "context_summary": object(&["critical_decisions", "open_issues", "current_task_state", "blocking_dependencies", "packet"]),
                "work_products": object(&["completed", "in_progress", "not_started"]),
                "next_actions": object(&["immediate", "short_term", "success_criteria"]),
                "agent_specific_notes": object(&["from_agent_observations", "suggested_approach", "known_pitfalls", "useful_resources"]),
                "ownership_transfers": list(),
                "compacted_context": list(),
                "omitted_count": {"type": "integer"},
                "packet": {"type": "object"},
            },
        })
    }
}

/// What is known of a handoff.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "handoff"))]
struct HandoffForm<'a> {
    /// Its id.
    handoff_id: String,
    /// `complete`, `specialist`, `continuation` or `emergency`.
    handoff_type: &'static str,
    /// `task_completed`, `blocked`, `token_capacity`, `rotation` or `failure`.
    reason: &'static str,
    /// `offered`, `accepted`, `declined` or `expired`.
    state: &'static str,
    /// The agent that hands over.
    from_agent: &'a str,
    /// Its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    from_session_id: Option<&'a str>,
    /// The agent that receives.
    to_agent: &'a str,
    /// Its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    to_session_id: Option<&'a str>,
    /// True if an orchestrator took over without the former agent.
    is_takeover: bool,
    /// When it was offered, UTC.
    offered_at: Time,
    /// The instant from which it can no longer be accepted.
    expires_at: Time,
    /// When it was accepted or declined.
    #[serde(skip_serializing_if = "Option::is_none")]
    settled_at: Option<Time>,
    /// By which participant.
    #[serde(skip_serializing_if = "Option::is_none")]
    settled_by: Option<&'a str>,
    /// Why it was declined.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    /// The markers of the sections whose ownership is transferred.
    sections: &'a [String],
    /// The most tokens of the package.
    max_tokens: u32,
    /// The tokens of the package.
    tokens: u32,
    /// The digest of the package.
    digest: &'a str,
    /// The digest of the handoff by which the agent received the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<&'a str>,
    /// Why the package was redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    redacted: Option<&'a str>,
}

/// What did not fit a package or a prompt.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "handoff_omitted"))]
struct OmittedForm<'a> {
    /// The id of a memory or of an item, the marker of a section, or a member of the request.
    item: &'a str,
    /// `over_budget`.
    reason: &'static str,
    /// The tokens that it needs.
    tokens: u64,
}

/// Handoffs, the newest first.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "handoffs"))]
pub(crate) struct HandoffsReply<'a> {
    /// The handoffs.
    handoffs: Vec<HandoffForm<'a>>,
    /// The project's revision.
    revision: u64,
}

/// What a decision is linked with.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "decision_trace"))]
pub(crate) struct TraceReply<'a> {
    /// The memories, from the one that was asked for.
    steps: Vec<StepForm<'a>>,
    /// The handoffs that had one of them, oldest first.
    handoffs: Vec<HandoffForm<'a>>,
    /// The sessions that are named.
    session_ids: &'a [String],
    /// Whether there is more.
    has_more: bool,
    /// The project's revision.
    revision: u64,
}

/// A memory of a trace.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "decision_trace_step"))]
struct StepForm<'a> {
    /// Its id.
    memory_id: String,
    /// `asked`, `superseded_by`, `supersedes` or `parent`.
    link: &'static str,
    /// The memory from which it was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    from_memory_id: Option<String>,
    /// False if it was removed.
    exists: bool,
    /// The second id of a decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision_id: Option<String>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    /// When it happened, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<Time>,
    /// The participant that added it.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<&'a str>,
    /// The session in which it was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
    /// The place in that session that its words come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    source_place: Option<&'a str>,
    /// The digest of what stood there.
    #[serde(skip_serializing_if = "Option::is_none")]
    source_digest: Option<&'a str>,
}

/// A system prompt.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "project_prompt"))]
pub(crate) struct PromptReply<'a> {
    /// The text, in Markdown.
    text: &'a str,
    /// Its tokens.
    tokens: u32,
    /// The budget.
    max_tokens: u32,
    /// What it has, in its order.
    parts: Vec<ShareForm<'a>>,
    /// What did not fit.
    omitted: Vec<OmittedForm<'a>>,
    /// The project's revision.
    revision: u64,
}

/// A part of a system prompt.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "project_prompt_part"))]
struct ShareForm<'a> {
    /// `agent_definition`, `project_summary`, `critical_knowledge`, `resource_index`, `current_focus` or
    /// `success_criteria`.
    part: &'static str,
    /// Its tokens.
    tokens: u32,
    /// The ids of its memories, or the markers of its sections.
    ids: &'a [String],
}

/// Serializes a reply about handoffs.
pub(crate) fn encode(reply: &Reply, revision: u64) -> Vec<u8> {
    match reply {
        Reply::Handoff(it) => to_vec(&read(it, revision)),
        Reply::Listed(all) => {
            to_vec(&HandoffsReply { handoffs: all.iter().map(handoff).collect(), revision })
        }
        Reply::Traced(it) => to_vec(&traced(it, revision)),
        Reply::Prompt(it) => to_vec(&prompt(it, revision)),
    }
}

fn read(it: &HandoffRead, revision: u64) -> HandoffReply<'_> {
    HandoffReply {
        handoff: handoff(&it.handoff),
        package: it.package.as_deref().map(PackageText),
        omitted: it.omitted.iter().map(omitted).collect(),
        chain: it.chain.iter().map(ToString::to_string).collect(),
        revision,
    }
}

fn handoff(it: &Handoff) -> HandoffForm<'_> {
    HandoffForm {
        handoff_id: it.id.to_string(),
        handoff_type: it.kind.as_str(),
        reason: it.reason.as_str(),
        state: it.state.as_str(),
        from_agent: it.from.participant.as_str(),
        from_session_id: it.from.session.as_ref().map(SessionId::as_str),
        to_agent: it.to.participant.as_str(),
        to_session_id: it.to.session.as_ref().map(SessionId::as_str),
        is_takeover: it.is_takeover,
        offered_at: Time(it.offered_at),
        expires_at: Time(it.expires_at),
        settled_at: it.settled.as_ref().map(|it| Time(it.0)),
        settled_by: it.settled.as_ref().map(|it| it.1.participant.as_str()),
        note: it.note.as_ref().map(Line::as_str),
        sections: &it.sections,
        max_tokens: it.budget.0,
        tokens: it.tokens.0,
        digest: &it.digest,
        previous: it.previous.as_deref(),
        redacted: it.redacted.as_ref().map(Line::as_str),
    }
}

fn omitted(it: &Omission) -> OmittedForm<'_> {
    let tokens = it.numbers.first().map_or(0, |it| it.1);
    OmittedForm { item: &it.item, reason: it.reason.as_str(), tokens }
}

fn traced(it: &Trace, revision: u64) -> TraceReply<'_> {
    TraceReply {
        steps: it.steps.iter().map(step).collect(),
        handoffs: it.handoffs.iter().map(handoff).collect(),
        session_ids: &it.sessions,
        has_more: it.is_truncated,
        revision,
    }
}

fn step(it: &TraceStep) -> StepForm<'_> {
    let memory = it.memory.as_ref();
    let source = memory.and_then(|it| it.source.as_ref());
    StepForm {
        memory_id: it.id.to_string(),
        link: it.link.as_str(),
        from_memory_id: it.from.map(|it| it.to_string()),
        exists: memory.is_some(),
        decision_id: memory.and_then(|it| it.decision).map(|it| it.to_string()),
        title: memory.map(|it| it.title.as_str()),
        timestamp: memory.map(|it| Time(it.at)),
        agent_id: memory.map(|it| it.created_by.as_str()),
        session_id: memory.and_then(|it| it.created_in.as_ref()).map(SessionId::as_str),
        source_place: source.map(|it| it.place.as_str()),
        source_digest: source.and_then(|it| it.digest.as_deref()),
    }
}

fn prompt(it: &ProjectPrompt, revision: u64) -> PromptReply<'_> {
    let parts = it.parts.iter().map(|it| ShareForm {
        part: it.part.as_str(),
        tokens: it.tokens.0,
        ids: &it.ids,
    });
    PromptReply {
        text: &it.text,
        tokens: it.tokens.0,
        max_tokens: it.budget.0,
        parts: parts.collect(),
        omitted: it.omitted.iter().map(omitted).collect(),
        revision,
    }
}
