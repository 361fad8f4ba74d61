//! Cost of an assembly, natively.

use std::hint::black_box;

use anyhow::Result;
use shared_context_core::{
    budget::Budget,
    context::assembly::{Previous, Request, Rules, assemble, check},
    item::{Item, Kind, ListedKind},
    tokens::{Tokens, approximate},
};

use super::{NOW, envelope};
use crate::{report::Report, rules::cpu_micros_of};

/// Number of measurements per figure; the least counts.
const TIMES: u32 = 20;
const TASK: &str = "Why does the retry of the payment client time out after the pool was reduced?";

pub(super) fn measure(report: &mut Report) -> Result<()> {
    report.section("Assembly (CPU, ms)");
    for (name, items) in [
        ("1,000 items of 100 tokens", items(1_000, 400)),
        ("2,000 items, 1 MiB of text", items(2_000, (1 << 20) / 2_000)),
    ] {
        let (assembly, envelope) = native(&items)?;
        report.line(name, format!("{assembly:6.2} core, {envelope:5.2} its envelope"));
    }
    Ok(())
}

/// Returns the least times of an assembly and its envelope in process, in milliseconds.
fn native(items: &[Item]) -> Result<(f64, f64)> {
    let rules = Rules { budget: Budget::of(Tokens(50_000)), ..Rules::default() };
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
        text.push_str(&word(a * b >> 12));
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
