//! Checks the links of Markdown files to files of this repository. Links to the web are not
//! checked, and code is not read.

use std::path::Path;

use super::{File, Finding};

/// Checks one Markdown file; `exists` returns whether a path from the root does.
pub(super) fn check(file: &File, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let folder = Path::new(&file.path).parent().unwrap_or_else(|| Path::new(""));
    let mut findings = Vec::new();
    let mut is_code = false;
    for (index, line) in file.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        for target in targets(line) {
            let path = target.split(['#', '?']).next().unwrap_or_default();
            if path.is_empty() || is_elsewhere(path) {
                continue;
            }
            let leads_to = folder.join(path).display().to_string();
            if !exists(&leads_to) {
                let message =
                    format!("links to {target}, and {leads_to} does not exist: correct the path");
                findings.push(Finding::fault(&file.path, index + 1, message));
            }
        }
    }
    findings
}

fn is_elsewhere(path: &str) -> bool {
    ["http:", "https:", "mailto:"].iter().any(|scheme| path.starts_with(scheme))
}

/// Returns where the links in `line` lead: `[…](here)` and `[…]: here`.
fn targets(line: &str) -> Vec<&str> {
    let without_code = line.split('`').step_by(2);
    let mut targets: Vec<_> = without_code
        .flat_map(|text| text.split("](").skip(1))
        .filter_map(|rest| rest.split([')', ' ']).next())
        .collect();
    if line.starts_with('[')
        && let Some((_, rest)) = line.split_once("]: ")
    {
        targets.extend(rest.split_whitespace().next());
    }
    targets.into_iter().map(|target| target.trim_matches(['<', '>'])).collect()
}

#[cfg(test)]
mod tests {
    use super::{
        super::{file, seen},
        *,
    };

    fn check_one(text: &str) -> Vec<Finding> {
        check(&file("docs/A.md", text), |path| ["docs/B.md", "docs/../wit"].contains(&path))
    }

    #[test]
    fn a_link_to_nowhere_is_refused_at_its_line() {
        let findings = check_one("# A\n\nSee [b](B.md) and [c](C.md#part).\n");
        assert_eq!(
            seen(&findings),
            [(3, "links to C.md#part, and docs/C.md does not exist: correct the path")]
        );
        assert_eq!(check_one("[c]: C.md\n").len(), 1);
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        assert!(
            check_one("[b](B.md#x), [wit](../wit), [here](#there)\n[b]: B.md \"B\"\n").is_empty()
        );
        assert!(
            check_one("[web](https://example.org/x), [post](mailto:a@example.org)\n").is_empty()
        );
    }

    #[test]
    fn code_is_not_read() {
        assert!(check_one("```\n[c](C.md)\n```\nwrite `[c](C.md)` so\n").is_empty());
    }
}
