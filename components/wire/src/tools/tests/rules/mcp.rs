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
        says: "nothing is referred to",
        source: SCHEMA,
        holds: |tool| !tool.to_string().contains("\"$ref\""),
        broken_by: ("/inputSchema/properties/zzz", || json!({"$ref": "http://a/b"})),
    },
    Rule {
        says: "a hint is true or false, and the world outside is left alone",
        source: TOOLS,
        holds: |tool| {
            let hints = tool["annotations"].as_object().unwrap();
            hints.values().all(Value::is_boolean) && hints["openWorldHint"] == false
        },
        broken_by: ("/annotations/openWorldHint", || Value::Null),
    },
    Rule {
        says: "a tool that changes something says whether it may remove something",
        source: TOOLS,
        holds: |tool| {
            let hints = &tool["annotations"];
            hints["readOnlyHint"] == true || hints["destructiveHint"].is_boolean()
        },
        broken_by: ("/annotations", || json!({"openWorldHint": false})),
    },
    Rule {
        says: "no header is asked for: a credential says its session",
        source: HEADERS,
        holds: |tool| !tool.to_string().contains("x-mcp-header"),
        broken_by: (
            "/inputSchema/properties/session",
            || json!({"type": "string", "x-mcp-header": "Session"}),
        ),
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
        broken_by: ("/inputSchema/properties/zzz", || json!({"type": ["string", "null"]})),
    },
    Rule {
        says: "what is required is there and described, and no others are taken",
        source: FORMS,
        holds: |tool| {
            let schema = &tool["inputSchema"];
            let about = |name: &&str| schema["properties"][name]["description"].is_string();
            required(schema).iter().all(about) && schema["additionalProperties"] == false
        },
        broken_by: ("/inputSchema/required", || json!(["zzz"])),
    },
    Rule {
        says: "the stated tokens come last",
        source: "ours: the rest can be counted without them",
        holds: |tool| {
            let tokens = &tool["_meta"]["shared-context/tokens"];
            let end = format!(r#","_meta":{{"shared-context/tokens":{tokens}}}}}"#);
            [Role::Agent, Role::Orchestrator]
                .iter()
                .any(|it| crate::tools::definition(Format::Mcp, *it).contains(&end))
        },
        broken_by: ("/_meta", || json!({"shared-context/tokens": 7})),
    },
];

#[test]
fn mcp_s_clients_accept_the_tools() {
    check(Format::Mcp, RULES);
}
