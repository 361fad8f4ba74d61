//! Rejection of proposals: checks that need no other delta.

use serde_json::Value;
use shared_context_core::{
    Code,
    rounds::{Operation, SentDelta, Step},
};

use super::{super::state::name, steps, value, value_at};

/// Returns the codes that a proposal by `who` may be rejected with, and whether it may be accepted.
pub(super) fn rejections(state: &Value, who: &str, deltas: &[SentDelta]) -> (Vec<Code>, bool) {
    let mut codes = Vec::new();
    for it in deltas {
        let path = steps(it.path.as_str());
        let (last, above) = path.split_last().unwrap();
        let is_there = value_at(state, &path).is_some();
        let is_added = it.operation == Operation::Add;
        let has_room = is_added
            && matches!(last, Step::Name(_))
            && value_at(state, above).is_some_and(Value::is_object);
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
        let proposed = it.value.as_ref().filter(|_| is_bound).map(value);
        let is_rebound = |proposed: &Value| match (proposed.as_object(), value_at(state, &path)) {
            (Some(terms), Some(all)) if above.is_empty() => {
                terms.iter().any(|(term, concept)| all.get(term).is_some_and(|it| it != concept))
            }
            (_, here) => !above.is_empty() && here.is_some_and(|it| it != proposed),
        };
        let may_rebind = name(who) == "orchestrator" && it.operation == Operation::Modify;
        if proposed.is_some_and(|it| is_rebound(&it)) && !may_rebind {
            // A bound concept is permanent. A value that is not a string is malformed as well.
            codes.extend([Code::IdentityConflict, Code::MalformedRequest]);
            return (codes, false);
        }
        // An `add` merges with an existing value, or is rejected because the path exists.
        codes.extend((is_there && is_added).then_some(Code::PathExists));
        codes.extend((is_bound || above.is_empty()).then_some(Code::MalformedRequest));
    }
    (codes, true)
}
