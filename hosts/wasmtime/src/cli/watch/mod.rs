//! `watch` and `project watch`: the changes of a session or project as they happen.
//!
//! # Invariants
//!
//! - Each commit is shown once and in order: a broken stream is resumed after the last
//!   commit shown, and duplicates are dropped.
//! - It ends on a signal, when its reader closes the pipe, and when the server reports a
//!   permanent error; nothing else ends it.

mod feed;
mod follow;
#[cfg(test)]
mod tests;

use std::{
    ops::ControlFlow,
    sync::mpsc::{Receiver, sync_channel},
    thread,
};

pub(super) use self::feed::Feed;
use self::follow::{Follow, Update, oldest};
use super::{
    argument::{SessionName, number},
    caller::CallerArgs,
    output::{Output, remark},
    problem::Problem,
    reply::Human,
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
    /// An update of what is followed.
    Update(Update),
    /// Following ended with this problem.
    Ended(Problem),
    /// The user stopped the command.
    Interrupted,
}

/// Runs `watch` until a signal stops it.
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<(), Problem> {
    let Arguments { session, keys, since, caller, server: server_args } = arguments;
    let server = server_args.server()?;
    let id = server.session(session)?;
    let feed = Feed::Session { id, keys: keys.clone(), caller: caller.clone() };
    watch(feed, *since, server_args, server, output)
}

/// Shows the changes of `feed` after the revision `since`, or from now on, until a signal.
pub(super) fn watch(
    feed: Feed,
    since: Option<u64>,
    server_args: &ServerArgs,
    server: Server,
    output: Output,
) -> Result<(), Problem> {
    let mut after = match since {
        Some(since) => since,
        None => feed.revision(&server)?,
    };
    let id = feed.id().to_owned();
    let follow = Follow { feed, server_args: server_args.clone(), server, after };
    for message in messages(follow)? {
        match message {
            Message::Update(Update::Connected(revision)) => {
                after = revision;
                remark(&format!("watching {id} after revision {after}"));
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

/// Adds to a problem how to begin with the oldest change that is kept, if that is the remedy.
fn advised(problem: Problem) -> Problem {
    match oldest(&problem) {
        Some(oldest) => {
            problem.next(format!("--since {oldest} begins with the oldest that is kept"))
        }
        None => problem,
    }
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
