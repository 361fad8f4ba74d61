//! The round state: the document, and the round and weight of each of its parts.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{BINDINGS, DEPTH_MAX, ENTITIES, Json, MEMBERS, Path, QUERY, RULES, SentPath, Weight};
use crate::{Error, count::narrow, order::map};

/// The state after a round (spec 11.1).
///
/// # Invariant
///
/// `text` is `document` in canonical form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The document: an object of `query`, `bindings`, `entities` and `rules`.
    pub(crate) document: Value,
    pub(crate) text: Json,
    /// The marks of its parts (bindings, entities, rules).
    pub(crate) marks: Marks,
}

/// The marks of a state's parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// The marks of bindings, by term.
    pub bindings: BTreeMap<String, Mark>,
    /// The marks of entities, in order.
    pub entities: Vec<Mark>,
    /// The marks of rules, in order.
    pub rules: Vec<Mark>,
}

/// The mark of a part: its latest change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The round of the last change.
    pub round: u64,
    /// The highest weight among its contributors.
    pub weight: Weight,
}

/// The convergence of a state: the share that did not change in a round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Convergence {
    /// The number of paths of single values that are equal in both states.
    pub unchanged: u32,
    /// The number of paths of single values in either state.
    pub paths: u32,
}

impl Convergence {
    /// Returns the share of unchanged paths, from 0 to 1; 1 if there are no paths.
    pub fn share(self) -> f64 {
        if self.paths == 0 { 1.0 } else { f64::from(self.unchanged) / f64::from(self.paths) }
    }
}

impl State {
    /// Creates the state of round 0, which has only the query.
    pub(crate) fn new(query: &str) -> Result<Self, Error> {
        let document = json!({ QUERY: query, BINDINGS: {}, ENTITIES: [], RULES: [] });
        Ok(Self { text: Json::from_value(&document)?, document, marks: Marks::default() })
    }

    /// Creates a state from an exported document and the marks of its bindings (in the
    /// order of their terms), entities and rules.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if the document is not a state, or has other parts.
    pub fn restore(
        document: &str,
        bindings: Vec<Mark>,
        entities: Vec<Mark>,
        rules: Vec<Mark>,
    ) -> Result<Self, Error> {
        // An appended item is one level deeper than the list it was sent for.
        let text = Json::restore_to(DEPTH_MAX + 1, document)?;
        let document = text.value();
        let list = |member: &str, marks: &[Mark]| {
            document.get(member)?.as_array().filter(|it| it.len() == marks.len())
        };
        let terms = || {
            document.get(QUERY)?.as_str()?;
            list(ENTITIES, &entities)?;
            list(RULES, &rules)?;
            let terms = document.get(BINDINGS)?.as_object()?;
            let is_bound = |it: &Value| it.as_str().is_some_and(|it| !it.is_empty());
            let is_whole = document.as_object()?.len() == MEMBERS.len()
                && terms.len() == bindings.len()
                && terms.values().all(is_bound);
            is_whole.then(|| terms.keys().cloned().collect::<Vec<_>>())
        };
        let Some(terms) = terms() else {
            return Err(Error::malformed(
                "a state has a query, bindings, entities and rules, and a mark for each of their \
                 parts",
            ));
        };
        let bindings = map(terms.into_iter().zip(bindings));
        Ok(Self { document, text, marks: Marks { bindings, entities, rules } })
    }

    /// Returns true if no part has a mark of a round after `round`.
    pub(crate) fn is_made_until(&self, round: u64) -> bool {
        let Marks { bindings, entities, rules } = &self.marks;
        bindings.values().chain(entities).chain(rules).all(|it| it.round <= round)
    }

    /// Returns the marks of its parts.
    pub fn marks(&self) -> &Marks {
        &self.marks
    }

    /// Returns the subject of the session.
    pub(crate) fn query(&self) -> String {
        let query = self.document.get(QUERY).and_then(Value::as_str);
        query.unwrap_or_default().to_owned()
    }

    /// Returns the document in canonical form.
    pub fn text(&self) -> &Json {
        &self.text
    }

    /// Returns its size: the bytes of the document in canonical form.
    pub fn bytes(&self) -> u32 {
        narrow(self.text.bytes())
    }

    /// Resolves `path` in the document.
    ///
    /// # Errors
    ///
    /// [`RoundError::PathNotFound`](super::RoundError::PathNotFound) if an index from the
    /// end lies before the start of its list.
    pub(crate) fn place(&self, path: &SentPath) -> Result<Path, Error> {
        path.resolve(&self.document)
    }

    /// Returns the convergence from `before` to this state.
    pub(crate) fn convergence(&self, before: &Self) -> Convergence {
        let mut convergence = Convergence::default();
        convergence.compare(&before.document, &self.document);
        convergence
    }
}

impl Convergence {
    /// Counts the single values in `old` and `new`, which have the same path. An empty
    /// list or object is a single value too.
    fn compare(&mut self, old: &Value, new: &Value) {
        match (old, new) {
            (Value::Object(old), Value::Object(new)) if !old.is_empty() && !new.is_empty() => {
                for (name, member) in new {
                    match old.get(name) {
                        Some(old) => self.compare(old, member),
                        None => self.count(member),
                    }
                }
                let gone = old.iter().filter(|(name, _)| !new.contains_key(*name));
                gone.for_each(|(_, member)| self.count(member));
            }
            (Value::Array(old), Value::Array(new)) if !old.is_empty() && !new.is_empty() => {
                old.iter().zip(new).for_each(|(old, new)| self.compare(old, new));
                let both = old.len().min(new.len());
                old.iter()
                    .chain(new.iter().skip(old.len()))
                    .skip(both)
                    .for_each(|it| self.count(it));
            }
            _ if is_single(old) && is_single(new) => {
                self.paths = self.paths.saturating_add(1);
                self.unchanged = self.unchanged.saturating_add(u32::from(old == new));
            }
            _ => {
                self.count(old);
                self.count(new);
            }
        }
    }

    /// Counts the single values in `value`, which exists in only one of the states.
    fn count(&mut self, value: &Value) {
        match value {
            Value::Object(members) if !members.is_empty() => {
                members.values().for_each(|it| self.count(it));
            }
            Value::Array(items) if !items.is_empty() => items.iter().for_each(|it| self.count(it)),
            _ => self.paths = self.paths.saturating_add(1),
        }
    }
}

/// Returns true if `value` has no children.
fn is_single(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    }
}
