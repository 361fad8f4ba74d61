//! `demo`: plays a story against a real server process, with participants that have their
//! own credentials.
//!
//! The story (`cycle`) drives a `transcript`; `process` is the server. The store is reached
//! only over HTTP.

mod cycle;
mod ledger;
mod lines;
mod process;
mod transcript;

use super::{output::Output, problem::Problem};

/// See what it does: agents share a context on a real server, which is restarted in between
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context demo
  shared-context demo --json | jq .claims

It starts a server of its own on a free port, with data that is removed
afterwards, and touches nothing else. Every printed claim is checked. If one
does not hold, the command says so and exits with 5.")]
pub(crate) struct Arguments;

/// Runs `demo`.
pub(crate) fn run(_: &Arguments, output: Output) -> Result<(), Problem> {
    process::handle_signals()?;
    cycle::play(output)
}
