//! The Worker under workerd, compared with a plain Durable Object without rules, the agent state of
//! Cloudflare's SDK, and the component transpiled by jco: one client, sixteen clients, new
//! sessions, and starts.
//!
//! All of them answer a write when it is on the disk, so a slow disk hides their differences.
//! Writes are therefore also measured on a file system in memory. Two processes of the same Worker
//! differ by a tenth, so several series run, each with new processes.

mod results;
mod rounds;
mod worker;

use std::{fs, path::Path};

use anyhow::Result;
use results::Results;
use rounds::{ENTRIES, Subject, new_sessions, series};
use tokio::runtime::{Builder, Runtime};
use worker::{RunningWorker, WorkerKind, path};

use crate::report::Report;

/// Number of series, each with new processes.
const SERIES: u32 = 5;
/// A file system in memory, if the machine has one.
const MEMORY: &str = "/dev/shm";

pub(crate) fn measure(report: &mut Report) -> Result<()> {
    report.section(&format!(
        "The Worker under workerd, sessions of {ENTRIES} entries of 240 words (p50, p99 in \
         brackets)"
    ));
    for needed in ["WORKERD", "WORKERD_WORKER", "WORKERD_ESBUILD", "WORKERD_NODE_MODULES"] {
        if let Err(why) = path(needed) {
            report.line("skipped", format!("{why:#}"));
            return Ok(());
        }
    }
    let mut all = vec![WorkerKind::Ours, WorkerKind::Plain, WorkerKind::Agents];
    match path("WORKERD_JCO") {
        Ok(_) => all.push(WorkerKind::Jco),
        Err(why) => report.line("jco", format!("skipped: {why:#}")),
    }
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let folder = || tempfile::Builder::new().prefix("shared-context-bench").clone();
    let on_disk = folder().tempdir()?;
    let in_memory = folder().tempdir_in(MEMORY).ok();
    if in_memory.is_none() {
        report.line("in memory", format!("skipped: {MEMORY} cannot be written"));
    }
    let mut folders = vec![("disk", on_disk.path())];
    folders.extend(in_memory.as_ref().map(|it| ("memory", it.path())));

    let mut results = Results::new(&all);
    let mut groups = Vec::new();
    for (name, folder) in folders {
        let subjects = runtime.block_on(prepare(&all, folder))?;
        if groups.is_empty() {
            sizes(report, &subjects);
        }
        groups.push((format!("{name} ({})", file_system(folder)), subjects));
    }
    for number in 0..SERIES {
        report.note(&format!("series {} of {SERIES}, about 30 s", number + 1));
        for (on, subjects) in &mut groups {
            let restarted = restart(&mut results, std::mem::take(subjects), &runtime)?;
            runtime.block_on(series(&mut results, &restarted, on))?;
            runtime.block_on(new_sessions(&mut results, &restarted, on, number))?;
            *subjects = restarted;
        }
    }
    results.print(report);
    Ok(())
}

async fn prepare(all: &[WorkerKind], folder: &Path) -> Result<Vec<Subject>> {
    let mut subjects = Vec::new();
    for kind in all {
        subjects.push(Subject::new(RunningWorker::start(*kind, folder)?).await?);
    }
    Ok(subjects)
}

/// Restarts all subjects, one after the other.
fn restart(
    results: &mut Results,
    subjects: Vec<Subject>,
    runtime: &Runtime,
) -> Result<Vec<Subject>> {
    let mut restarted = Vec::new();
    for subject in subjects {
        let subject = subject.restart(results)?;
        runtime.block_on(subject.first_reads(results))?;
        restarted.push(subject);
    }
    Ok(restarted)
}

fn sizes(report: &mut Report, subjects: &[Subject]) {
    let sizes = subjects.iter().map(|it| {
        let bytes = u32::try_from(it.worker.bytes).unwrap_or(u32::MAX);
        format!("{} {:.0}", it.worker.kind.name(), f64::from(bytes) / 1_000.0)
    });
    report.line("deployed, gzipped, KB", sizes.collect::<Vec<_>>().join("   "));
}

/// Returns the type of the file system that `folder` is on.
fn file_system(folder: &Path) -> String {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let all = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        Some((fields.next()?, fields.next()?))
    });
    let of =
        all.filter(|(mount, _)| folder.starts_with(mount)).max_by_key(|(mount, _)| mount.len());
    of.map_or("file system unknown", |(_, kind)| kind).to_owned()
}
