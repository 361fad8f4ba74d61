//! Results of all Workers, over all series.

use std::time::Duration;

use super::worker::WorkerKind;
use crate::report::{Report, percentile};

/// The figures, one line per measurement, in order of arrival.
#[derive(Debug)]
pub(super) struct Results {
    all: Vec<WorkerKind>,
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    what: String,
    unit: Unit,
    /// The figures of each Worker.
    figures: Vec<Vec<f64>>,
}

/// Unit of the figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Unit {
    /// Microseconds per request, with an optional goal for our Worker, as a multiple of *plain*.
    Micros(Option<f64>),
    /// Requests per second.
    Rate,
}

impl Results {
    pub(super) fn new(all: &[WorkerKind]) -> Self {
        Self { all: all.to_vec(), lines: Vec::new() }
    }

    /// Records that a request to `worker` took `spent`.
    pub(super) fn spent(
        &mut self,
        what: &str,
        goal: Option<f64>,
        worker: WorkerKind,
        spent: Duration,
    ) {
        self.push(what, Unit::Micros(goal), worker, spent.as_secs_f64() * 1e6);
    }

    /// Records the requests per second that `worker` answered.
    pub(super) fn rate(&mut self, what: &str, worker: WorkerKind, rate: f64) {
        self.push(what, Unit::Rate, worker, rate);
    }

    fn push(&mut self, what: &str, unit: Unit, worker: WorkerKind, figure: f64) {
        let at = self.lines.iter().position(|it| it.what == what).unwrap_or_else(|| {
            let figures = vec![Vec::new(); self.all.len()];
            self.lines.push(Line { what: what.to_owned(), unit, figures });
            self.lines.len() - 1
        });
        let of = self.all.iter().position(|it| *it == worker);
        let line = self.lines.get_mut(at);
        if let Some(figures) = line.zip(of).and_then(|(line, of)| line.figures.get_mut(of)) {
            figures.push(figure);
        }
    }

    /// Adds all lines to `report`, in order.
    pub(super) fn print(mut self, report: &mut Report) {
        for line in &mut self.lines {
            for figures in &mut line.figures {
                figures.sort_by(f64::total_cmp);
            }
        }
        for line in &self.lines {
            self.print_line(report, line);
        }
    }

    fn print_line(&self, report: &mut Report, line: &Line) {
        let median = |worker| {
            let at = self.all.iter().position(|it| *it == worker)?;
            percentile(line.figures.get(at)?, 50)
        };
        let ratio = |worker| Some(median(WorkerKind::Ours)? / median(worker)?);
        let ratios = [WorkerKind::Plain, WorkerKind::Agents].into_iter();
        let ratios =
            ratios.filter_map(|worker| Some(format!("{:.2} × {}", ratio(worker)?, worker.name())));
        let figures = self.all.iter().zip(&line.figures).filter_map(|(worker, figures)| {
            let (p50, p99) = (percentile(figures, 50)?, percentile(figures, 99)?);
            Some(match line.unit {
                Unit::Micros(_) => format!("{} {p50:.0} ({p99:.0})", worker.name()),
                Unit::Rate => format!("{} {p50:.0}", worker.name()),
            })
        });
        let figures = figures.collect::<Vec<_>>().join("   ");
        let ratios = ratios.collect::<Vec<_>>().join(" = ");
        let figure = if ratios.is_empty() { figures } else { format!("{ratios}\n{figures}") };
        match (line.unit, ratio(WorkerKind::Plain)) {
            (Unit::Micros(Some(goal)), Some(ratio)) => {
                let text = format!("at most {goal} × plain");
                report.goal(&line.what, figure, &text, ratio <= goal);
            }
            _ => report.line(&line.what, figure),
        }
    }
}
