//! Builds the next state from the resolved claims.
//!
//! Every path refers to the state at the opening of the round. So values are set first,
//! then lists grow. Lists shrink last, nested ones first, so that no index moves before
//! it is used.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    BINDINGS, ENTITIES, Mark, RULES, State, Weight,
    merge::{Outcome, Resolution, WeightedDelta},
    path::{Path, Step},
    state::Marks,
};
use crate::order::{map, set};

/// A part of the state under construction: a binding, an entity or a rule.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) mark: Mark,
    /// The deltas that contributed to it in this round, once per contribution.
    pub(super) by: Vec<usize>,
}

/// The parts of the state under construction.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) bindings: BTreeMap<String, Part>,
    pub(super) entities: Vec<Part>,
    pub(super) rules: Vec<Part>,
}

impl Parts {
    fn new(marks: &Marks) -> Self {
        let part = |mark: &Mark| Part { mark: *mark, by: Vec::new() };
        Self {
            bindings: map(marks.bindings.iter().map(|(term, it)| (term.clone(), part(it)))),
            entities: marks.entities.iter().map(part).collect(),
            rules: marks.rules.iter().map(part).collect(),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.bindings.len().saturating_add(self.entities.len()).saturating_add(self.rules.len())
    }

    /// Returns the parts of the list `member`, or `None` if it is not a list.
    pub(super) fn list(&mut self, member: &str) -> Option<&mut Vec<Part>> {
        match member {
            ENTITIES => Some(&mut self.entities),
            RULES => Some(&mut self.rules),
            _ => None,
        }
    }

    /// Returns the marks of the parts after the round.
    pub(super) fn marks(&self) -> Marks {
        let marks = |parts: &[Part]| parts.iter().map(|it| it.mark).collect();
        Marks {
            bindings: map(self.bindings.iter().map(|(term, it)| (term.clone(), it.mark))),
            entities: marks(&self.entities),
            rules: marks(&self.rules),
        }
    }
}

/// The state under construction.
pub(super) struct StateBuilder<'a> {
    pub(super) document: Value,
    pub(super) parts: Parts,
    /// The number of paths and items that each delta contributed to.
    pub(super) contributions: Vec<usize>,
    /// The state at the opening of the round.
    pub(super) before: &'a State,
    round: u64,
    order: &'a [WeightedDelta<'a>],
}

impl<'a> StateBuilder<'a> {
    /// Applies `resolutions`, ordered by path, to `state`.
    pub(super) fn new(
        state: &'a State,
        resolutions: Vec<Resolution>,
        order: &'a [WeightedDelta<'a>],
        round: u64,
    ) -> Self {
        let (document, parts) = (state.document.clone(), Parts::new(&state.marks));
        let mut builder = Self {
            document,
            parts,
            contributions: vec![0; order.len()],
            before: state,
            round,
            order,
        };
        let mut appended = Vec::new();
        let mut removed = Vec::new();
        for Resolution { path, outcome, by } in resolutions {
            match &outcome {
                Outcome::Set(_) | Outcome::Remove => builder.count_contributions(&by),
                Outcome::Append(items) => {
                    for item in items {
                        builder.count_contributions(&item.by);
                    }
                    // A delta whose items already exist has contributed too.
                    let makers = set(items.iter().flat_map(|it| it.by.iter()));
                    let others = by.iter().filter(|it| !makers.contains(*it)).copied();
                    builder.count_contributions(&others.collect::<Vec<_>>());
                }
            }
            match outcome {
                Outcome::Set(value) => builder.set(&path, value.value(), &by),
                Outcome::Append(items) => appended.push((path, items)),
                Outcome::Remove => removed.push((path, by)),
            }
        }
        for (path, items) in appended {
            // Also without items: the list may not exist yet.
            builder.list_at(&path);
            for item in items {
                builder.append(&path, item.value.value(), &item.by);
            }
        }
        let mut shrunk: BTreeMap<Vec<Step>, BTreeSet<u32>> = BTreeMap::new();
        for (path, by) in removed {
            match path.split() {
                Some((list, Step::Index(nth))) => {
                    shrunk.entry(list.to_vec()).or_default().insert(*nth);
                    if list.len() > 1 {
                        builder.touch(&path, &by);
                    }
                }
                _ => builder.remove(&path, &by),
            }
        }
        for (list, removed) in shrunk.into_iter().rev() {
            builder.shrink(&list, &removed);
        }
        builder
    }

    fn count_contributions(&mut self, by: &[usize]) {
        for delta in by {
            if let Some(contributions) = self.contributions.get_mut(*delta) {
                *contributions = contributions.saturating_add(1);
            }
        }
    }

    fn weight(&self, by: &[usize]) -> Weight {
        let weights = by.iter().filter_map(|it| self.order.get(*it)).map(|it| it.weight);
        weights.max().unwrap_or(Weight::DEFAULT)
    }

    fn part(&self, by: &[usize]) -> Part {
        Part { mark: Mark { round: self.round, weight: self.weight(by) }, by: by.to_vec() }
    }

    /// Updates the mark of the part that contains `path`.
    fn touch(&mut self, path: &Path, by: &[usize]) {
        let new = self.part(by);
        let part = match path.steps() {
            [Step::Name(member), Step::Name(term), ..] if member == BINDINGS => self
                .parts
                .bindings
                .entry(term.clone())
                .or_insert_with(|| Part { by: Vec::new(), ..new.clone() }),
            [Step::Name(member), Step::Index(nth), ..] => {
                let parts = self.parts.list(member);
                match parts.and_then(|it| it.get_mut(usize::try_from(*nth).ok()?)) {
                    Some(part) => part,
                    None => return,
                }
            }
            _ => return,
        };
        part.mark = Mark { round: new.mark.round, weight: part.mark.weight.max(new.mark.weight) };
        part.by.extend(new.by);
    }

    fn set(&mut self, path: &Path, value: Value, by: &[usize]) {
        if let [Step::Name(member)] = path.steps() {
            let length = value.as_array().map_or(0, Vec::len);
            let part = self.part(by);
            if let Some(parts) = self.parts.list(member) {
                // The whole list is one path, even if some of its items are removed.
                *parts = vec![Part { by: Vec::new(), ..part }; length];
            }
        }
        self.touch(path, by);
        let Some((above, last)) = path.split() else { return };
        match last {
            Step::Name(name) => {
                if let Some(members) = object_at(&mut self.document, above) {
                    members.insert(name.clone(), value);
                }
            }
            Step::Index(_) => {
                if let Some(there) = find(&mut self.document, path.steps()) {
                    *there = value;
                }
            }
        }
    }

    fn append(&mut self, path: &Path, value: Value, by: &[usize]) {
        match path.steps() {
            [Step::Name(member)] => {
                let part = self.part(by);
                self.parts.list(member).into_iter().for_each(|it| it.push(part.clone()));
            }
            _ => self.touch(path, by),
        }
        if let Some(list) = self.list_at(path) {
            list.push(value);
        }
    }

    /// Returns the list at `path`, and creates it if it is missing.
    fn list_at(&mut self, path: &Path) -> Option<&mut Vec<Value>> {
        let (above, last) = path.split()?;
        let list = match last {
            Step::Name(name) => object_at(&mut self.document, above)?
                .entry(name.clone())
                .or_insert_with(|| Value::Array(Vec::new())),
            Step::Index(_) => find(&mut self.document, path.steps())?,
        };
        list.as_array_mut()
    }

    /// Removes a member of an object.
    fn remove(&mut self, path: &Path, by: &[usize]) {
        match path.steps() {
            [Step::Name(member), Step::Name(term)] if member == BINDINGS => {
                self.parts.bindings.remove(term);
            }
            _ => self.touch(path, by),
        }
        if let Some((above, Step::Name(name))) = path.split()
            && let Some(Value::Object(members)) = find(&mut self.document, above)
        {
            members.remove(name);
        }
    }

    /// Removes the items at these indexes from the list at `steps`, all at once. Removing
    /// them one by one would move all later items each time.
    pub(super) fn shrink(&mut self, steps: &[Step], removed: &BTreeSet<u32>) {
        if let [Step::Name(member)] = steps
            && let Some(parts) = self.parts.list(member)
        {
            drop_items(parts, removed);
        }
        if let Some(Value::Array(items)) = find(&mut self.document, steps) {
            drop_items(items, removed);
        }
    }
}

/// Removes the items at these indexes.
fn drop_items<T>(items: &mut Vec<T>, removed: &BTreeSet<u32>) {
    let mut places = 0_u32..;
    items.retain(|_| places.next().is_none_or(|it| !removed.contains(&it)));
}

fn find<'a>(document: &'a mut Value, steps: &[Step]) -> Option<&'a mut Value> {
    steps.iter().try_fold(document, |here, step| match step {
        Step::Name(name) => here.as_object_mut()?.get_mut(name),
        Step::Index(nth) => here.as_array_mut()?.get_mut(usize::try_from(*nth).ok()?),
    })
}

/// Returns the object at `steps`, and creates it if it is missing: members of an added
/// object are set one by one.
fn object_at<'a>(document: &'a mut Value, steps: &[Step]) -> Option<&'a mut Map<String, Value>> {
    let mut here = document;
    for step in steps {
        here = match step {
            Step::Name(name) => {
                let members = here.as_object_mut()?;
                members.entry(name.clone()).or_insert_with(|| Value::Object(Map::new()))
            }
            Step::Index(nth) => here.as_array_mut()?.get_mut(usize::try_from(*nth).ok()?)?,
        };
    }
    here.as_object_mut()
}
