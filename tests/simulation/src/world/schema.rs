//! Checks replies against their published JSON Schemas, strictly: members outside the schema are
//! errors. Patterns and lengths are not checked.

use std::sync::LazyLock;

use serde_json::Value;
use shared_context_codec as codec;

/// The published description of all actions.
static DESCRIBED: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(codec::describe()).unwrap_or_default());

/// Checks the reply to an action.
///
/// # Errors
///
/// The mismatch and its path.
pub(super) fn check(action: &str, reply: &Value) -> Result<(), String> {
    fits(&DESCRIBED["actions"][action]["reply"], reply).map_err(|what| format!("reply{what}"))
}

fn fits(schema: &Value, value: &Value) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.trim_start_matches("#/$defs/");
        return fits(&DESCRIBED["$defs"][name], value);
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let mut misfits = any.iter().map(|it| fits(it, value));
        return misfits.find(Result::is_ok).unwrap_or_else(|| Err(format!(" is {value}")));
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(it) if it.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is_kind = |it: &Value| it == kind || it == "number" && kind == "integer";
    let is_one = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(is_kind),
        Value::Null => !schema.is_null() && *schema != Value::Bool(false),
        one => is_kind(one),
    };
    let is_less = value.as_f64() < schema["minimum"].as_f64();
    let is_more = schema["maximum"].as_f64().is_some_and(|it| value.as_f64() > Some(it));
    if !is_one || value.is_number() && (is_less || is_more) {
        return Err(format!(" is {value}"));
    }
    if let (Some(schema), Value::Array(items)) = (schema.get("items"), value) {
        for (nth, it) in items.iter().enumerate() {
            fits(schema, it).map_err(|what| format!("[{nth}]{what}"))?;
        }
    }
    let Some(members) = value.as_object() else { return Ok(()) };
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    if let Some(name) = required.into_iter().find(|it| !members.contains_key(*it)) {
        return Err(format!(" has no {name}"));
    }
    let (own, others) = (schema.get("properties"), schema.get("additionalProperties"));
    for (name, it) in members {
        match own.and_then(|own| own.get(name)).or(others) {
            Some(schema) => fits(schema, it).map_err(|what| format!(".{name}{what}"))?,
            None if own.is_none() => {}
            None => return Err(format!(" has a member {name} that is not published")),
        }
    }
    Ok(())
}
