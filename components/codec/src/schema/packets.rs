//! Constraints of the requests about packets. Their members have names that mean something else in
//! other requests.

use serde_json::{Value, json};
use shared_context_core::{
    command::BATCH_KEYS_MAX,
    compact::TURNS_MAX,
    packets::{
        BUDGET, Depth, FILES_MAX, Form, GAP_CHARS_MAX, GAPS_MAX, LINKS_MAX, Layer, MadeBy,
        NOTE_CHARS_MAX, Outcome, PACKET_TASK_BYTES_MAX, QUESTION_BYTES_MAX, STATEMENT_BYTES_MAX,
        STATEMENTS_MAX, TASK_TYPE_BYTES_MAX,
    },
};

use super::bounds::{KEY, SESSION_ID};

/// Whom a packet is for.
pub const ADDRESS: &str =
    "^(shared|[*]|orchestrator|admin|subagent:[A-Za-z0-9_.*-]{1,64}(:[A-Za-z0-9_.*-]{1,64})?)$";
/// Id of a packet.
const PACKET: &str = "^PKT-[1-9][0-9]{0,18}$";
/// Text with something besides spaces.
const SOME: &str = "\\S";

/// Returns the constraints of the member `name` of the request for `action`.
pub(super) fn of_member(action: &str, name: &str) -> Option<Value> {
    let is_of_packets = action.starts_with("context_") || action == "list_packets";
    if !is_of_packets {
        return None;
    }
    let gaps = json!({
        "maxItems": GAPS_MAX,
        "items": {"type": "string", "minLength": 1, "maxLength": GAP_CHARS_MAX, "pattern": SOME},
    });
    Some(match name {
        "address" => json!({"pattern": ADDRESS}),
        "task" => text(PACKET_TASK_BYTES_MAX),
        "task_type" => json!({"pattern": format!("^[a-z0-9_.-]{{1,{TASK_TYPE_BYTES_MAX}}}$")}),
        "depth" => optional(&Depth::NAMES),
        "layer" => optional(&Layer::NAMES),
        "form" => optional(&Form::NAMES),
        "outcome" => optional(&Outcome::NAMES),
        "max_tokens" => json!({"minimum": BUDGET.start(), "maximum": BUDGET.end()}),
        "conversation" => json!({"maxItems": TURNS_MAX}),
        "files" => json!({"maxItems": FILES_MAX}),
        "links" => json!({"maxItems": LINKS_MAX}),
        "keys" => json!({
            "maxItems": BATCH_KEYS_MAX, "items": {"type": "string", "pattern": KEY},
        }),
        "question" => text(QUESTION_BYTES_MAX),
        "gaps" | "unused" => gaps,
        "note" => json!({"maxLength": NOTE_CHARS_MAX}),
        "version" => json!({"minimum": 0, "maximum": u32::MAX}),
        "facts" | "patch" | "compared" | "preview" | "refresh" => json!({}),
        _ => return None,
    })
}

/// Returns the constraints of the member `name` of a definition, if the definition is of packets.
pub(super) fn of_definition(definition: &str, name: &str) -> Option<Value> {
    let statement = text(STATEMENT_BYTES_MAX);
    Some(match (definition, name) {
        ("packet_file", "path") => json!({"minLength": 1, "maxLength": 200}),
        ("packet_facts", "goal")
        | ("packet_fact_decision", "choice" | "reason")
        | ("packet_fact_attempt", "approach" | "reason_failed")
        | ("packet_fact_pivot", "change" | "reason") => statement,
        ("packet_fact_decision", "made_by") => optional(&MadeBy::NAMES),
        (
            "packet_facts",
            "success_criteria" | "constraints" | "patterns" | "anti_patterns" | "examples"
            | "open_questions",
        ) => json!({
            "maxItems": STATEMENTS_MAX,
            "items": {
                "type": "string", "minLength": 1, "maxLength": STATEMENT_BYTES_MAX, "pattern": SOME,
            },
        }),
        ("packet_facts", "decisions" | "failed_attempts" | "pivots") => {
            json!({"maxItems": STATEMENTS_MAX})
        }
        ("packet_link", "session") => json!({"pattern": SESSION_ID}),
        ("packet_link", "packet") => json!({"pattern": PACKET}),
        ("packet_settings", "default_depth") => optional(&Depth::NAMES),
        ("packet_budgets", _) => json!({"minimum": BUDGET.start(), "maximum": BUDGET.end()}),
        ("packet_file" | "packet_link" | "packet_settings", _) => json!({}),
        _ => return None,
    })
}

fn text(max: usize) -> Value {
    json!({"minLength": 1, "maxLength": max, "pattern": SOME})
}

/// Returns the constraint of a member that is one of `names`, or null.
pub(super) fn optional(names: &[&str]) -> Value {
    let names = names.iter().map(|it| Some(*it)).chain([None]);
    json!({"enum": names.collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use shared_context_core::packets::{Address, check_task_type};

    use super::*;

    fn fits(pattern: &str, text: &str) -> bool {
        regex_automata::meta::Regex::new(pattern).unwrap().is_match(text)
    }

    #[test]
    fn patterns_match_what_the_core_accepts() {
        for it in [
            "shared",
            "*",
            "orchestrator",
            "admin",
            "subagent:impl",
            "subagent:impl:3",
            "subagent:*",
            "subagent:impl:*",
            "Shared",
            "subagent:",
            "subagent:a:b:c",
            "user",
            "",
            "impl",
            "subagent:a b",
        ] {
            assert_eq!(fits(ADDRESS, it), Address::parse(it).is_ok(), "{it:?}");
        }
        let bounds = of_member("context_stats", "task_type").unwrap();
        let pattern = bounds["pattern"].as_str().unwrap();
        for it in ["a", "bug-fix_2.0", "A", "", "a b", &"a".repeat(64), &"a".repeat(65)] {
            assert_eq!(fits(pattern, it), check_task_type(it).is_ok(), "{it:?}");
        }
    }
}
