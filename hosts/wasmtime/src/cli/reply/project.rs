//! Replies about projects.

use serde::Deserialize;

use super::{
    super::output::{BOLD, Output, grouped, instant, plain, table},
    Human,
    memories::memories,
    session::facts,
};

/// A project without its memories.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Project {
    #[serde(rename = "project_id")]
    pub(crate) id: String,
    incarnation: u64,
    credential_epoch: u64,
    created_at: String,
    changed_at: String,
    is_archived: bool,
    memories_max: u64,
    pub(crate) memory_count: u64,
    memory_bytes: u64,
    session_count: u64,
    pub(crate) revision: u64,
    /// The place after which an unfinished import goes on.
    pub(crate) import_after: Option<u64>,
}

/// A page of projects.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Projects {
    pub(crate) projects: Vec<Project>,
    pub(crate) next_after: Option<String>,
}

/// The sessions that worked on a project.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ProjectSessions {
    sessions: Vec<ProjectSession>,
}

/// A session that worked on a project.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct ProjectSession {
    session_id: String,
    first_at: String,
    last_at: String,
}

impl Human for ProjectSessions {
    /// Formats the sessions as a table.
    fn human(&self, output: Output) -> String {
        if self.sessions.is_empty() {
            return "no session worked on it yet\n".to_owned();
        }
        let row = |it: &ProjectSession| {
            vec![it.session_id.clone(), instant(&it.first_at), instant(&it.last_at)]
        };
        let header = ["SESSION", "FIRST (UTC)", "LAST (UTC)"];
        table(output, &header, &self.sessions.iter().map(row).collect::<Vec<_>>())
    }
}

impl Project {
    fn status(&self) -> &'static str {
        match (self.import_after, self.is_archived) {
            (Some(_), _) => "importing",
            (None, true) => "archived",
            (None, false) => "active",
        }
    }
}

impl Human for Project {
    /// Formats the project's properties, one per line.
    fn human(&self, _: Output) -> String {
        let Self { incarnation, credential_epoch, revision, .. } = self;
        let kib = grouped(self.memory_bytes.div_ceil(1 << 10));
        let count = memories(self.memory_count);
        format!("{BOLD}{}{BOLD:#} {}\n\n", plain(&self.id), self.status())
            + &facts(&[
                ("memories", format!("{count} of {}, {kib} KiB", grouped(self.memories_max))),
                ("sessions", format!("{} worked on it", grouped(self.session_count))),
                ("created", format!("{} UTC", instant(&self.created_at))),
                ("changed", format!("{} UTC, revision {revision}", instant(&self.changed_at))),
                ("credentials", format!("incarnation {incarnation}, epoch {credential_epoch}")),
            ])
    }
}

impl Human for Projects {
    /// Formats the projects as a table.
    fn human(&self, output: Output) -> String {
        let row = |it: &Project| {
            vec![
                it.id.clone(),
                it.status().to_owned(),
                grouped(it.memory_count),
                grouped(it.session_count),
                instant(&it.changed_at),
            ]
        };
        let header = ["PROJECT", "STATUS", "#MEMORIES", "#SESSIONS", "CHANGED (UTC)"];
        table(output, &header, &self.projects.iter().map(row).collect::<Vec<_>>())
    }
}
