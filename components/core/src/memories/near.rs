//! The rows `n/`: for each memory the digest of its text and its sketch. With them, repetitions of
//! a new memory are found without reading all memories (decision 0050).

use crate::{
    Error,
    row::{FORMAT, damaged},
    text::sketch::Sketch,
};

/// The number of memories in a page.
const PAGE: u64 = 1_024;
/// The prefix of the rows of pages.
pub(crate) const PAGES: &str = "n/";
/// The bytes of a memory in a page.
const SLOT: usize = 20;

/// The digest and the sketch of a memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Near {
    /// The first 32 bits of the digest.
    pub(crate) digest: u32,
    /// The sketch.
    pub(crate) sketch: Sketch,
}

impl Near {
    /// Returns what a memory with this digest (`sha256:…`), title and text is found by.
    pub(crate) fn new(digest: &str, title: &str, text: &str) -> Self {
        let digits = digest.get(7..15).unwrap_or_default();
        // 0 means no memory.
        let digest = u32::from_str_radix(digits, 16).unwrap_or_default().max(1);
        Self { digest, sketch: Sketch::new(title, text) }
    }
}

/// The digests and sketches of all memories.
#[derive(Debug, Default)]
pub(crate) struct Index {
    slots: Vec<Near>,
    /// The pages that changed.
    changed: Vec<u64>,
}

/// Returns the name of the row of a page.
pub(crate) fn page_row(page: u64) -> String {
    format!("{PAGES}{page:04x}")
}

impl Index {
    /// Decodes the rows of pages.
    pub(crate) fn decode(rows: &[(String, Vec<u8>)]) -> Result<Self, Error> {
        let mut index = Self::default();
        for (row, bytes) in rows {
            let digits = row.strip_prefix(PAGES).unwrap_or(row);
            let page = u64::from_str_radix(digits, 16).map_err(damaged)?;
            let Some((&FORMAT, slots)) = bytes.split_first() else {
                return Err(damaged("a page is of another format"));
            };
            if place(page.saturating_mul(PAGE).saturating_add(1)) != index.slots.len() {
                return Err(damaged("a page is missing, or too short"));
            }
            for slot in slots.chunks(SLOT) {
                index.slots.push(decode(slot).ok_or_else(|| damaged("a page ends early"))?);
            }
        }
        Ok(index)
    }

    /// Returns true if `number` is that of the next memory.
    pub(crate) fn is_next(&self, number: u64) -> bool {
        place(number) == self.slots.len()
    }

    /// Returns what a memory is found by.
    pub(crate) fn get(&self, number: u64) -> Near {
        self.slots.get(place(number)).copied().unwrap_or_default()
    }

    /// Returns the numbers of memories with the same text, the first one first.
    pub(crate) fn same(&self, near: &Near) -> impl Iterator<Item = u64> {
        let slots = self.slots.iter().enumerate();
        slots.filter(|it| it.1.digest == near.digest).map(|(place, _)| number_at(place))
    }

    /// Returns the numbers of memories with possibly similar texts, the newest first.
    pub(crate) fn like(&self, near: &Near) -> impl Iterator<Item = u64> {
        let is_like = |it: &Near| it.digest != 0 && it.sketch.is_like(&near.sketch);
        let places = self.slots.iter().enumerate().rev().filter(move |it| is_like(it.1));
        places.map(|(place, _)| number_at(place))
    }

    /// Sets what a memory is found by; `None` if it is gone.
    pub(crate) fn set(&mut self, number: u64, near: Option<Near>) {
        let place = place(number);
        if place >= self.slots.len() {
            self.slots.resize(place.saturating_add(1), Near::default());
        }
        if let Some(it) = self.slots.get_mut(place) {
            *it = near.unwrap_or_default();
        }
        let page = number.saturating_sub(1) / PAGE;
        if !self.changed.contains(&page) {
            self.changed.push(page);
        }
    }

    /// Gives all numbers up to `last` a place, which those of memories that are gone keep.
    pub(crate) fn extend(&mut self, last: u64) {
        let next = number_at(self.slots.len());
        if next > last {
            return;
        }
        for number in (next..last).step_by(usize::try_from(PAGE).unwrap_or_default()) {
            self.set(number, None);
        }
        self.set(last, None);
    }

    /// Returns the rows of the pages that changed.
    pub(crate) fn rows(&self) -> Vec<(String, Vec<u8>)> {
        let row = |page: &u64| {
            let start = place(page.saturating_mul(PAGE).saturating_add(1));
            let slots = self.slots.get(start..).unwrap_or_default();
            let mut bytes = vec![FORMAT];
            for it in slots.iter().take(usize::try_from(PAGE).unwrap_or_default()) {
                let [a, b, c] = it.sketch.least;
                for number in [it.digest, a, b, c, it.sketch.subject] {
                    bytes.extend(number.to_le_bytes());
                }
            }
            (page_row(*page), bytes)
        };
        self.changed.iter().map(row).collect()
    }
}

fn place(number: u64) -> usize {
    usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX)
}

fn number_at(place: usize) -> u64 {
    u64::try_from(place).unwrap_or(u64::MAX).saturating_add(1)
}

fn decode(slot: &[u8]) -> Option<Near> {
    let mut numbers = slot.chunks_exact(4).filter_map(|it| it.first_chunk().copied());
    let mut next = || numbers.next().map(u32::from_le_bytes);
    let (digest, a, b, c, subject) = (next()?, next()?, next()?, next()?, next()?);
    Some(Near { digest, sketch: Sketch { least: [a, b, c], subject } })
}
