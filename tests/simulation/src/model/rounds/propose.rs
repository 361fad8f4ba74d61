//! Which deltas do not fit the state that their round began with.

use serde_json::Value;
use shared_context_core::{
    Code,
    rounds::{Operation, SentDelta, Step},
};

use super::{super::state::name, look, steps, value};

/// Returns what a proposal of `who` may be rejected with, and whether it may be accepted.
pub(super) fn misfits(state: &Value, who: &str, deltas: &[SentDelta]) -> (Vec<Code>, bool) {
    let mut codes = Vec::new();
    for it in deltas {
        let path = steps(it.path.as_str());
        // What is added merges with what is there, or else nothing may be there.
        let may_exist = it.operation == Operation::Add && look(state, &path).is_some();
        codes.extend(may_exist.then_some(Code::PathExists));
        let misfit = misfit(state, who, it.operation, &path, it.value.as_ref().map(value));
        if let Err(code) = misfit {
            codes.push(code);
            return (codes, false);
        }
    }
    (codes, true)
}

/// Returns what a delta must be rejected with.
fn misfit(
    state: &Value,
    who: &str,
    operation: Operation,
    path: &[Step],
    value: Option<Value>,
) -> Result<(), Code> {
    let here = look(state, path);
    let (last, above) = path.split_last().unwrap();
    let member = match &path[0] {
        Step::Name(name) => name.as_str(),
        Step::Index(_) => "",
    };
    let has_room = operation == Operation::Add
        && look(state, above).is_some_and(Value::is_object)
        && matches!(last, Step::Name(_));
    match (operation, path.len(), value) {
        (Operation::Remove, 1, _) => Err(Code::MalformedRequest),
        (Operation::Remove, ..) if member == "bindings" && name(who) != "orchestrator" => {
            Err(Code::Forbidden)
        }
        _ if here.is_none() && !has_room => Err(Code::PathNotFound),
        (_, _, Some(value)) if member == "bindings" => match (path.len(), value.as_object()) {
            (1, Some(terms)) => {
                terms.iter().try_for_each(|(term, it)| bind(here.and_then(|all| all.get(term)), it))
            }
            _ => bind(here, &value),
        },
        (_, 1, Some(Value::String(_))) if member == "query" => Ok(()),
        (Operation::Modify, 1, Some(Value::Array(_))) if member != "query" => Ok(()),
        (Operation::Add, 1, _) if member != "query" => Ok(()),
        (_, 1, _) => Err(Code::MalformedRequest),
        _ => Ok(()),
    }
}

/// A term is bound once, to a text.
fn bind(here: Option<&Value>, value: &Value) -> Result<(), Code> {
    match (here, value.as_str()) {
        (_, None | Some("")) => Err(Code::MalformedRequest),
        (Some(here), Some(_)) if here != value => Err(Code::IdentityConflict),
        _ => Ok(()),
    }
}
