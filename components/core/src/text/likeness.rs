//! Texts that repeat each other: the similarity of two texts, and the repetitions among many.
//!
//! Texts of one normal form (`normal`) are equal. Else their likeness is that of Dice over pairs of
//! adjacent words: twice the pairs in common, divided by the pairs of both.
//!
//! # Bound
//!
//! [`repetitions`] never compares all texts with all. Each text is compared with at most
//! [`COMPARED_MAX`] others: those that share one of its rarest pairs and are about as long. A pair
//! of texts above the threshold always shares one (the prefix filter of Chaudhuri, Ganti and
//! Kaushik, 2006), so only a text with more such rivals may miss its like.

use super::{
    Score,
    bm25::{WORD_BYTES, number},
    normal,
    words::DIGEST_OF_NOTHING,
};

/// The most other texts that a text is compared with.
pub const COMPARED_MAX: usize = 32;
/// The most entries of the index that a text reads.
const STEPS_MAX: usize = 1_024;
/// Slots of the index and of the counts, a power of two.
const SLOTS: usize = 1 << 14;

/// A text repeats another if their likeness is above this.
pub const REPEATED_ABOVE: Score = Score(8_500);

/// Returns how alike two texts are, between 0 and 1. Time is linear in their bytes, apart from
/// sorting.
///
/// ```
/// use shared_context_core::text::{Score, likeness};
///
/// assert_eq!(likeness("12:00:01 Tests passed", "12:07:44 tests  passed"), Score::ONE);
/// assert_eq!(likeness("a b c", "a b d"), Score(5_000));
/// ```
pub fn likeness(a: &str, b: &str) -> Score {
    let mut pairs = Pairs::default();
    pairs.push(a);
    pairs.push(b);
    let is_equal = pairs.text(0).digest == pairs.text(1).digest;
    pairs.sort(0);
    pairs.sort(1);
    if is_equal { Score::ONE } else { dice(pairs.of(0), pairs.of(1)) }
}

/// Returns for each text the place of the text that it repeats, if any. The last of texts that
/// repeat each other is the one that the others repeat; it repeats none.
pub fn repetitions(texts: &[&str]) -> Vec<Option<usize>> {
    repetitions_where(texts, &|_, _| true)
}

/// Returns what [`repetitions`] does, of texts of which one may repeat another that is only like it
/// if `may_repeat` says so of their places.
pub(crate) fn repetitions_where(
    texts: &[&str],
    may_repeat: &dyn Fn(usize, usize) -> bool,
) -> Vec<Option<usize>> {
    let bytes = texts.iter().map(|it| it.len()).fold(0, usize::saturating_add);
    let mut pairs = Pairs { all: Vec::with_capacity(bytes / WORD_BYTES), texts: Vec::new() };
    for text in texts {
        pairs.push(text);
    }
    pairs.order_by_rarity();
    let mut index = Index::default();
    let mut found = vec![None; texts.len()];
    // The text for which each text was compared last.
    let mut compared = vec![None; texts.len()];
    for place in (0..texts.len()).rev() {
        pairs.sort(place);
        let repeated = find((&pairs, may_repeat), &index, &mut compared, place);
        if repeated.is_none() {
            pairs.keys(place).for_each(|it| index.insert(it, place));
        }
        if let Some(it) = found.get_mut(place) {
            *it = repeated;
        }
    }
    found
}

/// Returns a text of `index` that the one at `place` repeats.
fn find(
    (pairs, may_repeat): (&Pairs, &dyn Fn(usize, usize) -> bool),
    index: &Index,
    compared: &mut [Option<usize>],
    place: usize,
) -> Option<usize> {
    let (mut comparisons, mut steps) = (0, 0);
    let own = pairs.text(place);
    for key in pairs.keys(place) {
        for other in index.find(key) {
            steps += 1;
            if steps > STEPS_MAX || comparisons >= COMPARED_MAX {
                return None;
            }
            let Some(other) = other else { continue };
            let last = compared.get_mut(other)?;
            if last.replace(place) == Some(place) {
                continue;
            }
            if pairs.text(other).digest == own.digest {
                return Some(other);
            }
            let (a, b) = (pairs.of(place), pairs.of(other));
            // Shorter than 17/23 of the other: even if it is all in it, the likeness is too small.
            let (short, long) = (a.len().min(b.len()), a.len().max(b.len()));
            if short.saturating_mul(23) < long.saturating_mul(17) {
                continue;
            }
            comparisons += 1;
            if dice(a, b) > REPEATED_ABOVE && may_repeat(place, other) {
                return Some(other);
            }
        }
    }
    None
}

/// Returns the likeness of two sorted lists of pairs.
fn dice(a: &[u64], b: &[u64]) -> Score {
    let (mut left, mut right) = (a, b);
    let mut common: u64 = 0;
    while let ([first, a @ ..], [second, b @ ..]) = (left, right) {
        if first == second {
            common = common.saturating_add(1);
        }
        if first <= second {
            left = a;
        }
        if second <= first {
            right = b;
        }
    }
    Score::ratio(common.saturating_mul(2), number(a.len().saturating_add(b.len())))
}

/// Pairs of adjacent words of texts, as digests.
#[derive(Debug, Default)]
struct Pairs {
    all: Vec<u64>,
    texts: Vec<Text>,
}

/// The pairs of a text, and the digest of its normal form.
#[derive(Debug, Default, Clone, Copy)]
struct Text {
    start: usize,
    end: usize,
    digest: u64,
}

impl Pairs {
    fn push(&mut self, text: &str) {
        let start = self.all.len();
        let mut digest = DIGEST_OF_NOTHING;
        let mut last = None;
        normal::tokens(text, |token| {
            digest = mixed(digest, token);
            if let Some(last) = last.replace(token) {
                self.all.push(mixed(mixed(DIGEST_OF_NOTHING, last), token));
            }
        });
        self.texts.push(Text { start, end: self.all.len(), digest });
    }

    fn text(&self, place: usize) -> Text {
        self.texts.get(place).copied().unwrap_or_default()
    }

    /// Returns the pairs of a text.
    fn of(&self, place: usize) -> &[u64] {
        let text = self.text(place);
        self.all.get(text.start..text.end).unwrap_or_default()
    }

    fn sort(&mut self, place: usize) {
        let text = self.text(place);
        if let Some(pairs) = self.all.get_mut(text.start..text.end) {
            pairs.sort_unstable();
        }
    }

    /// Replaces the first 16 bits of each pair by how often it occurs, about. Then rare pairs sort
    /// before frequent ones, in the same order in all texts.
    fn order_by_rarity(&mut self) {
        let mut counts = vec![0_u64; SLOTS];
        for pair in &self.all {
            if let Some(count) = counts.get_mut(slot(*pair)) {
                *count = count.saturating_add(1).min(0xFFFF);
            }
        }
        for pair in &mut self.all {
            let count = counts.get(slot(*pair)).copied().unwrap_or_default();
            *pair = count << 48 | *pair >> 16;
        }
    }

    /// Returns what the index knows a text by: its normal form, and its rarest pairs, sorted. Texts
    /// above the threshold have more than 17/23 of their pairs in common, so that they share one of
    /// the other 6/23 and one more.
    fn keys(&self, place: usize) -> impl Iterator<Item = u64> {
        let pairs = self.of(place);
        let common = pairs.len().saturating_mul(17) / 23;
        let rarest = pairs.iter().take(pairs.len().saturating_sub(common)).copied();
        std::iter::once(self.text(place).digest).chain(rarest)
    }
}

/// Texts by keys.
#[derive(Debug)]
struct Index {
    /// The number of the newest entry of each slot, from 1; 0 for none.
    newest: Vec<usize>,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    key: u64,
    text: usize,
    /// The number of the entry before it in its slot.
    before: usize,
}

impl Default for Index {
    fn default() -> Self {
        Self { newest: vec![0; SLOTS], entries: Vec::new() }
    }
}

impl Index {
    fn insert(&mut self, key: u64, text: usize) {
        let Some(newest) = self.newest.get_mut(slot(key)) else { return };
        self.entries.push(Entry { key, text, before: *newest });
        *newest = self.entries.len();
    }

    /// Returns the texts with `key`, and `None` for each other entry that was looked at.
    fn find(&self, key: u64) -> impl Iterator<Item = Option<usize>> {
        let entry = |number: usize| self.entries.get(number.checked_sub(1)?);
        let newest = self.newest.get(slot(key)).copied().unwrap_or_default();
        let entries = std::iter::successors(entry(newest), move |it| entry(it.before));
        entries.map(move |it| (it.key == key).then_some(it.text))
    }
}

/// Returns the slot of a digest.
fn slot(digest: u64) -> usize {
    let mixed = digest ^ (digest >> 20);
    usize::try_from(mixed & (number(SLOTS) - 1)).unwrap_or_default()
}

/// Returns `digest` with one more token. Different tokens give different digests.
fn mixed(digest: u64, more: u64) -> u64 {
    // The factor is that of Knuth's random numbers (MMIX).
    let product = (digest ^ more).wrapping_mul(0x5851_F42D_4C95_7F2D);
    product ^ (product >> 32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn likeness_counts_pairs_of_words() {
        for (a, b, expected) in [
            ("", "", 10_000),
            ("a", "b", 0),
            ("a", "A", 10_000),
            ("a b", "b a", 0),
            ("a b c d", "a b c d e", 8_571),
            ("la la la", "la la", 6_666),
        ] {
            assert_eq!(likeness(a, b), Score(expected), "{a:?} {b:?}");
        }
    }

    #[test]
    fn the_newest_of_repetitions_stays() {
        let long = "one two three four five six seven eight nine ten eleven twelve thirteen";
        let longer = format!("{long} fourteen");
        let texts = ["OK", long, "else", &longer, "ok", "", "14:00:00 ok", " "];
        let expected = [Some(6), Some(3), None, None, Some(6), Some(7), None, None];
        assert_eq!(repetitions(&texts), expected);
    }

    /// All texts share most pairs, so the index alone cannot distinguish them.
    #[test]
    fn ten_thousand_texts_of_one_template_are_compared_soon() {
        let template = "status of the job is done with no errors and the next step is";
        let texts: Vec<String> =
            (0..10_000).map(|it| format!("{it} x{it} y{it} {template}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let found = repetitions(&texts);
        assert_eq!(found.last(), Some(&None));
    }

    proptest! {
        #[test]
        fn likeness_is_symmetric_and_bounded(a in "[a-c ]{0,40}|\\PC{0,20}", b in "[a-c ]{0,40}") {
            let found = likeness(&a, &b);
            prop_assert!(found <= Score::ONE);
            prop_assert_eq!(found, likeness(&b, &a));
            prop_assert_eq!(likeness(&a, &a), Score::ONE);
        }

        /// Compares with a plain reference that compares each text with all that stay. What repeats
        /// several may name any of them.
        #[test]
        fn repetitions_are_those_of_all_pairs(texts in proptest::collection::vec("([ab] ){0,14}", 0..12)) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let found = repetitions(&texts);
            for (place, repeated) in found.iter().enumerate() {
                let newer = place + 1..texts.len();
                let likes = |it: usize| likeness(texts[place], texts[it]) > REPEATED_ABOVE;
                match repeated {
                    Some(it) => {
                        prop_assert!(newer.contains(it) && likes(*it) && found[*it].is_none());
                    }
                    None => prop_assert!(!newer.into_iter().any(|it| found[it].is_none() && likes(it))),
                }
            }
        }
    }
}
