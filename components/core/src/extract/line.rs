//! Lines: the start of a line before its first word, and the lines that are code or quotations.

use crate::{count::narrow, text::char_at};

/// The start of a line, taken apart.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    /// The time in brackets.
    pub(crate) said_at: Option<&'a str>,
    /// The speaker before a colon.
    pub(crate) speaker: Option<&'a str>,
    /// The first byte of the rest of the line.
    pub(crate) rest: usize,
}

/// A line, and its first byte in the text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) number: u32,
    pub(crate) start: usize,
    pub(crate) text: &'a str,
    pub(crate) is_fenced: bool,
}

/// The longest name of a speaker, in bytes.
pub(super) const SPEAKER_BYTES_MAX: usize = 40;

/// Reads the start of a line, before its first word: bullets, numbers, bold marks, a time, a
/// speaker. `is_label` distinguishes labels such as `Decision` from speakers.
pub(crate) fn head<'a>(line: &'a str, is_label: &dyn Fn(&str) -> bool) -> Head<'a> {
    let mut head = Head::default();
    let mut rest = skip_bullet(line);
    if let Some((time, after)) = rest.strip_prefix('[').and_then(|it| it.split_once(']'))
        && time.starts_with(|c: char| c.is_ascii_digit())
        && time.contains([':', '-'])
        && time.len() <= 40
    {
        head.said_at = Some(time);
        rest = skip_bullet(after);
    }
    if let Some((whole, after)) = rest.split_once(':')
        && whole.len() <= SPEAKER_BYTES_MAX
        && let Some(name) = whole.split(" (").next()
        && (name == whole || whole.ends_with(')'))
        && is_name(name)
        && after.starts_with(' ')
        && !is_label(&name.to_lowercase())
    {
        head.speaker = Some(name.trim_matches('*'));
        rest = skip_bullet(after);
    }
    head.rest = line.len().saturating_sub(rest.len());
    head
}

/// Returns true for what may be the name of a speaker: one to three words with capitals.
fn is_name(text: &str) -> bool {
    let text = text.trim_matches('*');
    !text.is_empty()
        && text.split(' ').count() <= 3
        && text.split(' ').all(|it| it.starts_with(char::is_uppercase))
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | '\''))
        && text.contains(char::is_lowercase)
}

/// Returns `text` without white space, marks of direction, bullets, headings and bold marks before
/// its first word.
pub(crate) fn skip_bullet(text: &str) -> &str {
    let is_sign = |c: char| {
        c.is_whitespace()
            || matches!(c, '*' | '#' | '•' | '–' | '_')
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut rest = text.trim_start_matches(is_sign);
    if let Some(after) = rest.strip_prefix(['-', '+']).filter(|it| it.starts_with(is_sign)) {
        rest = after.trim_start_matches(is_sign);
    }
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if (1..=3).contains(&digits)
        && let Some(after) = rest.get(digits..)
        && let Some(after) = after.strip_prefix([')', '.']).filter(|it| it.starts_with(' '))
    {
        rest = after.trim_start_matches(is_sign);
    }
    rest
}

/// Returns the lines of a text, without their line breaks.
pub(crate) fn lines(text: &str) -> Vec<Line<'_>> {
    let fenced = fenced(text);
    let mut start: usize = 0;
    let mut lines = Vec::new();
    for (place, raw) in text.split('\n').enumerate() {
        let is_fenced = fenced.get(place).copied().unwrap_or(false);
        let text = raw.strip_suffix('\r').unwrap_or(raw);
        lines.push(Line { number: narrow(place), start, text, is_fenced });
        start = start.saturating_add(raw.len()).saturating_add(1);
    }
    lines
}

/// The most characters by which fences are distinguished.
const FENCE_SIGNS_MAX: usize = 16;

/// Returns true for each line that is a fence of code or within one. A fence is closed by a line of
/// only the same characters, at least as many. A fence that is never closed does not count.
fn fenced(text: &str) -> Vec<bool> {
    if !text.contains("```") && !text.contains("~~~") {
        return Vec::new();
    }
    let mut lines: Vec<bool> = Vec::new();
    let mut fences: Vec<(usize, (char, usize, bool))> = Vec::new();
    for (place, line) in text.split('\n').enumerate() {
        fences.extend(fence(line).map(|it| (place, it)));
        lines.push(false);
    }
    // Of each sign, the shortest run that nothing closes: no longer one is searched for again.
    let mut unclosed = [('`', usize::MAX), ('~', usize::MAX)];
    let mut next: usize = 0;
    while let Some((first, (sign, count, _))) = fences.get(next).copied() {
        next = next.saturating_add(1);
        let is_open = unclosed.iter().any(|it| it.0 == sign && it.1 <= count);
        let closes =
            |it: &(usize, (char, usize, bool))| it.1.0 == sign && it.1.1 >= count && it.1.2;
        let end = if is_open { None } else { fences.iter().skip(next).position(closes) };
        if let Some(end) = end.map(|it| it.saturating_add(next)) {
            let last = fences.get(end).map_or(first, |it| it.0);
            let within = lines.iter_mut().take(last.saturating_add(1)).skip(first);
            within.for_each(|it| *it = true);
            next = end.saturating_add(1);
        } else if let Some(it) = unclosed.iter_mut().find(|it| it.0 == sign) {
            it.1 = it.1.min(count);
        }
    }
    lines
}

/// Returns the sign of a fence, how many there are, and true if nothing follows.
fn fence(line: &str) -> Option<(char, usize, bool)> {
    let line = line.trim_start();
    let sign = line.chars().next().filter(|it| matches!(it, '`' | '~'))?;
    let after = line.trim_start_matches(sign);
    let count = line.len().saturating_sub(after.len());
    (count >= 3).then_some((sign, count.min(FENCE_SIGNS_MAX), after.trim_end().is_empty()))
}

/// Abbreviations that something always follows, and those that a number follows.
const SHORTENED: [&str; 10] = ["dr", "mr", "mrs", "ms", "prof", "vs", "cf", "approx", "e.g", "i.e"];
const NUMBERED: [&str; 10] = ["no", "nos", "p", "pp", "vol", "ch", "sec", "fig", "eq", "ca"];
/// Abbreviations after which a sentence goes on if no capital follows.
const MEDIAL: [&str; 8] = ["etc", "al", "inc", "ltd", "corp", "dept", "incl", "resp"];

/// Returns true if the period between two texts ends an abbreviation and no sentence: `Dr. Miller`,
/// `approx. 500`, `No. 5`, `9 a.m. on Monday`.
pub(crate) fn is_shortened(before: &str, after: &str) -> bool {
    let word =
        before.rsplit(|c: char| !(c.is_alphanumeric() || c == '.')).next().unwrap_or_default();
    // Few sentences end with a word that is as short.
    if word.is_empty() || word.len() > 6 {
        return false;
    }
    let is = |list: &[&str]| list.iter().any(|it| it.eq_ignore_ascii_case(word));
    let next = after.trim_start().chars().next();
    let has_number = next.is_some_and(|it| it.is_ascii_digit());
    let goes_on = has_number || next.is_some_and(char::is_lowercase);
    let is_letter = |it: &str| it.len() == 1 && it.bytes().all(|it| it.is_ascii_alphabetic());
    let has_letters = || word.contains('.') && word.split('.').all(is_letter);
    is(&SHORTENED) || has_number && is(&NUMBERED) || goes_on && (is(&MEDIAL) || has_letters())
}

/// Returns the ends of the sentences of `text`, in bytes.
pub(crate) fn sentence_ends(text: &str) -> impl Iterator<Item = usize> {
    let mut next = Some(0).filter(|_| !text.is_empty());
    std::iter::from_fn(move || {
        let end = sentence_end(text, next?);
        next = Some(end).filter(|it| *it < text.len());
        Some(end)
    })
}

/// Returns the end of the sentence of `text` that begins at a byte. Out of line, for it is asked
/// for in many places.
#[inline(never)]
fn sentence_end(text: &str, from: usize) -> usize {
    for at in from..text.len() {
        let Some(c) = char_at(text, at) else { continue };
        let end = at.saturating_add(c.len_utf8());
        let ends = match c {
            '.' => {
                char_at(text, end).is_some_and(char::is_whitespace)
                    && !is_shortened(
                        text.get(..at).unwrap_or_default(),
                        text.get(end..).unwrap_or_default(),
                    )
            }
            '!' | '?' => char_at(text, end).is_some_and(char::is_whitespace),
            '。' | '！' | '？' | '؟' => end < text.len(),
            _ => false,
        };
        if ends {
            return end;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_line_is_taken_apart() {
        let of = |line: &'static str| {
            let head = head(line, &|it| it == "decision");
            (head.said_at, head.speaker, line.get(head.rest..).unwrap_or_default())
        };
        for (line, expected) in [
            ("use it", (None, None, "use it")),
            ("  - **Use** it", (None, None, "Use** it")),
            ("12. use it", (None, None, "use it")),
            (
                "[2025-11-04T14:23:00Z] DECISION: a",
                (Some("2025-11-04T14:23:00Z"), None, "DECISION: a"),
            ),
            ("Alice: hello", (None, Some("Alice"), "hello")),
            ("Anna Maria: hello", (None, Some("Anna Maria"), "hello")),
            ("Anna (SRE): hello", (None, Some("Anna"), "hello")),
            ("Decision: hello", (None, None, "Decision: hello")),
            ("[x] done", (None, None, "[x] done")),
            ("http://a.b: c", (None, None, "http://a.b: c")),
            ("\u{200f}- \u{202b}نعم", (None, None, "نعم")),
            ("", (None, None, "")),
            ("1.5 of it", (None, None, "1.5 of it")),
        ] {
            assert_eq!(of(line), expected, "{line}");
        }
    }

    #[test]
    fn a_fence_that_nothing_closes_is_none() {
        assert_eq!(fenced("a\n```\nb\n```\nc"), [false, true, true, true, false]);
        assert_eq!(fenced("a\n```\nb"), [false; 3]);
        assert_eq!(fenced("```\na\n```\n~~~\nb"), [true, true, true, false, false]);
        assert_eq!(fenced("```\n~~~\na\n```"), [true; 4]);
        assert_eq!(fenced("````\n```\na\n```\n````"), [true; 5]);
        assert_eq!(fenced("```\na\n```sh\n```"), [true; 4]);
        assert!(fenced("a\nb").is_empty());
    }

    #[test]
    fn sentences_end_before_a_space() {
        let of = |text: &str| sentence_ends(text).collect::<Vec<_>>();
        assert_eq!(of("A b. C 1.5 d! E"), [4, 13, 15]);
        assert_eq!(of("see a.b.c"), [9]);
        // `Never use more than approx.` was a rule without its number.
        for text in [
            "Never use more than approx. 500 words.",
            "Always cite Dr. Miller when you write.",
            "Always check No. 5 and No. 7 of the list.",
            "Never deploy before 9 a.m. on Monday.",
            "keep Gu et al. 2018, reviewer 2 asked for it",
            "We will use the lib from Acme Inc. for the queue.",
            "Keep the U.S. region only.",
            "Use short names, e.g. DB.",
        ] {
            assert_eq!(of(text), [text.len()], "{text}");
        }
        for (text, end) in [
            ("Deploy at 9 a.m. Never later.", 16),
            ("no. use redis", 3),
            ("We chose plan B. Never use A.", 16),
            ("It costs 5. 6 is too much", 11),
        ] {
            assert_eq!(of(text), [end, text.len()], "{text}");
        }
        assert_eq!(of("好。是"), [6, 9]);
        assert!(of("").is_empty());
    }
}
