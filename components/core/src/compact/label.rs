//! The label of an output that was repeated: `[Searches 1-2] … (checked 2x, unchanged)`.
//!
//! # Invariant
//!
//! A repeated label adds up the counts: two outputs with `(checked 2x)` become one with `(checked
//! 4x)`.

use std::collections::{BTreeMap, btree_map::Entry};

use super::{
    condense::{self, is_output},
    duplicate::{Duplicate, cleaned},
    select::{Choice, Part, Selection},
};
use crate::item::Item;

/// The most digits of a number in a label.
const DIGITS_MAX: usize = 9;
/// The most bytes of the name in a label.
const NAME_BYTES_MAX: usize = 40;
/// The name for outputs that have no label of their own.
const RESULTS: &str = "Results";

/// The first line of an output.
#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    /// The label, such as `[Search 1]` or `[Searches 1-2]`.
    label: Option<Label<'a>>,
    /// The text after the label, without the mark of a repetition.
    behind: &'a str,
    /// The number of times the output was seen, and true if it was the same each time.
    seen: Seen,
}

#[derive(Debug, Clone, Copy)]
struct Label<'a> {
    name: &'a str,
    /// True if the name is a plural.
    is_plural: bool,
    first: &'a str,
    last: &'a str,
}

/// The number of times an output was seen, and true if it was the same each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    times: u32,
    is_unchanged: bool,
}

impl Seen {
    const ONCE: Self = Self { times: 1, is_unchanged: true };

    /// Returns the count after another output of the same kind. `is_same` is true if both outputs
    /// say the same.
    fn and(self, other: Self, is_same: bool) -> Self {
        Self {
            times: self.times.saturating_add(other.times),
            is_unchanged: self.is_unchanged && other.is_unchanged && is_same,
        }
    }

    /// Returns `checked 2x, unchanged`, or `checked 2x` if not all outputs said the same.
    fn mark(self) -> String {
        let unchanged = if self.is_unchanged { ", unchanged" } else { "" };
        ["checked ", &self.times.to_string(), "x", unchanged].concat()
    }
}

/// The outputs that a later one repeats, as far as they are gone.
#[derive(Debug, Clone, Copy)]
struct Repeated<'a> {
    /// The label of the oldest, if it has one.
    first: Option<Label<'a>>,
    seen: Seen,
}

impl<'a> Repeated<'a> {
    /// Begins with the oldest output. `is_same` is true if the later one says the same.
    fn new(oldest: &'a str, is_same: bool) -> Self {
        let line = Line::read(oldest);
        Self {
            first: line.label,
            seen: Seen { is_unchanged: line.seen.is_unchanged && is_same, ..line.seen },
        }
    }

    /// Adds a later output.
    fn push(&mut self, text: &str, is_same: bool) {
        self.seen = self.seen.and(Line::read(text).seen, is_same);
    }

    /// Returns how often the output was seen, with the last of them.
    fn seen(self, last: &str) -> Seen {
        self.seen.and(Line::read(last).seen, true)
    }

    /// Returns the text of the last output with the label of all. All but its first line is
    /// unchanged.
    fn labelled(self, last: &str) -> String {
        let (line, rest) = split(last);
        let read = Line::read(last);
        let seen = self.seen(last);
        let mark = seen.mark();
        let of_same_name = |it: &(Label<'_>, Label<'_>)| it.0.plural() == it.1.plural();
        let named = read.label.filter(|it| it.name != RESULTS).zip(self.first);
        let Some((label, first)) = named.filter(of_same_name) else {
            let of_own = read.label.is_some_and(|it| it.name == RESULTS);
            let body = if of_own { [rest, ""] } else { ["\n", last] };
            let times = seen.times.to_string();
            return ["[", RESULTS, " 1-", &times, "] (", &mark, ")", &body.concat()].concat();
        };
        // The end of a line of Windows stays at its end.
        let end = if line.ends_with('\r') { "\r" } else { "" };
        let behind = read.behind.trim_end();
        let label = ["[", &label.plural(), " ", first.first, "-", label.last, "]"].concat();
        [&label, behind, " (", &mark, ")", end, rest].concat()
    }
}

impl<'a> Selection<'a> {
    /// Labels the outputs whose repetitions are gone, and only those. The label of a short output may
    /// be longer than what went; then it gets none.
    pub(super) fn label(&mut self) {
        let mut repeated: BTreeMap<usize, (Repeated<'_>, u64)> = BTreeMap::new();
        for place in 0..self.items.len() {
            let Some((other, older)) = self.repetition(place) else { continue };
            if self.choice(place) != Choice::Gone {
                continue;
            }
            let is_same = self.says_the_same(place, other);
            let tokens = self.items.get(place).map_or(0, |it| it.tokens.0.into());
            match repeated.entry(other) {
                Entry::Vacant(it) => {
                    it.insert((Repeated::new(older, is_same), tokens));
                }
                Entry::Occupied(mut it) => {
                    let (repeated, sum) = it.get_mut();
                    repeated.push(older, is_same);
                    *sum = sum.saturating_add(tokens);
                }
            }
        }
        let were_marked = std::mem::replace(&mut self.marked, repeated.keys().copied().collect());
        for place in were_marked.into_iter().filter(|it| !repeated.contains_key(it)) {
            self.set_label(place, None, None);
        }
        for (place, (repeated, gone)) in repeated {
            let Some(item) = self.items.get(place) else { continue };
            let Some(text) = item.text() else { continue };
            let label = self.part_of(repeated.labelled(text));
            let saves = u64::from(label.tokens.0) < gone.saturating_add(item.tokens.0.into());
            let is_whole = self.facts.of(place).iter().all(|it| label.text.contains(it.text));
            let mark = repeated.seen(text).mark();
            self.set_label(place, Some(label).filter(|_| saves && is_whole), Some(&mark));
        }
    }

    /// Returns the output that the one at this place repeats, and the text of the one that repeats.
    /// What remains of noise, such as the counts of a test run, needs no label.
    fn repetition(&self, place: usize) -> Option<(usize, &'a str)> {
        let Some(Duplicate::Repeats(other)) = self.judged.get(place)?.duplicate else {
            return None;
        };
        let (item, judged) = self.items.get(other).zip(self.judged.get(other))?;
        let may_have_label = is_output(item) && judged.noise.is_none() && judged.scored.score < 100;
        let text = self.items.get(place)?.text()?;
        may_have_label.then_some((other, text))
    }

    /// Returns true if an output says the same as the later one that it repeats.
    fn says_the_same(&mut self, place: usize, later: usize) -> bool {
        let text = |it: usize| self.items.get(it).and_then(Item::text).unwrap_or_default();
        let Some(known) = self.same.get_mut(place) else { return false };
        *known.get_or_insert_with(|| say_the_same(text(place), text(later)))
    }

    /// Sets or removes the label of an item, and the mark in its placeholder.
    fn set_label(&mut self, place: usize, label: Option<Part>, mark: Option<&str>) {
        let Some(item) = self.items.get(place) else { return };
        let cleared = condense::cleared(item, self.call(place), mark).map(|it| self.part_of(it));
        let cleared = cleared.filter(|it| it.tokens < item.tokens);
        self.add(place, false);
        if let Some(it) = self.labels.get_mut(place)
            && it.as_ref().map(|it| &it.text) != label.as_ref().map(|it| &it.text)
        {
            *it = label;
        }
        if let (Some(Some(it)), Some(cleared)) = (self.parts.get_mut(place), cleared)
            && it.text != cleared.text
        {
            *it = cleared;
        }
        self.add(place, true);
    }
}

/// Returns true if two outputs say the same, apart from their labels and what differs from run to
/// run.
fn say_the_same(a: &str, b: &str) -> bool {
    said(a) == said(b)
}

fn said(text: &str) -> String {
    let (_, rest) = split(text);
    let line = Line::read(text);
    cleaned([line.behind.trim(), rest].concat().trim())
}

/// Splits a text behind its first line.
fn split(text: &str) -> (&str, &str) {
    text.split_at_checked(text.find('\n').unwrap_or(text.len())).unwrap_or((text, ""))
}

impl<'a> Line<'a> {
    /// Reads the first line of an output.
    fn read(text: &'a str) -> Self {
        let (line, _) = split(text);
        let Some((label, behind)) = Label::read(line) else {
            return Self { label: None, behind: line, seen: Seen::ONCE };
        };
        let marked = label.is_plural.then(|| seen(behind)).flatten();
        let (behind, seen) = marked.unwrap_or((behind, Seen::ONCE));
        Self { label: Some(label), behind, seen }
    }
}

impl<'a> Label<'a> {
    /// Reads a label, and returns what follows it.
    fn read(line: &'a str) -> Option<(Self, &'a str)> {
        let (label, behind) = line.strip_prefix('[')?.split_once(']')?;
        let (name, numbers) = label.rsplit_once(' ')?;
        let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
        let is_number = |it: &str| {
            (1..=DIGITS_MAX).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_digit())
        };
        let is_label = is_number(first) && is_number(last) && !name.is_empty();
        let is_plural = numbers.contains('-');
        let it = Self { name, is_plural, first, last };
        (is_label && name.len() < NAME_BYTES_MAX).then_some((it, behind))
    }

    /// Returns the name for several: `Searches`, `Copies`, `Runs`.
    fn plural(self) -> String {
        if self.is_plural {
            return self.name.to_owned();
        }
        if let Some(stem) = self.name.strip_suffix('y')
            && stem.ends_with(|it: char| it.is_ascii_alphabetic() && !"aeiou".contains(it))
        {
            return [stem, "ies"].concat();
        }
        let ends_hissing = ["s", "sh", "ch", "x"].iter().any(|it| self.name.ends_with(it));
        [self.name, if ends_hissing { "es" } else { "s" }].concat()
    }
}

/// Reads the mark at the end of a line, and returns the text before it.
fn seen(line: &str) -> Option<(&str, Seen)> {
    let (before, mark) = line.trim_end().strip_suffix(')')?.rsplit_once(" (checked ")?;
    let (times, unchanged) = mark.split_once('x')?;
    let is_unchanged = unchanged == ", unchanged";
    let is_mark = (is_unchanged || unchanged.is_empty()) && times.len() <= DIGITS_MAX;
    let times = times.parse().ok().filter(|it| is_mark && *it > 1)?;
    Some((before, Seen { times, is_unchanged }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the label of outputs of which the last stays.
    fn labelled(older: &[&str], last: &str) -> String {
        let (oldest, more) = older.split_first().unwrap();
        let mut repeated = Repeated::new(oldest, say_the_same(oldest, last));
        for it in more {
            repeated.push(it, say_the_same(it, last));
        }
        repeated.labelled(last)
    }

    #[test]
    fn repeated_searches_get_one_label() {
        let text = |number| format!("[Search {number}] Found 2 files\n- a.py\n- b.py");
        let (one, two) = (text(1), text(2));
        let both = "[Searches 1-2] Found 2 files (checked 2x, unchanged)\n- a.py\n- b.py";
        assert_eq!(labelled(&[&one], &two), both);
        let unnamed = "[Results 1-2] (checked 2x, unchanged)\na\nb";
        assert_eq!(labelled(&["a\nb"], "a\nb"), unnamed);
        assert_eq!(labelled(&["a c"], "a b"), "[Results 1-2] (checked 2x)\na b");
        let other = "[Results 1-2] (checked 2x, unchanged)\n[Search 2] a";
        assert_eq!(labelled(&["[Fetch 1] a"], "[Search 2] a"), other);
        assert_eq!(
            labelled(&["[Fetch 1] a\r\nb"], "[Fetch 2] a\r\nb"),
            "[Fetches 1-2] a (checked 2x, unchanged)\r\nb"
        );
        for (one, several) in [("Query", "Queries"), ("Reply", "Replies"), ("Key", "Keys")] {
            let label = labelled(&[&format!("[{one} 1] a")], &format!("[{one} 2] a"));
            assert_eq!(label, format!("[{several} 1-2] a (checked 2x, unchanged)"));
        }
    }

    /// The label of an earlier compaction was no label to the next one: three searches had become
    /// `[Results 1-2] (checked 2x)`.
    #[test]
    fn a_label_of_an_earlier_compaction_counts_on() {
        let text = |number| format!("[Search {number}] Found 2 files\n- a.py");
        let both = labelled(&[&text(1)], &text(2));
        let all = "[Searches 1-3] Found 2 files (checked 3x, unchanged)\n- a.py";
        assert_eq!(labelled(&[&both], &text(3)), all);
        assert_eq!(labelled(&[&text(1), &text(2)], &text(3)), all);
        let more = labelled(&[&both], &all.replace("1-3", "3-5"));
        assert_eq!(more, "[Searches 1-5] Found 2 files (checked 5x, unchanged)\n- a.py");
        let unnamed = labelled(&["a\nb"], "a\nb");
        let more = "[Results 1-3] (checked 3x, unchanged)\na\nb";
        assert_eq!(labelled(&[&unnamed], "a\nb"), more);
        assert_eq!(labelled(&["a\nb"], &unnamed), more);
        let changed = labelled(&["[Search 1] a"], "[Search 2] b");
        assert_eq!(changed, "[Searches 1-2] b (checked 2x)");
        assert_eq!(labelled(&[&changed], "[Search 3] b"), "[Searches 1-3] b (checked 3x)");
    }
}
