//! Benchmarks of speed, size and memory on this machine.
//!
//! Every compared figure and its baseline are measured in the same run. The ratio is the result;
//! the figures show where it comes from. A missed goal is shown and does not fail the run, because
//! machines differ.

mod client;
mod context;
mod databases;
mod durable;
mod full_rounds;
mod http;
mod memories;
mod memory;
mod outline;
mod project;
mod report;
mod rounds;
mod rules;
mod scale;
mod start;
mod store;
mod streams;
mod workers;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::{Parser, ValueEnum};
use report::Report;

/// Measures shared-context on this machine and prints ratios.
#[derive(Debug, Parser)]
#[command(after_help = "Examples:\n  \
    cargo xtask bench                    everything, about ten minutes\n  \
    cargo xtask bench --only rules       what one request costs\n  \
    cargo xtask bench --only workers     the Worker under workerd, beside others\n  \
    cargo xtask bench --only context --data locomo10.json\n  \
    cargo xtask bench --only durable --json")]
struct Args {
    /// Measure only these.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Section>,
    /// Conversations with questions, such as locomo10.json: measure how much of the evidence an
    /// assembled context holds.
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Print one JSON document instead of tables.
    #[arg(long)]
    json: bool,
    /// Internal: answer one read in a fresh process and print how long it took.
    #[arg(long, hide = true, value_name = "CACHE")]
    start_once: Option<PathBuf>,
    /// Internal: serve this data folder until killed.
    #[arg(long, hide = true, value_name = "DATA")]
    serve: Option<PathBuf>,
}

/// The groups of measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Section {
    /// Size of the component, and time from start to the first answer.
    Start,
    /// One request through the core, a warm component, a fresh instance.
    Rules,
    /// Lists, snapshots, restores, the change feed; what a session keeps.
    Store,
    /// Assembled contexts: the evidence they hold (with --data), the prefix they reuse, their cost.
    Context,
    /// Memories of a project: a search, a beginning, and what a search finds (with --data).
    Memories,
    /// The outline of a project, its leases, and a handoff.
    Outline,
    /// A round of a thousand deltas, and the worst rounds that are accepted.
    Rounds,
    /// Latency over HTTP.
    Http,
    /// Durable writes a second, beside the disk and other stores.
    Durable,
    /// Memory of a server, idle and with many sessions.
    Memory,
    /// A million sessions: the start, memory, reads and writes. Only when asked for: it takes
    /// minutes, and 10 GB.
    Scale,
    /// A thousand live streams: their memory, and how soon they are told.
    Streams,
    /// The Worker under workerd, beside others.
    Workers,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match (&args.start_once, &args.serve) {
        (Some(cache), _) => start::once(cache),
        (_, Some(folder)) => memory::serve(folder),
        _ => run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            anstream::eprintln!("bench: {err:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let mut report = Report::new(args.json);
    let wants = |section| args.only.is_empty() || args.only.contains(&section);
    if wants(Section::Start) {
        start::measure(&mut report)?;
    }
    if wants(Section::Rules) {
        rules::measure(&mut report)?;
    }
    if wants(Section::Store) {
        store::measure(&mut report)?;
    }
    if wants(Section::Context) {
        context::measure(&mut report, args.data.as_deref())?;
    }
    if wants(Section::Memories) {
        memories::measure(&mut report, args.data.as_deref())?;
    }
    if wants(Section::Outline) {
        outline::measure(&mut report)?;
    }
    if wants(Section::Rounds) {
        rounds::measure(&mut report)?;
        full_rounds::measure(&mut report)?;
    }
    if wants(Section::Http) {
        http::measure(&mut report)?;
    }
    if wants(Section::Durable) {
        durable::measure(&mut report)?;
    }
    if wants(Section::Memory) {
        memory::measure(&mut report)?;
    }
    if args.only.contains(&Section::Scale) {
        scale::measure(&mut report)?;
    }
    if wants(Section::Streams) {
        streams::measure(&mut report)?;
    }
    if wants(Section::Workers) {
        workers::measure(&mut report)?;
    }
    report.end()
}
