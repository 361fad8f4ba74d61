//! What the agent understands of a report: pure functions over text.
//!
//! A real agent would have a model read the report. This one looks at how lines
//! begin, so that the same report always says the same.

/// What of a report is worth remembering.
#[derive(Debug, PartialEq, Eq)]
pub struct Distilled {
    /// What was found out, from lines that begin with `finding:`.
    pub findings: Vec<String>,
    /// What still has to be found out, from lines that begin with `open:`.
    pub open_questions: Vec<String>,
}

/// Distils a report. Lines may be items of a list; how a line begins may be
/// written in capitals.
pub fn distil(report: &str) -> Distilled {
    let lines_of = |label: &str| {
        let lines = report.lines().filter_map(|line| text_after(label, line));
        lines.filter(|text| !text.is_empty()).collect()
    };
    Distilled { findings: lines_of("finding:"), open_questions: lines_of("open:") }
}

/// Returns the text after `label` in a line that begins with it, its spaces made single.
fn text_after(label: &str, line: &str) -> Option<String> {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || "-*".contains(c));
    let (start, text) = line.split_at_checked(label.len())?;
    let words: Vec<&str> = text.split_whitespace().collect();
    start.eq_ignore_ascii_case(label).then(|| words.join(" "))
}

/// Returns the list `old` with those of `lines` that are not in it yet; `None` when all
/// are.
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
    fn marked_lines_are_kept_and_others_are_not() {
        let report =
            "Line 3, Monday.\nfinding: The valve  sticks.\n - Open: Since when?\r\nfinding:";
        let distilled = distil(report);
        assert_eq!(distilled.findings, ["The valve sticks."]);
        assert_eq!(distilled.open_questions, ["Since when?"]);
    }

    #[test]
    fn a_label_within_a_line_or_a_word_marks_nothing() {
        let none = Distilled { findings: Vec::new(), open_questions: Vec::new() };
        assert_eq!(distil("no finding: here\nreopen: it\n\nüber\n"), none);
    }

    #[test]
    fn what_is_known_is_not_added_again() {
        let lines = ["a".to_owned(), "b".to_owned(), "a".to_owned()];
        assert_eq!(merge("", &lines).as_deref(), Some("- a\n- b"));
        assert_eq!(merge("- b", &lines).as_deref(), Some("- b\n- a"));
        assert_eq!(merge("- a\n- b", &lines), None);
        assert_eq!(merge("", &[]), None);
    }
}
