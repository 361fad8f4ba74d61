//! The last step of the reference implementation: the next state from the outcomes.

use serde_json::{Map, Value};

use crate::reference::{Change, Step};

/// Returns `state` with the outcomes applied: shallow paths before deep ones; removals
/// from back to front.
pub(crate) fn apply(state: &Value, mut held: Vec<(Vec<Step>, Change)>) -> Value {
    let mut state = state.clone();
    held.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, change) in &held {
        if let Change::Set(value) = change {
            *create(&mut state, path) = value.clone();
        }
    }
    for (path, change) in &held {
        if let Change::Append(items) = change {
            let list = create(&mut state, path);
            if list.is_null() {
                *list = Value::Array(Vec::new());
            }
            list.as_array_mut().unwrap().extend(items.clone());
        }
    }
    for (path, change) in held.iter().rev() {
        if *change == Change::Remove {
            let (last, above) = path.split_last().unwrap();
            match (create(&mut state, above), last) {
                (Value::Object(members), Step::Name(name)) => drop(members.remove(name)),
                (Value::Array(items), Step::Index(nth)) => drop(items.remove(*nth)),
                _ => panic!("{path:?}"),
            }
        }
    }
    state
}

/// Returns the value at `path`, and creates all its parents.
fn create<'a>(state: &'a mut Value, path: &[Step]) -> &'a mut Value {
    path.iter().fold(state, |at, step| match step {
        Step::Name(name) => {
            if at.is_null() {
                *at = Value::Object(Map::new());
            }
            &mut at[name]
        }
        Step::Index(nth) => &mut at[nth],
    })
}
