//! Documentation of the MCP endpoint. The protocol itself describes its messages.

use serde_json::{Map, Value, json};

use super::{
    about::OperationDoc,
    parts::{body, headers_named, request, response},
    schemas::reference,
};
use crate::http::table::Endpoint;

/// Returns the documentation of `endpoint`.
pub(super) fn about(endpoint: Endpoint) -> OperationDoc {
    let about = OperationDoc { tag: "mcp", ..OperationDoc::default() };
    match endpoint {
        Endpoint::ResourceMetadata => OperationDoc {
            id: "read_resource_metadata",
            tag: "about",
            summary: "Read how the endpoint of MCP is guarded (RFC 9728).",
            responses: response(
                "200",
                "As asked.",
                body(
                    reference("resource_metadata"),
                    json!({
                        "resource": "http://127.0.0.1:8787/mcp",
                        "resource_name": "shared-context",
                        "bearer_methods_supported": ["header"],
                        "resource_documentation": "http://127.0.0.1:8787/",
                    }),
                ),
                &[],
            ),
            codes: &["FORBIDDEN"],
            ..about
        },
        Endpoint::McpStream => OperationDoc {
            id: "stream_mcp",
            summary: "Receive the notifications of an MCP session (2025-11-25 and before).",
            description: "Needs the Mcp-Session-Id that initialize answered; hosts that keep \
                          nothing between requests answer none, and 405 here. Newer clients POST \
                          subscriptions/listen instead.",
            headers: &["mcp_session_id", "last_event_id"],
            responses: response("200", "Messages as they come.", events(), &[]),
            codes: &["METHOD_NOT_ALLOWED"],
            ..about
        },
        Endpoint::McpEnd => OperationDoc {
            id: "end_mcp",
            summary: "End an MCP session (2025-11-25 and before).",
            description: "Hosts that keep nothing between requests have none to end: 405.",
            headers: &["mcp_session_id"],
            responses: [("204".to_owned(), json!({"description": "Ended."}))].into_iter().collect(),
            codes: &["METHOD_NOT_ALLOWED"],
            ..about
        },
        _ => OperationDoc {
            id: "send_mcp",
            summary: "Send one message of MCP.",
            description: "Versions 2026-07-28, 2025-11-25 and 2025-06-18 of the Model Context \
                          Protocol, by Streamable HTTP. A message that cannot be carried out is \
                          answered by an error of JSON-RPC. Hosts that keep nothing between \
                          requests offer neither resources/subscribe nor logging/setLevel, which \
                          belong to the versions before 2026-07-28: initialize says so.",
            headers: &[
                "mcp_protocol_version",
                "mcp_method",
                "mcp_name",
                "mcp_param_session",
                "mcp_session_id",
            ],
            request: Some(request(body(reference("mcp_message"), example()))),
            responses: sent(),
            codes: &["REQUEST_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE", "NOT_ACCEPTABLE"],
            ..about
        },
    }
}

/// Adds JSON-RPC errors to the `responses` of some statuses.
pub(super) fn add_faults(responses: &mut Map<String, Value>) {
    for status in ["400", "404"] {
        let response = responses.entry(status).or_insert_with(
            || json!({"description": "Told by an error of JSON-RPC.", "content": {}}),
        );
        response["content"]["application/json"] = json!({"schema": reference("mcp_error")});
    }
}

fn sent() -> Map<String, Value> {
    let content = json!({
        "application/json": {"schema": reference("mcp_answer")},
        "text/event-stream": {"schema": {"type": "string"}},
    });
    let mut sent = response("200", "The answer, or a stream of messages.", content, &[]);
    sent["200"]["headers"] = headers_named(&["Mcp-Session-Id"]);
    sent.insert("202".to_owned(), json!({"description": "A notification was taken."}));
    sent
}

fn events() -> Value {
    json!({"text/event-stream": {"schema": {"type": "string"}}})
}

fn example() -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "context_list",
            "arguments": {},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    })
}

/// Returns the schemas of messages.
pub(super) fn schemas() -> Value {
    let id = json!({"type": ["string", "integer"]});
    let version = json!({"const": "2.0"});
    json!({
        "mcp_message": {
            "description": "A request, or without an id a notification.",
            "type": "object",
            "required": ["jsonrpc", "method"],
            "properties": {
                "jsonrpc": version,
                "id": id,
                "method": {"type": "string"},
                "params": {"type": "object"},
            },
        },
        "mcp_answer": {"oneOf": [reference("mcp_success"), reference("mcp_error")]},
        "mcp_success": {
            "type": "object",
            "required": ["jsonrpc", "id", "result"],
            "properties": {"jsonrpc": version, "id": id, "result": {"type": "object"}},
        },
        "mcp_error": {
            "type": "object",
            "required": ["jsonrpc", "error"],
            "properties": {
                "jsonrpc": version,
                "id": id,
                "error": {
                    "type": "object",
                    "required": ["code", "message"],
                    "properties": {
                        "code": {"type": "integer"},
                        "message": {"type": "string"},
                    },
                },
            },
        },
    })
}
