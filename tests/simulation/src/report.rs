//! Output: tables, or one JSON document.

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use shared_context_simulation::{
    canary::{Canary, SEEDS_MAX},
    case,
    counts::Counts,
    run::Outcome,
    script::Script,
    shrink::{self, Shrunk},
};

/// Report of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) first_seed: u64,
    pub(crate) seeds: u64,
    pub(crate) seconds: f64,
    /// SHA-256 over the digests of the seeds, in order.
    pub(crate) digest: String,
    pub(crate) counts: Counts,
    pub(crate) flaw: Option<FlawReport>,
}

/// Report of a failure, with the minimized script.
#[derive(Debug, Serialize)]
pub(crate) struct FlawReport {
    check: &'static str,
    message: String,
    /// The command that reproduces it.
    repeat: String,
    script: Script,
    /// The script as a conformance case, if it can be expressed as one.
    case: Option<String>,
}

/// Report of a canary, and how it was detected.
#[derive(Debug, Serialize)]
pub(crate) struct CanaryReport {
    canary: &'static str,
    /// Number of seeds it took, or `None` if it was not detected.
    seeds: Option<u64>,
    check: Option<&'static str>,
    message: Option<String>,
    script: Option<Script>,
}

impl Report {
    /// Prints the report.
    pub(crate) fn print(&self, is_json: bool) {
        if is_json {
            print_json(self);
            return;
        }
        let counts = &self.counts;
        for (title, of) in [
            ("requests", &counts.requests),
            ("answers", &counts.answers),
            ("faults", &counts.faults),
            ("envelopes", &counts.envelopes),
        ] {
            let mut table = table();
            for (name, count) in of {
                table.add_row([format!("  {name}"), grouped(*count)]);
            }
            anstream::println!("\n{title} {}\n{}", grouped(of.values().sum()), aligned(table));
        }
        let rate = format!("{:.0}", counts.steps as f64 / self.seconds.max(0.001));
        let mut table = table();
        for (what, figure) in [
            ("seeds", format!("{} from {}", grouped(self.seeds), self.first_seed)),
            ("steps", grouped(counts.steps)),
            ("requests inside of others", grouped(counts.overlaps)),
            ("deepest", counts.depth_max.to_string()),
            ("commits", grouped(counts.commits)),
            ("whose answer was lost", grouped(counts.unknown)),
            ("conflicts", grouped(counts.conflicts)),
            ("reads told of a change", grouped(counts.moved)),
            ("instances killed", grouped(counts.kills)),
            ("audit records lost with them", grouped(counts.unlogged)),
            ("retries answered as before", grouped(counts.replays)),
            ("sessions carried", grouped(counts.carried)),
            ("answers compared besides", grouped(counts.compared)),
            ("steps per second", rate),
            ("seconds", format!("{:.1}", self.seconds)),
        ] {
            table.add_row([format!("  {what}"), figure]);
        }
        anstream::println!("\nin all\n{}\n\ndigest {}", aligned(table), self.digest);
        match &self.flaw {
            None => anstream::println!("no flaw"),
            Some(found) => found.print(),
        }
    }
}

impl FlawReport {
    /// Minimizes the failure of `outcome`, which the command `repeat` reproduces.
    pub(crate) fn new(outcome: &Outcome, repeat: String) -> Self {
        let Some(flaw) = &outcome.flaw else {
            let message = "the same seed made other bytes when it was played again".to_owned();
            let script = outcome.script.clone();
            return Self { check: "determinism", message, repeat, script, case: None };
        };
        let Shrunk { script, flaw, .. } = shrink::shrink(&outcome.script, flaw);
        let case = case::conformance_case(&script, "What this promises, as a sentence");
        Self { check: flaw.check, message: flaw.message, repeat, script, case }
    }

    fn print(&self) {
        let steps = self.script.count();
        anstream::println!("\n✗ {}: {}\n", self.check, self.message);
        anstream::println!("repeat it:  {}", self.repeat);
        anstream::println!("the shortest script that fails so, {steps} steps, for --script:\n");
        anstream::println!("{}", pretty(&self.script));
        if let Some(case) = &self.case {
            anstream::println!("\nas a conformance case:\n\n{case}");
        }
    }
}

impl CanaryReport {
    /// Creates the report of `canary`.
    pub(crate) fn new(canary: Canary, first: u64, found: Option<(u64, Shrunk)>) -> Self {
        let (seed, shrunk) = found.map_or((None, None), |(seed, it)| (Some(seed), Some(it)));
        let flaw = shrunk.as_ref().map(|it| &it.flaw);
        Self {
            canary: canary.as_str(),
            seeds: seed.map(|it| it - first + 1),
            check: flaw.map(|it| it.check),
            message: flaw.map(|it| it.message.clone()),
            script: shrunk.map(|it| it.script),
        }
    }

    /// Returns true if the canary was detected.
    pub(crate) fn is_caught(&self) -> bool {
        self.seeds.is_some()
    }

    pub(crate) fn print(&self) {
        let (Some(seeds), Some(script), Some(check)) = (self.seeds, &self.script, self.check)
        else {
            anstream::println!("✗ {} was not found out in {SEEDS_MAX} seeds\n", self.canary);
            return;
        };
        let (steps, faults) = (script.count(), script.faults());
        anstream::println!(
            "✓ {:<20} seed {seeds:>2}, by {check:<20} {steps} steps, {faults} faults",
            self.canary
        );
        for step in &script.steps {
            let line = serde_json::to_string(step).unwrap_or_default();
            anstream::println!("    {}", line.chars().take(200).collect::<String>());
        }
    }
}

/// Prints a JSON document.
pub(crate) fn print_json(document: &impl Serialize) {
    anstream::println!("{}", pretty(document));
}

fn pretty(document: &impl Serialize) -> String {
    serde_json::to_string_pretty(document).unwrap_or_default()
}

fn table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

/// Right-aligns the numbers.
fn aligned(mut table: Table) -> Table {
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Formats a number with thousands separators.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
