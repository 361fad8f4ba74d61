//! What is said of the routes of entries, and of the JSON tool.

use serde_json::{Map, Value, json};

use super::{
    about::About,
    examples,
    parts::{body, request, response, tool_response, with_unchanged},
    schemas::{body_of, reference, reply},
};
use crate::http::table::Endpoint;

/// What is said of `endpoint`.
pub(super) fn about(endpoint: Endpoint) -> About {
    let about = About { tag: "entries", ..About::default() };
    match endpoint {
        Endpoint::CallTool => call_tool(),
        Endpoint::ListEntries => About {
            id: "list_keys",
            summary: "List every key with its metadata; never a value.",
            description: "The list has no ETag while it holds back what expired and was not \
                          removed yet.",
            headers: &["if_none_match"],
            responses: with_unchanged(tool_response("list_keys", &["ETag"])),
            codes: &["INVALID_KEY"],
            ..about
        },
        Endpoint::ReadEntry => About {
            id: "read",
            summary: "Read the value of one key.",
            headers: &["if_none_match"],
            responses: with_unchanged(tool_response("read", &["ETag"])),
            codes: &["INVALID_KEY", "FORBIDDEN", "KEY_NOT_FOUND"],
            ..about
        },
        Endpoint::WriteEntry => write(),
        Endpoint::DeleteEntry => About {
            id: "delete",
            summary: "Remove one key.",
            headers: &["if_match", "if_none_match_change", "idempotency_key"],
            responses: tool_response("delete", &[]),
            codes: &[
                "INVALID_KEY",
                "SESSION_ARCHIVED",
                "FORBIDDEN",
                "REQUEST_ID_REUSED",
                "KEY_NOT_FOUND",
                "VERSION_CONFLICT",
            ],
            is_conditional: true,
            ..about
        },
        Endpoint::ReadHistory => About {
            id: "read_history",
            summary: "Read the versions of a key that are kept, oldest first.",
            responses: tool_response("read_history", &[]),
            codes: &["INVALID_KEY", "FORBIDDEN", "KEY_NOT_FOUND"],
            ..about
        },
        Endpoint::SetAccess => About {
            id: "set_access",
            summary: "Change who may read and write a key.",
            description: "For the orchestrator and who wrote the key last. A list that is not \
                          sent stays.",
            request: Some(request(body(
                body_of("set_access", &["readable_by", "writable_by"]),
                examples::set_access(),
            ))),
            responses: tool_response("set_access", &[]),
            codes: &[
                "INVALID_KEY",
                "SESSION_ARCHIVED",
                "FORBIDDEN",
                "KEY_NOT_FOUND",
                "STORE_FULL",
                "UNSUPPORTED_MEDIA_TYPE",
            ],
            ..about
        },
        Endpoint::Redact => About {
            id: "redact",
            summary: "Replace the values of a key by their digests, everywhere they are kept.",
            description: "For the orchestrator and the admin. Current value, history and \
                          snapshots, in one step; with revision only the value written there.",
            request: Some(request(body(
                body_of("redact", &["reason", "revision"]),
                examples::redact(),
            ))),
            responses: tool_response("redact", &[]),
            codes: &[
                "INVALID_KEY",
                "SESSION_ARCHIVED",
                "FORBIDDEN",
                "KEY_NOT_FOUND",
                "TOKENIZER_UNAVAILABLE",
                "UNSUPPORTED_MEDIA_TYPE",
            ],
            ..about
        },
        _ => About {
            id: "render_prompt",
            tag: "tool",
            summary: "Render text for a participant's system prompt.",
            description: "Bare text when Accept names text/plain and not application/json.",
            responses: {
                let mut content = body(reply("prompt"), examples::answer("prompt"));
                content["text/plain"] = json!({"schema": {"type": "string"}});
                response("200", "The prompt.", content, &[])
            },
            ..about
        },
    }
}

fn call_tool() -> About {
    let mut content = body(reference("tool_request"), Value::Null);
    content["application/json"] = json!({
        "schema": reference("tool_request"),
        "examples": {
            "list_keys": {"value": {"action": "list_keys"}},
            "write": {"value": {
                "action": "write", "key": "problem_summary",
                "value": "Throughput dropped 30% after config change on Feb 18.",
            }},
            "read": {"value": {"action": "read", "key": "problem_summary"}},
            "write_batch": {"value": examples::write_batch()},
            "read_batch": {"value": examples::read_batch()},
            "prompt": {"value": {"action": "prompt"}},
            "delete": {"value": {"action": "delete", "key": "problem_summary"}},
        },
    });
    let shown = ["list_keys", "read", "write_batch", "read_batch", "delete"];
    let answers: Map<String, Value> =
        shown.iter().map(|it| ((*it).to_owned(), json!({"value": examples::answer(it)}))).collect();
    let replies = json!({"application/json": {
        "schema": reference("tool_reply"),
        "examples": answers,
    }});
    About {
        id: "shared_context",
        tag: "tool",
        summary: "Call the JSON tool, as agents do.",
        description: "It takes every action, those without a route of their own among them. The \
                      body is passed on unread; the answer is the tool's. Retries are made safe \
                      by request_id in the body.",
        request: Some(request(content)),
        responses: response("200", "What the action answers.", replies, &[]),
        codes: &[
            "INVALID_KEY",
            "FORMAT_TOO_NEW",
            "DOCUMENT_ALTERED",
            "SESSION_ARCHIVED",
            "FORBIDDEN",
            "SESSION_EXISTS",
            "REQUEST_ID_REUSED",
            "CHANGES_TRUNCATED",
            "SNAPSHOT_NOT_FOUND",
            "SNAPSHOT_EXISTS",
            "SNAPSHOT_LIMIT",
            "KEY_NOT_FOUND",
            "TOKENIZER_UNAVAILABLE",
            "VALUE_TOO_LARGE",
            "VERSION_CONFLICT",
            "STORE_FULL",
            "UNSUPPORTED_MEDIA_TYPE",
        ],
        ..About::default()
    }
}

fn write() -> About {
    let mut content = body(reference("value"), json!({"value": "Find the parameter."}));
    content["text/plain"] = json!({"schema": {"type": "string"}, "example": "Find the parameter."});
    let written = || body(reply("write"), examples::answer("write"));
    let mut responses = response("201", "Created.", written(), &["ETag"]);
    responses.append(&mut response("200", "Overwritten.", written(), &["ETag"]));
    About {
        id: "write",
        tag: "entries",
        summary: "Create or overwrite one key.",
        description: "A body without Content-Type is text. When the entry expires, who may read \
                      and write it and whether its history is kept is said by the JSON tool's \
                      write.",
        headers: &["if_match", "if_none_match_change", "idempotency_key"],
        request: Some(request(content)),
        responses,
        codes: &[
            "INVALID_KEY",
            "SESSION_ARCHIVED",
            "FORBIDDEN",
            "REQUEST_ID_REUSED",
            "TOKENIZER_UNAVAILABLE",
            "VALUE_TOO_LARGE",
            "VERSION_CONFLICT",
            "STORE_FULL",
            "UNSUPPORTED_MEDIA_TYPE",
        ],
        is_conditional: true,
        ..About::default()
    }
}
