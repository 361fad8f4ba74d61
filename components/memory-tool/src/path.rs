//! Mapping between paths of the tool and keys.
//!
//! Agents choose names of files freely: `/memories/Project Notes.md`. Each such name maps to
//! exactly one key, and every result shows the path of that key.
//!
//! # Invariant
//!
//! The displayed path of a place names that place.

use std::{borrow::Cow, fmt};

use shared_context_core::{Key, Prefix, key::KEY_BYTES_MAX};

/// Root directory of all paths.
pub(super) const ROOT: &str = "/memories";

/// Extensions of text files, which keys omit.
const ENDINGS: [&str; 9] =
    [".md", ".txt", ".json", ".xml", ".yaml", ".yml", ".csv", ".html", ".log"];

/// Most characters of an invalid path in an error.
const SHOWN_CHARS_MAX: usize = 80;

/// Target of a path. `Display` writes its canonical path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// The root.
    Root,
    /// An entry, which may not exist.
    Entry {
        /// Key of the entry.
        key: Key,
        /// Directory to use if there is no such entry: an agent may omit the slash after its name.
        directory: Option<Prefix>,
    },
    /// Keys with this prefix.
    Directory(Prefix),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str(ROOT),
            Self::Directory(prefix) => write!(f, "{ROOT}/{}/", prefix.as_str()),
            Self::Entry { key, .. } => f.write_str(&path_of(key.as_str())),
        }
    }
}

/// Returns the path of the entry `key`.
pub(super) fn path_of(key: &str) -> String {
    format!("{ROOT}/{}", key.replace(':', "/"))
}

/// Returns `key` moved to `directory`; `None` for a key without a directory.
pub(super) fn in_directory(directory: &Prefix, key: &Key) -> Option<Key> {
    let (_, name) = key.as_str().split_once(':')?;
    Key::parse(&format!("{}:{name}", directory.as_str())).ok()
}

/// Maps `path` to its place in a session; `has_directories` if the session allows prefixes of keys.
/// `/memories/project/notes` and `/memories/project:notes` are `project:notes` there; the former is
/// `project_notes` elsewhere. Names further below are joined by underscores.
///
/// In each name, capitals become small letters, and hyphens, spaces and dots become underscores.
/// The extension of a text file (`.md`, `.txt` and the like) is removed.
///
/// # Errors
///
/// A text for the agent: `path` is not below `/memories`, has an empty name, a name that begins
/// with a dot, or an invalid character; names a directory where the session has none; or makes a
/// key that is too long.
pub(super) fn place(path: &str, has_directories: bool) -> Result<Place, String> {
    let reject = |what: &str| invalid_path(path, what, has_directories);
    let below = match path.strip_prefix(ROOT) {
        Some("" | "/") => return Ok(Place::Root),
        Some(below) => below.strip_prefix('/'),
        None => None,
    };
    let below = below.ok_or_else(|| reject("is not below /memories"))?;
    // The rest of the team, and the session's warnings, write such a key with a colon.
    let below =
        if has_directories { below.replacen(':', "/", 1).into() } else { Cow::Borrowed(below) };
    let below = &*below;
    let is_directory = below.ends_with('/');
    let names: Vec<&str> = below.strip_suffix('/').unwrap_or(below).split('/').collect();
    if names.contains(&"") {
        return Err(reject("has an empty name"));
    }
    if names.iter().any(|it| it.starts_with('.')) {
        return Err(reject("has a name that begins with a dot"));
    }
    if let Some(other) = below.chars().find(|c| !is_known(*c)) {
        return Err(reject(&format!("has the character {other:?}")));
    }
    let too_long = |_| reject("makes too long a name");
    let text = match names.as_slice() {
        [name] if is_directory && has_directories => {
            return Prefix::parse(&part(name)).map(Place::Directory).map_err(too_long);
        }
        _ if is_directory => {
            return Err(reject("names a directory, and there is none of that kind"));
        }
        [directory, names @ ..] if has_directories && !names.is_empty() => {
            format!("{}:{}", part(directory), part(without_ending(&names.join("_"))))
        }
        names => part(without_ending(&names.join("_"))),
    };
    let key = Key::parse(&text).map_err(too_long)?;
    // One name without a removed extension: all of it is ASCII.
    let may_be_directory = has_directories && names.len() == 1 && text.len() == below.len();
    let directory = may_be_directory.then(|| Prefix::parse(&text).ok()).flatten();
    Ok(Place::Entry { key, directory })
}

fn invalid_path(path: &str, what: &str, has_directories: bool) -> String {
    let shown: String = path.chars().take(SHOWN_CHARS_MAX).collect();
    let further =
        if has_directories { ", in a directory as in /memories/project/notes" } else { "" };
    format!(
        "Error: the path {shown:?} {what}; use {ROOT}/ and a name of a-z, 0-9 and _, at most \
         {KEY_BYTES_MAX} characters, as in {ROOT}/progress{further}"
    )
}

/// Returns true if `c` is allowed in a path.
fn is_known(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-. /".contains(c)
}

/// Returns the part of a key for `name`.
fn part(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    name.chars().map(letter).collect()
}

/// Removes the extension of a text file from `name`.
fn without_ending(name: &str) -> &str {
    let is_ending = |it: &(&str, &str)| ENDINGS.iter().any(|end| end.eq_ignore_ascii_case(it.1));
    name.rfind('.')
        .and_then(|at| name.split_at_checked(at))
        .filter(is_ending)
        .map_or(name, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(path: &str, flat: &str, with_directories: &str) {
        let seen = |has_directories| match place(path, has_directories) {
            Ok(Place::Root) => "root".to_owned(),
            Ok(Place::Directory(prefix)) => format!("{}:", prefix.as_str()),
            Ok(Place::Entry { key, directory: None }) => key.to_string(),
            Ok(Place::Entry { key, directory: Some(prefix) }) => {
                assert_eq!(key.as_str(), prefix.as_str());
                format!("{key} or {key}:")
            }
            Err(text) => {
                assert!(text.starts_with("Error: the path \""), "{text}");
                assert!(text.contains("; use /memories/ and a name of a-z, 0-9 and _"), "{text}");
                text
            }
        };
        for (expected, seen) in [(flat, seen(false)), (with_directories, seen(true))] {
            let fits = seen == expected || seen.starts_with("Error") && seen.contains(expected);
            assert!(fits, "{path}: {expected} expected, not {seen}");
        }
    }

    #[test]
    fn names_chosen_by_agents_map_to_keys() {
        check("/memories", "root", "root");
        check("/memories/project:notes.md", "has the character ':'", "project:notes");
        check("/memories/project:", "has the character ':'", "project:");
        check("/memories/a:b:c", "has the character ':'", "has the character ':'");
        check("/memories/:b", "has the character ':'", "has an empty name");
        check("/memories/", "root", "root");
        check("/memories/progress", "progress", "progress or progress:");
        check("/memories/progress.md", "progress", "progress");
        check("/memories/customer-notes.xml", "customer_notes", "customer_notes");
        check("/memories/Project Notes.TXT", "project_notes", "project_notes");
        check("/memories/v1.2 plan", "v1_2_plan", "v1_2_plan or v1_2_plan:");
        check("/memories/a.md.json", "a_md", "a_md");
        check("/memories/script.py", "script_py", "script_py or script_py:");
        check("/memories/project/notes.md", "project_notes", "project:notes");
        check("/memories/My Project/Q1/Notes.md", "my_project_q1_notes", "my_project:q1_notes");
        check("/memories/project/", "names a directory", "project:");
        check("/memories/a/b/", "names a directory", "names a directory");
        let long = "a".repeat(64);
        check(&format!("/memories/{long}.md"), &long, &long);
        check(&format!("/memories/{long}/b"), "too long a name", &format!("{long}:b"));
        check(&format!("/memories/{long}a"), "too long a name", "too long a name");
        check(&format!("/memories/b/{long}a"), "too long a name", "too long a name");
        check(&format!("/memories/{long}a/"), "names a directory", "too long a name");
    }

    #[test]
    fn an_invalid_name_is_rejected() {
        for path in [
            "",
            "/",
            "notes.md",
            "memories/notes",
            "/memory/notes",
            "/memoriesx",
            "/memories.md",
            " /memories/a",
            "/Memories/a",
            "/etc/passwd",
            "\\memories\\a",
            "..",
            "../memories/a",
        ] {
            check(path, "is not below /memories", "is not below /memories");
        }
        for path in ["/memories//", "/memories//a", "/memories/a//b", "/memories/a//"] {
            check(path, "has an empty name", "has an empty name");
        }
        for path in [
            "/memories/..",
            "/memories/../etc",
            "/memories/a/../b",
            "/memories/./a",
            "/memories/.md",
        ] {
            check(path, "begins with a dot", "begins with a dot");
        }
        for (path, what) in [
            ("/memories/%2e%2e%2fetc", "'%'"),
            ("/memories/a\\..\\b", r"'\\'"),
            ("/memories/straße", "'ß'"),
            ("/memories/a\0", r"'\0'"),
            ("/memories/a\n", r"'\n'"),
            ("/memories/~", "'~'"),
            ("/memories/*", "'*'"),
        ] {
            check(path, what, what);
        }
    }

    #[test]
    fn a_long_path_is_truncated_in_errors() {
        let text = place(&"x".repeat(5_000), false).unwrap_err();
        assert!(text.len() < 300, "{text}");
    }

    fn key() -> impl Strategy<Value = String> {
        ("[a-z0-9_]{1,64}", prop::option::of("[a-z0-9_]{1,64}")).prop_map(|(key, prefix)| {
            prefix.map_or_else(|| key.clone(), |prefix| format!("{prefix}:{key}"))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_displayed_path_names_the_same_place(
            names in "(/?[A-Za-z0-9_. -]{1,70}){1,3}/?", other in "/memories/.{0,12}",
            has_directories: bool,
        ) {
            for path in [format!("/memories/{names}"), other] {
                let Ok(named) = place(&path, has_directories) else { continue };
                let reparsed = place(&named.to_string(), has_directories).unwrap();
                prop_assert_eq!(reparsed.to_string(), named.to_string());
                match (named, reparsed) {
                    (Place::Entry { key, .. }, Place::Entry { key: again, .. }) => {
                        prop_assert_eq!(Key::parse(key.as_str()), Ok(key.clone()));
                        prop_assert!(has_directories || key.prefix().is_none());
                        prop_assert_eq!(key, again);
                    }
                    (named, reparsed) => prop_assert_eq!(named, reparsed),
                }
            }
        }

        #[test]
        fn every_key_is_named_by_its_path(key in key()) {
            let key = Key::parse(&key).unwrap();
            let has_directories = key.prefix().is_some();
            let named = place(&path_of(key.as_str()), has_directories).unwrap();
            let is_it = matches!(named, Place::Entry { key: it, .. } if it == key);
            prop_assert!(is_it);
        }

        #[test]
        fn any_path_is_resolved_or_rejected_with_a_reason(path in ".{0,40}", has_directories: bool) {
            if let Err(text) = place(&path, has_directories) {
                prop_assert!(text.starts_with("Error: "), "{}", text);
            }
        }
    }
}
