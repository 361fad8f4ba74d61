//! Formats a call and its answer: the caller, the request, and below it the answer.
//!
//! Long values are cut, to keep the transcript readable.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use serde_json::Value;

use super::transcript::{Participant, Request};
use crate::cli::output::{BOLD, DIMMED, GREEN, Output, YELLOW, counted, grouped, plain};

/// The number of characters shown of a value.
const VALUE_CHARS_MAX: usize = 180;
/// The colours of participants, in the order of their appearance.
const COLOURS: [Style; 4] = [
    AnsiColor::Cyan.on_default().bold(),
    AnsiColor::Magenta.on_default().bold(),
    AnsiColor::Blue.on_default().bold(),
    AnsiColor::BrightMagenta.on_default().bold(),
];

/// Formats an event outside of the shared context.
pub(super) fn note(output: Output, text: &str) -> String {
    let text = output.wrapped("  · ", "    ", text);
    format!("{DIMMED}{text}{DIMMED:#}")
}

/// Formats a checked claim.
pub(super) fn claim(output: Output, text: &str) -> String {
    let text = output.wrapped("  ✓ ", "    ", text);
    format!("{GREEN}{text}{GREEN:#}")
}

/// Formats a participant's request.
pub(super) fn request(
    output: Output,
    names_width: usize,
    who: &Participant,
    request: &Request<'_>,
) -> String {
    let mut text = request.action.to_owned();
    let value = request.value.map(|it| format!("“{}”", shown(it)));
    for part in request.key.map(str::to_owned).into_iter().chain(value) {
        text.push(' ');
        text.push_str(&part);
    }
    let style = COLOURS.get(who.nth % COLOURS.len()).copied().unwrap_or(BOLD);
    let text = block(output, names_width, who.name, &text);
    text.replacen(who.name, &format!("{style}{}{style:#}", who.name), 1)
}

/// Formats the reply to `request`.
pub(super) fn reply(
    output: Output,
    names_width: usize,
    request: &Request<'_>,
    reply: &Value,
) -> String {
    let number = |name| reply.get(name).and_then(Value::as_u64).unwrap_or_default();
    let text = |name| reply.get(name).and_then(Value::as_str).unwrap_or_default();
    let tokens = || counted(number("value_size_tokens"), "token");
    let answer = match request.action {
        "list_keys" => listed(reply, number("total_tokens"), number("max_tokens")),
        "read" => format!(
            "“{}” · by {}, version {}, {}",
            shown(text("value")),
            plain(text("written_by")),
            number("version"),
            tokens(),
        ),
        "write" => {
            format!("version {}, {}, revision {}", number("version"), tokens(), number("revision"))
        }
        "delete" => {
            format!(
                "was at version {}, revision {}",
                number("previous_version"),
                number("revision")
            )
        }
        _ => "done".to_owned(),
    };
    let mut all = block(output, names_width, "", &format!("→ {answer}"));
    for warning in reply.get("warnings").and_then(Value::as_array).into_iter().flatten() {
        let member = |name| warning.get(name).and_then(Value::as_str).unwrap_or_default();
        let warning = format!("! {}: {}", plain(member("code")), plain(member("message")));
        let text = block(output, names_width, "", &warning);
        let _ = write!(all, "\n{YELLOW}{text}{YELLOW:#}");
    }
    all
}

/// Formats a listing as a line.
fn listed(reply: &Value, tokens: u64, max_tokens: u64) -> String {
    let keys = reply.get("keys").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let names: Vec<&str> =
        keys.iter().filter_map(|it| it.get("key").and_then(Value::as_str)).collect();
    let names = match names.as_slice() {
        [] => String::new(),
        names => format!(": {}", plain(&names.join(", "))),
    };
    let (count, max) = (counted(keys.len().try_into().unwrap_or(0), "key"), grouped(max_tokens));
    format!("{count}, {} of {max} tokens{names}", grouped(tokens))
}

/// Formats a value as a line, cut if it is long.
fn shown(value: &str) -> String {
    let lines = value.lines().map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "));
    let lines: Vec<String> = lines.filter(|it| !it.is_empty()).collect();
    let line = plain(&lines.join(" / ")).into_owned();
    let chars = line.chars().count();
    if chars <= VALUE_CHARS_MAX {
        return line;
    }
    let start: String = line.chars().take(VALUE_CHARS_MAX).collect();
    let start = start.rsplit_once(' ').map_or(start.as_str(), |(start, _)| start);
    let all = u64::try_from(value.chars().count()).unwrap_or(u64::MAX);
    format!("{start} … ({} characters)", grouped(all))
}

/// Formats `text` beside the column of names, with further lines indented a little more.
fn block(output: Output, names_width: usize, name: &str, text: &str) -> String {
    let first = format!("  {name:<names_width$}  ");
    let indent = format!("  {:names_width$}    ", "");
    output.wrapped(&first, &indent, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_value_is_cut_at_a_word_and_says_so() {
        let value = "word ".repeat(100);
        let shown = shown(&value);
        assert!(shown.ends_with("word … (500 characters)"), "{shown}");
        assert_eq!(super::shown("two\n\n   lines\u{1b}"), "two / lines␛");
    }
}
