//! Measures how much of a growing prompt stays the same from one assembly to the next.

use std::collections::BTreeMap;

use anyhow::Result;
use shared_context_core::{
    budget::Budget,
    context::assembly::{Assembly, Previous, RankBy, Request, Rules, assemble},
    item::{Item, Kind, ListedKind},
    tokens::{Tokens, approximate},
};

use super::{NOW, envelope};
use crate::report::Report;

/// Number of assemblies, each after one more turn.
const STEPS: u32 = 200;
const BUDGETS: [u32; 2] = [4_000, 8_000];

pub(super) fn measure(report: &mut Report) -> Result<()> {
    report.section("Reused prefix of 200 assemblies of a growing conversation (% of tokens)");
    for tokens in BUDGETS {
        let (stable, ranked) = reused(tokens)?;
        report.goal(
            &format!("{tokens} tokens, stable order"),
            format!("{stable:5.1}"),
            "90 or more",
            stable >= 90.0,
        );
        report.line(&format!("{tokens} tokens, in the order of rank"), format!("{ranked:5.1}"));
    }
    Ok(())
}

/// Returns the average shares that are reused in percent: as assembled, and in the order of rank.
fn reused(tokens: u32) -> Result<(f64, f64)> {
    let rules =
        Rules { budget: Budget::of(Tokens(tokens)), rank_by: RankBy::Both, ..Rules::default() };
    let mut items = project();
    let (mut previous, mut before) = (Previous::default(), Vec::new());
    let (mut stable, mut ranked) = (0.0, 0.0);
    for step in 0..STEPS {
        items.push(turn(step));
        // The task changes every twenty turns.
        let task = format!("Finish the retry of client {}", step / 20);
        let assembled = |previous: &Previous| {
            let request = Request { task: &task, items: &items, rules: &rules, previous, now: NOW };
            let assembly = assemble(&request, &|text| Ok(approximate(text)))?;
            let envelope = envelope(&assembly, &request)?;
            anyhow::Ok((assembly, envelope))
        };
        let (assembly, envelope) = assembled(&previous)?;
        stable += f64::from(assembly.reused_prefix.0) / f64::from(assembly.used.tokens.0);
        previous = Previous::of_envelope(&envelope, &assembly.open);
        let (fresh, _) = assembled(&Previous::default())?;
        let blocks = by_rank(&fresh);
        let same = blocks.iter().zip(&before).take_while(|(it, before)| it == before);
        let same: u32 = same.map(|((_, tokens), _)| *tokens).sum();
        ranked += f64::from(same) / f64::from(fresh.used.tokens.0);
        before = blocks;
    }
    let percent = |sum: f64| sum / f64::from(STEPS) * 100.0;
    Ok((percent(stable), percent(ranked)))
}

/// Returns the places and tokens of the selected items in the order of their rank.
fn by_rank(assembly: &Assembly) -> Vec<(usize, u32)> {
    let blocks = assembly.blocks.iter().filter_map(|it| {
        let place = it.place?;
        let rank = assembly.candidates.get(place)?.rank?;
        Some((rank, (place, it.tokens.0)))
    });
    blocks.collect::<BTreeMap<_, _>>().into_values().collect()
}

/// Returns what an agent has at the beginning: instructions, a decision, and twenty files.
fn project() -> Vec<Item> {
    let item = |id: &str, kind, text: String| Item::inline(id, Kind::Listed(kind), text);
    let mut items = vec![
        item("system", ListedKind::SystemPrompt, "You are a careful engineer. ".repeat(20)),
        item("decision", ListedKind::DurableMemory, "We retry five times. ".repeat(10)),
    ];
    items.extend((0..20).map(|it| {
        let text = format!("module {it}: handles retry of client {it}. {}", "code ".repeat(120));
        item(&format!("src/m{it}.rs"), ListedKind::FileExcerpt, text)
    }));
    items
}

fn turn(step: u32) -> Item {
    let logs = "log ".repeat(30);
    let text = format!("step {step}: changed client {} and ran it. {logs}", step % 20);
    Item::inline(format!("turn{step}"), Kind::Listed(ListedKind::SessionHistory), text)
}
