//! Sorting, and filling maps, once for all types: a sort of its own for each type of
//! item would be a tenth of the component.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

/// `items` in the order of `compare`; those that are equal stay as they are.
pub(crate) fn sorted<T>(items: Vec<T>, compare: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    let mut places: Vec<usize> = (0..items.len()).collect();
    sort(&mut places, &|a, b| match (items.get(a), items.get(b)) {
        (Some(a), Some(b)) => compare(a, b),
        _ => Ordering::Equal,
    });
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    places.into_iter().filter_map(|it| items.get_mut(it)?.take()).collect()
}

fn sort(places: &mut [usize], compare: &dyn Fn(usize, usize) -> Ordering) {
    places.sort_by(|a, b| compare(*a, *b));
}

/// Returns a map of these, put in one by one: collecting would sort them.
pub(crate) fn map<K: Ord, V>(items: impl Iterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(items);
    map
}

/// Returns a set of these, put in one by one.
pub(crate) fn set<T: Ord>(items: impl Iterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    set.extend(items);
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_equal_stays_in_its_order() {
        let words = vec!["bb", "a", "cc", "b", "aa"];
        let by_length = sorted(words, |a, b| a.len().cmp(&b.len()));
        assert_eq!(by_length, ["a", "b", "bb", "cc", "aa"]);
        assert!(sorted(Vec::<u8>::new(), Ord::cmp).is_empty());
    }
}
