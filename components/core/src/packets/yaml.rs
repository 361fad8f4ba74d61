//! Packets as YAML 1.2, in the layout of the specification (spec 18.5).
//!
//! A string is written plain only if it is a word or words of letters that every reader parses as a
//! string; else as a JSON string, which YAML 1.2 contains. So no text can change the structure.

use std::fmt::Write as _;

use serde_json::Value;

use super::document::text_of;

/// The order of members: the head as in the specification, then what was added.
const ORDER: [&str; 43] = [
    "format",
    "version",
    "id",
    "session",
    "created",
    "creator",
    "target_task",
    "task_type",
    "address",
    "depth",
    "layers",
    "similarity",
    "context",
    "goal",
    "success_criteria",
    "decisions",
    "choice",
    "change",
    "reason",
    "made_by",
    "merged_from",
    "constraints",
    "codebase",
    "relevant_files",
    "path",
    "summary",
    "patterns",
    "anti_patterns",
    "examples",
    "failed_attempts",
    "approach",
    "reason_failed",
    "pivots",
    "open_questions",
    "not_included",
    "links",
    "sources",
    "pointer",
    "kind",
    "key",
    "changelog",
    "checksum",
    "token_count",
];
/// Words that readers of YAML parse as a value other than a string.
const SPECIAL: [&str; 11] =
    ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "inf", "nan"];

/// Returns a document as YAML.
pub(super) fn write(document: &Value) -> String {
    let mut text = "# Context Packet\n".to_owned();
    write_block(document, 0, &mut text);
    text
}

fn write_block(value: &Value, depth: usize, to: &mut String) {
    match value {
        Value::Object(members) => {
            let known = ORDER.into_iter().filter(|it| members.contains_key(*it));
            let others = members.keys().map(String::as_str).filter(|it| !ORDER.contains(it));
            for (nth, name) in known.chain(others).enumerate() {
                // The first member of an element of a list follows its hyphen.
                if nth > 0 || !to.ends_with("- ") {
                    indent(depth, to);
                }
                to.push_str(name);
                to.push(':');
                write_member(members.get(name).unwrap_or(&Value::Null), depth, to);
            }
        }
        Value::Array(items) => {
            for item in items {
                indent(depth, to);
                to.push_str("- ");
                match item {
                    Value::Object(members) if !members.is_empty() => {
                        write_block(item, depth.saturating_add(1), to);
                    }
                    _ => {
                        write_scalar(item, to);
                        to.push('\n');
                    }
                }
            }
        }
        _ => write_scalar(value, to),
    }
}

fn write_member(value: &Value, depth: usize, to: &mut String) {
    let is_empty = match value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    };
    if is_empty {
        to.push(' ');
        write_scalar(value, to);
        to.push('\n');
    } else {
        to.push('\n');
        write_block(value, depth.saturating_add(1), to);
    }
}

fn write_scalar(value: &Value, to: &mut String) {
    match value {
        Value::String(it) if is_plain(it) => to.push_str(it),
        Value::String(it) => write_quoted(it, to),
        // Numbers, flags and empty collections are the same in JSON.
        _ => to.push_str(&text_of(value)),
    }
}

/// Writes a string between quotation marks. Characters that YAML does not print, or treats as line
/// breaks, are escaped.
fn write_quoted(it: &str, to: &mut String) {
    for c in text_of(&Value::String(it.to_owned())).chars() {
        match c {
            '\u{7f}'..='\u{9f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => {
                let _ = write!(to, "\\u{:04x}", u32::from(c));
            }
            c => to.push(c),
        }
    }
}

/// Returns true for a text that every reader parses as a string.
fn is_plain(it: &str) -> bool {
    let is_inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/');
    it.bytes().next().is_some_and(|it| it.is_ascii_alphabetic())
        && it.bytes().all(is_inner)
        && !SPECIAL.iter().any(|word| it.eq_ignore_ascii_case(word))
}

fn indent(depth: usize, to: &mut String) {
    (0..depth).for_each(|_| to.push_str("  "));
}
