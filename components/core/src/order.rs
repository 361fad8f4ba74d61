//! Sorting and map building, compiled once for all types. A separate sort for each item
//! type would be a tenth of the component's size.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

/// Returns `items` in the order of `compare`. The sort is stable.
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

/// Returns a map of `items`, inserted one by one: `collect` would instantiate a sort.
pub(crate) fn map<K: Ord, V>(items: impl Iterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(items);
    map
}

/// Returns a set of `items`, inserted one by one.
pub(crate) fn set<T: Ord>(items: impl Iterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    set.extend(items);
    set
}

/// Changes what a list, which is sorted by its keys, has for a key; without anything, the default.
/// A tree for each type of key and value takes more code than such a list.
pub(crate) fn entry<K: Ord, V: Default>(
    list: &mut Vec<(K, V)>,
    key: K,
    change: impl FnOnce(&mut V),
) {
    match list.binary_search_by(|it| it.0.cmp(&key)) {
        Ok(place) => {
            if let Some(it) = list.get_mut(place) {
                change(&mut it.1);
            }
        }
        Err(place) => {
            let mut value = V::default();
            change(&mut value);
            list.insert(place, (key, value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting_is_stable() {
        let words = vec!["bb", "a", "cc", "b", "aa"];
        let by_length = sorted(words, |a, b| a.len().cmp(&b.len()));
        assert_eq!(by_length, ["a", "b", "bb", "cc", "aa"]);
        assert!(sorted(Vec::<u8>::new(), Ord::cmp).is_empty());
    }

    #[test]
    fn entries_stay_in_the_order_of_their_keys() {
        let mut counts: Vec<(&str, u32)> = Vec::new();
        for word in ["b", "a", "c", "a"] {
            entry(&mut counts, word, |it| *it += 1);
        }
        assert_eq!(counts, [("a", 2), ("b", 1), ("c", 1)]);
    }
}
