//! Cost of one request: through the core in process, a warm component, and a fresh instance, over
//! storage in memory.
//!
//! Figures are the minimum CPU time of the thread over many batches. They measure the work and not
//! the load of the machine.

use std::{cell::Cell, hint::black_box};

use anyhow::{Result, anyhow};
use rustix::time::{ClockId, clock_gettime};
use shared_context_codec::Caller;
use shared_context_core::{
    self as core, Command, Key, Scope, ScopeKind, Write, audit,
    memory_kv::MemoryKv,
    port::{Clock, Log, NoTokenizer, Ports},
    time::Timestamp,
};
use shared_context_wasmtime::{
    AuditLog, AuditRecord, Component, ComponentOptions, Host,
    bindings::exports::shared_context::core::store,
};

use crate::report::Report;

const BATCHES: u32 = 60;
const SCOPE: &str = "session/bench";
pub(crate) const READ: &[u8] = br#"{"action":"read","key":"findings_summary"}"#;

/// A fixed clock and a discarding log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoOp;

impl Clock for NoOp {
    fn now(&self) -> Timestamp {
        Timestamp(1_771_597_800_000)
    }
}

impl Log for NoOp {
    fn record(&self, _: &audit::AuditRecord) {}
}

impl AuditLog for NoOp {
    fn record(&self, _: ScopeKind, _: &str, _: &AuditRecord) {}
}

/// Returns the CPU time of `run`, in microseconds.
pub(crate) fn cpu_micros_of(run: impl FnOnce()) -> f64 {
    let now = || {
        let at = clock_gettime(ClockId::ThreadCPUTime);
        let nanos = at.tv_sec.saturating_mul(1_000_000_000).saturating_add(at.tv_nsec);
        u32::try_from(nanos.rem_euclid(4_000_000_000)).unwrap_or_default()
    };
    let start = now();
    run();
    let spent = (i64::from(now()) - i64::from(start)).rem_euclid(4_000_000_000);
    f64::from(u32::try_from(spent).unwrap_or(u32::MAX)) / 1_000.0
}

/// Returns the minimum CPU time of `run`, in microseconds.
pub(crate) fn cpu_micros(times: u32, mut run: impl FnMut()) -> f64 {
    let batch =
        |run: &mut dyn FnMut()| cpu_micros_of(|| (0..times).for_each(|_| run())) / f64::from(times);
    (0..BATCHES).map(|_| batch(&mut run)).fold(f64::MAX, f64::min)
}

pub(crate) fn measure(report: &mut Report) -> Result<()> {
    report.section("One request, 200-byte value, storage in memory (CPU, µs)");
    let value = "Connection pool reduced from 200 to 20. ".repeat(5);
    let write = format!(r#"{{"action":"write","key":"findings_summary","value":"{value}"}}"#);
    let who = Caller::trusted("subagent:analysis");
    let admin = Caller::trusted("admin");
    let create = br#"{"action":"create_session"}"#;

    let kv = MemoryKv::default();
    let ports = Ports { kv: &kv, clock: &NoOp, log: &NoOp, tokenizer: &NoTokenizer };
    let native = |caller: &Caller, request: &[u8]| {
        shared_context_codec::invoke(&ports, SCOPE, caller, request)
    };
    native(&admin, create)?;
    native(&who, write.as_bytes())?;
    let session = Scope::parse(ScopeKind::Session, "bench")?;
    let caller = who.check()?;
    let read_command =
        Command::Read { key: Key::parse("findings_summary")?, if_changed_since: None };
    let write_command = Command::Write(Write::new("findings_summary", value.clone())?);
    let execute = |command| core::execute(&ports, &session, &caller, command);
    let failed = Cell::new(0_u32);
    let check = |is_ok: bool| failed.set(failed.get() + u32::from(!is_ok));

    let read_native = cpu_micros(4_000, || check(black_box(execute(&read_command)).is_ok()));
    let read_native_json = cpu_micros(4_000, || check(black_box(native(&who, READ)).is_ok()));
    let write_native = cpu_micros(1_000, || check(black_box(execute(&write_command)).is_ok()));
    let write_native_json =
        cpu_micros(1_000, || check(black_box(native(&who, write.as_bytes())).is_ok()));

    let component = Component::new(&ComponentOptions::default())?;
    let host = Host::new(kv.clone(), NoOp, NoOp);
    let typed_caller = (&who).into();
    let mut warm = component.instance(&host)?;
    let read_warm = cpu_micros(2_000, || {
        check(
            warm.call(|entries: &store::Guest, store| {
                entries.call_read(store, "bench", &typed_caller, "findings_summary", None)
            })
            .is_ok(),
        );
    });
    let read_warm_json = cpu_micros(2_000, || check(warm.invoke(SCOPE, &who, READ).is_ok()));
    let write_warm_json =
        cpu_micros(1_000, || check(warm.invoke(SCOPE, &who, write.as_bytes()).is_ok()));
    drop(warm);
    let read_fresh = cpu_micros(500, || {
        check(
            component
                .call(&host, |entries: &store::Guest, store| {
                    entries.call_read(store, "bench", &typed_caller, "findings_summary", None)
                })
                .is_ok(),
        );
    });
    let read_fresh_json =
        cpu_micros(500, || check(component.invoke(&host, SCOPE, &who, READ).is_ok()));
    let write_fresh_json =
        cpu_micros(500, || check(component.invoke(&host, SCOPE, &who, write.as_bytes()).is_ok()));

    let figure = |typed: f64, json: f64| format!("{typed:6.2} typed  {json:6.2} JSON");
    report.line("read, core in process", figure(read_native, read_native_json));
    report.line("read, component warm", figure(read_warm, read_warm_json));
    report.goal(
        "read, fresh instance",
        figure(read_fresh, read_fresh_json),
        "under 20",
        read_fresh.max(read_fresh_json) < 20.0,
    );
    let thread_time = cpu_micros(10_000, || {
        black_box(clock_gettime(ClockId::ThreadCPUTime));
    });
    report.line(
        "one look at the thread's CPU time",
        format!("{thread_time:6.2}  ({:.1} % of a read)", thread_time / read_fresh_json * 100.0),
    );
    report.line("write, core in process", figure(write_native, write_native_json));
    report.line("write, component warm", format!("{:12} {write_warm_json:6.2} JSON", ""));
    report.line("write, fresh instance", format!("{:12} {write_fresh_json:6.2} JSON", ""));
    if failed.get() > 0 {
        return Err(anyhow!("{} requests of the measured ones were refused", failed.get()));
    }
    Ok(())
}
