//! Constraints of the requests about handoffs. Their members have names that mean something else in
//! other requests.

use serde_json::{Value, json};
use shared_context_core::handoffs::{
    HandoffKind, HandoffState, ITEMS_MAX, ListName, OFFER_SECONDS, PACKAGE_TOKENS_MIN,
    PROMPT_BYTES_MAX, PROMPT_TOKENS, SECTIONS_MAX, SKILL_BYTES_MAX, SUMMARY_BYTES_MAX,
    TEXT_BYTES_MAX, TEXTS_MAX, Trigger,
};
use shared_context_core::{
    key::LINE_CHARS_MAX, memories::QUERY_BYTES_MAX, outline::MARKER_BYTES_MAX,
};

use super::{
    bounds::{ONE_LINE, PARTICIPANT, SESSION_ID},
    memories::MEMORY,
    packets::optional,
};

/// Id of a handoff.
pub const HANDOFF: &str = "^HND-[1-9][0-9]{0,18}$";
/// Participant that can receive a handoff.
const RECEIVER: &str = "^(orchestrator|subagent:[A-Za-z0-9_.-]{1,64}(:[A-Za-z0-9_.-]{1,64})?)$";
/// The actions whose members are bound here.
const ACTIONS: [&str; 9] = [
    "offer_handoff",
    "accept_handoff",
    "decline_handoff",
    "take_over",
    "list_handoffs",
    "read_handoff",
    "redact_handoff",
    "trace_decision",
    "project_prompt",
];

/// Returns the constraints of the member `name` of the request for `action`.
pub(super) fn of_member(action: &str, name: &str) -> Option<Value> {
    if !ACTIONS.contains(&action) {
        return None;
    }
    let words = |bytes: usize| json!({"minLength": 1, "maxLength": bytes, "pattern": "\\S"});
    let texts = |most: usize, bytes: usize| {
        json!({
            "maxItems": most,
            "items": {"type": "string", "minLength": 1, "maxLength": bytes, "pattern": "\\S"},
        })
    };
    let most =
        if action == "take_over" { HandoffKind::Emergency } else { HandoffKind::Continuation };
    Some(match (action, name) {
        ("trace_decision", "id") => json!({"pattern": MEMORY}),
        (_, "id") => json!({"pattern": HANDOFF}),
        ("offer_handoff", "reason") => optional(&Trigger::NAMES),
        (_, "reason") => json!({"minLength": 1, "maxLength": LINE_CHARS_MAX, "pattern": ONE_LINE}),
        (_, "handoff_type") => json!({"enum": HandoffKind::NAMES}),
        (_, "state") => optional(&HandoffState::NAMES),
        (_, "to_agent") => json!({"pattern": RECEIVER}),
        (_, "from_agent" | "agent_id") => json!({"pattern": PARTICIPANT}),
        (_, "to_session_id" | "from_session_id") => json!({"pattern": SESSION_ID}),
        (_, "summary") => words(SUMMARY_BYTES_MAX),
        (_, "task") => words(QUERY_BYTES_MAX),
        (_, "sections") => texts(SECTIONS_MAX, MARKER_BYTES_MAX),
        (_, "required_skills" | "to_agent_capabilities") => texts(TEXTS_MAX, SKILL_BYTES_MAX),
        (_, "items") => json!({"maxItems": ITEMS_MAX}),
        ("project_prompt", "agent" | "criteria") => {
            json!({"minLength": 1, "maxLength": PROMPT_BYTES_MAX})
        }
        ("project_prompt", "max_tokens") => {
            json!({"minimum": PROMPT_TOKENS.start(), "maximum": PROMPT_TOKENS.end()})
        }
        (_, "max_tokens") => {
            json!({"minimum": PACKAGE_TOKENS_MIN.0, "maximum": most.budget().1.0})
        }
        (_, "ttl_seconds") => {
            json!({"minimum": OFFER_SECONDS.start(), "maximum": OFFER_SECONDS.end()})
        }
        (_, name) if ListName::NAMES.contains(&name) => texts(TEXTS_MAX, TEXT_BYTES_MAX),
        _ => return None,
    })
}
