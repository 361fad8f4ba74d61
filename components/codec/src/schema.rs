//! JSON Schemas of all requests and replies, from the types that read and write
//! them. Not in the component: it carries `describe.json`, which a test holds
//! against [`document`].

use schemars::{
    JsonSchema, Schema, SchemaGenerator,
    generate::SchemaSettings,
    json_schema,
    transform::{RestrictFormats, Transform},
};
use serde_json::{Map, Value, json};
use shared_context_core::Code;

use crate::{
    ACTIONS, ActionInfo,
    json::Time,
    reply::{
        AuditReply, DeleteReply, DeleteSessionReply, ListReply, PromptReply, ReadReply,
        SessionReply, WriteReply,
    },
    request::{
        AuditRequest, BareRequest, ConfigForm, CreateRequest, DeleteRequest, PromptRequest,
        ReadRequest, WriteRequest,
    },
};

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

/// The schemas of one action.
#[derive(Debug)]
pub struct ActionSchemas {
    /// Of its request.
    pub request: Schema,
    /// Of its reply.
    pub reply: Schema,
}

/// The document that [`crate::describe`] returns: schemas inlined, so that each
/// can be used on its own.
pub fn document() -> Value {
    let actions: Map<String, Value> = ACTIONS
        .iter()
        .filter_map(|it| {
            let schemas = schemas(it.name)?;
            let roles: Vec<&str> = it.roles.iter().map(|role| role.as_str()).collect();
            let about = json!({
                "description": it.description,
                "roles": roles,
                "is_change": it.is_change,
                "request": request_of(it, schemas.request),
                "reply": schemas.reply,
            });
            Some((it.name.to_owned(), about))
        })
        .collect();
    let errors: Vec<Value> = Code::ALL
        .iter()
        .map(|it| json!({"code": it.as_str(), "description": it.description()}))
        .collect();
    json!({
        "tool": "shared_context",
        "actions": actions,
        "session_config": schema_of::<ConfigForm>(),
        "errors": errors,
    })
}

/// The schemas of the action called `name`; `None` when there is no such action.
pub fn schemas(name: &str) -> Option<ActionSchemas> {
    let (request, reply) = match name {
        "list_keys" => (schema_of::<BareRequest>(), schema_of::<ListReply<'_>>()),
        "read" => (schema_of::<ReadRequest>(), schema_of::<ReadReply<'_>>()),
        "write" => (schema_of::<WriteRequest>(), schema_of::<WriteReply<'_>>()),
        "delete" => (schema_of::<DeleteRequest>(), schema_of::<DeleteReply<'_>>()),
        "prompt" => (schema_of::<PromptRequest>(), schema_of::<PromptReply<'_>>()),
        "create_session" => (schema_of::<CreateRequest>(), schema_of::<SessionReply<'_>>()),
        "show_session" | "archive_session" | "revoke_credentials" => {
            (schema_of::<BareRequest>(), schema_of::<SessionReply<'_>>())
        }
        "delete_session" => (schema_of::<BareRequest>(), schema_of::<DeleteSessionReply<'_>>()),
        "audit" => (schema_of::<AuditRequest>(), schema_of::<AuditReply<'_>>()),
        _ => return None,
    };
    Some(ActionSchemas { request, reply })
}

/// A request's schema with the action it is of.
fn request_of(action: &ActionInfo, mut schema: Schema) -> Schema {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("action".to_owned(), json!({"const": action.name}));
    }
    schema
}

/// A self-contained schema without formats that JSON Schema does not define.
fn schema_of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|it| {
        it.inline_subschemas = true;
        it.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RestrictFormats::default().transform(&mut schema);
    schema.remove("title");
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_has_schemas() {
        for action in ACTIONS {
            assert!(schemas(action.name).is_some(), "{}", action.name);
        }
    }

    /// `SHARED_CONTEXT_BLESS=1` (or `cargo xtask bless`) rewrites the document.
    #[test]
    fn the_committed_document_is_what_the_types_say() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/describe.json");
        let fresh = document().to_string();
        if std::env::var_os("SHARED_CONTEXT_BLESS").is_some() {
            std::fs::write(path, &fresh).unwrap();
        } else {
            assert_eq!(crate::describe(), fresh, "stale: run `cargo xtask bless`");
        }
    }
}
