//! The commands `session summary` and `session close`: what a session came to, and keeping it as
//! memories of its project.
//!
//! # Invariant
//!
//! A session is closed only after its project acknowledged the memories.

use std::{
    collections::BTreeMap,
    mem,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::super::{
    argument::{SessionName, number, switch},
    caller::{CALL_TTL_SECONDS, CallerArgs, minted},
    client::{Bearer, parse},
    compact,
    output::{BOLD, GREEN, Output, note, remark},
    problem::Problem,
    reply::{AddedMemories, Human, Proposal, Session, SessionSummary},
    server::Server,
};

/// Summarize a session as proposals for memories
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context session summary ticket-7
  shared-context session summary ticket-7 --conversation chat.jsonl
  shared-context session summary ticket-7 --json | jq .summary.decisions_made

The proposals are decisions, rules, open issues, the state of the work and
lessons, quoted from the entries, the round state and the conversation. Nothing
is stored; `session close --remember` does that.")]
pub(crate) struct SummaryArguments {
    /// The session; . is the default one
    id: SessionName,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    caller: CallerArgs,
}

/// Archive a session, and optionally keep its results as memories
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context session close ticket-7
  shared-context session close ticket-7 --remember
  shared-context session close ticket-7 --remember --only 1,3 \\
    --code 7c1f09 --conversation chat.jsonl

With --remember the proposals of `session summary` become memories of the
session's project: all, or those of --only, which are confirmed by that. What a
subagent wrote is added in its name; its decisions count once an orchestrator
confirms them. Then the session is archived: it can be read, not changed. If a
step fails, the earlier steps stay. The command can be repeated: nothing is
added twice.")]
pub(crate) struct CloseArguments {
    /// The session; . is the default one
    id: SessionName,
    /// First add the proposals of `session summary` to its project's memories
    #[arg(long, env = "SHARED_CONTEXT_REMEMBER", value_parser = switch)]
    remember: bool,
    /// Only the proposals with these numbers, of the summary that --code names
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        value_parser = number,
        requires = "remember"
    )]
    only: Vec<u64>,
    /// The code that `session summary` printed below the proposals: others are not
    /// remembered
    #[arg(long, value_name = "CODE", requires = "remember")]
    code: Option<String>,
    #[command(flatten)]
    source: Source,
}

/// What a summary is made from, and its size.
#[derive(Debug, clap::Args)]
struct Source {
    /// The conversation: a line of JSON per message, with role and content; - for
    /// standard input
    #[arg(long, env = "SHARED_CONTEXT_CONVERSATION", value_name = "FILE")]
    conversation: Option<PathBuf>,
    /// The most tokens of the summary, 500 to 200000 [default: 8000]
    #[arg(long, env = "SHARED_CONTEXT_MAX_TOKENS", value_name = "N", value_parser = number)]
    max_tokens: Option<u64>,
}

impl Source {
    fn request(&self) -> Result<Value, Problem> {
        let mut request = serde_json::Map::new();
        let read = |path: &PathBuf| compact::transcript(Path::new(path)).map(|it| it.items());
        if let Some(items) = self.conversation.as_ref().map(read).transpose()? {
            request.insert("conversation".to_owned(), items);
        }
        request.extend(self.max_tokens.map(|it| ("max_tokens".to_owned(), it.into())));
        Ok(Value::Object(request))
    }
}

/// Asks for the summary of a session.
pub(crate) fn summarize(
    server: &Server,
    session: &str,
    request: &Value,
    bearer: &Bearer,
) -> Result<Vec<u8>, Problem> {
    let call = server.client.post(&["v1", "sessions", session, "summary"], request.to_string());
    server.send(&call, Some(bearer))
}

/// Runs `session summary`.
pub(crate) fn summary(
    arguments: &SummaryArguments,
    server: &Server,
    output: Output,
) -> Result<(), Problem> {
    let id = &server.session(&arguments.id)?;
    let request = arguments.source.request()?;
    let reply = summarize(server, id, &request, &arguments.caller.bearer(server, id)?)?;
    if output.is_json {
        return output.answer(&reply, || Ok(String::new()));
    }
    let summary: SessionSummary = parse(&reply, &server.client)?;
    note(&summary.left_out());
    output.exact_text(&summary.text)?;
    if !summary.is_empty() && summary.project().is_some() {
        remark(&format!(
            "to keep the first alone: `shared-context session close {id} --remember --only 1 \
             --code {}`",
            summary.code()
        ));
    }
    Ok(())
}

/// Runs `session close`.
pub(crate) fn close(
    arguments: &CloseArguments,
    server: &Server,
    output: Output,
) -> Result<(), Problem> {
    let id = &server.session(&arguments.id)?;
    let admin = server.admin()?;
    let mut added = Value::Null;
    if arguments.remember {
        let reply = remember(arguments, server, id, &admin)?;
        if let Some(reply) = reply {
            if !output.is_json {
                let all: AddedMemories = parse(&reply, &server.client)?;
                output.text(&all.human(output))?;
            }
            added = serde_json::from_slice(&reply).unwrap_or_default();
        } else if !output.is_json {
            remark("the summary proposes no memories");
        }
    }
    let call = server.client.post(&["v1", "sessions", id, "archive"], "{}");
    let archived = server.send(&call, Some(&admin)).map_err(|problem| {
        if added.is_null() {
            return problem;
        }
        problem.next(format!(
            "the memories are stored, the session is not closed: `shared-context session close \
             {id}` closes it"
        ))
    })?;
    if output.is_json && arguments.remember {
        let session: Value = serde_json::from_slice(&archived).unwrap_or_default();
        let whole = json!({"memories": added, "session": session});
        return output.answer(whole.to_string().as_bytes(), || Ok(String::new()));
    }
    output.answer(&archived, || {
        let session: Session = parse(&archived, &server.client)?;
        Ok(format!(
            "{GREEN}✓{GREEN:#} {BOLD}{}{BOLD:#} is archived: it can be read, not changed\n",
            session.id
        ))
    })
}

/// Adds the chosen proposals to the session's project. Returns the reply; nothing if there are none.
fn remember(
    arguments: &CloseArguments,
    server: &Server,
    id: &str,
    admin: &Bearer,
) -> Result<Option<Vec<u8>>, Problem> {
    let reply = summarize(server, id, &arguments.source.request()?, admin)?;
    let summary: SessionSummary = parse(&reply, &server.client)?;
    let Some(project) = summary.project() else {
        return Err(Problem::usage(format!(
            "session {id} names no project, so there is nowhere to remember it; nothing was closed"
        ))
        .next(format!(
            "`shared-context session close {id}` closes it without memories, `shared-context \
             session update {id} --config '{{\"project\":\"PROJECT\"}}'` names one"
        )));
    };
    let given = arguments.code.as_deref();
    if given.is_none() && !arguments.only.is_empty() {
        return Err(Problem::usage(
            "--only needs --code: without it the numbers may be those of other proposals; \
             nothing was closed",
        )
        .next(format!("`shared-context session summary {id}` prints both")));
    }
    if given.is_some_and(|it| it != summary.code()) {
        return Err(Problem::usage(
            "the proposals are no longer those of this summary; nothing was closed",
        )
        .next(format!(
            "look at them again: `shared-context session summary {id}`, with the same \
             --conversation"
        )));
    }
    let chosen = summary.chosen(&arguments.only).map_err(|number| {
        Problem::usage(format!("the summary has no proposal {number}; nothing was closed"))
            .next(format!("`shared-context session summary {id}` shows the numbers"))
    })?;
    if chosen.is_empty() {
        return Ok(None);
    }
    note(&summary.left_out());
    let add = || {
        // The operator gets a clear error for a project that is gone.
        server.send(&server.client.get(&["v1", "projects", project], &[]), Some(admin))?;
        add_by_writers(server, id, project, &chosen, !arguments.only.is_empty())
    };
    let reply = add().map_err(|problem| {
        problem.next(format!(
            "nothing was closed, and what was remembered stays; `shared-context project show \
             {project}` shows the project"
        ))
    })?;
    Ok(Some(reply.to_string().into_bytes()))
}

/// Adds proposals, each in the name of the subagent whose words it has, else of the orchestrator.
/// If a person chose them, decisions of subagents are confirmed. Returns one reply for all.
fn add_by_writers(
    server: &Server,
    session: &str,
    project: &str,
    chosen: &[&Proposal],
    are_confirmed: bool,
) -> Result<Value, Problem> {
    const OTHERS: &str = "orchestrator";
    let writer = |it: &Proposal| {
        it.written_by.clone().filter(|it| it.starts_with("subagent:")).unwrap_or(OTHERS.to_owned())
    };
    let mut by_writer: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for it in chosen {
        by_writer.entry(writer(it)).or_default().push(&it.memory);
    }
    let (mut all, mut unconfirmed, mut revision) = (Vec::new(), Vec::new(), Value::Null);
    for (writer, memories) in by_writer {
        let bearer = minted(server, session, &writer, Some(CALL_TTL_SECONDS))?;
        let request = json!({"memories": memories}).to_string();
        let path = ["v1", "projects", project, "memories"];
        let reply = server.send(&server.client.post(&path, request), Some(&bearer))?;
        let mut reply: Value = serde_json::from_slice(&reply).unwrap_or_default();
        let added = reply.get_mut("memories").and_then(Value::as_array_mut);
        let added = added.map(mem::take).unwrap_or_default();
        if writer != OTHERS {
            let is_decision = |it: &&Value| it.get("decision_id").is_some_and(|it| !it.is_null());
            let ids = added.iter().filter(is_decision).filter_map(|it| it.get("memory_id"));
            unconfirmed.extend(ids.cloned());
        }
        all.extend(added);
        revision = reply.get("revision").cloned().unwrap_or_default();
    }
    if are_confirmed && !unconfirmed.is_empty() {
        let bearer = minted(server, session, OTHERS, Some(CALL_TTL_SECONDS))?;
        let mark = json!({"action": "mark_memories", "ids": unconfirmed, "mark": "verified"});
        let path = ["v1", "projects", project, "shared_context"];
        let reply = server.send(&server.client.post(&path, mark.to_string()), Some(&bearer))?;
        let reply: Value = serde_json::from_slice(&reply).unwrap_or_default();
        revision = reply.get("revision").cloned().unwrap_or_default();
        for it in &mut all {
            // What the reply said of them holds no longer.
            let warnings = it.get_mut("warnings").and_then(Value::as_array_mut);
            let is_past = |it: &Value| it.get("code").is_some_and(|it| it == "UNVERIFIED");
            if let Some(warnings) = warnings {
                warnings.retain(|it| !is_past(it));
            }
        }
    }
    Ok(json!({"memories": all, "revision": revision}))
}
