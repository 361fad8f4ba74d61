//! Deltas, taken apart into what they claim of single places.
//!
//! Where a strategy merges, an object is not one claim but one for each of its
//! members: two participants that say different things of one entity do not
//! disagree. `$.bindings` is taken apart whatever the strategy: a term is bound by
//! itself.

use serde_json::Value;

use super::{BINDINGS, Delta, Json, Operation, Plan, State, path::Path, path::Step};
use crate::Error;

/// What a delta claims of one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    /// Which delta, by its place in the order of application.
    pub(super) delta: usize,
    pub(super) path: Path,
    pub(super) change: Change,
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
    /// The canonical JSON by which even votes are settled; of a removal there is none.
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

/// What `delta`, the `nth` in the order of application, claims.
pub(super) fn claims(
    nth: usize,
    delta: &Delta,
    state: &State,
    plan: &Plan,
) -> Result<Vec<Claim>, Error> {
    let mut claims = Vec::new();
    match &delta.value {
        None => claims.push(Claim { delta: nth, path: delta.path.clone(), change: Change::Remove }),
        Some(value) => {
            let apart = Apart { delta: nth, operation: delta.operation, state, plan };
            apart.take(&delta.path, value, &mut claims)?;
        }
    }
    Ok(claims)
}

struct Apart<'a> {
    delta: usize,
    operation: Operation,
    state: &'a State,
    plan: &'a Plan,
}

impl Apart<'_> {
    fn take(&self, path: &Path, value: &Json, claims: &mut Vec<Claim>) -> Result<(), Error> {
        let here = path.find(&self.state.document);
        let merges = self.plan.strategy(path).merges();
        if value.is_object()
            && (path.is_member(BINDINGS) || (merges && here.is_none_or(Value::is_object)))
            && let Value::Object(members) = value.value()
            && !(members.is_empty() && here.is_none())
        {
            for (name, member) in members {
                self.take(&path.join(Step::Name(name)), &Json::from_value(&member)?, claims)?;
            }
            return Ok(());
        }
        let appends = self.operation == Operation::Add
            && match here {
                Some(it) => it.is_array(),
                None => merges && value.is_array(),
            };
        let change = if !appends {
            Change::Set(value.clone())
        } else if let Some(items) = value.items()? {
            Change::Append(items)
        } else {
            Change::Append(vec![value.clone()])
        };
        claims.push(Claim { delta: self.delta, path: path.clone(), change });
        Ok(())
    }
}
