//! `demo`: a story played against a server process that is really started, by
//! participants with credentials of their own.
//!
//! A story (`cycle`, `long` by its `plan`) tells a `transcript` what happens;
//! `process` is the server. Not here: any way to the store but HTTP.

mod cycle;
mod ledger;
mod lines;
mod long;
mod material;
mod plan;
mod process;
mod transcript;

use std::path::PathBuf;

use super::{output::Output, problem::Problem};

/// See what it does: agents share a context on a real server, which is restarted in between
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context demo
  shared-context demo --long
  shared-context demo --long --documents ~/notes
  shared-context demo --json | jq .claims

It starts a server of its own on a free port, with data that is removed
afterwards, and touches nothing else. What it claims it has checked: when
something does not hold it says so and exits with 5.")]
pub(crate) struct Arguments {
    /// Four participants distil documents into a store that is too small for them
    #[arg(long)]
    long: bool,
    /// The documents: the .md and .txt files of this folder [default: built-in texts]
    #[arg(long, value_name = "DIR", requires = "long")]
    documents: Option<PathBuf>,
}

/// Runs `demo`.
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<(), Problem> {
    process::heed_signals()?;
    if !arguments.long {
        return cycle::play(output);
    }
    let documents = match &arguments.documents {
        Some(folder) => material::read(folder)?,
        None => material::built_in(),
    };
    long::play(documents, output)
}
