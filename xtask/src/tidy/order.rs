//! Checks which modules of a crate may name each other: the order that docs/ARCHITECTURE.md states
//! in one line.
//!
//! The line reads from low to high: ``Order in core: `a | b → c + d → e`.`` Modules
//! beside `|` do not name each other. Modules joined by `+` are one circle and may.
//! Names that the crate's root re-exports count as the module they come from. Tests
//! may name any module.
//!
//! # Invariant
//!
//! The order is stated in the document only, so the document and the check agree.

use std::{
    collections::{BTreeMap, BTreeSet},
    str::FromStr,
};

use proc_macro2::{TokenStream, TokenTree};

use super::{File, Finding, tokens::Tokens};

const DOCUMENT: &str = "docs/ARCHITECTURE.md";

/// A crate whose modules have an order.
struct Ordered {
    /// Its source folder.
    source: &'static str,
    /// The beginning of its line in the document.
    label: &'static str,
}

const ORDERED: &[Ordered] = &[
    Ordered { source: "components/core/src/", label: "Order in core: `" },
    Ordered { source: "components/codec/src/", label: "Order in codec: `" },
];

/// Checks the modules of every crate that has an order.
pub(super) fn check(files: &[File]) -> Vec<Finding> {
    ORDERED.iter().flat_map(|it| check_crate(it, files)).collect()
}

fn check_crate(ordered: &Ordered, files: &[File]) -> Vec<Finding> {
    let (order, mut findings) = match Order::find(ordered, files) {
        Ok(found) => found,
        Err(finding) => return vec![finding],
    };
    let modules: BTreeMap<&str, &str> = files
        .iter()
        .filter_map(|file| Some((module_of(ordered, &file.path)?, file.path.as_str())))
        .collect();
    for (module, path) in &modules {
        if !order.places.contains_key(*module) {
            let message = format!(
                "{module} has no place in the order of modules: add it to the line \
                 \"{}…\" in {DOCUMENT}, above all modules that it names",
                ordered.label
            );
            findings.push(Finding::fault(path, 1, message));
        }
    }
    for module in order.places.keys().filter(|it| !modules.contains_key(it.as_str())) {
        let message = format!("{module} is no module of {}: remove it", ordered.source);
        findings.push(Finding::fault(DOCUMENT, order.line, message));
    }
    let root = format!("{}lib.rs", ordered.source);
    let exports = files.iter().find(|file| file.path == root);
    let exports = exports.map(|file| exports_of(&file.text)).unwrap_or_default();
    for file in files {
        let Some(module) = module_of(ordered, &file.path) else { continue };
        findings.extend(check_file(ordered, &order, &exports, module, file));
    }
    findings
}

fn check_file(
    ordered: &Ordered,
    order: &Order,
    exports: &BTreeMap<String, String>,
    module: &str,
    file: &File,
) -> Vec<Finding> {
    let inside = file.path.strip_prefix(ordered.source).unwrap_or(&file.path);
    let mut place: Vec<String> =
        inside.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    place.pop_if(|last| last == "mod");
    // The compiler reports what is no Rust.
    let Ok(tokens) = Tokens::read(&file.text, &place) else { return Vec::new() };
    let mut seen = BTreeSet::new();
    let named = tokens.modules.iter().filter(|it| seen.insert(*it));
    named
        .filter_map(|(name, line)| {
            let message = if name == "*" {
                format!(
                    "{module} takes in the whole crate, so its arrows cannot be checked: name \
                     the items"
                )
            } else {
                let named = exports.get(name).unwrap_or(name);
                format!("{module} may not name {named}: {}", order.why_not(module, named)?)
            };
            Some(Finding::fault(&file.path, *line, message))
        })
        .collect()
}

/// The order of a crate's modules.
struct Order {
    /// The line of the document.
    line: usize,
    places: BTreeMap<String, Place>,
}

/// The place of a module: its rank, and its circle among those of that rank.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    rank: usize,
    circle: usize,
}

impl Order {
    /// Finds the order of a crate in the document, with what is wrong in it.
    fn find(ordered: &Ordered, files: &[File]) -> Result<(Self, Vec<Finding>), Finding> {
        let document = files.iter().find(|file| file.path == DOCUMENT);
        let mut lines = document.map_or("", |file| &file.text).lines().enumerate();
        let found = lines.find_map(|(index, line)| {
            let (text, _) = line.strip_prefix(ordered.label)?.split_once('`')?;
            Some((index + 1, text))
        });
        let Some((line, text)) = found else {
            let message = format!(
                "states no order of the modules in {}: add the line \"{}lowest → … → highest`\"",
                ordered.source, ordered.label
            );
            return Err(Finding::fault(DOCUMENT, 1, message));
        };
        let (mut places, mut findings) = (BTreeMap::new(), Vec::new());
        for (rank, side_by_side) in text.split('→').enumerate() {
            for (circle, modules) in side_by_side.split('|').enumerate() {
                for module in modules.split('+').map(str::trim) {
                    if places.insert(module.to_owned(), Place { rank, circle }).is_some() {
                        let message = format!("{module} stands twice in the order of modules");
                        findings.push(Finding::fault(DOCUMENT, line, message));
                    }
                }
            }
        }
        Ok((Self { line, places }, findings))
    }

    /// Returns why `module` may not name `named`; `None` when it may.
    fn why_not(&self, module: &str, named: &str) -> Option<String> {
        if module == named {
            return None;
        }
        // A module without a place was reported already.
        let from = self.places.get(module)?;
        let Some(to) = self.places.get(named) else {
            return Some(format!(
                "no module has this name and lib.rs does not re-export it by name; name it by \
                 its module (the order stands in {DOCUMENT})"
            ));
        };
        if to.rank > from.rank {
            return Some(format!(
                "{named} is above {module} in the order of {DOCUMENT}; take what you need as an \
                 argument, or move it to a module below both"
            ));
        }
        (to.rank == from.rank && to.circle != from.circle).then(|| {
            format!(
                "they stand side by side in the order of {DOCUMENT}; let a module above ask both, \
                 or move what both need to a module below"
            )
        })
    }
}

/// Returns the top-level module of the file at `path`; `None` for the crate's root
/// and for files of other crates.
fn module_of<'p>(ordered: &Ordered, path: &'p str) -> Option<&'p str> {
    let inside = path.strip_prefix(ordered.source)?.strip_suffix(".rs")?;
    let (module, _) = inside.split_once('/').unwrap_or((inside, ""));
    (!matches!(module, "lib" | "main")).then_some(module)
}

/// Returns the names that the root of a crate re-exports, each with its module.
fn exports_of(root: &str) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    let Ok(stream) = TokenStream::from_str(root) else { return exports };
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    for statement in trees.split(|tree| is(tree, ";")) {
        let Some(start) = statement.iter().position(|tree| is(tree, "use")) else { continue };
        let Some((_, [TokenTree::Ident(module), path @ ..])) =
            statement.split_at_checked(start + 1)
        else {
            continue;
        };
        let mut names = Vec::new();
        last_names(path, &mut names);
        exports.extend(names.into_iter().map(|name| (name, module.to_string())));
    }
    exports
}

/// Adds the names that a `use` of `path` brings in: the last of each branch.
fn last_names(path: &[TokenTree], names: &mut Vec<String>) {
    match path.last() {
        Some(TokenTree::Group(group)) => {
            let trees: Vec<TokenTree> = group.stream().into_iter().collect();
            trees.split(|tree| is(tree, ",")).for_each(|part| last_names(part, names));
        }
        Some(TokenTree::Ident(name)) => names.push(name.to_string()),
        _ => {}
    }
}

fn is(tree: &TokenTree, text: &str) -> bool {
    match tree {
        TokenTree::Ident(ident) => ident == text,
        TokenTree::Punct(punct) => text.chars().eq([punct.as_char()]),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::file, *};

    const CORE: &str = "components/core/src/";

    /// Checks a crate of these modules in this order, and `text` in the file at `path`.
    fn check_in(order: &str, path: &str, text: &str) -> Vec<String> {
        let modules = ["key", "error", "store/mod", "rounds/mod", "session/mod"];
        let mut files: Vec<File> =
            modules.iter().map(|it| file(&format!("{CORE}{it}.rs"), "")).collect();
        files.push(file(DOCUMENT, &format!("# Parts\n\nOrder in core: `{order}`.\n")));
        let root = "pub mod error;\npub use error::{Error, Why as Reason};\npub use session::run;";
        files.push(file(&format!("{CORE}lib.rs"), root));
        files.retain(|it| it.path != format!("{CORE}{path}"));
        files.push(file(&format!("{CORE}{path}"), text));
        check_crate(&ORDERED[0], &files).iter().map(ToString::to_string).collect()
    }

    fn check_one(path: &str, text: &str) -> Vec<String> {
        check_in("key + error → store | rounds → session", path, text)
    }

    fn is_rejected(path: &str, text: &str) -> bool {
        !check_one(path, text).is_empty()
    }

    #[test]
    fn arrows_point_down() {
        assert!(!is_rejected("session/mod.rs", "use crate::{key::Key, rounds, store::{Entry}};"));
        assert!(!is_rejected("store/mod.rs", "use crate::{Error, key::Key, store::history};"));
    }

    #[test]
    fn an_arrow_up_is_rejected_at_its_line() {
        assert_eq!(
            check_one("key.rs", "\nuse crate::{Error, session::run};"),
            [
                "components/core/src/key.rs:2: key may not name session: session is above key in the \
              order of docs/ARCHITECTURE.md; take what you need as an argument, or move it to a \
              module below both"
            ]
        );
        assert!(is_rejected("store/mod.rs", "fn f() { crate::session::run(); }"));
    }

    #[test]
    fn siblings_do_not_name_each_other() {
        let found = check_one("store/history.rs", "use crate::rounds::Round;");
        assert_eq!(found.len(), 1);
        assert!(found.concat().contains("store may not name rounds: they stand side by side"));
        assert!(is_rejected("rounds/rows.rs", "use crate::store::Entry;"));
    }

    #[test]
    fn a_circle_is_allowed_where_the_order_joins_it() {
        assert!(!is_rejected("key.rs", "use crate::error::Error;"));
        assert!(!is_rejected("error.rs", "use crate::key::Key;"));
        let text = "use crate::error::Error;";
        assert_eq!(check_in("key → error → store | rounds → session", "key.rs", text).len(), 1);
    }

    #[test]
    fn re_exports_count_as_their_module() {
        assert!(is_rejected("store/mod.rs", "use crate::run;"));
        assert!(!is_rejected("store/mod.rs", "use crate::{Error, Reason};"));
        assert!(is_rejected("store/mod.rs", "use crate::Unknown;"));
    }

    #[test]
    fn super_does_not_evade_the_order() {
        assert!(is_rejected("store/mod.rs", "use super::rounds::Round;"));
        assert!(is_rejected("store/history.rs", "use super::super::session;"));
        assert!(is_rejected("store/history.rs", "use super::{Entry, super::session};"));
        assert!(is_rejected("store/mod.rs", "use self::super::session;"));
        assert!(is_rejected("store/mod.rs", "mod inner { use super::super::session; }"));
        assert!(!is_rejected("store/history.rs", "use super::{Entry, session};"));
    }

    #[test]
    fn the_whole_crate_is_not_taken_in() {
        assert!(is_rejected("store/mod.rs", "use crate::*;"));
        assert!(is_rejected("store/mod.rs", "use super::*;"));
        assert!(is_rejected("store/mod.rs", "use crate as root;"));
        assert!(is_rejected("store/mod.rs", "use crate::{self as root};"));
        assert!(is_rejected("store/mod.rs", "use super::{key, *};"));
        assert!(!is_rejected("store/history.rs", "use super::*;"));
        assert!(!is_rejected("store/mod.rs", "pub(crate) fn f() {} pub(super) fn g() {}"));
    }

    #[test]
    fn tests_may_name_any_module() {
        assert!(!is_rejected("store/mod.rs", "mod tests { use super::*; use crate::session; }"));
    }

    #[test]
    fn a_module_without_a_place_is_reported() {
        let found = check_one("outline/mod.rs", "//! Outline.");
        assert_eq!(found.len(), 1);
        assert!(found.concat().contains("outline has no place in the order of modules: add it"));
        let known = "key + error → store | rounds → session → gone";
        assert!(check_in(known, "key.rs", "").concat().contains("gone is no module"));
        let twice = "key + error → store | rounds → session | key";
        assert!(check_in(twice, "key.rs", "").concat().contains("key stands twice"));
    }

    #[test]
    fn a_document_without_the_line_is_reported() {
        let found = check_crate(
            &ORDERED[0],
            &[file(DOCUMENT, "# Parts\n"), file(&format!("{CORE}key.rs"), "")],
        );
        assert_eq!(found.len(), 1);
        assert!(found.iter().all(|it| it.message.starts_with("states no order of the modules")));
    }
}
