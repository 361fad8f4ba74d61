//! Extracts findings and questions from a report, with pure functions over text.
//!
//! A real agent would let a model read the report. This one matches the beginnings of
//! lines, so that its results are deterministic.

/// The content of a report that is worth storing.
#[derive(Debug, PartialEq, Eq)]
pub struct Summary {
    /// Findings, from lines that begin with `finding:`.
    pub findings: Vec<String>,
    /// Open questions, from lines that begin with `open:`.
    pub open_questions: Vec<String>,
}

/// Summarizes a report. Lines may be list items, and labels may be in upper case.
pub fn summarize(report: &str) -> Summary {
    let lines_of = |label: &str| {
        let lines = report.lines().filter_map(|line| text_after(label, line));
        lines.filter(|text| !text.is_empty()).collect()
    };
    Summary { findings: lines_of("finding:"), open_questions: lines_of("open:") }
}

/// Returns the text after `label` in a line that begins with it, with runs of whitespace
/// collapsed.
fn text_after(label: &str, line: &str) -> Option<String> {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || "-*".contains(c));
    let (start, text) = line.split_at_checked(label.len())?;
    let words: Vec<&str> = text.split_whitespace().collect();
    start.eq_ignore_ascii_case(label).then(|| words.join(" "))
}

/// Adds the missing `lines` to the list `old`; returns `None` if none is missing.
pub fn merge(old: &str, lines: &[String]) -> Option<String> {
    let mut list: Vec<String> = old.lines().map(str::to_owned).collect();
    for line in lines.iter().map(|line| format!("- {line}")) {
        if !list.contains(&line) {
            list.push(line);
        }
    }
    (list.len() > old.lines().count()).then(|| list.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_labelled_lines_are_extracted() {
        let report =
            "Line 3, Monday.\nfinding: The valve  sticks.\n - Open: Since when?\r\nfinding:";
        let summary = summarize(report);
        assert_eq!(summary.findings, ["The valve sticks."]);
        assert_eq!(summary.open_questions, ["Since when?"]);
    }

    #[test]
    fn a_label_within_a_line_or_a_word_is_ignored() {
        let none = Summary { findings: Vec::new(), open_questions: Vec::new() };
        assert_eq!(summarize("no finding: here\nreopen: it\n\nüber\n"), none);
    }

    #[test]
    fn existing_lines_are_not_added_again() {
        let lines = ["a".to_owned(), "b".to_owned(), "a".to_owned()];
        assert_eq!(merge("", &lines).as_deref(), Some("- a\n- b"));
        assert_eq!(merge("- b", &lines).as_deref(), Some("- b\n- a"));
        assert_eq!(merge("- a\n- b", &lines), None);
        assert_eq!(merge("", &[]), None);
    }
}
