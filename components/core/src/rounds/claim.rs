//! Deltas, taken apart into what they claim of single places.
//!
//! Where a strategy merges, an object is not one claim but one for each of its
//! members: two participants that say different things of one entity do not
//! disagree. `$.bindings` is taken apart whatever the strategy, and no further: a term
//! is bound by itself, to a single value.
//!
//! # Invariant
//!
//! A delta is walked once: each of its bytes is parsed once and written once, however
//! deep it nests.

use serde_json::Value;

use super::{
    BINDINGS, Delta, ENTITIES, Json, Operation, Plan, RULES, State, Strategy, path::Path,
    path::Step,
};
use crate::Error;

/// What a delta claims of one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim<'a> {
    /// Which delta, by its place in the order of application.
    pub(super) delta: usize,
    pub(super) path: Path,
    pub(super) change: Change,
    /// How disagreements about the place are settled.
    pub(super) strategy: &'a Strategy,
    /// How many places it speaks of: each item of a list has one of its own.
    pub(super) places: usize,
}

/// What is to become of a place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Change {
    /// Nothing is to be there any more.
    Remove,
    /// This is to be there.
    Set(Json),
    /// These items are to be appended to what is there.
    Append(Vec<Json>),
}

impl Change {
    /// Returns the canonical JSON by which even votes are settled; of a removal there is none.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Remove => String::new(),
            Self::Set(value) => value.as_str().to_owned(),
            Self::Append(items) => {
                let items: Vec<&str> = items.iter().map(Json::as_str).collect();
                format!("[{}]", items.join(","))
            }
        }
    }
}

/// What a delta claims, and what it took to find out.
#[derive(Debug)]
pub(super) struct Claims<'a> {
    pub(super) claims: Vec<Claim<'a>>,
    /// How often a step of a path was compared with a pattern of the plan.
    pub(super) comparisons: usize,
}

/// Takes `delta`, the `nth` in the order of application, apart.
pub(super) fn claims<'a>(
    nth: usize,
    delta: &Delta,
    state: &State,
    plan: &'a Plan,
) -> Result<Claims<'a>, Error> {
    let mut apart = Apart {
        delta: nth,
        operation: delta.operation,
        plan,
        path: delta.path.clone(),
        made: Claims { claims: Vec::new(), comparisons: 0 },
    };
    match &delta.value {
        None => {
            let strategy = apart.strategy();
            apart.claim(Change::Remove, strategy, 1);
        }
        Some(value) => apart.take(&value.value(), delta.path.find(&state.document))?,
    }
    Ok(apart.made)
}

struct Apart<'a> {
    delta: usize,
    operation: Operation,
    plan: &'a Plan,
    /// Where it is.
    path: Path,
    made: Claims<'a>,
}

impl<'a> Apart<'a> {
    fn strategy(&mut self) -> &'a Strategy {
        self.plan.strategy(&self.path, &mut self.made.comparisons)
    }

    fn claim(&mut self, change: Change, strategy: &'a Strategy, places: usize) {
        let path = self.path.clone();
        let claim = Claim { delta: self.delta, path, change, strategy, places: places.max(1) };
        self.made.claims.push(claim);
    }

    /// Claims `value` of the place it is at, where `here` is now.
    fn take(&mut self, value: &Value, here: Option<&Value>) -> Result<(), Error> {
        let strategy = self.strategy();
        let is_term = self.path.is_in(BINDINGS);
        let merges = strategy.merges() && !is_term;
        let is_list = |it: &Value| it.is_array();
        match value {
            Value::Object(members)
                if (self.path.is_member(BINDINGS)
                    || (merges && here.is_none_or(Value::is_object)))
                    && (here.is_some() || !members.is_empty()) =>
            {
                for (name, member) in members {
                    self.path.push(Step::Name(name.clone()));
                    self.take(member, here.and_then(|it| it.get(name)))?;
                    self.path.pop();
                }
            }
            _ if self.operation == Operation::Add
                && !is_term
                && here.map_or(merges && value.is_array(), is_list) =>
            {
                let items = match value {
                    Value::Array(items) => items.as_slice(),
                    item => std::slice::from_ref(item),
                };
                let items = items.iter().map(Json::from_value).collect::<Result<Vec<_>, _>>()?;
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
