//! Memories: the knowledge of a team that outlives a session (spec 19).
//!
//! `memory` and `content` are the stored data, `kinds` the closed lists, `id` the names of
//! memories. `signature` and `near` are the rows by which memories are found without reading all of
//! them. `search` and `rank` order the results. `select` chooses the memories for a new session,
//! and `render` writes them as text. `summary` proposes memories from the data of a session.
//! `lifecycle` has the rules by which memories are archived and removed.
//!
//! # Invariants
//!
//! - The system sets the participant, the session and the time of a memory.
//! - A signature says the same as its memory: both are written in one commit.
//! - The text for a new session never exceeds its budget.
//! - No rule changes a memory that its importance still protects, except on an explicit mark or
//!   expiry.

pub(crate) mod commands;
pub(crate) mod lifecycle;
pub(crate) mod near;
pub(crate) mod render;
pub(crate) mod rows;
pub(crate) mod search;
pub(crate) mod select;
pub(crate) mod signature;
pub mod summary;
pub(crate) mod warning;

mod content;
mod id;
mod kinds;
mod memory;
mod origins;
mod rank;

pub use commands::{
    Added, Command, Cursor, FoundMemories, FoundMemory, Links, Maintained, MaintainedMemory,
    MemoryRead, RehydrateMemories, Reply, SearchMemories, UpdateMemory,
};
pub use content::{Content, MEMBER_CHARS_MAX, TEXTS_MAX, Value};
pub use id::{DecisionId, MemoryId, MemoryRef};
pub use kinds::{Holds, Kind, Mark, MemberRule, Severity, Sort, Status};
pub use lifecycle::{ACTIONS_MAX, Condition, LifecycleAction, RULES, Rule};
pub use memory::{
    IMPORTANCE, IMPORTANCE_DEFAULT, MEMORY_BYTES_MAX, Memory, MemorySource, NewMemory,
    RedactedMemory, SUPERSEDES_MAX, TAG_CHARS_MAX, TAGS_MAX, TITLE_CHARS_MAX, check_importance,
    checked_tags,
};
pub(crate) use memory::{REDACTED_TITLE, VERSIONS_KEPT, check_size, check_status, check_title};
pub use origins::{ORIGINS_MAX, Origins};
pub use rank::Rank;
pub use rows::{SessionUse, Use};
pub use search::{
    QUERY_BYTES_MAX, SEARCH_LIMIT_DEFAULT, SEARCH_LIMIT_MAX, SNIPPET_CHARS_MAX, check_query,
};
pub use select::{
    Continuity, Part, REHYDRATE_TOKENS, REHYDRATE_TOKENS_DEFAULT, Rehydrated, ToldPart,
};
pub use warning::{MemoryWarning, MemoryWarningCode};
