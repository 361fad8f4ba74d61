//! A section of the outline, and the coordination state, in the document of a project.

use serde::Serialize;
use shared_context_core::{
    Error, Participant, SessionId,
    outline::{Marker, Owner, RedactedSection, Section, SectionVersion},
    ownership::CoordinationState,
    port::Revision,
    portable::PortableSection,
    tokens::approximate,
};

use super::memory_item::RedactedItem;
use crate::{
    form::form,
    json::Time,
    outline::input::{self, AssignmentForm, FileForm, ResourceForm, ShortcutForm},
    values::invalid,
};

/// A section with its versions.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "project_document_section"))]
#[serde(deny_unknown_fields)]
pub(super) struct SectionItem {
    /// Its marker.
    pub(super) marker: String,
    title: String,
    summary: String,
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<u32>,
    shortcuts: Vec<ShortcutForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<FileForm>,
    readers: Vec<String>,
    /// Why it is not loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pruned: Option<String>,
    /// The revision that wrote its first version, by which files are in order.
    created: u64,
    /// The number of its version.
    version: u32,
    /// Its versions, the oldest first, at most 10; the last one is as it is now.
    versions: Vec<VersionItem>,
    /// What a redaction left.
    #[serde(skip_serializing_if = "Option::is_none")]
    redacted: Option<RedactedItem>,
}

form! {
    SectionItem:
    marker, title, summary, status, progress, shortcuts, file, readers, pruned, created, version,
    versions, redacted
}

/// A version of a section.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "project_document_section_version"))]
#[serde(deny_unknown_fields)]
struct VersionItem {
    /// Its content; empty if it was redacted.
    content: String,
    changed_at: Time,
    changed_by: PartyItem,
}

form! { VersionItem: content, changed_at, changed_by }

/// A participant of a session.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "project_document_party"))]
#[serde(deny_unknown_fields)]
pub(super) struct PartyItem {
    agent_id: String,
    /// Absent for the operator, and for a participant of any session.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
}

form! { PartyItem: agent_id, session_id }

/// What a team coordinates.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "project_document_coordination"))]
#[serde(deny_unknown_fields)]
pub(super) struct CoordinationItem {
    /// Its version.
    sync_version: u64,
    changed_at: Time,
    assignments: Vec<AssignmentForm>,
    global_blockers: Vec<String>,
    shared_resources: Vec<ResourceForm>,
}

form! {
    CoordinationItem:
    sync_version, changed_at, assignments, global_blockers, shared_resources
}

impl PartyItem {
    pub(super) fn new(participant: &Participant, session: Option<&SessionId>) -> Self {
        Self {
            agent_id: participant.as_str().to_owned(),
            session_id: session.map(|it| it.as_str().to_owned()),
        }
    }

    pub(super) fn read(&self) -> Result<(Participant, Option<SessionId>), Error> {
        let id = |it: &str| {
            SessionId::new(it).ok_or_else(|| invalid("session_id is no id of a session"))
        };
        let session = self.session_id.as_deref().map(id).transpose()?;
        Ok((Participant::parse(&self.agent_id)?, session))
    }
}

impl VersionItem {
    fn new(content: &str, at: Time, by: &Owner) -> Self {
        Self {
            content: content.to_owned(),
            changed_at: at,
            changed_by: PartyItem::new(&by.participant, by.session.as_ref()),
        }
    }

    fn version(self) -> Result<SectionVersion, Error> {
        let (participant, session) = self.changed_by.read()?;
        let by = Owner { participant, session };
        Ok(SectionVersion { content: self.content, at: self.changed_at.0, by })
    }
}

impl SectionItem {
    pub(super) fn new(it: &PortableSection) -> Self {
        let section = &it.section;
        let earlier =
            it.versions.iter().map(|it| VersionItem::new(&it.content, Time(it.at), &it.by));
        let mut versions: Vec<VersionItem> = earlier.collect();
        versions.push(VersionItem::new(&it.content, Time(section.changed_at), &section.changed_by));
        Self {
            marker: section.marker.to_string(),
            title: section.title.clone(),
            summary: section.summary.clone(),
            status: section.status.clone(),
            progress: section.progress.map(u32::from),
            shortcuts: section.shortcuts.iter().map(ShortcutForm::new).collect(),
            file: section.file.as_ref().map(FileForm::new),
            readers: section.readers.clone(),
            pruned: section.pruned.clone(),
            created: section.created.0,
            version: section.version,
            versions,
            redacted: section
                .redacted
                .as_ref()
                .map(|it| RedactedItem { digest: it.digest.clone(), reason: it.reason.clone() }),
        }
    }

    pub(super) fn section(self) -> Result<PortableSection, Error> {
        let versions = self.versions.into_iter().map(VersionItem::version);
        let mut versions = versions.collect::<Result<Vec<_>, _>>()?;
        let SectionVersion { content, at, by } =
            versions.pop().ok_or_else(|| invalid("versions is empty"))?;
        let section = Section {
            marker: Marker::parse(&self.marker)?,
            title: self.title,
            summary: self.summary,
            status: self.status,
            progress: self.progress.map(|it| u8::try_from(it).unwrap_or(u8::MAX)),
            shortcuts: self.shortcuts.iter().map(input::shortcut).collect::<Result<_, _>>()?,
            file: self.file.map(input::file).transpose()?,
            readers: self.readers,
            pruned: self.pruned,
            created: Revision(self.created),
            version: self.version,
            changed_at: at,
            changed_by: by,
            tokens: approximate(&content),
            redacted: self
                .redacted
                .map(|it| RedactedSection { digest: it.digest, reason: it.reason }),
        };
        Ok(PortableSection { section, content, versions })
    }
}

impl CoordinationItem {
    pub(super) fn new(it: &CoordinationState) -> Self {
        Self {
            sync_version: it.version,
            changed_at: Time(it.changed_at),
            assignments: it.assignments.iter().map(AssignmentForm::new).collect(),
            global_blockers: it.blockers.iter().map(|it| it.as_str().to_owned()).collect(),
            shared_resources: it.resources.iter().map(ResourceForm::new).collect(),
        }
    }

    pub(super) fn state(self) -> Result<CoordinationState, Error> {
        let assignments = self.assignments.iter().map(input::assignment);
        let resources = self.shared_resources.iter().map(input::resource);
        Ok(CoordinationState {
            version: self.sync_version,
            changed_at: self.changed_at.0,
            assignments: assignments.collect::<Result<_, _>>()?,
            blockers: input::lines("global_blockers", &self.global_blockers)?,
            resources: resources.collect::<Result<_, _>>()?,
        })
    }
}
