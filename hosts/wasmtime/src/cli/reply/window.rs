//! The plan of a context window.

use std::fmt::Write as _;

use serde::Deserialize;

use super::{
    super::output::{Output, grouped, table},
    Human,
};

/// Reply of `plan_window`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct WindowReply {
    window_tokens: u64,
    parts: Parts,
    active_use: ActiveUse,
    unplanned_tokens: u64,
    used_tokens: u64,
    used_percent: f64,
    level: String,
    meaning: String,
    actions: Vec<Action>,
    due: Vec<Trigger>,
    estimate: Option<Estimate>,
}

/// The parts of a window.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Parts {
    knowledge: u64,
    active: u64,
    session_memory: u64,
    buffer: u64,
}

/// The use of the active part.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct ActiveUse {
    load: u64,
    tool_outputs: u64,
    expansion: u64,
    safety: u64,
}

/// What a level demands.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Action {
    meaning: String,
}

/// A reason to compact.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Trigger {
    trigger: String,
    meaning: String,
}

/// An estimate beside its exact count.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Estimate {
    estimated_tokens: u64,
    encoding: Option<String>,
    exact_tokens: Option<u64>,
    error_percent: Option<f64>,
    is_off: Option<bool>,
}

impl Human for WindowReply {
    fn human(&self, output: Output) -> String {
        let Self { level, meaning, used_percent, .. } = self;
        let mut text = format!(
            "{} of {} tokens used, {used_percent} %: {level}. {meaning}\n\n",
            grouped(self.used_tokens),
            grouped(self.window_tokens)
        );
        let ActiveUse { load, tool_outputs, expansion, safety } = &self.active_use;
        let active = format!(
            "the task; of it {} to load, {} tool outputs, {} expansion, {} free",
            grouped(*load),
            grouped(*tool_outputs),
            grouped(*expansion),
            grouped(*safety)
        );
        let row = |name: &str, tokens: u64, is_for: &str| {
            vec![name.to_owned(), grouped(tokens), is_for.to_owned()]
        };
        let mut rows = vec![
            row("knowledge", self.parts.knowledge, "instructions and knowledge"),
            row("active", self.parts.active, &active),
            row("session_memory", self.parts.session_memory, "decisions, state that persists"),
            row("buffer", self.parts.buffer, "stays free"),
        ];
        if self.unplanned_tokens > 0 {
            rows.push(row("-", self.unplanned_tokens, "in no part"));
        }
        text.push_str(&table(output, &["PART", "#TOKENS", "~FOR"], &rows));
        // Writing to a string does not fail.
        for Action { meaning } in &self.actions {
            let _ = write!(text, "\nto do: {meaning}");
        }
        for Trigger { trigger, meaning } in &self.due {
            let _ = write!(text, "\nreason to compact: {trigger}. {meaning}");
        }
        if let Some(estimate) = &self.estimate {
            let _ = write!(text, "\n{}", estimate.line());
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text
    }
}

impl Estimate {
    fn line(&self) -> String {
        let estimated = grouped(self.estimated_tokens);
        let Self { encoding: Some(encoding), exact_tokens: Some(exact), .. } = self else {
            return format!("sample: about {estimated} tokens; no encoding counts it exactly");
        };
        let error = self.error_percent.map(|it| format!(", {it:+} %")).unwrap_or_default();
        let advice = if self.is_off == Some(true) { "; do not rely on estimates" } else { "" };
        format!(
            "sample: {} tokens in {encoding}, estimated {estimated}{error}{advice}",
            grouped(*exact)
        )
    }
}
