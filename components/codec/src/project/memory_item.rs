//! A memory in the document of a project.

use serde::Serialize;
use shared_context_core::{
    Error, Line, Participant, SessionId,
    item::Authority,
    memories::{
        Kind, Memory, MemoryId, MemoryRef, MemorySource, Origins, RedactedMemory, Status, Use,
        check_importance,
    },
    portable::PortableMemory,
};

use super::document::decision;
use crate::{
    form::form,
    json::Time,
    memories::content::{ContentMember, raw},
    values::invalid,
};

/// A memory with its uses and earlier versions.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "project_document_memory"))]
#[serde(deny_unknown_fields)]
pub(super) struct MemoryItem {
    /// Its id.
    pub(super) memory_id: String,
    /// The second id of a decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision_id: Option<String>,
    /// `decision`, `issue`, `state`, `learning` or `handoff`.
    memory_type: String,
    /// When it was added.
    created_at: Time,
    /// Who added it.
    created_by: String,
    /// The session in which it was added; absent for the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_in: Option<String>,
    /// How often it was read.
    access_count: u32,
    /// When it was read last; absent if never.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_accessed: Option<Time>,
    /// Its versions, the oldest first, at most 10; the last one is as it is now.
    versions: Vec<VersionItem>,
}

form! {
    MemoryItem:
    memory_id, decision_id, memory_type, created_at, created_by, created_in, access_count,
    last_accessed, versions
}

/// A version of a memory.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "project_document_version"))]
#[serde(deny_unknown_fields)]
struct VersionItem {
    version: u32,
    changed_at: Time,
    changed_by: String,
    title: String,
    /// Its content; absent if it was redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<ContentMember>,
    tags: Vec<String>,
    importance: u32,
    /// Of an issue: `open` or `resolved`.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    authority: String,
    is_verified: bool,
    timestamp: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_memory_id: Option<String>,
    supersedes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    archived_at: Option<Time>,
    is_marked_for_deletion: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<SourceItem>,
    /// What a redaction left.
    #[serde(skip_serializing_if = "Option::is_none")]
    redacted: Option<RedactedItem>,
}

form! {
    VersionItem:
    version, changed_at, changed_by, title, content, tags, importance, status, authority, is_verified,
    timestamp, expires_at, parent_memory_id, supersedes, superseded_by, archived_at,
    is_marked_for_deletion, source, redacted
}

/// Where the words of a memory come from.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "project_document_source"))]
#[serde(deny_unknown_fields)]
struct SourceItem {
    place: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

form! { SourceItem: place, digest }

/// What a redaction left.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "project_document_redacted"))]
#[serde(deny_unknown_fields)]
pub(super) struct RedactedItem {
    pub(super) digest: String,
    pub(super) reason: String,
}

form! { RedactedItem: digest, reason }

impl MemoryItem {
    pub(super) fn new(it: &PortableMemory, origins: &Origins) -> Self {
        let memory = &it.memory;
        let versions = it.versions.iter().chain([memory]);
        Self {
            memory_id: memory.id.to_string(),
            decision_id: memory.decision.map(|it| it.to_string()),
            memory_type: memory.kind.as_str().to_owned(),
            created_at: Time(memory.created_at),
            created_by: memory.created_by.as_str().to_owned(),
            created_in: memory.created_in.as_ref().map(|it| it.as_str().to_owned()),
            access_count: it.uses.count,
            last_accessed: it.uses.last_at().map(Time),
            versions: versions.map(|it| VersionItem::new(it, origins)).collect(),
        }
    }

    pub(super) fn memory(self, origins: &Origins) -> Result<PortableMemory, Error> {
        let MemoryRef::Id(id) = MemoryRef::parse(&self.memory_id)? else {
            return Err(invalid("memory_id is a UUID"));
        };
        let session = |it: &str| {
            SessionId::new(it).ok_or_else(|| invalid("created_in is no id of a session"))
        };
        let first = Memory {
            id,
            decision: self.decision_id.as_deref().map(decision).transpose()?,
            kind: Kind::parse(&self.memory_type)?,
            created_at: self.created_at.0,
            created_in: self.created_in.as_deref().map(session).transpose()?,
            ..Memory::blank(id, &Participant::parse(&self.created_by)?)
        };
        let versions = self.versions.into_iter().map(|it| it.memory(&first, origins));
        let mut versions = versions.collect::<Result<Vec<_>, _>>()?;
        let memory = versions.pop().ok_or_else(|| invalid("versions is empty"))?;
        let last = self.last_accessed.map_or_else(Default::default, |it| it.0);
        Ok(PortableMemory { memory, uses: Use { count: self.access_count, last }, versions })
    }
}

impl VersionItem {
    fn new(it: &Memory, origins: &Origins) -> Self {
        let id = |number: u64| origins.id(number).to_string();
        Self {
            version: it.version,
            changed_at: Time(it.changed_at),
            changed_by: it.changed_by.as_str().to_owned(),
            title: it.title.clone(),
            content: it.content.as_ref().map(|it| ContentMember(raw(it.json()))),
            tags: it.tags.clone(),
            importance: it.importance.into(),
            status: it.status.map(|it| it.as_str().to_owned()),
            authority: it.authority.as_str().to_owned(),
            is_verified: it.is_verified,
            timestamp: Time(it.at),
            expires_at: it.expires_at.map(Time),
            parent_memory_id: it.parent.map(id),
            supersedes: it.supersedes.iter().copied().map(id).collect(),
            superseded_by: it.superseded_by.map(id),
            archived_at: it.archived_at.map(Time),
            is_marked_for_deletion: it.is_marked,
            source: it.source.as_ref().map(|it| SourceItem {
                place: it.place.as_str().to_owned(),
                digest: it.digest.clone(),
            }),
            redacted: it.redacted.as_ref().map(|it| RedactedItem {
                digest: it.digest.clone(),
                reason: it.reason.as_str().to_owned(),
            }),
        }
    }

    fn memory(self, first: &Memory, origins: &Origins) -> Result<Memory, Error> {
        let link = |text: &str| number(text, origins);
        let source = self.source.map(|it| MemorySource::new(&it.place, it.digest));
        let redacted = self.redacted.map(|it| {
            Line::parse("redacted.reason", &it.reason)
                .map(|reason| RedactedMemory { digest: it.digest, reason })
        });
        Ok(Memory {
            version: self.version,
            changed_at: self.changed_at.0,
            changed_by: Participant::parse(&self.changed_by)?,
            title: self.title,
            content: self.content.map(|it| it.content(first.kind)).transpose()?,
            tags: self.tags,
            importance: check_importance(self.importance)?,
            status: self.status.as_deref().map(Status::parse).transpose()?,
            authority: Authority::parse(&self.authority)?,
            is_verified: self.is_verified,
            at: self.timestamp.0,
            expires_at: self.expires_at.map(|it| it.0),
            parent: self.parent_memory_id.as_deref().map(link).transpose()?,
            supersedes: self.supersedes.iter().map(|it| link(it)).collect::<Result<_, _>>()?,
            superseded_by: self.superseded_by.as_deref().map(link).transpose()?,
            archived_at: self.archived_at.map(|it| it.0),
            is_marked: self.is_marked_for_deletion,
            source: source.transpose()?,
            redacted: redacted.transpose()?,
            ..first.clone()
        })
    }
}

/// Returns the number of a memory of the project.
pub(super) fn number(text: &str, origins: &Origins) -> Result<u64, Error> {
    let id = |it: MemoryId| origins.number(it);
    match MemoryRef::parse(text)? {
        MemoryRef::Id(it) => id(it),
        MemoryRef::Decision(_) => None,
    }
    .ok_or_else(|| invalid("a link is not the id of a memory of the project"))
}
