//! All parameters of the document, by their component names.

use serde_json::{Map, Value, json};
use shared_context_codec::schema::{
    bounds::{
        KEY, KEY_PATTERN, LABEL, PARTICIPANT, PATH, POSITION, PREFIX, SESSION_ID, SINCE_1970,
    },
    context::{ENVELOPE, MISSING},
    memories::MEMORY,
    packets::ADDRESS,
};
use shared_context_core::{config::TOOL_SETS, rounds::Reported};

use crate::http::changes::WAIT_SECONDS_MAX;

/// Returns the parameters in paths, queries and headers.
pub(super) fn all() -> Map<String, Value> {
    let mut all: Map<String, Value> = paths().into_iter().collect();
    all.extend(sessions());
    all.extend(session());
    all.extend(rounds());
    all.extend(outline());
    all.extend(handoffs());
    all.extend([packets(), projects()]);
    all.extend(headers());
    all
}

type Parameter = (String, Value);

fn paths() -> [Parameter; 10] {
    let path = |name: &str, pattern: &str, example: &str| {
        let parameter = json!({
            "name": name, "in": "path", "required": true, "example": example,
            "schema": {"type": "string", "pattern": pattern},
        });
        (name.to_owned(), parameter)
    };
    [
        path("session", SESSION_ID, "ticket-7"),
        path("project", SESSION_ID, "webshop"),
        path("key", KEY, "problem_summary"),
        path("label", LABEL, "pre_approval"),
        path("from", LABEL, "pre_approval"),
        path("envelope", ENVELOPE, "ENV-1"),
        path("missing", MISSING, "MIS-1"),
        path("address", ADDRESS, "subagent:impl"),
        path("id", MEMORY, "DEC-2026-02-20-001"),
        path("marker", MARKER, "3.1"),
    ]
}

/// Returns the query parameters about sessions, and those that several routes share.
fn sessions() -> [Parameter; 10] {
    let instant = json!({
        "type": "string", "format": "date-time", "pattern": SINCE_1970,
    });
    [
        query("after", text(), "Only those whose ids come after this one."),
        query(
            "limit",
            json!({"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}),
            "How many at most.",
        ),
        query("prefix", text(), "Only those whose ids begin so."),
        query("status", json!({"enum": ["active", "archived"]}), "Only such sessions."),
        query("changed_after", instant.clone(), "Only sessions that changed after this instant."),
        query("changed_before", instant, "Only sessions that last changed before this instant."),
        query(
            "session_id",
            of_form(SESSION_ID),
            "The id of the new session; when absent, that of the session the document is of.",
        ),
        query(
            "since",
            json!({"type": "integer", "minimum": 0, "maximum": u64::MAX}),
            "Begin after this revision.",
        ),
        query(
            "format",
            json!({"enum": ["mcp", "openai", "anthropic"], "default": "mcp"}),
            "Whose form: MCP's tools/list, OpenAI's chat completions, Anthropic's messages.",
        ),
        query(
            "role",
            json!({"enum": ["agent", "orchestrator"], "default": "orchestrator"}),
            "Whom the tools are for: agents do not manage the session.",
        ),
    ]
}

/// Returns the pattern of names of sets of tools with commas between them.
fn tool_sets() -> String {
    let set = TOOL_SETS.join("|");
    format!("^(({set})(,({set}))*)?$")
}

/// Returns the query parameters about the content of one session.
fn session() -> [Parameter; 13] {
    let after = query(
        "after",
        json!({"type": "integer", "minimum": 0, "maximum": u64::MAX}),
        "Begin after this revision.",
    );
    let prefix =
        query("prefix", of_form(PREFIX), "Only keys with this prefix, with or without its colon.");
    [
        as_component("revision_after", after),
        as_component("key_prefix", prefix),
        query(
            "versions",
            json!({"type": "string", "pattern": "^[0-9]{1,19}(,[0-9]{1,19})*$"}),
            "Only these versions, such as 1,2; all that are kept when absent.",
        ),
        query(
            "to",
            of_form(LABEL),
            "The label of the snapshot to compare with; when absent, what is there now.",
        ),
        query(
            "keys",
            of_form(KEY_PATTERN),
            "Only changes of keys like this one, in which * stands for any text; such as \
             findings_*.",
        ),
        query(
            "except_own",
            json!({"type": "boolean", "default": false}),
            "True to leave out the caller's own changes.",
        ),
        query(
            "wait",
            json!({"type": "integer", "minimum": 0, "maximum": WAIT_SECONDS_MAX, "default": 0}),
            "How many seconds to wait for a change.",
        ),
        query(
            "tools",
            json!({"type": "string", "pattern": tool_sets()}),
            "The sets of tools that the connection uses besides the working memory, with commas \
             between them: delta_rounds, context_packets, memories, outline. When absent those of \
             the credential, else those of the session.",
        ),
        query(
            "state",
            json!({"type": "string", "enum": ["open", "answered"]}),
            "Only missing context in this state.",
        ),
        query("participant", of_form(PARTICIPANT), "Whose prompt; the caller's own when absent."),
        query("task", json!({"type": "string"}), "Begin with what matters most for this task."),
        query(
            "max_tokens",
            json!({"type": "integer", "minimum": 0, "maximum": u32::MAX}),
            "The most tokens the text may have.",
        ),
        query(
            "if_changed_since",
            json!({"type": "integer", "minimum": 0, "maximum": u64::MAX}),
            "Answer unchanged if nothing changed after this revision.",
        ),
    ]
}

/// Pattern of a marker in a path.
const MARKER: &str = "^([1-3]([.](0|[1-9][0-9]{0,3})){1,8}|4([.][A-Za-z0-9_][A-Za-z0-9_-]{0,63}){1,7}([.]([A-Za-z0-9_][A-Za-z0-9_-]{0,63}|[*]))?)$";

/// Returns the query parameters about the outline.
fn outline() -> [Parameter; 3] {
    let number = |max: u64| json!({"type": "integer", "minimum": 0, "maximum": max});
    [
        query(
            "level",
            json!({"type": "integer", "minimum": 1, "maximum": 4}),
            "Read the sections of this level that the section leads to.",
        ),
        query("version", number(u64::MAX), "Read this version, of the last 10."),
        query("if_version", number(u64::MAX), "Only if the section has this version."),
    ]
}

/// Returns the parameters about handoffs, and about the prompt of a project.
fn handoffs() -> [Parameter; 6] {
    let id = json!({
        "name": "id", "in": "path", "required": true, "example": "HND-1",
        "schema": of_form("^HND-[1-9][0-9]{0,18}$"),
    });
    let state = query(
        "state",
        json!({"type": "string", "enum": ["offered", "accepted", "declined", "expired"]}),
        "Only handoffs in this state.",
    );
    [
        ("handoff".to_owned(), id),
        as_component("handoff_state", state),
        query("agent_id", of_form(PARTICIPANT), "Only handoffs from or to this participant."),
        query("agent", text(), "Who the agent is and what it can do, up to 16384 bytes."),
        query("criteria", text(), "When the task is done, up to 16384 bytes."),
        query(
            "focus",
            text(),
            "The markers of the sections of the task, with spaces between, at most 16.",
        ),
    ]
}

/// Returns the query parameters about rounds.
fn rounds() -> [Parameter; 6] {
    let after = query(
        "after",
        of_form(POSITION),
        "Begin after this delta: its round and sequence, as next_after returned them.",
    );
    let mut path = query(
        "path",
        of_form(PATH),
        "Only deltas about this place, or what is below it: a JSONPath (RFC 9535) that names one \
         place.",
    );
    path.1["example"] = json!("$.bindings.customer");
    let participant =
        query("participant", of_form(PARTICIPANT), "Only deltas of this participant.");
    [
        as_component("delta_participant", participant),
        query(
            "outcome",
            json!({"type": "string", "enum": Reported::ALL.map(Reported::as_str)}),
            "Only deltas with this outcome.",
        ),
        query(
            "form",
            json!({"type": "string", "enum": ["full", "brief"], "default": "full"}),
            "With brief, without values and provenances.",
        ),
        as_component("delta_after", after),
        path,
        query(
            "round",
            json!({"type": "integer", "minimum": 0, "maximum": u64::MAX}),
            "The state as it was after this round, or only its deltas.",
        ),
    ]
}

/// Returns the query parameter about packets.
fn packets() -> Parameter {
    query(
        "task_type",
        json!({"type": "string", "pattern": "^[a-z0-9_.-]{1,64}$"}),
        "Only this type of task.",
    )
}

/// Returns the query parameter about projects.
fn projects() -> Parameter {
    let after = query(
        "after",
        json!({"type": "integer", "minimum": 0, "maximum": u64::MAX, "default": 0}),
        "Begin after what the page before named as next.",
    );
    as_component("page_after", after)
}

fn headers() -> [Parameter; 10] {
    let header = |name: &str, description: &str, example: &str| {
        let parameter = json!({
            "name": name, "in": "header", "description": description, "example": example,
            "schema": {"type": "string"},
        });
        (name.to_ascii_lowercase().replace('-', "_"), parameter)
    };
    let bound = |(name, mut parameter): Parameter, pattern: &str| {
        parameter["schema"]["pattern"] = pattern.into();
        (name, parameter)
    };
    let tags = "^([*]|(W/)?\"[ !#-~]*\"( *, *(W/)?\"[ !#-~]*\")*)$";
    let unless = header(
        "If-None-Match",
        "Act only if the entry has none of these ETags; with *, only if it does not exist.",
        "*",
    );
    [
        // It has another meaning on GET.
        bound(as_component("if_none_match_change", unless), tags),
        header(
            "Last-Event-ID",
            "The id of the last event that was read, a revision; it counts instead of since. \
             Only a stream takes it.",
            "7",
        ),
        bound(
            header(
                "If-Match",
                "ETags: act only if the entry is still as one of them was read; with *, only if \
                 it exists.",
                "\"3\"",
            ),
            tags,
        ),
        header("If-None-Match", "ETags of what the reader has: 304 if it is unchanged.", "\"3\""),
        bound(
            header(
                "Idempotency-Key",
                "The caller's own name for this request, up to 64 characters, with or without \
                 quotes around it: sending the same request again under it is safe.",
                "analysis-3-findings",
            ),
            "^(\"[ -~]{1,64}\"|[ -~]{1,64})$",
        ),
        header(
            "Mcp-Protocol-Version",
            "The version of MCP; a request of 2026-07-28 has it in _meta too.",
            "2026-07-28",
        ),
        header("Mcp-Method", "The message's method; 2026-07-28 asks for it.", "tools/call"),
        header(
            "Mcp-Name",
            "The message's params.name or params.uri, where its method has one; 2026-07-28 asks \
             for it.",
            "context_list",
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

/// Gives a parameter another name among the components: one of the same name means something else.
fn as_component(name: &str, (_, parameter): Parameter) -> Parameter {
    (name.to_owned(), parameter)
}

fn of_form(pattern: &str) -> Value {
    json!({"type": "string", "pattern": pattern})
}

fn text() -> Value {
    json!({"type": "string"})
}
