//! The tools: lists and calls.
//!
//! The definitions are in [`crate::tools`]; `arguments` checks a call against them. Replies of the
//! session are passed on as structured content, and in short as text (`result_text`). A list of keys
//! is passed on in pages (`key_page`).
//!
//! # Invariants
//!
//! - An error that an agent can correct is a result with `isError` and the error object of the JSON
//!   tool: its code, and the next step.
//! - A tool performs only what it lists, and only for callers that it is listed to: a client that
//!   allowed one tool did not allow another.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use shared_context_codec::{Caller, Failure, Reply, parse_whole, shorten};
use shared_context_core::{Role, ScopeKind};

use super::{
    Cache, Context, MethodResult, REQUEST_ID, Rejection, arguments, fault::Fault, key_page,
    params::Params, result_text, server::one_page,
};
use crate::{
    Engine,
    credential::Identity,
    http::{Page, ToolRequest, WAIT_SECONDS_MAX, expect_valid_session, invalid_reply, scope},
    mint::{self, Invitation},
    tools::{self, ADD_SUBAGENT, Tool, Toolset},
};

/// `tools/list`: the tools of the caller's role, of the sets that it uses.
pub(crate) async fn list<E: Engine>(
    context: &Context<'_, E>,
    params: &Params<'_>,
) -> Result<MethodResult, Rejection> {
    #[derive(Serialize)]
    struct ListToolsResult<'t> {
        tools: &'t RawValue,
    }
    one_page(params)?;
    let tools = tools::tools_json(context.role(), &context.used_sets().await?);
    let tools: &RawValue = serde_json::from_str(&tools).map_err(|_| invalid_reply())?;
    Ok(MethodResult::new(&ListToolsResult { tools })?.cached(Cache::Own))
}

/// `tools/call`.
pub(crate) async fn call<E: Engine>(
    context: &Context<'_, E>,
    params: &Params<'_>,
) -> Result<MethodResult, Rejection> {
    let name = params.required_text("name")?;
    let arguments = Params::parse(params.get("arguments"), "arguments")?;
    let Some(tool) = tools::named(&name) else {
        let listed = context.listed().await?;
        return Err(Fault::invalid_params(unknown(&name, &arguments, &listed)).into());
    };
    let meta = Params::parse(params.get("_meta"), "_meta")?;
    let request_id = meta.text(REQUEST_ID)?;
    let outcome = match context.check_tool(tool).await {
        Ok(()) => perform(context, tool, &arguments, request_id.as_deref()).await,
        Err(failure) => Err(failure),
    };
    match outcome {
        Ok((action, reply)) => {
            result(&reply, result_text::of_reply(action, &reply).as_deref(), None)
        }
        // The program around the agent must present another credential.
        Err(failure) if failure.code == "UNAUTHENTICATED" => Err(Rejection::Http(failure)),
        Err(failure) => {
            result(&failure.to_json(), Some(&result_text::of_failure(&failure)), Some(&failure))
        }
    }
}

/// Performs a call of `tool` on the named session, or that of the credential. Returns the action
/// and its reply.
async fn perform<E: Engine>(
    context: &Context<'_, E>,
    tool: &'static Tool,
    arguments: &Params<'_>,
    request_id: Option<&str>,
) -> Result<(&'static str, Vec<u8>), Failure> {
    let is_admin = context.role() == Role::Admin;
    let action = match arguments::check(tool, arguments, &[], is_admin) {
        Ok(action) => action,
        // Only the text of an error needs the tools that the caller has, which the session decides.
        Err(_) => arguments::check(tool, arguments, &context.listed().await?, is_admin)?,
    };
    let named = arguments.text("session").map_err(argument_error)?;
    let session = context.session(named.as_deref())?;
    if tool.set.is_of_projects() {
        let (scope, caller) = context.project(session).await?;
        let request = arguments::request(action, arguments, request_id);
        let reply = context.engine.invoke(&scope, &caller, &request).await?;
        return Ok((action, reply.body));
    }
    let reply = match action {
        ADD_SUBAGENT => add_subagent(context, session, arguments).await?,
        "list_keys" => {
            let after = arguments.text("after").map_err(argument_error)?;
            let request = arguments::request(action, &arguments.clone().without("after"), None);
            let reply = context.invoke_bytes(session, &request).await?;
            key_page::page(&reply.body, after.as_deref())?
        }
        "changes" => changes(context, session, arguments).await?.body,
        "read_state" => {
            wait_for_round(context, session, arguments).await?;
            let arguments = arguments.clone().without("since");
            context.invoke_bytes(session, &arguments::request(action, &arguments, None)).await?.body
        }
        _ => {
            let request = arguments::request(action, arguments, request_id);
            context.invoke_bytes(session, &request).await?.body
        }
    };
    Ok((action, reply))
}

/// Reads changes, and waits for the first if the call says so.
async fn changes<E: Engine>(
    context: &Context<'_, E>,
    session: &str,
    arguments: &Params<'_>,
) -> Result<Reply, Failure> {
    let request = |since: Option<u64>| {
        let request = ToolRequest::new("changes").with("since", since);
        let request = request.with("keys", arguments.get("keys"));
        request.with("except_own", arguments.get("except_own"))
    };
    wait(context, session, arguments, request, |page| !page.changes.is_empty()).await
}

/// Waits until a round opens or closes after the revision `since`, if the call says how long.
async fn wait_for_round<E: Engine>(
    context: &Context<'_, E>,
    session: &str,
    arguments: &Params<'_>,
) -> Result<(), Failure> {
    #[derive(Deserialize)]
    struct Change<'c> {
        action: &'c str,
    }
    if arguments.get("wait_seconds").is_none() {
        return Ok(());
    }
    if arguments.get("since").is_none() {
        return Err(malformed("wait_seconds needs since: the revision of the state that you know"));
    }
    let is_turn = |change: &&RawValue| {
        let change: Result<Change<'_>, _> = serde_json::from_str(change.get());
        change.is_ok_and(|it| ["open_round", "close_round"].contains(&it.action))
    };
    let request = |since: Option<u64>| ToolRequest::new("changes").with("since", since);
    let has_turn = |page: &Page<'_>| page.changes.iter().any(is_turn);
    wait(context, session, arguments, request, has_turn).await.map(drop)
}

/// The longest wait in seconds. Clients give up on a call after 60, so a wait that ended then would
/// never be answered.
const WAITED_SECONDS_MAX: u64 = 55;

/// Reads changes with `request` until a page is as `is_wanted`, for at most `wait_seconds`.
async fn wait<E: Engine>(
    context: &Context<'_, E>,
    session: &str,
    arguments: &Params<'_>,
    request: impl Fn(Option<u64>) -> ToolRequest,
    is_wanted: impl Fn(&Page<'_>) -> bool,
) -> Result<Reply, Failure> {
    let seconds = whole(arguments, "wait_seconds").unwrap_or_default();
    if seconds > WAIT_SECONDS_MAX {
        return Err(malformed(format!(
            "wait_seconds must be 0 to {WAIT_SECONDS_MAX}; call again when the time is up"
        )));
    }
    let caller = context.caller(session)?;
    let scope = scope(session);
    let wait = context.wait(&scope, &caller, seconds.min(WAITED_SECONDS_MAX));
    wait.for_page(whole(arguments, "since"), request, is_wanted).await
}

/// Mints the credential for a subagent.
async fn add_subagent<E: Engine>(
    context: &Context<'_, E>,
    session: &str,
    arguments: &Params<'_>,
) -> Result<Vec<u8>, Failure> {
    #[derive(Serialize)]
    struct SubagentReply<'s, I> {
        session: &'s str,
        #[serde(flatten)]
        issued: I,
    }
    let task = arguments.required_text("task").map_err(argument_error)?;
    let id = arguments.text("id").map_err(argument_error)?;
    // A colon would move text from one to the other.
    let has_colon = |it: Option<&str>| it.is_some_and(|it| it.contains(':'));
    if has_colon(Some(&task)) || has_colon(id.as_deref()) {
        return Err(malformed("task and id hold no colon; they are separate arguments"));
    }
    let participant = match id {
        Some(id) => format!("subagent:{task}:{id}"),
        None => format!("subagent:{task}"),
    };
    let invitation = Invitation {
        participant,
        ttl_seconds: whole(arguments, "ttl_seconds"),
        keys: arguments.read("keys", "a list of key patterns").map_err(argument_error)?,
        tools: None,
        packet_task: arguments.text("packet_task").map_err(argument_error)?.map(Into::into),
    };
    let caller = context.caller(session)?;
    let (engine, keys) = (context.engine, context.keys);
    let issued =
        mint::invite(engine, keys, session, &caller, context.authorization, invitation).await?;
    serde_json::to_vec(&SubagentReply { session, issued }).map_err(|_| invalid_reply())
}

/// Describes a tool that does not exist, with the tool that was most likely meant.
fn unknown(name: &str, arguments: &Params<'_>, listed: &[&'static Tool]) -> String {
    let shown = shorten(name, 80);
    let named = arguments.text("action").ok().flatten();
    let action = named.as_deref().unwrap_or(name);
    let action = action.trim_start_matches("shared_").trim_start_matches("context_");
    let next = if let Some((action, tool)) = arguments::meant(action, listed) {
        arguments::how_to_call(action, tool)
    } else {
        let names: Vec<&str> = listed.iter().map(|it| it.name).collect();
        // `context_undelete` is two edits from its opposite.
        let typo = names.iter().find(|it| strsim::damerau_levenshtein(&shown, it) <= 1);
        typo.map_or_else(|| format!("there are {}", names.join(", ")), |it| format!("call {it}"))
    };
    format!("Unknown tool: {shown}; {next}")
}

impl<E: Engine> Context<'_, E> {
    /// Returns the role of the caller.
    pub(super) fn role(&self) -> Role {
        match self.identity {
            Identity::Admin => Role::Admin,
            Identity::Participant(grant) if grant.participant == "orchestrator" => {
                Role::Orchestrator
            }
            Identity::Participant(_) => Role::Agent,
        }
    }

    /// Returns the sets of tools that the caller uses besides the working memory.
    async fn used_sets(&self) -> Result<Vec<Toolset>, Failure> {
        let mut sets = self.named_sets().await?;
        sets.retain(|it| !self.is_barred(*it));
        Ok(sets)
    }

    /// Returns true if the caller gets no tools of `set`, whoever names it: rounds have no keys to
    /// which a credential could be limited.
    fn is_barred(&self, set: Toolset) -> bool {
        let Identity::Participant(grant) = self.identity else { return false };
        set == Toolset::DeltaRounds && !grant.keys.is_empty()
    }

    /// Returns the sets that the connection names, else those of the credential, else those of the
    /// session.
    async fn named_sets(&self) -> Result<Vec<Toolset>, Failure> {
        #[derive(Deserialize)]
        struct SessionReply {
            config: ConfigReply,
        }
        #[derive(Deserialize)]
        struct ConfigReply {
            #[serde(default)]
            tools: Vec<String>,
        }
        if let Some(sets) = self.sets {
            return Ok(sets.to_vec());
        }
        let Identity::Participant(grant) = self.identity else { return Ok(Vec::new()) };
        let named = |names: &[String]| names.iter().filter_map(|it| Toolset::named(it)).collect();
        if let Some(names) = &grant.tools {
            return Ok(named(names));
        }
        let shown = self.invoke(grant.scope.id(), ToolRequest::new("show_session")).await?;
        let shown: SessionReply =
            serde_json::from_slice(&shown.body).map_err(|_| invalid_reply())?;
        let mut sets: Vec<Toolset> = named(&shown.config.tools);
        sets.retain(|it| !it.is_of_projects() || grant.project.is_some());
        Ok(sets)
    }

    /// Returns the bucket of the project of `session`, and the caller in it.
    ///
    /// # Errors
    ///
    /// `FORBIDDEN`: the credential is for no project. `PROJECT_NOT_FOUND`: the session names none.
    async fn project(&self, session: &str) -> Result<(String, Caller), Failure> {
        #[derive(Deserialize)]
        struct SessionReply {
            config: ConfigReply,
        }
        #[derive(Deserialize)]
        struct ConfigReply {
            project: Option<String>,
        }
        let own = match self.identity {
            Identity::Participant(grant) => grant.project.as_ref().map(|it| it.id.clone()),
            Identity::Admin => {
                let shown = self.invoke(session, ToolRequest::new("show_session")).await?;
                let shown: SessionReply =
                    serde_json::from_slice(&shown.body).map_err(|_| invalid_reply())?;
                shown.config.project
            }
        };
        let id = own.ok_or_else(|| {
            Failure::new(
                "PROJECT_NOT_FOUND",
                format!(
                    "session {session} has no project: it names none, or the credential was \
                     issued before the project was created; go on without, and tell the operator"
                ),
            )
        })?;
        let caller = self.identity.caller(ScopeKind::Project, &id)?;
        expect_valid_session(self.engine, self.identity).await?;
        Ok((ScopeKind::Project.bucket_name(&id), caller))
    }

    /// Returns the tools that are listed to this caller.
    async fn listed(&self) -> Result<Vec<&'static Tool>, Failure> {
        let sets = self.used_sets().await?;
        Ok(tools::listed(self.role(), &sets).collect())
    }

    /// Checks that `tool` is listed to this caller.
    ///
    /// # Errors
    ///
    /// `FORBIDDEN`; errors of the session.
    async fn check_tool(&self, tool: &Tool) -> Result<(), Failure> {
        let forbidden = |message: String| Err(Failure::new("FORBIDDEN", message));
        if tool.is_for_orchestrators && self.role() == Role::Agent {
            return forbidden(format!(
                "{} is for the orchestrator; write what you need from it to a key of your own",
                tool.name
            ));
        }
        let (name, set) = (tool.name, tool.set.as_str());
        if tool.set == Toolset::SharedContext {
            return Ok(());
        }
        if self.sets.is_some_and(|it| !it.contains(&tool.set)) {
            return forbidden(format!("{name} is not among the tools of this connection"));
        }
        if self.is_barred(tool.set) {
            return forbidden(format!(
                "{name} is not among the tools of a credential that is limited to keys; use those \
                 that tools/list returns"
            ));
        }
        match self.identity {
            Identity::Participant(grant)
                if grant.tools.as_ref().is_some_and(|it| !it.iter().any(|it| it == set)) =>
            {
                forbidden(format!("{name} is not among the tools of your credential"))
            }
            Identity::Participant(grant) if grant.tools.is_none() && self.sets.is_none() => {
                if self.used_sets().await?.contains(&tool.set) {
                    return Ok(());
                }
                forbidden(format!(
                    "{name} is not among the tools of this session; use those that tools/list \
                     returns"
                ))
            }
            Identity::Admin if self.sets.is_none() => forbidden(format!(
                "{name} is not among the tools of this connection; connect to /mcp?tools={set}"
            )),
            _ => Ok(()),
        }
    }
}

/// Returns the whole number `name`, whose type was checked, if it is given.
fn whole(arguments: &Params<'_>, name: &str) -> Option<u64> {
    arguments.get(name).and_then(|it| parse_whole(it.get()))
}

/// Converts an argument error to one that the agent gets as a result.
fn argument_error(fault: Fault) -> Failure {
    malformed(fault.error.message.into_owned())
}

fn malformed(message: impl Into<String>) -> Failure {
    Failure::new("MALFORMED_REQUEST", message)
}

/// Builds the result from `reply`, a JSON object: as structured content for programs, and as `text`
/// for models. Without `text`, models get the JSON, too.
fn result(
    reply: &[u8],
    text: Option<&str>,
    failure: Option<&Failure>,
) -> Result<MethodResult, Rejection> {
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
    let text = text.unwrap_or(reply.get());
    let result = MethodResult::new(&CallResult {
        content: [Text { r#type: "text", text }],
        structured_content: reply,
        is_error: failure.is_some(),
    })?;
    Ok(MethodResult { error_code: failure.map(|it| it.code.clone()), ..result })
}
