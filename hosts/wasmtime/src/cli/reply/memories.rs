//! Output of memories that were found or read, and of the text for a new session.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Map, Value};
use shared_context_core::memories::Kind;

use super::{
    super::output::{BOLD, DIMMED, Output, counted, grouped, instant, plain, table},
    Human,
};

/// The length of a date.
const DATE_LENGTH: usize = 10;

/// Reply of `search_memories`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct FoundMemories {
    memories: Vec<Found>,
    total: u64,
    pub(crate) next_cursor: Option<String>,
}

/// A memory that was found.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Found {
    #[serde(flatten)]
    head: Head,
    score: f64,
}

/// What is known of a memory besides its content.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Head {
    memory_id: String,
    decision_id: Option<String>,
    memory_type: String,
    title: String,
    tags: Vec<String>,
    importance: u64,
    status: Option<String>,
    timestamp: String,
    agent_id: String,
    session_id: Option<String>,
    is_verified: bool,
    is_archived: bool,
    access_count: u64,
}

/// Reply of `read_memories` and `memory_history`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ReadMemories {
    #[serde(alias = "versions")]
    memories: Vec<Memory>,
}

/// A memory.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Memory {
    #[serde(flatten)]
    head: Head,
    content: Option<Map<String, Value>>,
    version: u64,
    changed_at: String,
    changed_by: String,
    expires_at: Option<String>,
    is_marked_for_deletion: bool,
    parent_memory_id: Option<String>,
    supersedes: Vec<String>,
    superseded_by: Option<String>,
    redacted: Option<Redacted>,
}

/// What a redaction left.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Redacted {
    digest: String,
    reason: String,
}

/// Reply of `rehydrate`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Rehydrated {
    pub(crate) text: String,
    tokens: u64,
    max_tokens: u64,
    parts: Vec<Part>,
    omitted: Vec<Value>,
    unverified: u64,
}

/// A part of what a session is told.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Part {
    memory_ids: Vec<String>,
}

/// Reply of `decision_log`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct DecisionLog {
    pub(crate) text: String,
    pub(crate) count: u64,
    pub(crate) total: u64,
}

/// Formats a count of memories.
pub(crate) fn memories(count: u64) -> String {
    if count == 1 { "1 memory".to_owned() } else { format!("{} memories", grouped(count)) }
}

/// Returns the day of an instant.
pub(super) fn day(rfc3339: &str) -> String {
    let instant = instant(rfc3339);
    instant.get(..DATE_LENGTH).unwrap_or(&instant).to_owned()
}

/// Returns the length of a list.
pub(super) fn length<T>(list: &[T]) -> u64 {
    u64::try_from(list.len()).unwrap_or(u64::MAX)
}

impl Head {
    /// Returns the id that a person can say, if there is one.
    fn id(&self) -> &str {
        self.decision_id.as_deref().unwrap_or(&self.memory_id)
    }

    /// Returns what is special about it.
    fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!("importance {}", self.importance)];
        notes.extend(self.status.clone());
        notes.extend((!self.is_verified).then(|| "unverified".to_owned()));
        notes.extend(self.is_archived.then(|| "archived".to_owned()));
        notes.extend((!self.tags.is_empty()).then(|| format!("tags {}", self.tags.join(" "))));
        notes
    }
}

impl Human for FoundMemories {
    /// Formats the memories as a table.
    fn human(&self, output: Output) -> String {
        if self.memories.is_empty() {
            return format!("{DIMMED}nothing found{DIMMED:#}\n");
        }
        let row = |Found { head, score }: &Found| {
            vec![
                head.id().to_owned(),
                head.memory_type.clone(),
                head.importance.to_string(),
                day(&head.timestamp),
                head.title.clone(),
                format!("{score:.2}"),
            ]
        };
        let header = ["ID", "TYPE", "#IMPORTANCE", "WHEN (UTC)", "~TITLE", "#SCORE"];
        let rows: Vec<_> = self.memories.iter().map(row).collect();
        let mut text = table(output, &header, &rows);
        if self.total > length(&self.memories) {
            let (shown, total) = (grouped(length(&self.memories)), memories(self.total));
            let _ = writeln!(text, "{DIMMED}{shown} of {total}{DIMMED:#}");
        }
        text
    }
}

impl Human for ReadMemories {
    fn human(&self, output: Output) -> String {
        self.memories.iter().map(|it| it.human(output)).collect::<Vec<_>>().join("\n")
    }
}

impl Human for Memory {
    /// Formats the title, what the memory says, and where it comes from.
    fn human(&self, output: Output) -> String {
        let Self { head, version, changed_at, changed_by, .. } = self;
        let mut text = format!(
            "{BOLD}{}{BOLD:#}\n{} {} {DIMMED}{}{DIMMED:#}\n\n",
            plain(&head.title),
            plain(&head.memory_type),
            plain(head.id()),
            plain(&head.notes().join(", "))
        );
        text.push_str(&self.said(output));
        let session = head.session_id.as_ref().map_or(String::new(), |it| format!(" in {it}"));
        let mut facts =
            vec![format!("of {} UTC by {}{session}", instant(&head.timestamp), head.agent_id)];
        facts.push(format!(
            "version {version} by {changed_by} at {} UTC; read {}",
            instant(changed_at),
            counted(head.access_count, "time")
        ));
        facts.extend(head.decision_id.is_some().then(|| format!("id {}", head.memory_id)));
        facts.extend(self.expires_at.iter().map(|it| format!("until {} UTC", instant(it))));
        facts.extend(self.parent_memory_id.iter().map(|it| format!("belongs to {it}")));
        facts.extend(self.supersedes.iter().map(|it| format!("replaced {it}")));
        facts.extend(self.superseded_by.iter().map(|it| format!("replaced by {it}")));
        let removed =
            self.is_marked_for_deletion.then(|| "removed by the next maintenance".to_owned());
        facts.extend(removed);
        for fact in facts {
            let _ = writeln!(text, "{DIMMED}{}{DIMMED:#}", plain(&fact));
        }
        text
    }
}

impl Memory {
    /// Formats the content: each member with its heading, in the order of its type.
    fn said(&self, output: Output) -> String {
        let Some(content) = &self.content else {
            let redacted = self.redacted.as_ref();
            return redacted.map_or(String::new(), |Redacted { digest, reason }| {
                format!("redacted: {}\n{}\n\n", plain(reason), plain(digest))
            });
        };
        let rules = Kind::parse(&self.head.memory_type).map_or(&[][..], Kind::members);
        let known = rules.iter().map(|it| (it.name, it.heading));
        let others = content.keys().filter(|name| rules.iter().all(|it| it.name != *name));
        let mut text = String::new();
        for (name, heading) in known.chain(others.map(|it| (it.as_str(), it.as_str()))) {
            let heading = plain(heading);
            match content.get(name) {
                None => {}
                Some(Value::Array(items)) => {
                    let _ = writeln!(text, "{heading}:");
                    for item in items {
                        let item = plain(&shown(item)).into_owned();
                        let _ = writeln!(text, "{}", output.wrapped("  - ", "    ", &item));
                    }
                }
                Some(value) => {
                    let value = format!("{heading}: {}", plain(&shown(value)));
                    let _ = writeln!(text, "{}", output.wrapped("", "  ", &value));
                }
            }
        }
        text + "\n"
    }
}

/// Returns a text as it is, anything else as JSON.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl Rehydrated {
    /// Returns what the text consists of, and what is not in it.
    pub(crate) fn summary(&self) -> String {
        let count = self.parts.iter().map(|it| length(&it.memory_ids)).sum();
        let mut text = format!(
            "{} of {} tokens, {}",
            grouped(self.tokens),
            grouped(self.max_tokens),
            memories(count)
        );
        if !self.omitted.is_empty() {
            let _ = write!(text, "; {} too large for the rest", grouped(length(&self.omitted)));
        }
        if self.unverified > 0 {
            let _ = write!(text, "; {} unverified, see --unverified", grouped(self.unverified));
        }
        text
    }
}
