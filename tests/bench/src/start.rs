//! Size of the component, and time from process start to the first answered read.

use std::{env, path::Path, process::Command, time::Instant};

use anyhow::{Context, Result, bail};
use shared_context_codec::Caller;
use shared_context_core::memory_kv::MemoryKv;
use shared_context_wasmtime::{Cache, Component, ComponentOptions, Host};

use crate::{report::Report, rules::NoOp};

const STARTS: usize = 9;

pub(crate) fn measure(report: &mut Report) -> Result<()> {
    report.section("Size and start");
    let kilobytes = f64::from(u32::try_from(Component::bytes().len())?) / 1_000.0;
    let figure = format!("{kilobytes:.0} KB");
    report.goal("component", figure, "200 KB", kilobytes <= 200.0);

    let cache = tempfile::tempdir()?;
    let first = start(cache.path())?;
    let mut later = (0..STARTS).map(|_| start(cache.path())).collect::<Result<Vec<_>>>()?;
    later.sort_unstable();
    let median = later.get(STARTS / 2).copied().context("no start was measured")?;
    report.line("first start, compiling", format!("{:.1} ms", millis(first)));
    report.goal(
        "start to first answer, compiled code cached",
        format!("{:.1} ms (median of {STARTS})", millis(median)),
        "10 ms",
        median < 10_000,
    );
    Ok(())
}

fn millis(micros: u32) -> f64 {
    f64::from(micros) / 1_000.0
}

/// Runs this program again to answer one read. Returns its time in microseconds.
fn start(cache: &Path) -> Result<u32> {
    let output = Command::new(env::current_exe()?).arg("--start-once").arg(cache).output()?;
    if !output.status.success() {
        bail!("a start failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// Loads the component, answers a read, and prints the elapsed microseconds.
pub(crate) fn once(cache: &Path) -> Result<()> {
    let start = Instant::now();
    let mut options = ComponentOptions::default();
    options.cache = Cache::Folder(cache.to_owned());
    let component = Component::new(&options)?;
    let host = Host::new(MemoryKv::default(), NoOp, NoOp);
    let ask = |who: &str, request: &str| {
        let caller = Caller::trusted(who);
        component.invoke(&host, "session/s", &caller, request.as_bytes())
    };
    ask("admin", r#"{"action":"create_session"}"#)?;
    ask("orchestrator", r#"{"action":"write","key":"scope","value":"v"}"#)?;
    ask("orchestrator", r#"{"action":"read","key":"scope"}"#)?;
    anstream::println!("{}", start.elapsed().as_micros());
    // A background thread writes the cache and would end with the process.
    std::thread::sleep(std::time::Duration::from_millis(300));
    Ok(())
}
