//! Replies about memories (spec 19).

use serde::Serialize;
use shared_context_core::{
    SessionId,
    budget::Omission,
    memories::{
        Added, Content, DecisionId, FoundMemories, FoundMemory, Maintained, Memory, MemoryRead,
        MemoryWarning, Rehydrated, Reply, Severity, Status,
    },
    text::METHOD,
};

use super::content::ContentText;
use crate::json::{Time, to_vec};

/// Memories that were added.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "memories_added"))]
pub(crate) struct AddReply<'a> {
    /// The memories, in the order of the request.
    memories: Vec<AddedForm<'a>>,
    /// The project's revision.
    revision: u64,
}

/// A memory that was added, or was there already.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "memory_added"))]
struct AddedForm<'a> {
    /// Its id.
    memory_id: String,
    /// The second id of a decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision_id: Option<String>,
    /// Its version.
    version: u32,
    /// False if a memory with the same words was there.
    is_new: bool,
    /// Warnings about it.
    warnings: Vec<WarningForm<'a>>,
}

/// A warning about a memory.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "memory_warning"))]
struct WarningForm<'a> {
    /// `SIMILAR_MEMORY`, `RECALLED`, `LOOKS_SENSITIVE`, `LOOKS_RAW`, `UNVERIFIED` or
    /// `ALREADY_STORED`.
    code: &'static str,
    /// What is wrong, and what to do.
    message: &'a str,
}

/// Memories that were read.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "memories_read"))]
pub(crate) struct ReadReply<'a> {
    /// The memories, in the order of the request.
    memories: Vec<MemoryForm<'a>>,
    /// The project's revision.
    revision: u64,
}

/// The versions of a memory.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "memory_history"))]
pub(crate) struct HistoryReply<'a> {
    /// The versions that are kept, the newest first.
    versions: Vec<MemoryForm<'a>>,
    /// The project's revision.
    revision: u64,
}

/// What is known of a memory besides its content.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "memory_head"))]
struct HeadForm<'a> {
    /// Its id.
    memory_id: String,
    /// The second id of a decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision_id: Option<String>,
    /// `decision`, `issue`, `state`, `learning` or `handoff`.
    memory_type: &'static str,
    /// What it is.
    title: &'a str,
    /// Its tags.
    tags: &'a [String],
    /// 1 to 10.
    importance: u8,
    /// Of an issue: `open` or `resolved`.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    /// When it happened, UTC.
    timestamp: Time,
    /// Who added it.
    agent_id: &'a str,
    /// The session in which it was added; absent for the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
    /// False if `rehydrate` leaves it out until an orchestrator confirms it.
    is_verified: bool,
    /// Whether it is archived.
    is_archived: bool,
    /// How often it was read.
    access_count: u32,
}

/// A memory.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "memory"))]
struct MemoryForm<'a> {
    #[serde(flatten)]
    head: HeadForm<'a>,
    /// Its content; absent if it was redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<ContentText>,
    /// Its version.
    version: u32,
    /// When it was added, UTC.
    created_at: Time,
    /// When this version was written, UTC.
    changed_at: Time,
    /// Who wrote this version.
    changed_by: &'a str,
    /// The instant from which it does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Time>,
    /// When it was archived.
    #[serde(skip_serializing_if = "Option::is_none")]
    archived_at: Option<Time>,
    /// True if the next maintenance removes it.
    is_marked_for_deletion: bool,
    /// The memory that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_memory_id: Option<String>,
    /// The memories that it replaced.
    supersedes: Vec<String>,
    /// The memory that replaced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<String>,
    /// How far its source can be trusted.
    authority: &'static str,
    /// Where its words come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<SourceForm<'a>>,
    /// When it was read last.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_accessed: Option<Time>,
    /// What a redaction left.
    #[serde(skip_serializing_if = "Option::is_none")]
    redacted: Option<RedactedForm<'a>>,
}

/// Where the words of a memory come from.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "memory_source"))]
struct SourceForm<'a> {
    /// The entry, the item of a conversation or the round.
    place: &'a str,
    /// The digest of what stood there.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<&'a str>,
}

/// What a redaction left of a memory.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "memory_redacted"))]
struct RedactedForm<'a> {
    /// The digest of the memory.
    digest: &'a str,
    /// Why it was redacted.
    reason: &'a str,
}

/// A memory that was changed.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "memory_updated"))]
pub(crate) struct UpdateReply {
    /// Its id.
    memory_id: String,
    /// Its version now.
    version: u32,
    /// The project's revision.
    revision: u64,
}

/// A memory that was replaced.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "memory_superseded"))]
pub(crate) struct SupersedeReply {
    /// The memory that no longer holds.
    memory_id: String,
    /// The memory that holds instead.
    superseded_by: String,
    /// The project's revision.
    revision: u64,
}

/// Memories that were marked.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "memories_marked"))]
pub(crate) struct MarkReply {
    /// Their ids.
    memory_ids: Vec<String>,
    /// What they are marked as.
    mark: &'static str,
    /// The project's revision.
    revision: u64,
}

/// Memories that were found.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "memories_found"))]
pub(crate) struct SearchReply<'a> {
    /// The memories, in their order.
    memories: Vec<FoundForm<'a>>,
    /// How many match.
    total: u32,
    /// Send it as cursor for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// The method of comparison: `lexical/1`.
    similarity: &'static str,
    /// The project's revision.
    revision: u64,
}

/// A memory that was found, without its content.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "memory_found"))]
struct FoundForm<'a> {
    #[serde(flatten)]
    head: HeadForm<'a>,
    /// The severity of an issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<&'static str>,
    /// The part of its content that has most in common with the query, at most 160 characters.
    snippet: &'a str,
    /// Its rank, 0 to 1: the sum of the parts.
    score: f64,
    /// The parts of its rank.
    parts: RankForm,
}

/// The parts of a rank.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "memory_rank"))]
struct RankForm {
    /// Words of the title, 0 to 0.15.
    title: f64,
    /// Words of the content, 0 to 0.25.
    content: f64,
    /// Importance, 0.025 to 0.25.
    importance: f64,
    /// Recency, 0 to 0.2: half after 30 days.
    recency: f64,
    /// How often it was read, 0 to 0.15: whole from ten times on.
    access: f64,
}

/// What a new session is told.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "rehydrated"))]
pub(crate) struct RehydrateReply<'a> {
    /// The text, in Markdown.
    text: &'a str,
    /// Its tokens.
    tokens: u32,
    /// The budget.
    max_tokens: u32,
    /// What it consists of.
    parts: Vec<PartForm>,
    /// What was chosen and does not fit.
    omitted: Vec<OmittedForm<'a>>,
    /// How many unverified memories were left out.
    unverified: u32,
    /// When sessions worked on the project.
    continuity: ContinuityForm,
    /// The project's revision.
    revision: u64,
}

/// A part of what a session is told.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "rehydrated_part"))]
struct PartForm {
    /// `project_summary`, `current_state`, `key_decisions`, `open_issues`, `applicable_learnings` or
    /// `related_memories`.
    part: &'static str,
    /// Its tokens.
    tokens: u32,
    /// The ids of its memories.
    memory_ids: Vec<String>,
}

/// A memory that was left out.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "memory_omitted"))]
struct OmittedForm<'a> {
    /// Its id.
    memory_id: &'a str,
    /// `over_budget`.
    reason: &'static str,
    /// The tokens that it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
}

/// When sessions worked on a project.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "session_continuity"))]
struct ContinuityForm {
    /// When the last other session did something.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_session_end: Option<Time>,
    /// The seconds since then.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds_since_last_session: Option<u64>,
    /// How many sessions worked on the project.
    sessions_in_project: u32,
}

/// What maintenance did, or would do.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "memories_maintained"))]
pub(crate) struct MaintainReply {
    /// Each memory that was archived or removed.
    actions: Vec<ActionForm>,
    /// Whether there is more to do: call it again.
    has_more: bool,
    /// True if nothing was done.
    dry_run: bool,
    /// The project's revision.
    revision: u64,
}

/// What maintenance did to a memory.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "memory_maintained"))]
struct ActionForm {
    /// `ARCHIVED` or `DELETED`.
    action: &'static str,
    /// The memory.
    memory_id: String,
    /// The rule, such as `resolved_issue`.
    rule: &'static str,
}

/// The log of decisions.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "decision_log"))]
pub(crate) struct DecisionLogReply<'a> {
    /// The decisions in Markdown, the newest first.
    text: &'a str,
    /// How many are in it.
    count: u32,
    /// How many there are.
    total: u32,
    /// The project's revision.
    revision: u64,
}

/// A memory that was redacted.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "memory_redaction"))]
pub(crate) struct RedactReply {
    /// Its id.
    memory_id: String,
    /// The digests of what its versions said.
    digests: Vec<String>,
    /// The project's revision.
    revision: u64,
}

/// Serializes a reply about memories.
pub(crate) fn encode(reply: &Reply, revision: u64) -> Vec<u8> {
    match reply {
        Reply::Added(all) => {
            to_vec(&AddReply { memories: all.iter().map(added).collect(), revision })
        }
        Reply::Read(all) => {
            to_vec(&ReadReply { memories: all.iter().map(read).collect(), revision })
        }
        Reply::History(all) => {
            to_vec(&HistoryReply { versions: all.iter().map(read).collect(), revision })
        }
        Reply::Updated { id, version } => {
            to_vec(&UpdateReply { memory_id: id.to_string(), version: *version, revision })
        }
        Reply::Superseded { id, by } => to_vec(&SupersedeReply {
            memory_id: id.to_string(),
            superseded_by: by.to_string(),
            revision,
        }),
        Reply::Marked { ids, mark } => to_vec(&MarkReply {
            memory_ids: ids.iter().map(ToString::to_string).collect(),
            mark: mark.as_str(),
            revision,
        }),
        Reply::Found(it) => to_vec(&found(it, revision)),
        Reply::Rehydrated(it) => to_vec(&rehydrated(it, revision)),
        Reply::Maintained(it) => to_vec(&maintained(it, revision)),
        Reply::DecisionLog { text, count, total } => {
            to_vec(&DecisionLogReply { text, count: *count, total: *total, revision })
        }
        Reply::Redacted { id, digests } => {
            to_vec(&RedactReply { memory_id: id.to_string(), digests: digests.clone(), revision })
        }
    }
}

fn decision_id(it: Option<DecisionId>) -> Option<String> {
    it.map(|it| it.to_string())
}

fn added(it: &Added) -> AddedForm<'_> {
    AddedForm {
        memory_id: it.id.to_string(),
        decision_id: decision_id(it.decision),
        version: it.version,
        is_new: it.is_new,
        warnings: it.warnings.iter().map(warning_form).collect(),
    }
}

fn warning_form(it: &MemoryWarning) -> WarningForm<'_> {
    WarningForm { code: it.code.as_str(), message: &it.message }
}

fn head(it: &Memory, access_count: u32) -> HeadForm<'_> {
    HeadForm {
        memory_id: it.id.to_string(),
        decision_id: decision_id(it.decision),
        memory_type: it.kind.as_str(),
        title: &it.title,
        tags: &it.tags,
        importance: it.importance,
        status: it.status.map(Status::as_str),
        timestamp: Time(it.at),
        agent_id: it.created_by.as_str(),
        session_id: it.created_in.as_ref().map(SessionId::as_str),
        is_verified: it.is_verified,
        is_archived: it.archived_at.is_some(),
        access_count,
    }
}

fn read(MemoryRead { memory: it, uses, links }: &MemoryRead) -> MemoryForm<'_> {
    MemoryForm {
        head: head(it, uses.count),
        content: it.content.as_ref().map(|it| ContentText(it.json())),
        version: it.version,
        created_at: Time(it.created_at),
        changed_at: Time(it.changed_at),
        changed_by: it.changed_by.as_str(),
        expires_at: it.expires_at.map(Time),
        archived_at: it.archived_at.map(Time),
        is_marked_for_deletion: it.is_marked,
        parent_memory_id: links.parent.map(|it| it.to_string()),
        supersedes: links.supersedes.iter().map(ToString::to_string).collect(),
        superseded_by: links.superseded_by.map(|it| it.to_string()),
        authority: it.authority.as_str(),
        source: it
            .source
            .as_ref()
            .map(|it| SourceForm { place: it.place.as_str(), digest: it.digest.as_deref() }),
        last_accessed: uses.last_at().map(Time),
        redacted: it
            .redacted
            .as_ref()
            .map(|it| RedactedForm { digest: &it.digest, reason: it.reason.as_str() }),
    }
}

/// Returns a number of ten thousandths.
fn number(parts: u16) -> f64 {
    f64::from(parts) / 10_000.0
}

fn found(it: &FoundMemories, revision: u64) -> SearchReply<'_> {
    SearchReply {
        memories: it.found.iter().map(found_one).collect(),
        total: it.total,
        next_cursor: it.next.map(|it| it.text()),
        similarity: METHOD,
        revision,
    }
}

fn found_one(it: &FoundMemory) -> FoundForm<'_> {
    let rank = it.rank;
    FoundForm {
        head: head(&it.memory, it.uses.count),
        severity: it.memory.content.as_ref().and_then(Content::severity).map(Severity::as_str),
        snippet: &it.snippet,
        score: number(rank.total()),
        parts: RankForm {
            title: number(rank.title),
            content: number(rank.content),
            importance: number(rank.importance),
            recency: number(rank.recency),
            access: number(rank.access),
        },
    }
}

fn rehydrated(it: &Rehydrated, revision: u64) -> RehydrateReply<'_> {
    let parts = it.parts.iter().map(|it| PartForm {
        part: it.part.as_str(),
        tokens: it.tokens.0,
        memory_ids: it.ids.iter().map(ToString::to_string).collect(),
    });
    RehydrateReply {
        text: &it.text,
        tokens: it.tokens.0,
        max_tokens: it.budget.0,
        parts: parts.collect(),
        omitted: it.omitted.iter().map(omitted).collect(),
        unverified: it.unverified,
        continuity: ContinuityForm {
            last_session_end: it.continuity.last_session_end.map(Time),
            seconds_since_last_session: it.continuity.since_ms.map(|it| it / 1_000),
            sessions_in_project: it.continuity.sessions,
        },
        revision,
    }
}

fn omitted(it: &Omission) -> OmittedForm<'_> {
    let tokens = it.numbers.iter().find(|it| it.0 == "tokens").map(|it| it.1);
    OmittedForm { memory_id: &it.item, reason: it.reason.as_str(), tokens }
}

fn maintained(it: &Maintained, revision: u64) -> MaintainReply {
    let actions = it.actions.iter().map(|it| ActionForm {
        action: it.action.as_str(),
        memory_id: it.id.to_string(),
        rule: it.rule.name,
    });
    MaintainReply {
        actions: actions.collect(),
        has_more: it.has_more,
        dry_run: it.is_dry_run,
        revision,
    }
}
