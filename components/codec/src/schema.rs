//! JSON Schemas of all requests and replies, generated from the types that parse and write them.
//!
//! Not part of the component, which carries `describe.json`; a test compares that with
//! [`document`].

pub mod bounds;
pub mod context;
pub mod handoffs;
pub mod memories;
pub mod packets;

use std::mem;

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde_json::{Map, Value, json};
use shared_context_core::Code;

use crate::{ActionInfo, action::Form, actions::forms, json::Time};

impl JsonSchema for Time {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date-time"})
    }

    fn inline_schema() -> bool {
        true
    }
}

/// Builds the document that [`crate::describe`] returns. Shared schemas are in `$defs`.
pub fn document() -> Value {
    let mut requests = SchemaSettings::draft2020_12().into_generator();
    let mut replies = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let described: Map<String, Value> = forms()
        .map(|(it, form)| {
            let roles: Vec<&str> = it.roles.iter().map(|role| role.as_str()).collect();
            let about = json!({
                "description": it.description,
                "roles": roles,
                "is_change": it.is_change,
                "scope": it.scope.as_str(),
                "request": request(it, form, &mut requests),
                "reply": reply(form, &mut replies),
            });
            (it.name.to_owned(), about)
        })
        .collect();
    let errors: Vec<Value> = Code::ALL
        .iter()
        .map(|it| json!({"code": it.as_str(), "description": it.description()}))
        .collect();
    let mut definitions = replies.take_definitions(true);
    // A form used in both directions has more optional members in requests.
    definitions.extend(requests.take_definitions(true));
    for (name, definition) in &mut definitions {
        bounds::bind_definition(name, definition);
    }
    let mut definitions = Value::from(definitions);
    restrict_formats(&mut definitions);
    json!({
        "tool": "shared_context",
        "actions": described,
        "errors": errors,
        "$defs": definitions,
    })
}

/// Returns the schema of an action's request.
fn request(action: &ActionInfo, form: &Form, generator: &mut SchemaGenerator) -> Value {
    let mut request: Value = (form.request_schema)(generator).into();
    restrict_formats(&mut request);
    let properties = request.get_mut("properties").and_then(Value::as_object_mut);
    for (name, schema) in properties.into_iter().flatten() {
        let bounds = packets::of_member(action.name, name);
        let bounds = bounds.or_else(|| context::of_member(action.name, name));
        let bounds = bounds.or_else(|| memories::of_member(action.name, name));
        let bounds = bounds.or_else(|| handoffs::of_member(action.name, name));
        match (name.as_str(), bounds) {
            ("action", _) => *schema = json!({"const": action.name}),
            (_, Some(bounds)) => bounds::merge(schema, bounds),
            ("keys", None) => bounds::bind_keys(action.name, schema),
            (_, None) => bounds::bind(name, schema),
        }
    }
    let required: Vec<&str> = ["action"].iter().chain(action.required).copied().collect();
    let mut request = json!({
        "type": "object",
        "properties": request.get_mut("properties").map(mem::take),
        "required": required,
        "additionalProperties": false,
    });
    bounds::require_any(action.name, &mut request);
    request
}

/// Returns the schema of an action's reply.
fn reply(form: &Form, generator: &mut SchemaGenerator) -> Value {
    let replies = (form.reply_schemas)(generator);
    match replies.as_slice() {
        [one] => one.clone().into(),
        several => any_of(several).into(),
    }
}

fn any_of(schemas: &[Schema]) -> Schema {
    json_schema!({"anyOf": schemas})
}

/// Removes formats that JSON Schema does not define, such as `uint64`.
fn restrict_formats(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            // A property named `format` has a schema here instead of a text.
            let format = members.get("format").and_then(Value::as_str);
            if format.is_some_and(|it| it != "date-time") {
                members.remove("format");
            }
            members.values_mut().for_each(restrict_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(restrict_formats),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions;

    #[test]
    fn every_member_an_action_takes_has_a_schema() {
        let document = document();
        for action in actions() {
            let properties = &document["actions"][action.name]["request"]["properties"];
            for name in action.required.iter().chain(action.optional) {
                assert!(properties.get(name).is_some(), "{} of {}", name, action.name);
            }
        }
    }

    /// The member `format` of a session document was mistaken for the JSON Schema keyword and
    /// removed, so that no exported document matched its schema.
    #[test]
    fn every_member_a_definition_requires_has_a_schema() {
        for (name, definition) in document()["$defs"].as_object().unwrap() {
            for member in definition["required"].as_array().into_iter().flatten() {
                let schema = definition["properties"].get(member.as_str().unwrap());
                assert!(schema.is_some(), "{member} of {name}");
            }
        }
    }

    /// The document and the core agree on which members of a list item of rounds require each
    /// other.
    #[test]
    fn members_that_require_each_other_are_linked() {
        use shared_context_core::{
            pattern::Participants,
            rounds::{SentDelta, Strategy},
        };
        let defined = &document()["$defs"];
        let names = defined["round_strategy"]["properties"]["strategy"]["enum"].as_array().unwrap();
        for name in names.iter().map(|it| it.as_str().unwrap()) {
            let needs_experts =
                defined["round_strategy"]["if"]["properties"]["strategy"]["const"] == name;
            assert_eq!(Strategy::parse(name, None).is_err(), needs_experts, "{name}");
            assert_eq!(Strategy::parse(name, Some(Participants::default())).is_ok(), needs_experts);
        }
        let names = defined["delta"]["properties"]["operation"]["enum"].as_array().unwrap();
        for name in names.iter().map(|it| it.as_str().unwrap()) {
            let has_none = defined["delta"]["if"]["properties"]["operation"]["const"] == name;
            assert_eq!(SentDelta::new(name, "$.rules", None, "p").is_ok(), has_none, "{name}");
            assert_eq!(SentDelta::new(name, "$.rules", Some("null"), "p").is_err(), has_none);
        }
        assert_eq!(
            (names.len(), &defined["delta"]["then"]["properties"]["value"]),
            (3, &json!(false))
        );
    }

    /// `SHARED_CONTEXT_BLESS=1` (or `cargo xtask bless`) rewrites the document.
    #[test]
    fn the_committed_document_matches_the_types() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/describe.json");
        let fresh = document().to_string();
        if std::env::var_os("SHARED_CONTEXT_BLESS").is_some() {
            std::fs::write(path, &fresh).unwrap();
        } else {
            assert!(crate::describe() == fresh, "stale: run `cargo xtask bless`");
        }
    }
}
