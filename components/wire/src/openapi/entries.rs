//! Documentation of the routes of entries, and of the JSON tool.

use serde_json::{Map, Value, json};

use super::{
    about::OperationDoc,
    acts::{all_rejects, rejects},
    examples,
    parts::{body, request, response, tool_response, with_unchanged},
    schemas::{reference, reply},
};
use crate::http::table::Endpoint;

/// Returns the documentation of `endpoint`.
pub(super) fn about(endpoint: Endpoint) -> OperationDoc {
    let about = OperationDoc { tag: "entries", ..OperationDoc::default() };
    match endpoint {
        Endpoint::CallTool => call_tool(),
        Endpoint::CallProjectTool => OperationDoc {
            id: "call_project_tool",
            tag: "projects",
            summary: "Call the JSON tool on a project, as programs do.",
            description: "It takes every action on a project. Retries are made safe by \
                          Idempotency-Key, or by request_id in the body.",
            headers: &["idempotency_key"],
            request: Some(request(body(
                reference("tool_request"),
                json!({"action": "search_memories", "query": "PostgreSQL"}),
            ))),
            responses: response(
                "200",
                "What the action answers.",
                body(reference("tool_reply"), examples::reply_example("search_memories")),
                &[],
            ),
            codes: all_rejects(&["UNSUPPORTED_MEDIA_TYPE"]),
            ..OperationDoc::default()
        },
        Endpoint::ListEntries => OperationDoc {
            id: "list_keys",
            summary: "List every key with its metadata; never a value.",
            description: "The list has no ETag while it holds back what expired and was not \
                          removed yet.",
            headers: &["if_none_match"],
            responses: with_unchanged(tool_response("list_keys", &["ETag"])),
            codes: rejects("list_keys", &["VERSION_CONFLICT"]),
            is_conditional: true,
            ..about
        },
        Endpoint::ReadEntry => OperationDoc {
            id: "read_entry",
            summary: "Read the value of one key.",
            headers: &["if_none_match"],
            responses: with_unchanged(tool_response("read", &["ETag"])),
            codes: rejects("read", &["VERSION_CONFLICT"]),
            is_conditional: true,
            ..about
        },
        Endpoint::WriteEntry => write(),
        _ => OperationDoc {
            id: "delete_entry",
            summary: "Remove one key.",
            headers: &["if_match", "if_none_match_change", "idempotency_key"],
            responses: tool_response("delete", &[]),
            codes: rejects("delete", &[]),
            is_conditional: true,
            ..about
        },
    }
}

fn call_tool() -> OperationDoc {
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
    let answers: Map<String, Value> = shown
        .iter()
        .map(|it| ((*it).to_owned(), json!({"value": examples::reply_example(it)})))
        .collect();
    let replies = json!({"application/json": {
        "schema": reference("tool_reply"),
        "examples": answers,
    }});
    OperationDoc {
        id: "shared_context",
        tag: "tool",
        summary: "Call the JSON tool, as agents do.",
        description: "It takes every action, those without a route of their own among them. The \
                      body is passed on unread; the answer is the tool's. Retries are made safe \
                      by Idempotency-Key, or by request_id in the body.",
        headers: &["idempotency_key"],
        request: Some(request(content)),
        responses: response("200", "What the action answers.", replies, &[]),
        codes: all_rejects(&["UNSUPPORTED_MEDIA_TYPE"]),
        ..OperationDoc::default()
    }
}

fn write() -> OperationDoc {
    let mut content = body(reference("value"), json!({"value": "Find the parameter."}));
    content["text/plain"] = json!({"schema": {"type": "string"}, "example": "Find the parameter."});
    let written = || body(reply("write"), examples::reply_example("write"));
    let mut responses = response("201", "Created.", written(), &["ETag"]);
    responses.append(&mut response("200", "Overwritten.", written(), &["ETag"]));
    OperationDoc {
        id: "write_entry",
        tag: "entries",
        summary: "Create or overwrite one key.",
        description: "A body without Content-Type is text. Conditions and the name of the request \
                      are headers; text has no room for what else a JSON object says: when the \
                      entry expires, who may read and write it and whether its history is kept.",
        headers: &["if_match", "if_none_match_change", "idempotency_key"],
        request: Some(request(content)),
        responses,
        codes: rejects("write", &["UNSUPPORTED_MEDIA_TYPE"]),
        is_conditional: true,
        ..OperationDoc::default()
    }
}
