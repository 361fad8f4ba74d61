//! Routes that perform one action. Its members are taken from the path, the query and the body. The
//! declarations of the actions define these routes.
//!
//! # Invariant
//!
//! A body is passed on without parsing. It is parsed here only to improve the message of an error.

use bytes::Bytes;
use http::{Response, StatusCode, header::LOCATION};
use serde_json::value::RawValue;
use shared_context_codec::{Failure, Kind, Method, Reply, text_in};

use super::{body::Members, call::Call, media, precondition, respond, route, table::ActionRoute};
use crate::{Engine, http::ToolRequest};

/// Performs the action and builds its response.
pub(crate) async fn answer<E: Engine>(
    call: &Call<'_, E>,
    act: ActionRoute,
) -> Result<Response<Bytes>, Failure> {
    let request = request(call, act)?;
    let outcome = call.invoke_bytes(&request).await;
    let reply = outcome.map_err(|failure| match &*failure.code {
        "MALFORMED_REQUEST" => {
            body_error(call, act).unwrap_or_else(|| with_example(failure, call, act))
        }
        _ => failure,
    })?;
    if let Some((media, text)) = text(call, act, &reply) {
        return Ok(respond::with_body(StatusCode::OK, media, text));
    }
    let status = StatusCode::from_u16(act.route.status).unwrap_or(StatusCode::OK);
    let response = respond::json(status, reply.body);
    Ok(match act.route.location {
        Some(template) => {
            respond::with_text(response, LOCATION, location(call, act, template, &request))
        }
        None => response,
    })
}

/// Builds the tool's request for `call`.
fn request<E>(call: &Call<'_, E>, act: ActionRoute) -> Result<Vec<u8>, Failure> {
    let mut request = ToolRequest::new(act.action.name);
    for member in act.published.members.iter().filter(|it| act.route.has_in_path(it.name)) {
        request = request.with(member.name, Some(call.path.value(member.name)?));
    }
    if act.route.method == Method::Get {
        return Ok(from_query(call, act, request)?.into_bytes());
    }
    precondition::expect_none(call.headers)?;
    if act.action.takes("request_id") {
        // Null without the header: a second id in the body is then rejected as a duplicate.
        request = request.with("request_id", Some(precondition::request_id(call.headers)?));
    } else if act.action.is_change && act.route.method == Method::Post {
        precondition::expect_no_request_id(call.headers)?;
    }
    if act.route.method == Method::Delete {
        request = from_query(call, act, request)?;
    }
    if call.body.is_empty() && act.in_body().all(|it| !it.is_needed) {
        return Ok(request.into_bytes());
    }
    match act.route.method {
        Method::Patch => media::expect_merge_patch(call.headers)?,
        _ => media::expect_json(call.headers)?,
    }
    if act.is_patch() {
        let patch: Result<&RawValue, _> = serde_json::from_slice(call.body);
        let invalid = |_| body_error(call, act).unwrap_or_else(super::invalid_reply);
        return Ok(request.with("patch", Some(patch.map_err(invalid)?)).into_bytes());
    }
    match call.body.trim_ascii_start().strip_prefix(b"{") {
        Some(members) => Ok(request.with_members_of(members)),
        None => Err(body_error(call, act).unwrap_or_else(super::invalid_reply)),
    }
}

/// Adds the members in the query.
fn from_query<E>(
    call: &Call<'_, E>,
    act: ActionRoute,
    mut request: ToolRequest,
) -> Result<ToolRequest, Failure> {
    for member in act.in_query() {
        let name = member.name;
        request = match member.kind {
            Kind::Text => request.with(name, call.query.text(name)),
            Kind::Number => request.with(name, call.query.number(name)?),
            Kind::Numbers => request.with(name, call.query.numbers(name)?),
            Kind::Structure => request,
        };
    }
    Ok(request)
}

/// Returns the error in the body if it is invalid for this route.
fn body_error<E>(call: &Call<'_, E>, act: ActionRoute) -> Option<Failure> {
    if call.body.is_empty() && act.in_body().all(|it| !it.is_needed) {
        return None;
    }
    let known: Vec<&str> = act.in_body().map(|it| it.name).collect();
    let example = act.route.example.unwrap_or("{}, or no body at all");
    if act.is_patch() {
        return Members::parse_any(call.body, example).err();
    }
    Members::parse(call.body, &known, example).err()
}

/// Adds the route's example body to the message of `failure` if the body has no members or a needed
/// one is missing. The other messages of the tool say what to send.
fn with_example<E>(failure: Failure, call: &Call<'_, E>, act: ActionRoute) -> Failure {
    let Some(example) = act.route.example else { return failure };
    let is_complete = Members::parse_any(call.body, example).is_ok_and(|sent| {
        let mut needed = act.in_body().filter(|it| it.is_needed);
        sent.iter().next().is_some()
            && (act.is_patch() || needed.all(|it| sent.raw(it.name).is_some()))
    });
    if is_complete {
        return failure;
    }
    Failure { message: format!("{}; for example {example}", failure.message), ..failure }
}

/// Returns the text of `reply` and its type, if the client prefers text to JSON.
fn text<E>(call: &Call<'_, E>, act: ActionRoute, reply: &Reply) -> Option<(&'static str, String)> {
    let member = act.route.text?;
    let media = media::accepted_text(call.headers)?;
    Some((media, text_in(&reply.body, member)?))
}

/// Returns the path of the resource that `request` created.
fn location<E>(
    call: &Call<'_, E>,
    act: ActionRoute,
    template: &'static str,
    request: &[u8],
) -> String {
    let segments = template.split('/').map(|segment| match route::parameter_name(segment) {
        Some(name) if name == act.action.scope.as_str() => call.session.to_string(),
        Some(name) => text_in(request, name).unwrap_or_default(),
        None => segment.to_owned(),
    });
    segments.collect::<Vec<_>>().join("/")
}
