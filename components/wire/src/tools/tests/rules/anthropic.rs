//! Rules of Anthropic's strict mode for tools.

use super::*;

const LIMITATIONS: &str = "platform.claude.com/docs/en/build-with-claude/structured-outputs, \
                           JSON Schema limitations";
const COMPLEXITY: &str = "platform.claude.com/docs/en/build-with-claude/structured-outputs, \
                          schema complexity limits";
const STRICT: &str = "platform.claude.com/docs/en/agents-and-tools/tool-use/strict-tool-use";
const REFERENCE: &str = "platform.claude.com/docs/en/api/messages, tools";

const RULES: &[Rule] = &[
    Rule {
        says: "a tool has these members",
        source: REFERENCE,
        holds: |tool| has_only(tool, &["name", "description", "strict", "input_schema"]),
        broken_by: ("/title", || json!("Shared context")),
    },
    Rule {
        says: "a name is of letters, digits, _ and -, at most 64",
        source: REFERENCE,
        holds: |tool| is_plain_name(&tool["name"]),
        broken_by: ("/name", || json!("")),
    },
    Rule {
        says: "strict is asked for",
        source: STRICT,
        holds: |tool| tool["strict"] == true,
        broken_by: ("/strict", || json!(false)),
    },
    Rule {
        says: "the root is an object",
        source: REFERENCE,
        holds: |tool| arguments(tool)["type"] == "object",
        broken_by: ("/input_schema/type", || json!("string")),
    },
    Rule {
        says: "no object takes other properties",
        source: LIMITATIONS,
        holds: |tool| objects(arguments(tool)).all(|it| it["additionalProperties"] == false),
        broken_by: ("/input_schema/additionalProperties", || json!(true)),
    },
    Rule {
        says: "no bounds, no patterns, no references",
        source: LIMITATIONS,
        holds: |tool| schemas(arguments(tool)).into_iter().all(|it| has_only(it, KEYWORDS)),
        broken_by: ("/input_schema/properties/since", with_minimum),
    },
    Rule {
        says: "values to choose from are plain",
        source: LIMITATIONS,
        holds: |tool| {
            schemas(arguments(tool))
                .into_iter()
                .filter_map(|it| it["enum"].as_array())
                .flatten()
                .all(|it| !it.is_object() && !it.is_array())
        },
        broken_by: ("/input_schema/properties/action/enum", || json!([["read"]])),
    },
    Rule {
        says: "at most 24 optional parameters in all strict tools of a request; we take 8",
        source: COMPLEXITY,
        holds: |tool| {
            let optional =
                objects(arguments(tool)).map(|it| members(it).len() - required(it).len());
            optional.sum::<usize>() <= 8
        },
        broken_by: ("/input_schema", || wide(9, &json!({"type": "string"}))),
    },
    Rule {
        says: "at most 16 parameters of several types in a request; we take none",
        source: COMPLEXITY,
        holds: |tool| {
            schemas(arguments(tool))
                .into_iter()
                .all(|it| it["type"].is_string() && it.get("anyOf").is_none())
        },
        broken_by: ("/input_schema/properties/key/type", || json!(["string", "null"])),
    },
];

#[test]
fn anthropic_s_strict_mode_accepts_the_tool() {
    check(Format::Anthropic, RULES);
    for role in [Role::Agent, Role::Orchestrator] {
        assert!(tools(Format::Anthropic, role).len() <= 20, "strict tools in a request");
    }
}
