//! Validates a delta against the state at the opening of its round.

use serde_json::Value;

use super::{
    BINDINGS, COMPARISONS_PER_BYTE, DEPTH_MAX, Delta, ENTITIES, Json, MEMBERS, Operation,
    PLACE_BYTES, Plan, QUERY, RULES, RoundError, State,
    claim::{Change, Claim, Claims, claims},
    path::{Path, Step, find},
};
use crate::{Error, count::narrow, participant::Role};

/// Rejects `delta` if it does not fit `state`. Returns the bytes it counts toward
/// [`DELTAS_BYTES_MAX`](super::DELTAS_BYTES_MAX).
///
/// # Errors
///
/// [`Error::Malformed`] if the value is invalid at this path, [`Error::Forbidden`],
/// [`RoundError::PathNotFound`], [`RoundError::PathExists`],
/// [`RoundError::IdentityConflict`].
pub(crate) fn check(delta: &Delta, state: &State, plan: &Plan) -> Result<u32, Error> {
    let path = &delta.path;
    let value_depth = delta.value.as_ref().map_or(0, Json::depth);
    if path.steps().len() + value_depth > DEPTH_MAX {
        return Err(Error::malformed(format!(
            "path and value together nest deeper than {DEPTH_MAX}; state what follows from it \
             instead"
        )));
    }
    if delta.operation == Operation::Remove {
        check_removal(delta)?;
    }
    check_place(delta, state)?;
    let Claims { claims, comparisons } = claims(0, delta, state, plan)?;
    for claim in &claims {
        if let Change::Set(value) = &claim.change {
            check_value(&claim.path, value)?;
            check_set(delta, &claim.path, value, state)?;
        }
    }
    let bytes = delta.value.as_ref().map_or(0, Json::bytes) + delta.provenance.as_str().len();
    let bytes = bytes.saturating_add(comparisons / COMPARISONS_PER_BYTE);
    let bytes = claims.iter().map(bytes_of_paths).fold(bytes, usize::saturating_add);
    Ok(narrow(bytes))
}

/// Returns the bytes that the paths of a claim count.
fn bytes_of_paths(claim: &Claim<'_>) -> usize {
    claim.places.saturating_mul(claim.path.to_string().len() + PLACE_BYTES)
}

/// Rejects the removal of a member of the state, and of a binding by anyone but the
/// orchestrator.
fn check_removal(Delta { path, participant, .. }: &Delta) -> Result<(), Error> {
    if MEMBERS.iter().any(|it| path.is_member(it)) {
        return Err(Error::malformed(format!(
            "{path} is always there; remove what is in it, or modify it"
        )));
    }
    if path.is_in(BINDINGS) && participant.role() != Role::Orchestrator {
        return Err(Error::Forbidden {
            message: "only the orchestrator may take a binding away: a concept, once bound, stays; \
                      propose to the orchestrator what is wrong with it",
        });
    }
    Ok(())
}

/// Rejects an operation on a path that does not exist or cannot be added.
fn check_place(delta: &Delta, state: &State) -> Result<(), Error> {
    let path = &delta.path;
    let missing = |why| Err(RoundError::PathNotFound { path: path.to_string(), why }.into());
    let is_there = path.find(&state.document).is_some();
    if is_there {
        return Ok(());
    }
    if delta.operation != Operation::Add {
        return missing("nothing is there; add it, or read_state shows what is there");
    }
    let Some((above, last)) = path.split() else { return Ok(()) };
    match (find(&state.document, above), last) {
        (Some(Value::Object(_)), Step::Name(_)) => Ok(()),
        (Some(Value::Array(_)), Step::Index(_)) => {
            missing("there is no such item; add to the list itself, without an index")
        }
        (Some(_), _) => missing("what is above it is of another kind"),
        (None, _) => missing("nothing is above it; add that first, or both as one object"),
    }
}

/// Rejects values that are invalid for their member of the state.
fn check_value(path: &Path, value: &Json) -> Result<(), Error> {
    let expected = if path.is_member(QUERY) && !value.is_string() {
        "the query is a text"
    } else if path.is_member(BINDINGS) {
        "bindings are an object of terms, each with the id of its concept"
    } else if path.is_in(BINDINGS)
        && (path.steps().len() > 2 || !value.is_string() || value.as_str() == "\"\"")
    {
        "a term is bound to the id of a concept, a text such as \"sea:customer:001\""
    } else if (path.is_member(ENTITIES) || path.is_member(RULES)) && !value.is_array() {
        "entities and rules are lists"
    } else {
        return Ok(());
    };
    Err(Error::malformed(format!("{path} cannot hold this value: {expected}")))
}

/// Rejects a claim that conflicts with the current value. Only the orchestrator binds a term anew.
fn check_set(delta: &Delta, path: &Path, value: &Json, state: &State) -> Result<(), Error> {
    let Some(here) = path.find(&state.document) else { return Ok(()) };
    // Both come from canonical text, so equal values have equal numbers.
    if *here == value.value() {
        return Ok(());
    }
    let rebinds =
        delta.operation == Operation::Modify && delta.participant.role() == Role::Orchestrator;
    if path.is_in(BINDINGS) && !rebinds {
        return Err(RoundError::IdentityConflict {
            path: path.to_string(),
            bound_to: here.as_str().unwrap_or_default().to_owned(),
        }
        .into());
    }
    match delta.operation {
        Operation::Add => Err(RoundError::PathExists { path: path.to_string() }.into()),
        Operation::Modify | Operation::Remove => Ok(()),
    }
}
