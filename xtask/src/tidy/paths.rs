//! Checks that the repository contains no path of one person's machine: it would work there only,
//! and reveal that person.

use std::env;

use super::{File, Finding};

/// Folders at the root of a machine where people and their tools work.
const HOMES: [&str; 4] = ["home", "root", "Users", "work"];

/// Checks one text file.
pub(super) fn check(file: &File) -> Vec<Finding> {
    let home = env::home_dir().map(|home| home.display().to_string());
    check_with(file, home.as_deref())
}

fn check_with(file: &File, home: Option<&str>) -> Vec<Finding> {
    let folders = HOMES.iter().map(|folder| format!("/{folder}/"));
    let folders: Vec<_> = folders.chain(home.map(|home| format!("{home}/"))).collect();
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        if let Some(folder) = folders.iter().find(|folder| names(line, folder)) {
            let message = format!("names {folder}, a folder of one machine: name it by its role");
            findings.push(Finding::fault(&file.path, index + 1, message));
        }
    }
    findings
}

/// Returns whether a path in `line` starts with `folder`.
fn names(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        before.is_none_or(|c| !c.is_alphanumeric() && !"/._-~}>)".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::{
        super::{file, seen},
        *,
    };

    fn is_refused(line: &str) -> bool {
        !check_with(&file("a.md", line), Some("/srv/ada")).is_empty()
    }

    #[test]
    fn a_path_of_a_machine_is_refused_at_its_line() {
        let text = format!("fine\nsee `/{}/ada/x`\n", "home");
        let findings = check_with(&file("a.md", &text), None);
        assert_eq!(
            seen(&findings),
            [(
                2,
                format!("names /{}/, a folder of one machine: name it by its role", "home")
                    .as_str()
            )]
        );
        assert!(is_refused(&format!("PATH=/{}/.cargo/bin", "root")));
        assert!(is_refused("cd /srv/ada/shared-context"));
    }

    #[test]
    fn a_route_or_a_relative_path_is_not() {
        assert!(!is_refused(&format!("../{}/spec.md", "work")));
        assert!(!is_refused(&format!("GET /v1/{}/a", "home")));
        assert!(!is_refused("/usr/lib/rustlib"));
    }
}
