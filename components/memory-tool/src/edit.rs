//! Display and editing of texts by lines, which end with a line feed and are counted from 1.

use std::{collections::BTreeSet, fmt::Write as _};

/// Lines shown before and after a change.
const SNIPPET_LINES: usize = 2;

/// An edited text, and the message for the agent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) value: String,
    pub(super) message: String,
}

/// Formats `value`, the content of `path`, with line numbers. With `range` it shows these lines
/// only; -1, or any number after the last line, means the last line.
///
/// # Errors
///
/// A text for the agent: there are no such lines.
pub(super) fn shown(path: &str, value: &str, range: Option<(i64, i64)>) -> Result<String, String> {
    let lines: Vec<&str> = value.split('\n').collect();
    let (first, last) = match range {
        None => (1, lines.len()),
        Some((first, last)) => line_range(first, last, lines.len()).ok_or_else(|| {
            format!(
                "Error: Invalid `view_range` parameter: [{first}, {last}]. It should be within \
                 the range of lines of the file: [1, {}], its end -1 for the last line",
                lines.len()
            )
        })?,
    };
    Ok(format!(
        "Here's the content of {path} with line numbers:{}",
        number_lines(&lines, first, last)
    ))
}

/// Returns the valid range of lines from `first` to `last`, or `None` if it is empty.
fn line_range(first: i64, last: i64, lines: usize) -> Option<(usize, usize)> {
    let last = if last == -1 { lines } else { usize::try_from(last).ok()?.min(lines) };
    let first = usize::try_from(first).ok()?;
    (1..=last).contains(&first).then_some((first, last))
}

/// Formats the lines `first` to `last`, each on a new line after its number.
fn number_lines(lines: &[&str], first: usize, last: usize) -> String {
    let mut text = String::new();
    for (number, line) in (1..).zip(lines).take(last).skip(first.saturating_sub(1)) {
        // Writing to a string does not fail.
        let _ = write!(text, "\n{number:>6}\t{line}");
    }
    text
}

/// Replaces `old` by `new` in `value`, the content of `path`. `old` must occur exactly once.
///
/// # Errors
///
/// A text for the agent: `old` is empty, or does not occur exactly once.
pub(super) fn replace(path: &str, value: &str, old: &str, new: &str) -> Result<Edit, String> {
    if old.is_empty() {
        return Err("Error: old_str is empty. Give the text to replace, or use insert.".to_owned());
    }
    let mut found = value.match_indices(old).map(|(at, _)| at);
    let Some(at) = found.next() else {
        return Err(format!(
            "No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
        ));
    };
    let others: Vec<usize> = found.collect();
    if !others.is_empty() {
        let lines: BTreeSet<usize> =
            [at].into_iter().chain(others).map(|at| line_of(value, at)).collect();
        let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
        return Err(format!(
            "No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {}. \
             Please ensure it is unique",
            lines.join(", ")
        ));
    }
    let changed = line_of(value, at);
    let value = value.replacen(old, new, 1);
    let lines: Vec<&str> = value.split('\n').collect();
    let first = changed.saturating_sub(SNIPPET_LINES).max(1);
    let snippet = number_lines(&lines, first, changed.saturating_add(SNIPPET_LINES));
    let message = format!(
        "The memory file has been edited. Here is the snippet of {path} showing the change (with \
         line numbers):{snippet}"
    );
    Ok(Edit { value, message })
}

/// Returns the number of the line that contains the byte `at` of `value`.
fn line_of(value: &str, at: usize) -> usize {
    let before = value.get(..at).unwrap_or(value);
    before.matches('\n').count().saturating_add(1)
}

/// Inserts `text` after the line `line` of `value`, the content of `path`; 0 is the beginning. The
/// result ends with a line feed.
///
/// # Errors
///
/// A text for the agent: there is no such line.
pub(super) fn insert_after(path: &str, value: &str, line: i64, text: &str) -> Result<Edit, String> {
    let mut lines: Vec<&str> = value.split('\n').collect();
    // A line feed at the end does not begin a line.
    lines.pop_if(|it| it.is_empty());
    let Some(at) = usize::try_from(line).ok().filter(|at| *at <= lines.len()) else {
        return Err(format!(
            "Error: Invalid `insert_line` parameter: {line}. It should be within the range of \
             lines of the file: [0, {}]",
            lines.len()
        ));
    };
    lines.insert(at, text.trim_end_matches('\n'));
    let mut value = lines.join("\n");
    value.push('\n');
    Ok(Edit { value, message: format!("The file {path} has been edited.") })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PATH: &str = "/memories/notes";
    const TEN: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten";

    #[track_caller]
    fn check_shown(value: &str, range: Option<(i64, i64)>, expected: &str) {
        let seen = shown(PATH, value, range).unwrap_or_else(|text| text);
        let header = "Here's the content of /memories/notes with line numbers:";
        assert_eq!(seen.strip_prefix(header).unwrap_or(&seen), expected);
    }

    #[test]
    fn line_numbers_are_six_characters_wide() {
        check_shown("", None, "\n     1\t");
        check_shown("a", None, "\n     1\ta");
        check_shown("a\n\tb \r\n", None, "\n     1\ta\n     2\t\tb \r\n     3\t");
        let million = "\n".repeat(999_999);
        let seen = shown(PATH, &million, Some((999_999, -1))).unwrap();
        assert!(seen.ends_with(":\n999999\t\n1000000\t"), "{seen}");
    }

    #[test]
    fn a_range_shows_some_lines() {
        check_shown("a\nb\nc", Some((1, -1)), "\n     1\ta\n     2\tb\n     3\tc");
        check_shown("a\nb\nc", Some((2, 2)), "\n     2\tb");
        check_shown("a\nb\nc", Some((2, 3)), "\n     2\tb\n     3\tc");
        check_shown("a\nb\nc", Some((3, i64::MAX)), "\n     3\tc");
        for (first, last) in
            [(0, 1), (-1, -1), (4, -1), (4, 9), (2, 1), (1, 0), (1, -2), (i64::MAX, -1)]
        {
            let message = format!(
                "Error: Invalid `view_range` parameter: [{first}, {last}]. It should be within the \
                 range of lines of the file: [1, 3], its end -1 for the last line"
            );
            check_shown("a\nb\nc", Some((first, last)), &message);
        }
    }

    #[track_caller]
    fn check_replaced(value: &str, old: &str, new: &str, expected: &str, message: &str) {
        let header = "The memory file has been edited. Here is the snippet of /memories/notes \
                      showing the change (with line numbers):";
        match replace(PATH, value, old, new) {
            Ok(edited) => {
                assert_eq!(edited.value, expected);
                assert_eq!(edited.message.strip_prefix(header), Some(message));
            }
            Err(text) => assert_eq!((text.as_str(), expected), (message, "")),
        }
    }

    #[test]
    fn a_text_that_occurs_once_is_replaced() {
        check_replaced("blue", "blue", "green", "green", "\n     1\tgreen");
        check_replaced("a blue b", "blue", "", "a  b", "\n     1\ta  b");
        check_replaced("a\nb\n", "b\n", "", "a\n", "\n     1\ta\n     2\t");
        let edited = TEN.replace("five", "5\n5.5");
        let snippet = "\n     3\tthree\n     4\tfour\n     5\t5\n     6\t5.5\n     7\tsix";
        check_replaced(TEN, "five", "5\n5.5", &edited, snippet);
        let edited = TEN.replace("four\nfive\nsix", "rest");
        let snippet = "\n     2\ttwo\n     3\tthree\n     4\trest\n     5\tseven\n     6\teight";
        check_replaced(TEN, "four\nfive\nsix", "rest", &edited, snippet);
        check_replaced("ä→ü", "→", "\u{1f980}", "ä🦀ü", "\n     1\tä🦀ü");
        // The new text may contain the old one.
        check_replaced("a", "a", "aa", "aa", "\n     1\taa");
    }

    #[test]
    fn a_missing_or_ambiguous_text_is_reported() {
        let none = "No replacement was performed, old_str `Blue` did not appear verbatim in \
                    /memories/notes.";
        check_replaced("blue", "Blue", "x", "", none);
        let many = "No replacement was performed. Multiple occurrences of old_str `e` in lines: 1, \
                    3, 5, 7, 8, 9, 10. Please ensure it is unique";
        check_replaced(TEN, "e", "x", "", many);
        let empty = "Error: old_str is empty. Give the text to replace, or use insert.";
        check_replaced("blue", "", "x", "", empty);
        check_replaced("", "", "x", "", empty);
    }

    #[test]
    fn lines_are_inserted_after_a_line() {
        #[track_caller]
        fn check(value: &str, line: i64, text: &str, expected: &str) {
            match insert_after(PATH, value, line, text) {
                Ok(edited) => {
                    assert_eq!(edited.value, expected);
                    assert_eq!(edited.message, "The file /memories/notes has been edited.");
                }
                Err(message) => assert_eq!(
                    message,
                    format!(
                        "Error: Invalid `insert_line` parameter: {line}. It should be within the \
                         range of lines of the file: {expected}"
                    )
                ),
            }
        }
        check("a\nb\n", 0, "x\n", "x\na\nb\n");
        check("a\nb\n", 1, "x", "a\nx\nb\n");
        check("a\nb\n", 2, "x\ny\n\n", "a\nb\nx\ny\n");
        check("a\nb", 2, "x", "a\nb\nx\n");
        check("a\r\nb", 1, "x", "a\r\nx\nb\n");
        check("a", 1, "", "a\n\n");
        check("", 0, "x", "x\n");
        check("\n", 1, "x", "\nx\n");
        check("a\n\n", 0, "x", "x\na\n\n");
        check("a\nb\n", 3, "x", "[0, 2]");
        check("a\nb", 3, "x", "[0, 2]");
        check("", 1, "x", "[0, 0]");
        check("a", -1, "x", "[0, 1]");
        check("a", i64::MIN, "x", "[0, 1]");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn an_insert_preserves_every_other_line(
            before in prop::collection::vec("[ab\r]{0,3}", 0..6),
            text in prop::collection::vec("[xy]{0,2}", 1..4),
            at in 0..7_usize, ends: bool,
        ) {
            let mut value = before.join("\n");
            // Only a text that ends with a line feed can have an empty last line.
            if ends || before.last().is_some_and(String::is_empty) {
                value.push_str(if before.is_empty() { "" } else { "\n" });
            }
            let text = format!("x{}", text.join("\n")).trim_end_matches('\n').to_owned();
            let line = i64::try_from(at).unwrap();
            match insert_after(PATH, &value, line, &text) {
                Ok(edited) => {
                    let mut lines: Vec<&str> = before.iter().map(String::as_str).collect();
                    lines.splice(at..at, text.split('\n'));
                    prop_assert_eq!(edited.value, lines.join("\n") + "\n");
                }
                Err(_) => prop_assert!(at > before.len()),
            }
        }
    }
}
