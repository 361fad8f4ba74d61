//! The round state: the document, and which parts of it were contributed when,
//! with what weight.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{BINDINGS, DEPTH_MAX, ENTITIES, Json, MEMBERS, Path, QUERY, RULES, SentPath, Weight};
use crate::{Error, order::map};

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
    /// Of its parts (a binding, an entity, a rule) when they last changed.
    pub(crate) marks: Marks,
}

/// What is known of the parts of a state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// Of each term that is bound.
    pub bindings: BTreeMap<String, Mark>,
    /// Of the entities, in their order.
    pub entities: Vec<Mark>,
    /// Of the rules, in their order.
    pub rules: Vec<Mark>,
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
    /// Returns the share of paths that are unchanged, 0 to 1; 1 where there is none.
    pub fn share(self) -> f64 {
        if self.paths == 0 { 1.0 } else { f64::from(self.unchanged) / f64::from(self.paths) }
    }
}

impl State {
    /// Returns the state of round 0: the query and nothing else.
    pub(crate) fn new(query: &str) -> Result<Self, Error> {
        let document = json!({ QUERY: query, BINDINGS: {}, ENTITIES: [], RULES: [] });
        Ok(Self { text: Json::from_value(&document)?, document, marks: Marks::default() })
    }

    /// Returns the state of this document, and what is known of its bindings (in the order of
    /// their terms), its entities and its rules.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] when it is no document of a state, or has other parts.
    pub fn restore(
        document: &str,
        bindings: Vec<Mark>,
        entities: Vec<Mark>,
        rules: Vec<Mark>,
    ) -> Result<Self, Error> {
        // An item that was appended is one deeper than the list it was sent for.
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

    /// Returns whether none of its parts is of a round after this.
    pub(crate) fn is_made_until(&self, round: u64) -> bool {
        let Marks { bindings, entities, rules } = &self.marks;
        bindings.values().chain(entities).chain(rules).all(|it| it.round <= round)
    }

    /// Returns what is known of its parts.
    pub fn marks(&self) -> &Marks {
        &self.marks
    }

    /// Returns what the session is about.
    pub(crate) fn query(&self) -> String {
        let query = self.document.get(QUERY).and_then(Value::as_str);
        query.unwrap_or_default().to_owned()
    }

    /// Returns the document in canonical form.
    pub fn text(&self) -> &Json {
        &self.text
    }

    /// Returns its size: bytes of the document in canonical form.
    pub fn bytes(&self) -> u32 {
        u32::try_from(self.text.bytes()).unwrap_or(u32::MAX)
    }

    /// Returns the place in it that `path` means.
    ///
    /// # Errors
    ///
    /// [`RoundError::PathNotFound`](super::RoundError::PathNotFound) when an index counts from beyond a list's beginning.
    pub(crate) fn place(&self, path: &SentPath) -> Result<Path, Error> {
        path.resolve(&self.document)
    }

    /// Returns how much of it is as it was in `before`.
    pub(crate) fn convergence(&self, before: &Self) -> Convergence {
        let mut convergence = Convergence::default();
        convergence.compare(&before.document, &self.document);
        convergence
    }
}

impl Convergence {
    /// Counts the single values in `old` and `new`, which are at one path. A list or an
    /// object that is empty is a single value too.
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

    /// Counts the single values in `value`, which is in one of the states only.
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

/// Returns whether nothing is below it.
fn is_single(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    }
}
