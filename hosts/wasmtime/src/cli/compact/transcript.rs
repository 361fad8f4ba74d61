//! Transcripts: conversations as agents store them, a line of JSON per message.
//!
//! # Invariant
//!
//! A message that is kept whole is written back byte for byte.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::shown::ResultItem;

/// How the digest of a compaction begins.
const HEADING: &str = "# Compacted context";

/// A conversation.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    messages: Vec<Message>,
}

/// A message, and the line that it stands on.
#[derive(Debug)]
struct Message {
    line: String,
    value: Value,
    item: Map<String, Value>,
}

/// What a message says, without its form.
#[derive(Debug, Default)]
struct Content {
    text: String,
    /// The ids of the tool calls that it makes.
    calls: Vec<String>,
    /// The id of the tool call that it answers.
    answers: Option<String>,
}

impl Transcript {
    /// Parses a transcript.
    ///
    /// # Errors
    ///
    /// The first line that is no message, with the reason.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut messages = Vec::new();
        // The message of each tool call.
        let mut calls: BTreeMap<String, String> = BTreeMap::new();
        for (place, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let nth = place.saturating_add(1);
            let value: Value = serde_json::from_str(line)
                .map_err(|error| format!("line {nth} is no JSON: {error}"))?;
            let Some((role, content)) = message(&value) else {
                return Err(format!("line {nth} has no role and content"));
            };
            let id = format!("line-{nth}");
            let pair = content.answers.as_ref().and_then(|it| calls.get(it)).cloned();
            calls.extend(content.calls.iter().map(|it| (it.clone(), id.clone())));
            let (kind, authority) = kind(&role, &content);
            let mut item = Map::new();
            item.insert("id".to_owned(), json!(id));
            item.insert("kind".to_owned(), json!(kind));
            item.insert("authority".to_owned(), json!(authority));
            item.insert("text".to_owned(), json!(content.text));
            item.extend(pair.map(|it| ("pair".to_owned(), json!(it))));
            messages.push(Message { line: line.to_owned(), value, item });
        }
        Ok(Self { messages })
    }

    /// Returns the messages as items of a request.
    pub(crate) fn items(&self) -> Value {
        self.messages.iter().map(|it| Value::Object(it.item.clone())).collect()
    }

    /// Returns the first message of the user that has a text.
    pub(crate) fn first_of_user(&self) -> Option<&str> {
        let of_user = self.messages.iter().filter(|it| it.text("kind") == "user_message");
        of_user.map(|it| it.text("text").trim()).find(|it| !it.is_empty())
    }

    /// Writes the transcript that a compaction left: a line per item of the result.
    pub(super) fn compacted(&self, items: &[ResultItem]) -> String {
        let mut text = String::new();
        let messages: BTreeMap<&str, &Message> =
            self.messages.iter().map(|it| (it.id(), it)).collect();
        for item in items {
            match (messages.get(item.id.as_str()), &item.text) {
                (Some(message), None) => text.push_str(&message.line),
                (Some(message), Some(new)) => {
                    let mut value = message.value.clone();
                    replace(&mut value, new);
                    text.push_str(&value.to_string());
                }
                (None, new) => {
                    let digest = json!({"role": "user", "content": new});
                    text.push_str(&digest.to_string());
                }
            }
            text.push('\n');
        }
        text
    }
}

impl Message {
    fn id(&self) -> &str {
        self.text("id")
    }

    /// Returns a member of the item; an empty text if it has none.
    fn text(&self, name: &str) -> &str {
        self.item.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

/// Returns the role and the content of a message, also of one within a member `message`.
fn message(value: &Value) -> Option<(String, Content)> {
    let inner = value.get("message").filter(|it| it.is_object()).unwrap_or(value);
    let role = inner.get("role").or_else(|| value.get("type"))?.as_str()?.to_owned();
    let mut content = Content::default();
    match inner.get("content")? {
        Value::String(text) => content.text.clone_from(text),
        Value::Array(blocks) => blocks.iter().for_each(|it| content.add(it)),
        Value::Null => {}
        _ => return None,
    }
    for call in inner.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        let function = call.get("function").unwrap_or(call);
        content.add_call(call, function.get("name"), function.get("arguments"));
    }
    if let Some(id) = inner.get("tool_call_id").and_then(Value::as_str) {
        content.answers = Some(id.to_owned());
    }
    Some((role, content))
}

impl Content {
    /// Appends a block of a message.
    fn add(&mut self, block: &Value) {
        let member = |name: &str| block.get(name).and_then(Value::as_str);
        match member("type") {
            Some("tool_use") => self.add_call(block, block.get("name"), block.get("input")),
            Some("tool_result") => {
                self.answers = member("tool_use_id").map(str::to_owned);
                match block.get("content") {
                    Some(Value::String(text)) => self.append(text),
                    Some(Value::Array(blocks)) => blocks.iter().for_each(|it| self.add(it)),
                    _ => {}
                }
            }
            _ => self.append(member("text").or_else(|| block.as_str()).unwrap_or_default()),
        }
    }

    fn add_call(&mut self, call: &Value, name: Option<&Value>, arguments: Option<&Value>) {
        self.calls.extend(call.get("id").and_then(Value::as_str).map(str::to_owned));
        let name = name.and_then(Value::as_str).unwrap_or("tool");
        let arguments = match arguments {
            Some(Value::String(text)) => text.clone(),
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

/// Returns the kind of an item and the authority of its source.
fn kind(role: &str, content: &Content) -> (&'static str, &'static str) {
    match role {
        _ if content.answers.is_some() => ("tool_result", "tool_external"),
        // What an earlier compaction left, whichever role carries it.
        _ if content.text.starts_with(HEADING) => ("computed_summary", "model"),
        "system" => ("system_prompt", "operator"),
        "developer" => ("developer_instruction", "operator"),
        "user" | "human" => ("user_message", "user"),
        "tool" | "function" => ("tool_result", "tool_external"),
        _ if !content.calls.is_empty() => ("tool_call", "model"),
        _ => ("session_history", "model"),
    }
}

/// Replaces the text of a message. Calls and the ids of results stay.
fn replace(value: &mut Value, text: &str) {
    let is_within = value.get("message").is_some_and(Value::is_object);
    let inner = if is_within { value.get_mut("message") } else { Some(value) };
    let Some(content) = inner.and_then(|it| it.get_mut("content")) else { return };
    let is = |block: &Value, kind: &str| block.get("type").and_then(Value::as_str) == Some(kind);
    match content {
        Value::Array(blocks) if blocks.iter().any(|it| is(it, "tool_result")) => {
            let mut new = Some(text);
            blocks.retain(|it| is(it, "tool_result"));
            for block in blocks {
                if let Some(block) = block.as_object_mut() {
                    block.insert("content".to_owned(), json!(new.take().unwrap_or_default()));
                }
            }
        }
        Value::Array(blocks) => {
            blocks.retain(|it| is(it, "tool_use"));
            blocks.insert(0, json!({"type": "text", "text": text}));
        }
        content => *content = json!(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: &str, text: Option<&str>) -> ResultItem {
        ResultItem { id: id.to_owned(), text: text.map(str::to_owned) }
    }

    fn members(transcript: &str, name: &str) -> Vec<Value> {
        let items = Transcript::parse(transcript).unwrap().items();
        let items = items.as_array().unwrap().iter();
        items.map(|it| it.get(name).cloned().unwrap_or_default()).collect()
    }

    const OPENAI: &str = r#"{"role":"system","content":"Be brief."}
{"role":"user","content":"Fix it."}

{"role":"assistant","content":null,"tool_calls":[{"id":"c1","function":{"name":"grep","arguments":"{\"q\":\"a\"}"}}]}
{"role":"tool","tool_call_id":"c1","content":"12 files"}
"#;
    const ANTHROPIC: &str = r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"read","input":{"p":1}}]}}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"long"}]}]}}"#;

    #[test]
    fn messages_become_items() {
        let kinds = ["system_prompt", "user_message", "tool_call", "tool_result"];
        assert_eq!(members(OPENAI, "kind"), kinds);
        assert_eq!(members(OPENAI, "id"), ["line-1", "line-2", "line-4", "line-5"]);
        assert_eq!(members(OPENAI, "pair")[3], "line-4");
        assert_eq!(members(OPENAI, "text")[2], r#"grep({"q":"a"})"#);
        assert_eq!(members(ANTHROPIC, "text"), ["I look.\nread({\"p\":1})", "long"]);
        assert_eq!(members(ANTHROPIC, "kind"), ["tool_call", "tool_result"]);
        assert_eq!(members(ANTHROPIC, "pair")[1], "line-1");
    }

    #[test]
    fn what_is_kept_is_written_as_it_was() {
        let transcript = Transcript::parse(OPENAI).unwrap();
        let kept = ["line-1", "line-2", "line-4", "line-5"].map(|it| item(it, None));
        let lines = OPENAI.replace("\n\n", "\n");
        assert_eq!(transcript.compacted(&kept), lines);
        let digest = [item("digest:0", Some("# Compacted context"))];
        let expected = "{\"content\":\"# Compacted context\",\"role\":\"user\"}\n";
        assert_eq!(transcript.compacted(&digest), expected);
    }

    /// A result without its call, or a call without its result, is rejected by model providers.
    #[test]
    fn what_is_condensed_keeps_its_form() {
        let transcript = Transcript::parse(ANTHROPIC).unwrap();
        let text = transcript.compacted(&[item("line-1", Some("I.")), item("line-2", Some("cut"))]);
        let lines: Vec<Value> = text.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
        let expected = json!([{"type": "text", "text": "I."}, {"type": "tool_use", "id": "t1", "name": "read", "input": {"p": 1}}]);
        assert_eq!(lines[0]["message"]["content"], expected);
        let expected = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "cut"}]);
        assert_eq!(lines[1]["message"]["content"], expected);
    }

    #[test]
    fn lines_that_are_no_messages_are_named() {
        for (text, expected) in [
            ("{\"role\":\"user\",\"content\":\"a\"}\nhello", "line 2 is no JSON"),
            ("{}", "line 1 has no role and content"),
            ("[1]", "line 1 has no role and content"),
            ("{\"role\":\"user\",\"content\":7}", "line 1 has no role and content"),
        ] {
            let error = Transcript::parse(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        assert!(Transcript::parse("\n\n").unwrap().messages.is_empty());
    }
}
