//! The commands for participants: `call`, `token` and `prompt`.
//!
//! # Invariant
//!
//! `token` prints only the credential on standard output, so that it can be assigned to a
//! variable.

use std::io::{self, IsTerminal, Read};

use serde::Deserialize;

use super::{
    caller::{CallerArgs, mint_limited},
    client::parse,
    output::{Output, plain, remark},
    problem::Problem,
    reply::{self, IssuedCredential, PromptReply},
    server::{Server, ServerArgs},
};

/// Mint a participant's credential
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context token ticket-7 orchestrator
  shared-context token ticket-7 subagent:analysis --ttl 1h
  shared-context token ticket-7 subagent:review --keys 'inv_*,scope'
  export SHARED_CONTEXT_TOKEN=$(shared-context token ticket-7 orchestrator)

Standard output has the credential and nothing else.")]
pub(crate) struct TokenArguments {
    /// The session
    session: String,
    /// orchestrator, subagent:TASK or subagent:TASK:ID
    participant: String,
    /// How long it is good: 90s, 15m, 1h, 30d [default: an orchestrator's 30d, a
    /// subagent's 1d]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    ttl: Option<u64>,
    /// The only keys a subagent can read and write, up to 16 patterns; * stands
    /// for any text [default: all keys]
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    keys: Vec<String>,
    /// The only sets of tools it gets in MCP besides the working memory, such as
    /// `delta_rounds` [default: those of the session]
    #[arg(long, value_name = "SETS", value_delimiter = ',')]
    tools: Option<Vec<String>>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Send one request of the JSON tool
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context call ticket-7 '{\"action\":\"list_keys\"}' --as orchestrator
  shared-context call ticket-7 --as subagent:analysis \\
    '{\"action\":\"write\",\"key\":\"findings_summary\",\"value\":\"Too few.\"}'
  echo '{\"action\":\"read\",\"key\":\"scope\"}' | shared-context call ticket-7 - --json

Actions: list_keys, read, read_batch, write, write_batch, delete, set_access,
read_history, changes, snapshot, list_snapshots, read_snapshot, diff_snapshots,
restore_snapshot, delete_snapshot, open_round, propose_deltas, close_round,
read_state, read_deltas, convergence, redact_rounds, redact, prompt,
show_session; with `--as admin` also audit and inspect.")]
pub(crate) struct Arguments {
    /// The session
    session: String,
    /// The request, or - for standard input
    #[arg(value_name = "JSON")]
    request: String,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Print what to put into a participant's system prompt
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context prompt ticket-7 --as subagent:analysis
  shared-context prompt ticket-7 --as orchestrator --max-tokens 300 > prompt")]
pub(crate) struct PromptArguments {
    /// The session
    session: String,
    /// For this participant [default: the one of `SHARED_CONTEXT_TOKEN`, else
    /// orchestrator]
    #[arg(long = "as", value_name = "PARTICIPANT")]
    participant: Option<String>,
    /// Its budget
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Print what a participant may read, as text for a prompt
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context context ticket-7 --max-tokens 2000
  shared-context context ticket-7 --as subagent:review > context.md

Decisions and constraints come first, then the rest, each newest first, with the
writer and between fences. What does not fit is named.")]
pub(crate) struct ContextArguments {
    /// The session
    session: String,
    /// Its budget [default: 2000]
    #[arg(long, value_name = "N")]
    max_tokens: Option<u32>,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs `token`.
pub(crate) fn token(arguments: &TokenArguments, output: Output) -> Result<(), Problem> {
    let TokenArguments { session, participant, ttl, keys, tools, server } = arguments;
    let server = server.server()?;
    let keys: Vec<String> = keys.iter().map(|it| it.trim().to_owned()).collect();
    let reply = mint_limited(&server, session, participant, *ttl, &keys, tools.as_deref())?;
    output.answer(&reply, || {
        let IssuedCredential { credential, expires_at } = parse(&reply, &server.client)?;
        if io::stderr().is_terminal() {
            let keys = if keys.is_empty() { "all keys".to_owned() } else { keys.join(", ") };
            remark(&format!("{participant} of {session}, until {expires_at}, for {keys}"));
        }
        Ok(credential)
    })
}

/// Runs `call`.
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<(), Problem> {
    let server = arguments.server.server()?;
    let mut request = arguments.request.clone();
    if request == "-" {
        request.clear();
        io::stdin().read_to_string(&mut request).map_err(|error| {
            Problem::usage(format!("cannot read the request from standard input: {error}"))
                .next("send one JSON object in UTF-8")
        })?;
    }
    let session = &arguments.session;
    let bearer = arguments.caller.bearer(&server, session)?;
    let reply = server.tool(session, &bearer, request.as_str())?;
    output.answer(&reply, || reply::human(request.as_bytes(), &reply, output))
}

/// Runs `prompt`.
pub(crate) fn prompt(arguments: &PromptArguments, output: Output) -> Result<(), Problem> {
    let PromptArguments { session, participant, max_tokens, server } = arguments;
    let server = server.server()?;
    let (bearer, participant) = match (Server::participant(), participant) {
        (Some(credential), None) => (credential, None),
        (_, participant) => {
            let participant = participant.as_deref().unwrap_or("orchestrator");
            (server.admin()?, Some(participant.to_owned()))
        }
    };
    let mut query = Vec::new();
    query.extend(participant.map(|it| ("participant", it)));
    query.extend(max_tokens.map(|it| ("max_tokens", it.to_string())));
    let call = server.client.get(&["v1", "sessions", session, "prompt"], &query);
    let reply = server.send(&call, Some(&bearer))?;
    output.answer(&reply, || {
        let rendered: PromptReply = parse(&reply, &server.client)?;
        let PromptReply { text, tokens, max_tokens, left_out } = &rendered;
        if !left_out.is_empty() {
            let left_out = left_out.join(", ");
            remark(&format!("{tokens} of {max_tokens} tokens; left out: {left_out}"));
        }
        Ok(plain(text).into_owned())
    })
}

/// Runs `context`.
pub(crate) fn context(arguments: &ContextArguments, output: Output) -> Result<(), Problem> {
    #[derive(Deserialize)]
    struct ContextReply {
        text: String,
    }
    let ContextArguments { session, max_tokens, caller, server } = arguments;
    let server = server.server()?;
    let bearer = caller.bearer(&server, session)?;
    let query: Vec<_> = max_tokens.iter().map(|it| ("max_tokens", it.to_string())).collect();
    let call = server.client.get(&["v1", "sessions", session, "context"], &query);
    let reply = server.send(&call, Some(&bearer))?;
    output.answer(&reply, || {
        let ContextReply { text } = parse(&reply, &server.client)?;
        Ok(plain(&text).into_owned())
    })
}

/// Parses a duration such as `90s`, `15m`, `1h` or `30d`, into seconds.
pub(crate) fn seconds(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..) {
        Some("s") => Some(1),
        Some("m") => Some(60),
        Some("h") => Some(3_600),
        Some("d") => Some(86_400),
        _ => None,
    };
    let seconds = unit.and_then(|unit| digits.parse::<u64>().ok()?.checked_mul(unit));
    seconds.ok_or_else(|| "write a number and s, m, h or d, such as 15m".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_and_a_unit() {
        let times = ["90s", "15m", "1h", "30d"].map(|it| seconds(it).unwrap());
        assert_eq!(times, [90, 900, 3_600, 2_592_000]);
        for text in ["", "h", "1", "1 h", "1w", "-1h", "1hh", "99999999999999999999d", "1h5m"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
