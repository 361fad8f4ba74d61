//! Condensed items: the lines and words that an item keeps if it is not kept whole, or a
//! placeholder.

use super::{facts::Fact, weigh::is_of_user};
use crate::{
    digest::sha256,
    extract::Class,
    item::{Item, Kind, ListedKind},
    text::ends_as_question,
    tokens::Tokens,
};

/// The most words of an acknowledgement.
const ACKNOWLEDGED_WORDS_MAX: usize = 5;
/// The most bytes of a message that something was saved.
const SAVED_BYTES_MAX: usize = 400;
/// The most lines that remain of a trace, a log or a test run.
const LINES_MAX: usize = 4;
/// A tool result with fewer tokens gets no placeholder: it would save next to nothing.
const CLEARED_TOKENS_MIN: u32 = 60;
/// The fewest lines of a log.
const LOG_LINES_MIN: usize = 6;

/// The first words of acknowledgements.
const ACKNOWLEDGEMENTS: [&str; 24] = [
    "ok",
    "okay",
    "thanks",
    "thank",
    "thx",
    "got",
    "sure",
    "great",
    "perfect",
    "sounds",
    "done",
    "cool",
    "nice",
    "good",
    "understood",
    "noted",
    "right",
    "awesome",
    "lgtm",
    "welcome",
    "you're",
    "alright",
    "excellent",
    "wow",
];

/// The reason why an item is of little use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Noise {
    /// An acknowledgement.
    Acknowledgement,
    /// A message that something was saved.
    Saved,
    /// The log of a build that succeeded.
    Built,
    /// The output of a test run.
    Tests,
    /// A log.
    Verbose,
    /// A stack trace.
    Trace,
    /// Issues that are resolved for long.
    Resolved,
    /// An attempt that failed.
    DeadEnd,
}

impl Noise {
    /// Returns the score, 0 to 30, and the name of the rule.
    pub(super) fn score(self) -> (u8, &'static str) {
        match self {
            Self::Acknowledgement => (10, "acknowledgement"),
            Self::Saved => (12, "saved"),
            Self::Built => (15, "built"),
            Self::Tests => (18, "test_run"),
            Self::Verbose => (20, "log"),
            Self::Trace => (22, "trace"),
            Self::Resolved => (25, "resolved_issue"),
            Self::DeadEnd => (28, "dead_end"),
        }
    }
}

/// Returns why an item is of little use, if it is. `before` is the text of the item before it.
pub(super) fn noise(
    item: &Item,
    facts: &[Fact<'_>],
    before: &str,
    is_recent: bool,
) -> Option<Noise> {
    let text = item.text()?;
    if is_acknowledgement(text)
        && !ends_as_question(before)
        && facts.iter().all(|it| !it.is_required())
    {
        return Some(Noise::Acknowledgement);
    }
    if is_of_user(item) || is_recent {
        return None;
    }
    let of = |class| facts.iter().filter(move |it| it.class == class);
    let is_over = |it: &Fact<'_>| !it.holds || it.is_resolved;
    if of(Class::Issue).next().is_some()
        && of(Class::Issue).all(is_over)
        && facts.iter().all(|it| !it.is_required())
    {
        return Some(Noise::Resolved);
    }
    if is_output(item) {
        return output_noise(text);
    }
    let failed = of(Class::Failure).map(|it| it.text.len()).sum::<usize>();
    (failed > 0 && failed.saturating_mul(2) < text.len() && failed.saturating_mul(20) > text.len())
        .then_some(Noise::DeadEnd)
}

/// Returns true if a program wrote the text, and no person or model.
pub(super) fn is_output(item: &Item) -> bool {
    let Kind::Listed(kind) = &item.kind else { return false };
    let kinds = [
        ListedKind::ToolResult,
        ListedKind::RetrievalResult,
        ListedKind::BrowserState,
        ListedKind::RuntimeState,
        ListedKind::ExternalResource,
    ];
    kinds.contains(kind)
}

/// Returns what remains of an item, or `None` if nothing is worth to remain. `call` is the name of
/// the tool that wrote it.
pub(super) fn remains(
    item: &Item,
    noise: Option<Noise>,
    facts: &[Fact<'_>],
    call: Option<&str>,
) -> Option<String> {
    let text = item.text();
    let found = match (noise, text) {
        (Some(Noise::Saved), Some(text)) => words(text, |it| is_path(it) || is_time(it)),
        (Some(Noise::Built), Some(text)) => {
            lines(text, |it| it.split_ascii_whitespace().any(is_path) && has_any(it, &BUILT_AT))
        }
        (Some(Noise::Tests), Some(text)) => {
            lines(text, |it| is_count_of_tests(it) || it.starts_with("FAILED "))
        }
        (Some(Noise::Verbose), Some(text)) => {
            lines(text, |it| has_any(it, &["ERROR", "FATAL", "WARN"]))
        }
        (Some(Noise::Trace), Some(text)) => lines(text, |it| !is_frame(it) && is_error(it)),
        (Some(Noise::DeadEnd), _) => {
            let failed = facts.iter().find(|it| it.class == Class::Failure);
            failed.map(|it| it.text.to_owned()).unwrap_or_default()
        }
        (None, _) => return cleared(item, call, None),
        _ => String::new(),
    };
    let is_shorter =
        text.is_some_and(|it| found.len().saturating_mul(3) < it.len().saturating_mul(2));
    (!found.is_empty() && is_shorter).then_some(found)
}

/// Returns the placeholder of a tool result. `mark` has the number of repetitions.
pub(super) fn cleared(item: &Item, call: Option<&str>, mark: Option<&str>) -> Option<String> {
    let text = item.text()?;
    if !is_output(item) || item.tokens.0 < CLEARED_TOKENS_MIN {
        return None;
    }
    let digest = sha256(text);
    let mut placeholder = "[tool result ".to_owned();
    placeholder.push_str(&grouped(item.tokens));
    placeholder.push_str(" tokens cleared; ");
    placeholder.push_str(digest.get(..23).unwrap_or_default());
    if let Some(mark) = mark {
        placeholder.push_str("; ");
        placeholder.push_str(mark);
    }
    if let Some(name) = call.or(item.source.origin.as_deref()) {
        placeholder.push_str("; run again: ");
        placeholder.push_str(name);
    }
    placeholder.push(']');
    Some(placeholder)
}

/// Returns a number with a comma before each group of three digits.
fn grouped(tokens: Tokens) -> String {
    let digits = tokens.0.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && digits.len().saturating_sub(place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Words of a line with the place of what was built.
const BUILT_AT: [&str; 8] =
    ["artifact", "output", "built", "wrote", "written", "->", "→", "finished"];
/// Texts that report a successful build.
const BUILT: [&str; 6] = [
    "build completed",
    "build succeeded",
    "build successful",
    "built successfully",
    "compiled successfully",
    "build finished",
];
/// Texts that report that something was saved.
const SAVED: [&str; 6] = [
    "saved successfully",
    "successfully saved",
    "written successfully",
    "successfully wrote",
    "updated successfully",
    "created successfully",
];
/// Words in the line of an error or of a root cause.
const ERRORS: [&str; 8] =
    ["error", "exception", "panicked", "root cause", "caused by", "fatal", "failed", "traceback:"];

fn output_noise(text: &str) -> Option<Noise> {
    if text.len() <= SAVED_BYTES_MAX && has_any(text, &SAVED) {
        return Some(Noise::Saved);
    }
    let (mut count, mut frames, mut logged, mut counts) = (0_usize, 0_usize, 0_usize, false);
    let mut built = false;
    // Rejects most texts at once.
    let may_be_built = ["uil", "UIL", "ompil"].iter().any(|it| text.contains(it));
    for line in text.lines() {
        count = count.saturating_add(1);
        frames = frames.saturating_add(usize::from(is_frame(line)));
        logged = logged.saturating_add(usize::from(is_logged(line)));
        counts = counts || is_count_of_tests(line);
        built = built || (may_be_built && has_any(line, &BUILT));
    }
    let has_trace = text.contains("Traceback (most recent call last)") || frames >= 3;
    if has_trace && frames.saturating_mul(3) >= count {
        return Some(Noise::Trace);
    }
    if counts && count > 1 {
        return Some(Noise::Tests);
    }
    if built {
        return Some(Noise::Built);
    }
    (count >= LOG_LINES_MIN && logged.saturating_mul(3) >= count.saturating_mul(2))
        .then_some(Noise::Verbose)
}

/// Returns true if the line is one of a stack trace.
fn is_frame(line: &str) -> bool {
    let bare = line.trim_start();
    let is_code = line.starts_with("    ");
    is_code || bare.starts_with("at ") || bare.starts_with("File \"") || bare.starts_with("...")
}

fn is_error(line: &str) -> bool {
    has_any(line, &ERRORS) && !line.starts_with("Traceback (most")
}

/// Returns true if the line begins like that of a log.
fn is_logged(line: &str) -> bool {
    let start = line.get(..60).unwrap_or(line);
    ["INFO", "DEBUG", "TRACE", "WARN", "ERROR"].iter().any(|it| start.contains(it))
}

/// Returns true if the line has the numbers of a test run.
fn is_count_of_tests(line: &str) -> bool {
    let mut before = "";
    line.len() < 300
        && line.split(|it: char| !it.is_ascii_alphanumeric()).filter(|it| !it.is_empty()).any(
            |it| {
                let last = std::mem::replace(&mut before, it);
                let is_state = ["passed", "passing", "failed", "failing"].contains(&it);
                is_state && last.bytes().all(|it| it.is_ascii_digit())
            },
        )
}

fn is_acknowledgement(text: &str) -> bool {
    let mut words = text.split_ascii_whitespace();
    let first = words.next().unwrap_or_default();
    let bare = first.trim_matches(|it: char| !it.is_alphanumeric());
    text.len() < 100
        && words.count() < ACKNOWLEDGED_WORDS_MAX
        && !text.bytes().any(|it| it.is_ascii_digit())
        && !ends_as_question(text)
        && ACKNOWLEDGEMENTS.iter().any(|it| it.eq_ignore_ascii_case(bare))
}

fn has_any(text: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| {
        let windows = text.as_bytes().windows(phrase.len());
        windows.into_iter().any(|it| it.eq_ignore_ascii_case(phrase.as_bytes()))
    })
}

fn is_path(word: &str) -> bool {
    let bare = word.trim_matches(|it: char| !it.is_alphanumeric() && it != '/');
    let has_extension = bare.rsplit_once('.').is_some_and(|(stem, it)| {
        !stem.is_empty()
            && (1..=5).contains(&it.len())
            && it.bytes().all(|it| it.is_ascii_alphanumeric())
    });
    bare.len() > 2 && (bare.contains('/') || has_extension)
}

fn is_time(word: &str) -> bool {
    word.bytes().any(|it| it.is_ascii_digit()) && word.contains(':')
}

/// Returns the words of a text that have a property.
fn words(text: &str, has: impl Fn(&str) -> bool) -> String {
    let mut found = String::new();
    for word in text.split_ascii_whitespace().filter(|it| has(it)) {
        if !found.is_empty() {
            found.push(' ');
        }
        found.push_str(word);
    }
    found
}

/// Returns the last lines of a text that have a property.
fn lines(text: &str, has: impl Fn(&str) -> bool) -> String {
    let found: Vec<&str> = text.lines().filter(|it| has(it)).collect();
    let first = found.len().saturating_sub(LINES_MAX);
    found.get(first..).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the noise that a tool result is, and what remains of it.
    fn of(text: &str) -> (Option<Noise>, Option<String>) {
        let item = Item::inline("a", Kind::Listed(ListedKind::ToolResult), text);
        let noise = noise(&item, &[], "", false);
        (noise, remains(&item, noise, &[], Some("run")))
    }

    #[test]
    fn outputs_are_recognized_and_condensed() {
        let trace = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    \
                     g()\n  File \"b.py\", line 2, in g\n    h()\nKeyError: 'x'\nCaused by: no key";
        let logs = "12:00 INFO a started\n".repeat(6) + "12:01 ERROR a failed\n";
        for (text, noise, rest) in [
            (trace, Noise::Trace, Some("KeyError: 'x'\nCaused by: no key")),
            (
                "File src/a.rs saved successfully at 12:00:01",
                Noise::Saved,
                Some("src/a.rs 12:00:01"),
            ),
            ("Saved successfully", Noise::Saved, None),
            (
                "compiling a\ncompiling b\nbuild completed\nartifact: target/a.wasm",
                Noise::Built,
                Some("artifact: target/a.wasm"),
            ),
            (
                "test a ... ok\ntest b ... ok\nFAILED b\n1 passed; 1 failed",
                Noise::Tests,
                Some("FAILED b\n1 passed; 1 failed"),
            ),
            (logs.as_str(), Noise::Verbose, Some("12:01 ERROR a failed")),
        ] {
            assert_eq!(of(text), (Some(noise), rest.map(str::to_owned)), "{text}");
        }
        assert_eq!(of("all 12 names have passed the border"), (None, None));
    }

    #[test]
    fn a_cleared_result_can_be_made_again() {
        let text = "x".repeat(20_000);
        let (_, rest) = of(&text);
        let digest = sha256(&text);
        let prefix = digest.get(..23).unwrap_or_default();
        assert_eq!(
            rest,
            Some(format!("[tool result 5,000 tokens cleared; {prefix}; run again: run]"))
        );
    }

    #[test]
    fn an_answer_is_no_acknowledgement() {
        let noise = |text: &str, before: &str| {
            let item = Item::inline("a", Kind::Listed(ListedKind::UserMessage), text);
            noise(&item, &[], before, false)
        };
        assert_eq!(noise("Great, thank you!", "It works."), Some(Noise::Acknowledgement));
        assert_eq!(noise("Great, thank you!", "Shall I delete it?"), None);
        assert_eq!(noise("OK, use port 80", "It works."), None);
        assert_eq!(noise("Sure, but only on the test system", "It works."), None);
    }
}
