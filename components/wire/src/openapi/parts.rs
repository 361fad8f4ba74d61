//! Parts of the document that operations share: parameters, headers, bodies and
//! responses.

#![expect(clippy::needless_pass_by_value, reason = "json! moves nothing, yet parts are made once")]

use serde_json::{Map, Value, json};

use super::{examples, schemas::reply};
use crate::http::changes::WAIT_SECONDS_MAX;

/// The groups operations are shown in.
pub(super) fn tags() -> Value {
    json!([
        {"name": "tool", "description": "What agents use."},
        {"name": "entries", "description": "The same as resources."},
        {"name": "snapshots", "description": "Frozen copies of the store, by label."},
        {"name": "changes", "description": "What changed, as it changes."},
        {"name": "sessions", "description": "The life of sessions, and who takes part."},
        {"name": "about", "description": "Open to anyone; tells of no session."},
    ])
}

/// The two ways to show who calls.
pub(super) fn security_schemes() -> Value {
    json!({
        "credential": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": "A participant's credential for one session.",
        },
        "admin_key": {
            "type": "http",
            "scheme": "bearer",
            "description": "The operator's key.",
        },
    })
}

/// Every parameter, by the name operations refer to it by: the path's, the
/// query's and those in headers.
pub(super) fn parameters() -> Value {
    let path = |name: &str, pattern: &str, example: &str| {
        json!({
            "name": name, "in": "path", "required": true, "example": example,
            "schema": {"type": "string", "pattern": pattern},
        })
    };
    let query = |name: &str, schema: Value, description: &str| json!({"name": name, "in": "query", "description": description, "schema": schema});
    let header = |name: &str, description: &str, example: &str| {
        json!({
            "name": name, "in": "header", "description": description, "example": example,
            "schema": {"type": "string"},
        })
    };
    let text = || json!({"type": "string"});
    let instant = || json!({"type": "string", "format": "date-time"});
    json!({
        "session": path("session", "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$", "ticket-7"),
        "key": path("key", "^([a-z0-9_]{1,64}:)?[a-z0-9_]{1,64}$", "problem_summary"),
        "label": path("label", "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", "pre_approval"),
        "after": query("after", text(), "List the sessions whose ids come after this one."),
        "prefix": query(
            "prefix",
            text(),
            "Of sessions, those whose ids begin so; of keys, those with this prefix, with or \
             without its colon.",
        ),
        "status": query("status", json!({"enum": ["active", "archived"]}), "Only such sessions."),
        "changed_after": query("changed_after", instant(), "Only sessions that changed after this."),
        "changed_before": query(
            "changed_before",
            instant(),
            "Only sessions that did not change since this, nor at this instant.",
        ),
        "session_id": query(
            "session_id",
            text(),
            "The id of the new session; that in the document when absent.",
        ),
        "versions": query(
            "versions",
            json!({"type": "string", "pattern": "^[0-9]+(,[0-9]+)*$"}),
            "Only these versions, such as 1,2; all that are kept when absent.",
        ),
        "to": query("to", text(), "The label of the snapshot to compare with; what is there now \
             when absent."),
        "limit": query(
            "limit",
            json!({"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}),
            "How many at most.",
        ),
        "since": query(
            "since",
            json!({"type": "integer", "minimum": 0}),
            "Begin after this revision.",
        ),
        "keys": query(
            "keys",
            text(),
            "Only changes of keys like this one, in which * stands for any text; such as \
             findings_*.",
        ),
        "wait": query(
            "wait",
            json!({"type": "integer", "minimum": 0, "maximum": WAIT_SECONDS_MAX, "default": 0}),
            "How many seconds to wait for a change.",
        ),
        "last_event_id": header(
            "Last-Event-ID",
            "The id of the last event that was read, a revision; it counts instead of since. \
             Only a stream takes it.",
            "7",
        ),
        "participant": query("participant", text(), "Whose prompt; the caller's own when absent."),
        "max_tokens": query(
            "max_tokens",
            json!({"type": "integer", "minimum": 1, "default": 1000}),
            "The most tokens the prompt may have.",
        ),
        "format": query(
            "format",
            json!({"enum": ["mcp", "openai", "anthropic"], "default": "mcp"}),
            "Whose form: MCP's tools/list, OpenAI's chat completions, Anthropic's messages.",
        ),
        "if_match": header(
            "If-Match",
            "One ETag: act only if the entry is still the one it was read as.",
            "\"3\"",
        ),
        "if_none_match": header(
            "If-None-Match",
            "On GET, ETags of what the reader has: 304 if it is unchanged. On PUT, *: write only \
             if the key does not exist.",
            "\"3\"",
        ),
        "idempotency_key": header(
            "Idempotency-Key",
            "The caller's own name for this request, up to 64 characters: sending the same \
             request again under it is safe.",
            "analysis-3-findings",
        ),
    })
}

/// Every response header that is described.
pub(super) fn headers() -> Value {
    let header =
        |description: &str| json!({"description": description, "schema": {"type": "string"}});
    json!({
        "ETag": header("The revision of the last change to what was read, in quotes."),
        "Content-Disposition": header("A name for the file."),
        "Location": header("The path of what was created."),
        "RateLimit": header("What is left of the participant's allowance."),
        "RateLimit-Policy": header("How large that allowance is."),
        "Retry-After": header("Seconds to wait."),
        "WWW-Authenticate": header("What was wrong with the credential (RFC 6750)."),
    })
}

/// References to the headers called `names`.
pub(super) fn headers_named(names: &[&str]) -> Value {
    let header =
        |name: &&str| ((*name).to_owned(), json!({"$ref": format!("#/components/headers/{name}")}));
    names.iter().map(header).collect::<Map<_, _>>().into()
}

/// A body of JSON with an example.
pub(super) fn body(schema: Value, example: Value) -> Value {
    json!({"application/json": {"schema": schema, "example": example}})
}

/// A request body that must be there.
pub(super) fn request(content: Value) -> Value {
    json!({"required": true, "content": content})
}

/// One response.
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

/// The response that is the tool's answer to `action`.
pub(super) fn tool_response(action: &str, headers: &[&str]) -> Map<String, Value> {
    let content = body(reply(action), examples::answer(action));
    response("200", "As asked.", content, headers)
}

/// `responses`, and that for a reader who has it already.
pub(super) fn with_unchanged(mut responses: Map<String, Value>) -> Map<String, Value> {
    let unchanged = json!({
        "description": "Unchanged since the reader got it.",
        "headers": headers_named(&["ETag"]),
    });
    responses.insert("304".to_owned(), unchanged);
    responses
}
