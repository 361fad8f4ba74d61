//! Schemas of the document: the tool's own, which the codec derives from its types, and those that
//! only HTTP uses.

use std::{cmp::Reverse, mem};

use serde_json::{Map, Value, json};
use shared_context_codec::schema::{
    self,
    bounds::{KEY_PATTERN, PARTICIPANT, SESSION_ID},
};

use shared_context_core::{
    config::TOOL_SETS, packets::PACKET_TASK_BYTES_MAX, pattern::PATTERNS_MAX,
};

use super::acts;
use crate::{
    credential::TTL_SECONDS,
    http::{code::CODES, entries::MEMBERS_TO_WRITE, table::operations},
};

/// Returns all named schemas: the definitions of the tool, its requests, and those that only HTTP
/// uses.
pub(super) fn all() -> Map<String, Value> {
    let mut schemas = object(tool()["$defs"].take());
    schemas.append(&mut object(rejections()));
    schemas.append(&mut object(credentials()));
    schemas.append(&mut object(bodies()));
    schemas.append(&mut object(lists()));
    schemas.append(&mut object(super::mcp::schemas()));
    schemas.append(&mut object(super::memory::schemas()));
    for act in operations().filter_map(|it| it.act()) {
        schemas.extend(acts::body_schema(act).map(|schema| (acts::body_name(act), schema)));
    }
    let mut requests = Vec::new();
    let mut actions = Map::new();
    let mut replies = Vec::new();
    for (action, mut about) in object(tool()["actions"].take()) {
        let mut request = about["request"].take();
        request["description"] = about["description"].take();
        let name = format!("{action}_request");
        let request_reference = reference(&name);
        actions.insert(action, request_reference["$ref"].clone());
        requests.push(request_reference);
        schemas.insert(name, request);
        let mut reply = about["reply"].take();
        let several = reply.get_mut("anyOf").and_then(Value::as_array_mut).map(mem::take);
        for it in several.unwrap_or_else(|| vec![reply]) {
            if !replies.contains(&it) {
                replies.push(it);
            }
        }
    }
    // Generated clients take the first that fits.
    replies.sort_by_key(|it| exactness(&schemas, it));
    schemas.insert(
        "tool_request".to_owned(),
        json!({
            "description": "A request of the JSON tool. Null members count as absent.",
            "oneOf": requests,
            "discriminator": {"propertyName": "action", "mapping": actions},
        }),
    );
    schemas.insert(
        "tool_reply".to_owned(),
        json!({"description": "What the action of the request answers.", "anyOf": replies}),
    );
    schemas
}

/// Returns a number that is lower for the schema that `reference` names if that requires more and
/// allows less than others.
fn exactness(schemas: &Map<String, Value>, reference: &Value) -> (Reverse<usize>, usize) {
    let name = reference["$ref"].as_str().and_then(|it| it.rsplit('/').next());
    let schema = name.and_then(|it| schemas.get(it)).unwrap_or(&Value::Null);
    let required = schema["required"].as_array().map_or(0, Vec::len);
    (Reverse(required), schema["properties"].as_object().map_or(0, Map::len))
}

/// Returns the schema of every reply to `action`.
pub(super) fn replies(action: &str) -> Value {
    tool()["actions"][action]["reply"].take()
}

/// Returns the schema of the reply to a minimal request for `action`; optional members can change
/// the form of the reply.
pub(super) fn reply(action: &str) -> Value {
    let mut reply = replies(action);
    match reply.pointer_mut("/anyOf/0") {
        Some(first) => first.take(),
        None => reply,
    }
}

/// Returns the schema of a body with `members` of a request for `action`.
pub(super) fn body_of(action: &str, members: &[&str]) -> Value {
    let mut request = tool()["actions"][action]["request"].take();
    let is_member = |name: &str| members.contains(&name);
    if let Some(required) = request["required"].as_array_mut() {
        required.retain(|it| it.as_str().is_some_and(is_member));
    }
    if let Some(properties) = request["properties"].as_object_mut() {
        properties.retain(|name, _| is_member(name));
    }
    request
}

/// Returns the tool's own description, with references into this document.
fn tool() -> Value {
    fn rebase(schema: &mut Value) {
        match schema {
            Value::Object(members) => {
                if let Some(Value::String(reference)) = members.get_mut("$ref") {
                    *reference = reference.replace("#/$defs/", "#/components/schemas/");
                }
                members.values_mut().for_each(rebase);
            }
            Value::Array(items) => items.iter_mut().for_each(rebase),
            _ => {}
        }
    }
    let mut tool = schema::document();
    rebase(&mut tool);
    tool
}

/// Returns a reference to the schema `name`.
pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// Returns the schemas of HTTP errors.
fn rejections() -> Value {
    let codes: Vec<&str> = CODES.iter().map(|it| it.name).collect();
    json!({
        "problem": {
            "description": "Why a request was refused (RFC 9457). The member error is what the \
                            JSON tool answers.",
            "type": "object",
            "required": ["type", "title", "status", "detail", "instance", "error"],
            "properties": {
                "type": {"type": "string", "description": "urn:shared-context:error:{code}"},
                "title": {"type": "string", "description": "The same for every error of a code."},
                "status": {"type": "integer"},
                "detail": {"type": "string", "description": "What is wrong and what to do next."},
                "instance": {"type": "string", "description": "The request's X-Request-Id."},
                "error": reference("error"),
            },
        },
        "error_code": {
            "description": "The codes of this version, in order of precedence.",
            "type": "string",
            "enum": codes,
        },
        "error": {
            "description": "Further members depend on the code: limit and actual, \
                            current_version and current_revision, oldest and revision, place, \
                            path, bound_to, round, last_round, sequence, largest; in a batch the key, in a \
                            proposal the delta.",
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {
                    "anyOf": [reference("error_code"), {"type": "string"}],
                    "description": "Later versions may add codes.",
                },
                "message": {"type": "string"},
            },
        },
    })
}

/// Returns the schemas of requests for credentials.
fn credentials() -> Value {
    let (ttl_min, ttl_max) = TTL_SECONDS.into_inner();
    json!({
        "mint_credential": {
            "type": "object",
            "required": ["participant"],
            "additionalProperties": false,
            "properties": {
                "participant": {
                    "type": "string",
                    "pattern": PARTICIPANT,
                    "description": "orchestrator (for the admin to mint), subagent:{task} or \
                                    subagent:{task}:{id}",
                },
                "ttl_seconds": {
                    "type": ["integer", "null"],
                    "minimum": ttl_min,
                    "maximum": ttl_max,
                    "description": "A day for subagents and 30 for the orchestrator when absent.",
                },
                "keys": {
                    "type": ["array", "null"],
                    "items": {"type": "string", "pattern": KEY_PATTERN},
                    "minItems": 1,
                    "maxItems": PATTERNS_MAX,
                    "description": "The only keys that are there for the subagent: patterns in \
                                    which * stands for any text. All keys when absent. Only \
                                    for subagents.",
                },
                "tools": {
                    "type": ["array", "null"],
                    "items": {"type": "string", "enum": TOOL_SETS},
                    "description": "The only sets of tools besides the working memory that the \
                                    participant gets in MCP. Those of the session when absent.",
                },
                "packet_task": {
                    "type": ["string", "null"],
                    "minLength": 1,
                    "maxLength": PACKET_TASK_BYTES_MAX,
                    "pattern": "\\S",
                    "description": "What the subagent is to do: its packet is written from it, \
                                    unless the session's configuration turns that off. Only for \
                                    the orchestrator.",
                },
            },
        },
        "minted_credential": {
            "type": "object",
            "required": ["participant", "credential", "expires_at"],
            "properties": {
                "participant": {"type": "string"},
                "credential": {"type": "string", "description": "Shown this once."},
                "expires_at": {"type": "string", "format": "date-time"},
                "keys": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "The only keys it is for. Absent when it is for all.",
                },
                "tools": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "The sets of tools it is for. Absent when the session decides.",
                },
                "packet": {
                    "type": "object",
                    "required": ["id", "version", "tokens"],
                    "properties": {
                        "id": {"type": "string"},
                        "version": {"type": "integer"},
                        "tokens": {"type": "integer"},
                    },
                    "description": "The packet that was written for it. Absent when none was.",
                },
                "project": {
                    "type": "string",
                    "description": "The project of the session, if the credential is valid there.",
                },
            },
        },
    })
}

/// Returns the schemas of lists of what there is on the server.
fn lists() -> Value {
    json!({
        "project_list": {
            "type": "object",
            "properties": {
                "projects": {
                    "type": "array",
                    "items": reply("show_project"),
                    "description": "The projects, in the order of their ids.",
                },
                "next_after": {
                    "type": ["string", "null"],
                    "description": "Ask again after this id; null when there is no more.",
                },
            },
            "required": ["projects", "next_after"],
        },
        "session_list": {
            "type": "object",
            "required": ["sessions", "next_after"],
            "properties": {
                "sessions": {"type": "array", "items": reply("show_session")},
                "next_after": {
                    "type": ["string", "null"],
                    "description": "Ask again with after set to it for more, also when this page \
                                    is short: one page looks at 1000 sessions at most. Null: no \
                                    more.",
                },
            },
        },
    })
}

/// Returns the schemas of bodies that are not the tool's.
fn bodies() -> Value {
    json!({
        "create_session": {
            "type": "object",
            "required": ["session_id"],
            "additionalProperties": false,
            "properties": {
                "session_id": {
                    "type": "string",
                    "pattern": SESSION_ID,
                },
                "config": tool()["actions"]["create_session"]["request"]["properties"]["config"],
            },
        },
        "created_session": {
            "description": "The session, and the orchestrator's credential for it.",
            "allOf": [reply("create_session"), {
                "type": "object",
                "required": ["credential", "expires_at"],
                "properties": {
                    "credential": {"type": "string", "description": "Shown this once."},
                    "expires_at": {"type": "string", "format": "date-time"},
                },
            }],
        },
        "value": body_of("write", &MEMBERS_TO_WRITE),
        "resource_metadata": {
            "description": "How the endpoint of MCP is guarded (RFC 9728).",
            "type": "object",
            "required": ["resource"],
            "properties": {
                "resource": {"type": "string", "description": "Its URL."},
                "resource_name": {"type": "string"},
                "bearer_methods_supported": {"type": "array", "items": {"type": "string"}},
                "resource_documentation": {"type": "string"},
            },
        },
        "tools": {
            "type": "object",
            "required": ["tools"],
            "properties": {
                "tools": {"type": "array", "items": {"type": "object"}},
            },
        },
        "health": {
            "type": "object",
            "required": ["status", "version", "consistency"],
            "properties": {
                "status": {
                    "enum": ["ok", "failing"],
                    "description": "failing, with status 503: changes cannot be stored, or a part \
                                    of what was stored is lost. Most reads still work.",
                },
                "version": {"type": "string"},
                "consistency": {
                    "type": "string",
                    "description": "What becomes of concurrent changes to one session. \
                                    linearizable: each takes effect at one instant between its \
                                    request and its answer. last-write-wins: one may be lost, \
                                    though each was confirmed. Later versions may add words.",
                    "examples": ["linearizable", "last-write-wins"],
                },
                "caution": {
                    "type": "string",
                    "description": "For people: what may be lost, when, and what to do where that \
                                    matters. Absent where nothing is.",
                },
                "reason": {
                    "type": "string",
                    "description": "For people: what fails, and what to do. Absent where nothing \
                                    does.",
                },
            },
        },
    })
}
