//! Replies about who owns the sections of an outline, and what a team shares about its work.

use std::fmt::Write as _;

use serde::Deserialize;

use super::{
    super::output::{BOLD, DIMMED, GREEN, Output, instant, plain, table},
    Human,
    session::facts,
};

/// A participant of a session.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Owner {
    agent_id: String,
    session_id: Option<String>,
}

/// The ownership of a section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Lease {
    pub(super) owner: Owner,
    ownership: String,
    expires_at: String,
    previous_owner: Option<Owner>,
    #[serde(default)]
    reason: String,
}

/// Reply of `acquire`, `renew` and `transfer`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct LeasedSection {
    marker: String,
    lease: Lease,
    revision: u64,
}

/// Reply of `release`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ReleasedSection {
    released_section: String,
    revision: u64,
}

/// Reply of `coordination` and `coordinate`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Coordination {
    active_agents: Vec<String>,
    section_ownership: Vec<Held>,
    assignments: Vec<Assignment>,
    global_blockers: Vec<String>,
    shared_resources: Vec<Resource>,
    sync_version: u64,
    last_sync: String,
}

/// A section that is owned.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Held {
    marker: String,
    lease: Lease,
}

/// The tasks of a participant.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Assignment {
    agent_id: String,
    tasks: Vec<String>,
}

/// Something that the team shares.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Resource {
    name: String,
    value: String,
}

impl Owner {
    /// Returns the owner as text, as in `subagent:impl of ticket-7`.
    pub(super) fn text(&self) -> String {
        let Self { agent_id, session_id } = self;
        let session = session_id.as_ref().map_or(String::new(), |it| format!(" of {it}"));
        format!("{agent_id}{session}")
    }
}

impl Lease {
    /// Returns the owner, the kind, the end and the reason as text.
    pub(super) fn text(&self) -> String {
        let Self { owner, ownership, expires_at, previous_owner, reason } = self;
        let mut text = format!("{} ({ownership}) until {} UTC", owner.text(), instant(expires_at));
        if let Some(it) = previous_owner {
            let _ = write!(text, ", before that by {}", it.text());
        }
        if !reason.is_empty() {
            let _ = write!(text, ": {reason}");
        }
        text
    }
}

impl Human for LeasedSection {
    fn human(&self, _: Output) -> String {
        let Self { marker, lease, revision } = self;
        let (marker, lease) = (plain(marker), lease.text());
        let lease = plain(&lease);
        format!(
            "{GREEN}✓{GREEN:#} {BOLD}{marker}{BOLD:#} is owned by {lease}\n\
             {DIMMED}  revision {revision}{DIMMED:#}\n"
        )
    }
}

impl Human for ReleasedSection {
    fn human(&self, _: Output) -> String {
        let Self { released_section, revision } = self;
        let marker = plain(released_section);
        format!("{GREEN}✓{GREEN:#} {BOLD}{marker}{BOLD:#} released, revision {revision}\n")
    }
}

impl Human for Coordination {
    /// Formats the state: its version, then a table for each list that is not empty.
    fn human(&self, output: Output) -> String {
        let owned: Vec<Vec<String>> = self
            .section_ownership
            .iter()
            .map(|Held { marker, lease }| {
                let Lease { owner, ownership, expires_at, reason, .. } = lease;
                let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
                let (owner, how) = (owner.text(), format!("{ownership}{why}"));
                vec![marker.clone(), owner, instant(expires_at), how]
            })
            .collect();
        let tasks: Vec<Vec<String>> = self
            .assignments
            .iter()
            .map(|it| vec![it.agent_id.clone(), it.tasks.join("; ")])
            .collect();
        let blockers: Vec<Vec<String>> =
            self.global_blockers.iter().map(|it| vec![it.clone()]).collect();
        let shared: Vec<Vec<String>> = self
            .shared_resources
            .iter()
            .map(|it| vec![it.name.clone(), it.value.clone()])
            .collect();
        let agents = match &*self.active_agents {
            [] => "none".to_owned(),
            agents => plain(&agents.join(", ")).into_owned(),
        };
        let mut text = facts(&[
            ("version", format!("{} at {} UTC", self.sync_version, instant(&self.last_sync))),
            ("active", agents),
        ]);
        let tables: [(&[&str], Vec<Vec<String>>); 4] = [
            (&["SECTION", "OWNER", "UNTIL (UTC)", "~OWNERSHIP"], owned),
            (&["PARTICIPANT", "~TASKS"], tasks),
            (&["~BLOCKS EVERYONE"], blockers),
            (&["SHARED", "~WHERE"], shared),
        ];
        for (header, rows) in tables.iter().filter(|it| !it.1.is_empty()) {
            text.push('\n');
            text.push_str(&table(output, header, rows));
        }
        text
    }
}
