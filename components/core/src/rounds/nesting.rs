//! Resolves conflicts between nested paths: a removal or replacement conflicts with a
//! change below it.
//!
//! # Invariant
//!
//! Each path is compared only with those above and below it, which a single walk over all
//! paths finds.

use super::{
    State,
    merge::{LostClaim, Outcome, Resolution, Why},
};
use crate::order::sorted;

/// A resolution among the others, which are ordered by path.
struct Node {
    resolution: Resolution,
    /// True if it removes everything below it.
    replaces: bool,
    /// The index of the nearest other node above it.
    above: Option<usize>,
    /// The number of following nodes that are below it.
    below: usize,
    is_kept: bool,
}

impl Node {
    /// Returns its first delta in the order of application.
    fn first(&self) -> usize {
        self.resolution.by.first().copied().unwrap_or_default()
    }

    /// Returns true if it conflicts with `other`, which is below it.
    fn excludes(&self, other: &Self) -> bool {
        self.replaces && !(self.is_removal() && other.is_removal())
    }

    fn is_removal(&self) -> bool {
        matches!(self.resolution.outcome, Outcome::Remove)
    }
}

/// Returns the `resolutions`, ordered by path, that can hold together. Adds the others to
/// `lost`: a removal or replacement conflicts with a change below it.
pub(super) fn resolve_nesting(
    resolutions: Vec<Resolution>,
    state: &State,
    lost: &mut Vec<LostClaim>,
) -> Vec<Resolution> {
    let mut nodes = nodes(resolutions, state);
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
            let path = &it.resolution.path;
            lost.extend(it.resolution.by.iter().map(|&delta| LostClaim {
                delta,
                path: path.clone(),
                to,
                why,
            }));
        } else if let Some(it) = nodes.get_mut(nth) {
            it.is_kept = true;
        }
    }
    nodes.into_iter().filter(|it| it.is_kept).map(|it| it.resolution).collect()
}

/// Returns a node for each of `resolutions`, with the nodes above and below it.
fn nodes(resolutions: Vec<Resolution>, state: &State) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    // The nodes above the next one, nearest last.
    let mut above: Vec<usize> = Vec::new();
    for it in resolutions {
        let covers =
            |nth: &usize| nodes.get(*nth).is_some_and(|of| of.resolution.path.covers(&it.path));
        while above.last().is_some_and(|nth| !covers(nth)) {
            above.pop();
        }
        for nth in &above {
            if let Some(it) = nodes.get_mut(*nth) {
                it.below = it.below.saturating_add(1);
            }
        }
        let is_new = it.path.find(&state.document).is_none();
        let replaces = match &it.outcome {
            Outcome::Remove => true,
            // A new empty object leaves room for members from other deltas.
            Outcome::Set(value) => !(is_new && value.as_str() == "{}"),
            Outcome::Append(_) => is_new,
        };
        let nearest = above.last().copied();
        above.push(nodes.len());
        nodes.push(Node { resolution: it, replaces, above: nearest, below: 0, is_kept: false });
    }
    nodes
}
