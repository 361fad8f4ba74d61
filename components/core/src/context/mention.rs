//! Signals that are seen in texts: items that a task names, and marks of open issues (spec 16.8).

use std::collections::BTreeSet;

use super::entries;
use crate::order::set;

/// The shortest name that is looked for, in characters.
const NAME_CHARS_MIN: usize = 3;
/// The first character of the scripts whose words are not separated by spaces.
const UNSPACED: char = '\u{2e80}';
/// A word that marks unfinished work.
const TODO: &str = "TODO";
/// The beginnings of an issue's id, with their first letters.
const ISSUES: [(char, &str); 2] = [('B', "BUG-"), ('I', "ISSUE-")];

/// A task, prepared to look for names in it.
#[derive(Debug, Clone, Default)]
pub struct Task {
    folded: String,
    /// Its words. The text is searched only for names whose words are all in it.
    words: BTreeSet<String>,
}

impl Task {
    /// Creates a task from its text.
    pub fn new(text: &str) -> Self {
        let folded = text.to_lowercase();
        let words = set(words(&folded).map(str::to_owned));
        Self { folded, words }
    }

    /// Returns true if the task names an item: by its id, or by what follows the last `/` of it,
    /// as whole words in any case. An entry is named by its key.
    pub fn names(&self, id: &str) -> bool {
        let id = id.strip_prefix(entries::PREFIX).unwrap_or(id).to_lowercase();
        let last = id.rsplit('/').next().filter(|it| *it != id);
        [Some(id.as_str()), last].into_iter().flatten().any(|name| {
            let is_long = name.chars().nth(NAME_CHARS_MIN.saturating_sub(1)).is_some();
            let is_possible = || words(name).all(|it| self.words.contains(it));
            is_long && is_possible() && has(&self.folded, name, is_whole)
        })
    }
}

/// Returns true if a text marks open issues: the word `TODO`, or `BUG-` or `ISSUE-` before a letter
/// or digit, in upper case.
pub fn has_open_issue(text: &str) -> bool {
    let begins = |before: &str, _: &str, after: &str| {
        !ends_in_word(before) && after.starts_with(char::is_alphanumeric)
    };
    // A search for the first letter is several times as fast as one for the whole.
    let marks = |first: char, name: &str, is_one: &dyn Fn(&str, &str, &str) -> bool| {
        text.match_indices(first).any(|(at, _)| {
            let (before, rest) = text.split_at_checked(at).unwrap_or_default();
            rest.strip_prefix(name).is_some_and(|after| is_one(before, name, after))
        })
    };
    marks('T', TODO, &is_whole) || ISSUES.into_iter().any(|(first, it)| marks(first, it, &begins))
}

/// Returns true if `text` has `name` at a place that `is_one` accepts, by what is before it, the
/// name itself, and what is after it.
fn has(text: &str, name: &str, is_one: impl Fn(&str, &str, &str) -> bool) -> bool {
    text.match_indices(name).any(|(at, name)| {
        let (before, rest) = text.split_at_checked(at).unwrap_or_default();
        is_one(before, name, rest.get(name.len()..).unwrap_or_default())
    })
}

/// Returns true if a name is not a part of a longer word.
fn is_whole(before: &str, name: &str, after: &str) -> bool {
    let (first, last) = (name.chars().next(), name.chars().next_back());
    let continues = after.starts_with(is_of_word) && last.is_some_and(is_of_word);
    let is_continued = ends_in_word(before) && first.is_some_and(is_of_word);
    !continues && !is_continued
}

/// Returns the words of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_of_word(c)).filter(|it| !it.is_empty())
}

fn ends_in_word(text: &str) -> bool {
    text.ends_with(is_of_word)
}

/// Returns true for characters of words that spaces or punctuation separate.
fn is_of_word(c: char) -> bool {
    c == '_' || (c.is_alphanumeric() && c < UNSPACED)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_task_names_items_by_id_or_last_segment() {
        let task = Task::new("Fix the login in src/auth/JWT_handler.py (see §4.auth, api.rs).");
        for id in [
            "src/auth/jwt_handler.py",
            "lib/src/jwt_handler.py",
            "jwt_handler.py",
            "§4.auth",
            "src/api.rs",
            "API.RS",
            "auth",
            "the login in",
            "src/auth/",
            "entry:auth",
        ] {
            assert!(task.names(id), "{id}");
        }
        for id in [
            "",
            "/",
            "py",
            "entry:py",
            "entry:login.x",
            "src/in",
            "handler.py",
            "logi",
            "pi.rs",
            "api.rsx",
        ] {
            assert!(!task.names(id), "{id}");
        }
    }

    #[test]
    fn names_are_whole_words_in_every_script() {
        let names = |text: &str, id: &str| Task::new(text).names(id);
        assert!(names("Prüfung planen", "prüfung") && !names("Prüfungen planen", "prüfung"));
        assert!(names("смотри ПЛАН.", "план") && !names("планета", "план"));
        assert!(
            names("認証設計を直す", "認証設計") && !names("認証設計を直す", "認証"),
            "too short"
        );
        assert!(names("run test_a", "test_a") && !names("run test_ab", "test_a"));
        assert!(names("see docs/", "docs/") && names("a🦀🦀🦀b", "🦀🦀🦀"));
        assert!(!names("", "name"));
    }

    #[test]
    fn open_issues_are_seen_in_a_text() {
        for text in
            ["TODO", "x; // TODO: y", "(TODO)", "BUG-2847 [CRITICAL]", "see ISSUE-a1", "ISSUE-7\0"]
        {
            assert!(has_open_issue(text), "{text}");
        }
        for text in [
            "",
            "todo",
            "TODOS",
            "aTODO",
            "TODO_LIST",
            "bug-2847",
            "DEBUG-1",
            "BUG-",
            "BUG- 1",
            "REISSUE-1",
            "BUG -1",
            "ISSUE",
        ] {
            assert!(!has_open_issue(text), "{text}");
        }
        assert!(has_open_issue("DEBUG-1 BUG-1 TODOS"), "a later place counts");
    }
    proptest! {
        /// The words only spare a search: without them the result is the same.
        #[test]
        fn a_name_is_found_where_it_is_a_whole_word(
            text in "[ab_. 認é/]{0,12}", id in "[ab_. 認é/]{3,5}",
        ) {
            let last = id.rsplit('/').next().unwrap_or_default();
            let is_found = [id.as_str(), last]
                .iter()
                .any(|it| it.chars().count() >= NAME_CHARS_MIN && has(&text, it, is_whole));
            prop_assert_eq!(Task::new(&text).names(&id), is_found);
        }
    }
}
