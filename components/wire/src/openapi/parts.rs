//! Parts of the document that operations share: tags, headers, bodies and responses.

#![expect(clippy::needless_pass_by_value, reason = "json! moves nothing, yet parts are made once")]

use serde_json::{Map, Value, json};

use super::{examples, schemas::reply};

/// Returns the tags, which group the operations.
pub(super) fn tags() -> Value {
    json!([
        {"name": "tool", "description": "What agents use."},
        {"name": "entries", "description": "The same as resources."},
        {"name": "snapshots", "description": "Frozen copies of the store, by label."},
        {"name": "rounds", "description": "Several participants, one agreed state."},
        {"name": "packets", "description": "What a worker gets to know for its task."},
        {"name": "memories", "description": "What a team knows for longer than a session."},
        {"name": "outline", "description": "A project's map, and who owns which part."},
        {"name": "handoffs", "description": "Work that an agent passes on to another."},
        {"name": "changes", "description": "What changed, as it changes."},
        {"name": "mcp", "description": "The Model Context Protocol."},
        {"name": "sessions", "description": "The life of sessions, and who takes part."},
        {"name": "projects", "description": "What outlives the sessions that name it."},
        {"name": "about", "description": "Open to anyone; about no session."},
    ])
}

/// Returns the two security schemes.
pub(super) fn security_schemes() -> Value {
    json!({
        "credential": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": "A participant's credential for one session or project.",
        },
        "admin_key": {
            "type": "http",
            "scheme": "bearer",
            "description": "The operator's key.",
        },
    })
}

/// Returns all response headers.
pub(super) fn headers() -> Value {
    let header =
        |description: &str| json!({"description": description, "schema": {"type": "string"}});
    json!({
        "Allow": header("The methods that can be used."),
        "Content-Disposition": header("A name for the file."),
        "ETag": header("The revision of the last change to what was read, in quotes."),
        "Location": header("The path of what was created."),
        "Mcp-Session-Id": header("What initialize of an older protocol answers: send it along. \
                                  Hosts that keep nothing between requests answer none."),
        "RateLimit": header("What is left of the participant's allowance. Hosts that keep nothing \
                             between requests limit no rate."),
        "RateLimit-Policy": header("How large that allowance is."),
        "Retry-After": header("Seconds to wait."),
        "WWW-Authenticate": header("What was wrong with the credential (RFC 6750); for MCP, where more is told \
                                    (RFC 9728)."),
    })
}

/// Returns references to the headers `names`.
pub(super) fn headers_named(names: &[&str]) -> Value {
    let header =
        |name: &&str| ((*name).to_owned(), json!({"$ref": format!("#/components/headers/{name}")}));
    names.iter().map(header).collect::<Map<_, _>>().into()
}

/// Returns a JSON body with an example.
pub(super) fn body(schema: Value, example: Value) -> Value {
    json!({"application/json": {"schema": schema, "example": example}})
}

/// Returns a required request body.
pub(super) fn request(content: Value) -> Value {
    json!({"required": true, "content": content})
}

/// Returns an optional request body.
pub(super) fn optional_request(content: Value) -> Value {
    json!({"required": false, "content": content})
}

/// Returns one response.
pub(super) fn response(
    status: &str,
    description: &str,
    content: Value,
    headers: &[&str],
) -> Map<String, Value> {
    let mut response = json!({"description": description, "content": content});
    if !headers.is_empty() {
        response["headers"] = headers_named(headers);
    }
    Map::from_iter([(status.to_owned(), response)])
}

/// Returns the response with the tool's reply to `action`.
pub(super) fn tool_response(action: &str, headers: &[&str]) -> Map<String, Value> {
    let content = body(reply(action), examples::reply_example(action));
    response("200", "As asked.", content, headers)
}

/// Adds the `304` response to `responses`.
pub(super) fn with_unchanged(mut responses: Map<String, Value>) -> Map<String, Value> {
    let unchanged = json!({
        "description": "Unchanged since the reader got it.",
        "headers": headers_named(&["ETag"]),
    });
    responses.insert("304".to_owned(), unchanged);
    responses
}
