//! Computes matching digests for a document, as a forger would. Written from the description of
//! the format, independent of the code that reads it.

use serde_json::{Map, Value};
use shared_context_core::digest::sha256;

/// Returns the exported session `document` with digests that match its items.
pub fn sealed(mut document: Value) -> Value {
    let of = |item: &Value| Value::from(sha256(serde_jcs::to_string(item).unwrap_or_default()));
    let mut digests = Map::new();
    for section in ["config", "entries", "history", "snapshots", "rounds", "context", "packets"] {
        let of_section = match document.get(section) {
            Some(Value::Array(items)) => items.iter().map(of).collect(),
            // Present only if there is something in it.
            None if matches!(section, "rounds" | "context" | "packets") => continue,
            other => other.map(of).unwrap_or_default(),
        };
        digests.insert(section.to_owned(), of_section);
    }
    let Some(members) = document.as_object_mut() else { return document };
    members.insert("digests".to_owned(), digests.into());
    let mut outline = Map::new();
    for name in ["format", "session_id", "status", "created_at", "digests"] {
        outline.extend(members.get(name).map(|it| (name.to_owned(), it.clone())));
    }
    let values = members.get("values").and_then(Value::as_object).into_iter().flatten();
    outline.insert("values".to_owned(), values.map(|(name, _)| name.as_str()).collect());
    members.insert("digest".to_owned(), of(&outline.into()));
    document
}
