//! The rows `n/`: for each memory the digest of its text and its sketch. With them, repetitions of
//! a new memory are found without reading all memories (decision 0050).

use crate::{
    Error,
    kv::Change,
    row::{FORMAT, damaged},
    text::sketch::Sketch,
};

/// The number of memories in a page.
const PAGE: u64 = 1_024;
/// The prefix of the rows of pages.
pub(crate) const PAGES: &str = "n/";
/// The end of the name of the row of the newest slots.
const NEWEST: char = '+';
/// The number of slots in that row from which they join their page.
const NEWEST_MAX: usize = 40;
/// The bytes of a memory in a page.
const SLOT: usize = 20;
/// The slot of a memory that is gone.
const GONE: [u8; SLOT] = [0; SLOT];

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

/// The digests and sketches of all memories, as they are in the rows.
///
/// A page is a row. The newest slots are in a row of their own until there are forty, so that an
/// addition writes little.
#[derive(Debug, Default)]
pub(crate) struct Index {
    slots: Vec<[u8; SLOT]>,
    /// The place of the first of the newest slots.
    newest: usize,
    /// The name of the row of the newest, if there is one.
    newest_row: Option<String>,
    /// The pages that changed.
    changed: Vec<u64>,
    is_newest_changed: bool,
}

/// Returns the name of the row of a page.
fn page_row(page: u64) -> String {
    format!("{PAGES}{page:04x}")
}

impl Index {
    /// Decodes the rows of pages.
    pub(crate) fn decode(rows: &[(String, Vec<u8>)]) -> Result<Self, Error> {
        let mut index = Self::default();
        for (row, bytes) in rows {
            let digits = row.strip_prefix(PAGES).unwrap_or(row);
            let page = u64::from_str_radix(digits.trim_end_matches(NEWEST), 16).map_err(damaged)?;
            let Some((&FORMAT, slots)) = bytes.split_first() else {
                return Err(damaged("a page is of another format"));
            };
            let start = place(page.saturating_mul(PAGE).saturating_add(1));
            let is_newest = digits.ends_with(NEWEST);
            let follows = if is_newest {
                page_of(index.slots.len()) == page
            } else {
                start == index.slots.len()
            };
            if !follows || index.newest_row.is_some() {
                return Err(damaged("a page is missing, or too short"));
            }
            let (slots, rest) = slots.as_chunks();
            if !rest.is_empty() {
                return Err(damaged("a page ends early"));
            }
            index.newest_row = is_newest.then(|| row.clone());
            index.newest = index.slots.len();
            index.slots.extend_from_slice(slots);
        }
        if index.newest_row.is_none() {
            index.newest = index.slots.len();
        }
        Ok(index)
    }

    /// Returns true if `number` is that of the next memory.
    pub(crate) fn is_next(&self, number: u64) -> bool {
        place(number) == self.slots.len()
    }

    /// Returns what a memory is found by.
    pub(crate) fn get(&self, number: u64) -> Near {
        self.slots.get(place(number)).map(decode).unwrap_or_default()
    }

    /// Returns the numbers of memories with the same text, the first one first.
    pub(crate) fn same(&self, near: &Near) -> impl Iterator<Item = u64> {
        let digest = near.digest.to_le_bytes();
        let slots = self.slots.iter().enumerate();
        slots.filter(move |it| it.1.starts_with(&digest)).map(|(place, _)| number_at(place))
    }

    /// Returns the numbers of memories with possibly similar texts, the newest first.
    pub(crate) fn like(&self, near: &Near) -> impl Iterator<Item = u64> {
        let is_like = |it: &Near| it.digest != 0 && it.sketch.is_like(&near.sketch);
        let places = self.slots.iter().enumerate().rev();
        places.filter(move |it| is_like(&decode(it.1))).map(|(place, _)| number_at(place))
    }

    /// Sets what a memory is found by; `None` if it is gone.
    pub(crate) fn set(&mut self, number: u64, near: Option<Near>) {
        let place = place(number);
        if place >= self.slots.len() {
            self.slots.resize(place.saturating_add(1), GONE);
        }
        if let Some(it) = self.slots.get_mut(place) {
            *it = near.as_ref().map_or(GONE, encode);
        }
        if place >= self.newest {
            self.is_newest_changed = true;
            return;
        }
        let page = page_of(place);
        if !self.changed.contains(&page) {
            self.changed.push(page);
        }
    }

    /// Gives all numbers up to `last` a place, which those of memories that are gone keep.
    pub(crate) fn extend(&mut self, last: u64) {
        if number_at(self.slots.len()) <= last {
            self.set(last, None);
        }
    }

    /// Returns the changes of its rows.
    pub(crate) fn changes(mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        // The place where the pages end and the newest begin.
        let mut end = self.newest;
        if self.is_newest_changed {
            let all = self.slots.len();
            let (first, last) = (page_of(end), page_of(all.saturating_sub(1)));
            if all.saturating_sub(end) < NEWEST_MAX && first == last {
                let row = format!("{}{NEWEST}", page_row(first));
                changes.push(Change::put(row, self.row(end, all)));
            } else {
                end = all;
                changes.extend(self.newest_row.take().map(Change::Delete));
                self.changed.retain(|it| *it != first);
                self.changed.extend(first..=last);
            }
        }
        for page in &self.changed {
            let from = |page: u64| place(page.saturating_mul(PAGE).saturating_add(1));
            let (start, next) = (from(*page), from(page.saturating_add(1)));
            changes.push(Change::put(page_row(*page), self.row(start, next.min(end))));
        }
        changes
    }

    /// Returns a row of the slots from `start` to `end`.
    fn row(&self, start: usize, end: usize) -> Vec<u8> {
        let mut row = vec![FORMAT];
        row.extend_from_slice(self.slots.get(start..end).unwrap_or_default().as_flattened());
        row
    }
}

fn page_of(place: usize) -> u64 {
    number_at(place).saturating_sub(1) / PAGE
}

fn place(number: u64) -> usize {
    usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX)
}

fn number_at(place: usize) -> u64 {
    u64::try_from(place).unwrap_or(u64::MAX).saturating_add(1)
}

fn encode(it: &Near) -> [u8; SLOT] {
    let Near { digest, sketch } = it;
    let [a, b, c] = sketch.least;
    let mut slot = GONE;
    for (bytes, number) in slot.chunks_mut(4).zip([*digest, a, b, c, sketch.subject]) {
        bytes.copy_from_slice(&number.to_le_bytes());
    }
    slot
}

fn decode(slot: &[u8; SLOT]) -> Near {
    let mut numbers = slot.as_chunks().0.iter().copied().map(u32::from_le_bytes);
    let mut next = || numbers.next().unwrap_or_default();
    let digest = next();
    Near { digest, sketch: Sketch { least: [next(), next(), next()], subject: next() } }
}
