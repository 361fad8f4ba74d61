//! Gaps of the cases: actions and errors without a case, and error codes with adjacent precedence
//! that no case distinguishes.
//!
//! A test compares the cases with the codec's lists, so it fails for a new action or code without
//! a case.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::case::{Body, Case, Expectation, Instruction, ToolCall};

/// Codes with adjacent precedence that never apply to one request, each with the reason.
const NEVER_TOGETHER: [(&str, &str, &str); 42] = [
    ("INVALID_KEY", "INVALID_PATH", "what names a path names no key"),
    ("INVALID_PATH", "FORMAT_TOO_NEW", "an import names no path"),
    ("SESSION_NOT_FOUND", "PROJECT_NOT_FOUND", "a request is about a session or a project"),
    ("PROJECT_NOT_FOUND", "SESSION_ARCHIVED", "a request is about a session or a project"),
    ("SESSION_EXISTS", "PROJECT_EXISTS", "a request is about a session or a project"),
    (
        "PROJECT_EXISTS",
        "REQUEST_ID_REUSED",
        "a request id is looked up first, so that a retry is answered",
    ),
    ("REQUEST_ID_REUSED", "CHANGES_TRUNCATED", "the feed is read without a request id"),
    ("CHANGES_TRUNCATED", "SNAPSHOT_NOT_FOUND", "the feed is not read of a snapshot"),
    ("SNAPSHOT_NOT_FOUND", "SNAPSHOT_EXISTS", "a snapshot is there or it is not"),
    ("SNAPSHOT_LIMIT", "ROUND_OPEN", "a snapshot is not taken of rounds"),
    ("ROUND_OPEN", "ROUND_NOT_OPEN", "a round is open or it is not"),
    ("ROUND_NOT_OPEN", "ROUND_NOT_FOUND", "what needs an open round names none"),
    ("ROUND_NOT_FOUND", "DELTA_NOT_FOUND", "deltas are named of the open round only"),
    ("DELTA_NOT_FOUND", "ENVELOPE_NOT_FOUND", "a round has no envelopes"),
    ("ENVELOPE_NOT_FOUND", "MISSING_NOT_FOUND", "an answer names no envelope"),
    ("MISSING_NOT_FOUND", "PACKET_NOT_FOUND", "missing context has no packet"),
    ("SESSION_ARCHIVED", "PROJECT_ARCHIVED", "a request is about a session or a project"),
    ("PACKET_NOT_FOUND", "MEMORY_NOT_FOUND", "a session has no memories"),
    ("MEMORY_NOT_FOUND", "SECTION_NOT_FOUND", "what names a memory names no section"),
    ("SECTION_NOT_FOUND", "HANDOFF_NOT_FOUND", "an offer names no handoff"),
    ("HANDOFF_NOT_FOUND", "KEY_NOT_FOUND", "a project has no keys"),
    ("KEY_NOT_FOUND", "PATH_NOT_FOUND", "what names a path names no key"),
    ("PATH_NOT_FOUND", "PATH_EXISTS", "a place is there or it is not"),
    ("PATH_EXISTS", "TOKENIZER_UNAVAILABLE", "the tokens of a state are not counted"),
    ("TOKENIZER_UNAVAILABLE", "VALUE_TOO_LARGE", "what cannot be counted is not too large"),
    ("VALUE_TOO_LARGE", "SECTION_TOO_LARGE", "a project has no entries"),
    ("SECTION_TOO_LARGE", "SENSITIVE_VALUE", "a project has no entries"),
    ("SENSITIVE_VALUE", "BUDGET_TOO_SMALL", "an assembly writes no entry"),
    ("BUDGET_TOO_SMALL", "TARGET_UNREACHABLE", "a compaction has no budget"),
    ("TARGET_UNREACHABLE", "FEEDBACK_GIVEN", "feedback has no target"),
    ("FEEDBACK_GIVEN", "SUPERSEDES_ITSELF", "a session has no memories"),
    ("MEMORY_ARCHIVED", "NOT_OWNER", "what names a memory names no section"),
    ("NOT_OWNER", "LEASE_EXPIRED", "who lost a section is told so first, and then asks again"),
    ("LEASE_EXPIRED", "HANDOFF_SETTLED", "an answer to a handoff changes no section's content"),
    ("HANDOFF_SETTLED", "VERSION_CONFLICT", "an answer to a handoff names no version"),
    ("VERSION_CONFLICT", "IDENTITY_CONFLICT", "a place has no version"),
    ("IDENTITY_CONFLICT", "STORE_FULL", "the store holds no state"),
    ("STORE_FULL", "ROUND_FULL", "the store holds no deltas"),
    ("ROUND_FULL", "STATE_TOO_LARGE", "a round that is closed takes no deltas"),
    ("STATE_TOO_LARGE", "ENVELOPE_LIMIT", "a state has no envelopes"),
    ("ENVELOPE_LIMIT", "PACKET_LIMIT", "a packet keeps no envelope"),
    ("PACKET_LIMIT", "MEMORY_LIMIT", "a session has no memories"),
];

/// Returns one message for each gap; none if the cases are complete.
///
/// `actions` are all actions, `codes` all error codes in order of precedence.
pub fn gaps(cases: &[Case], actions: &[&str], codes: &[&str]) -> Vec<String> {
    let calls: Vec<&ToolCall> = cases
        .iter()
        .flat_map(Case::instructions)
        .filter_map(|instruction| match instruction {
            Instruction::Call(call) => Some(call.as_ref()),
            _ => None,
        })
        .collect();
    let succeeding: BTreeSet<&str> = calls.iter().filter_map(|call| action(call)).collect();
    let errors: Vec<_> = calls.iter().filter_map(|call| expected_error(call)).collect();
    let missing_actions = actions.iter().filter(|it| !succeeding.contains(*it)).map(|action| {
        format!("no case calls the action `{action}` and expects a reply: add cases/<system>/<§>-<what>.yaml with a step `call: {{action: {action}, …}}` and `expect: …`")
    });
    let missing_codes =
        codes.iter().filter(|it| !errors.iter().any(|(code, _)| code == *it)).map(|code| {
            format!("no case expects the error `{code}`: add a step with `error: {{code: {code}}}`")
        });
    let uncovered = codes.windows(2).filter_map(|pair| match pair {
        [first, second] if !may_miss(first, second) => {
            let is_covered = errors.contains(&(first, Some(second)));
            (!is_covered).then(|| format!("no case tells `{first}` from the later `{second}`: add a step to cases/store/order-of-refusals.yaml where both apply, with `error: {{code: {first}, before: {second}}}`"))
        }
        _ => None,
    });
    let position = |code: &str| codes.iter().position(|it| *it == code);
    let misordered = errors.iter().filter_map(|(code, before)| {
        let before = (*before)?;
        let is_in_order = position(code)? < position(before)?;
        (!is_in_order).then(|| format!("a case expects `{code}` before `{before}`, but the order of refusals has them the other way round"))
    });
    missing_actions.chain(missing_codes).chain(uncovered).chain(misordered).collect()
}

/// Returns the operations of the `OpenAPI` document `api` without a case that calls them
/// successfully, as `GET /v1/sessions/{session}`. Operations that only return a stream are left
/// out, because a stream never ends.
pub fn uncovered_operations(cases: &[Case], api: &Value) -> Vec<String> {
    let called: Vec<(&str, &str)> = cases
        .iter()
        .flat_map(Case::instructions)
        .filter_map(|instruction| match instruction {
            Instruction::Http(http) if http.status < 400 => http.line.split_once(' '),
            _ => None,
        })
        .collect();
    let paths = api.get("paths").and_then(Value::as_object).into_iter().flatten();
    let operations = paths.flat_map(|(template, item)| {
        let methods = item.as_object().into_iter().flatten();
        let methods = methods.filter(|(it, about)| *it != "parameters" && !is_stream(about));
        methods.map(move |(method, _)| (method.to_uppercase(), template.as_str()))
    });
    let uncovered = operations.filter(|(method, template)| {
        !called
            .iter()
            .any(|(called, target)| called == method && matches_template(target, template))
    });
    uncovered.map(|(method, template)| format!("{method} {template}")).collect()
}

/// Returns true if the operation `about` can only return a stream.
fn is_stream(about: &Value) -> bool {
    let content = about.pointer("/responses/200/content").and_then(Value::as_object);
    content.is_some_and(|it| it.len() == 1 && it.contains_key("text/event-stream"))
}

/// Returns true if the path of `target` matches `template`.
fn matches_template(target: &str, template: &str) -> bool {
    let path = target.split_once('?').map_or(target, |(path, _)| path);
    let (path, template) = (path.split('/'), template.split('/'));
    path.clone().count() == template.clone().count()
        && path
            .zip(template)
            .all(|(given, expected)| given == expected || expected.starts_with('{'))
}

fn may_miss(first: &str, second: &str) -> bool {
    NEVER_TOGETHER.iter().any(|(a, b, _)| (*a, *b) == (first, second))
}

/// Returns the action of a call that is expected to succeed.
fn action(call: &ToolCall) -> Option<&str> {
    match (&call.request, &call.expectation) {
        (_, Expectation::Error { .. }) | (Body::Raw(_), _) => None,
        (Body::Json(request), _) => request.get("action").and_then(Value::as_str),
    }
}

/// Returns the expected error code of a call, and the code of lower precedence that applies too.
fn expected_error(call: &ToolCall) -> Option<(&str, Option<&str>)> {
    match &call.expectation {
        Expectation::Error { error, before } => {
            Some((error.get("code")?.as_str()?, before.as_deref()))
        }
        _ => None,
    }
}
