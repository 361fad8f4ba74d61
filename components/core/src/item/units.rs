//! Units: items that are never separated, such as the call of a tool and its result.

use std::collections::BTreeMap;

use super::Item;
use crate::order::map;

/// Returns for each item the place of the first item of its unit. An item without a pair is a unit
/// by itself. Unknown ids of pairs are ignored.
pub(crate) fn units(items: &[Item]) -> Vec<usize> {
    let mut firsts: Vec<usize> = (0..items.len()).collect();
    if items.iter().all(|it| it.pair.is_none()) {
        return firsts;
    }
    let places: BTreeMap<&str, usize> =
        map(items.iter().enumerate().map(|(place, it)| (it.id.as_str(), place)));
    for (place, item) in items.iter().enumerate() {
        let Some(pair) = item.pair.as_ref().and_then(|it| places.get(it.as_str())) else {
            continue;
        };
        let (one, other) = (root(&mut firsts, place), root(&mut firsts, *pair));
        if let Some(it) = firsts.get_mut(one.max(other)) {
            *it = one.min(other);
        }
    }
    (0..items.len()).map(|place| root(&mut firsts, place)).collect()
}

/// Returns the items of each unit, in its first item's place. `units` has the first item of each
/// item's unit.
pub(crate) fn members(units: &[usize]) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); units.len()];
    for (place, unit) in units.iter().enumerate() {
        if let Some(it) = members.get_mut(*unit) {
            it.push(place);
        }
    }
    members
}

/// Returns the first item of a unit, and shortens the way to it.
fn root(firsts: &mut [usize], mut place: usize) -> usize {
    while let Some(first) = firsts.get(place).copied().filter(|it| *it != place) {
        let next = firsts.get(first).copied().unwrap_or(first);
        if let Some(it) = firsts.get_mut(place) {
            *it = next;
        }
        place = first;
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::{Kind, ListedKind};

    fn of(pairs: &[Option<usize>]) -> Vec<usize> {
        let item = |(id, pair): (usize, &Option<usize>)| {
            let mut it = Item::inline(id.to_string(), Kind::Listed(ListedKind::ToolResult), "x");
            it.pair = pair.map(|it| it.to_string());
            it
        };
        units(&pairs.iter().enumerate().map(item).collect::<Vec<_>>())
    }

    #[test]
    fn paired_items_are_one_unit() {
        assert_eq!(of(&[None, None]), [0, 1]);
        assert_eq!(of(&[None, Some(0), None]), [0, 0, 2], "a result names its call");
        assert_eq!(of(&[Some(2), None, None]), [0, 1, 0], "a result before its call");
        assert_eq!(of(&[None, Some(0), Some(0), Some(1)]), [0; 4], "several results, a chain");
        assert_eq!(of(&[Some(1), Some(2), Some(0)]), [0; 3], "a circle");
        assert_eq!(of(&[Some(7), None]), [0, 1], "an unknown id");
        let chain: Vec<_> = (0..2_000).map(|it| Some(it + 1)).collect();
        assert_eq!(of(&chain), [0; 2_000]);
    }
}
