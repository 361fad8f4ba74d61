//! The Worker under the real workerd, beside a plain Durable Object that reads and writes
//! the same without any rules, the state of an agent of Cloudflare's SDK, and the
//! component by jco: one client and sixteen, new sessions, starts.
//!
//! A write is answered when it is on the disk, at all of them; where the disk is slow,
//! all are alike. So it is measured in memory, too, where what is left is the Worker's.
//! Two processes of the same Worker differ by a tenth; so there are several series, each
//! with processes that were just started.

mod contestant;
mod rounds;
mod sheet;

use std::{fs, path::Path};

use anyhow::Result;
use contestant::{Contestant, Who, path};
use rounds::{ENTRIES, Place, new_sessions, series};
use sheet::Sheet;
use tokio::runtime::{Builder, Runtime};

use crate::report::Report;

/// How often all is measured, by processes just started.
const SERIES: u32 = 5;
/// A file system in memory, where there is one.
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
    let mut all = vec![Who::Ours, Who::Plain, Who::Agents];
    match path("WORKERD_JCO") {
        Ok(_) => all.push(Who::Jco),
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

    let mut sheet = Sheet::new(&all);
    let mut kept = Vec::new();
    for (name, folder) in folders {
        let places = runtime.block_on(places(&all, folder))?;
        if kept.is_empty() {
            sizes(report, &places);
        }
        kept.push((format!("{name} ({})", file_system(folder)), places));
    }
    for number in 0..SERIES {
        report.note(&format!("series {} of {SERIES}, about 30 s", number + 1));
        for (on, places) in &mut kept {
            let begun = restarted(&mut sheet, std::mem::take(places), &runtime)?;
            runtime.block_on(series(&mut sheet, &begun, on))?;
            runtime.block_on(new_sessions(&mut sheet, &begun, on, number))?;
            *places = begun;
        }
    }
    sheet.tell(report);
    Ok(())
}

async fn places(all: &[Who], folder: &Path) -> Result<Vec<Place>> {
    let mut places = Vec::new();
    for who in all {
        places.push(Place::new(Contestant::start(*who, folder)?).await?);
    }
    Ok(places)
}

/// Starts all of them anew, one after the other.
fn restarted(sheet: &mut Sheet, places: Vec<Place>, runtime: &Runtime) -> Result<Vec<Place>> {
    let mut restarted = Vec::new();
    for place in places {
        let place = place.restart(sheet)?;
        runtime.block_on(place.first_reads(sheet))?;
        restarted.push(place);
    }
    Ok(restarted)
}

fn sizes(report: &mut Report, places: &[Place]) {
    let sizes = places.iter().map(|it| {
        let bytes = u32::try_from(it.contestant.bytes).unwrap_or(u32::MAX);
        format!("{} {:.0}", it.contestant.who.name(), f64::from(bytes) / 1_000.0)
    });
    report.line("deployed, gzipped, KB", sizes.collect::<Vec<_>>().join("   "));
}

/// Returns the name of the file system that `folder` is on.
fn file_system(folder: &Path) -> String {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let all = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        Some((fields.next()?, fields.next()?))
    });
    let of =
        all.filter(|(place, _)| folder.starts_with(place)).max_by_key(|(place, _)| place.len());
    of.map_or("file system unknown", |(_, kind)| kind).to_owned()
}
