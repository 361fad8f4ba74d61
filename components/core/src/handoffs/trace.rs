//! What a decision is linked with, over the sessions of a project (spec 21.4).

use super::handoff::Handoff;
use crate::{
    closed_list::closed_list,
    memories::{Memory, MemoryId},
};

/// The most memories of a trace.
pub(crate) const STEPS_MAX: usize = 256;

closed_list! {
    /// How a memory is linked with the one before it in a trace.
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
    /// How it was reached.
    pub link: Link,
    /// From which memory.
    pub from: Option<MemoryId>,
}

/// What a decision is linked with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The memories, from the one that was asked for.
    pub steps: Vec<TraceStep>,
    /// The handoffs whose packages had one of them, or that added one, oldest first.
    pub handoffs: Vec<Handoff>,
    /// The ids of the sessions that are named, sorted.
    pub sessions: Vec<String>,
    /// True if there is more.
    pub is_truncated: bool,
}
