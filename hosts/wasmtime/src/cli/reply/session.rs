//! Replies about sessions: shown, listed, inspected.

use std::fmt::Write as _;

use serde::Deserialize;

use super::{
    super::output::{BOLD, DIMMED, Output, counted, gauge, grouped, instant, plain, table},
    Human, ReadReply, SnapshotInfo, snapshot,
};

/// The number of lines shown of each value on a screen with several.
const VALUE_LINES_MAX: usize = 3;

/// A session without its entries.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Session {
    #[serde(rename = "session_id")]
    pub(crate) id: String,
    pub(crate) status: String,
    pub(crate) incarnation: u64,
    pub(crate) credential_epoch: u64,
    pub(crate) created_at: String,
    pub(crate) changed_at: String,
    pub(crate) key_count: u64,
    pub(crate) total_tokens: u64,
    pub(crate) max_tokens: u64,
    pub(crate) config: Config,
    pub(crate) revision: u64,
}

/// The limits of a session.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Config {
    pub(crate) value_tokens_max: u64,
    pub(crate) keys_max: u64,
    estimator: String,
    /// The project that the session names.
    project: Option<String>,
}

/// An issued credential.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct IssuedCredential {
    pub(crate) credential: String,
    pub(crate) expires_at: String,
}

/// A new session and its orchestrator's credential.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct CreatedSession {
    #[serde(flatten)]
    session: Session,
    #[serde(flatten)]
    issued: IssuedCredential,
}

/// A page of sessions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Sessions {
    pub(crate) sessions: Vec<Session>,
    pub(crate) next_after: Option<String>,
}

/// Reply of `inspect`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Inspection {
    pub(crate) session: Session,
    entries: Vec<ReadReply>,
    snapshots: Vec<SnapshotInfo>,
    history: HistoryUse,
    changes: ChangesUse,
    next_expiry: Option<String>,
}

/// The storage used by earlier versions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct HistoryUse {
    versions: u64,
    bytes: u64,
    max_bytes: u64,
}

/// The stored changes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct ChangesUse {
    oldest: Option<u64>,
    count: u64,
}

impl Human for Session {
    /// Formats the session's properties, one per line.
    fn human(&self, _: Output) -> String {
        let Self { incarnation, credential_epoch, config, revision, .. } = self;
        let mut text = format!(
            "{BOLD}{}{BOLD:#} {}\n{} {DIMMED}in {} of {}{DIMMED:#}\n\n",
            plain(&self.id),
            plain(&self.status),
            gauge(self.total_tokens, self.max_tokens),
            grouped(self.key_count),
            counted(config.keys_max, "key"),
        );
        let value_tokens_max = counted(config.value_tokens_max, "token");
        let estimator = match config.estimator.as_str() {
            "approximate" => String::new(),
            encoding => format!(", counted as {}", plain(encoding)),
        };
        let project = config.project.as_ref().map(|it| ("project", plain(it).into_owned()));
        text.push_str(&facts(&project.into_iter().collect::<Vec<_>>()));
        text.push_str(&facts(&[
            ("created", format!("{} UTC", instant(&self.created_at))),
            ("changed", format!("{} UTC, revision {revision}", instant(&self.changed_at))),
            ("entries", format!("up to {value_tokens_max} each{estimator}")),
            ("credentials", format!("incarnation {incarnation}, epoch {credential_epoch}")),
        ]));
        text
    }
}

impl Human for CreatedSession {
    /// Formats the session, and how to use the credential.
    fn human(&self, output: Output) -> String {
        let IssuedCredential { credential, expires_at } = &self.issued;
        format!(
            "{}\n{DIMMED}The orchestrator's credential, until {expires_at}; it is not shown \
             again:{DIMMED:#}\n  export SHARED_CONTEXT_TOKEN={BOLD}{credential}{BOLD:#}\n",
            self.session.human(output)
        )
    }
}

/// Formats properties, one per line.
pub(super) fn facts(facts: &[(&str, String)]) -> String {
    facts.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "{DIMMED}{name:<13}{DIMMED:#}{value}");
        text
    })
}

impl Human for Sessions {
    /// Formats the sessions as a table.
    fn human(&self, output: Output) -> String {
        let row = |it: &Session| {
            vec![
                it.id.clone(),
                it.status.clone(),
                grouped(it.key_count),
                format!("{} of {}", grouped(it.total_tokens), grouped(it.max_tokens)),
                instant(&it.changed_at),
            ]
        };
        let header = ["SESSION", "STATUS", "#KEYS", "#TOKENS", "CHANGED (UTC)"];
        table(output, &header, &self.sessions.iter().map(row).collect::<Vec<_>>())
    }
}

impl Human for Inspection {
    /// Formats the session, its entries with the beginnings of their values, and its
    /// snapshots.
    fn human(&self, output: Output) -> String {
        let HistoryUse { versions, bytes, max_bytes } = &self.history;
        let ChangesUse { oldest, count } = &self.changes;
        let kib = |bytes: u64| grouped(bytes.div_ceil(1 << 10));
        let oldest = oldest.map(|it| format!(", the oldest is revision {it}"));
        let mut text = self.session.human(output);
        let mut more = vec![
            (
                "history",
                format!(
                    "{}, {} of {} KiB",
                    counted(*versions, "earlier version"),
                    kib(*bytes),
                    kib(*max_bytes)
                ),
            ),
            ("changes", format!("{} kept{}", grouped(*count), oldest.unwrap_or_default())),
        ];
        more.extend(
            self.next_expiry.as_ref().map(|it| ("next expiry", format!("{} UTC", instant(it)))),
        );
        text.push_str(&facts(&more));
        for ReadReply { entry, value } in &self.entries {
            let _ = write!(text, "\n{DIMMED}{}{DIMMED:#}\n", entry.line());
            text.push_str(&output.value(value, VALUE_LINES_MAX));
        }
        if !self.snapshots.is_empty() {
            text.push('\n');
            text.push_str(&snapshot::listed(&self.snapshots, output));
        }
        text
    }
}
