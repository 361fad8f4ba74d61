//! Constraints of the requests about memories. Their members have names that mean something else in
//! other requests.

use serde_json::{Value, json};
use shared_context_core::{
    compact::TURNS_MAX,
    config::MEMORIES_MAX,
    item::Authority,
    key::LINE_CHARS_MAX,
    memories::{
        IMPORTANCE, Kind, Mark, QUERY_BYTES_MAX, REHYDRATE_TOKENS, SEARCH_LIMIT_MAX,
        SUPERSEDES_MAX, Sort, Status, TAG_CHARS_MAX, TAGS_MAX, TITLE_CHARS_MAX,
    },
};

use super::{
    bounds::{ONE_LINE, PARTICIPANT, SESSION_ID, SINCE_1970},
    packets::optional,
};

/// Id of a memory.
pub const MEMORY: &str = "^([0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|DEC-[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{3,9})$";
/// Tag.
const TAG: &str = "^[\\p{L}\\p{N}_.:/+#-]+$";
/// Place in the order of a search.
const CURSOR: &str = "^[0-9a-f]{1,16}[.][0-9a-f]{1,16}[.][0-9a-f]{1,16}$";
/// Digest.
const DIGEST: &str = "^sha256:[0-9a-f]{64}$";
/// The actions whose members are bound here.
const ACTIONS: [&str; 17] = [
    "create_project",
    "project_changes",
    "project_sessions",
    "export_project",
    "import_project",
    "memory_history",
    "add_memories",
    "read_memories",
    "update_memory",
    "supersede_memory",
    "mark_memories",
    "search_memories",
    "rehydrate",
    "maintain",
    "decision_log",
    "redact_memory",
    "session_summary",
];

/// Returns the constraints of the member `name` of the request for `action`.
pub(super) fn of_member(action: &str, name: &str) -> Option<Value> {
    if !ACTIONS.contains(&action) {
        return None;
    }
    let ids = |min: usize, max: usize| {
        json!({
            "minItems": min, "maxItems": max, "uniqueItems": true,
            "items": {"type": "string", "pattern": MEMORY},
        })
    };
    let words = json!({"minLength": 1, "maxLength": QUERY_BYTES_MAX, "pattern": "\\S"});
    Some(match (action, name) {
        ("create_project", "memories_max") => {
            json!({"minimum": MEMORIES_MAX.start(), "maximum": MEMORIES_MAX.end()})
        }
        ("search_memories", "limit") => json!({"minimum": 1, "maximum": SEARCH_LIMIT_MAX}),
        (_, "memories") => json!({"minItems": 1, "maxItems": 500}),
        (_, "ids") => ids(1, 100),
        (_, "id" | "by") => json!({"pattern": MEMORY}),
        (_, "mark") => json!({"enum": Mark::NAMES}),
        (_, "sort_by") => optional(&Sort::NAMES),
        (_, "query" | "task") => words,
        (_, "conversation") => json!({"minItems": 1, "maxItems": TURNS_MAX}),
        (_, "cursor") => json!({"pattern": CURSOR}),
        (_, "session_id") => json!({"pattern": SESSION_ID}),
        (_, "agent_id") => json!({"pattern": PARTICIPANT}),
        (_, "if_version") => json!({"minimum": 0, "maximum": u64::MAX}),
        (_, "importance_gte") => importance(),
        (_, "timestamp_after" | "timestamp_before") => json!({"pattern": SINCE_1970}),
        (_, "max_tokens") => {
            json!({"minimum": REHYDRATE_TOKENS.start(), "maximum": REHYDRATE_TOKENS.end()})
        }
        (_, name) => return of_memory(name),
    })
}

/// Returns the constraints of the member `name` of a definition, if the definition is of memories.
pub(super) fn of_definition(definition: &str, name: &str) -> Option<Value> {
    let line = json!({"minLength": 1, "maxLength": LINE_CHARS_MAX, "pattern": ONE_LINE});
    match (definition, name) {
        ("new_memory", "parent_memory_id") => Some(json!({"pattern": MEMORY})),
        ("new_memory", "supersedes") => Some(json!({
            "maxItems": SUPERSEDES_MAX, "items": {"type": "string", "pattern": MEMORY},
        })),
        ("new_memory", "authority") => Some(optional(&Authority::NAMES)),
        ("new_memory", "timestamp") => Some(json!({"pattern": SINCE_1970})),
        ("new_memory", name) => of_memory(name),
        ("new_memory_source", "place") => Some(line),
        ("new_memory_source", "digest") => Some(json!({"pattern": DIGEST})),
        _ => None,
    }
}

/// Returns the constraints of a member of a memory.
fn of_memory(name: &str) -> Option<Value> {
    Some(match name {
        "memory_type" => json!({"enum": Kind::NAMES}),
        "title" => json!({"minLength": 1, "maxLength": TITLE_CHARS_MAX, "pattern": ONE_LINE}),
        "tags" => json!({
            "maxItems": TAGS_MAX,
            "items": {"type": "string", "minLength": 1, "maxLength": TAG_CHARS_MAX, "pattern": TAG},
        }),
        "importance" => importance(),
        "status" => optional(&Status::NAMES),
        "expires_at" => json!({"pattern": SINCE_1970}),
        _ => return None,
    })
}

fn importance() -> Value {
    json!({"minimum": IMPORTANCE.start(), "maximum": IMPORTANCE.end()})
}
