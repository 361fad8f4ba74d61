//! Scores of texts for weighted words, after Robertson and Zaragoza, "The Probabilistic Relevance
//! Framework: BM25 and Beyond" (2009), with `k1` 1.2 and `b` 0.75.
//!
//! Texts of a group, such as the turns of a conversation, have neighbours. A text is often
//! understood from the texts around it, so a word also counts where it is one or two places away. A
//! word that a whole group is about counts for all its texts.
//!
//! All numbers are fixed-point with 16 binary digits.

use super::words::{Reader, Word};

/// The number 1.
pub(super) const ONE: u64 = 1 << BITS;
const BITS: u32 = 16;

/// About how many bytes a word takes in a text, with what is around it.
pub(super) const WORD_BYTES: usize = 6;

/// A count above this changes a score by less than 1 %.
const COUNT_MAX: u64 = 255;

/// The distances of neighbours, and how often their score is halved.
const NEIGHBOURS: [(isize, u32); 4] = [(-2, 2), (-1, 1), (1, 1), (2, 2)];

/// The texts of a call, as words. Texts of a group stand together, in their order.
#[derive(Debug, Default)]
pub(super) struct Corpus {
    words: Vec<Word>,
    texts: Vec<Text>,
    /// The number of words in each group.
    groups: Vec<u64>,
    reader: Reader,
}

#[derive(Debug, Clone, Copy)]
struct Text {
    start: usize,
    end: usize,
    group: Option<usize>,
}

/// Words to look for, sorted.
#[derive(Debug)]
pub(super) struct Terms {
    words: Vec<Word>,
    /// One bit for the first digits of each word, to skip most other words of a text at once.
    filter: [u64; 64],
}

/// A place where a word occurs, and how often.
#[derive(Debug, Clone, Copy)]
struct Place {
    text: usize,
    count: u64,
}

impl Terms {
    /// Takes words that are sorted and different.
    pub(super) fn new(words: Vec<Word>) -> Self {
        let mut filter = [0; 64];
        for (index, bit) in words.iter().map(|it| bit(*it)) {
            if let Some(bits) = filter.get_mut(index) {
                *bits |= bit;
            }
        }
        Self { words, filter }
    }

    pub(super) fn words(&self) -> &[Word] {
        &self.words
    }

    /// Returns the place of `word` among these.
    pub(super) fn find(&self, word: Word) -> Option<usize> {
        let (index, bit) = bit(word);
        let may_be = self.filter.get(index).is_some_and(|it| it & bit != 0);
        if may_be { self.words.binary_search(&word).ok() } else { None }
    }
}

/// Returns where a filter has the bit of `word`.
fn bit(word: Word) -> (usize, u64) {
    (usize::from(word.to_be_bytes()[0] & 63), 1 << (word & 63))
}

impl Corpus {
    /// Creates a corpus for texts of so many bytes together, with room for their words.
    pub(super) fn with_bytes(bytes: usize) -> Self {
        Self { words: Vec::with_capacity(bytes / WORD_BYTES), ..Self::default() }
    }

    /// Adds a text. A group is numbered from 0 in the order of addition.
    pub(super) fn push(&mut self, text: &str, group: Option<usize>) {
        let start = self.words.len();
        self.reader.read(text, &mut self.words);
        let end = self.words.len();
        self.texts.push(Text { start, end, group });
        if let Some(group) = group {
            if group >= self.groups.len() {
                self.groups.resize(group.saturating_add(1), 0);
            }
            if let Some(words) = self.groups.get_mut(group) {
                *words = words.saturating_add(number(end.saturating_sub(start)));
            }
        }
    }

    /// Returns the words of the text at `index`.
    pub(super) fn words(&self, index: usize) -> &[Word] {
        let text = self.texts.get(index);
        text.and_then(|it| self.words.get(it.start..it.end)).unwrap_or_default()
    }

    /// Returns the different words of `text`, which is not a part of the corpus.
    pub(super) fn terms(&mut self, text: &str) -> Terms {
        Terms::new(self.reader.distinct(text))
    }

    /// Returns in how many texts each term occurs.
    pub(super) fn frequencies(&self, terms: &Terms) -> Vec<u64> {
        let mut found = vec![(0_u64, 0_usize); terms.words.len()];
        for index in 0..self.texts.len() {
            for place in self.words(index).iter().filter_map(|it| terms.find(*it)) {
                let Some((count, last)) = found.get_mut(place) else { continue };
                if *last != index.saturating_add(1) {
                    *count = count.saturating_add(1);
                    *last = index.saturating_add(1);
                }
            }
        }
        found.into_iter().map(|(count, _)| count).collect()
    }

    /// Returns how rare a word is that occurs in `frequency` of the texts.
    pub(super) fn rarity(&self, frequency: u64) -> u64 {
        rarity(frequency, number(self.texts.len()))
    }

    /// Returns the score of each text for `terms`, each weighted by the number beside it; `ONE` is
    /// missing at the end. With `groups`, the score of a group counts half for each text of it.
    pub(super) fn scores(&self, terms: &Terms, weights: &[u64], groups: bool) -> Vec<u64> {
        let mut scores = vec![0_u64; self.texts.len()];
        let mut group_scores = vec![0_u64; self.groups.len()];
        let mut near = vec![0_u64; self.texts.len()];
        for (nth, places) in self.places(terms).iter().enumerate() {
            let weight = weights.get(nth).copied().unwrap_or(ONE);
            let own = self.score_texts(places, weight);
            for (place, score) in places.iter().zip(&own) {
                add(&mut scores, place.text, *score);
                self.each_neighbour(place.text, |index, halvings| {
                    if let Some(it) = near.get_mut(index) {
                        *it = (*it).max(score >> halvings);
                    }
                });
            }
            for place in places {
                self.each_neighbour(place.text, |index, _| {
                    add(&mut scores, index, near.get_mut(index).map_or(0, std::mem::take));
                });
            }
            if groups && self.groups.len() > 1 {
                self.score_groups(places, weight, &mut group_scores);
            }
        }
        for (score, text) in scores.iter_mut().zip(&self.texts) {
            let group = text.group.and_then(|it| group_scores.get(it)).copied().unwrap_or(0);
            *score = score.saturating_add(group / 2);
        }
        scores
    }

    /// Returns where each term occurs, in the order of the texts.
    fn places(&self, terms: &Terms) -> Vec<Vec<Place>> {
        let mut places: Vec<Vec<Place>> = Vec::new();
        places.resize_with(terms.words.len(), Vec::new);
        for text in 0..self.texts.len() {
            for term in self.words(text).iter().filter_map(|it| terms.find(*it)) {
                let Some(list) = places.get_mut(term) else { continue };
                match list.last_mut() {
                    Some(last) if last.text == text => last.count = last.count.saturating_add(1),
                    _ => list.push(Place { text, count: 1 }),
                }
            }
        }
        places
    }

    fn score_texts(&self, places: &[Place], weight: u64) -> Vec<u64> {
        let texts = number(self.texts.len());
        let rarity = product(weight, rarity(number(places.len()), texts));
        let words = number(self.words.len());
        let score = |it: &Place| {
            let length = number(self.words(it.text).len());
            product(rarity, saturated(it.count, length, words, texts))
        };
        places.iter().map(score).collect()
    }

    fn score_groups(&self, places: &[Place], weight: u64, scores: &mut [u64]) {
        let mut found: Vec<(usize, u64)> = Vec::new();
        for place in places {
            let Some(group) = self.texts.get(place.text).and_then(|it| it.group) else { continue };
            match found.last_mut() {
                Some((last, count)) if *last == group => *count = count.saturating_add(place.count),
                _ => found.push((group, place.count)),
            }
        }
        let groups = number(self.groups.len());
        let rarity = product(weight, rarity(number(found.len()), groups));
        let words = self.groups.iter().fold(0_u64, |sum, it| sum.saturating_add(*it));
        for (group, count) in found {
            let length = self.groups.get(group).copied().unwrap_or(0);
            add(scores, group, product(rarity, saturated(count, length, words, groups)));
        }
    }

    /// Calls `visit` with each neighbour of a text, and with how often its score is halved.
    fn each_neighbour(&self, index: usize, mut visit: impl FnMut(usize, u32)) {
        let group_of = |index: usize| self.texts.get(index).and_then(|it| it.group);
        let Some(group) = group_of(index) else { return };
        for (offset, halvings) in NEIGHBOURS {
            let neighbour = index.checked_add_signed(offset);
            if let Some(neighbour) = neighbour.filter(|it| group_of(*it) == Some(group)) {
                visit(neighbour, halvings);
            }
        }
    }
}

fn add(scores: &mut [u64], index: usize, more: u64) {
    if let Some(it) = scores.get_mut(index) {
        *it = it.saturating_add(more);
    }
}

pub(super) fn number(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

pub(super) fn product(a: u64, b: u64) -> u64 {
    a.saturating_mul(b) >> BITS
}

/// Returns how rare a word is that occurs in `frequency` of `texts`: the binary logarithm of
/// `(texts + 1) / (frequency + 0.5)`. The factor to the natural logarithm is the same for all words.
pub(super) fn rarity(frequency: u64, texts: u64) -> u64 {
    let doubled = |it: u64, more: u64| log2(it.saturating_mul(2).saturating_add(more));
    doubled(texts, 2).saturating_sub(doubled(frequency, 1))
}

/// Returns `count × (k1 + 1) / (count + k1 × (1 − b + b × length / average))` for texts of `words`
/// words in all, at most 2.2.
pub(super) fn saturated(count: u64, length: u64, words: u64, texts: u64) -> u64 {
    // Both sides of the fraction are multiplied by ten times the words.
    let count = count.min(COUNT_MAX).saturating_mul(words);
    let relative = length.saturating_mul(texts).saturating_mul(9);
    let below = count.saturating_mul(10).saturating_add(words.saturating_mul(3));
    let above = count.saturating_mul(22).saturating_mul(ONE);
    above.checked_div(below.saturating_add(relative)).unwrap_or(0)
}

/// Returns the binary logarithm of `value`, which is above 0.
fn log2(value: u64) -> u64 {
    let zeros = value.leading_zeros().min(63);
    // Between 1 and 2, with 31 binary digits. Its square has a second digit before the point when
    // the next digit of the logarithm is 1.
    let mut rest = (value << zeros) >> 32;
    let mut result = u64::from(63_u32.saturating_sub(zeros));
    for _ in 0..BITS {
        rest = (rest * rest) >> 31;
        let digit = rest >> 32;
        rest >>= digit;
        result = result << 1 | digit;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the formulas in floating point.
    #[test]
    fn numbers_agree_with_the_formulas() {
        let float = |it: u64| f64::from(u32::try_from(it).unwrap());
        let fixed = |it: u64| float(it) / float(ONE);
        for value in [1, 2, 3, 7, 10, 1_000, 123_456_789] {
            assert!((fixed(log2(value)) - float(value).log2()).abs() < 0.001, "{value}");
        }
        assert_eq!(log2(u64::MAX) >> BITS, 63);
        for (count, length, words, texts) in
            [(1, 10, 100, 10), (3, 7, 1_000, 40), (255, 1, 5, 5), (1, 1_000_000, 1_000_001, 2)]
        {
            let average = float(words) / float(texts);
            let k = 1.2 * (0.25 + 0.75 * float(length) / average);
            let exact = float(count) * 2.2 / (float(count) + k);
            let found = fixed(saturated(count, length, words, texts));
            assert!((found - exact).abs() < 0.001, "{found} {exact}");
        }
        assert_eq!(saturated(1, 0, 0, 0), 0);
        assert!(saturated(u64::MAX, u64::MAX, u64::MAX, u64::MAX) <= 3 * ONE);
    }

    #[test]
    fn terms_find_only_their_words() {
        let mut words: Vec<Word> = (1..100).map(|it: u64| it.wrapping_mul(0x9E37_79B9)).collect();
        words.sort_unstable();
        let terms = Terms::new(words.clone());
        assert!(words.iter().all(|it| terms.find(*it).is_some()));
        assert!(words.iter().all(|it| terms.find(it ^ 1).is_none()));
    }
}
