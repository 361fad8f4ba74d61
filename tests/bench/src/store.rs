//! Cost of the store's larger operations on 200 keys, and the storage that a session uses after
//! 10,000 writes.
//!
//! Times are the minimum CPU time of the thread over many runs, through a fresh instance of the
//! component with JSON, over storage in memory.

use anyhow::{Result, anyhow};
use shared_context_codec::{Caller, Reply};
use shared_context_core::{
    memory_kv::MemoryKv,
    port::{Bucket, Kv},
};
use shared_context_wasmtime::{Component, ComponentOptions, Host};

use crate::{
    report::Report,
    rules::{NoOp, cpu_micros_of},
};

const KEYS: u32 = 200;
const SCOPE: &str = "session/bench";
/// Number of measurements per operation.
const TIMES: u32 = 40;
/// Numbers of writes after which the stored size is measured.
const MARKS: [u32; 6] = [100, 1_000, 2_000, 4_000, 7_000, 10_000];

/// A session in a component.
struct Session {
    component: Component,
    host: Host,
    kv: MemoryKv,
}

impl Session {
    fn new(component: &Component, config: &str) -> Result<Self> {
        let kv = MemoryKv::default();
        let host = Host::new(kv.clone(), NoOp, NoOp);
        let session = Self { component: component.clone(), host, kv };
        session.ask("admin", &format!(r#"{{"action":"create_session","config":{config}}}"#))?;
        Ok(session)
    }

    fn ask(&self, who: &str, request: &str) -> Result<Reply> {
        let caller = Caller::trusted(who);
        let reply = self.component.invoke(&self.host, SCOPE, &caller, request.as_bytes());
        reply.map_err(|failure| anyhow!("{request}: {failure}"))
    }

    fn write(&self, key: u32, value: &str) -> Result<Reply> {
        let request = format!(r#"{{"action":"write","key":"key_{key}","value":"{value}"}}"#);
        self.ask("orchestrator", &request)
    }

    /// Returns the number of stored rows and bytes.
    fn stored(&self) -> Result<(usize, usize)> {
        let rows = self.kv.open(SCOPE)?.scan("", None, u32::MAX)?;
        let bytes = rows.iter().map(|(name, value)| name.len() + value.len()).sum();
        Ok((rows.len(), bytes))
    }
}

pub(crate) fn measure(report: &mut Report) -> Result<()> {
    report.section("A store of 200 keys of 200 bytes (CPU, µs, fresh instance, JSON)");
    let component = Component::new(&ComponentOptions::default())?;
    let session = Session::new(&component, r#"{"store_tokens_max":100000}"#)?;
    let value = |n: u32| format!("{n:>8}{}", "Connection pool reduced to 20. ".repeat(6));
    for key in 0..KEYS {
        session.write(key, &value(0))?;
    }
    // Creates the snapshots that the measured operations name.
    session.ask("orchestrator", r#"{"action":"snapshot","label":"a"}"#)?;
    for key in 0..KEYS {
        session.write(key, &value(1))?;
    }
    session.ask("orchestrator", r#"{"action":"snapshot","label":"b"}"#)?;

    let least = |prepare: &str, measured: &str| -> Result<f64> {
        let mut least = f64::MAX;
        for _ in 0..TIMES {
            if !prepare.is_empty() {
                session.ask("orchestrator", prepare)?;
            }
            let mut done = Ok(());
            let micros = cpu_micros_of(|| done = session.ask("orchestrator", measured).map(drop));
            done?;
            least = least.min(micros);
        }
        Ok(least)
    };
    let read = least("", r#"{"action":"read","key":"key_7"}"#)?;
    let list = least("", r#"{"action":"list_keys"}"#)?;
    let unchanged = least("", r#"{"action":"list_keys","if_changed_since":403}"#)?;
    session.ask("orchestrator", r#"{"action":"snapshot","label":"c"}"#)?;
    let snapshot = least(
        r#"{"action":"delete_snapshot","label":"c"}"#,
        r#"{"action":"snapshot","label":"c"}"#,
    )?;
    let diff = least("", r#"{"action":"diff_snapshots","from":"a","to":"b"}"#)?;
    let restore = least(
        r#"{"action":"restore_snapshot","label":"b"}"#,
        r#"{"action":"restore_snapshot","label":"a"}"#,
    )?;
    let of_reads = |micros: f64| format!("{micros:9.1}  = {:6.1} × a read", micros / read);
    report.line("read one key", format!("{read:9.1}"));
    report.line("list 200 keys", of_reads(list));
    report.line("the same, unchanged", of_reads(unchanged));
    report.line("take a snapshot", of_reads(snapshot));
    report.line("compare two that differ in all", of_reads(diff));
    report.line("restore all 200 keys", of_reads(restore));

    let feed = Session::new(&component, "{}")?;
    for n in 0..1_000 {
        feed.write(n % 50, "x")?;
    }
    let mut done = Ok(());
    let catch_up = (0..TIMES)
        .map(|_| {
            cpu_micros_of(|| {
                let request = r#"{"action":"changes","limit":1000}"#;
                done = feed.ask("subagent:a", request).map(drop);
            })
        })
        .fold(f64::MAX, f64::min);
    done?;
    report.line("catch up with 1,000 changes", of_reads(catch_up));

    report.section("What a session keeps: writes of 200 bytes to 50 keys, defaults");
    let session = Session::new(&component, "{}")?;
    let (mut at_the_bound, mut last) = (0, 0);
    let mut written = 0;
    for mark in MARKS {
        while written < mark {
            session.write(written % 50, &value(written))?;
            written += 1;
        }
        let (rows, bytes) = session.stored()?;
        if mark == 2_000 {
            at_the_bound = bytes;
        }
        last = bytes;
        let bar = "█".repeat(bytes / 16_000);
        report.line(
            &format!("after {mark:>6} writes"),
            format!("{rows:>5} rows {:>6} KB  {bar}", bytes / 1_000),
        );
    }
    let bound = at_the_bound.max(1);
    report.goal(
        "10,000 writes beside 2,000",
        format!("{}.{:03} ×", last / bound, last % bound * 1_000 / bound),
        "at most 1.05 ×",
        last * 100 <= at_the_bound * 105,
    );
    Ok(())
}
