//! A page of a project as a portable document: one JSON object that anyone can verify (spec 15.6).
//!
//! Digests are those of session documents: SHA-256 over canonical JSON (RFC 8785). Each memory has one,
//! so that an alteration can be located, and so have sections and handoffs.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use shared_context_core::{
    Error, ProjectConfig, ProjectId, SessionId,
    memories::{DecisionId, MemoryRef, Origins, SessionUse},
    port::Revision,
    portable::{PortableProject, PortableSession},
    tokens::Estimator,
};

use super::{
    handoff_item::HandoffItem,
    memory_item::MemoryItem,
    section_item::{CoordinationItem, SectionItem},
};
use crate::{
    form::{self, form},
    json::Time,
    refusal::malformed,
    session::document::{check_items, digest},
    values::{RawDocument, invalid},
};

/// The format, which is the first.
pub(crate) const FORMAT: &str = "shared-context/project/1";
/// Prefix of every document's format.
const FORMAT_FAMILY: &str = "shared-context/project/";

/// A document in a request.
pub(crate) type ProjectDocument = RawDocument<DocumentForm>;

/// A page of a project, as `export_project` returns it and `import_project` takes it. Most projects
/// have one page.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "project_document"))]
#[serde(deny_unknown_fields)]
pub(crate) struct DocumentForm {
    /// `shared-context/project/1`.
    format: String,
    /// What all pages have in common.
    project: HeadItem,
    /// The place where the page before ended; 0 in the first page. A memory has its number as its place;
    /// sections follow, and then handoffs.
    after: u64,
    /// The place after which the next page begins; absent in the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
    /// The sessions that worked on it, by their ids; in the first page.
    sessions: Vec<SessionItem>,
    /// What its team coordinates; in the first page, absent when there never was anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    coordination: Option<CoordinationItem>,
    /// Its memories, by their numbers.
    memories: Vec<MemoryItem>,
    /// Its sections, by the bytes of their markers; absent when the page has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sections: Vec<SectionItem>,
    /// Its handoffs, by their numbers; absent when the page has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    handoffs: Vec<HandoffItem>,
    /// The digests of the items.
    digests: Digests,
    /// The digest of an object of `format`, `after`, `next` and `digests`.
    digest: String,
}

form! {
    DocumentForm:
    format, project, after, next, sessions, coordination, memories, sections = or_absent,
    handoffs = or_absent, digests, digest
}

/// What all pages of an exported project have in common.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "project_document_head"))]
#[serde(deny_unknown_fields)]
struct HeadItem {
    /// The project's id where it came from.
    project_id: String,
    /// Its revision there.
    revision: u64,
    /// `active` or `archived`.
    status: String,
    /// When it was created.
    created_at: Time,
    /// The most memories.
    memories_max: u32,
    /// The token counter.
    estimator: String,
    /// Where its memories got their ids, each with the number of its first memory.
    origins: Vec<OriginItem>,
    /// The last number that was given to a memory.
    last_memory: u64,
    /// The second id of the newest decision; absent when there never was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_decision: Option<String>,
    /// How many sessions ever worked on it.
    session_count: u32,
    /// How many sections all pages have; absent for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    section_count: Option<u32>,
    /// How many handoffs all pages have; absent for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    handoff_count: Option<u32>,
}

form! {
    HeadItem:
    project_id, revision, status, created_at, memories_max, estimator, origins, last_memory,
    last_decision, session_count, section_count, handoff_count
}

/// A project in which memories got their ids.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "project_document_origin"))]
#[serde(deny_unknown_fields)]
struct OriginItem {
    /// The number of the first memory.
    first: u64,
    /// Its id, incarnation and epoch.
    origin: String,
}

form! { OriginItem: first, origin }

/// A session that worked on the project.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "project_document_session"))]
#[serde(deny_unknown_fields)]
struct SessionItem {
    /// Its id.
    session_id: String,
    /// When it did something first.
    first_at: Time,
    /// When it did something last.
    last_at: Time,
    /// The numbers of the memories that it was shown last, the newest last.
    shown: Vec<u64>,
}

form! { SessionItem: session_id, first_at, last_at, shown }

/// The digests of a page's items, over their canonical JSON (RFC 8785).
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "project_document_digests"))]
#[serde(deny_unknown_fields)]
struct Digests {
    /// Of what all pages have in common.
    project: String,
    /// Of the list of sessions.
    sessions: String,
    /// Of the coordination state.
    #[serde(skip_serializing_if = "Option::is_none")]
    coordination: Option<String>,
    /// Of each memory.
    memories: Vec<String>,
    /// Of each section.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sections: Vec<String>,
    /// Of each handoff.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    handoffs: Vec<String>,
}

form! {
    Digests:
    project, sessions, coordination, memories, sections = or_absent, handoffs = or_absent
}

/// Content of the document's digest.
#[derive(Serialize)]
struct Outline<'a> {
    format: &'a str,
    after: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
    digests: &'a Digests,
}

impl DocumentForm {
    /// Creates the document of a page.
    pub(crate) fn new(it: &PortableProject) -> Self {
        let origin = |it: &(u64, String)| OriginItem { first: it.0, origin: it.1.clone() };
        let session = |it: &PortableSession| SessionItem {
            session_id: it.session.as_str().to_owned(),
            first_at: Time(it.did.first_at),
            last_at: Time(it.did.last_at),
            shown: it.did.recalled.clone(),
        };
        let mut document = Self {
            format: FORMAT.to_owned(),
            project: HeadItem {
                project_id: it.project.as_str().to_owned(),
                revision: it.revision.0,
                status: if it.is_archived { "archived" } else { "active" }.to_owned(),
                created_at: Time(it.created_at),
                memories_max: it.config.memories_max,
                estimator: it.config.estimator.as_str().to_owned(),
                origins: it.origins.all().iter().map(origin).collect(),
                last_memory: it.last_memory,
                last_decision: it.last_decision.map(|it| it.to_string()),
                session_count: it.session_count,
                section_count: (it.section_count > 0).then_some(it.section_count),
                handoff_count: (it.handoff_count > 0).then_some(it.handoff_count),
            },
            after: it.after,
            next: it.next,
            sessions: it.sessions.iter().map(session).collect(),
            coordination: it.coordination.as_ref().map(CoordinationItem::new),
            memories: it.memories.iter().map(|one| MemoryItem::new(one, &it.origins)).collect(),
            sections: it.sections.iter().map(SectionItem::new).collect(),
            handoffs: it.handoffs.iter().map(|one| HandoffItem::new(one, &it.origins)).collect(),
            digests: Digests::default(),
            digest: String::new(),
        };
        document.digests = document.digests_of_items();
        document.digest = document.digest_of_all();
        document
    }

    fn digests_of_items(&self) -> Digests {
        Digests {
            project: digest(&self.project),
            sessions: digest(&self.sessions),
            coordination: self.coordination.as_ref().map(digest),
            memories: self.memories.iter().map(digest).collect(),
            sections: self.sections.iter().map(digest).collect(),
            handoffs: self.handoffs.iter().map(digest).collect(),
        }
    }

    fn digest_of_all(&self) -> String {
        let Self { format, after, next, digests, .. } = self;
        digest(&Outline { format, after: *after, next: *next, digests })
    }

    /// Checks all digests of the page.
    fn check(&self) -> Result<(), Error> {
        let altered = |place: &str| Err(Error::DocumentAltered { place: place.to_owned() });
        let found = self.digests_of_items();
        if found.project != self.digests.project {
            return altered("project");
        }
        if found.sessions != self.digests.sessions {
            return altered("sessions");
        }
        if found.coordination != self.digests.coordination {
            return altered("coordination");
        }
        check_items("memories", &found.memories, &self.digests.memories, |nth| {
            self.memories.get(nth).map(|it| it.memory_id.as_str())
        })?;
        check_items("sections", &found.sections, &self.digests.sections, |nth| {
            self.sections.get(nth).map(|it| it.marker.as_str())
        })?;
        check_items("handoffs", &found.handoffs, &self.digests.handoffs, |nth| {
            self.handoffs.get(nth).map(|it| it.handoff_id.as_str())
        })?;
        if self.digest_of_all() == self.digest { Ok(()) } else { altered("the document") }
    }

    fn into_page(self) -> Result<PortableProject, Error> {
        let it = self.project;
        let origins = it.origins.into_iter().map(|it| (it.first, it.origin)).collect();
        let origins = Origins::new(origins)?;
        let session = |it: SessionItem| {
            Ok::<_, Error>(PortableSession {
                session: SessionId::new(&it.session_id)
                    .ok_or_else(|| invalid("sessions: session_id is no id of a session"))?,
                did: SessionUse {
                    first_at: it.first_at.0,
                    last_at: it.last_at.0,
                    recalled: it.shown,
                },
            })
        };
        let coordination = self.coordination.map(CoordinationItem::state).transpose();
        Ok(PortableProject {
            project: ProjectId::new(&it.project_id)
                .ok_or_else(|| invalid("project_id is no id of a project"))?,
            revision: Revision(it.revision),
            is_archived: match it.status.as_str() {
                "active" => false,
                "archived" => true,
                _ => return Err(invalid("status is neither active nor archived")),
            },
            created_at: it.created_at.0,
            config: ProjectConfig {
                memories_max: it.memories_max,
                estimator: Estimator::parse(&it.estimator)?,
            },
            last_memory: it.last_memory,
            last_decision: it.last_decision.as_deref().map(decision).transpose()?,
            session_count: it.session_count,
            section_count: it.section_count.unwrap_or_default(),
            handoff_count: it.handoff_count.unwrap_or_default(),
            coordination: coordination.map_err(|it| invalid(&format!("coordination: {it}")))?,
            sessions: self.sessions.into_iter().map(session).collect::<Result<_, _>>()?,
            after: self.after,
            next: self.next,
            memories: each("memories", self.memories, |it| it.memory(&origins))?,
            sections: each("sections", self.sections, SectionItem::section)?,
            handoffs: each("handoffs", self.handoffs, |it| it.handoff(&origins))?,
            origins,
        })
    }
}

/// Reads each item of a list; an error names the place of the item.
fn each<I, T>(
    list: &str,
    items: Vec<I>,
    read: impl Fn(I) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let read = |(nth, it)| read(it).map_err(|error| invalid(&format!("{list}.{nth}: {error}")));
    items.into_iter().enumerate().map(read).collect()
}

/// Parses the second id of a decision.
pub(super) fn decision(text: &str) -> Result<DecisionId, Error> {
    match MemoryRef::parse(text)? {
        MemoryRef::Decision(it) => Ok(it),
        MemoryRef::Id(_) => {
            Err(invalid("the second id of a decision is such as DEC-2026-03-02-001"))
        }
    }
}

/// Parses a document. Returns the page and the digest of its document.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, `FORMAT_TOO_NEW`, `DOCUMENT_ALTERED`.
pub(crate) fn parse(document: &str) -> Result<(PortableProject, String), Error> {
    /// The one member that every format has; the others are ignored.
    #[derive(Deserialize)]
    struct FormatMember<'a> {
        #[serde(borrow, default)]
        format: Cow<'a, str>,
    }
    let member: FormatMember<'_> =
        serde_json::from_slice(document.as_bytes()).map_err(|_| invalid("it is no document"))?;
    if member.format != FORMAT {
        let later = member.format.strip_prefix(FORMAT_FAMILY);
        return Err(if later.is_some_and(|it| it.parse::<u32>().is_ok_and(|it| it > 1)) {
            Error::FormatTooNew { format: member.format.into_owned(), known: FORMAT }
        } else {
            invalid(
                "it is not a document of export_project, whose format is shared-context/project/1",
            )
        });
    }
    let form: DocumentForm = form::parse(document.as_bytes()).map_err(malformed)?;
    form.check()?;
    let whole = form.digest.clone();
    Ok((form.into_page()?, whole))
}
