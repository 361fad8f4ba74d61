//! The free texts of a package, and the memories that it names (spec 15.6, 21.4).
//!
//! Names, ids, times and other members that the system writes are left out: the reason for a
//! redaction may repeat those.

use serde_json::Value;

/// The parts of a package that agents and projects fill with text.
const PARTS: [&str; 7] = [
    "/agent_specific_notes",
    "/compacted_context",
    "/context_summary",
    "/handoff_metadata/summary",
    "/handoff_metadata/task",
    "/next_actions",
    "/work_products",
];
/// The members in those parts that identify something.
const NAMES: [&str; 11] = [
    "at",
    "authority",
    "by",
    "decision_id",
    "digest",
    "id",
    "kind",
    "part",
    "session",
    "severity",
    "timestamp",
];
/// The lists of a package that have memories. Texts of agents in them are no objects.
const MEMORIES: [&str; 4] = [
    "/agent_specific_notes/known_pitfalls",
    "/context_summary/critical_decisions",
    "/context_summary/current_task_state",
    "/context_summary/open_issues",
];

/// Returns the free texts of a package.
pub(crate) fn of_package(package: &str) -> Vec<String> {
    let document: Value = serde_json::from_str(package).unwrap_or_default();
    let mut texts = Vec::new();
    for part in PARTS.iter().filter_map(|it| document.pointer(it)) {
        collect(part, &mut texts);
    }
    texts
}

/// Adds the texts within a value.
fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(it) => texts.push(it.clone()),
        Value::Array(all) => all.iter().for_each(|it| collect(it, texts)),
        Value::Object(members) => {
            for (_, it) in members.iter().filter(|it| !NAMES.contains(&it.0.as_str())) {
                collect(it, texts);
            }
        }
        _ => {}
    }
}

/// Returns the ids of the memories in a package; an empty one for a memory without an id.
pub(crate) fn memory_ids(package: &str) -> Vec<String> {
    let document: Value = serde_json::from_str(package).unwrap_or_default();
    let lists = MEMORIES.iter().filter_map(|it| document.pointer(it)?.as_array());
    let memories = lists.flatten().filter_map(Value::as_object);
    let id = |it: &serde_json::Map<String, Value>| {
        it.get("id").and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    memories.map(id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ids_are_no_free_text() {
        let package = r#"{"context_summary":{"executive_summary":{"by":"orchestrator","text":"a shop"},
            "critical_decisions":[{"id":"m-1","by":"subagent:a","content":{"decision":"use SQL"}}]},
            "handoff_metadata":{"handoff_id":"HND-1","summary":"all done"},
            "agent_specific_notes":{"known_pitfalls":["it is slow",{"title":"Pools","id":"m-2"}]}}"#;
        assert_eq!(of_package(package), ["it is slow", "Pools", "use SQL", "a shop", "all done"]);
        assert_eq!(memory_ids(package), ["m-2", "m-1"]);
        assert!(of_package("no JSON").is_empty());
    }
}
