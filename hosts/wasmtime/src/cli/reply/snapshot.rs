//! Replies about snapshots: taken, listed, read, compared, restored, deleted.

use std::fmt::Write as _;

use anstyle::Style;
use serde::Deserialize;

use super::{
    super::output::{
        BOLD, DIMMED, GREEN, Output, RED, YELLOW, counted, grouped, instant, plain, table,
    },
    Human, ReadReply,
};

/// Reply of `snapshot`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct SnapshotInfo {
    label: String,
    note: Option<String>,
    taken_by: String,
    taken_at: String,
    key_count: u64,
    total_tokens: u64,
    revision: u64,
}

/// Reply of `list_snapshots`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Snapshots {
    pub(crate) snapshots: Vec<SnapshotInfo>,
    max_snapshots: u64,
}

/// Reply of `read_snapshot`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ReadSnapshotReply {
    #[serde(flatten)]
    info: SnapshotInfo,
    entries: Vec<ReadReply>,
}

/// Reply of `diff_snapshots`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Diff {
    from: String,
    to: Option<String>,
    added: Vec<Present>,
    removed: Vec<Present>,
    changed: Vec<Changed>,
    unchanged: u64,
    added_tokens: u64,
    removed_tokens: u64,
    changed_tokens: i64,
}

/// An entry that is in only one of two snapshots.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Present {
    key: String,
    version: u64,
    value_size_tokens: u64,
}

/// An entry that differs between two snapshots.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Changed {
    key: String,
    from_version: u64,
    to_version: u64,
    from_tokens: u64,
    to_tokens: u64,
}

/// Reply of `restore_snapshot`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct RestoreReply {
    #[serde(rename = "restored")]
    label: String,
    written: Vec<Rewritten>,
    deleted: Vec<String>,
    unchanged: u64,
    revision: u64,
}

/// An entry that a restore wrote.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Rewritten {
    key: String,
    version: u64,
}

/// Reply of `delete_snapshot`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct DeleteSnapshotReply {
    #[serde(rename = "deleted_snapshot")]
    label: String,
}

impl Human for SnapshotInfo {
    fn human(&self, _: Output) -> String {
        let Self { label, key_count, total_tokens, revision, .. } = self;
        let (keys, tokens) = (counted(*key_count, "key"), counted(*total_tokens, "token"));
        format!(
            "{GREEN}✓{GREEN:#} snapshot {BOLD}{}{BOLD:#} taken: {keys}, {tokens}, revision \
             {revision}\n",
            plain(label)
        )
    }
}

impl Human for Snapshots {
    /// Formats a table of the snapshots, oldest first.
    fn human(&self, output: Output) -> String {
        let Self { snapshots, max_snapshots } = self;
        if snapshots.is_empty() {
            return "no snapshots yet; `shared-context snapshot take SESSION LABEL` takes one\n"
                .to_owned();
        }
        let mut text = listed(snapshots, output);
        let _ = writeln!(text, "\n{DIMMED}{} of {max_snapshots}{DIMMED:#}", snapshots.len());
        text
    }
}

/// Formats `snapshots` as a table.
pub(super) fn listed(snapshots: &[SnapshotInfo], output: Output) -> String {
    let has_notes = snapshots.iter().any(|it| it.note.is_some());
    let mut header = vec!["SNAPSHOT", "#KEYS", "#TOKENS", "TAKEN BY", "TAKEN AT (UTC)"];
    if has_notes {
        header.push("~NOTE");
    }
    let row = |it: &SnapshotInfo| {
        let mut row = vec![
            it.label.clone(),
            grouped(it.key_count),
            grouped(it.total_tokens),
            it.taken_by.clone(),
            instant(&it.taken_at),
        ];
        if has_notes {
            row.push(it.note.clone().unwrap_or_default());
        }
        row
    };
    table(output, &header, &snapshots.iter().map(row).collect::<Vec<_>>())
}

impl Human for ReadSnapshotReply {
    /// Formats the snapshot, each entry with its value.
    fn human(&self, output: Output) -> String {
        let SnapshotInfo { label, note, taken_by, taken_at, key_count, total_tokens, .. } =
            &self.info;
        let about = format!(
            "taken by {taken_by} at {} UTC: {}, {}",
            instant(taken_at),
            counted(*key_count, "key"),
            counted(*total_tokens, "token"),
        );
        let mut text = format!(
            "{BOLD}{}{BOLD:#} {}\n{DIMMED}{}{DIMMED:#}\n",
            plain(label),
            plain(note.as_deref().unwrap_or_default()),
            plain(&about)
        );
        for ReadReply { entry, value } in &self.entries {
            let _ = write!(text, "\n{DIMMED}{}{DIMMED:#}\n", entry.line());
            text.push_str(&output.value(value, usize::MAX));
        }
        text
    }
}

impl Human for Diff {
    /// Formats a line per changed key, and the sums.
    fn human(&self, _: Output) -> String {
        let present = |it: &Present, sign, style| Line {
            style,
            sign,
            key: it.key.clone(),
            versions: format!("v{}", it.version),
            tokens: match sign {
                '-' => format!("-{}", grouped(it.value_size_tokens)),
                _ => format!("+{}", grouped(it.value_size_tokens)),
            },
        };
        let changed = |it: &Changed| Line {
            style: YELLOW,
            sign: '~',
            key: it.key.clone(),
            versions: format!("v{} → v{}", it.from_version, it.to_version),
            tokens: signed(it.to_tokens.cast_signed().wrapping_sub(it.from_tokens.cast_signed())),
        };
        let added = self.added.iter().map(|it| present(it, '+', GREEN));
        let removed = self.removed.iter().map(|it| present(it, '-', RED));
        let lines: Vec<Line> =
            added.chain(removed).chain(self.changed.iter().map(changed)).collect();
        let (from, to) = (&self.from, self.to.as_deref().unwrap_or("now"));
        let mut text = format!("{BOLD}{} → {}{BOLD:#}\n", plain(from), plain(to));
        text.push_str(&columns(&lines));
        let sum = self.added_tokens.cast_signed() - self.removed_tokens.cast_signed();
        let _ = writeln!(
            text,
            "{DIMMED}{} tokens (+{} added, -{} removed, {} changed); {} unchanged{DIMMED:#}",
            signed(sum + self.changed_tokens),
            grouped(self.added_tokens),
            grouped(self.removed_tokens),
            signed(self.changed_tokens),
            counted(self.unchanged, "key"),
        );
        text
    }
}

/// A key that differs.
struct Line {
    style: Style,
    sign: char,
    key: String,
    versions: String,
    tokens: String,
}

/// Formats the lines in aligned columns. Lines are not wrapped: each starts with its sign.
fn columns(lines: &[Line]) -> String {
    let width = |of: fn(&Line) -> &String| {
        lines.iter().map(|it| of(it).chars().count()).max().unwrap_or_default()
    };
    let (keys, versions) = (width(|it| &it.key), width(|it| &it.versions));
    let tokens = width(|it| &it.tokens);
    let line = |it: &Line| {
        let style = it.style;
        format!(
            "{style}{} {:keys$}{style:#}  {:versions$}  {:>tokens$} tokens\n",
            it.sign,
            plain(&it.key),
            it.versions,
            it.tokens,
        )
    };
    lines.iter().map(line).collect()
}

/// Formats `number` with its sign, and its digits in groups.
fn signed(number: i64) -> String {
    let sign = if number < 0 { '-' } else { '+' };
    format!("{sign}{}", grouped(number.unsigned_abs()))
}

impl Human for RestoreReply {
    fn human(&self, output: Output) -> String {
        let Self { label, written, deleted, unchanged, revision } = self;
        let mut text = format!(
            "{GREEN}✓{GREEN:#} restored {BOLD}{}{BOLD:#} in one change, revision {revision}\n",
            plain(label)
        );
        let written: Vec<String> =
            written.iter().map(|it| format!("{} v{}", it.key, it.version)).collect();
        let unchanged = counted(*unchanged, "key");
        for (name, list) in [
            ("written", written.join(", ")),
            ("deleted", deleted.join(", ")),
            ("unchanged", unchanged),
        ] {
            if !list.is_empty() {
                let first = format!("{name:<11}");
                let _ =
                    writeln!(text, "{}", output.wrapped(&first, &" ".repeat(11), &plain(&list)));
            }
        }
        text
    }
}

impl Human for DeleteSnapshotReply {
    fn human(&self, _: Output) -> String {
        let label = plain(&self.label);
        format!("{GREEN}✓{GREEN:#} snapshot {BOLD}{label}{BOLD:#} deleted\n")
    }
}
