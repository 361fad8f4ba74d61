//! What goes when a state would be over its limit (spec 11.8).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    BINDINGS, Clip, ENTITIES, Json, Mark, RULES, RoundError, State,
    apply::{Making, Part, Parts},
    path::{Path, Step},
};
use crate::{Error, order::sorted};

/// A part of the state that went because the whole was too large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clipped {
    /// Where it was, in the state that the round would have made.
    pub path: Path,
    /// When it had last changed, with what weight.
    pub mark: Mark,
    /// Its size.
    pub bytes: u32,
}

/// The most parts of a state: of its bindings, entities and rules.
pub const PARTS_MAX: usize = 10_000;

/// Refuses a state that is larger than `bytes_max`.
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

/// A part that may go.
struct Candidate {
    clipped: Clipped,
    /// What the state is smaller without it, but for the comma between it and another.
    saves: usize,
    by: Vec<usize>,
}

/// How many parts are left in each member of the state.
struct Left {
    bindings: usize,
    entities: usize,
    rules: usize,
}

impl Left {
    fn new(Parts { bindings, entities, rules }: &Parts) -> Self {
        Self { bindings: bindings.len(), entities: entities.len(), rules: rules.len() }
    }

    fn count(&self) -> usize {
        self.bindings.saturating_add(self.entities).saturating_add(self.rules)
    }

    /// Takes one out of the member that `path` is in; returns the commas that go with it.
    fn take(&mut self, path: &Path) -> usize {
        let left = if path.is_in(BINDINGS) {
            &mut self.bindings
        } else if path.is_in(ENTITIES) {
            &mut self.entities
        } else {
            &mut self.rules
        };
        *left = left.saturating_sub(1);
        usize::from(*left > 0)
    }
}

/// Parts that went, and the deltas of the round that made each.
type Gone = Vec<(Clipped, Vec<usize>)>;

/// Takes parts out of `making` until its document is no larger than `bytes_max` and has
/// at most [`PARTS_MAX`]; tells the document's text, and the parts with the deltas of
/// this round that made each.
///
/// The query stays, and so does what was bound before `round`: a concept, once
/// bound, is stable.
///
/// # Errors
///
/// [`RoundError::StateTooLarge`], [`RoundError::TooManyParts`] when nothing may go, or
/// not enough.
pub(super) fn clip(
    making: &mut Making<'_>,
    how: Clip,
    bytes_max: u32,
    round: u64,
) -> Result<(Json, Gone), Error> {
    let limit = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    let text = Json::from_value(&making.document)?;
    let bytes = text.bytes();
    let parts = making.parts.count();
    if bytes <= limit && parts <= PARTS_MAX {
        return Ok((text, Vec::new()));
    }
    let too_many = |parts: usize| {
        let count = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
        Error::from(RoundError::TooManyParts { parts: count(parts), parts_max: count(PARTS_MAX) })
    };
    let too_large = |bytes: usize, largest| {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        Error::from(RoundError::StateTooLarge { bytes, bytes_max, largest })
    };
    let candidates = candidates(making, round)?;
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
        // Of those alike that which was there longest, then that which came last.
        match how {
            Clip::LowestWeightFirst => (u64::from(weight.billionths()), *round),
            Clip::OldestFirst => (*round, u64::from(weight.billionths())),
            Clip::LargestFirst | Clip::Reject => (u64::MAX - u64::from(*bytes), *round),
        }
    };
    let candidates = sorted(candidates, |a, b| {
        key(a).cmp(&key(b)).then_with(|| b.clipped.path.cmp(&a.clipped.path))
    });
    let mut gone = Vec::new();
    let (mut bytes, mut left) = (bytes, Left::new(&making.parts));
    for it in candidates {
        if bytes <= limit && left.count() <= PARTS_MAX {
            break;
        }
        let commas = left.take(&it.clipped.path);
        bytes = bytes.saturating_sub(it.saves).saturating_sub(commas);
        gone.push(it);
    }
    let gone = sorted(gone, |a, b| a.clipped.path.cmp(&b.clipped.path));
    take_out(making, &gone);
    let text = Json::from_value(&making.document)?;
    if text.bytes() > limit {
        return Err(too_large(text.bytes(), Vec::new()));
    }
    if making.parts.count() > PARTS_MAX {
        return Err(too_many(making.parts.count()));
    }
    Ok((text, gone.into_iter().map(|it| (it.clipped, it.by)).collect()))
}

fn candidates(making: &Making<'_>, round: u64) -> Result<Vec<Candidate>, Error> {
    let mut all = Vec::new();
    let mut add = |steps: Vec<Step>, value: &Value, part: &Part, name: usize| {
        let Some(path) = Path::new(steps) else { return Ok(()) };
        let bytes = Json::from_value(value)?.bytes();
        let clipped =
            Clipped { path, mark: part.mark, bytes: u32::try_from(bytes).unwrap_or(u32::MAX) };
        all.push(Candidate { clipped, saves: bytes + name, by: part.by.clone() });
        Ok::<_, Error>(())
    };
    let name = |it: &str| Step::Name(it.to_owned());
    let member = |it: &str| making.document.get(it);
    for (list, parts) in [(ENTITIES, &making.parts.entities), (RULES, &making.parts.rules)] {
        let items = member(list).and_then(Value::as_array).into_iter().flatten();
        for (nth, (item, part)) in (0_u32..).zip(items.zip(parts)) {
            add(vec![name(list), Step::Index(nth)], item, part, 0)?;
        }
    }
    let bindings = member(BINDINGS).and_then(Value::as_object).into_iter().flatten();
    for (term, concept) in bindings {
        if let Some(part) = making.parts.bindings.get(term).filter(|it| it.mark.round == round) {
            // With its colon.
            let bytes = Json::from_value(&Value::String(term.clone()))?.bytes() + 1;
            add(vec![name(BINDINGS), name(term)], concept, part, bytes)?;
        }
    }
    Ok(all)
}

/// Takes these parts out.
fn take_out(making: &mut Making<'_>, gone: &[Candidate]) {
    let mut shorter: BTreeMap<&[Step], BTreeSet<u32>> = BTreeMap::new();
    for it in gone {
        match it.clipped.path.split() {
            Some((list, Step::Index(nth))) => drop(shorter.entry(list).or_default().insert(*nth)),
            Some((_, Step::Name(term))) => {
                let bindings = making.document.get_mut(BINDINGS).and_then(Value::as_object_mut);
                bindings.and_then(|it| it.remove(term));
                making.parts.bindings.remove(term);
            }
            None => {}
        }
    }
    for (list, gone) in shorter {
        making.shrink(list, &gone);
    }
}
