//! Places in the state: which delta fits, what touches what, how much is as it was.

use std::collections::BTreeMap;

use serde_json::Value;
use shared_context_core::{
    Code,
    rounds::{Convergence, Delta, Json, Operation, Path, SentDelta, Step},
};

use super::{
    super::state::name,
    kept::value,
    reference::{self, Rules},
};

/// The place that a delta of `who` is for, if it fits `state`.
pub(super) fn fits(
    state: &Value,
    sent: &SentDelta,
    who: &str,
    rules: &Rules,
) -> Result<Path, Code> {
    let path = steps(sent.path.as_str());
    let is_in = |member: &str| path[0] == reference::Step::Name(member.to_owned());
    if sent.operation == Operation::Remove {
        match path.len() {
            1 => return Err(Code::MalformedRequest),
            _ if is_in("bindings") && name(who) != "orchestrator" => return Err(Code::Forbidden),
            _ => {}
        }
    }
    let (above, last) = path.split_at(path.len() - 1);
    let has_room = match (reference::look(state, above), &last[0]) {
        (Some(Value::Object(_)), reference::Step::Name(_)) => sent.operation == Operation::Add,
        _ => false,
    };
    if reference::look(state, &path).is_none() && !has_room {
        return Err(Code::PathNotFound);
    }
    let Some(value) = sent.value.as_ref().map(value) else { return Ok(path_of(&path)) };
    for (path, value) in reference::sets(sent.operation.as_str(), &path, &value, state, rules) {
        let is_text = value.as_str().is_some_and(|it| path.len() == 1 || !it.is_empty());
        let is_of_its_kind = match (&path[0], path.len()) {
            (reference::Step::Name(it), 1) if it == "query" => is_text,
            (reference::Step::Name(it), 1) if it == "bindings" => false,
            (reference::Step::Name(it), _) if it == "bindings" => is_text,
            (_, 1) => value.is_array(),
            _ => true,
        };
        if !is_of_its_kind {
            return Err(Code::MalformedRequest);
        }
        match reference::look(state, &path) {
            Some(here) if *here != value && is_in("bindings") => {
                return Err(Code::IdentityConflict);
            }
            Some(here) if *here != value && sent.operation == Operation::Add => {
                return Err(Code::PathExists);
            }
            _ => {}
        }
    }
    Ok(path_of(&path))
}

/// Whether a delta says something of `path` or of what is below it.
pub(super) fn touches(delta: &Delta, path: &[reference::Step]) -> bool {
    let own = plain_steps(&delta.path);
    let says = |it: &Json| reference::look(&value(it), &path[own.len()..]).is_some();
    own.starts_with(path) || path.starts_with(&own) && delta.value.as_ref().is_none_or(says)
}

/// How many single values are as they were, of those in either state.
pub(super) fn convergence(before: &Value, after: &Value) -> Convergence {
    fn leaves(value: &Value, at: String, all: &mut BTreeMap<String, Value>) {
        match value {
            Value::Object(it) if !it.is_empty() => {
                it.iter().for_each(|(name, it)| leaves(it, format!("{at}.{name}"), all));
            }
            Value::Array(it) if !it.is_empty() => {
                it.iter().enumerate().for_each(|(nth, it)| leaves(it, format!("{at}[{nth}]"), all));
            }
            _ => drop(all.insert(at, value.clone())),
        }
    }
    let (mut old, mut new) = (BTreeMap::new(), BTreeMap::new());
    leaves(before, String::new(), &mut old);
    leaves(after, String::new(), &mut new);
    let unchanged = new.iter().filter(|(at, it)| old.get(*at) == Some(it)).count() as u32;
    new.extend(old);
    Convergence { unchanged, paths: new.len() as u32 }
}

/// The steps of a path as scripts write it: `$.entities[0].name`.
pub(super) fn steps(path: &str) -> Vec<reference::Step> {
    let step = |it: &str| match it.strip_suffix(']') {
        Some(nth) => reference::Step::Index(nth.parse().unwrap()),
        None => reference::Step::Name(it.to_owned()),
    };
    path.split(['.', '[']).skip(1).map(step).collect()
}

pub(super) fn plain_steps(path: &Path) -> Vec<reference::Step> {
    let step = |it: &Step| match it {
        Step::Name(name) => reference::Step::Name(name.clone()),
        Step::Index(nth) => reference::Step::Index(*nth as usize),
    };
    path.steps().iter().map(step).collect()
}

pub(super) fn path_of(steps: &[reference::Step]) -> Path {
    let step = |it: &reference::Step| match it {
        reference::Step::Name(name) => Step::Name(name.clone()),
        reference::Step::Index(nth) => Step::Index(*nth as u32),
    };
    Path::new(steps.iter().map(step).collect()).unwrap()
}
