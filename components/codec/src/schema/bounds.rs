//! Constraints that the types of requests cannot express: which texts are keys, labels, patterns or
//! one line, and the limits of numbers and lists. A member name means the same in every request.
//!
//! Rules that depend on a session are not included, such as whether it allows prefixed keys.

use serde_json::{Value, json};
use shared_context_core::{
    command::BATCH_KEYS_MAX,
    config::{
        CHANGES_LIMIT_MAX, HISTORY_BYTES_LIMIT_MAX, HISTORY_VERSIONS_LIMIT_MAX, KEYS_LIMIT_MAX,
        REQUESTS_REMEMBERED, SNAPSHOTS_LIMIT_MAX, STORE_TOKENS_LIMIT_MAX, VALUE_TOKENS_LIMIT_MAX,
    },
    context::{SAMPLE_BYTES_MAX, capacity::Trigger, plan::WINDOW_TOKENS_MAX},
    key::{LINE_CHARS_MAX, REQUEST_ID_CHARS_MAX},
    namespace::NAMESPACE_KEYS_MAX,
    pattern::PATTERNS_MAX,
    rounds::{
        BYTES_MAX, Clip, Operation, PATH_BYTES_MAX, PROPOSAL_DELTAS_MAX, PROVENANCE_CHARS_MAX,
        RULES_MAX as ROUND_RULES_MAX, Reported, SECRET_CHARS, Strategy,
    },
    store::{access::RULES_MAX, expiry::TTL_SECONDS_MAX},
};

use super::{context, memories, packets};
use crate::{context::REPORTS, rounds::DELTA_FORMS};

/// Key, with a prefix where the session allows it.
pub const KEY: &str = "^([a-z0-9_]{1,64}:)?[a-z0-9_]{1,64}$";
/// Prefix of keys, with or without its colon.
pub const PREFIX: &str = "^[a-z0-9_]{1,64}:?$";
/// Pattern of keys.
pub const KEY_PATTERN: &str = "^([a-z0-9_*]{1,64}:)?[a-z0-9_*]{1,64}$";
/// Label of a snapshot.
pub const LABEL: &str = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$";
/// Id of a session.
pub const SESSION_ID: &str = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$";
/// Participant, including the admin.
pub const PARTICIPANT: &str =
    "^(orchestrator|admin|subagent:[A-Za-z0-9_.-]{1,64}(:[A-Za-z0-9_.-]{1,64})?)$";
/// Pattern of participants.
const PARTICIPANT_PATTERN: &str =
    "^([*]|orchestrator|admin|subagent:[A-Za-z0-9_.*-]{1,64}(:[A-Za-z0-9_.*-]{1,64})?)$";
/// Text without control characters.
pub(super) const ONE_LINE: &str = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$";
/// Instant at or after the epoch, in years of four digits.
pub const SINCE_1970: &str = "^(19[7-9][0-9]|[2-9][0-9]{3})-";
/// Start of a `JSONPath` to one or several places in a round state. The rest of the syntax is
/// beyond such a pattern.
pub const PATH: &str = "^[$]";
/// Round and sequence of a delta.
pub const POSITION: &str = "^[0-9]{1,19}[.][0-9]{1,9}$";
/// The one strategy that requires experts; the others reject them.
const EXPERT_OVERRIDE: &str = "expert-override";
/// Name of an estimator.
const ESTIMATOR: &str = "^[a-z0-9_]{1,32}$";

/// Adds the constraints of the member `name` to its `schema`.
pub(super) fn bind(name: &str, schema: &mut Value) {
    let line = json!({"minLength": 1, "maxLength": LINE_CHARS_MAX, "pattern": ONE_LINE});
    let text = |pattern: &str| json!({"pattern": pattern});
    let range = |min: u32, max: u32| json!({"minimum": min, "maximum": max});
    let list = |max: usize| json!({"maxItems": max});
    let patterns = json!({"minItems": 1, "maxItems": PATTERNS_MAX, "items": {"type": "string", "pattern": PARTICIPANT_PATTERN}});
    let bounds = match name {
        "key" => text(KEY),
        "prefix" => text(PREFIX),
        "label" | "from" | "to" => text(LABEL),
        "participant" => text(PARTICIPANT),
        "readable_by" | "writable_by" | "experts" => patterns,
        "note" | "reason" | "group" | "purpose" | "shape" => line,
        "text" => json!({"minLength": SECRET_CHARS.start(), "maxLength": SECRET_CHARS.end()}),
        "request_id" => {
            json!({"minLength": 1, "maxLength": REQUEST_ID_CHARS_MAX, "pattern": ONE_LINE})
        }
        "ttl_seconds" | "ttl_seconds_default" => range(1, TTL_SECONDS_MAX),
        "limit" => range(1, 1_000),
        "writes" | "deletes" => list(BATCH_KEYS_MAX),
        "value_tokens_max" => range(1, VALUE_TOKENS_LIMIT_MAX.0),
        "store_tokens_max" => range(1, STORE_TOKENS_LIMIT_MAX.0),
        "keys_max" => range(1, KEYS_LIMIT_MAX),
        "history_versions_max" => range(0, HISTORY_VERSIONS_LIMIT_MAX),
        "history_bytes_max" => range(0, HISTORY_BYTES_LIMIT_MAX),
        "snapshots_max" => range(0, SNAPSHOTS_LIMIT_MAX),
        "changes_max" => range(REQUESTS_REMEMBERED, CHANGES_LIMIT_MAX),
        "access" => list(RULES_MAX),
        "estimator" | "encoding" => text(ESTIMATOR),
        "max_tokens" | "recommended_tokens" => range(0, u32::MAX),
        "if_version" | "if_revision" | "if_changed_since" | "revision" | "since" => {
            json!({"maximum": u64::MAX})
        }
        "expires_at" => text(SINCE_1970),
        "weights" | "strategies" => list(ROUND_RULES_MAX),
        "weight" => json!({"minimum": 0, "maximum": 1}),
        "strategy" => json!({"enum": Strategy::NAMES}),
        "clip" => {
            let names = Clip::ALL.iter().map(|it| Some(it.as_str()));
            json!({"enum": names.chain([None]).collect::<Vec<_>>()})
        }
        "form" => {
            let names = DELTA_FORMS.iter().map(Some).chain([None]);
            json!({"enum": names.collect::<Vec<_>>()})
        }
        "outcome" => {
            let names = Reported::ALL.iter().map(|it| Some(it.as_str()));
            json!({"enum": names.chain([None]).collect::<Vec<_>>()})
        }
        "bytes_max" => range(*BYTES_MAX.start(), *BYTES_MAX.end()),
        "deltas" => json!({"minItems": 1, "maxItems": PROPOSAL_DELTAS_MAX}),
        "operation" => json!({"enum": Operation::ALL.map(Operation::as_str)}),
        "path" => json!({"maxLength": PATH_BYTES_MAX, "pattern": PATH}),
        "provenance" => json!({"minLength": 1, "maxLength": PROVENANCE_CHARS_MAX}),
        "round" => json!({"maximum": u64::MAX}),
        "window_tokens" => range(1, WINDOW_TOKENS_MAX.0),
        "reports" => {
            json!({"items": {"type": "string", "enum": REPORTS.map(Trigger::as_str)}})
        }
        "sample" => json!({"maxLength": SAMPLE_BYTES_MAX}),
        // The position of a delta is a text, a revision a number.
        "after" if schema["format"] == "uint64" || schema.get("minimum").is_some() => {
            json!({"maximum": u64::MAX})
        }
        "after" => text(POSITION),
        "versions" => json!({"items": {"type": "integer", "minimum": 0, "maximum": u64::MAX}}),
        _ => return,
    };
    merge(schema, bounds);
}

/// Adds the constraints of the member `keys` of `action`: a list of keys or a pattern.
pub(super) fn bind_keys(action: &str, schema: &mut Value) {
    let bounds = match action {
        "changes" => json!({"pattern": KEY_PATTERN}),
        _ => json!({
            "items": {"type": "string", "pattern": KEY},
            "minItems": 1, "maxItems": BATCH_KEYS_MAX, "uniqueItems": true,
        }),
    };
    merge(schema, bounds);
}

/// Adds the constraints of the members of definition `name`, if it is part of requests.
pub(super) fn bind_definition(name: &str, definition: &mut Value) {
    let properties = definition.get_mut("properties").and_then(Value::as_object_mut);
    for (member, schema) in properties.into_iter().flatten() {
        let bounds = packets::of_definition(name, member);
        let bounds = bounds.or_else(|| context::of_definition(name, member));
        if let Some(bounds) = bounds.or_else(|| memories::of_definition(name, member)) {
            merge(schema, bounds);
        }
    }
    let is_of_requests = matches!(
        name,
        "batch_write"
            | "batch_delete"
            | "session_config"
            | "access_rule"
            | "convention"
            | "namespace"
            | "round_weight"
            | "round_strategy"
            | "delta"
            | "window_shares"
    );
    let properties = definition.get_mut("properties").and_then(Value::as_object_mut);
    for (member, schema) in properties.filter(|_| is_of_requests).into_iter().flatten() {
        match (name, member.as_str()) {
            ("round_weight", "participant") => {
                merge(schema, json!({"pattern": PARTICIPANT_PATTERN}));
            }
            // Null is a value here, so it is not the default of an absent member.
            ("delta", "value") => drop(schema.as_object_mut().map(|it| it.remove("default"))),
            ("access_rule", "keys") => merge(schema, json!({"pattern": KEY_PATTERN})),
            ("namespace", "keys") => merge(schema, json!({"maxItems": NAMESPACE_KEYS_MAX})),
            ("window_shares", _) => merge(schema, json!({"minimum": 0, "maximum": 100})),
            _ => bind(member, schema),
        }
    }
    let (member, one, if_it_is, if_not) = match name {
        "delta" => {
            let (none, some) =
                (json!({"properties": {"value": false}}), json!({"required": ["value"]}));
            ("operation", Operation::Remove.as_str(), none, some)
        }
        "round_strategy" => {
            let experts =
                json!({"properties": {"experts": {"type": "array"}}, "required": ["experts"]});
            let none = json!({"properties": {"experts": {"type": "null"}}});
            ("strategy", EXPERT_OVERRIDE, experts, none)
        }
        _ => return,
    };
    let is_it = json!({"properties": {member: {"const": one}}});
    merge(definition, json!({"if": is_it, "then": if_it_is, "else": if_not}));
}

/// Adds to the request for `action` that at least one of two lists must not be empty.
pub(super) fn require_any(action: &str, request: &mut Value) {
    let members = match action {
        "write_batch" => ["writes", "deletes"],
        "set_access" => ["readable_by", "writable_by"],
        _ => return,
    };
    let holds =
        |it: &str| json!({"properties": {it: {"type": "array", "minItems": 1}}, "required": [it]});
    merge(request, json!({"anyOf": members.map(holds)}));
}

pub(super) fn merge(schema: &mut Value, more: Value) {
    if let (Some(schema), Value::Object(more)) = (schema.as_object_mut(), more) {
        schema.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use shared_context_core::{
        Key, Label, Participant, Prefix, RequestId, SessionId,
        key::Line,
        pattern::{KeyPattern, ParticipantPattern},
        tokens::Estimator,
    };

    use super::*;

    /// Returns true if `text` matches `pattern`.
    fn fits(pattern: &str, text: &str) -> bool {
        regex_automata::meta::Regex::new(pattern).unwrap().is_match(text)
    }

    /// Each pattern matches exactly the texts that the core accepts.
    #[test]
    fn patterns_match_what_the_core_accepts() {
        let long = ["a".repeat(64), "a".repeat(65), "a".repeat(128), "a".repeat(129)];
        let words = [
            "",
            "a",
            "A",
            "_",
            "a:b",
            "a:b:c",
            ":a",
            "a:",
            "a*",
            "*",
            "*:*",
            "a.b",
            ".a",
            "-a",
            "a b",
            "ä",
            "a\nb",
            "a\u{85}b",
            "orchestrator",
            "admin",
            "orchestrator:a",
            "subagent",
            "subagent:",
            "subagent:a",
            "subagent:A.b-c_d:0",
            "subagent:a:b:c",
            "subagent:*",
            "subagent:a*:b*",
            "subagent:ä",
            "approximate",
            "o200k_base",
            "a\n",
        ];
        let words = words.iter().copied().chain(long.iter().map(String::as_str));
        for it in words {
            let check = |pattern: &str, is_taken: bool| {
                assert_eq!(fits(pattern, it), is_taken, "{it:?} and {pattern}");
            };
            check(KEY, Key::parse(it).is_ok());
            check(PREFIX, Prefix::parse(it).is_ok());
            check(LABEL, Label::parse(it).is_ok());
            check(SESSION_ID, SessionId::new(it).is_some());
            check(PARTICIPANT, Participant::parse(it).is_ok());
            check(PARTICIPANT_PATTERN, ParticipantPattern::parse(it).is_ok());
            check(KEY_PATTERN, KeyPattern::parse(it).is_ok());
            check(ONE_LINE, Line::parse("it", it).is_ok() || it.len() > LINE_CHARS_MAX);
            let is_id = RequestId::parse(it).is_ok();
            check(ONE_LINE, is_id || it.len() > REQUEST_ID_CHARS_MAX);
            check(ESTIMATOR, Estimator::parse(it).is_ok());
        }
    }
}
