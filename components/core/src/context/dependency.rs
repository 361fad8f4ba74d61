//! Dependencies between items and those that are being worked on (spec 16.8).

use std::collections::BTreeMap;

use crate::{
    item::{Item, ItemRole},
    order::map,
};

/// The relation of an item to the active items, the weakest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dependency {
    /// None is known.
    #[default]
    None,
    /// A direct dependency of another, active item depends on it.
    SecondDegree,
    /// It depends on an active item.
    OnActive,
    /// An active item depends on it.
    Direct,
}

/// The active items that depend on an item.
#[derive(Clone, Copy, Default)]
enum Dependents {
    #[default]
    None,
    One(usize),
    Several,
}

/// Returns the strongest relation of each item, in the order of `items`. It visits every dependency
/// twice. Unknown ids are ignored, and circles do no harm.
pub fn dependencies(items: &[Item]) -> Vec<Dependency> {
    let mut relations = vec![Dependency::None; items.len()];
    if items.iter().all(|it| it.depends_on.is_empty()) {
        return relations;
    }
    let places: BTreeMap<&str, usize> =
        map(items.iter().enumerate().map(|(place, it)| (it.id.as_str(), place)));
    let place_of = |id: &String| places.get(id.as_str()).copied();
    let is_active = |it: &Item| it.roles.contains(&ItemRole::Active);

    let mut dependents = vec![Dependents::None; items.len()];
    for (active, it) in items.iter().enumerate().filter(|(_, it)| is_active(it)) {
        for direct in it.depends_on.iter().filter_map(place_of).filter(|it| *it != active) {
            let Some(known) = dependents.get_mut(direct) else { continue };
            *known = match *known {
                Dependents::None => Dependents::One(active),
                Dependents::One(other) if other == active => Dependents::One(active),
                _ => Dependents::Several,
            };
        }
    }

    let mut relate = |place: usize, relation: Dependency| {
        if let Some(known) = relations.get_mut(place) {
            *known = relation.max(*known);
        }
    };
    for (place, (it, dependents)) in items.iter().zip(&dependents).enumerate() {
        if !matches!(dependents, Dependents::None) {
            relate(place, Dependency::Direct);
        }
        for second in it.depends_on.iter().filter_map(place_of).filter(|it| *it != place) {
            match *dependents {
                Dependents::None => {}
                Dependents::One(active) if active == second => {}
                _ => relate(second, Dependency::SecondDegree),
            }
            if items.get(second).is_some_and(is_active) {
                relate(place, Dependency::OnActive);
            }
        }
    }
    relations
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::item::{Kind, ListedKind};

    fn item(id: usize, is_active: bool, depends_on: &[usize]) -> Item {
        let kind = Kind::Listed(ListedKind::FileExcerpt);
        let mut it = Item::inline(id.to_string(), kind, "");
        it.roles.extend(is_active.then_some(ItemRole::Active));
        it.depends_on = depends_on.iter().map(ToString::to_string).collect();
        it
    }

    fn relations(items: &[(bool, &[usize])]) -> Vec<Dependency> {
        let items: Vec<Item> = items
            .iter()
            .enumerate()
            .map(|(id, (is_active, depends_on))| item(id, *is_active, depends_on))
            .collect();
        dependencies(&items)
    }

    #[test]
    fn relations_to_the_active_items_are_found() {
        use Dependency::{Direct, None, OnActive, SecondDegree};
        // 3 → 0 (active) → 1 → 2 → 4.
        assert_eq!(
            relations(&[(true, &[1]), (false, &[2]), (false, &[4]), (false, &[0]), (false, &[])]),
            [None, Direct, SecondDegree, OnActive, None]
        );
        assert_eq!(relations(&[(false, &[1]), (false, &[])]), [None, None], "none is active");
        assert_eq!(relations(&[(true, &[9]), (false, &[7])]), [None, None], "unknown ids");
    }

    #[test]
    fn circles_do_no_harm() {
        use Dependency::{Direct, None, SecondDegree};
        assert_eq!(relations(&[(true, &[0])]), [None], "an item is not its own dependency");
        assert_eq!(relations(&[(true, &[1]), (false, &[0])]), [None, Direct]);
        assert_eq!(relations(&[(true, &[1]), (true, &[0])]), [Direct, Direct]);
        assert_eq!(
            relations(&[(true, &[1]), (false, &[0, 2]), (true, &[1])]),
            [SecondDegree, Direct, SecondDegree],
            "active items of each other's second degree"
        );
    }

    proptest! {
        /// Compares with the definitions, read one by one.
        #[test]
        fn relations_follow_their_definitions(
            graph in vec((any::<bool>(), vec(0_usize..8, 0..4)), 0..8),
        ) {
            let items: Vec<Item> =
                graph.iter().enumerate().map(|(id, (is, on))| item(id, *is, on)).collect();
            let all = || 0..graph.len();
            let is_active = |it: usize| graph[it].0;
            let needs = |a: usize, b: usize| a != b && graph[a].1.contains(&b);
            let expected: Vec<Dependency> = all()
                .map(|it| {
                    let second = all().any(|a| a != it && is_active(a)
                        && all().any(|b| needs(a, b) && needs(b, it)));
                    match () {
                        () if all().any(|a| is_active(a) && needs(a, it)) => Dependency::Direct,
                        () if all().any(|a| is_active(a) && needs(it, a)) => Dependency::OnActive,
                        () if second => Dependency::SecondDegree,
                        () => Dependency::None,
                    }
                })
                .collect();
            prop_assert_eq!(dependencies(&items), expected);
        }
    }
}
