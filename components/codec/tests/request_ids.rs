//! The specification names the actions that take a `request_id`, and of the other changes each with
//! its reason (spec 3.6).
//!
//! Its list lacked two actions: nothing compared it with the declarations.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::{collections::BTreeSet, fs};

use shared_context_codec::{ActionInfo, actions};

/// Returns the text of section 3.6.
fn section() -> String {
    let path = format!("{}/../../docs/spec/3-operations.md", env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (_, section) = page.split_once("## 3.6 Safe retries\n").unwrap();
    section.split_once("\n## ").unwrap().0.to_owned()
}

/// Returns the names of actions in `text`.
fn named(text: &str) -> BTreeSet<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter(|it| actions().any(|action| action.name == *it)).map(str::to_owned).collect()
}

/// Returns the names of the actions for which `is_so`.
fn declared(is_so: impl Fn(&ActionInfo) -> bool) -> BTreeSet<String> {
    actions().filter(|it| is_so(it)).map(|it| it.name.to_owned()).collect()
}

#[test]
fn the_specification_names_the_actions_that_take_a_request_id() {
    let section = section();
    let (_, list) = section.split_once("**Which actions take one.**").unwrap();
    let list = list.lines().next().unwrap();
    assert_eq!(named(list), declared(|it| it.takes("request_id")));
}

#[test]
fn every_change_without_a_request_id_has_a_reason() {
    let section = section();
    let rows = section.lines().filter(|it| it.starts_with("| `"));
    let rows: Vec<Vec<&str>> = rows.map(|it| it.trim_matches('|').split(" | ").collect()).collect();
    assert!(rows.iter().all(|it| it.len() == 3), "action, why not, what then: {rows:?}");
    let first: String = rows.iter().map(|it| it[0]).collect::<Vec<_>>().join(" ");
    assert_eq!(named(&first), declared(|it| it.is_change && !it.takes("request_id")));
}
