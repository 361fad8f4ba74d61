//! Messages: what a line of a transcript says, part by part.
//!
//! A message has one part for each kind of block: its text, what the model thought, its calls of
//! tools, and each result of a tool. Each part has an authority of its own, so a message may carry
//! the words of a user beside the output of a program. Each may stay or go without the others.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use shared_context_core::compact::DIGEST_HEADING;

/// The kind and the authority of the results of tools.
const RESULT: (&str, &str) = ("tool_result", "tool_external");
/// The types of lines that Claude Code writes without the id of a session and without a message.
const NOTES: [&str; 3] = ["summary", "file-history-snapshot", "file-history-delta"];
/// The longest id of a message that is used, in bytes.
const ID_BYTES_MAX: usize = 64;
/// The length of a UUID.
const UUID_BYTES: usize = 36;

/// The place of a part in its message, in the order of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// A result of a tool, by its number from 1.
    Result(usize),
    /// A thought of the model.
    Thought,
    /// All that is not at another place.
    Text,
    /// The calls of tools.
    Calls,
}

/// A part of a message.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) text: String,
    /// The ids of the calls that it makes.
    pub(super) calls: Vec<String>,
    /// The id of the call that it answers.
    pub(super) answers: Option<String>,
}

/// The content of a message, whatever its form.
#[derive(Debug)]
pub(super) struct Message {
    role: String,
    /// True if all its content is of a tool.
    is_result: bool,
    /// Its parts. There is one at least.
    pub(super) parts: BTreeMap<Place, Part>,
}

impl Place {
    /// Returns the end of the id of a part at this place. The parts that stay must have the same id
    /// when others are gone.
    pub(super) fn suffix(self) -> String {
        match self {
            Self::Text => String::new(),
            Self::Thought => ".thought".to_owned(),
            Self::Calls => ".call".to_owned(),
            Self::Result(1) => ".result".to_owned(),
            Self::Result(nth) => format!(".result{nth}"),
        }
    }

    /// Returns the place of a block. `results` counts the results before it.
    fn of(block: &Value, results: &mut usize) -> Self {
        match block.get("type").and_then(Value::as_str) {
            Some("thinking" | "redacted_thinking") => Self::Thought,
            Some("tool_use") => Self::Calls,
            Some("tool_result") => {
                *results = results.saturating_add(1);
                Self::Result(*results)
            }
            _ => Self::Text,
        }
    }
}

/// Returns true for a line that Claude Code writes about its session, and that is no message.
pub(super) fn is_note(value: &Value) -> bool {
    let is_known = value.get("type").and_then(Value::as_str).is_some_and(|it| NOTES.contains(&it));
    let has_message = value.get("role").is_some() || value.get("message").is_some();
    !has_message && (is_known || value.get("sessionId").is_some_and(Value::is_string))
}

/// Returns the ids that a line gives to its message, the most precise first. A UUID is known by its
/// first digits, because the digest of a compaction repeats it in each line.
pub(super) fn ids(value: &Value) -> impl Iterator<Item = &str> {
    let named = [value.get("uuid"), value.get("id"), inner(value).get("id")];
    let ids = named.into_iter().flatten().filter_map(Value::as_str);
    let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_');
    let ids = ids.filter(move |it| {
        // `digest:…` would be an id that only this program may give, and `line-…` is one.
        (1..=ID_BYTES_MAX).contains(&it.len())
            && it.chars().all(is_plain)
            && !it.starts_with("line-")
    });
    ids.map(|it| match it.split_once('-') {
        Some((first, _)) if it.len() == UUID_BYTES && first.len() == 8 => first,
        _ => it,
    })
}

/// Returns the message itself: the value, or its member `message`.
fn inner(value: &Value) -> &Value {
    value.get("message").filter(|it| it.is_object()).unwrap_or(value)
}

impl Message {
    /// Reads the message of a line.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let inner = inner(value);
        let role = inner.get("role").or_else(|| value.get("type"))?.as_str()?;
        let answers = inner.get("tool_call_id").and_then(Value::as_str);
        let is_result = answers.is_some() || matches!(role, "tool" | "function");
        let mut message = Self { role: role.to_owned(), is_result, parts: BTreeMap::new() };
        let calls: Vec<&Value> =
            inner.get("tool_calls").and_then(Value::as_array).into_iter().flatten().collect();
        let old_call = inner.get("function_call").filter(|it| it.is_object());
        match inner.get("content") {
            Some(Value::String(text)) if text.is_empty() => {}
            Some(Value::String(text)) => message.part(Place::Text).append(text),
            Some(Value::Array(blocks)) => message.add_blocks(blocks),
            Some(Value::Null) => {}
            None if !calls.is_empty() || old_call.is_some() => {}
            _ => return None,
        }
        for call in calls {
            let function = call.get("function").unwrap_or(call);
            let id = call.get("id").and_then(Value::as_str);
            let part = message.part(Place::Calls);
            part.add_call(id, function.get("name"), function.get("arguments"));
        }
        if let Some(call) = old_call {
            let id = call.get("name").and_then(Value::as_str).map(by_name);
            let part = message.part(Place::Calls);
            part.add_call(id.as_deref(), call.get("name"), call.get("arguments"));
        }
        if message.parts.is_empty() {
            message.part(Place::Text);
        }
        if is_result {
            let of_name = || Some(by_name(inner.get("name")?.as_str()?));
            let answers = answers.map(str::to_owned).or_else(of_name);
            if let Some(it) = message.parts.get_mut(&Place::Text) {
                it.answers = answers;
            }
        }
        Some(message)
    }

    fn add_blocks(&mut self, blocks: &[Value]) {
        let mut results = 0;
        for block in blocks {
            let place = Place::of(block, &mut results);
            let part = self.part(place);
            let member = |name: &str| block.get(name).and_then(Value::as_str);
            match place {
                Place::Calls => part.add_call(member("id"), block.get("name"), block.get("input")),
                Place::Thought => {
                    // What is quoted has no facts: what was thought was not said.
                    for line in member("thinking").unwrap_or_default().lines() {
                        part.append(&format!("> {line}"));
                    }
                }
                Place::Result(_) => {
                    part.answers = member("tool_use_id").map(str::to_owned);
                    match block.get("content") {
                        Some(Value::Array(blocks)) => blocks.iter().for_each(|it| part.add(it)),
                        Some(it) => part.add(it),
                        None => {}
                    }
                }
                Place::Text => part.add(block),
            }
        }
    }

    /// Returns the part at a place, and creates it if it is missing.
    fn part(&mut self, place: Place) -> &mut Part {
        self.parts.entry(place).or_default()
    }

    /// Returns the kind of a part as an item, and the authority of its source.
    pub(super) fn kind(&self, place: Place, part: &Part) -> (&'static str, &'static str) {
        match (place, self.role.as_str()) {
            (Place::Result(_), _) => RESULT,
            (Place::Calls, _) => ("tool_call", "model"),
            // A tool may return what looks like a digest.
            (Place::Text, _) if self.is_result => RESULT,
            // What an earlier compaction left, whichever role carries it.
            (Place::Text, _) if part.text.starts_with(DIGEST_HEADING) => {
                ("computed_summary", "model")
            }
            (Place::Text, "system") => ("system_prompt", "operator"),
            (Place::Text, "developer") => ("developer_instruction", "operator"),
            (Place::Text, "user" | "human") => ("user_message", "user"),
            (Place::Thought | Place::Text, _) => ("session_history", "model"),
        }
    }
}

/// Returns what stands for the id of a call that has none: only its name is known.
fn by_name(name: &str) -> String {
    format!("function {name}")
}

impl Part {
    /// Appends a block of text, or a text.
    fn add(&mut self, block: &Value) {
        let text = block.get("text").unwrap_or(block);
        self.append(text.as_str().unwrap_or_default());
    }

    /// Appends a call, on a line of its own.
    fn add_call(&mut self, id: Option<&str>, name: Option<&Value>, arguments: Option<&Value>) {
        self.calls.extend(id.map(str::to_owned));
        let name = name.and_then(Value::as_str).unwrap_or("tool");
        let arguments = match arguments {
            Some(Value::String(text)) => one_line(text),
            Some(it) => it.to_string(),
            None => String::new(),
        };
        self.append(&format!("{name}({arguments})"));
    }

    fn append(&mut self, text: &str) {
        if !self.text.is_empty() && !text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }
}

/// Returns JSON of several lines on one. Other arguments, such as a patch, stay as they are.
fn one_line(arguments: &str) -> String {
    if arguments.contains('\n')
        && let Ok(value) = serde_json::from_str::<Value>(arguments)
    {
        return value.to_string();
    }
    arguments.to_owned()
}

/// Returns the line that is left of a message. `parts` has the places of the parts that stay, with a
/// new text if it is not the old one. A call stays as it is: its input cannot be shortened.
pub(super) fn rest(value: &Value, parts: &BTreeMap<Place, Option<&str>>) -> Value {
    let mut value = value.clone();
    let is_within = value.get("message").is_some_and(Value::is_object);
    let inner = if is_within { value.get_mut("message") } else { Some(&mut value) };
    if let Some(members) = inner.and_then(Value::as_object_mut) {
        if !parts.contains_key(&Place::Calls) {
            members.remove("tool_calls");
            members.remove("function_call");
        }
        rest_of_content(members, parts);
    }
    value
}

fn rest_of_content(members: &mut Map<String, Value>, parts: &BTreeMap<Place, Option<&str>>) {
    let Some(content) = members.get_mut("content") else { return };
    let Value::Array(blocks) = content else {
        match parts.get(&Place::Text) {
            None => *content = Value::Null,
            Some(None) => {}
            Some(Some(text)) => *content = json!(text),
        }
        return;
    };
    let mut results = 0;
    let mut written = BTreeSet::new();
    let mut kept = Vec::new();
    for mut block in std::mem::take(blocks) {
        let place = Place::of(&block, &mut results);
        match (place, parts.get(&place)) {
            (_, None) => {}
            (_, Some(None)) | (Place::Calls, _) => kept.push(block),
            (Place::Result(_), Some(Some(text))) => {
                if let Some(it) = block.as_object_mut() {
                    it.insert("content".to_owned(), json!(text));
                }
                kept.push(block);
            }
            (Place::Text | Place::Thought, Some(Some(text))) => {
                if written.insert(place) {
                    kept.push(json!({"type": "text", "text": text}));
                }
            }
        }
    }
    *content = if kept.is_empty() { Value::Null } else { Value::Array(kept) };
}
