//! Replies about handoffs and about what decisions are linked with.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::Value;

use super::{
    super::output::{BOLD, DIMMED, GREEN, Output, YELLOW, counted, grouped, instant, plain, table},
    Human,
    memories::{day, length},
};

/// A reply about one handoff.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct HandoffReply {
    handoff: Handoff,
    omitted: Vec<Value>,
    chain: Vec<String>,
}

/// A reply about one handoff, to someone who wants to read its package.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct HandoffRead {
    #[serde(flatten)]
    reply: HandoffReply,
    package: Option<Value>,
}

/// The lists of a package that are shown, with their names.
const LISTS: [(&str, &str); 14] = [
    ("next", "/next_actions/immediate"),
    ("soon", "/next_actions/short_term"),
    ("done when", "/next_actions/success_criteria"),
    ("pitfalls", "/agent_specific_notes/known_pitfalls"),
    ("approach", "/agent_specific_notes/suggested_approach"),
    ("observed", "/agent_specific_notes/from_agent_observations"),
    ("useful", "/agent_specific_notes/useful_resources"),
    ("decisions", "/context_summary/critical_decisions"),
    ("issues", "/context_summary/open_issues"),
    ("state", "/context_summary/current_task_state"),
    ("blocked by", "/context_summary/blocking_dependencies"),
    ("completed", "/work_products/completed"),
    ("in progress", "/work_products/in_progress"),
    ("not started", "/work_products/not_started"),
];

/// The most lines of one point of a package.
const POINT_LINES_MAX: usize = 8;

/// A handoff.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Handoff {
    #[serde(rename = "handoff_id")]
    id: String,
    #[serde(rename = "handoff_type")]
    kind: String,
    state: String,
    from_agent: String,
    to_agent: String,
    is_takeover: bool,
    offered_at: String,
    expires_at: String,
    settled_at: Option<String>,
    settled_by: Option<String>,
    note: Option<String>,
    sections: Vec<String>,
    tokens: u64,
    max_tokens: u64,
    redacted: Option<String>,
}

/// Reply of `list_handoffs`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Handoffs {
    handoffs: Vec<Handoff>,
}

/// Reply of `trace_decision`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct DecisionTrace {
    steps: Vec<Step>,
    handoffs: Vec<Handoff>,
    session_ids: Vec<String>,
    has_more: bool,
}

/// A memory of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Step {
    memory_id: String,
    link: String,
    decision_id: Option<String>,
    title: Option<String>,
    timestamp: Option<String>,
    agent_id: Option<String>,
    session_id: Option<String>,
}

impl Human for HandoffReply {
    /// Formats the state of the handoff, and what it hands over.
    fn human(&self, _: Output) -> String {
        let Self { handoff: it, omitted, chain } = self;
        let mut text = format!(
            "{GREEN}✓{GREEN:#} {BOLD}{}{BOLD:#} ({}) is {}: {} to {}\n",
            plain(&it.id),
            plain(&it.kind),
            plain(&it.state),
            plain(&it.from_agent),
            plain(&it.to_agent),
        );
        for fact in it.facts(chain) {
            let _ = writeln!(text, "  {DIMMED}{}{DIMMED:#}", plain(&fact));
        }
        if it.is_takeover && it.sections.is_empty() {
            let from = plain(&it.from_agent);
            let _ = writeln!(text, "{YELLOW}!{YELLOW:#} {from} owned no section, so none moved");
        }
        if !omitted.is_empty() {
            let count = counted(length(omitted), "piece");
            let _ = writeln!(text, "{YELLOW}!{YELLOW:#} {count} did not fit; --json names them");
        }
        text
    }
}

impl Human for HandoffRead {
    /// Formats the handoff, and what its package says to the receiver.
    fn human(&self, output: Output) -> String {
        let mut text = self.reply.human(output);
        let Some(package) = &self.package else { return text };
        let summary = package.pointer("/handoff_metadata/summary").and_then(Value::as_str);
        if let Some(summary) = summary.filter(|it| !it.is_empty()) {
            let _ = write!(text, "\n{}", output.value(summary, usize::MAX));
        }
        for (name, place) in LISTS {
            let points = package.pointer(place).and_then(Value::as_array);
            let points = points.filter(|it| !it.is_empty());
            let Some(points) = points else { continue };
            let _ = writeln!(text, "\n{BOLD}{name}{BOLD:#}");
            for it in points {
                text.push_str(&output.value(&point(it), POINT_LINES_MAX));
            }
        }
        let _ = writeln!(text, "\n{DIMMED}--json has the whole package{DIMMED:#}");
        text
    }
}

/// Returns a point of a package as text: what the agent wrote, or the title of a memory and the
/// first of its content that says something.
fn point(it: &Value) -> String {
    let text = |it: &Value, names: &[&str]| {
        names.iter().find_map(|name| it.get(*name)?.as_str().map(str::to_owned))
    };
    let title = text(it, &["title"]);
    let content = it.get("content");
    let said = content.and_then(|it| text(it, &["decision", "description", "lesson", "state"]));
    match (it.as_str(), title, said) {
        (Some(text), _, _) => format!("- {text}"),
        (None, Some(title), Some(said)) => format!("- {title}: {said}"),
        (None, Some(one), None) | (None, None, Some(one)) => format!("- {one}"),
        (None, None, None) => format!("- {it}"),
    }
}

impl Handoff {
    /// Returns what to know of it besides its parties and its state.
    fn facts(&self, chain: &[String]) -> Vec<String> {
        let mut facts = vec![match &self.redacted {
            Some(reason) => format!("the package was redacted: {reason}"),
            None => format!(
                "package of {} of {} tokens",
                grouped(self.tokens),
                grouped(self.max_tokens)
            ),
        }];
        if !self.sections.is_empty() {
            facts.push(format!("sections {}", self.sections.join(", ")));
        }
        let until = match self.state.as_str() {
            "offered" => format!(", until {} UTC", instant(&self.expires_at)),
            _ => String::new(),
        };
        let verb = if self.is_takeover { "taken over" } else { "offered" };
        facts.push(format!("{verb} at {} UTC{until}", instant(&self.offered_at)));
        if let (Some(at), Some(by)) = (&self.settled_at, &self.settled_by) {
            let note = self.note.as_ref().map_or(String::new(), |it| format!(": {it}"));
            facts.push(format!("{} at {} UTC by {by}{note}", self.state, instant(at)));
        }
        if !chain.is_empty() {
            facts.push(format!("after {}", chain.join(", ")));
        }
        facts
    }

    fn row(&self) -> Vec<String> {
        vec![
            self.id.clone(),
            self.kind.clone(),
            self.state.clone(),
            self.from_agent.clone(),
            self.to_agent.clone(),
            instant(&self.offered_at),
        ]
    }
}

/// The columns of a list of handoffs.
const HEADER: [&str; 6] = ["ID", "TYPE", "STATE", "FROM", "TO", "OFFERED (UTC)"];

impl Human for Handoffs {
    /// Formats the handoffs as a table.
    fn human(&self, output: Output) -> String {
        if self.handoffs.is_empty() {
            return format!("{DIMMED}no handoffs{DIMMED:#}\n");
        }
        table(output, &HEADER, &self.handoffs.iter().map(Handoff::row).collect::<Vec<_>>())
    }
}

impl Human for DecisionTrace {
    /// Formats the memories and the handoffs as tables, and the sessions as a line.
    fn human(&self, output: Output) -> String {
        let row = |it: &Step| {
            let session = it.session_id.as_ref().map_or(String::new(), |it| format!(" of {it}"));
            let by = it.agent_id.as_deref().unwrap_or_default();
            vec![
                it.decision_id.as_ref().unwrap_or(&it.memory_id).clone(),
                it.link.replace('_', " "),
                it.timestamp.as_deref().map(day).unwrap_or_default(),
                format!("{by}{session}"),
                it.title.clone().unwrap_or_else(|| "removed".to_owned()),
            ]
        };
        let header = ["ID", "LINK", "WHEN (UTC)", "BY", "~TITLE"];
        let mut text = table(output, &header, &self.steps.iter().map(row).collect::<Vec<_>>());
        if !self.handoffs.is_empty() {
            let rows: Vec<_> = self.handoffs.iter().map(Handoff::row).collect();
            let _ = write!(text, "\n{}", table(output, &HEADER, &rows));
        }
        if !self.session_ids.is_empty() {
            let sessions = self.session_ids.join(", ");
            let _ = writeln!(text, "\n{DIMMED}sessions: {}{DIMMED:#}", plain(&sessions));
        }
        if self.has_more {
            let _ = writeln!(text, "{DIMMED}there is more; trace one of the others{DIMMED:#}");
        }
        text
    }
}
