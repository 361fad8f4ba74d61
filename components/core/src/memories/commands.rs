//! The operations on memories, and their replies.

use super::{
    Memory,
    content::Value,
    id::{DecisionId, MemoryId, MemoryRef},
    kinds::{Kind, Mark, Sort, Status},
    lifecycle::{LifecycleAction, Rule},
    memory::NewMemory,
    rank::Rank,
    rows::Use,
    select::Rehydrated,
    warning::MemoryWarning,
};
use crate::{
    key::Line, participant::Participant, scope::SessionId, time::Timestamp, tokens::Tokens,
};

/// An operation on the memories of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Adds memories, all or none.
    Add(Vec<NewMemory>),
    /// Reads memories, and counts that they were read.
    Read(Vec<MemoryRef>),
    /// Returns the versions of a memory that are kept, the newest first.
    History(MemoryRef),
    /// Writes the next version of a memory.
    Update(Box<UpdateMemory>),
    /// Replaces a memory by another.
    Supersede {
        /// The memory that no longer holds.
        id: MemoryRef,
        /// The memory that holds instead.
        by: MemoryRef,
    },
    /// Marks memories, all or none.
    Mark {
        /// The memories.
        ids: Vec<MemoryRef>,
        /// The mark.
        mark: Mark,
    },
    /// Finds memories.
    Search(Box<SearchMemories>),
    /// Returns what a new session should know.
    Rehydrate(RehydrateMemories),
    /// Archives and removes memories by the rules.
    Maintain {
        /// True if the actions are only listed, not done.
        is_dry_run: bool,
    },
    /// Returns the decisions as a text, archived ones as well.
    DecisionLog {
        /// The most decisions.
        limit: u32,
    },
    /// Replaces the text of a memory by its digest, in all its versions.
    Redact {
        /// The memory.
        id: MemoryRef,
        /// The reason.
        reason: Line,
    },
}

/// The next version of a memory. What is `None` stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateMemory {
    /// The memory.
    pub id: MemoryRef,
    /// Only if it has this version.
    pub if_version: Option<u32>,
    /// Its title.
    pub title: Option<String>,
    /// Members of its content; `None` removes one.
    pub content: Vec<(String, Option<Value>)>,
    /// Its tags, all of them.
    pub tags: Option<Vec<String>>,
    /// Its importance.
    pub importance: Option<u8>,
    /// The status of an issue.
    pub status: Option<Status>,
    /// The instant from which it does not exist; `Some(None)` for never.
    pub expires_at: Option<Option<Timestamp>>,
}

impl UpdateMemory {
    /// Returns true if it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.status.is_none() && self.has_no_words()
    }

    /// Returns true if it changes the status and nothing else.
    pub(crate) fn is_of_status(&self) -> bool {
        self.status.is_some() && self.has_no_words()
    }

    fn has_no_words(&self) -> bool {
        self.title.is_none()
            && self.content.is_empty()
            && self.tags.is_none()
            && self.importance.is_none()
            && self.expires_at.is_none()
    }
}

/// A search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchMemories {
    /// The words to find; all memories when `None`.
    pub query: Option<String>,
    /// Only this kind.
    pub kind: Option<Kind>,
    /// Only with all of these tags.
    pub tags: Vec<String>,
    /// Only of this importance or a higher one.
    pub importance_min: Option<u8>,
    /// Only what happened after this instant.
    pub after: Option<Timestamp>,
    /// Only what happened before this instant.
    pub before: Option<Timestamp>,
    /// Only issues of this status.
    pub status: Option<Status>,
    /// Archived memories in place of others.
    pub is_archived: bool,
    /// Only what was added in this session.
    pub session: Option<SessionId>,
    /// Only what this participant added.
    pub participant: Option<Participant>,
    /// The order; by relevance with a query, else by time, when `None`.
    pub sort: Option<Sort>,
    /// The most memories.
    pub limit: u32,
    /// The end of the previous page.
    pub cursor: Option<Cursor>,
}

/// The place of a found memory in the order of its search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    /// The first criterion of the order; higher values come first.
    pub key: u64,
    /// The time of the memory.
    pub at: u64,
    /// The number of the memory.
    pub number: u64,
}

/// A request for what a new session should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RehydrateMemories {
    /// The task of the session.
    pub task: Option<String>,
    /// The budget.
    pub budget: Tokens,
    /// True to include unverified memories.
    pub with_unverified: bool,
}

/// A memory as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryRead {
    /// The memory.
    pub memory: Memory,
    /// The count of its reads, this one included.
    pub uses: Use,
    /// The ids of the memory that it belongs to, of those that it replaced, and of the one that
    /// replaced it.
    pub links: Links,
}

/// The ids of memories that a memory is linked with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Links {
    /// The memory that it belongs to.
    pub parent: Option<MemoryId>,
    /// The memories that it replaced.
    pub supersedes: Vec<MemoryId>,
    /// The memory that replaced it.
    pub superseded_by: Option<MemoryId>,
}

/// A memory that was added, or was there already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// Its id.
    pub id: MemoryId,
    /// The second id of a decision.
    pub decision: Option<DecisionId>,
    /// Its version.
    pub version: u32,
    /// False if a memory with the same words was there.
    pub is_new: bool,
    /// Warnings about it.
    pub warnings: Vec<MemoryWarning>,
}

/// A memory that was found, without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundMemory {
    /// The memory.
    pub memory: Memory,
    /// The count of its reads.
    pub uses: Use,
    /// The parts of its rank.
    pub rank: Rank,
    /// The part of its content that has most in common with the query.
    pub snippet: String,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundMemories {
    /// The memories, in their order.
    pub found: Vec<FoundMemory>,
    /// The number of memories that match.
    pub total: u32,
    /// The start of the next page; `None` if this is the last.
    pub next: Option<Cursor>,
}

/// The result of maintenance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Maintained {
    /// The actions that were done, or would be.
    pub actions: Vec<MaintainedMemory>,
    /// True if there is more to do.
    pub has_more: bool,
    /// True if nothing was done.
    pub is_dry_run: bool,
}

/// An action of maintenance on a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaintainedMemory {
    /// The action.
    pub action: LifecycleAction,
    /// The memory.
    pub id: MemoryId,
    /// The rule.
    pub rule: &'static Rule,
}

/// The reply to an operation on memories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The reply to `Add`.
    Added(Vec<Added>),
    /// The reply to `Read`.
    Read(Vec<MemoryRead>),
    /// The reply to `History`.
    History(Vec<MemoryRead>),
    /// The reply to `Update`.
    Updated {
        /// The memory.
        id: MemoryId,
        /// Its version.
        version: u32,
    },
    /// The reply to `Supersede`.
    Superseded {
        /// The memory that no longer holds.
        id: MemoryId,
        /// The memory that holds instead.
        by: MemoryId,
    },
    /// The reply to `Mark`.
    Marked {
        /// The memories.
        ids: Vec<MemoryId>,
        /// The mark.
        mark: Mark,
    },
    /// The reply to `Search`.
    Found(FoundMemories),
    /// The reply to `Rehydrate`.
    Rehydrated(Box<Rehydrated>),
    /// The reply to `Maintain`.
    Maintained(Maintained),
    /// The reply to `DecisionLog`.
    DecisionLog {
        /// The text.
        text: String,
        /// The number of decisions in it.
        count: u32,
        /// The number of all decisions.
        total: u32,
    },
    /// The reply to `Redact`.
    Redacted {
        /// The memory.
        id: MemoryId,
        /// The digests of its versions.
        digests: Vec<String>,
    },
}
