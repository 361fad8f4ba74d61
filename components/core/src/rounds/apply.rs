//! The next state, made of what was settled.
//!
//! Every path is one of the state that the round began with; so values are set
//! first, then lists grow, and at last lists shrink, those below others first, so that no
//! index moves before its turn.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    BINDINGS, ENTITIES, Mark, RULES, State, Weight,
    merge::{Becomes, Settled, Weighed},
    path::{Path, Step},
    state::Marks,
};
use crate::order::{map, set};

/// A part of the state in the making: a binding, an entity or a rule.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) mark: Mark,
    /// The deltas that contributed to it in this round, one as often as it did.
    pub(super) by: Vec<usize>,
}

/// The parts of the state in the making.
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

    /// Returns the parts of the list `member`; `None` where it is none.
    pub(super) fn list(&mut self, member: &str) -> Option<&mut Vec<Part>> {
        match member {
            ENTITIES => Some(&mut self.entities),
            RULES => Some(&mut self.rules),
            _ => None,
        }
    }

    /// Returns what is to be known of them after the round.
    pub(super) fn marks(&self) -> Marks {
        let marks = |parts: &[Part]| parts.iter().map(|it| it.mark).collect();
        Marks {
            bindings: map(self.bindings.iter().map(|(term, it)| (term.clone(), it.mark))),
            entities: marks(&self.entities),
            rules: marks(&self.rules),
        }
    }
}

/// The state in the making.
pub(super) struct Making<'a> {
    pub(super) document: Value,
    pub(super) parts: Parts,
    /// Of how many of the places and items in it each delta is a maker.
    pub(super) held: Vec<usize>,
    round: u64,
    order: &'a [Weighed<'a>],
}

impl<'a> Making<'a> {
    /// `state` with all of `settled`, which is in the order of its paths.
    pub(super) fn new(
        state: &State,
        settled: Vec<Settled>,
        order: &'a [Weighed<'a>],
        round: u64,
    ) -> Self {
        let (document, parts) = (state.document.clone(), Parts::new(&state.marks));
        let mut making = Self { document, parts, held: vec![0; order.len()], round, order };
        let mut longer = Vec::new();
        let mut gone = Vec::new();
        for Settled { path, now, by } in settled {
            match &now {
                Becomes::This(_) | Becomes::Gone => making.hold(&by),
                Becomes::Longer(items) => {
                    for item in items {
                        making.hold(&item.by);
                    }
                    // Who said what is there already has its place too.
                    let makers = set(items.iter().flat_map(|it| it.by.iter()));
                    let others = by.iter().filter(|it| !makers.contains(*it)).copied();
                    making.hold(&others.collect::<Vec<_>>());
                }
            }
            match now {
                Becomes::This(value) => making.set(&path, value.value(), &by),
                Becomes::Longer(items) => longer.push((path, items)),
                Becomes::Gone => gone.push((path, by)),
            }
        }
        for (path, items) in longer {
            // Of no items too: it may be that nothing was there.
            making.list_at(&path);
            for item in items {
                making.append(&path, item.value.value(), &item.by);
            }
        }
        let mut shorter: BTreeMap<Vec<Step>, BTreeSet<u32>> = BTreeMap::new();
        for (path, by) in gone {
            match path.split() {
                Some((list, Step::Index(nth))) => {
                    shorter.entry(list.to_vec()).or_default().insert(*nth);
                    if list.len() > 1 {
                        making.touch(&path, &by);
                    }
                }
                _ => making.remove(&path, &by),
            }
        }
        for (list, gone) in shorter.into_iter().rev() {
            making.shrink(&list, &gone);
        }
        making
    }

    fn hold(&mut self, by: &[usize]) {
        for delta in by {
            if let Some(held) = self.held.get_mut(*delta) {
                *held = held.saturating_add(1);
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

    /// Notes that the part in which `path` lies was changed.
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
                // The whole list is one place, whichever of its items go.
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

    /// Returns the list at `path`, made where nothing is.
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

    /// Takes a member of an object out.
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

    /// Takes the items at these places out of the list at the end of `steps`, all at once:
    /// one by one each would move all that follow it.
    pub(super) fn shrink(&mut self, steps: &[Step], gone: &BTreeSet<u32>) {
        if let [Step::Name(member)] = steps
            && let Some(parts) = self.parts.list(member)
        {
            drop_items(parts, gone);
        }
        if let Some(Value::Array(items)) = find(&mut self.document, steps) {
            drop_items(items, gone);
        }
    }
}

/// Drops the items at these places.
fn drop_items<T>(items: &mut Vec<T>, gone: &BTreeSet<u32>) {
    let mut places = 0_u32..;
    items.retain(|_| places.next().is_none_or(|it| !gone.contains(&it)));
}

fn find<'a>(document: &'a mut Value, steps: &[Step]) -> Option<&'a mut Value> {
    steps.iter().try_fold(document, |here, step| match step {
        Step::Name(name) => here.as_object_mut()?.get_mut(name),
        Step::Index(nth) => here.as_array_mut()?.get_mut(usize::try_from(*nth).ok()?),
    })
}

/// Returns the object at `steps`, made where nothing is: members of an object that was
/// added are set one by one.
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
