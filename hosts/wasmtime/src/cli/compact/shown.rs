//! Replies of the commands on transcripts, as people read them.

use std::fmt::Write as _;

use serde::Deserialize;

use super::super::output::{BOLD, GREEN, Output, RED, YELLOW, counted, grouped, plain, table};

/// Reply of `compact`.
#[derive(Debug, Deserialize)]
pub(super) struct Compacted {
    /// The id of its envelope, if it is kept.
    id: Option<String>,
    target_tokens: u64,
    before: Snapshot,
    after: Snapshot,
    saved_percent: u64,
    pub(super) items: Vec<ResultItem>,
    plan: Vec<Planned>,
    #[serde(default)]
    losses: Vec<Loss>,
    checklist: Vec<Point>,
    flags: Vec<Flag>,
}

/// An item of the result.
#[derive(Debug, Deserialize)]
pub(super) struct ResultItem {
    pub(super) id: String,
    pub(super) text: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Snapshot {
    tokens: u64,
    items: u64,
}

#[derive(Debug, Deserialize)]
struct Planned {
    id: String,
    score: u64,
    rule: String,
    fate: String,
}

#[derive(Debug, Deserialize)]
struct Loss {
    class: String,
    before: u64,
    after: u64,
}

/// A point of the checklist.
#[derive(Debug, Deserialize)]
struct Point {
    check: String,
    holds: bool,
    evidence: String,
}

#[derive(Debug, Deserialize)]
struct Flag {
    meaning: String,
}

impl Compacted {
    /// Describes the compaction; with the plan of every item if `has_plan`.
    pub(super) fn human(&self, output: Output, has_plan: bool) -> String {
        let mut text = format!(
            "{} → {} tokens ({} % less; target {}), {} → {}\n",
            grouped(self.before.tokens),
            grouped(self.after.tokens),
            self.saved_percent,
            grouped(self.target_tokens),
            grouped(self.before.items),
            counted(self.after.items, "item"),
        );
        if let Some(id) = &self.id {
            let _ = writeln!(text, "kept as {id}; `shared-context evidence` prints it");
        }
        for flag in &self.flags {
            let _ = writeln!(text, "{}", output.wrapped("", "", &flag.meaning));
        }
        if has_plan {
            let row = |it: &Planned| {
                vec![it.id.clone(), it.score.to_string(), it.fate.clone(), it.rule.clone()]
            };
            let rows: Vec<_> = self.plan.iter().map(row).collect();
            let _ =
                write!(text, "\n{}", table(output, &["item", "#score", "fate", "~because"], &rows));
        }
        text.push('\n');
        // What the conversation does not have needs no line.
        let is_empty = |it: &&Point| it.holds && it.evidence.starts_with("0 ");
        for point in self.checklist.iter().filter(|it| !is_empty(it)) {
            let (style, sign) = if point.holds { (GREEN, "✓") } else { (YELLOW, "·") };
            let name = point.check.replace('_', " ");
            let _ = writeln!(text, "{style}{sign}{style:#} {name}: {}", plain(&point.evidence));
        }
        let lost: Vec<String> = self
            .losses
            .iter()
            .map(|it| {
                format!("{} of {} {}", it.before.saturating_sub(it.after), it.before, it.class)
            })
            .collect();
        if !lost.is_empty() {
            let lost = format!("Lost: {}", lost.join(", "));
            let _ = writeln!(text, "{}", output.wrapped("", "  ", &lost));
        }
        text
    }
}

/// Reply of `extract`.
#[derive(Debug, Deserialize)]
pub(super) struct Extracted {
    facts: Vec<Fact>,
}

#[derive(Debug, Deserialize)]
struct Fact {
    class: String,
    score: u64,
    status: String,
    item: String,
    text: String,
}

impl Extracted {
    pub(super) fn human(&self, output: Output) -> String {
        if self.facts.is_empty() {
            return "No decision, constraint, issue or other fact was found.\n".to_owned();
        }
        let row = |it: &Fact| {
            let class = if it.status == "open" {
                it.class.clone()
            } else {
                format!("{} ({})", it.class, it.status)
            };
            vec![it.item.clone(), it.score.to_string(), class, one_line(&it.text)]
        };
        let rows: Vec<_> = self.facts.iter().map(row).collect();
        table(output, &["item", "#score", "class", "~text"], &rows)
    }
}

/// Reply of `check_summary`.
#[derive(Debug, Deserialize)]
pub(super) struct Checked {
    facts: Vec<CheckedFact>,
    present: u64,
    missing: u64,
    outdated: u64,
    repaired: Option<Repaired>,
}

#[derive(Debug, Deserialize)]
struct CheckedFact {
    verdict: String,
    class: String,
    item: String,
    text: String,
    #[serde(default)]
    lacks: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Repaired {
    text: String,
    /// The places in the list of facts, from 0, of those that did not fit.
    #[serde(default)]
    left_out: Vec<usize>,
}

impl Checked {
    /// Returns the repaired summary.
    pub(super) fn repaired(&self) -> Option<&str> {
        self.repaired.as_ref().map(|it| it.text.as_str())
    }

    /// Returns an error that counts what the summary lost.
    pub(super) fn verdict(&self) -> Result<(), String> {
        if self.missing == 0 && self.outdated == 0 {
            return Ok(());
        }
        let lacks = (self.missing > 0).then(|| format!("lacks {}", counted(self.missing, "fact")));
        let outdated = (self.outdated > 0)
            .then(|| format!("has an earlier value of {}", counted(self.outdated, "fact")));
        let faults: Vec<String> = lacks.into_iter().chain(outdated).collect();
        Err(format!("the summary {}", faults.join(" and ")))
    }

    /// Returns an error that names the facts that the repaired summary has no room for.
    pub(super) fn repair_verdict(&self) -> Result<(), String> {
        let places = self.repaired.iter().flat_map(|it| &it.left_out);
        let facts: Vec<&CheckedFact> = places.filter_map(|it| self.facts.get(*it)).collect();
        if facts.is_empty() {
            return Ok(());
        }
        let named: Vec<String> =
            facts.iter().map(|it| format!("\n  {}: {}", it.item, one_line(&it.text))).collect();
        let count = counted(u64::try_from(facts.len()).unwrap_or(u64::MAX), "fact");
        Err(format!(
            "the summary still lacks {count} for which there was no room:{}",
            named.concat()
        ))
    }

    pub(super) fn human(&self, output: Output) -> String {
        let total = self.present.saturating_add(self.missing).saturating_add(self.outdated);
        let mut text =
            format!("{} of {} are in the summary\n", grouped(self.present), counted(total, "fact"));
        for fact in self.facts.iter().filter(|it| it.verdict != "present") {
            let style = if fact.verdict == "missing" { RED } else { YELLOW };
            let about = format!("{} ({}, {})", fact.verdict, fact.class, fact.item);
            let _ = writeln!(text, "\n{style}{BOLD}{about}{BOLD:#}{style:#}");
            let _ = write!(text, "{}", output.value(&fact.text, 4));
            if !fact.lacks.is_empty() {
                let lacks = format!("not found: {}", plain(&fact.lacks.join(", ")));
                let _ = writeln!(text, "{}", output.wrapped("  ", "  ", &lacks));
            }
        }
        text
    }
}

/// Returns a text on one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
