//! The stored versions of an entry.

use std::fmt::Write as _;

use serde::Deserialize;

use super::{
    super::output::{BOLD, DIMMED, GREEN, Output, RED, YELLOW, counted, instant, plain},
    Human,
};

/// Reply of `read_history`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct History {
    key: String,
    versions: Vec<Version>,
}

/// One version.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Version {
    #[serde(rename = "version")]
    number: u64,
    value: String,
    written_by: String,
    written_at: String,
    value_size_tokens: u64,
    revision: u64,
    status: String,
    ended_at: Option<String>,
    ended_by: Option<String>,
    #[serde(default)]
    is_deleted: bool,
}

impl History {
    /// Returns true if it has no versions.
    pub(crate) fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }
}

impl Human for History {
    /// Formats the versions, oldest first, each with its value.
    fn human(&self, output: Output) -> String {
        let versions: Vec<String> =
            self.versions.iter().map(|it| it.human(&self.key, output)).collect();
        if versions.is_empty() {
            return format!("no versions of {} are kept\n", plain(&self.key));
        }
        versions.join("\n")
    }
}

impl Version {
    fn human(&self, key: &str, output: Output) -> String {
        let Self { number, written_by, written_at, value_size_tokens, revision, status, .. } = self;
        let style = match status.as_str() {
            "current" => GREEN,
            "deleted" => RED,
            "expired" => YELLOW,
            _ => DIMMED,
        };
        let mut text = format!(
            "{BOLD}{}{BOLD:#} version {number} {style}{}{style:#}",
            plain(key),
            plain(status)
        );
        // For the last version the status shows it.
        if self.is_deleted && status == "superseded" {
            let _ = write!(text, " {DIMMED}of an entry that was removed{DIMMED:#}");
        }
        let mut about = format!(
            "by {written_by} at {} UTC, {}, revision {revision}",
            instant(written_at),
            counted(*value_size_tokens, "token")
        );
        if let Some(ended_at) = &self.ended_at {
            let _ = write!(about, "; until {}", instant(ended_at));
        }
        if let Some(ended_by) = &self.ended_by {
            let _ = write!(about, " by {ended_by}");
        }
        let about = output.wrapped("  ", "  ", &plain(&about));
        let _ = writeln!(text, "\n{DIMMED}{about}{DIMMED:#}");
        text.push_str(&output.value(&self.value, usize::MAX));
        text
    }
}
