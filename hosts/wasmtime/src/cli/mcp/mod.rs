//! `mcp`: offers a session's tools to an agent that starts programs and talks to them over
//! standard input and output, as desktop agents and editors do.
//!
//! It is a bridge: each line is an MCP message (2026-07-28, stdio, and the older protocols
//! with a handshake), which is forwarded unchanged to a server's endpoint. The server
//! interprets the methods. `message` and `header` read the minimum of a line; `upstream`
//! finds the server or starts one (`own`); `exchange` sends one request and retries it
//! where that is safe; `bridge` orders requests; `listen` (new) and `handshake` and
//! `stream` (old) maintain subscriptions and streams.
//!
//! # Invariants
//!
//! - Standard output has only MCP messages, one per line.
//! - The bridge sends no requests to the client. Only the end of the client's input ends
//!   the bridge, no message does.
//! - All state of the bridge can be sent again to a restarted server: bridge, client and
//!   server may be killed at any time.

mod bridge;
mod exchange;
mod handshake;
mod header;
mod input;
mod listen;
mod message;
mod output;
mod own;
mod stream;
#[cfg(test)]
mod tests;
mod upstream;

use std::{
    io,
    sync::{Arc, mpsc::channel},
    thread,
    time::Duration,
};

use shared_context_core::config::TOOL_SETS;

use self::{
    bridge::{Bridge, Lanes},
    output::Output,
    upstream::{Caller, Upstream},
};
use super::{
    argument::SessionName,
    caller::{self, CallerArgs},
    output::remark,
    problem::{Kind, Problem},
    serve::{self, LogFormat},
    server::ServerArgs,
    signals::{no_thread, on_signal},
};

/// The participant that an operator's agent is.
const PARTICIPANT_DEFAULT: &str = "orchestrator";
/// The default log filter of a server that is started here, used when `SHARED_CONTEXT_LOG`
/// is not set.
const LOG_DEFAULT: &str = "warn";
/// The time limit at shutdown for pending answers, and then for a server that was started
/// here.
const FINISH_TIME_MAX: Duration = Duration::from_secs(2);

/// The time limit of the whole shutdown. Only unacknowledged work is cut off.
const END_TIME_MAX: Duration = Duration::from_secs(5);
/// How much longer pending answers may take when the input has ended: a script that pipes its
/// requests has them all answered, also where their rate is limited.
const PIPED_TIME: Duration = Duration::from_secs(10);

/// Serve a session's tools to an agent: MCP over standard input and output
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context mcp notes
  shared-context mcp ticket-7 --as subagent:review
  shared-context mcp ticket-7 --tools delta_rounds
  SHARED_CONTEXT_TOKEN=... shared-context mcp

The configuration of a desktop agent or an editor:
  {\"mcpServers\": {\"shared-context\": {
    \"command\": \"shared-context\", \"args\": [\"mcp\", \"notes\"]}}}

Without a credential and without --as the agent is the orchestrator.

The session is created if it does not exist yet. When no server runs on the data
folder, this process starts one on 127.0.0.1 for as long as it runs. Other
agents and commands find and use it. If it ends, the next agent that needs a
server starts another, and nothing acknowledged is lost.")]
pub(crate) struct Arguments {
    /// The session [default: that of the credential, else the one of
    /// `SHARED_CONTEXT_SESSION` or of the profile]
    session: Option<SessionName>,
    #[command(flatten)]
    caller: CallerArgs,
    /// Also list these sets of tools, with commas between them: `delta_rounds`,
    /// `context_packets`, `memories`, `outline` [default: those of the credential, else those of
    /// the session]
    #[arg(long, env = "SHARED_CONTEXT_TOOLS", value_name = "SETS", value_parser = sets)]
    tools: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Validates the names of sets of tools.
fn sets(names: &str) -> Result<String, String> {
    match names.split(',').find(|it| !TOOL_SETS.contains(it)) {
        None => Ok(names.to_owned()),
        Some(_) => Err(format!("there are {}", TOOL_SETS.join(", "))),
    }
}

/// The reason why the bridge ends.
#[derive(Debug)]
enum End {
    /// The client closed standard input.
    InputClosed,
    /// The client closed standard output.
    OutputClosed,
    /// This process received a signal.
    Signal,
}

/// Runs `mcp` until the input ends.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    // Standard output belongs to the MCP client, also with `--json`.
    bridge(arguments).map_err(Problem::reported)
}

fn bridge(arguments: &Arguments) -> Result<(), Problem> {
    serve::start_log(LogFormat::Text, LOG_DEFAULT)?;
    let (caller, session, name) = arguments.caller()?;
    let path = arguments.path();
    let upstream = Upstream::start(arguments.server.clone(), caller, session.as_deref(), &path)?;
    let ready = format!("{name}, at {}", upstream.target().server.client.url());
    let (over, ended) = channel();
    let output = Output::new(io::stdout(), over.clone());
    let bridge = Arc::new(Bridge::new(upstream, output));
    let lanes = Lanes::new(&bridge)?;
    let signal = over.clone();
    // If the receiver is gone, the bridge is ending already.
    on_signal(move || drop(signal.send(End::Signal)))?;
    remark(&ready);
    let reader = Arc::clone(&bridge);
    let read = move || {
        let mut stdin = io::stdin().lock();
        while let Ok(Some(line)) = input::next(&mut stdin) {
            reader.take(line, &lanes);
        }
        drop(over.send(End::InputClosed));
    };
    thread::Builder::new().spawn(read).map_err(|error| no_thread(&error))?;
    let more = match ended.recv() {
        Ok(End::InputClosed) => PIPED_TIME,
        _ => Duration::ZERO,
    };
    let (done, finished) = channel();
    let finish = move || done.send(bridge.finish(FINISH_TIME_MAX + more));
    thread::Builder::new().spawn(finish).map_err(|error| no_thread(&error))?;
    // A client may hold its end of the pipe open without reading it.
    match finished.recv_timeout(END_TIME_MAX + more) {
        Ok(unanswered) if unanswered > 0 && !more.is_zero() => {
            let message = format!("the input ended, and {unanswered} requests were not answered");
            let next = "keep standard input open until every answer is there";
            let problem = Problem::new(Kind::Unreachable, "NOT_ANSWERED", message).next(next);
            remark(problem.message());
            Err(problem)
        }
        _ => Ok(()),
    }
}

impl Arguments {
    /// Returns the path and query of the endpoint.
    fn path(&self) -> String {
        match &self.tools {
            Some(sets) => format!("/mcp?tools={sets}"),
            None => "/mcp".to_owned(),
        }
    }

    /// Returns the caller, the session, and a name for the caller in messages.
    fn caller(&self) -> Result<(Caller, Option<String>, String), Problem> {
        let server = self.server.find()?;
        let participant = match self.caller.caller(&server) {
            caller::Caller::Holder(bearer) => {
                let session = self.session.as_ref().map(|it| server.session(it)).transpose()?;
                let name = "the holder of the credential".to_owned();
                return Ok((Caller::Holder(bearer), session, name));
            }
            caller::Caller::Participant(participant) => participant,
            caller::Caller::Operator => PARTICIPANT_DEFAULT.to_owned(),
        };
        let session = self.session.clone().unwrap_or_default();
        let session = server.session(&session).map_err(|problem| {
            problem.next("name one, as in `shared-context mcp notes`; it is created if need be")
        })?;
        let name = format!("{participant} of {session}");
        Ok((Caller::Participant { session: session.clone(), participant }, Some(session), name))
    }
}
