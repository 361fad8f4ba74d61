//! What a sentence says that it leaves: `Kafka instead of RabbitMQ`.

use crate::text::words::Word;

/// Returns true if a sentence leaves a word of an earlier one, and has most of its other words:
/// `Order them per order id then, not per customer` after `Keep the order per customer`. `generic`
/// words name nothing.
pub(super) fn leaves(left: &[Word], new: &[Word], old: &[Word], generic: &[Word]) -> bool {
    let named = || left.iter().filter(|it| !generic.contains(it));
    let others = || old.iter().filter(|it| !left.contains(it));
    let common = others().filter(|it| new.contains(it)).count();
    named().next().is_some()
        && named().all(|it| old.contains(it))
        && common.saturating_mul(2) > others().count()
}

/// Returns the place of what a sentence in lower case says that it leaves: `instead of Y`, `rather
/// than Y`, `no longer Y`, `from Y to`, `not Y`.
pub(super) fn left(lower: &str) -> Option<(usize, usize)> {
    for mark in [
        "instead of ",
        "rather than ",
        "no longer ",
        ", not ",
        "replace ",
        "forget ",
        "drop ",
        "dropped ",
        "changed my mind about ",
    ] {
        if let Some(at) = lower.find(mark) {
            let from = at.saturating_add(mark.len());
            let rest = lower.get(from..).unwrap_or_default();
            let end = [",", ".", ";", " with ", " for ", " because ", " and "]
                .iter()
                .filter_map(|it| rest.find(it))
                .min()
                .unwrap_or(rest.len());
            return Some((from, from.saturating_add(end)));
        }
    }
    None
}
