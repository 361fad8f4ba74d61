//! Memories as text: for a prompt, and the log of decisions (spec 19.7).

use std::fmt::Write as _;

use super::{
    Memory,
    content::{Content, Value},
    kinds::Kind,
};

/// Returns the id that people use: of a decision that with its day.
pub(crate) fn short_id(it: &Memory) -> String {
    it.decision.map_or_else(|| it.id.to_string(), |it| it.to_string())
}

/// Returns a memory in the form of the source: title, a line about it, its content, a rule.
pub(crate) fn for_context(it: &Memory) -> String {
    let mut text = format!(
        "### {}\n**ID**: {} | **Importance**: {}/10 | **Date**: {} | **By**: {}",
        it.title,
        short_id(it),
        it.importance,
        it.at,
        it.created_by
    );
    if let Some(session) = &it.created_in {
        let _ = write!(text, " in {session}");
    }
    if !it.is_verified {
        text.push_str(" | **Unverified**");
    }
    text.push('\n');
    match &it.content {
        Some(content) => text.push_str(&content.fenced()),
        None => text.push_str("This memory was redacted.\n\n"),
    }
    text.push_str("---\n");
    text
}

/// Returns a decision in the form of the decision log, with its eleven headings.
pub(crate) fn decision(project: &str, it: &Memory) -> String {
    let mut text = format!("## DECISION: {}\n", it.title);
    for (name, value) in [
        ("Decision ID", short_id(it)),
        ("Timestamp", it.at.to_string()),
        ("Agent", it.created_by.to_string()),
        ("Project", project.to_owned()),
        ("Importance", it.importance.to_string()),
    ] {
        let _ = writeln!(text, "**{name}**: {value}");
    }
    if !it.is_verified {
        text.push_str("**Status**: unverified\n");
    }
    if let Some(at) = it.archived_at {
        let _ = writeln!(text, "**Archived**: {at}");
    }
    for rule in Kind::Decision.members() {
        let heading = if rule.name == "decision" { "Decision" } else { rule.heading };
        let value = it.content.as_ref().and_then(|it| value_of(it, rule.name));
        let _ = writeln!(text, "### {heading}\n{}", value.map_or_else(|| "–\n".to_owned(), shown));
    }
    let tags = if it.tags.is_empty() { "–".to_owned() } else { it.tags.join(", ") };
    let _ = writeln!(text, "### Tags\n{tags}");
    text
}

fn value_of<'a>(content: &'a Content, name: &str) -> Option<&'a Value> {
    content.members().find(|it| it.0.name == name).map(|it| it.1)
}

/// Returns a value as a block quote, which no text can end.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::Text(it) => it.clone(),
        Value::Number(it) => it.to_string(),
        Value::Texts(all) => {
            let numbered = (1..).zip(all).map(|(nth, it): (u32, &String)| format!("{nth}. {it}"));
            numbered.collect::<Vec<_>>().join("\n")
        }
    };
    let mut quoted = String::new();
    for line in text.split(['\n', '\r']) {
        let _ = writeln!(quoted, "> {line}");
    }
    quoted
}
