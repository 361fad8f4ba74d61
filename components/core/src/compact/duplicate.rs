//! Items that repeat a later one, and earlier versions of a file.

use std::collections::BTreeMap;

use super::condense::is_output;
use crate::{
    item::{Item, Kind, ListedKind},
    text::repetitions,
};

/// An item that a later one makes superfluous.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Duplicate {
    /// It repeats the item at this place.
    Repeats(usize),
    /// It is an earlier version of the file at this place.
    Earlier(usize),
}

/// Returns for each item the reason why a later one makes it superfluous, if one does.
///
/// Outputs of programs are repetitions if they are alike. What somebody said is one only if every
/// byte is the same: a date or a capital may be what matters.
pub(super) fn duplicates(items: &[Item]) -> Vec<Option<Duplicate>> {
    let mut found = versions(items);
    let mut newest: BTreeMap<&str, usize> = BTreeMap::new();
    let mut outputs: Vec<(usize, String)> = Vec::new();
    for (place, item) in items.iter().enumerate().rev() {
        let text = item.text().unwrap_or_default();
        let Some(own) = found.get_mut(place).filter(|it| it.is_none()) else { continue };
        if text.trim().is_empty() {
            continue;
        }
        if is_output(item) {
            outputs.push((place, cleaned(text)));
            continue;
        }
        let later = *newest.entry(text).or_insert(place);
        *own = (later != place).then_some(Duplicate::Repeats(later));
    }
    outputs.reverse();
    let texts: Vec<&str> = outputs.iter().map(|it| it.1.as_str()).collect();
    for (repeated, (place, _)) in repetitions(&texts).into_iter().zip(&outputs) {
        if let Some((other, _)) = repeated.and_then(|it| outputs.get(it))
            && let Some(it) = found.get_mut(*place)
        {
            *it = Some(Duplicate::Repeats(*other));
        }
    }
    found
}

/// Returns an output without what differs from run to run: hexadecimal ids, UUIDs, durations, the
/// names of temporary files, and the colours of a terminal.
pub(super) fn cleaned(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_in_id = false;
    while let Some(c) = rest.chars().next() {
        let length = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let (run, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        let temporary = ["/tmp/", "/var/folders/"].into_iter().any(|it| rest.starts_with(it));
        let skipped = if c == '\u{1b}' {
            let end = rest.find(|it: char| it.is_ascii_alphabetic());
            end.map_or(rest.len(), |it| it.saturating_add(1))
        } else if temporary {
            let is_end = |it: char| it.is_whitespace() || matches!(it, '"' | '\'' | ')' | ':');
            rest.find(is_end).unwrap_or(rest.len())
        } else if is_id(run) || (is_in_id && length == 4 && is_hex(run)) {
            is_in_id = true;
            length
        } else {
            duration(run, behind)
        };
        if skipped > 0 {
            rest = rest.get(skipped..).unwrap_or_default();
            continue;
        }
        if length > 0 {
            is_in_id = false;
            out.push_str(run);
            rest = behind;
            continue;
        }
        is_in_id = is_in_id && c == '-';
        out.push(c);
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    out
}

fn is_hex(run: &str) -> bool {
    run.bytes().all(|it| it.is_ascii_hexdigit())
}

/// Returns true for a hexadecimal id: eight digits or more, and letters among them.
fn is_id(run: &str) -> bool {
    let has = |is: fn(&u8) -> bool| run.as_bytes().iter().any(is);
    run.len() >= 8 && is_hex(run) && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

/// Returns the length of the duration that begins with `run`, such as `12ms` or `2.1 s`, or 0.
fn duration(run: &str, behind: &str) -> usize {
    let digits = |it: &str| it.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(run);
    if whole == 0 {
        return 0;
    }
    let (mut unit, mut length) = (run.get(whole..).unwrap_or_default(), run.len());
    if unit.is_empty() {
        let decimals = behind.strip_prefix('.').map_or(0, |it| digits(it).saturating_add(1));
        let rest = behind.get(decimals..).unwrap_or_default();
        let space = usize::from(rest.starts_with(' '));
        let rest = rest.get(space..).unwrap_or_default();
        let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        unit = rest.get(..letters).unwrap_or_default();
        length = length.saturating_add(decimals).saturating_add(space).saturating_add(letters);
    }
    let units = ["s", "ms", "us", "ns", "sec", "secs", "seconds", "min"];
    if units.contains(&unit) { length } else { 0 }
}

/// Finds earlier versions of files: the same part of the same file.
fn versions(items: &[Item]) -> Vec<Option<Duplicate>> {
    let mut newest = BTreeMap::new();
    let mut found = vec![None; items.len()];
    for (place, item) in items.iter().enumerate().rev() {
        if item.kind != Kind::Listed(ListedKind::FileExcerpt) || item.text().is_none() {
            continue;
        }
        let part = [path(item), "\0", &item.source.selectors.join("\0")].concat();
        let later = *newest.entry(part).or_insert(place);
        if let Some(it) = found.get_mut(place).filter(|_| later != place) {
            *it = Some(Duplicate::Earlier(later));
        }
    }
    found
}

/// Returns the path of a file: its origin, or its id without a version.
fn path(item: &Item) -> &str {
    let stem = || item.id.split(['@', '#']).next().filter(|it| !it.is_empty());
    item.source.origin.as_deref().or_else(stem).unwrap_or(&item.id)
}

/// Returns what remains of an earlier version of a file.
pub(super) fn earlier_version(item: &Item, later: &Item) -> String {
    let changed = changed_lines(item.text().unwrap_or_default(), later.text().unwrap_or_default());
    let count = changed.to_string();
    let noun = if changed == 1 { " line changed]" } else { " lines changed]" };
    ["[earlier version of ", path(item), ": ", &count, noun].concat()
}

/// Returns how many lines of one text the other does not have, in either direction.
fn changed_lines(a: &str, b: &str) -> usize {
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for line in b.lines() {
        let count = left.entry(line).or_insert(0);
        *count = count.saturating_add(1);
    }
    let mut only_in_a: usize = 0;
    for line in a.lines() {
        match left.get_mut(line).filter(|it| **it > 0) {
            Some(count) => *count = count.saturating_sub(1),
            None => only_in_a = only_in_a.saturating_add(1),
        }
    }
    left.values().fold(0, |sum: usize, it| sum.saturating_add(*it)).max(only_in_a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_no_difference() {
        for (a, b) in [
            ("id 9f86d081884c7d65 done in 2.1 s", "id 0f1e2d3c4b5a6978 done in 14ms"),
            ("\u{1b}[32mok\u{1b}[0m", "ok"),
            ("wrote /tmp/a1/x.log: ok", "wrote /tmp/b2/y.log: ok"),
            (
                "job 1b4e28ba-2fa1-11d2-883f-001fd3cca427 ok",
                "job 7c9e6679-7425-40de-944b-e07fc1f90ae7 ok",
            ),
        ] {
            assert_eq!(cleaned(a), cleaned(b));
        }
        for (a, b) in [("port 5432", "port 5433"), ("12345678", "12345679"), ("3 files", "4 files")]
        {
            assert_ne!(cleaned(a), cleaned(b));
        }
    }

    #[test]
    fn an_earlier_version_is_counted_in_lines() {
        let file =
            |id: &str, text: &str| Item::inline(id, Kind::Listed(ListedKind::FileExcerpt), text);
        let items = [file("a.rs@1", "x\ny\nz"), file("b.rs", "x"), file("a.rs@2", "x\nY\nz\nw")];
        assert_eq!(duplicates(&items), [Some(Duplicate::Earlier(2)), None, None]);
        assert_eq!(
            earlier_version(&items[0], &items[2]),
            "[earlier version of a.rs: 2 lines changed]"
        );
    }

    /// `2026-03-01 10:00` was once a repetition of `2026-05-09 18:00`: likeness ignores dates.
    #[test]
    fn people_repeat_only_what_is_equal() {
        let long = "please note that the production database of the billing team is at port 5432 \
                    and that nobody may write to it at night or on any day of a weekend";
        let other = long.replace("production", "staging");
        for (kind, expected) in [(ListedKind::ToolResult, true), (ListedKind::UserMessage, false)] {
            let item = |id: &str, text: &str| Item::inline(id, Kind::Listed(kind), text);
            let items = [
                item("a", long),
                item("b", &other),
                item("c", &long.to_uppercase()),
                item("d", "2026-03-01 10:00"),
                item("e", "2026-05-09 18:00"),
                item("f", long),
            ];
            let found = duplicates(&items);
            assert_eq!(found[1].is_some(), expected);
            assert_eq!(found[2].is_some(), expected);
            assert!(expected || found[3].is_none());
            assert_eq!(found[0], Some(Duplicate::Repeats(5)));
        }
    }
}
