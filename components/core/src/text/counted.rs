//! Scores of texts whose words were counted before: those of `bm25`, for texts that stand alone.

use super::{
    Score,
    bm25::{number, product, rarity, saturated},
    words::{Reader, Word},
};

/// A word with how often it occurs, in one number: 24 digits of the word, 8 of the count.
pub(crate) type Counted = u32;

/// A place where a term occurs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hit {
    /// The place of the text.
    pub(crate) text: u32,
    /// The place of the term.
    pub(crate) term: u32,
    /// The number of occurrences there.
    pub(crate) count: u32,
}

/// Returns the digits of a word that a [`Counted`] holds.
fn digits(word: Word) -> u32 {
    // The factor is the golden ratio in 64 digits, as Knuth hashes numbers.
    let mixed = word.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    u32::try_from(mixed >> 40).unwrap_or_default()
}

/// Returns the word of a counted word, without its count.
pub(crate) fn word_of(counted: Counted) -> u32 {
    counted >> 8
}

/// Returns the different words of `text` with their counts, sorted, and how many words it has.
pub(crate) fn count(reader: &mut Reader, text: &str) -> (Vec<Counted>, u32) {
    let mut words = Vec::new();
    reader.read(text, &mut words);
    let mut digits: Vec<u32> = words.into_iter().map(digits).collect();
    digits.sort_unstable();
    let total = u32::try_from(digits.len()).unwrap_or(u32::MAX);
    let mut counted: Vec<Counted> = Vec::new();
    for word in digits {
        match counted.last_mut() {
            Some(last) if word_of(*last) == word => {
                if *last & 0xFF < 0xFF {
                    *last = last.saturating_add(1);
                }
            }
            _ => counted.push(word << 8 | 1),
        }
    }
    (counted, total)
}

/// Returns the different words of `text`, as in a [`Counted`], sorted.
pub(crate) fn terms(reader: &mut Reader, text: &str) -> Vec<u32> {
    let (counted, _) = count(reader, text);
    counted.into_iter().map(word_of).collect()
}

/// Calls `visit` with the place and the count of each of `terms` that is one of `words`, which are
/// counted words as bytes. Both are sorted.
pub(crate) fn each_common(words: &[[u8; 4]], terms: &[u32], mut visit: impl FnMut(usize, u32)) {
    let mut rest = words;
    for (place, term) in terms.iter().enumerate() {
        let at = rest.partition_point(|it| word_of(u32::from_le_bytes(*it)) < *term);
        rest = rest.get(at..).unwrap_or_default();
        let Some(first) = rest.first().map(|it| u32::from_le_bytes(*it)) else { return };
        if word_of(first) == *term {
            visit(place, first & 0xFF);
        }
    }
}

/// Returns the score of each text, whose words are `lengths`, divided by the best. A term and a text
/// have at most one hit.
pub(crate) fn scores(lengths: &[u32], terms: usize, hits: &[Hit]) -> Vec<Score> {
    let texts = number(lengths.len());
    let words = lengths.iter().fold(0_u64, |sum, it| sum.saturating_add((*it).into()));
    let place = |it: u32| usize::try_from(it).unwrap_or(usize::MAX);
    let mut frequencies = vec![0_u64; terms];
    for hit in hits {
        if let Some(it) = frequencies.get_mut(place(hit.term)) {
            *it = it.saturating_add(1);
        }
    }
    let rarities: Vec<u64> = frequencies.into_iter().map(|it| rarity(it, texts)).collect();
    let mut scores = vec![0_u64; lengths.len()];
    for hit in hits {
        let rarity = rarities.get(place(hit.term)).copied().unwrap_or_default();
        let length = lengths.get(place(hit.text)).copied().unwrap_or_default();
        let more = product(rarity, saturated(hit.count.into(), length.into(), words, texts));
        // A term that nearly all of many texts have is no reason to leave out those that have it.
        let more = more.max(1);
        if let Some(it) = scores.get_mut(place(hit.text)) {
            *it = it.saturating_add(more);
        }
    }
    let best = scores.iter().copied().max().unwrap_or_default();
    scores.into_iter().map(|it| Score::ratio(it, best)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(query: &str, texts: &[&str]) -> Vec<u16> {
        let mut reader = Reader::default();
        let terms = terms(&mut reader, query);
        let (mut lengths, mut hits) = (Vec::new(), Vec::new());
        for (text, it) in (0..).zip(texts) {
            let (counted, total) = count(&mut reader, it);
            lengths.push(total);
            for word in counted {
                if let Ok(term) = terms.binary_search(&word_of(word)) {
                    let term = u32::try_from(term).unwrap();
                    hits.push(Hit { text, term, count: word & 0xFF });
                }
            }
        }
        scores(&lengths, terms.len(), &hits).into_iter().map(|it| it.0).collect()
    }

    #[test]
    fn rare_words_count_more_and_long_texts_less() {
        let texts = ["the pool", "a timeout", "in pool", "pool of many other things", "nothing"];
        let found = scored("pool timeout", &texts);
        let [common, rare, same, long, none] = found[..] else { unreachable!() };
        assert_eq!(rare, 10_000);
        assert!(rare > common && common == same && same > long && long > none);
        assert_eq!(none, 0);
    }

    #[test]
    fn a_repeated_word_counts_once_more() {
        let found = scored("cache", &["cache cache miss", "cache one miss", ""]);
        assert!(found[0] > found[1] && found[2] == 0);
        assert_eq!(scored("of the", &["of", "the"]), [0, 0]);
    }

    /// A word that all of very many texts have had the weight 0, and a search for it found nothing.
    #[test]
    fn a_word_that_all_texts_have_still_counts() {
        let hits: Vec<Hit> = (0..50_000).map(|text| Hit { text, term: 0, count: 1 }).collect();
        assert!(scores(&vec![3; 50_000], 1, &hits).iter().all(|it| *it == Score::ONE));
    }

    #[test]
    fn a_count_stops_at_255() {
        let (counted, total) = count(&mut Reader::default(), &"x ".repeat(1_000));
        assert_eq!((counted.len(), counted[0] & 0xFF, total), (1, 255, 1_000));
    }
}
