//! Builders of commands about the outline (spec 20).

use serde::Serialize;
use shared_context_core::{
    Command, Error, OutlineCommand, Participant, ProjectCommand, SessionId,
    key::Line,
    outline::{
        ChangeKind, FileReference, INDEX_TOKENS, INDEX_TOKENS_DEFAULT, Marker, NewSection, Owner,
        Shortcut,
    },
    ownership::{
        Acquire, Assignment, CoordinationChange, Ownership, PutSection, ReadSections, Resource,
        Transfer, check_seconds,
    },
    tokens::Tokens,
};

use crate::{checks, form::form, json::Time};

/// A shortcut of the index.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "new_shortcut"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct ShortcutForm {
    /// What is needed, in one line.
    need: String,
    /// The marker of the section that has it.
    marker: String,
    /// The name of the place in the index, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

form! { ShortcutForm: need, marker, label }

impl ShortcutForm {
    pub(crate) fn new(it: &Shortcut) -> Self {
        Self {
            need: it.need.as_str().to_owned(),
            marker: it.marker.to_string(),
            label: it.label.as_ref().map(|it| it.as_str().to_owned()),
        }
    }
}

/// A file that a section refers to.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "new_file_reference"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct FileForm {
    /// Its path, in one line.
    path: String,
    /// Its size in bytes.
    size: u64,
    /// What it is for, in one line.
    purpose: String,
    /// When it was changed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    modified_at: Option<Time>,
    /// The digest of its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

form! { FileForm: path, size, purpose, modified_at, digest }

impl FileForm {
    pub(crate) fn new(it: &FileReference) -> Self {
        Self {
            path: it.path.as_str().to_owned(),
            size: it.size,
            purpose: it.purpose.as_str().to_owned(),
            modified_at: it.modified_at.map(Time),
            digest: it.digest.clone(),
        }
    }
}

/// The tasks of a participant.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "new_assignment"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct AssignmentForm {
    /// The participant.
    agent_id: String,
    /// Its tasks, each in one line.
    tasks: Vec<String>,
}

form! { AssignmentForm: agent_id, tasks }

impl AssignmentForm {
    pub(crate) fn new(it: &Assignment) -> Self {
        let tasks = it.tasks.iter().map(|it| it.as_str().to_owned());
        Self { agent_id: it.participant.as_str().to_owned(), tasks: tasks.collect() }
    }
}

/// Something that the team shares.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "new_shared_resource"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct ResourceForm {
    /// Its name, in one line.
    name: String,
    /// Where it is, or what to know of it, in one line.
    value: String,
}

form! { ResourceForm: name, value }

impl ResourceForm {
    pub(crate) fn new(it: &Resource) -> Self {
        Self { name: it.name.as_str().to_owned(), value: it.value.as_str().to_owned() }
    }
}

/// The members of a request to write a section.
pub(super) struct PutInput<'a> {
    pub(super) marker: &'a str,
    pub(super) title: Option<String>,
    pub(super) content: Option<String>,
    pub(super) summary: Option<String>,
    pub(super) status: Option<String>,
    pub(super) progress: Option<u32>,
    pub(super) shortcuts: Option<Vec<ShortcutForm>>,
    pub(super) file: Option<FileForm>,
    pub(super) readers: Option<Vec<String>>,
    pub(super) change: Option<&'a str>,
    pub(super) if_version: Option<u64>,
}

/// Builds a command on the outline.
pub(super) fn command(it: OutlineCommand) -> Command {
    Command::Project(ProjectCommand::Outline(it))
}

fn named(request_id: Option<&str>, it: OutlineCommand) -> Result<Command, Error> {
    Ok(checks::named(checks::request_id(request_id)?, command(it)))
}

/// No section has a version above 32 bits: the largest stands for all of them.
fn version(it: Option<u64>) -> Option<u32> {
    it.map(|it| u32::try_from(it).unwrap_or(u32::MAX))
}

fn reason(it: Option<&str>) -> Result<Option<Line>, Error> {
    it.map(|it| Line::parse("reason", it)).transpose()
}

pub(crate) fn lines(name: &str, all: &[String]) -> Result<Vec<Line>, Error> {
    all.iter().map(|it| Line::parse(name, it)).collect()
}

pub(crate) fn shortcut(it: &ShortcutForm) -> Result<Shortcut, Error> {
    Ok(Shortcut {
        need: Line::parse("shortcuts.need", &it.need)?,
        marker: Marker::parse(&it.marker)?,
        label: it.label.as_deref().map(|it| Line::parse("shortcuts.label", it)).transpose()?,
    })
}

pub(crate) fn file(it: FileForm) -> Result<FileReference, Error> {
    FileReference {
        path: Line::parse("file.path", &it.path)?,
        size: it.size,
        modified_at: it.modified_at.map(|it| it.0),
        digest: it.digest,
        purpose: Line::parse("file.purpose", &it.purpose)?,
    }
    .checked()
}

/// Builds the command to write a section.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, `SECTION_TOO_LARGE`.
pub(super) fn put(it: PutInput<'_>, request_id: Option<&str>) -> Result<Command, Error> {
    let shortcuts = it.shortcuts.map(|all| all.iter().map(shortcut).collect()).transpose()?;
    let section = NewSection {
        marker: Marker::parse(it.marker)?,
        title: it.title,
        content: it.content,
        summary: it.summary,
        status: it.status,
        progress: it.progress.map(|it| u8::try_from(it).unwrap_or(u8::MAX)),
        shortcuts,
        file: it.file.map(file).transpose()?,
        readers: it.readers,
    }
    .checked()?;
    let change = it.change.map(ChangeKind::parse).transpose()?;
    let put = PutSection { section, if_version: version(it.if_version), change };
    named(request_id, OutlineCommand::Put(Box::new(put)))
}

/// Builds the command to read a section.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn read(
    marker: &str,
    level: Option<u32>,
    of_version: Option<u64>,
) -> Result<Command, Error> {
    let small = |it: u32| u8::try_from(it).ok().filter(|it| (1..=4).contains(it));
    let level = match level {
        None => None,
        Some(it) => {
            Some(small(it).ok_or_else(|| Error::malformed("level must be 1 to 4, or absent"))?)
        }
    };
    let read = ReadSections { marker: Marker::parse(marker)?, level, version: version(of_version) };
    Ok(command(OutlineCommand::Read(read)))
}

/// Builds the command to remove a section.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn delete(
    marker: &str,
    if_version: Option<u64>,
    request_id: Option<&str>,
) -> Result<Command, Error> {
    let marker = Marker::parse(marker)?;
    named(request_id, OutlineCommand::Delete { marker, if_version: version(if_version) })
}

/// Builds the command to read the index.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn index(max_tokens: Option<u32>) -> Result<Command, Error> {
    let budget = max_tokens.unwrap_or(INDEX_TOKENS_DEFAULT);
    if !INDEX_TOKENS.contains(&budget) {
        return Err(Error::malformed("max_tokens must be 50 to 20000; 500 when absent"));
    }
    Ok(command(OutlineCommand::Index { budget: Tokens(budget) }))
}

/// Builds the command to acquire a section.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn acquire(
    (marker, kind): (&str, Option<&str>),
    seconds: Option<u32>,
    why: Option<&str>,
    request_id: Option<&str>,
) -> Result<Command, Error> {
    let it = Acquire {
        marker: Marker::parse(marker)?,
        kind: kind.map_or(Ok(Ownership::Exclusive), Ownership::parse)?,
        ttl_ms: check_seconds(seconds)?,
        reason: reason(why)?,
    };
    named(request_id, OutlineCommand::Acquire(it))
}

/// Builds the command to own a section for longer.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn renew(
    marker: &str,
    seconds: Option<u32>,
    request_id: Option<&str>,
) -> Result<Command, Error> {
    let (marker, ttl_ms) = (Marker::parse(marker)?, check_seconds(seconds)?);
    named(request_id, OutlineCommand::Renew { marker, ttl_ms })
}

/// Builds the command to give a section back.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn release(marker: &str, request_id: Option<&str>) -> Result<Command, Error> {
    named(request_id, OutlineCommand::Release(Marker::parse(marker)?))
}

/// Builds the command to hand a section over.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn transfer(
    (marker, (to, session)): (&str, (&str, Option<&str>)),
    seconds: Option<u32>,
    why: Option<&str>,
    request_id: Option<&str>,
) -> Result<Command, Error> {
    let id = |it: &str| {
        let found = SessionId::new(it);
        found.ok_or_else(|| Error::malformed("to_session is no id of a session"))
    };
    let it = Transfer {
        marker: Marker::parse(marker)?,
        to: Owner { participant: Participant::parse(to)?, session: session.map(id).transpose()? },
        ttl_ms: check_seconds(seconds)?,
        reason: reason(why)?,
    };
    named(request_id, OutlineCommand::Transfer(it))
}

/// Builds the tasks of a participant.
pub(crate) fn assignment(it: &AssignmentForm) -> Result<Assignment, Error> {
    Ok(Assignment {
        participant: Participant::parse(&it.agent_id)?,
        tasks: lines("assignments.tasks", &it.tasks)?,
    })
}

/// Builds what a team shares.
pub(crate) fn resource(it: &ResourceForm) -> Result<Resource, Error> {
    Ok(Resource {
        name: Line::parse("shared_resources.name", &it.name)?,
        value: Line::parse("shared_resources.value", &it.value)?,
    })
}

/// Assignments, blockers and resources, as far as they change.
type CoordinationForms =
    (Option<Vec<AssignmentForm>>, Option<Vec<String>>, Option<Vec<ResourceForm>>);

/// Builds the command to change the coordination state.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn coordinate(
    if_version: u64,
    (assignments, blockers, resources): CoordinationForms,
    request_id: Option<&str>,
) -> Result<Command, Error> {
    let change = CoordinationChange {
        if_version,
        assignments: assignments.map(|all| all.iter().map(assignment).collect()).transpose()?,
        blockers: blockers.map(|it| lines("global_blockers", &it)).transpose()?,
        resources: resources.map(|all| all.iter().map(resource).collect()).transpose()?,
    }
    .checked()?;
    if change.is_empty() {
        return Err(Error::malformed(
            "nothing changes; send assignments, global_blockers or shared_resources",
        ));
    }
    named(request_id, OutlineCommand::Coordinate(Box::new(change)))
}

/// Builds the command to replace the content of a section by its digest.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn redact(marker: &str, why: &str, request_id: Option<&str>) -> Result<Command, Error> {
    let (marker, reason) = (Marker::parse(marker)?, Line::parse("reason", why)?);
    named(request_id, OutlineCommand::Redact { marker, reason })
}
