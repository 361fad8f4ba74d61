//! Rules of vendors of clients and models.
//!
//! Each rule names its source, and has an example that breaks it. A rule therefore cannot pass
//! without checking anything.

use serde_json::{Value, json};
use shared_context_core::Role;

use super::{super::Format, arguments, names, tools};

mod anthropic;
mod mcp;
mod openai;

/// A rule for tools.
struct Rule {
    says: &'static str,
    source: &'static str,
    holds: fn(&Value) -> bool,
    /// A location in a definition, and the value that breaks the rule there.
    broken_by: (&'static str, fn() -> Value),
}

/// Relevant keywords that both strict modes support.
const KEYWORDS: &[&str] =
    &["type", "properties", "required", "additionalProperties", "items", "enum", "description"];

#[track_caller]
fn check(format: Format, rules: &[Rule]) {
    for rule in rules {
        for tool in [Role::Agent, Role::Orchestrator].iter().flat_map(|it| tools(format, *it)) {
            let Rule { says, source, .. } = rule;
            assert!((rule.holds)(&tool), "{says} ({source}): {tool}");
            let mut broken = tool.clone();
            let (place, value) = &rule.broken_by;
            let (parent, name) = place.rsplit_once('/').unwrap();
            broken.pointer_mut(parent).unwrap()[name] = value();
            assert!(!(rule.holds)(&broken), "{says}: not seen in {broken}");
        }
    }
}

/// Returns a schema and all schemas below its `properties` and `items`.
fn schemas(schema: &Value) -> Vec<&Value> {
    let below = schema["properties"].as_object().into_iter().flat_map(|it| it.values());
    let below = below.chain(schema.get("items"));
    std::iter::once(schema).chain(below.flat_map(schemas)).collect()
}

/// Returns the schemas in `schema` that have properties or should have.
fn objects(schema: &Value) -> impl Iterator<Item = &Value> {
    schemas(schema)
        .into_iter()
        .filter(|it| it["type"] == "object" || it.get("properties").is_some())
}

fn members(object: &Value) -> Vec<(&String, &Value)> {
    object["properties"].as_object().into_iter().flatten().collect()
}

fn required(object: &Value) -> Vec<&str> {
    object.get("required").map(names).unwrap_or_default()
}

fn depth(schema: &Value) -> usize {
    let below = members(schema).into_iter().map(|(_, it)| it).chain(schema.get("items"));
    1 + below.map(depth).max().unwrap_or(0)
}

fn has_only(value: &Value, known: &[&str]) -> bool {
    value.as_object().unwrap().keys().all(|it| known.contains(&it.as_str()))
}

fn is_plain_name(name: &Value) -> bool {
    name.as_str().is_some_and(|it| {
        (1..=64).contains(&it.len())
            && it.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
    })
}

fn with_minimum() -> Value {
    json!({"type": "integer", "minimum": 0})
}

/// Returns an object schema with `count` properties.
fn wide(count: usize, property: &Value) -> Value {
    let properties = (0..count).map(|it| (format!("p{it}"), property.clone()));
    json!({
        "type": "object",
        "properties": Value::Object(properties.collect()),
        "required": [],
        "additionalProperties": false,
    })
}

/// Returns an object schema of `levels` levels.
fn deep(levels: usize) -> Value {
    (0..levels).fold(
        json!({"type": "string"}),
        |inner, _| json!({"type": "object", "properties": {"a": inner}}),
    )
}
