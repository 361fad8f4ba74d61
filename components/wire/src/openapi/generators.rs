//! Adapts the document to programs that generate clients from it.
//!
//! Such programs turn a schema into a type. They know one form of each thing: names of types in
//! `PascalCase`, integers with a size, objects without conditions. What a type cannot say, such as
//! that a member is required only beside a certain value of another, is in the descriptions.

use serde_json::{Map, Value, json};

const REFERENCE: &str = "#/components/schemas/";

/// Adapts the schemas in `document`, and the references to them.
pub(super) fn adapt(document: &mut Value) {
    rename_references(document);
    let schemas = document["components"]["schemas"].take();
    let mut renamed = Map::new();
    if let Value::Object(schemas) = schemas {
        for (name, schema) in schemas {
            renamed.insert(type_name(&name), schema);
        }
    }
    document["components"]["schemas"] = renamed.into();
    adapt_schemas(document, false);
}

/// Returns the name of a type in `PascalCase`; `name` is in `snake_case`.
fn type_name(name: &str) -> String {
    let capitalized = name.split('_').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    });
    capitalized.collect()
}

/// Renames the schemas in references, also in those of discriminators.
fn rename_references(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(name) = text.strip_prefix(REFERENCE) {
                *text = format!("{REFERENCE}{}", type_name(name));
            }
        }
        Value::Object(members) => members.values_mut().for_each(rename_references),
        Value::Array(items) => items.iter_mut().for_each(rename_references),
        _ => {}
    }
}

/// Adapts every schema in `value`. Examples are not schemas, nor is a map of properties, whose
/// members may have the names of keywords.
fn adapt_schemas(value: &mut Value, is_map_of_schemas: bool) {
    match value {
        Value::Object(members) => {
            if !is_map_of_schemas {
                adapt_schema(members);
            }
            for (name, member) in members {
                let is_data = matches!(&**name, "example" | "examples" | "const" | "enum");
                if is_map_of_schemas || !is_data {
                    adapt_schemas(member, !is_map_of_schemas && name == "properties");
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|it| adapt_schemas(it, false)),
        _ => {}
    }
}

fn adapt_schema(schema: &mut Map<String, Value>) {
    // A condition on an object is not part of its type.
    for condition in ["if", "then", "else"] {
        schema.remove(condition);
    }
    if schema.contains_key("properties") {
        schema.remove("anyOf");
    }
    // Any JSON. Some programs take an object for a schema, and nothing else.
    if schema.get("items") == Some(&json!(true)) {
        schema.insert("items".to_owned(), json!({}));
    }
    // A choice of texts or nothing.
    if let Some(Value::Array(choice)) = schema.get("enum")
        && choice.contains(&Value::Null)
    {
        let texts: Vec<Value> = choice.iter().filter(|it| !it.is_null()).cloned().collect();
        schema.remove("enum");
        schema.remove("type");
        let choice = json!([{"type": "string", "enum": texts}, {"type": "null"}]);
        schema.insert("anyOf".to_owned(), choice);
    }
    for (kind, format) in [("integer", "int64"), ("number", "double")] {
        let is_of_kind = match schema.get("type") {
            Some(Value::Array(kinds)) => kinds.contains(&json!(kind)),
            Some(Value::String(it)) => it == kind,
            _ => false,
        };
        if is_of_kind && !schema.contains_key("format") {
            schema.insert("format".to_owned(), json!(format));
        }
    }
    // A choice among one schema is that schema.
    if let Some(Value::Array(choice)) = schema.get("anyOf")
        && let [Value::Object(only)] = &choice[..]
    {
        let only = only.clone();
        schema.remove("anyOf");
        schema.extend(only);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mut schema: Value, expected: &Value) {
        adapt_schemas(&mut schema, false);
        assert_eq!(schema, *expected);
    }

    /// A generator for Python rejected the whole document because of `"items": true`, and lost the
    /// JSON tool because arrays in a condition had no items.
    #[test]
    fn schemas_become_what_generators_know() {
        check(json!({"type": "array", "items": true}), &json!({"type": "array", "items": {}}));
        check(
            json!({"properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}]}),
            &json!({"properties": {"a": {"type": "string"}}}),
        );
        check(
            json!({"properties": {"if": {"type": "integer"}}, "if": {}, "then": {}, "else": {}}),
            &json!({"properties": {"if": {"type": "integer", "format": "int64"}}}),
        );
        check(
            json!({"type": ["integer", "null"], "example": {"type": "integer"}}),
            &json!({"type": ["integer", "null"], "format": "int64", "example": {"type": "integer"}}),
        );
        check(
            json!({"type": ["string", "null"], "enum": ["a", null]}),
            &json!({"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}),
        );
        check(
            json!({"anyOf": [{"$ref": "#/a"}], "description": "A."}),
            &json!({"$ref": "#/a", "description": "A."}),
        );
    }

    #[test]
    fn schemas_get_the_names_of_types() {
        let mut document = json!({
            "components": {"schemas": {
                "write_reply": {},
                "delta": {"$ref": "#/components/schemas/write_reply"},
            }},
        });
        adapt(&mut document);
        assert_eq!(
            document["components"]["schemas"],
            json!({"WriteReply": {}, "Delta": {"$ref": "#/components/schemas/WriteReply"}}),
        );
    }
}
