//! Members of requests about memories (spec 19.2).

use shared_context_core::{
    Error,
    item::Authority,
    memories::{
        IMPORTANCE_DEFAULT, Kind, MemoryRef, MemorySource, NewMemory, Status, check_importance,
    },
};

use super::content::ContentMember;
use crate::{form::form, json::Time};

/// A memory to be added.
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "new_memory"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct MemoryForm {
    /// `decision`, `issue`, `state`, `learning` or `handoff`.
    memory_type: String,
    /// What it is, in one line of 1 to 100 characters.
    title: String,
    /// Its content; `[]` marks lists. Decision: `decision`, and as you have them `rationale,
    /// alternatives_considered[], expected_impact, validation_criteria, context`. Issue: `description,
    /// severity` (low, medium, high, critical), and `reproduction_steps, investigation_status,
    /// attempted_fixes[], next_actions`. State: `task_description, completion_percentage` (0 to 100),
    /// and `substeps_completed[], substeps_remaining[], blockers[], next_actions[]`. Learning:
    /// `lesson`, and `context, applicability, evidence`. Handoff: `summary`, and `from_agent,
    /// to_agent, work_products[], next_actions[], notes`.
    content: ContentMember,
    /// Words to find it by, at most 16, without spaces and commas.
    tags: Option<Vec<String>>,
    /// 1 to 10; 5 when absent. 8 to 10 are kept for ever, 5 to 7 at least 30 days, 1 to 4 at least 7.
    importance: Option<u32>,
    /// Of an issue: `open` when absent, or `resolved`.
    status: Option<String>,
    /// When it happened, if that was earlier.
    timestamp: Option<Time>,
    /// The instant from which it does not exist.
    expires_at: Option<Time>,
    /// The id of a memory that it belongs to.
    parent_memory_id: Option<String>,
    /// The ids of memories that it replaces, at most 16.
    supersedes: Option<Vec<String>>,
    /// How far its source can be trusted: `user`, `operator`, `tool_internal`, `model` when absent,
    /// `tool_external` or `unknown`.
    authority: Option<String>,
    /// Where its words come from.
    source: Option<SourceForm>,
}

form! {
    MemoryForm:
    memory_type, title, content, tags, importance, status, timestamp, expires_at, parent_memory_id,
    supersedes, authority, source
}

/// Where the words of a memory come from, within its session.
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "new_memory_source"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct SourceForm {
    /// The entry, the item of a conversation or the round, in one line.
    place: String,
    /// The digest of what stood there.
    digest: Option<String>,
}

form! { SourceForm: place, digest }

impl MemoryForm {
    pub(super) fn memory(self) -> Result<NewMemory, Error> {
        let kind = Kind::parse(&self.memory_type)?;
        let source = self.source.map(|it| MemorySource::new(&it.place, it.digest));
        let new = NewMemory {
            title: self.title,
            content: self.content.content(kind)?,
            tags: self.tags.unwrap_or_default(),
            importance: self.importance.map_or(Ok(IMPORTANCE_DEFAULT), check_importance)?,
            status: self.status.as_deref().map(Status::parse).transpose()?,
            authority: self.authority.as_deref().map_or(Ok(Authority::Model), Authority::parse)?,
            at: self.timestamp.map(|it| it.0),
            expires_at: self.expires_at.map(|it| it.0),
            parent: self.parent_memory_id.as_deref().map(MemoryRef::parse).transpose()?,
            supersedes: super::input::references(&self.supersedes.unwrap_or_default())?,
            source: source.transpose()?,
        };
        new.checked()
    }
}
