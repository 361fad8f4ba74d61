//! Constraints of the requests of the context pipeline and of compaction. Their members have names that mean something
//! else in other requests.

use serde_json::{Value, json};
use shared_context_core::{
    budget::{BUDGET_BYTES_MAX, BUDGET_TOKENS_MAX},
    compact::{AIM_TOKENS_MAX, SUMMARY_BYTES_MAX, TURNS_MAX, Weighting},
    context::{
        assembly::{Format, RankBy},
        kept::MISSING_CHARS_MAX,
        kinds::{MissingKind, Place, Purpose},
        plan::WINDOW_TOKENS_MAX,
    },
    item::{
        Authority, DEPENDS_ON_MAX, ID_CHARS_MAX, IMPORTANCE, ITEMS_MAX, ItemRole, KIND_BYTES_MAX,
        NATIVE_IDS_MAX, SELECTORS_MAX, TASK_BYTES_MAX, Target,
    },
};

use super::bounds::{KEY_PATTERN, SINCE_1970};

/// Id of an envelope.
pub const ENVELOPE: &str = "^ENV-[1-9][0-9]{0,18}$";
/// Id of missing context.
pub const MISSING: &str = "^MIS-[1-9][0-9]{0,18}$";
/// Digest of a text.
const DIGEST: &str = "^sha256:[0-9a-f]{64}$";
/// One line without spaces around it.
const ITEM_ID: &str = "^[^\\s\\u0000-\\u001f\\u007f-\\u009f]([^\\u0000-\\u001f\\u007f-\\u009f]*[^\\s\\u0000-\\u001f\\u007f-\\u009f])?$";

/// Returns the constraints of the member `name` of the request for `action`.
pub(super) fn of_member(action: &str, name: &str) -> Option<Value> {
    let sentence = json!({"minLength": 1, "maxLength": MISSING_CHARS_MAX, "pattern": "\\S"});
    Some(match (action, name) {
        ("assemble_context" | "compact", "task") => json!({"maxLength": TASK_BYTES_MAX}),
        ("assemble_context", "items") => json!({"maxItems": ITEMS_MAX}),
        ("assemble_context", "entries") => json!({"pattern": KEY_PATTERN}),
        ("assemble_context" | "record_injection", "target") => optional(&Target::NAMES),
        ("assemble_context", "place") => optional(&Place::NAMES),
        ("record_injection", "place") => json!({"enum": Place::NAMES}),
        ("assemble_context", "purpose") => optional(&Purpose::NAMES),
        ("assemble_context", "rank_by") => optional(&RankBy::NAMES),
        ("assemble_context", "format") => optional(&Format::NAMES),
        ("assemble_context", "relevance_min") => json!({"minimum": 0, "maximum": 1}),
        ("assemble_context", "previous") | (_, "envelope") => json!({"pattern": ENVELOPE}),
        ("list_missing", "state") => optional(&["open", "answered"]),
        ("report_missing", "kind") => json!({"enum": MissingKind::NAMES}),
        ("report_missing", "text") | ("answer_missing", "answer") => sentence,
        ("answer_missing", "missing") => json!({"pattern": MISSING}),
        ("extract" | "compact" | "check_summary", "items") => json!({"maxItems": TURNS_MAX}),
        ("extract", "from") => json!({}),
        ("compact", "target_tokens") => json!({"minimum": 1, "maximum": AIM_TOKENS_MAX.0}),
        ("compact", "reduction_percent") => json!({"minimum": 1, "maximum": 99}),
        ("compact", "weighting") => optional(&Weighting::NAMES),
        ("check_summary", "summary") => json!({"maxLength": SUMMARY_BYTES_MAX}),
        _ => return None,
    })
}

/// Returns the constraints of the member `name` of a definition, if the definition is of the context
/// pipeline.
pub(super) fn of_definition(definition: &str, name: &str) -> Option<Value> {
    let list = |max: usize| json!({"maxItems": max});
    let names = |names: &[&str]| json!({"items": {"type": "string", "enum": names}});
    Some(match (definition, name) {
        ("context_item", "id") => {
            json!({"minLength": 1, "maxLength": ID_CHARS_MAX, "pattern": ITEM_ID})
        }
        ("context_item", "kind") => {
            json!({"pattern": format!("^[A-Za-z0-9_.:/-]{{1,{KIND_BYTES_MAX}}}$")})
        }
        ("context_item", "digest") => json!({"pattern": DIGEST}),
        ("context_item", "selectors") => list(SELECTORS_MAX),
        ("context_item", "depends_on") => list(DEPENDS_ON_MAX),
        ("context_item", "native_ids") => json!({"maxProperties": NATIVE_IDS_MAX}),
        ("context_item", "authority") => optional(&Authority::NAMES),
        ("context_item", "targets") => {
            json!({"minItems": 1, "items": {"type": "string", "enum": Target::NAMES}})
        }
        ("context_item", "roles") => names(&ItemRole::NAMES),
        ("context_item", "importance") => {
            json!({"minimum": IMPORTANCE.start(), "maximum": IMPORTANCE.end()})
        }
        ("context_item", "at" | "expires_at") | ("context_budget", "newer_than") => {
            json!({"pattern": SINCE_1970})
        }
        ("context_budget", "tokens") => json!({"minimum": 1, "maximum": BUDGET_TOKENS_MAX.0}),
        ("context_budget", "bytes") => json!({"minimum": 1, "maximum": BUDGET_BYTES_MAX}),
        ("context_budget", "items") => json!({"minimum": 1, "maximum": ITEMS_MAX}),
        ("context_budget", "reserved") => json!({"maximum": BUDGET_TOKENS_MAX.0}),
        ("assembly_window", "window_tokens") => {
            json!({"minimum": 1, "maximum": WINDOW_TOKENS_MAX.0})
        }
        ("conversation_position", "line") => json!({"minimum": 1}),
        ("context_item" | "context_budget" | "assembly_window" | "conversation_position", _) => {
            json!({})
        }
        _ => return None,
    })
}

/// Returns the constraint of a member that is one of `names`, or null.
fn optional(names: &[&str]) -> Value {
    let names = names.iter().map(|it| Some(*it)).chain([None]);
    json!({"enum": names.collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use shared_context_core::{
        context::kept::KeptId,
        item::{Item, Kind},
    };

    use super::*;

    fn fits(pattern: &str, text: &str) -> bool {
        regex_automata::meta::Regex::new(pattern).unwrap().is_match(text)
    }

    #[test]
    fn patterns_match_what_the_core_accepts() {
        for it in ["ENV-1", "ENV-0", "ENV-01", "ENV-999", "MIS-1", "ENV-", "env-1", "ENV-1 ", ""] {
            assert_eq!(fits(ENVELOPE, it), KeptId::parse_envelope("it", it).is_ok(), "{it:?}");
            assert_eq!(fits(MISSING, it), KeptId::parse_missing("it", it).is_ok(), "{it:?}");
        }
        for it in
            ["a", "src/a.rs", "two words", " a", "a ", "", "a\nb", "§4.a", "a\u{85}", "\u{a0}a"]
        {
            let item = Item::inline(it, Kind::parse("custom").unwrap(), "x");
            assert_eq!(fits(ITEM_ID, it), item.check().is_ok(), "{it:?}");
        }
    }
}
