//! Clipping: removes parts of a state over its limit (spec 11.8).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    BINDINGS, Clip, ENTITIES, Json, Mark, RULES, RoundError, State,
    apply::{Part, Parts, StateBuilder},
    path::{Path, Step},
};
use crate::{
    Error,
    count::{narrow, widen},
    order::sorted,
};

/// A part that was removed because the state exceeded its limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clipped {
    /// Its path in the state before clipping.
    pub path: Path,
    /// The round and weight of its last change.
    pub mark: Mark,
    /// Its size, in bytes.
    pub bytes: u32,
}

/// The most parts of a state: bindings, entities and rules together.
pub const PARTS_MAX: usize = 10_000;

/// Rejects a state larger than `bytes_max`.
///
/// # Errors
///
/// [`RoundError::StateTooLarge`].
pub(crate) fn check_size(state: &State, bytes_max: u32) -> Result<(), Error> {
    let bytes = state.bytes();
    if bytes <= bytes_max {
        return Ok(());
    }
    Err(RoundError::StateTooLarge { bytes, bytes_max, largest: Vec::new() }.into())
}

/// A part that may be removed.
struct Candidate {
    clipped: Clipped,
    /// The bytes saved by removing it, without the comma next to it.
    saves: usize,
    by: Vec<usize>,
}

/// The number of parts left in each member of the state.
struct PartCounts {
    bindings: usize,
    entities: usize,
    rules: usize,
}

impl PartCounts {
    fn new(Parts { bindings, entities, rules }: &Parts) -> Self {
        Self { bindings: bindings.len(), entities: entities.len(), rules: rules.len() }
    }

    fn count(&self) -> usize {
        self.bindings.saturating_add(self.entities).saturating_add(self.rules)
    }

    /// Subtracts one from the member that contains `path`. Returns the number of commas
    /// removed with it.
    fn take(&mut self, path: &Path) -> usize {
        let remaining = if path.is_in(BINDINGS) {
            &mut self.bindings
        } else if path.is_in(ENTITIES) {
            &mut self.entities
        } else {
            &mut self.rules
        };
        *remaining = remaining.saturating_sub(1);
        usize::from(*remaining > 0)
    }
}

/// The removed parts, each with the deltas of the round that contributed to it.
type ClippedParts = Vec<(Clipped, Vec<usize>)>;

/// Removes parts from `builder` until its document fits `bytes_max` and has at most
/// [`PARTS_MAX`] parts. Returns the document's text, and the removed parts with the
/// deltas of this round that contributed to them.
///
/// The query and terms that were bound before `round` are never removed: a bound concept is
/// stable, also where the orchestrator bound the term anew.
///
/// # Errors
///
/// [`RoundError::StateTooLarge`] or [`RoundError::TooManyParts`] if nothing, or not
/// enough, may be removed.
pub(super) fn clip(
    builder: &mut StateBuilder<'_>,
    how: Clip,
    bytes_max: u32,
    round: u64,
) -> Result<(Json, ClippedParts), Error> {
    let limit = widen(bytes_max);
    let text = Json::from_value(&builder.document)?;
    let bytes = text.bytes();
    let parts = builder.parts.count();
    if bytes <= limit && parts <= PARTS_MAX {
        return Ok((text, Vec::new()));
    }
    let too_many = |parts: usize| {
        Error::from(RoundError::TooManyParts { parts: narrow(parts), parts_max: narrow(PARTS_MAX) })
    };
    let too_large = |bytes: usize, largest| {
        let bytes = narrow(bytes);
        Error::from(RoundError::StateTooLarge { bytes, bytes_max, largest })
    };
    let candidates = candidates(builder, round)?;
    if how == Clip::Reject {
        if bytes <= limit {
            return Err(too_many(parts));
        }
        let candidates = sorted(candidates, |a, b| b.clipped.bytes.cmp(&a.clipped.bytes));
        let largest = candidates.into_iter().take(3);
        return Err(too_large(bytes, largest.map(|it| it.clipped.path.to_string()).collect()));
    }
    let key = |it: &Candidate| {
        let Clipped { mark: Mark { round, weight }, bytes, .. } = &it.clipped;
        // Among equals, the oldest first, then the one with the last path.
        match how {
            Clip::LowestWeightFirst => (u64::from(weight.billionths()), *round),
            Clip::OldestFirst => (*round, u64::from(weight.billionths())),
            Clip::LargestFirst | Clip::Reject => (u64::MAX - u64::from(*bytes), *round),
        }
    };
    let candidates = sorted(candidates, |a, b| {
        key(a).cmp(&key(b)).then_with(|| b.clipped.path.cmp(&a.clipped.path))
    });
    let mut removed = Vec::new();
    let (mut bytes, mut remaining) = (bytes, PartCounts::new(&builder.parts));
    for it in candidates {
        if bytes <= limit && remaining.count() <= PARTS_MAX {
            break;
        }
        let commas = remaining.take(&it.clipped.path);
        bytes = bytes.saturating_sub(it.saves).saturating_sub(commas);
        removed.push(it);
    }
    let removed = sorted(removed, |a, b| a.clipped.path.cmp(&b.clipped.path));
    remove_parts(builder, &removed);
    let text = Json::from_value(&builder.document)?;
    if text.bytes() > limit {
        return Err(too_large(text.bytes(), Vec::new()));
    }
    if builder.parts.count() > PARTS_MAX {
        return Err(too_many(builder.parts.count()));
    }
    Ok((text, removed.into_iter().map(|it| (it.clipped, it.by)).collect()))
}

fn candidates(builder: &StateBuilder<'_>, round: u64) -> Result<Vec<Candidate>, Error> {
    let mut all = Vec::new();
    let mut add = |steps: Vec<Step>, value: &Value, part: &Part, name: usize| {
        let Some(path) = Path::new(steps) else { return Ok(()) };
        let bytes = Json::from_value(value)?.bytes();
        let clipped = Clipped { path, mark: part.mark, bytes: narrow(bytes) };
        all.push(Candidate { clipped, saves: bytes + name, by: part.by.clone() });
        Ok::<_, Error>(())
    };
    let name = |it: &str| Step::Name(it.to_owned());
    let member = |it: &str| builder.document.get(it);
    for (list, parts) in [(ENTITIES, &builder.parts.entities), (RULES, &builder.parts.rules)] {
        let items = member(list).and_then(Value::as_array).into_iter().flatten();
        for (nth, (item, part)) in (0_u32..).zip(items.zip(parts)) {
            add(vec![name(list), Step::Index(nth)], item, part, 0)?;
        }
    }
    let bindings = member(BINDINGS).and_then(Value::as_object).into_iter().flatten();
    for (term, concept) in bindings {
        let is_new = |it: &&Part| {
            it.mark.round == round && !builder.before.marks.bindings.contains_key(term)
        };
        if let Some(part) = builder.parts.bindings.get(term).filter(is_new) {
            // Including its colon.
            let bytes = Json::from_value(&Value::String(term.clone()))?.bytes() + 1;
            add(vec![name(BINDINGS), name(term)], concept, part, bytes)?;
        }
    }
    Ok(all)
}

/// Removes these parts.
fn remove_parts(builder: &mut StateBuilder<'_>, removed: &[Candidate]) {
    let mut shrunk: BTreeMap<&[Step], BTreeSet<u32>> = BTreeMap::new();
    for it in removed {
        match it.clipped.path.split() {
            Some((list, Step::Index(nth))) => drop(shrunk.entry(list).or_default().insert(*nth)),
            Some((_, Step::Name(term))) => {
                let bindings = builder.document.get_mut(BINDINGS).and_then(Value::as_object_mut);
                bindings.and_then(|it| it.remove(term));
                builder.parts.bindings.remove(term);
            }
            None => {}
        }
    }
    for (list, removed) in shrunk {
        builder.shrink(list, &removed);
    }
}
