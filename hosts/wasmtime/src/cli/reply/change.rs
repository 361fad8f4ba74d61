//! Changes: the action, its author and time; never a value.

use anstyle::Style;
use serde::Deserialize;

use super::{
    super::output::{
        BLUE, DIMMED, GREEN, MAGENTA, Output, RED, YELLOW, counted, grouped, instant, plain, table,
    },
    Human,
};

/// One effect of a commit. All effects of one commit have the same revision.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Change {
    pub(crate) revision: u64,
    action: String,
    written_by: String,
    written_at: String,
    key: Option<String>,
    version: Option<u64>,
    value_size_tokens: Option<u64>,
    label: Option<String>,
    reason: Option<String>,
    round: Option<u64>,
}

/// All effects of one commit: an event of the live changes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Commit {
    pub(crate) revision: u64,
    changes: Vec<Change>,
}

/// Reply of `changes`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ChangesPage {
    changes: Vec<Change>,
    next_since: u64,
    has_more: bool,
}

/// Reply of `audit`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct AuditPage {
    pub(crate) records: Vec<Change>,
    pub(crate) oldest: Option<u64>,
    pub(crate) next_after: Option<u64>,
}

impl ChangesPage {
    /// Returns the revision after which there are more changes.
    pub(crate) fn next(&self) -> Option<u64> {
        self.has_more.then_some(self.next_since)
    }
}

impl Change {
    /// Returns the object of the change.
    fn object(&self) -> String {
        let mut object = Vec::new();
        object.extend(self.key.clone());
        object.extend(self.version.map(|it| format!("v{it}")));
        object.extend(self.label.clone());
        object.extend(self.round.map(|it| format!("round {it}")));
        object.extend(self.reason.as_ref().map(|it| format!("({it})")));
        object.join(" ")
    }

    /// Formats the change as a line, coloured by its action.
    fn line(&self) -> String {
        let Self { revision, action, written_by, written_at, .. } = self;
        let style = style(action);
        let tokens = self.value_size_tokens.map(|it| format!(", {}", counted(it, "token")));
        let mut object = self.object();
        if !object.is_empty() {
            object.insert(0, ' ');
        }
        format!(
            "{DIMMED}{revision:>6}  {}{DIMMED:#}  {style}{}{style:#}{}{} {DIMMED}by {}{DIMMED:#}\n",
            instant(written_at),
            plain(action),
            plain(&object),
            tokens.unwrap_or_default(),
            plain(written_by),
        )
    }
}

/// Returns the colour of an action.
fn style(action: &str) -> Style {
    match action {
        "write" => GREEN,
        "delete" => RED,
        "expire" => YELLOW,
        "snapshot" | "restore_snapshot" | "delete_snapshot" => BLUE,
        _ => MAGENTA,
    }
}

/// Formats `changes` as a table.
fn listed(changes: &[Change], output: Output) -> String {
    if changes.is_empty() {
        return "no changes since then\n".to_owned();
    }
    let row = |it: &Change| {
        vec![
            it.revision.to_string(),
            instant(&it.written_at),
            it.written_by.clone(),
            format!("{} {}", it.action, it.object()).trim_end().to_owned(),
            it.value_size_tokens.map(grouped).unwrap_or_default(),
        ]
    };
    let header = ["#REVISION", "AT (UTC)", "BY", "~CHANGE", "#TOKENS"];
    table(output, &header, &changes.iter().map(row).collect::<Vec<_>>())
}

impl Human for Commit {
    fn human(&self, _: Output) -> String {
        self.changes.iter().map(Change::line).collect()
    }
}

impl Human for ChangesPage {
    fn human(&self, output: Output) -> String {
        listed(&self.changes, output)
    }
}

impl Human for AuditPage {
    fn human(&self, output: Output) -> String {
        listed(&self.records, output)
    }
}
