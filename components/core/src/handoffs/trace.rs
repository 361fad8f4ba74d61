//! The links of a decision over the sessions of a project (spec 21.4).

use super::handoff::Handoff;
use crate::{
    closed_list::closed_list,
    memories::{Memory, MemoryId},
};

/// The most memories of a trace.
pub(crate) const STEPS_MAX: usize = 256;
/// The most packages that a trace reads to follow the links of packets.
pub(crate) const PACKAGES_MAX: usize = 16;

closed_list! {
    /// The link from one memory of a trace to the memory it was reached from.
    Link "link" {
        Asked "asked": "It is what was asked for.";
        SupersededBy "superseded_by": "It replaced the other.";
        Supersedes "supersedes": "The other replaced it.";
        Parent "parent": "The other belongs to it.";
    }
}

/// A memory of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceStep {
    /// The memory; `None` if it was removed.
    pub memory: Option<Memory>,
    /// Its id.
    pub id: MemoryId,
    /// The link by which it was reached.
    pub link: Link,
    /// The memory that it was reached from.
    pub from: Option<MemoryId>,
}

/// The memories, handoffs and sessions that a decision is linked with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The memories, from the one that was asked for.
    pub steps: Vec<TraceStep>,
    /// The handoffs whose packages had one of them, or that added one, and those that carried a
    /// packet that a packet of these links with, oldest first.
    pub handoffs: Vec<Handoff>,
    /// The ids of the sessions that are named, sorted.
    pub sessions: Vec<String>,
    /// True if there is more.
    pub is_truncated: bool,
}
