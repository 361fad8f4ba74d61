//! What cannot hold together: a removal or replacement beside a change of what is below
//! it.
//!
//! # Invariant
//!
//! Of each place only those above and below it are looked at, which are found by walking
//! all paths once.

use super::{
    State,
    merge::{Becomes, Lost, Settled, Why},
};
use crate::order::sorted;

/// A settled place among the others, which are in the order of their paths.
struct Node {
    settled: Settled,
    /// Whether it leaves nothing of what is below it.
    replaces: bool,
    /// The nearest of the others above it.
    above: Option<usize>,
    /// How many of the others follow it that are below it.
    below: usize,
    is_kept: bool,
}

impl Node {
    /// Returns the first of its deltas in the order of application.
    fn first(&self) -> usize {
        self.settled.by.first().copied().unwrap_or_default()
    }

    /// Returns whether it cannot hold beside `other`, which is below it.
    fn excludes(&self, other: &Self) -> bool {
        self.replaces && !(self.is_gone() && other.is_gone())
    }

    fn is_gone(&self) -> bool {
        matches!(self.settled.now, Becomes::Gone)
    }
}

/// Keeps those of `settled`, which is in the order of its paths, that can hold together:
/// what removes or replaces a place cannot hold beside a change of what is below it.
pub(super) fn apart(settled: Vec<Settled>, state: &State, lost: &mut Vec<Lost>) -> Vec<Settled> {
    let mut nodes = nodes(settled, state);
    let first = |nth: &usize| nodes.get(*nth).map(Node::first);
    for nth in sorted((0..nodes.len()).collect(), |a, b| first(a).cmp(&first(b))) {
        let Some(it) = nodes.get(nth) else { continue };
        let mut above = it.above.and_then(|it| nodes.get(it));
        while let Some(other) = above.filter(|it| !(it.is_kept && it.replaces)) {
            above = other.above.and_then(|it| nodes.get(it));
        }
        let below = nodes.iter().skip(nth.saturating_add(1)).take(it.below);
        let below = below.filter(|other| other.is_kept && it.excludes(other));
        let loss = match above.filter(|other| other.excludes(it)) {
            Some(above) => Some((above.first(), Why::ReplacedAbove)),
            None => below.map(Node::first).min().map(|to| (to, Why::ChangedBelow)),
        };
        if let Some((to, why)) = loss {
            let path = &it.settled.path;
            lost.extend(it.settled.by.iter().map(|&delta| Lost {
                delta,
                path: path.clone(),
                to,
                why,
            }));
        } else if let Some(it) = nodes.get_mut(nth) {
            it.is_kept = true;
        }
    }
    nodes.into_iter().filter(|it| it.is_kept).map(|it| it.settled).collect()
}

/// Finds of each of `settled` which are above and below it.
fn nodes(settled: Vec<Settled>, state: &State) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    // Those above the next one, the nearest last.
    let mut above: Vec<usize> = Vec::new();
    for it in settled {
        let covers =
            |nth: &usize| nodes.get(*nth).is_some_and(|of| of.settled.path.covers(&it.path));
        while above.last().is_some_and(|nth| !covers(nth)) {
            above.pop();
        }
        for nth in &above {
            if let Some(it) = nodes.get_mut(*nth) {
                it.below = it.below.saturating_add(1);
            }
        }
        let is_new = it.path.find(&state.document).is_none();
        let replaces = match &it.now {
            Becomes::Gone => true,
            // Where nothing was, an object has room for what others put into it.
            Becomes::This(value) => !(is_new && value.as_str() == "{}"),
            Becomes::Longer(_) => is_new,
        };
        let nearest = above.last().copied();
        above.push(nodes.len());
        nodes.push(Node { settled: it, replaces, above: nearest, below: 0, is_kept: false });
    }
    nodes
}
