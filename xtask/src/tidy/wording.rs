//! Wording: the first word of a function's doc, the length of a test's name, and standard terms.

use super::{File, Finding};

/// Words that no doc of a function begins with: it begins with a verb, as in "Returns".
const NO_VERBS: [&str; 5] = ["What", "Who", "Whose", "Whether", "How"];
/// The longest name of a test, in characters.
const TEST_NAME_MAX: usize = 60;
/// The longest subject of a commit, in characters.
const SUBJECT_MAX: usize = 72;
/// Private words, each with the standard term that readers know.
const BANNED: [(&str, &str); 6] = [
    ("advices", "warnings"),
    ("strangers", "third parties or untrusted input"),
    ("onlooker", "throttled reader"),
    ("teller", "event formatter"),
    ("in words", "as text"),
    ("is none:", "is invalid:"),
];
/// The texts that users read first. The glossary names the words of the code beside them,
/// and the changelog names what was renamed.
const GUIDES: [&str; 3] = ["README.md", "SECURITY.md", "docs/"];
const EXCEPT: [&str; 3] = ["docs/GLOSSARY.md", "docs/CHANGELOG.md", "docs/decisions/"];

/// Checks the docs of functions in a Rust file.
pub(super) fn check_functions(file: &File) -> Vec<Finding> {
    let lines: Vec<&str> = file.text.lines().map(str::trim_start).collect();
    let mut findings = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let above = index.checked_sub(1).and_then(|it| lines.get(it));
        let is_first = above.is_none_or(|it| !it.starts_with("///"));
        let first = line.strip_prefix("/// ").and_then(|it| it.split_whitespace().next());
        let Some(word) = first.filter(|it| is_first && NO_VERBS.contains(it)) else { continue };
        let behind = lines.iter().skip(index);
        let mut attributes = behind.skip_while(|it| it.starts_with("///"));
        if attributes.by_ref().find(|it| !is_inner_attribute(it)).is_some_and(|it| is_function(it))
        {
            let message = format!(
                "the doc of a function begins with {word:?}: begin with a verb, as in \"Returns\""
            );
            findings.push(Finding::fault(&file.path, index + 1, message));
        }
    }
    findings
}

/// Returns whether `line` stands between a doc and its item. The doc of a test may begin with any
/// word, so its attribute does not count.
fn is_inner_attribute(line: &str) -> bool {
    line.starts_with("#[") && !line.contains("test]") && !line.starts_with("#[tokio::test")
}

/// Returns whether `line` begins a function.
fn is_function(line: &str) -> bool {
    let before = line.split_once("fn ").map_or("-", |(before, _)| before);
    before.split_whitespace().all(|it| {
        it.starts_with("pub")
            || ["const", "async", "unsafe", "in", "super)", "crate)"].contains(&it)
    })
}

/// Checks that the names of tests in a Rust file are short sentences.
pub(super) fn check_test_names(file: &File) -> Vec<Finding> {
    let lines: Vec<&str> = file.text.lines().map(str::trim_start).collect();
    let mut findings = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let is_test = line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        let mut behind = lines.iter().enumerate().skip(index);
        let item = behind.find(|(_, it)| !it.starts_with("#[")).filter(|_| is_test);
        let Some((at, Some((_, rest)))) = item.map(|(at, it)| (at, it.split_once("fn "))) else {
            continue;
        };
        let name = rest.split('(').next().unwrap_or_default();
        if name.len() > TEST_NAME_MAX {
            let message = format!(
                "the test's name has {} characters, more than {TEST_NAME_MAX}: say it shorter",
                name.len()
            );
            findings.push(Finding::fault(&file.path, at + 1, message));
        }
    }
    findings
}

/// Checks the subjects of commits: `log` has a line for each, its hash and its subject.
pub(super) fn check_subjects(log: &str) -> Vec<Finding> {
    let commits = log.lines().filter_map(|it| it.split_once(' '));
    let is_long = |subject: &str| subject.chars().count() > SUBJECT_MAX;
    let finding = |hash| {
        let message = format!(
            "the subject has more than {SUBJECT_MAX} characters: say it shorter, and the rest in \
             the body"
        );
        Finding::fault(&format!("commit {hash}"), 1, message)
    };
    commits.filter(|(_, it)| is_long(it)).map(|(hash, _)| finding(hash)).collect()
}

/// Checks the words of a text that users read.
pub(super) fn check_words(file: &File) -> Vec<Finding> {
    let is_in = |places: &[&str]| places.iter().any(|it| file.path.starts_with(it));
    if !is_in(&GUIDES) || is_in(&EXCEPT) {
        return Vec::new();
    }
    let lines = file.text.lines().enumerate();
    let banned = lines.flat_map(|(index, line)| {
        // What stands between backticks is code, and called as it is.
        let line = line.split('`').step_by(2).collect::<String>().to_lowercase();
        let found = BANNED.iter().filter(move |(word, _)| line.contains(word));
        found.map(move |(word, term)| (index, word, term))
    });
    let finding = |(index, word, term)| {
        Finding::fault(&file.path, index + 1, format!("{word:?}: write {term}"))
    };
    banned.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::{
        super::{file, seen},
        *,
    };

    fn functions(text: &str) -> usize {
        check_functions(&file("components/core/src/a.rs", text)).len()
    }

    #[test]
    fn a_function_is_described_by_a_verb() {
        assert_eq!(functions("/// What it is.\nfn a() {}"), 1);
        assert_eq!(functions("    /// Whether it is.\n    #[must_use]\n    pub fn a() {}"), 1);
        assert_eq!(functions("/// How many.\n/// Of them.\npub(super) const fn a() {}"), 1);
        assert_eq!(functions("/// Returns what it is.\n/// What else.\nfn a() {}"), 0);
        assert_eq!(functions("/// What it is.\nstruct A;"), 0);
        assert_eq!(functions("/// What failed once.\n#[test]\nfn a() {}"), 0);
        assert_eq!(functions("/// Whether it is.\nis_a: fn() -> bool,"), 0);
    }

    #[test]
    fn the_name_of_a_test_is_short() {
        let name = "a".repeat(TEST_NAME_MAX);
        let long = |text: String| check_test_names(&file("a.rs", &text)).len();
        assert_eq!(long(format!("#[test]\nfn {name}() {{}}")), 0);
        assert_eq!(long(format!("#[test]\nfn {name}b() {{}}")), 1);
        assert_eq!(long(format!("#[tokio::test(x)]\n#[ignore]\nasync fn {name}b() {{}}")), 1);
        assert_eq!(long(format!("fn {name}b() {{}}")), 0);
    }

    #[test]
    fn the_subject_of_a_commit_is_short() {
        let long = "x".repeat(SUBJECT_MAX + 1);
        let log = format!("abc core: say less\ndef {long}\n123 {}", &long[1..]);
        let findings = check_subjects(&log);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].to_string().starts_with("commit def"), "{}", findings[0]);
    }

    #[test]
    fn guides_use_standard_terms() {
        let words = |path, text| check_words(&file(path, text)).len();
        assert_eq!(words("docs/operate.md", "It has advices for strangers."), 2);
        assert_eq!(words("README.md", "Errors in words"), 1);
        assert_eq!(words("docs/CHANGELOG.md", "`advices` are `warnings`"), 0);
        assert_eq!(words("tests/mcp/README.md", "strangers"), 0);
        let findings = check_words(&file("README.md", "a\nadvices"));
        assert_eq!(seen(&findings), [(2, "\"advices\": write warnings")]);
    }
}
