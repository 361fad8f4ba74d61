//! Changes of memories: added, written, replaced, marked, maintained, redacted.

use std::fmt::Write as _;

use serde::Deserialize;

use super::{
    super::output::{BOLD, DIMMED, GREEN, Output, YELLOW, counted, plain, table},
    Human,
    memories::{length, memories},
};

/// Reply of `add_memories`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct AddedMemories {
    memories: Vec<Added>,
    revision: u64,
}

/// A memory that was added, or was there already.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Added {
    memory_id: String,
    decision_id: Option<String>,
    version: u64,
    is_new: bool,
    warnings: Vec<Warning>,
}

/// A warning about a memory.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Warning {
    code: String,
    message: String,
}

/// Reply of `update_memory`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct UpdatedMemory {
    memory_id: String,
    version: u64,
    revision: u64,
}

/// Reply of `supersede_memory`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct SupersededMemory {
    memory_id: String,
    superseded_by: String,
    revision: u64,
}

/// Reply of `mark_memories`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct MarkedMemories {
    memory_ids: Vec<String>,
    mark: String,
    revision: u64,
}

/// Reply of `maintain`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Maintained {
    actions: Vec<Step>,
    has_more: bool,
    dry_run: bool,
    revision: u64,
}

/// What maintenance does to a memory.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Step {
    action: String,
    memory_id: String,
    rule: String,
}

/// Reply of `redact_memory`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct RedactedMemory {
    memory_id: String,
    digests: Vec<String>,
    revision: u64,
}

impl UpdatedMemory {
    /// Names the memory as the caller did: by its UUID or by the id of a decision.
    pub(crate) fn name(&mut self, id: &str) {
        id.clone_into(&mut self.memory_id);
    }
}

impl SupersededMemory {
    /// Names the memories as the caller did.
    pub(crate) fn name(&mut self, old: &str, new: &str) {
        old.clone_into(&mut self.memory_id);
        new.clone_into(&mut self.superseded_by);
    }
}

impl MarkedMemories {
    /// Names the memories as the caller did, if none was named twice.
    pub(crate) fn name(&mut self, ids: &[String]) {
        if self.memory_ids.len() == ids.len() {
            ids.clone_into(&mut self.memory_ids);
        }
    }
}

impl RedactedMemory {
    /// Names the memory as the caller did.
    pub(crate) fn name(&mut self, id: &str) {
        id.clone_into(&mut self.memory_id);
    }
}

impl Human for AddedMemories {
    /// Formats a line per memory, and its warnings.
    fn human(&self, _: Output) -> String {
        let mut text = String::new();
        for Added { memory_id, decision_id, version, is_new, warnings } in &self.memories {
            let id = plain(decision_id.as_ref().unwrap_or(memory_id));
            let _ = match is_new {
                true => writeln!(
                    text,
                    "{GREEN}✓{GREEN:#} {BOLD}{id}{BOLD:#} added, revision {}",
                    self.revision
                ),
                false => writeln!(
                    text,
                    "{DIMMED}={DIMMED:#} {BOLD}{id}{BOLD:#} was there already, version {version}"
                ),
            };
            for Warning { code, message } in warnings {
                let _ = writeln!(text, "{YELLOW}! {}{YELLOW:#} {}", plain(code), plain(message));
            }
        }
        text
    }
}

impl Human for UpdatedMemory {
    fn human(&self, _: Output) -> String {
        let Self { memory_id, version, revision } = self;
        let id = plain(memory_id);
        format!(
            "{GREEN}✓{GREEN:#} {BOLD}{id}{BOLD:#} version {version} written, revision {revision}\n"
        )
    }
}

impl Human for SupersededMemory {
    fn human(&self, _: Output) -> String {
        let (old, new) = (plain(&self.memory_id), plain(&self.superseded_by));
        format!(
            "{GREEN}✓{GREEN:#} {BOLD}{new}{BOLD:#} holds in place of {old}, revision {}\n",
            self.revision
        )
    }
}

impl Human for MarkedMemories {
    fn human(&self, _: Output) -> String {
        let Self { memory_ids, mark, revision } = self;
        let (count, mark) = (memories(length(memory_ids)), plain(mark));
        let mut text = format!("{GREEN}✓{GREEN:#} {count} marked as {mark}, revision {revision}\n");
        for id in memory_ids {
            let _ = writeln!(text, "  {}", plain(id));
        }
        text
    }
}

impl Human for Maintained {
    /// Formats what was done as a table.
    fn human(&self, output: Output) -> String {
        let Self { actions, has_more, dry_run, revision } = self;
        if actions.is_empty() {
            return format!("{DIMMED}nothing to do, revision {revision}{DIMMED:#}\n");
        }
        let row = |it: &Step| {
            vec![it.action.to_lowercase(), it.memory_id.clone(), it.rule.replace('_', " ")]
        };
        let mut text =
            table(output, &["ACTION", "ID", "RULE"], &actions.iter().map(row).collect::<Vec<_>>());
        let more = if *has_more { "; there is more to do" } else { "" };
        let done =
            if *dry_run { "nothing was done".to_owned() } else { format!("revision {revision}") };
        let _ = writeln!(text, "{DIMMED}{}, {done}{more}{DIMMED:#}", memories(length(actions)));
        text
    }
}

impl Human for RedactedMemory {
    fn human(&self, _: Output) -> String {
        let Self { memory_id, digests, revision } = self;
        let (id, versions) = (plain(memory_id), counted(length(digests), "version"));
        let mut text = format!(
            "{GREEN}✓{GREEN:#} {BOLD}{id}{BOLD:#} redacted, revision {revision}\n\
             {DIMMED}{versions} removed; the digest of each remains:{DIMMED:#}\n"
        );
        for digest in digests {
            let _ = writeln!(text, "  {}", plain(digest));
        }
        text
    }
}
