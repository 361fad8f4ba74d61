//! What was measured, of all contestants, over all series.

use std::time::Duration;

use super::contestant::Who;
use crate::report::Report;

/// The figures, a line each in the order they came.
#[derive(Debug)]
pub(super) struct Sheet {
    all: Vec<Who>,
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    what: String,
    kind: Kind,
    /// For each contestant.
    figures: Vec<Vec<f64>>,
}

/// What figures are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// How long requests took; with a goal for ours, in times of plain.
    Micros(Option<f64>),
    /// Requests a second.
    Rate,
}

impl Sheet {
    pub(super) fn new(all: &[Who]) -> Self {
        Self { all: all.to_vec(), lines: Vec::new() }
    }

    /// Notes that `who` took `spent`.
    pub(super) fn spent(&mut self, what: &str, goal: Option<f64>, who: Who, spent: Duration) {
        self.push(what, Kind::Micros(goal), who, spent.as_secs_f64() * 1e6);
    }

    /// Notes what `who` answered a second.
    pub(super) fn rate(&mut self, what: &str, who: Who, rate: f64) {
        self.push(what, Kind::Rate, who, rate);
    }

    fn push(&mut self, what: &str, kind: Kind, who: Who, figure: f64) {
        let at = self.lines.iter().position(|it| it.what == what).unwrap_or_else(|| {
            let figures = vec![Vec::new(); self.all.len()];
            self.lines.push(Line { what: what.to_owned(), kind, figures });
            self.lines.len() - 1
        });
        let of = self.all.iter().position(|it| *it == who);
        let line = self.lines.get_mut(at);
        if let Some(figures) = line.zip(of).and_then(|(line, of)| line.figures.get_mut(of)) {
            figures.push(figure);
        }
    }

    /// Tells all, the lines in order.
    pub(super) fn tell(mut self, report: &mut Report) {
        for line in &mut self.lines {
            for figures in &mut line.figures {
                figures.sort_by(f64::total_cmp);
            }
        }
        for line in &self.lines {
            self.tell_line(report, line);
        }
    }

    fn tell_line(&self, report: &mut Report, line: &Line) {
        let median = |who| {
            let at = self.all.iter().position(|it| *it == who)?;
            percentile(line.figures.get(at)?, 50)
        };
        let ratio = |who| Some(median(Who::Ours)? / median(who)?);
        let ratios = [Who::Plain, Who::Agents].into_iter();
        let ratios = ratios.filter_map(|who| Some(format!("{:.2} × {}", ratio(who)?, who.name())));
        let figures = self.all.iter().zip(&line.figures).filter_map(|(who, figures)| {
            let (p50, p99) = (percentile(figures, 50)?, percentile(figures, 99)?);
            Some(match line.kind {
                Kind::Micros(_) => format!("{} {p50:.0} ({p99:.0})", who.name()),
                Kind::Rate => format!("{} {p50:.0}", who.name()),
            })
        });
        let figures = figures.collect::<Vec<_>>().join("   ");
        let ratios = ratios.collect::<Vec<_>>().join(" = ");
        let figure = if ratios.is_empty() { figures } else { format!("{ratios}\n{figures}") };
        match (line.kind, ratio(Who::Plain)) {
            (Kind::Micros(Some(goal)), Some(ratio)) => {
                let text = format!("at most {goal} × plain");
                report.goal(&line.what, figure, &text, ratio <= goal);
            }
            _ => report.line(&line.what, figure),
        }
    }
}

/// Returns what of `sorted` so many percent do not exceed.
fn percentile(sorted: &[f64], percent: usize) -> Option<f64> {
    sorted.get(sorted.len().saturating_sub(1) * percent / 100).copied()
}
