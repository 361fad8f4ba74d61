//! Splits deltas into claims on single paths.
//!
//! Where a strategy merges, an object becomes one claim for each of its members: two
//! participants that set different members of one entity do not disagree. `$.bindings` is
//! always split into its terms, and no further: a term is bound to a single value.
//!
//! # Invariant
//!
//! A delta is walked once: each of its bytes is parsed once and written once, at any
//! depth.

use serde_json::Value;

use super::{
    BINDINGS, Delta, ENTITIES, Json, Operation, Plan, RULES, State, Strategy, path::Path,
    path::Step,
};
use crate::Error;

/// The claim of a delta on one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim<'a> {
    /// The index of the delta in the order of application.
    pub(super) delta: usize,
    pub(super) path: Path,
    pub(super) change: Change,
    /// The strategy for this path.
    pub(super) strategy: &'a Strategy,
    /// The number of paths it counts for: each item of a list has its own.
    pub(super) places: usize,
}

/// The claimed change of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Change {
    /// Removes the value.
    Remove,
    /// Sets this value.
    Set(Json),
    /// Appends these items to the list. Two claims that append agree, whatever their items
    /// are: items are resolved one by one.
    Append(Vec<NewItem>),
}

/// An item that a delta appends to a list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NewItem {
    /// Its index among the items that the delta appends.
    pub(super) nth: usize,
    /// The value of its member `id`, if it has one that is not null.
    pub(super) id: Option<Json>,
    pub(super) value: Json,
}

impl NewItem {
    fn new((nth, value): (usize, &Value)) -> Result<Self, Error> {
        let id = value.get("id").filter(|it| !it.is_null());
        Ok(Self { nth, id: id.map(Json::from_value).transpose()?, value: Json::from_value(value)? })
    }

    /// Returns what two items conflict by: their ids, or without an id the whole value.
    pub(super) fn identity(&self) -> (bool, &str) {
        (self.id.is_some(), self.id.as_ref().unwrap_or(&self.value).as_str())
    }
}

impl Change {
    /// Returns the canonical JSON that breaks ties between votes: empty for a removal, and
    /// an empty list for a claim that appends.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Remove => String::new(),
            Self::Set(value) => value.as_str().to_owned(),
            Self::Append(_) => "[]".to_owned(),
        }
    }
}

/// The claims of a delta, and the work of computing them.
#[derive(Debug)]
pub(super) struct Claims<'a> {
    pub(super) claims: Vec<Claim<'a>>,
    /// The number of comparisons of a path's step with a pattern of the plan.
    pub(super) comparisons: usize,
}

/// Splits `delta`, the `nth` in the order of application, into claims.
pub(super) fn claims<'a>(
    nth: usize,
    delta: &Delta,
    state: &State,
    plan: &'a Plan,
) -> Result<Claims<'a>, Error> {
    let mut builder = ClaimBuilder {
        delta: nth,
        operation: delta.operation,
        plan,
        path: delta.path.clone(),
        result: Claims { claims: Vec::new(), comparisons: 0 },
    };
    match &delta.value {
        None => {
            let strategy = builder.strategy();
            builder.claim(Change::Remove, strategy, 1);
        }
        Some(value) => builder.add(&value.value(), delta.path.find(&state.document))?,
    }
    Ok(builder.result)
}

struct ClaimBuilder<'a> {
    delta: usize,
    operation: Operation,
    plan: &'a Plan,
    /// The current path.
    path: Path,
    result: Claims<'a>,
}

impl<'a> ClaimBuilder<'a> {
    fn strategy(&mut self) -> &'a Strategy {
        self.plan.strategy(&self.path, &mut self.result.comparisons)
    }

    fn claim(&mut self, change: Change, strategy: &'a Strategy, places: usize) {
        let path = self.path.clone();
        let claim = Claim { delta: self.delta, path, change, strategy, places: places.max(1) };
        self.result.claims.push(claim);
    }

    /// Adds the claims of `value` at the current path; `here` is the current value there.
    fn add(&mut self, value: &Value, here: Option<&Value>) -> Result<(), Error> {
        let strategy = self.strategy();
        let is_term = self.path.is_in(BINDINGS);
        let merges = strategy.merges() && !is_term;
        match value {
            Value::Object(members)
                if (self.path.is_member(BINDINGS)
                    || (merges && here.is_none_or(Value::is_object)))
                    && (here.is_some() || !members.is_empty()) =>
            {
                for (name, member) in members {
                    self.path.push(Step::Name(name.clone()));
                    self.add(member, here.and_then(|it| it.get(name)))?;
                    self.path.pop();
                }
            }
            _ if self.operation == Operation::Add
                && !is_term
                && here.map_or(merges && value.is_array(), Value::is_array) =>
            {
                let items = match value {
                    Value::Array(items) => items.as_slice(),
                    item => std::slice::from_ref(item),
                };
                let items = items.iter().enumerate().map(NewItem::new);
                let items = items.collect::<Result<Vec<_>, _>>()?;
                let places = items.len();
                self.claim(Change::Append(items), strategy, places);
            }
            _ => {
                let is_list = self.path.is_member(ENTITIES) || self.path.is_member(RULES);
                let items = value.as_array().filter(|_| is_list).map_or(1, Vec::len);
                self.claim(Change::Set(Json::from_value(value)?), strategy, items);
            }
        }
        Ok(())
    }
}
