//! Rules of `OpenAI`'s strict mode for functions.

use super::*;

const SUPPORTED: &str = "developers.openai.com/api/docs/guides/structured-outputs, supported \
                         schemas";
const FUNCTIONS: &str = "developers.openai.com/api/docs/guides/function-calling, strict mode";
const REFERENCE: &str = "developers.openai.com/api/reference, chat completions, tools";

const RULES: &[Rule] = &[
    Rule {
        says: "a tool is a function with these members",
        source: REFERENCE,
        holds: |tool| {
            let known = ["name", "description", "strict", "parameters"];
            tool["type"] == "function"
                && has_only(tool, &["type", "function"])
                && has_only(&tool["function"], &known)
        },
        broken_by: ("/function/title", || json!("Shared context")),
    },
    Rule {
        says: "a name is of letters, digits, _ and -, at most 64",
        source: REFERENCE,
        holds: |tool| is_plain_name(&tool["function"]["name"]),
        broken_by: ("/function/name", || json!("shared.context")),
    },
    Rule {
        says: "strict is asked for",
        source: FUNCTIONS,
        holds: |tool| tool["function"]["strict"] == true,
        broken_by: ("/function/strict", || Value::Null),
    },
    Rule {
        says: "the root is an object, not a choice",
        source: SUPPORTED,
        holds: |tool| {
            let root = arguments(tool);
            root["type"] == "object" && root.get("anyOf").is_none()
        },
        broken_by: ("/function/parameters/anyOf", || json!([])),
    },
    Rule {
        says: "all properties are required",
        source: SUPPORTED,
        holds: |tool| {
            objects(arguments(tool)).all(|it| {
                let required = required(it);
                members(it).iter().all(|(name, _)| required.contains(&name.as_str()))
                    && members(it).len() == required.len()
            })
        },
        broken_by: ("/function/parameters/required", || json!(["action"])),
    },
    Rule {
        says: "what may be left out may be null",
        source: FUNCTIONS,
        holds: |tool| {
            members(arguments(tool)).iter().all(|(name, it)| {
                let is_nullable = it["type"]
                    .as_array()
                    .is_some_and(|types| types.len() == 2 && types[1] == "null");
                is_nullable == (*name != "action")
            })
        },
        broken_by: ("/function/parameters/properties/key/type", || json!("string")),
    },
    Rule {
        says: "no object takes other properties",
        source: SUPPORTED,
        holds: |tool| objects(arguments(tool)).all(|it| it["additionalProperties"] == false),
        broken_by: ("/function/parameters/properties/key", || json!({"type": "object"})),
    },
    Rule {
        says: "only keywords that every strict model knows",
        source: SUPPORTED,
        holds: |tool| schemas(arguments(tool)).into_iter().all(|it| has_only(it, KEYWORDS)),
        broken_by: ("/function/parameters/properties/since", with_minimum),
    },
    Rule {
        says: "at most 5,000 properties",
        source: SUPPORTED,
        holds: |tool| objects(arguments(tool)).map(|it| members(it).len()).sum::<usize>() <= 5_000,
        broken_by: ("/function/parameters", || wide(5_001, &json!({}))),
    },
    Rule {
        says: "at most 10 levels",
        source: SUPPORTED,
        holds: |tool| depth(arguments(tool)) <= 10,
        broken_by: ("/function/parameters", || deep(11)),
    },
    Rule {
        says: "at most 250 values to choose from; up to 1,000 while they are short",
        source: SUPPORTED,
        holds: |tool| {
            let all = schemas(arguments(tool));
            let values: Vec<&Value> =
                all.iter().filter_map(|it| it["enum"].as_array()).flatten().collect();
            values.len() <= 250 && values.iter().all(|it| it.is_string())
        },
        broken_by: ("/function/parameters/properties/action/enum", || json!(vec!["read"; 1_001])),
    },
    Rule {
        says: "at most 120,000 characters of names and values to choose from",
        source: SUPPORTED,
        holds: |tool| arguments(tool).to_string().len() <= 120_000,
        broken_by: ("/function/parameters/properties/action/enum", || json!(["x".repeat(120_001)])),
    },
];

#[test]
fn openai_s_strict_mode_accepts_the_tool() {
    check(Format::OpenAi, RULES);
}
