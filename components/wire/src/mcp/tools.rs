//! The tools: lists and calls.
//!
//! The definitions are in [`crate::tools`]. Requests and replies of `shared_context` and
//! `delta_rounds` are passed on without parsing, except for the argument `session`, which belongs
//! to the wire, and for whether the tool lists the action.
//!
//! # Invariants
//!
//! - An error that an agent can correct is a result with `isError` and the error object of the JSON
//!   tool: its code, and the next step.
//! - A tool rejects an action that it does not list for any role: a client that allowed one tool
//!   did not allow the other.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use shared_context_codec::{Failure, Reply, System, actions};

use super::{
    Cache, Context, MethodResult, Rejection, fault::Fault, params::Params, server::one_page,
};
use crate::{
    Engine,
    http::invalid_reply,
    mint::{self, Invitation},
    tools,
};

/// `tools/list`: the same bytes each time for callers of one role.
pub(crate) fn list<E: Engine>(
    context: &Context<'_, E>,
    params: &Params<'_>,
) -> Result<MethodResult, Rejection> {
    #[derive(Serialize)]
    struct ListToolsResult<'t> {
        tools: &'t RawValue,
    }
    one_page(params)?;
    let tools = tools::tools_json(context.may_mint());
    let tools: &RawValue = serde_json::from_str(tools).map_err(|_| invalid_reply())?;
    Ok(MethodResult::new(&ListToolsResult { tools })?.cached(Cache::Own))
}

/// `tools/call`.
pub(crate) async fn call<E: Engine>(
    context: &Context<'_, E>,
    params: &Params<'_>,
) -> Result<MethodResult, Rejection> {
    let name = params.required_text("name")?;
    let given = params.get("arguments");
    let arguments = Params::parse(given, "arguments")?;
    let outcome = match &*name {
        "shared_context" => json_tool(context, System::Store, given, arguments).await,
        "delta_rounds" => json_tool(context, System::Rounds, given, arguments).await,
        "subagent" => subagent(context, &arguments).await,
        unknown => {
            let shown: String = unknown.chars().take(80).collect();
            let there_is = if context.may_mint() {
                "there are shared_context, delta_rounds and subagent"
            } else {
                "there are shared_context and delta_rounds"
            };
            let message = format!("Unknown tool: {shown}; {there_is}");
            return Err(Fault::invalid_params(message).into());
        }
    };
    match outcome {
        Ok(reply) => result(&reply, None),
        // The program around the agent must present another credential.
        Err(failure) if failure.code == "UNAUTHENTICATED" => Err(Rejection::Http(failure)),
        Err(failure) => result(&failure.to_json(), Some(&failure)),
    }
}

/// Performs a request of the JSON tool on the named session, or that of the credential, as the tool
/// of `system`.
async fn json_tool<E: Engine>(
    context: &Context<'_, E>,
    system: System,
    given: Option<&RawValue>,
    arguments: Params<'_>,
) -> Result<Vec<u8>, Failure> {
    check_listed(system, &arguments)?;
    let named = session(&arguments)?;
    let session = context.session(named.as_deref())?;
    let Reply { body, .. } = if arguments.has("session") {
        let request =
            serde_json::to_vec(&arguments.without("session")).map_err(|_| invalid_reply())?;
        context.invoke_bytes(session, &request).await?
    } else {
        let request = given.map_or("{}", RawValue::get);
        context.invoke_bytes(session, request.as_bytes()).await?
    };
    Ok(body)
}

/// Rejects an action that the tool of `system` does not list for any role. The JSON tool rejects
/// unknown actions.
fn check_listed(system: System, arguments: &Params<'_>) -> Result<(), Failure> {
    let Ok(Some(action)) = arguments.text("action") else { return Ok(()) };
    let Some(known) = actions().find(|it| it.name == action) else { return Ok(()) };
    let (name, tool) = (known.name, tools::name(system).unwrap_or_default());
    match tools::listed_by(known) {
        Some(listed_by) if listed_by == tool => Ok(()),
        Some(listed_by) => {
            Err(malformed(format!("{tool} has no action {name}; call the tool {listed_by} for it")))
        }
        None => Err(malformed(format!(
            "{tool} has no action {name}; no tool has: the operator asks for it over HTTP, at \
             POST /v1/sessions/{{session}}/shared_context"
        ))),
    }
}

/// Invites a subagent: mints a credential for it.
async fn subagent<E: Engine>(
    context: &Context<'_, E>,
    arguments: &Params<'_>,
) -> Result<Vec<u8>, Failure> {
    #[derive(Serialize)]
    struct SubagentReply<'s, I> {
        session: &'s str,
        #[serde(flatten)]
        issued: I,
    }
    const KNOWN: [&str; 5] = ["task", "id", "ttl_seconds", "keys", "session"];
    if let Some(unknown) = arguments.names().find(|it| !KNOWN.contains(it)) {
        let shown: String = unknown.chars().take(80).collect();
        let message = format!("subagent has no argument {shown:?}, it knows {}", KNOWN.join(", "));
        return Err(malformed(message));
    }
    let named = session(arguments)?;
    let session = context.session(named.as_deref())?;
    let task = arguments.required_text("task").map_err(argument_error)?;
    let id = arguments.text("id").map_err(argument_error)?;
    // A colon would move text from one to the other.
    let named = [("task", Some(&task)), ("id", id.as_ref())];
    let has_colon = |it: &(&str, Option<&Cow<'_, str>>)| it.1.is_some_and(|it| it.contains(':'));
    if let Some((name, _)) = named.into_iter().find(has_colon) {
        return Err(malformed(format!("{name} holds a colon; task and id are separate arguments")));
    }
    let participant = match id {
        Some(id) => format!("subagent:{task}:{id}"),
        None => format!("subagent:{task}"),
    };
    let invitation = Invitation {
        participant,
        ttl_seconds: arguments
            .read("ttl_seconds", "a whole number of seconds, such as 3600")
            .map_err(argument_error)?,
        keys: arguments
            .read("keys", "a list of key patterns, such as [\"inv_*\"]")
            .map_err(argument_error)?,
    };
    let caller = context.caller(session)?;
    let (engine, keys) = (context.engine, context.keys);
    let issued =
        mint::invite(engine, keys, session, &caller, context.authorization, invitation).await?;
    serde_json::to_vec(&SubagentReply { session, issued }).map_err(|_| invalid_reply())
}

/// Returns the argument `session`, if it is given.
fn session(arguments: &Params<'_>) -> Result<Option<String>, Failure> {
    arguments.text("session").map(|it| it.map(Into::into)).map_err(argument_error)
}

/// Converts an argument error to one that the agent gets as a result.
fn argument_error(fault: Fault) -> Failure {
    malformed(fault.error.message.into_owned())
}

fn malformed(message: String) -> Failure {
    Failure::new("MALFORMED_REQUEST", message)
}

/// Builds the result from `reply`, a JSON object: as structured content for programs, and as text.
fn result(reply: &[u8], failure: Option<&Failure>) -> Result<MethodResult, Rejection> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct CallResult<'r> {
        content: [Text<'r>; 1],
        structured_content: &'r RawValue,
        is_error: bool,
    }
    #[derive(Serialize)]
    struct Text<'r> {
        r#type: &'static str,
        text: &'r str,
    }
    let reply: &RawValue = serde_json::from_slice(reply).map_err(|_| invalid_reply())?;
    let result = MethodResult::new(&CallResult {
        content: [Text { r#type: "text", text: reply.get() }],
        structured_content: reply,
        is_error: failure.is_some(),
    })?;
    Ok(MethodResult { error_code: failure.map(|it| it.code.clone()), ..result })
}
