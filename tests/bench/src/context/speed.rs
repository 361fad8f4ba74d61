//! Cost of an assembly and of a window plan: in process, and in a fresh instance of the component.
//!
//! Figures are the minimum CPU time of the thread over several runs.

use std::{cell::Cell, hint::black_box};

use anyhow::{Result, anyhow};
use serde_json::json;
use shared_context_codec::Caller;
use shared_context_core::{
    budget::Budget,
    context::assembly::{Previous, Request, Rules, assemble, check},
    item::{Item, Kind, ListedKind},
    memory_kv::MemoryKv,
    tokens::{Tokens, approximate},
};
use shared_context_wasmtime::{Component, ComponentOptions, Host};

use super::{NOW, envelope};
use crate::{
    report::Report,
    rules::{NoOp, READ, cpu_micros, cpu_micros_of},
};

/// Number of measurements per figure; the least counts.
const TIMES: u32 = 20;
const SCOPE: &str = "session/bench";
const BUDGET_TOKENS: u32 = 50_000;
/// The memory that an instance may have.
const MEMORY_BYTES: usize = 32 << 20;
const TASK: &str = "Why does the retry of the payment client time out after the pool was reduced?";

pub(super) fn measure(report: &mut Report) -> Result<()> {
    report.section("One assembly (CPU, ms), instances of at most 32 MiB");
    let mut options = ComponentOptions::default();
    options.memory_bytes_max = MEMORY_BYTES;
    let component = Component::new(&options)?;
    let host = Host::new(MemoryKv::default(), NoOp, NoOp);
    let create = br#"{"action":"create_session"}"#;
    component.invoke(&host, SCOPE, &Caller::trusted("admin"), create).map_err(failed)?;
    for (name, items, limit) in [
        ("1,000 items of 100 tokens", items(1_000, 400), 10.0),
        ("2,000 items, 1 MiB of text", items(2_000, (1 << 20) / 2_000), 25.0),
    ] {
        let (assembly, envelope) = native(&items)?;
        report.line(name, format!("{assembly:6.2} core, {envelope:5.2} its envelope"));
        let name = format!("{name}, fresh component");
        let goal = format!("under {limit}");
        match fresh(&component, &host, &items) {
            Ok(millis) => report.goal(&name, format!("{millis:6.2}"), &goal, millis < limit),
            Err(error) => report.goal(&name, format!("failed: {error:#}"), &goal, false),
        }
    }
    plan(report, &component, &host)
}

/// Measures a window plan beside a read.
fn plan(report: &mut Report, component: &Component, host: &Host) -> Result<()> {
    report.section("Window plan, fresh instance (CPU, µs)");
    let who = Caller::trusted("orchestrator");
    let write = br#"{"action":"write","key":"findings_summary","value":"Pool reduced."}"#;
    component.invoke(host, SCOPE, &who, write).map_err(failed)?;
    let failures = Cell::new(0_u32);
    let cost = |request: &[u8]| {
        cpu_micros(200, || {
            let is_err = black_box(component.invoke(host, SCOPE, &who, request)).is_err();
            failures.set(failures.get() + u32::from(is_err));
        })
    };
    let read = cost(READ);
    let plan = cost(br#"{"action":"plan_window","used_tokens":170000,"operations":12}"#);
    if failures.get() > 0 {
        return Err(anyhow!("{} requests failed", failures.get()));
    }
    report.line("read", format!("{read:6.2}"));
    let goal = "under 50 more than a read";
    report.goal("plan_window", format!("{plan:6.2}"), goal, plan - read < 50.0);
    Ok(())
}

/// Returns the least time of an assembly in a fresh instance, as JSON, in milliseconds.
fn fresh(component: &Component, host: &Host, items: &[Item]) -> Result<f64> {
    let item = |it: &Item| json!({"id": it.id, "kind": it.kind.as_str(), "text": it.text(), "group": it.group});
    let items: Vec<_> = items.iter().map(item).collect();
    let budget = json!({"tokens": BUDGET_TOKENS});
    let request =
        json!({"action": "assemble_context", "task": TASK, "items": items, "budget": budget});
    let (request, who) = (request.to_string(), Caller::trusted("orchestrator"));
    let mut least = f64::MAX;
    for _ in 0..TIMES {
        let mut reply = None;
        let micros = cpu_micros_of(|| {
            reply = Some(component.invoke(host, SCOPE, &who, request.as_bytes()));
        });
        reply.transpose().map_err(failed)?;
        least = least.min(micros / 1_000.0);
    }
    Ok(least)
}

fn failed(failure: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("{failure}")
}

/// Returns the least times of an assembly and its envelope in process, in milliseconds.
fn native(items: &[Item]) -> Result<(f64, f64)> {
    let rules = Rules { budget: Budget::of(Tokens(BUDGET_TOKENS)), ..Rules::default() };
    let previous = Previous::default();
    let request = Request { task: TASK, items, rules: &rules, previous: &previous, now: NOW };
    let (mut least, mut least_envelope) = (f64::MAX, f64::MAX);
    for _ in 0..TIMES {
        let mut assembled = None;
        let micros = cpu_micros_of(|| {
            let checked = check(TASK, items, &rules);
            assembled =
                Some(checked.and_then(|()| assemble(&request, &|text| Ok(approximate(text)))));
        });
        least = least.min(micros / 1_000.0);
        let Some(assembly) = assembled.transpose()? else { continue };
        let micros = cpu_micros_of(|| {
            black_box(envelope(&assembly, &request)).ok();
        });
        least_envelope = least_envelope.min(micros / 1_000.0);
    }
    Ok((least, least_envelope))
}

/// Returns items of several kinds in groups of 20, each with a text of this many bytes.
fn items(count: usize, bytes: usize) -> Vec<Item> {
    let kinds = [
        ListedKind::FileExcerpt,
        ListedKind::SessionHistory,
        ListedKind::ToolResult,
        ListedKind::DurableMemory,
    ];
    let mut seed = 1_u64;
    let item = |place: usize| {
        let kind = kinds.get(place % kinds.len()).copied().unwrap_or(ListedKind::FileExcerpt);
        let mut item =
            Item::inline(format!("item-{place}"), Kind::Listed(kind), text(&mut seed, bytes));
        item.group = Some((place / 20).to_string());
        item
    };
    (0..count).map(item).collect()
}

/// Returns words of a vocabulary in which some are much more frequent than others.
fn text(seed: &mut u64, bytes: usize) -> String {
    let mut text = String::new();
    while text.len() < bytes {
        *seed =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (a, b) = (*seed >> 33 & 0xFFF, *seed >> 45 & 0xFFF);
        text.push_str(&word((a * b) >> 12));
        text.push(if a % 12 == 0 { '\n' } else { ' ' });
    }
    text.truncate(bytes);
    text
}

/// Returns the word of a number below 4,096.
fn word(number: u64) -> String {
    const STARTS: [&str; 16] = [
        "re", "con", "pay", "tim", "po", "cli", "ser", "da", "que", "log", "sto", "ca", "in",
        "wri", "lo", "ro",
    ];
    const MIDDLES: [&str; 16] = [
        "", "", "nec", "ta", "ment", "li", "ve", "ba", "ri", "mi", "che", "der", "ck", "nd", "pe",
        "so",
    ];
    const ENDS: [&str; 16] = [
        "try", "tion", "s", "out", "ol", "ent", "er", "se", "ing", "ed", "ly", "ts", "ion", "al",
        "y", "e",
    ];
    let part = |parts: &[&'static str; 16], shift: u32| {
        let place = usize::try_from(number >> shift & 15).unwrap_or_default();
        parts.get(place).copied().unwrap_or_default()
    };
    [part(&STARTS, 0), part(&MIDDLES, 4), part(&ENDS, 8)].concat()
}
