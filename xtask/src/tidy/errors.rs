//! Every error code has a page in docs/errors, and every page a code.
//!
//! The codes are in the sources, as texts in capitals. The content of a page is not checked here: a
//! test of the codec compares the examples.

use std::collections::BTreeMap;

use super::{File, Finding};

const FOLDER: &str = "docs/errors/";
const INDEX: &str = "docs/errors/README.md";

/// The files that declare codes: those of sessions, and those that HTTP knows.
const SOURCES: [&str; 2] = ["components/core/src/code.rs", "components/wire/src/http/code.rs"];
/// The code that the client over stdio adds, which no source declares.
const OF_STDIO: &str = "OUTCOME_UNKNOWN";
/// The headings of each page, in this order.
const HEADINGS: [&str; 3] = ["## Cause", "## What to do", "## Example"];

/// Checks that codes, pages and the index fit each other.
pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let codes = codes(files);
    let mut findings = Vec::new();
    let index = files.iter().find(|file| file.path == INDEX).map_or("", |file| &file.text);
    for (code, (path, line)) in &codes {
        let page = format!("{FOLDER}{code}.md");
        match files.iter().find(|file| file.path == page) {
            None => {
                let message =
                    format!("{code} has no page: write {page} with its cause, remedy and example");
                findings.push(Finding::fault(path, *line, message));
            }
            Some(file) => findings.extend(check_page(file, code)),
        }
        if !index.contains(&format!("({code}.md)")) {
            findings.push(Finding::fault(INDEX, 1, format!("lists no {code}: add its row")));
        }
    }
    let pages = files.iter().filter(|file| file.path != INDEX);
    for file in pages {
        let Some(name) = file.path.strip_prefix(FOLDER) else { continue };
        if !codes.contains_key(name.trim_end_matches(".md")) {
            let message = "is the page of no code: remove it, or declare the code";
            findings.push(Finding::fault(&file.path, 1, message));
        }
    }
    findings
}

/// Returns every code, with the place that declares it.
fn codes(files: &[File]) -> BTreeMap<&str, (&str, usize)> {
    let mut codes = BTreeMap::from([(OF_STDIO, (INDEX, 1))]);
    for file in files.iter().filter(|file| SOURCES.contains(&file.path.as_str())) {
        let lines = file.text.lines().enumerate();
        for (index, line) in lines.take_while(|(_, line)| line.trim() != "#[cfg(test)]") {
            for text in line.split('"').skip(1).step_by(2).filter(|it| is_code(it)) {
                codes.entry(text).or_insert((&file.path, index + 1));
            }
        }
    }
    codes
}

/// Returns whether `text` is in capitals and underscores.
fn is_code(text: &str) -> bool {
    text.len() > 2 && text.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
}

fn check_page(file: &File, code: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    if file.text.lines().next() != Some(&format!("# {code}")) {
        let message = format!("does not begin with its code: write \"# {code}\"");
        findings.push(Finding::fault(&file.path, 1, message));
    }
    let mut rest = file.text.as_str();
    for heading in HEADINGS {
        let Some((_, behind)) = rest.split_once(heading) else {
            let message = format!("has no part \"{heading}\", or not in its place: add it");
            findings.push(Finding::fault(&file.path, 1, message));
            break;
        };
        rest = behind;
    }
    if !rest.contains(&format!("\"code\":\"{code}\"")) {
        let message = format!("shows no reply with \"code\":\"{code}\": add an example");
        findings.push(Finding::fault(&file.path, 1, message));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{super::file, *};

    fn page(code: &str) -> File {
        let text = format!(
            "# {code}\n\n## Cause\n\n## What to do\n\n## Example\n\n{{\"code\":\"{code}\"}}\n"
        );
        file(&format!("{FOLDER}{code}.md"), &text)
    }

    /// Returns a repository of two codes, all of whose pages are there.
    fn repository() -> Vec<File> {
        vec![
            file(SOURCES[0], "Self::KeyNotFound => \"KEY_NOT_FOUND\",\n"),
            file(SOURCES[1], "code(\"NOT_FOUND\", StatusCode::NOT_FOUND, \"No such route\"),\n"),
            file(INDEX, "(KEY_NOT_FOUND.md) (NOT_FOUND.md) (OUTCOME_UNKNOWN.md)\n"),
            page("KEY_NOT_FOUND"),
            page("NOT_FOUND"),
            page(OF_STDIO),
        ]
    }

    fn found(files: &[File]) -> Vec<String> {
        check(files).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn codes_that_have_their_pages_pass() {
        assert_eq!(found(&repository()), [""; 0]);
    }

    #[test]
    fn a_code_without_a_page_is_rejected_where_it_is_declared() {
        let mut files = repository();
        files.retain(|it| !it.path.ends_with("/KEY_NOT_FOUND.md"));
        assert_eq!(
            found(&files),
            ["components/core/src/code.rs:1: KEY_NOT_FOUND has no page: write \
                 docs/errors/KEY_NOT_FOUND.md with its cause, remedy and example"]
        );
    }

    #[test]
    fn a_page_without_a_code_is_rejected() {
        let mut files = repository();
        files.push(page("GONE_LONG_AGO"));
        assert_eq!(
            found(&files),
            ["docs/errors/GONE_LONG_AGO.md:1: is the page of no code: remove it, or declare the \
              code"]
        );
    }

    #[test]
    fn a_page_that_misses_a_part_or_the_index_is_rejected() {
        let mut files = repository();
        files[3].text = files[3].text.replace("## What to do", "## Then");
        files[2].text = files[2].text.replace("(NOT_FOUND.md)", "");
        let found = found(&files);
        assert!(found.iter().any(|it| it.contains("has no part \"## What to do\"")), "{found:?}");
        assert!(found.iter().any(|it| it.contains("lists no NOT_FOUND")), "{found:?}");
    }

    #[test]
    fn what_tests_name_is_no_code() {
        let mut files = repository();
        files[0].text.push_str("\n#[cfg(test)]\nmod tests { \"FROM_THE_FUTURE\" }\n");
        assert_eq!(found(&files), [""; 0]);
    }
}
