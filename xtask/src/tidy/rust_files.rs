//! Rules for every Rust file: it has a module doc, is short enough to be read, and is finished.
//! Generated bindings are excepted, because people do not read them.

use super::{File, Finding, tokens::Tokens};

/// Longer than this is one thing only rarely.
const LINES_WARNED: usize = 400;
/// Longer than this never is.
const LINES_MAX: usize = 600;

/// Words of unfinished work in comments; put together here, so that they do not
/// stand in this file.
const MARKS: [&str; 2] = [concat!("FIX", "ME"), concat!("XX", "X")];

/// Checks one Rust file.
pub(super) fn check(file: &File) -> Vec<Finding> {
    if is_generated(&file.path) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    if !file.text.starts_with("//!") {
        findings.push(Finding::fault(
            &file.path,
            1,
            "says nothing about itself: start with `//!`: what it holds, what it leaves out, what \
             always holds",
        ));
    }
    findings.extend(length(file));
    findings.extend(unfinished(file));
    findings
}

fn is_generated(path: &str) -> bool {
    path.ends_with("/bindings.rs") || path.contains("/bindings/") || path.contains("/generated/")
}

fn length(file: &File) -> Option<Finding> {
    let lines = file.text.lines().count();
    if lines > LINES_MAX {
        let message = format!(
            "has {lines} lines, a file has {LINES_MAX} at most: give one of the things in it a \
             file of its own"
        );
        return Some(Finding::fault(&file.path, lines, message));
    }
    (lines > LINES_WARNED).then(|| {
        let message =
            format!("has {lines} lines, more than {LINES_WARNED}: is it still one thing?");
        Finding::warning(&file.path, lines, message)
    })
}

fn unfinished(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut found = |line: usize, what: &str| {
        let message = format!("{what}: finish it, or describe what is missing in an issue");
        findings.push(Finding::fault(&file.path, line, message));
    };
    for (index, line) in file.text.lines().enumerate() {
        for mark in MARKS.iter().filter(|mark| line.contains(**mark)) {
            found(index + 1, mark);
        }
    }
    // The compiler reports invalid Rust.
    if let Ok(tokens) = Tokens::read(&file.text, &[]) {
        for (name, line) in &tokens.macros {
            if matches!(name.as_str(), "todo" | "unimplemented") {
                found(*line, &format!("{name}!"));
            }
        }
        for (name, line) in &tokens.attributes {
            if name == "ignore" {
                found(*line, "an ignored test");
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{
        super::{file, seen},
        *,
    };

    fn check_one(text: &str) -> Vec<Finding> {
        check(&file("a/src/lib.rs", text))
    }

    #[test]
    fn a_file_says_what_it_holds() {
        assert!(check_one("//! Keys.\n").is_empty());
        assert_eq!(check_one("use std::fmt;\n").len(), 1);
        assert!(check(&file("a/src/bindings.rs", "use std::fmt;\n")).is_empty());
    }

    #[test]
    fn a_long_file_is_warned_of_and_a_very_long_one_refused() {
        let of = |lines: usize| check_one(&format!("//! Keys.\n{}", "\n".repeat(lines - 1)));
        assert!(of(400).is_empty());
        assert!(of(401).iter().all(|finding| finding.is_warning));
        assert_eq!(of(600).len(), 1);
        assert!(of(601).iter().all(|finding| !finding.is_warning));
    }

    #[test]
    fn unfinished_work_is_found() {
        let text = format!("//! Keys.\nfn f() {{ {}!() }}\n// {} later\n", "todo", MARKS[0]);
        let findings = check_one(&text);
        let lines: Vec<_> = seen(&findings).iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [3, 2]);
        assert_eq!(
            check_one(&format!("//! A.\n#[{} = \"slow\"]\nfn f() {{}}\n", "ignore")).len(),
            1
        );
    }

    #[test]
    fn words_that_only_look_unfinished_are_not() {
        assert!(
            check_one("//! Keys.\nfn ignore(todo: u8) -> &'static str { \"todo!\" }\n").is_empty()
        );
    }
}
