//! `watch`: the changes of a session as they happen.
//!
//! # Invariants
//!
//! - Each commit is shown once and in order: a broken stream is resumed after the last
//!   commit shown, and duplicates are dropped.
//! - It ends on a signal, when its reader closes the pipe, and when the server reports a
//!   permanent error; nothing else ends it.

mod follow;
#[cfg(test)]
mod tests;

use std::{
    ops::ControlFlow,
    sync::mpsc::{Receiver, sync_channel},
    thread,
};

use self::follow::{Follow, Update, oldest};
use super::{
    argument::{SessionName, number},
    caller::CallerArgs,
    client::parse,
    output::{Output, remark},
    problem::Problem,
    reply::{Human, Session},
    server::{Server, ServerArgs},
    signals::{no_thread, on_signal},
};

/// The number of commits that may wait to be printed; the server holds the others.
const UNPRINTED_MAX: usize = 16;

/// Show changes as they happen, until Ctrl-C
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context watch ticket-7
  shared-context watch ticket-7 --keys 'findings_*' --as subagent:review
  shared-context watch ticket-7 --since 0
  shared-context watch ticket-7 --json | jq -c '.changes[]'

After a restart of the server the command continues where it was. It never shows
values, nor keys that the caller may not read. With --json each line is one JSON
document: a revision and its changes.")]
pub(crate) struct Arguments {
    /// The session [default: the one of `SHARED_CONTEXT_SESSION` or of the profile]
    #[arg(default_value = SessionName::DEFAULT, hide_default_value = true)]
    session: SessionName,
    /// Only keys like this, where * stands for any text
    #[arg(long, env = "SHARED_CONTEXT_WATCH_KEYS", value_name = "PATTERN")]
    keys: Option<String>,
    /// Begin after this revision; 0 shows all that is kept [default: now]
    #[arg(long, env = "SHARED_CONTEXT_SINCE", value_name = "REVISION", value_parser = number)]
    since: Option<u64>,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// A message to the printing thread.
enum Message {
    /// An update of the followed session.
    Update(Update),
    /// Following ended with this problem.
    Ended(Problem),
    /// The user stopped the command.
    Interrupted,
}

/// Runs `watch` until a signal stops it.
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<(), Problem> {
    let Arguments { session, since, caller, .. } = arguments;
    let server = arguments.server.server()?;
    let session = &server.session(session)?;
    let mut after = match since {
        Some(since) => *since,
        None => revision(session, caller, &server)?,
    };
    let follow = arguments.follow(server, session, after);
    for message in messages(follow)? {
        match message {
            Message::Update(Update::Connected(revision)) => {
                after = revision;
                remark(&format!("watching {session} after revision {after}"));
            }
            Message::Update(Update::Commit(document, commit)) => {
                if output.next(document.as_bytes(), || commit.human(output))?.is_break() {
                    return Ok(());
                }
                after = commit.revision;
            }
            Message::Update(Update::Lost(reason)) => {
                remark(&format!("the connection broke ({reason}); connecting again"));
            }
            Message::Ended(problem) => return Err(advised(problem)),
            Message::Interrupted => {
                remark(&format!("stopped; --since {after} goes on from here"));
                return Ok(());
            }
        }
    }
    Ok(())
}

impl Arguments {
    /// Builds the follower that starts after the revision `after`.
    fn follow(&self, server: Server, session: &str, after: u64) -> Follow {
        Follow {
            session: session.to_owned(),
            keys: self.keys.clone(),
            caller: self.caller.clone(),
            server_args: self.server.clone(),
            server,
            after,
        }
    }
}

/// Adds to a problem how to begin with the oldest change that is kept, if that is the remedy.
fn advised(problem: Problem) -> Problem {
    match oldest(&problem) {
        Some(oldest) => {
            problem.next(format!("--since {oldest} begins with the oldest that is kept"))
        }
        None => problem,
    }
}

/// Returns the revision of `session`.
fn revision(session: &str, caller: &CallerArgs, server: &Server) -> Result<u64, Problem> {
    let bearer = caller.bearer(server, session)?;
    let call = server.client.get(&["v1", "sessions", session], &[]);
    let reply = server.send(&call, Some(&bearer))?;
    parse(&reply, &server.client).map(|it: Session| it.revision)
}

/// Runs `follow` in a thread and returns its messages, and those of signals.
fn messages(follow: Follow) -> Result<Receiver<Message>, Problem> {
    let (sender, messages) = sync_channel(UNPRINTED_MAX);
    let interrupt = sender.clone();
    // If the receiver is gone, the command has stopped already.
    on_signal(move || drop(interrupt.send(Message::Interrupted)))?;
    let updates = sender.clone();
    let follow = move || {
        let ended = follow.run(|update| match updates.send(Message::Update(update)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        });
        if let Err(problem) = ended {
            drop(sender.send(Message::Ended(problem)));
        }
    };
    thread::Builder::new().spawn(follow).map_err(|error| no_thread(&error))?;
    Ok(messages)
}
