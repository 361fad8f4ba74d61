//! Parses the output of libFuzzer.

use std::path::PathBuf;

/// The most bytes that are repeated of a target's message about a failed claim.
const SAID_MAX: usize = 1_500;

/// The results of fuzzing a target.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) target: String,
    /// The number of inputs that were run.
    pub(super) executions: u64,
    /// The number of inputs a second.
    pub(super) per_second: u64,
    /// The number of the program's edges that were reached.
    edges: u64,
    /// The number of all edges.
    edges_all: u64,
    /// The number of inputs that reach all of them, and their size.
    corpus: String,
    /// Inputs under which something is not as it should be.
    pub(super) findings: Vec<PathBuf>,
    /// The message about the last of them.
    pub(super) said: String,
    has_succeeded: bool,
}

impl Report {
    /// Reads what the fuzzer of `target` printed.
    pub(super) fn read(
        target: String,
        printed: &str,
        has_succeeded: bool,
        findings: Vec<PathBuf>,
    ) -> Self {
        let number = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
        let after = |line: &str, name: &str| {
            let (_, rest) = line.split_once(name)?;
            number(rest.trim_start())
        };
        let mut report = Self { target, findings, has_succeeded, ..Self::default() };
        for line in printed.lines() {
            if let Some(executions) = after(line, "stat::number_of_executed_units:") {
                report.executions = executions;
            } else if let Some(per_second) = after(line, "stat::average_exec_per_sec:") {
                report.per_second = per_second;
            } else if let Some((_, count)) = line.split_once("PC tables (") {
                report.edges_all = number(count).unwrap_or_default();
            } else if let Some((_, corpus)) = line.split_once(" corp: ") {
                report.edges = after(line, " cov: ").unwrap_or(report.edges);
                corpus.split(' ').next().unwrap_or_default().clone_into(&mut report.corpus);
            }
        }
        report.said = said(printed);
        report
    }

    /// Returns whether every claim held.
    pub(super) fn is_fine(&self) -> bool {
        self.has_succeeded && self.findings.is_empty()
    }
}

/// Returns the message of a failure: the output from the panic on, or libFuzzer's message.
fn said(printed: &str) -> String {
    let is_first = |line: &&str| line.contains("panicked at") || line.contains("ERROR: libFuzzer");
    let mut lines = printed.lines().skip_while(|line| !is_first(line));
    let shown = lines.by_ref().take_while(|line| !line.starts_with("==") && !line.is_empty());
    let mut said = shown.collect::<Vec<_>>().join("\n");
    if said.is_empty() {
        printed.lines().find(is_first).unwrap_or_default().clone_into(&mut said);
    }
    let end = said.char_indices().map(|(at, _)| at).nth(SAID_MAX).unwrap_or(said.len());
    said.truncate(end);
    said
}

/// Prints the results of all targets.
pub(super) fn table(reports: &[Report]) {
    let head = ["", "inputs", "a second", "edges", "of", "corpus", "findings"];
    let [target, inputs, rate, edges, all, corpus, findings] = head;
    anstream::eprintln!(
        "{target:<12}{inputs:>12}{rate:>10}{edges:>8}{all:>8}{corpus:>14}{findings:>10}"
    );
    for it in reports {
        let Report { target, executions, per_second, edges, edges_all, corpus, .. } = it;
        anstream::eprintln!(
            "{target:<12}{executions:>12}{per_second:>10}{edges:>8}{edges_all:>8}{corpus:>14}{:>10}",
            it.findings.len()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "INFO: Loaded 1 PC tables (51234 PCs): 51234 [0x1,0x2),\n\
        #2\tINITED cov: 100 ft: 101 corp: 1/1b exec/s: 0 rss: 40Mb\n\
        #900\tNEW    cov: 120 ft: 300 corp: 7/213b lim: 8 exec/s: 450 rss: 41Mb L: 3/8\n\
        thread '<unnamed>' panicked at tests/fuzz/src/rest.rs:7:9:\nnot documented\n\n\
        ==12== ERROR: libFuzzer: deadly signal\n\
        stat::number_of_executed_units: 900\nstat::average_exec_per_sec:     450\n";

    #[test]
    fn what_libfuzzer_printed_is_read() {
        let report = Report::read("rest".to_owned(), PRINTED, false, vec!["crash-1".into()]);
        assert_eq!((report.executions, report.per_second), (900, 450));
        assert_eq!(
            (report.edges, report.edges_all, report.corpus.as_str()),
            (120, 51_234, "7/213b")
        );
        assert!(report.said.ends_with("rs:7:9:\nnot documented"), "{}", report.said);
        assert!(!report.is_fine());
    }

    #[test]
    fn a_target_that_ran_out_of_time_is_told_of_too() {
        let printed = "==5== ERROR: libFuzzer: timeout after 20 seconds\n    #0 0x1\n";
        assert!(Report::read(String::new(), printed, false, Vec::new()).said.contains("timeout"));
        let fine = Report::read(String::new(), "", true, Vec::new());
        assert!(fine.is_fine() && fine.said.is_empty());
    }
}
