//! A whole session or project as one value that can be moved to another host (spec 8.5.3, 15.6).
//!
//! It contains their state, but no credentials, audit trail or request ids.

use std::collections::BTreeMap;

use crate::{
    budget::Omission,
    config::{Config, ProjectConfig},
    context::kept::KeptContext,
    handoffs::Handoff,
    key::Key,
    kv::Revision,
    memories::{DecisionId, Memory, Origins, SessionUse, Use},
    outline::{Section, SectionVersion},
    ownership::CoordinationState,
    packets::kept::KeptPackets,
    rounds::RoundHistory,
    scope::{ProjectId, SessionId},
    store::{Entry, history::Version, snapshot::Snapshot},
    time::Timestamp,
};

/// The most by which the clock of the exporting host may be ahead, in milliseconds: a
/// day.
pub(crate) const AHEAD_MS_MAX: u64 = 86_400_000;

/// The highest revision, round or number of a memory that a document may name. Numbers up to this
/// are exact in every JSON reader (RFC 8259 §6), with room for later ones.
pub(crate) const NUMBER_MAX: u64 = 1 << 52;

/// An exported session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Portable {
    /// The id of the exported session.
    pub session: SessionId,
    /// True if the session is read-only.
    pub is_archived: bool,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// Its configuration.
    pub config: Config,
    /// Its entries, by key.
    pub entries: Vec<Entry>,
    /// Their earlier versions, by key, oldest first.
    pub history: Vec<Version>,
    /// Its snapshots, oldest first.
    pub snapshots: Vec<Snapshot>,
    /// The retained history of its rounds.
    pub rounds: RoundHistory,
    /// Its records of the context pipeline.
    pub context: KeptContext,
    /// Its packets.
    pub packets: KeptPackets,
    /// The values of all versions, by key and the revision that wrote them.
    pub values: BTreeMap<(Key, Revision), String>,
}

/// A page of an exported project. Most projects have one.
///
/// All that an export carries has a place: a memory its number, then the sections follow one after the
/// other, then the handoffs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortableProject {
    /// The id of the exported project.
    pub project: ProjectId,
    /// Its revision, which is the same in all pages.
    pub revision: Revision,
    /// The origins of its memories' ids.
    pub origins: Origins,
    /// True if it is read-only.
    pub is_archived: bool,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// Its configuration.
    pub config: ProjectConfig,
    /// The last number that was given to a memory.
    pub last_memory: u64,
    /// The second id of the newest decision.
    pub last_decision: Option<DecisionId>,
    /// The number of sessions that ever worked on it.
    pub session_count: u32,
    /// The number of sections in all pages.
    pub section_count: u32,
    /// The number of handoffs in all pages.
    pub handoff_count: u32,
    /// The activity of its sessions, by their ids; in the first page.
    pub sessions: Vec<PortableSession>,
    /// The coordination state of its team, if it was ever written; in the first page.
    pub coordination: Option<CoordinationState>,
    /// The place where the page before ended; 0 in the first page.
    pub after: u64,
    /// The place after which the next page begins; `None` in the last page.
    pub next: Option<u64>,
    /// Its memories, by their numbers.
    pub memories: Vec<PortableMemory>,
    /// Its sections, by the bytes of their markers.
    pub sections: Vec<PortableSection>,
    /// Its handoffs, by their numbers.
    pub handoffs: Vec<PortableHandoff>,
}

/// An exported memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortableMemory {
    /// The memory.
    pub memory: Memory,
    /// The count of its reads.
    pub uses: Use,
    /// Its earlier versions, the oldest first.
    pub versions: Vec<Memory>,
}

/// An exported section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortableSection {
    /// The section.
    pub section: Section,
    /// Its content; empty if it was redacted.
    pub content: String,
    /// Its earlier versions, the oldest first.
    pub versions: Vec<SectionVersion>,
}

/// An exported handoff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortableHandoff {
    /// The handoff, which is no longer open.
    pub handoff: Handoff,
    /// Its package as canonical JSON; `None` if it was redacted.
    pub package: Option<String>,
    /// The pieces that did not fit the package.
    pub omitted: Vec<Omission>,
}

/// A session that worked on an exported project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortableSession {
    /// Its id.
    pub session: SessionId,
    /// Its activity.
    pub did: SessionUse,
}
