//! Output: one table per section, or one JSON document.

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use comfy_table::{Table, presets};
use serde_json::{Value, json};

/// The results so far.
#[derive(Debug)]
pub(crate) struct Report {
    is_json: bool,
    title: String,
    lines: Vec<Line>,
    all: Vec<Value>,
}

#[derive(Debug)]
struct Line {
    what: String,
    figure: String,
    goal: Option<(String, bool)>,
}

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Yellow.on_default().bold();
const TITLE: Style = Style::new().bold();

impl Report {
    pub(crate) fn new(is_json: bool) -> Self {
        Self { is_json, title: String::new(), lines: Vec::new(), all: Vec::new() }
    }

    /// Starts a section.
    pub(crate) fn section(&mut self, title: &str) {
        self.print();
        title.clone_into(&mut self.title);
        if !self.is_json {
            anstream::println!("\n{TITLE}{title}{TITLE:#}");
        }
    }

    /// Prints a progress message.
    pub(crate) fn note(&self, text: &str) {
        if !self.is_json {
            anstream::eprintln!("  … {text}");
        }
    }

    /// Adds a figure.
    pub(crate) fn line(&mut self, what: &str, figure: impl Into<String>) {
        self.push(what, figure.into(), None);
    }

    /// Adds a figure with a goal.
    pub(crate) fn goal(&mut self, what: &str, figure: impl Into<String>, goal: &str, met: bool) {
        self.push(what, figure.into(), Some((goal.to_owned(), met)));
    }

    fn push(&mut self, what: &str, figure: String, goal: Option<(String, bool)>) {
        let (text, is_met) = goal.clone().unzip();
        self.all.push(json!({
            "section": self.title, "what": what, "figure": figure, "goal": text, "is_met": is_met,
        }));
        self.lines.push(Line { what: what.to_owned(), figure, goal });
    }

    /// Prints the current section.
    fn print(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        if self.is_json || lines.is_empty() {
            return;
        }
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        for line in &lines {
            let goal = line.goal.as_ref().map_or_else(String::new, |(goal, is_met)| {
                let (style, mark) = if *is_met { (GOOD, "✓") } else { (BAD, "✗") };
                format!("{style}{mark} goal: {goal}{style:#}")
            });
            table.add_row([format!("  {}", line.what), line.figure.clone(), goal]);
        }
        anstream::println!("{table}");
    }

    /// Prints the last section, or the JSON document.
    pub(crate) fn end(mut self) -> Result<()> {
        self.print();
        if self.is_json {
            anstream::println!("{}", serde_json::to_string_pretty(&self.all)?);
        }
        Ok(())
    }
}

/// Returns a percentile of `sorted`, unless that is empty.
pub(crate) fn percentile(sorted: &[f64], percent: usize) -> Option<f64> {
    sorted.get(sorted.len().saturating_sub(1) * percent / 100).copied()
}
