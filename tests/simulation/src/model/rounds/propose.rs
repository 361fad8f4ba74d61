//! Which proposals are rejected: what must be certain before a round is closed.

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
        let (last, above) = path.split_last().unwrap();
        let is_there = look(state, &path).is_some();
        let is_added = it.operation == Operation::Add;
        let has_room = is_added
            && matches!(last, Step::Name(_))
            && look(state, above).is_some_and(Value::is_object);
        let is_bound = path[0] == Step::Name("bindings".to_owned());
        let is_removed = is_bound && it.value.is_none() && !above.is_empty();
        if is_removed && name(who) != "orchestrator" {
            codes.push(Code::Forbidden);
            return (codes, false);
        }
        if !is_there && !has_room {
            codes.push(Code::PathNotFound);
            return (codes, false);
        }
        let says = it.value.as_ref().filter(|_| is_bound).map(value);
        let bound = |says: &Value| match (says.as_object(), look(state, &path)) {
            (Some(terms), Some(all)) if above.is_empty() => {
                terms.iter().any(|(term, says)| all.get(term).is_some_and(|it| it != says))
            }
            (_, here) => !above.is_empty() && here.is_some_and(|it| it != says),
        };
        if says.is_some_and(|it| bound(&it)) {
            // A concept, once bound, stays; what is no text is malformed besides.
            codes.extend([Code::IdentityConflict, Code::MalformedRequest]);
            return (codes, false);
        }
        // What is added merges with what is there, or else nothing may be there.
        codes.extend((is_there && is_added).then_some(Code::PathExists));
        codes.extend((is_bound || above.is_empty()).then_some(Code::MalformedRequest));
    }
    (codes, true)
}
