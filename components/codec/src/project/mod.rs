//! Projects: their actions and replies.

mod actions;
pub(crate) mod document;
mod handoff_item;
mod memory_item;
mod section_item;

use serde::Serialize;
use shared_context_core::reply::{ProjectInfo, ProjectSessions};

use crate::json::Time;

pub(crate) use actions::{ACTIONS, FORMS, PUBLISHED};

/// What is known of a project.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "project"))]
pub(crate) struct ProjectReply<'a> {
    /// Its id.
    project_id: &'a str,
    /// Differs for each project that ever had this id.
    incarnation: u64,
    /// Credentials of another epoch are void.
    credential_epoch: u64,
    /// When it was created, UTC.
    created_at: Time,
    /// When it last changed, UTC.
    changed_at: Time,
    /// True if it is read-only.
    is_archived: bool,
    /// The place after which its import goes on; absent when nothing is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    import_after: Option<u64>,
    /// The most memories.
    memories_max: u32,
    /// The token counter: `approximate`, or an encoding of the host.
    estimator: &'a str,
    /// How many memories it has, archived ones included.
    memory_count: u32,
    /// The bytes of its memories with their versions, of at most 64 MiB.
    memory_bytes: u64,
    /// How many sessions worked on it.
    session_count: u32,
    /// Its revision.
    revision: u64,
}

/// Confirms that a project was removed.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "delete_project_reply"))]
pub(crate) struct DeleteProjectReply<'a> {
    /// The id of the project that is gone.
    pub(crate) deleted_project: &'a str,
    /// The revision after its removal.
    pub(crate) revision: u64,
}

/// The sessions that worked on a project.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "project_sessions"))]
pub(crate) struct SessionsReply<'a> {
    /// The sessions, the one that did something last first.
    sessions: Vec<SessionForm<'a>>,
    /// How many sessions ever worked on it; the last 1,000 are known.
    total: u32,
    /// The project's revision.
    revision: u64,
}

/// A session that worked on a project.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "project_session"))]
struct SessionForm<'a> {
    /// Its id.
    session_id: &'a str,
    /// When it did something in the project for the first time, UTC.
    first_at: Time,
    /// When it did something in the project last, UTC.
    last_at: Time,
}

/// Builds the reply for the sessions of a project.
pub(crate) fn sessions(it: &ProjectSessions, revision: u64) -> SessionsReply<'_> {
    let sessions = it.sessions.iter().map(|(id, did)| SessionForm {
        session_id: id.as_str(),
        first_at: Time(did.first_at),
        last_at: Time(did.last_at),
    });
    SessionsReply { sessions: sessions.collect(), total: it.total, revision }
}

/// Builds the reply for project `it` at `revision`.
pub(crate) fn project(it: &ProjectInfo, revision: u64) -> ProjectReply<'_> {
    ProjectReply {
        project_id: it.project.as_str(),
        incarnation: it.incarnation,
        credential_epoch: it.credential_epoch,
        created_at: Time(it.created_at),
        changed_at: Time(it.changed_at),
        is_archived: it.is_archived,
        import_after: it.imported_until,
        estimator: it.config.estimator.as_str(),
        memories_max: it.config.memories_max,
        memory_count: it.memories,
        memory_bytes: it.bytes,
        session_count: it.sessions,
        revision,
    }
}
