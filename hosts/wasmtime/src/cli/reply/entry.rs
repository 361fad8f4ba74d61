//! Replies about entries: listed, read, written, deleted, redacted; one or several.

use std::fmt::Write as _;

use serde::Deserialize;

use super::{
    super::output::{
        BOLD, DIMMED, GREEN, Output, YELLOW, counted, gauge, grouped, instant, plain, table,
    },
    Human,
};

/// Reply of `list_keys`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Listing {
    pub(crate) keys: Vec<Entry>,
    pub(crate) total_tokens: u64,
    pub(crate) max_tokens: u64,
    pub(crate) revision: u64,
}

/// An entry without its value.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) written_by: String,
    pub(crate) written_at: String,
    pub(crate) version: u64,
    pub(crate) value_size_tokens: u64,
    pub(crate) revision: u64,
    expires_at: Option<String>,
    readable_by: Option<Vec<String>>,
    writable_by: Option<Vec<String>>,
    #[serde(rename = "history")]
    is_history_kept: Option<bool>,
    #[serde(rename = "readable")]
    is_readable: Option<bool>,
    #[serde(rename = "read_only", default)]
    is_read_only: bool,
}

/// Reply of `read`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ReadReply {
    #[serde(flatten)]
    pub(crate) entry: Entry,
    pub(crate) value: String,
}

/// Reply of `read_batch`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ReadBatchReply {
    entries: Vec<ReadReply>,
    missing: Vec<String>,
}

/// Reply of `write`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct WriteReply {
    #[serde(flatten)]
    pub(crate) entry: Entry,
    #[serde(default)]
    pub(crate) warnings: Vec<Warning>,
}

/// A remark on a write.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Warning {
    pub(crate) code: String,
    pub(crate) message: String,
}

/// Reply of `delete`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct DeleteReply {
    #[serde(rename = "deleted")]
    pub(crate) key: String,
    pub(crate) previous_version: u64,
    /// `None` in a batch, which has one revision for all.
    pub(crate) revision: Option<u64>,
}

/// Reply of `write_batch`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct WriteBatchReply {
    written: Vec<WriteReply>,
    deleted: Vec<DeleteReply>,
}

/// Reply of `redact`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct RedactReply {
    #[serde(rename = "redacted")]
    key: String,
    digests: Vec<String>,
    revision: u64,
}

/// Reply of `redact_rounds`.
#[derive(Debug, Deserialize)]
pub(crate) struct RedactRoundsReply {
    places: u64,
    markers: Vec<String>,
    revision: u64,
}

impl Entry {
    /// Returns notes on special properties; empty for most entries.
    fn notes(&self) -> String {
        let lists = [("readable by", &self.readable_by), ("writable by", &self.writable_by)];
        let lists = lists.into_iter().filter_map(|(name, list)| {
            let list = list.as_ref()?;
            Some(format!("{name} {}", list.join(" ")))
        });
        let expiry = self.expires_at.iter().map(|it| format!("until {}", instant(it)));
        let flags = [
            (self.is_readable == Some(false), "not yours to read"),
            (self.is_read_only, "not yours to write"),
            (self.is_history_kept == Some(false), "no history"),
        ];
        let flags = flags.into_iter().filter(|(is, _)| *is).map(|(_, name)| name.to_owned());
        expiry.chain(lists).chain(flags).collect::<Vec<_>>().join("; ")
    }

    /// Formats the metadata as a line.
    pub(crate) fn line(&self) -> String {
        let Self { key, written_by, written_at, version, value_size_tokens, .. } = self;
        let (at, tokens) = (instant(written_at), counted(*value_size_tokens, "token"));
        let mut notes = self.notes();
        if !notes.is_empty() {
            notes.insert_str(0, "; ");
        }
        let line = format!("{key}: version {version} by {written_by} at {at} UTC, {tokens}{notes}");
        plain(&line).into_owned()
    }
}

impl Human for Entry {
    fn human(&self, _: Output) -> String {
        format!("{GREEN}✓{GREEN:#} {}\n", self.line())
    }
}

impl Human for Listing {
    /// Formats a table of the entries, the notes on some, and the fill level of the store.
    fn human(&self, output: Output) -> String {
        let row = |it: &Entry| {
            vec![
                it.key.clone(),
                it.version.to_string(),
                grouped(it.value_size_tokens),
                it.written_by.clone(),
                instant(&it.written_at),
            ]
        };
        let mut text = String::new();
        if !self.keys.is_empty() {
            let header = ["KEY", "#VERSION", "#TOKENS", "WRITTEN BY", "WRITTEN AT (UTC)"];
            text = table(output, &header, &self.keys.iter().map(row).collect::<Vec<_>>());
            text.push('\n');
        }
        for entry in self.keys.iter().filter(|it| !it.notes().is_empty()) {
            let note = format!("{}: {}", entry.key, entry.notes());
            let _ = writeln!(text, "{}", output.wrapped("", "  ", &plain(&note)));
        }
        let keys = counted(self.keys.len().try_into().unwrap_or(u64::MAX), "key");
        let (gauge, revision) = (gauge(self.total_tokens, self.max_tokens), self.revision);
        let _ = writeln!(text, "{gauge} {DIMMED}in {keys}, revision {revision}{DIMMED:#}");
        text
    }
}

impl Human for ReadReply {
    /// Formats the value, and below it the metadata.
    fn human(&self, _: Output) -> String {
        format!("{}\n\n{DIMMED}{}{DIMMED:#}\n", plain(&self.value), self.entry.line())
    }
}

impl Human for ReadBatchReply {
    fn human(&self, _: Output) -> String {
        // The caption comes first and the value is indented, so that no value looks like the caption of
        // another.
        let mut text = String::new();
        for ReadReply { entry, value } in &self.entries {
            let _ = writeln!(text, "{DIMMED}{}{DIMMED:#}", entry.line());
            for line in plain(value).lines() {
                let _ = writeln!(text, "  {line}");
            }
            text.push('\n');
        }
        if !self.missing.is_empty() {
            let missing = self.missing.join(", ");
            let _ = writeln!(text, "{YELLOW}!{YELLOW:#} not there: {}", plain(&missing));
        }
        text
    }
}

impl Human for WriteReply {
    /// Formats the written entry and the warnings.
    fn human(&self, _: Output) -> String {
        let Entry { key, version, value_size_tokens, revision, .. } = &self.entry;
        let tokens = counted(*value_size_tokens, "token");
        let mut text = format!(
            "{GREEN}✓{GREEN:#} {BOLD}{key}{BOLD:#} version {version} written: {tokens}, \
             revision {revision}\n"
        );
        for Warning { code, message } in &self.warnings {
            let _ = writeln!(text, "{YELLOW}! {}{YELLOW:#} {}", plain(code), plain(message));
        }
        text
    }
}

impl Human for DeleteReply {
    /// Formats the deleted key.
    fn human(&self, _: Output) -> String {
        let Self { key, previous_version, revision } = self;
        let revision = revision.map(|it| format!(", revision {it}")).unwrap_or_default();
        format!(
            "{GREEN}✓{GREEN:#} {BOLD}{key}{BOLD:#} deleted; it was at version \
             {previous_version}{revision}\n"
        )
    }
}

impl Human for WriteBatchReply {
    fn human(&self, output: Output) -> String {
        let written = self.written.iter().map(|it| it.human(output));
        written.chain(self.deleted.iter().map(|it| it.human(output))).collect()
    }
}

impl Human for RedactRoundsReply {
    fn human(&self, _: Output) -> String {
        let Self { places, markers, revision } = self;
        if *places == 0 {
            return format!("nothing in the rounds contains the text, revision {revision}\n");
        }
        let texts = counted(*places, "text");
        let mut text = format!(
            "{GREEN}✓{GREEN:#} {BOLD}{texts}{BOLD:#} of the rounds redacted wherever they are \
             kept, revision {revision}\n{DIMMED}replaced by:{DIMMED:#}\n"
        );
        for marker in markers {
            let _ = writeln!(text, "  {}", plain(marker));
        }
        text
    }
}

impl Human for RedactReply {
    fn human(&self, _: Output) -> String {
        let Self { key, digests, revision } = self;
        let values = counted(digests.len().try_into().unwrap_or(u64::MAX), "value");
        let mut text = format!(
            "{GREEN}✓{GREEN:#} {BOLD}{key}{BOLD:#} redacted wherever it is kept, revision \
             {revision}\n{DIMMED}{values} removed; the digest of each remains:{DIMMED:#}\n"
        );
        for digest in digests {
            let _ = writeln!(text, "  {}", plain(digest));
        }
        text
    }
}
