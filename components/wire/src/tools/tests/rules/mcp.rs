//! Rules of MCP: those of the protocol, and limitations of its clients.

use super::*;

const TOOLS: &str = "MCP 2026-07-28, server/tools";
const SCHEMA: &str = "MCP 2026-07-28, basic, JSON Schema usage";
const HEADERS: &str = "MCP 2026-07-28, server/tools, x-mcp-header";
const OLDER: &str = "MCP 2025-11-25, schema, Tool";
const FORMS: &str = "ours: clients make forms of the arguments";

const RULES: &[Rule] = &[
    Rule {
        says: "a name is of letters, digits, _, - and .",
        source: TOOLS,
        holds: |tool| is_plain_name(&tool["name"]),
        broken_by: ("/name", || json!("shared context")),
    },
    Rule {
        says: "the arguments are an object",
        source: OLDER,
        holds: |tool| tool["inputSchema"]["type"] == "object",
        broken_by: ("/inputSchema/type", || json!("array")),
    },
    Rule {
        says: "the structured content is an object",
        source: OLDER,
        holds: |tool| tool["outputSchema"]["type"] == "object",
        broken_by: ("/outputSchema/type", || json!("string")),
    },
    Rule {
        says: "nothing is referred to",
        source: SCHEMA,
        holds: |tool| !tool.to_string().contains("\"$ref\""),
        broken_by: ("/inputSchema/properties/id", || json!({"$ref": "http://a/b"})),
    },
    Rule {
        says: "each hint is given",
        source: TOOLS,
        holds: |tool| {
            ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]
                .iter()
                .all(|it| tool["annotations"][it].is_boolean())
        },
        broken_by: ("/annotations/readOnlyHint", || Value::Null),
    },
    Rule {
        says: "the one header is that of the session, a plain text at the top",
        source: HEADERS,
        holds: |tool| {
            let schema = &tool["inputSchema"];
            let marked = tool.to_string().matches("x-mcp-header").count();
            let session = &schema["properties"]["session"];
            marked == 1 && session["x-mcp-header"] == "Session" && session["type"] == "string"
        },
        broken_by: ("/inputSchema/properties/session/type", || json!(["string", "null"])),
    },
    Rule {
        says: "each member has one type, which is not null; within a list it may be of any type",
        source: FORMS,
        holds: |tool| {
            let is_one = |it: &Value| it["type"].is_string() && it["type"] != "null";
            let arguments = &tool["inputSchema"];
            let all = schemas(arguments);
            members(arguments).iter().all(|(_, it)| is_one(it))
                && all.iter().all(|it| is_one(it) || it["anyOf"].is_array())
        },
        broken_by: (
            "/inputSchema/properties/session",
            || json!({"type": ["string", "null"], "x-mcp-header": "Session"}),
        ),
    },
    Rule {
        says: "one member is required, and no others are taken",
        source: FORMS,
        holds: |tool| {
            let schema = &tool["inputSchema"];
            required(schema).len() == 1
                && schema["properties"].get(required(schema)[0]).is_some()
                && schema["additionalProperties"] == false
        },
        broken_by: ("/inputSchema/required", || json!(["action", "task"])),
    },
    Rule {
        says: "the stated tokens come last",
        source: "ours: the rest can be counted without them",
        holds: |tool| {
            let tokens = &tool["_meta"]["shared-context/tokens"];
            let end = format!(r#","_meta":{{"shared-context/tokens":{tokens}}}}}"#);
            [true, false].iter().any(|it| crate::tools::tools_json(*it).contains(&end))
        },
        broken_by: ("/_meta", || json!({"shared-context/tokens": 7})),
    },
];

#[test]
fn mcp_s_clients_accept_the_tools() {
    check(Format::Mcp, RULES);
}
