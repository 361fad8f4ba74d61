//! The round state: the document, and which parts of it were contributed when,
//! with what weight.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{BINDINGS, ENTITIES, Json, Path, QUERY, RULES, SentPath, Weight};
use crate::Error;

/// The state after a round (003, "Structure").
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// The document: an object of `query`, `bindings`, `entities` and `rules`.
    pub(crate) document: Value,
    /// Of its parts (a binding, an entity, a rule) when they last changed.
    pub(crate) marks: Marks,
}

/// What is known of the parts of a state; those of the lists by index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) bindings: BTreeMap<String, Mark>,
    pub(crate) entities: Vec<Mark>,
    pub(crate) rules: Vec<Mark>,
}

/// What is known of a part of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The round in which it last changed.
    pub round: u64,
    /// The highest weight of those who made it.
    pub weight: Weight,
}

/// How much of a state is as it was a round before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Convergence {
    /// Paths of single values that have the same value in both states.
    pub unchanged: u32,
    /// Paths of single values in either.
    pub paths: u32,
}

impl Convergence {
    /// The share of paths that are unchanged, 0 to 1; 1 where there is none.
    pub fn share(self) -> f64 {
        if self.paths == 0 { 1.0 } else { f64::from(self.unchanged) / f64::from(self.paths) }
    }
}

impl Default for State {
    fn default() -> Self {
        Self::new("")
    }
}

impl State {
    /// The state of round 0: the query and nothing else.
    pub(crate) fn new(query: &str) -> Self {
        let document = json!({ QUERY: query, BINDINGS: {}, ENTITIES: [], RULES: [] });
        Self { document, marks: Marks::default() }
    }

    /// The document in canonical form.
    pub fn document(&self) -> Result<Json, Error> {
        Json::from_value(&self.document)
    }

    /// The place in it that `path` means.
    ///
    /// # Errors
    ///
    /// [`RoundError::PathNotFound`](super::RoundError::PathNotFound) when an index counts from beyond a list's beginning.
    pub(crate) fn place(&self, path: &SentPath) -> Result<Path, Error> {
        path.resolve(&self.document)
    }

    /// How much of it is as it was in `before`.
    pub(crate) fn convergence(&self, before: &Self) -> Convergence {
        let (mut old, mut new) = (BTreeMap::new(), BTreeMap::new());
        leaves(&before.document, &mut Vec::new(), &mut old);
        leaves(&self.document, &mut Vec::new(), &mut new);
        let unchanged = new.iter().filter(|(path, value)| old.get(*path) == Some(*value)).count();
        let gone = old.keys().filter(|path| !new.contains_key(*path)).count();
        let count = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
        Convergence { unchanged: count(unchanged), paths: count(new.len() + gone) }
    }
}

/// A step on the way to a leaf, borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum At<'a> {
    Name(&'a str),
    Index(usize),
}

/// Every single value in `value`, and every list and object that is empty.
fn leaves<'a>(
    value: &'a Value,
    path: &mut Vec<At<'a>>,
    found: &mut BTreeMap<Vec<At<'a>>, &'a Value>,
) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, member) in members {
                path.push(At::Name(name));
                leaves(member, path, found);
                path.pop();
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (nth, item) in items.iter().enumerate() {
                path.push(At::Index(nth));
                leaves(item, path, found);
                path.pop();
            }
        }
        _ => drop(found.insert(path.clone(), value)),
    }
}
