//! What the cases leave out: actions without a case, errors no case provokes,
//! neighbours in the order of refusals that no case tells apart.
//!
//! The build script compares with the codec's lists, so that something new
//! without a case does not build.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::case::{Body, Call, Case, Deed, Expectation};

/// Neighbours in the order of refusals that never apply to one request.
const NEVER_TOGETHER: [(&str, &str, &str); 22] = [
    ("INVALID_KEY", "INVALID_PATH", "what names a path names no key"),
    ("INVALID_PATH", "FORMAT_TOO_NEW", "an import names no path"),
    ("DOCUMENT_ALTERED", "SESSION_NOT_FOUND", "an import needs no session to be there"),
    ("SESSION_NOT_FOUND", "PROJECT_NOT_FOUND", "a request is about a session or a project"),
    ("PROJECT_NOT_FOUND", "SESSION_ARCHIVED", "a request is about a session or a project"),
    ("SESSION_EXISTS", "PROJECT_EXISTS", "a request is about a session or a project"),
    ("PROJECT_EXISTS", "REQUEST_ID_REUSED", "a project is not created under a request id"),
    ("REQUEST_ID_REUSED", "CHANGES_TRUNCATED", "the feed is read without a request id"),
    ("CHANGES_TRUNCATED", "SNAPSHOT_NOT_FOUND", "the feed is not read of a snapshot"),
    ("SNAPSHOT_NOT_FOUND", "SNAPSHOT_EXISTS", "a snapshot is there or it is not"),
    ("SNAPSHOT_LIMIT", "ROUND_OPEN", "a snapshot is not taken of rounds"),
    ("ROUND_OPEN", "ROUND_NOT_OPEN", "a round is open or it is not"),
    ("ROUND_NOT_OPEN", "ROUND_NOT_FOUND", "what needs an open round names none"),
    ("ROUND_NOT_FOUND", "KEY_NOT_FOUND", "a round has no keys"),
    ("KEY_NOT_FOUND", "PATH_NOT_FOUND", "what names a path names no key"),
    ("PATH_NOT_FOUND", "PATH_EXISTS", "a place is there or it is not"),
    ("PATH_EXISTS", "TOKENIZER_UNAVAILABLE", "the tokens of a state are not counted"),
    ("TOKENIZER_UNAVAILABLE", "VALUE_TOO_LARGE", "what cannot be counted is not too large"),
    ("VERSION_CONFLICT", "IDENTITY_CONFLICT", "a place has no version"),
    ("IDENTITY_CONFLICT", "STORE_FULL", "the store holds no state"),
    ("STORE_FULL", "ROUND_FULL", "the store holds no deltas"),
    ("ROUND_FULL", "STATE_TOO_LARGE", "a round that is closed takes no deltas"),
];

/// Returns what is missing, one message each; none when the cases are complete.
///
/// `actions` are all actions, `codes` all error codes in order of precedence.
pub fn gaps(cases: &[Case], actions: &[&str], codes: &[&str]) -> Vec<String> {
    let calls: Vec<&Call> = cases
        .iter()
        .flat_map(Case::deeds)
        .filter_map(|deed| match deed {
            Deed::Call(call) => Some(call.as_ref()),
            _ => None,
        })
        .collect();
    let succeeding: BTreeSet<&str> = calls.iter().filter_map(|call| action(call)).collect();
    let refusals: Vec<_> = calls.iter().filter_map(|call| refusal(call)).collect();
    let missing_actions = actions.iter().filter(|it| !succeeding.contains(*it)).map(|action| {
        format!("no case calls the action `{action}` and expects a reply: add cases/<system>/<§>-<what>.yaml with a step `call: {{action: {action}, …}}` and `expect: …`")
    });
    let missing_codes =
        codes.iter().filter(|it| !refusals.iter().any(|(code, _)| code == *it)).map(|code| {
            format!("no case expects the error `{code}`: add a step with `error: {{code: {code}}}`")
        });
    let untold = codes.windows(2).filter_map(|pair| match pair {
        [first, second] if !may_miss(first, second) => {
            let is_told = refusals.contains(&(first, Some(second)));
            (!is_told).then(|| format!("no case tells `{first}` from the later `{second}`: add a step to cases/store/order-of-refusals.yaml where both apply, with `error: {{code: {first}, before: {second}}}`"))
        }
        _ => None,
    });
    let place = |code: &str| codes.iter().position(|it| *it == code);
    let upside_down = refusals.iter().filter_map(|(code, before)| {
        let before = (*before)?;
        let is_in_order = place(code)? < place(before)?;
        (!is_in_order).then(|| format!("a case expects `{code}` before `{before}`, but the order of refusals has them the other way round"))
    });
    missing_actions.chain(missing_codes).chain(untold).chain(upside_down).collect()
}

/// Returns the operations of the `OpenAPI` document `api` that no case asks for and gets,
/// as `GET /v1/sessions/{session}`. Only lines that stand in a step count. What
/// answers by a stream alone is not a case's to show: it has no end.
pub fn untold_operations(cases: &[Case], api: &Value) -> Vec<String> {
    let asked: Vec<(&str, &str)> = cases
        .iter()
        .flat_map(Case::deeds)
        .filter_map(|deed| match deed {
            Deed::Http(http) if http.status < 400 => http.line.split_once(' '),
            _ => None,
        })
        .collect();
    let paths = api.get("paths").and_then(Value::as_object).into_iter().flatten();
    let operations = paths.flat_map(|(template, item)| {
        let methods = item.as_object().into_iter().flatten();
        let methods = methods.filter(|(it, about)| *it != "parameters" && !is_stream(about));
        methods.map(move |(method, _)| (method.to_uppercase(), template.as_str()))
    });
    let untold = operations.filter(|(method, template)| {
        !asked.iter().any(|(asked, target)| asked == method && is_at(target, template))
    });
    untold.map(|(method, template)| format!("{method} {template}")).collect()
}

/// Returns whether the operation `about` answers by a stream and nothing else.
fn is_stream(about: &Value) -> bool {
    let content = about.pointer("/responses/200/content").and_then(Value::as_object);
    content.is_some_and(|it| it.len() == 1 && it.contains_key("text/event-stream"))
}

/// Returns whether the path of `target` is one of those that `template` stands for.
fn is_at(target: &str, template: &str) -> bool {
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

/// The action a call is expected to do.
fn action(call: &Call) -> Option<&str> {
    match (&call.request, &call.expectation) {
        (_, Expectation::Refusal { .. }) | (Body::Raw(_), _) => None,
        (Body::Json(request), _) => request.get("action").and_then(Value::as_str),
    }
}

/// The code a call is expected to be refused with, and the later one it also
/// deserves.
fn refusal(call: &Call) -> Option<(&str, Option<&str>)> {
    match &call.expectation {
        Expectation::Refusal { error, before } => {
            Some((error.get("code")?.as_str()?, before.as_deref()))
        }
        _ => None,
    }
}
