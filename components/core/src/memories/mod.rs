//! Memories: what a team knows for longer than a session (spec 19).
//!
//! `memory` and `content` are what is stored, `kinds` the closed lists, `id` how a memory is named.
//! `signature` and `near` are the rows by which memories are found without reading all of them;
//! `search` and `rank` order what was found, `select` chooses what a new session is told, `render` writes
//! it. `summary` proposes memories from what a session has. `lifecycle` has the rules by which memories are archived and removed.
//!
//! # Invariants
//!
//! - Who wrote a memory, in which session and when is set by the system.
//! - A signature says the same as its memory: both are written in one commit.
//! - What a new session is told is never over its budget.
//! - No rule touches a memory that is younger than its importance keeps it, unless somebody said so.

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
