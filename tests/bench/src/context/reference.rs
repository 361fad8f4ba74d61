//! Plain rankings to compare with: BM25 of stemmed words, with and without a share of the neighbours
//! and the session, and of whole sessions.

use std::collections::{BTreeMap, BTreeSet};

use rust_stemmers::{Algorithm, Stemmer};

/// Words that do not describe the subject of a text.
const STOP_WORDS: &str = "a an and are as at be been but by did do does for from had has have he her his how i in is \
    it its me my of on or our she so that the their them they this to was we were what when where \
    which who why will with would you your s t";
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// The words of texts.
#[derive(Debug)]
pub(super) struct Texts(Vec<BTreeMap<String, f64>>);

impl Texts {
    pub(super) fn new(texts: &[String]) -> Self {
        Self(texts.iter().map(|it| words(it)).collect())
    }

    /// Returns the score of each text for a question.
    pub(super) fn scores(&self, question: &str) -> Vec<f64> {
        let texts = float(self.0.len());
        let length = |it: &BTreeMap<String, f64>| it.values().sum::<f64>();
        let average = self.0.iter().map(length).sum::<f64>() / texts;
        let mut scores = vec![0.0; self.0.len()];
        for word in words(question).keys() {
            let found = float(self.0.iter().filter(|it| it.contains_key(word)).count());
            let rarity = (1.0 + (texts - found + 0.5) / (found + 0.5)).ln();
            for (score, text) in scores.iter_mut().zip(&self.0) {
                let count = text.get(word).copied().unwrap_or(0.0);
                let norm = K1 * (1.0 - B + B * length(text) / average);
                *score += rarity * count * (K1 + 1.0) / (count + norm);
            }
        }
        scores
    }
}

/// Adds half the score of the better neighbour in the session, and half that of the session.
pub(super) fn with_context(session_of: &[usize], scores: &[f64], sessions: &[f64]) -> Vec<f64> {
    let of = |place: usize| scores.get(place).copied().unwrap_or(0.0);
    let in_context = |(place, session): (usize, &usize)| {
        let beside = [place.wrapping_sub(1), place + 1];
        let near = beside.into_iter().filter(|it| session_of.get(*it) == Some(session));
        let near = near.map(of).fold(0.0, f64::max);
        of(place) + near / 2.0 + sessions.get(*session).copied().unwrap_or(0.0) / 2.0
    };
    session_of.iter().enumerate().map(in_context).collect()
}

/// Returns the places of `scores`, the highest first. Of equal scores the first comes first.
pub(super) fn ranked(scores: &[f64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..scores.len()).collect();
    let score = |place: usize| scores.get(place).copied().unwrap_or(0.0);
    places.sort_by(|a, b| score(*b).total_cmp(&score(*a)));
    places
}

fn words(text: &str) -> BTreeMap<String, f64> {
    let stemmer = Stemmer::create(Algorithm::English);
    let stop: BTreeSet<&str> = STOP_WORDS.split(' ').collect();
    let mut counts = BTreeMap::new();
    let lower = text.to_lowercase();
    for word in lower.split(|c: char| !c.is_alphanumeric()) {
        if !word.is_empty() && !stop.contains(word) {
            *counts.entry(stemmer.stem(word).into_owned()).or_insert(0.0) += 1.0;
        }
    }
    counts
}

pub(super) fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
