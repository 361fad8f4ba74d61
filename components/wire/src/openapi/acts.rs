//! Documentation of routes that perform an action, mostly from the action's declaration.

use http::StatusCode;
use serde_json::{Value, json};
use shared_context_codec::{Code, Method, published};
use shared_context_core::Role;

use super::{
    about::OperationDoc,
    examples,
    parts::{body, optional_request, request, response},
    schemas::{body_of, reference, replies, reply},
};
use crate::http::{media::MERGE_PATCH, table::ActionRoute};

/// Returns the documentation of `act`.
pub(super) fn about(act: ActionRoute) -> OperationDoc {
    let ActionRoute { action, route, .. } = act;
    let id = route.name.unwrap_or(action.name);
    let (summary, rest) = summary(action.description);
    let may_have_body = matches!(route.method, Method::Post | Method::Put | Method::Patch);
    let more: &[_] = if may_have_body { &["UNSUPPORTED_MEDIA_TYPE"] } else { &[] };
    OperationDoc {
        id,
        tag: tag(route.path),
        summary: summary.leak(),
        description: description(&[&rest, only_for(action.roles), remark(id)]),
        headers: if action.takes("request_id") { &["idempotency_key"] } else { &[] },
        request: body_of_request(act),
        responses: responses(act),
        codes: rejects(action.name, more),
        is_admins: action.roles == [Role::Admin],
        ..OperationDoc::default()
    }
}

/// Returns the error codes of the action `name`, and `more`.
pub(super) fn rejects(name: &str, more: &[&'static str]) -> &'static [&'static str] {
    let found = published().filter(|(it, _)| it.name == name);
    let codes = found.flat_map(|(action, it)| it.rejects(action));
    codes.map(Code::as_str).chain(more.iter().copied()).collect::<Vec<_>>().leak()
}

/// Returns the error codes of all actions, and `more`.
pub(super) fn all_rejects(more: &[&'static str]) -> &'static [&'static str] {
    let codes = published().flat_map(|(action, it)| it.rejects(action));
    codes.map(Code::as_str).chain(more.iter().copied()).collect::<Vec<_>>().leak()
}

/// Joins `parts`. Only tests call this, so leaking the text is harmless.
fn description(parts: &[&str]) -> &'static str {
    let parts: Vec<&str> = parts.iter().copied().filter(|it| !it.is_empty()).collect();
    parts.join(" ").leak()
}

/// Splits `description` into its first clause, as the summary, and the rest.
fn summary(description: &str) -> (String, String) {
    let breaks = [". ", "; ", ": "].iter().filter_map(|it| description.find(it));
    let Some(end) = breaks.min() else { return (description.to_owned(), String::new()) };
    let (first, rest) = description.split_at(end);
    let mut rest = rest[2..].chars();
    let capital = rest.next().into_iter().flat_map(char::to_uppercase);
    (format!("{first}."), capital.chain(rest).collect())
}

/// Returns the tag of an operation at `path`.
fn tag(path: &str) -> &'static str {
    match path.split('/').nth(4) {
        Some("memories" | "rehydrate" | "maintain" | "decisions" | "summary") => "memories",
        Some("outline" | "coordination") => "outline",
        Some("handoffs") => "handoffs",
        _ if path.starts_with("/v1/projects") => "projects",
        Some("entries" | "batch") => "entries",
        Some("snapshots") => "snapshots",
        Some("rounds") => "rounds",
        Some("packets" | "packet-stats") => "packets",
        Some("prompt" | "context") => "tool",
        _ => "sessions",
    }
}

/// Returns a note on the roles that may use it, if the security schemes do not express that.
fn only_for(roles: &[Role]) -> &'static str {
    match roles {
        [Role::Orchestrator] => "For the orchestrator.",
        [Role::Orchestrator, Role::Admin] => "For the orchestrator and the operator.",
        _ => "",
    }
}

/// Returns a note for callers over HTTP only.
fn remark(id: &str) -> &'static str {
    match id {
        "propose_deltas" => {
            "A refusal names the delta. A delta is about one place of the state as the round \
             began with, a JSONPath (RFC 9535) below query, bindings, entities or rules. Its \
             value is any JSON, null included."
        }
        "withdraw_deltas" | "reject_deltas" => {
            "Each delta is withdrawn or rejected once; repeating the request is safe. What a \
             request does not change is in unchanged."
        }
        "redact_rounds" => {
            "What was equal stays equal, so a round that is open goes on. Documents that were \
             exported keep it."
        }
        "read_state" => {
            "While a round is open its state does not change; open_round says whether one is open."
        }
        "redact_entry" => {
            "Current value, history and snapshots, in one step; with revision only the value \
             written there."
        }
        "set_access" => "A list that is not sent stays.",
        "render_prompt" | "render_context" => {
            "Bare text when Accept names text/markdown or text/plain, and not application/json."
        }
        _ => "",
    }
}

/// Returns the name of the schema of the body of `act`. The schema is named because generators
/// reject an unnamed schema that two media types share.
pub(super) fn body_name(act: ActionRoute) -> String {
    format!("{}_body", act.route.name.unwrap_or(act.action.name))
}

/// Returns the schema of the body of `act`, if it takes one.
pub(super) fn body_schema(act: ActionRoute) -> Option<Value> {
    let members: Vec<&str> = act.in_body().map(|it| it.name).collect();
    let schema = (!members.is_empty()).then(|| body_of(act.action.name, &members))?;
    Some(if act.is_patch() { schema["properties"]["patch"].clone() } else { schema })
}

fn body_of_request(act: ActionRoute) -> Option<Value> {
    let schema = body_schema(act)?;
    let mut content = body(reference(&body_name(act)), examples::body(act));
    if act.route.method == Method::Patch {
        content[MERGE_PATCH] = content["application/json"].clone();
    }
    // If one of several members is required, the schema has `anyOf`.
    let is_needed = act.in_body().any(|it| it.is_needed) || schema.get("anyOf").is_some();
    Some(if is_needed { request(content) } else { optional_request(content) })
}

fn responses(act: ActionRoute) -> serde_json::Map<String, Value> {
    let id = act.route.name.unwrap_or(act.action.name);
    // One key of a snapshot has the reply of an entry.
    let action_name = if id == "read_snapshot_entry" { "read" } else { act.action.name };
    // A reader that names the revision it knows may be answered that nothing changed.
    let answers = if act.action.takes("if_changed_since") { replies } else { reply };
    let mut content = body(answers(action_name), examples::reply_example(action_name));
    if act.route.text.is_some() {
        for media in ["text/plain", "text/markdown"] {
            content[media] = json!({"schema": {"type": "string"}});
        }
    }
    let headers: &[&str] = if act.route.location.is_some() { &["Location"] } else { &[] };
    let status = act.route.status;
    let described = if status == StatusCode::CREATED { "Created." } else { "As asked." };
    response(&status.to_string(), described, content, headers)
}
