//! Checks citations: sections are cited as `spec 7.3`, and every cited section must be in
//! docs/spec.
//!
//! Documents that are not in the repository must not be cited. Earlier texts named them by three
//! digits and the sign of a section.

use std::collections::BTreeSet;

use super::{File, Finding};

const FOLDER: &str = "docs/spec/";

/// Checks all text files.
pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let sections = sections(files);
    let mut findings = Vec::new();
    for file in files {
        for (index, line) in file.text.lines().enumerate() {
            if cites_elsewhere(line) {
                let message = "cites a document that is not in the repository: cite a section of \
                               docs/spec, as in \"spec 7.3\"";
                findings.push(Finding::fault(&file.path, index + 1, message));
            }
            for section in cited(line).filter(|it| !sections.contains(*it)) {
                let message = format!(
                    "cites spec {section}, which {FOLDER} does not have: correct the number"
                );
                findings.push(Finding::fault(&file.path, index + 1, message));
            }
        }
    }
    findings
}

/// Returns whether `line` has two zeros, a digit, a space and the sign of a section.
fn cites_elsewhere(line: &str) -> bool {
    line.match_indices(" §").any(|(at, _)| {
        let before = line.get(..at).unwrap_or_default();
        let number = before.get(before.len().saturating_sub(3)..).unwrap_or_default();
        number.starts_with("00") && number.ends_with(|c: char| c.is_ascii_digit())
    })
}

/// Returns the numbers of all sections: what the headings of docs/spec begin with.
fn sections(files: &[File]) -> BTreeSet<&str> {
    let chapters = files.iter().filter(|file| file.path.starts_with(FOLDER));
    let headings = chapters.flat_map(|file| file.text.lines()).filter(|it| it.starts_with('#'));
    headings
        .filter_map(|it| it.trim_start_matches('#').split_whitespace().next())
        .filter(|it| it.starts_with(|c: char| c.is_ascii_digit()))
        .collect()
}

/// Returns the sections that `line` cites: the numbers behind `spec`, several separated by
/// commas or `to`.
fn cited(line: &str) -> impl Iterator<Item = &str> {
    let starts = line.match_indices("spec ").chain(line.match_indices("Spec "));
    starts.filter(|(at, _)| is_word(line, *at)).flat_map(|(at, word)| {
        let rest = line.get(at + word.len()..).unwrap_or_default();
        let words = rest.split(' ').scan(true, |goes_on, word| {
            if !*goes_on {
                return None;
            }
            let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
            let (number, behind) = word.split_at(end);
            let number = number.trim_end_matches('.');
            *goes_on = (!number.is_empty() && matches!(behind, "" | ",")) || word == "to";
            Some(number)
        });
        words.filter(|it| !it.is_empty())
    })
}

/// Returns whether the word at `at` begins there: `spec`, not the end of another word.
fn is_word(line: &str, at: usize) -> bool {
    let before = line.get(..at).and_then(|text| text.chars().next_back());
    before.is_none_or(|c| !c.is_alphanumeric() && !"-_/.".contains(c))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{file, seen},
        *,
    };

    fn check_one(text: &str) -> Vec<Finding> {
        let chapter = "# 7 Extensions\n\n## 7.1 Prefixes\n\n### 7.1.2 Part\n\n## 7.2 Access\n";
        // A `%` replaces the word, so that this file has no citation.
        let text = text.replace('%', "spec");
        check(&[file("docs/spec/7-extensions.md", chapter), file("a.rs", &text)])
    }

    #[test]
    fn a_citation_of_what_is_not_here_is_rejected_at_its_line() {
        for number in 0..10 {
            // Put together here, so that it does not stand in this file.
            let planted = format!("//! Fine.\n//! Keys ({}{number} {}4.3).\n", "00", '§');
            assert_eq!(
                seen(&check_one(&planted)),
                [(
                    2,
                    "cites a document that is not in the repository: cite a section of docs/spec, \
                     as in \"spec 7.3\""
                )]
            );
        }
        assert!(check_one("RFC 8785 §3.2, as in RFC 9110 §13\n").is_empty());
    }

    #[test]
    fn a_section_that_is_not_there_is_rejected() {
        let rejected = |line: &str| check_one(line).len();
        assert_eq!(rejected("// (% 7.9)"), 1);
        assert_eq!(rejected("// (% 7.1, 7.9, 8)"), 2);
        assert_eq!(rejected("cites: [% 7.1, % 9]"), 1);
        assert_eq!(rejected("% 7.1 to 7.4."), 1);
        assert_eq!(rejected(&["S", "pec 7.9"].concat()), 1);
    }

    #[test]
    fn sections_that_are_there_pass() {
        for line in [
            "/// Lists (% 7.1): all.",
            "//! (% 7.1, 7.2). The audit",
            "the three of % 7.1.2.",
            "cites: [% 7.1, % 7.2]",
            "% 7 to 7.2 and 30 more",
            "a % of 99 pages, OpenAPI-% 3.1, the % 's 4",
        ] {
            assert_eq!(seen(&check_one(line)), [], "{line}");
        }
    }
}
