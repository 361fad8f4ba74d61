//! Forms: labels, ids, and the labelled parts of a fact.

use super::{
    fact::{Class, Detail},
    line::{Line, skip_bullet},
    marks,
};

/// Returns the label at the start of `text`, and its class.
pub(super) fn label_of(text: &str) -> Option<(Class, &str)> {
    if let Some(id) = issue_id(text) {
        return Some((Class::Issue, id));
    }
    if let Some((name, _)) = text.strip_prefix('[').and_then(|it| it.split_once(']'))
        && marks::severity_named(name).is_some()
    {
        return Some((Class::Issue, name));
    }
    let end = text.bytes().take(32).position(|it| it == b':')?;
    let label = text.get(..end)?.trim_end_matches('*');
    // `http://` and `10:30` have colons, too.
    let after = text.get(end.saturating_add(1)..)?;
    if !(after.is_empty() || after.starts_with([' ', '*', '\t'])) {
        return None;
    }
    // `Decision [2025-11-04]:`, `Error (fatal):`
    let name = label.split(['[', '(']).next().unwrap_or_default().trim().to_lowercase();
    marks::label(&name).map(|class| (class, label))
}

/// Returns the id at the start of an issue: `BUG-2847 [CRITICAL]:`.
fn issue_id(text: &str) -> Option<&str> {
    // Few sentences begin with an id, and each is searched for one.
    if !matches!(text.as_bytes().first(), Some(b'B' | b'I' | b'b' | b'i')) {
        return None;
    }
    let id = text.split([' ', ':']).next()?;
    let after = text.get(id.len()..)?.trim_start();
    (is_issue_id(id) && (after.starts_with([':', '[']) || is_rated(after))).then_some(id)
}

/// Returns true if a text begins with a severity in parentheses: `BUG-7 (critical): …`
fn is_rated(text: &str) -> bool {
    let name = text.strip_prefix('(').and_then(|it| it.split_once(')'));
    name.is_some_and(|it| marks::severity_named(it.0).is_some())
}

/// Returns where a label in capitals or the id of an issue stands within a sentence, and its class:
/// `After the call, DECISION: cart in Redis.` A label in quotation marks does not count.
pub(super) fn inner_label(sentence: &str) -> Option<(Class, usize)> {
    if !sentence.contains([':', '[']) {
        return None;
    }
    let mut is_quoted = false;
    let mut last = ' ';
    for (at, c) in sentence.char_indices() {
        is_quoted ^= matches!(c, '"' | '`');
        let before = sentence.get(..at).unwrap_or_default();
        let begins = last == ' ' && at > 0 && c.is_ascii_uppercase() && !is_quoted;
        last = c;
        let rest = sentence.get(at..).filter(|_| begins).unwrap_or_default();
        let Some((class, label)) = label_of(rest) else { continue };
        if is_issue_id(label) {
            return Some((class, at));
        }
        let is_kept = matches!(class, Class::Decision | Class::Constraint | Class::Critical);
        let is_shouted = !label.contains(char::is_lowercase);
        let is_apart = before.trim_end().ends_with([',', ':', ';', '—', '–', '-']);
        if is_kept && is_shouted && is_apart {
            return Some((class, at));
        }
    }
    None
}

/// Returns true if a sentence has a severity in capitals and brackets: `The pool is dry
/// [CRITICAL].`
pub(super) fn is_marked_issue(sentence: &str) -> bool {
    let mut within = sentence.split('[').skip(1).filter_map(|it| it.split(']').next());
    within.any(|it| !it.contains(char::is_lowercase) && marks::severity_named(it).is_some())
}

fn is_issue_id(text: &str) -> bool {
    let number = ["BUG-", "ISSUE-", "bug-", "issue-"].iter().find_map(|it| text.strip_prefix(it));
    number.is_some_and(|it| !it.is_empty() && it.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns the ids of issues in a text.
pub(super) fn ids(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '#')));
    let is_id = |it: &&str| {
        is_issue_id(it)
            || it
                .strip_prefix('#')
                .is_some_and(|it| !it.is_empty() && it.bytes().all(|b| b.is_ascii_digit()))
    };
    words.filter(is_id).map(str::to_uppercase).collect()
}

/// Returns true for a label of a part of a fact.
pub(super) fn is_part(label: &str) -> bool {
    marks::PARTS.contains(&label)
}

pub(super) fn is_to_do(label: &str) -> bool {
    label.eq_ignore_ascii_case("todo") || label.eq_ignore_ascii_case("fixme")
}

/// Returns true for a line such as `✓ done` or `Progress: 65 %`.
pub(super) fn is_state(text: &str) -> bool {
    const SIGNS: [&str; 6] = ["✓", "⧖", "☐", "[x] ", "[X] ", "[ ] "];
    let first = text.as_bytes().first();
    SIGNS.iter().any(|it| it.as_bytes().first() == first && text.starts_with(it))
}

/// Returns true for the call of a tool that changes a file, as in `write_file({…})`. Only the first
/// line of an item may lack the parenthesis.
pub(super) fn changes_file(text: &str, is_first: bool) -> bool {
    let name = text.split(|c: char| c == '(' || c.is_whitespace()).next().unwrap_or_default();
    let is_call = text.get(name.len()..).is_some_and(|it| it.starts_with('('));
    let name = name.to_ascii_lowercase();
    (is_call || is_first)
        && ["write", "edit", "apply_patch", "str_replace", "create_file"]
            .iter()
            .any(|it| name.contains(it))
}

/// Returns how many lines from `at` on belong to one fact: lines with labels of parts, lists below a
/// label, all lines up to a blank one below a label with nothing behind it, and lines that go on with a
/// sentence. `is_kept` is true if the fact is never lost: else an entry of a list may be a fact of its
/// own. They have at most `max` bytes.
pub(super) fn following(lines: &[Line<'_>], at: usize, is_kept: bool, max: usize) -> usize {
    let Some(first) = lines.get(at) else { return 1 };
    let mut count: usize = 1;
    // The line that has those below: how far it is indented if it is an entry itself, and whether
    // nothing is behind it.
    let of = |text: &str| (level(text), text.trim_end().trim_end_matches('*').ends_with(':'));
    let (mut outer, mut is_bare) = of(first.text);
    for (place, line) in lines.iter().enumerate().skip(at.saturating_add(1)) {
        let text = line.text.trim_start();
        let end = line.start.saturating_add(line.text.len());
        if line.is_fenced || text.starts_with('>') || end.saturating_sub(first.start) > max {
            break;
        }
        let is_below = |text: &str| level(text).is_some_and(|it| outer.is_none_or(|own| it > own));
        if text.is_empty() {
            // `Next actions:`, a blank line, and the list.
            let next = lines.get(place.saturating_add(1)).filter(|it| is_below(it.text));
            if is_bare && place == at.saturating_add(1) && next.is_some() {
                count = count.saturating_add(1);
                continue;
            }
            break;
        }
        let bare = skip_bullet(text);
        let label = bare.split(':').next().filter(|it| it.len() < bare.len() && it.len() <= 32);
        let is_label = label.is_some_and(|it| is_part(&it.to_lowercase()));
        let is_own = || super::has_mark(bare);
        if !is_label && (label_of(bare).is_some() || !is_kept && is_own()) {
            break;
        }
        let goes_on = text.starts_with(char::is_lowercase) || is_state(text);
        let is_in_entry = count > 1 && line.text.starts_with("  ");
        let is_text = is_bare && is_kept && !text.starts_with('#');
        if is_label {
            (outer, is_bare) = of(line.text);
        } else if !(is_below(line.text) || goes_on || is_in_entry || is_text) {
            break;
        }
        count = count.saturating_add(1);
    }
    count
}

/// Returns how far an entry of a list is indented; `None` for other lines.
fn level(line: &str) -> Option<usize> {
    let text = line.trim_start();
    let is_entry = is_state(text) || skip_bullet(text).len() < text.len();
    let is_title = text.starts_with(['#', '_']) || text.starts_with("**");
    (is_entry && !is_title).then_some(line.len().saturating_sub(text.len()))
}

/// Returns the labelled parts of a fact, on lines of their own or one after the other.
pub(super) fn details(text: &str) -> Vec<Detail> {
    let mut starts: Vec<(usize, usize, String)> = Vec::new();
    for (colon, _) in text.match_indices(':') {
        let before = text.get(..colon).unwrap_or_default();
        let after = text.get(colon.saturating_add(1)..).unwrap_or_default();
        if !after.starts_with(char::is_whitespace) {
            continue;
        }
        let found = marks::PARTS.iter().filter_map(|label| {
            let start = colon.checked_sub(label.len())?;
            let word = before.get(start..)?;
            let is_it = word.eq_ignore_ascii_case(label) && word.starts_with(char::is_uppercase);
            let ahead = before.get(..start)?.chars().next_back();
            (is_it && ahead.is_some_and(|c| !c.is_alphanumeric())).then_some((start, *label))
        });
        if let Some((start, label)) = found.min_by_key(|it| it.0) {
            starts.push((start, colon.saturating_add(1), label.replace(' ', "_")));
        }
    }
    let ends = starts.iter().skip(1).map(|it| it.0).chain([text.len()]);
    let part = |((_, from, label), end): (&(usize, usize, String), usize)| {
        let text = text.get(*from..end).unwrap_or_default().trim().to_owned();
        Detail { label: label.clone(), text }
    };
    starts.iter().zip(ends).map(part).collect()
}
