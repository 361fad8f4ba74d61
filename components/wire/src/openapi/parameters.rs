//! Every parameter of the document, by the name operations refer to it by.

use serde_json::{Map, Value, json};

use crate::http::changes::WAIT_SECONDS_MAX;

/// The parameters in paths, in queries and in headers.
pub(super) fn all() -> Map<String, Value> {
    let mut all: Map<String, Value> = paths().into_iter().collect();
    all.extend(sessions());
    all.extend(session());
    all.extend(headers());
    all
}

type Parameter = (String, Value);

fn paths() -> [Parameter; 3] {
    let path = |name: &str, pattern: &str, example: &str| {
        let parameter = json!({
            "name": name, "in": "path", "required": true, "example": example,
            "schema": {"type": "string", "pattern": pattern},
        });
        (name.to_owned(), parameter)
    };
    [
        path("session", "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$", "ticket-7"),
        path("key", "^([a-z0-9_]{1,64}:)?[a-z0-9_]{1,64}$", "problem_summary"),
        path("label", "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", "pre_approval"),
    ]
}

/// Those of queries about sessions, and those of several routes.
fn sessions() -> [Parameter; 10] {
    let instant = json!({"type": "string", "format": "date-time"});
    [
        query("after", text(), "List the sessions whose ids come after this one."),
        query(
            "limit",
            json!({"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}),
            "How many at most.",
        ),
        query(
            "prefix",
            text(),
            "Of sessions, those whose ids begin so; of keys, those with this prefix, with or \
             without its colon.",
        ),
        query("status", json!({"enum": ["active", "archived"]}), "Only such sessions."),
        query("changed_after", instant.clone(), "Only sessions that changed after this instant."),
        query("changed_before", instant, "Only sessions that last changed before this instant."),
        query(
            "session_id",
            text(),
            "The id of the new session; when absent, that of the session the document is of.",
        ),
        query("since", json!({"type": "integer", "minimum": 0}), "Begin after this revision."),
        query(
            "format",
            json!({"enum": ["mcp", "openai", "anthropic"], "default": "mcp"}),
            "Whose form: MCP's tools/list, OpenAI's chat completions, Anthropic's messages.",
        ),
        query(
            "role",
            json!({"enum": ["agent", "orchestrator"], "default": "orchestrator"}),
            "Whom the tools are for: agents have no tool subagent and no actions of \
             orchestrators.",
        ),
    ]
}

/// Those of queries about what one session holds.
fn session() -> [Parameter; 6] {
    [
        query(
            "versions",
            json!({"type": "string", "pattern": "^[0-9]+(,[0-9]+)*$"}),
            "Only these versions, such as 1,2; all that are kept when absent.",
        ),
        query(
            "to",
            text(),
            "The label of the snapshot to compare with; when absent, what is there now.",
        ),
        query(
            "keys",
            text(),
            "Only changes of keys like this one, in which * stands for any text; such as \
             findings_*.",
        ),
        query(
            "wait",
            json!({"type": "integer", "minimum": 0, "maximum": WAIT_SECONDS_MAX, "default": 0}),
            "How many seconds to wait for a change.",
        ),
        query("participant", text(), "Whose prompt; the caller's own when absent."),
        query(
            "max_tokens",
            json!({"type": "integer", "minimum": 1, "default": 1000}),
            "The most tokens the prompt may have.",
        ),
    ]
}

fn headers() -> [Parameter; 9] {
    let header = |name: &str, description: &str, example: &str| {
        let parameter = json!({
            "name": name, "in": "header", "description": description, "example": example,
            "schema": {"type": "string"},
        });
        (name.to_ascii_lowercase().replace('-', "_"), parameter)
    };
    [
        header(
            "Last-Event-ID",
            "The id of the last event that was read, a revision; it counts instead of since. \
             Only a stream takes it.",
            "7",
        ),
        header(
            "If-Match",
            "One ETag: act only if the entry is still the one it was read as.",
            "\"3\"",
        ),
        header(
            "If-None-Match",
            "On GET, ETags of what the reader has: 304 if it is unchanged. On PUT, *: write only \
             if the key does not exist.",
            "\"3\"",
        ),
        header(
            "Idempotency-Key",
            "The caller's own name for this request, up to 64 characters: sending the same \
             request again under it is safe.",
            "analysis-3-findings",
        ),
        header(
            "Mcp-Protocol-Version",
            "The version of MCP; a request of 2026-07-28 tells it in _meta too.",
            "2026-07-28",
        ),
        header("Mcp-Method", "The message's method; 2026-07-28 asks for it.", "tools/call"),
        header(
            "Mcp-Name",
            "The message's params.name or params.uri, where its method has one; 2026-07-28 asks \
             for it.",
            "shared_context",
        ),
        header(
            "Mcp-Param-Session",
            "The argument session of a tool call, if it has one; 2026-07-28 asks for it.",
            "ticket-7",
        ),
        header("Mcp-Session-Id", "What initialize of an older protocol answered.", "7f3a9c"),
    ]
}

#[expect(clippy::needless_pass_by_value, reason = "schemas are made where they are named")]
fn query(name: &str, schema: Value, description: &str) -> Parameter {
    let parameter =
        json!({"name": name, "in": "query", "description": description, "schema": schema});
    (name.to_owned(), parameter)
}

fn text() -> Value {
    json!({"type": "string"})
}
