//! Replies of the server as the commands read them, and how people read them.
//!
//! Members that no command needs are left out. Not here: how the JSON came.

use std::fmt::Write as _;

use serde::Deserialize;

use super::{
    output::{BOLD, DIMMED, GREEN, Output, YELLOW, counted, gauge, grouped, instant, plain, table},
    problem::Problem,
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
}

/// Reply of `read`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Read {
    #[serde(flatten)]
    pub(crate) entry: Entry,
    pub(crate) value: String,
}

/// Reply of `write`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Written {
    #[serde(flatten)]
    pub(crate) entry: Entry,
    #[serde(default)]
    pub(crate) advices: Vec<Advice>,
}

/// A remark on a write.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Advice {
    pub(crate) code: String,
    pub(crate) message: String,
}

/// Reply of `delete`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Deleted {
    #[serde(rename = "deleted")]
    pub(crate) key: String,
    pub(crate) previous_version: u64,
    pub(crate) revision: u64,
}

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
}

/// A credential that was handed out.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Issued {
    pub(crate) credential: String,
    pub(crate) expires_at: String,
}

/// A page of sessions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Sessions {
    pub(crate) sessions: Vec<Session>,
    pub(crate) next_after: Option<String>,
}

/// Reply of `audit`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct AuditPage {
    pub(crate) records: Vec<AuditRecord>,
    pub(crate) oldest: Option<u64>,
    pub(crate) next_since: Option<u64>,
}

/// The record of one change.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct AuditRecord {
    pub(crate) revision: u64,
    pub(crate) action: String,
    pub(crate) written_by: String,
    pub(crate) written_at: String,
    pub(crate) key: Option<String>,
    pub(crate) version: Option<u64>,
    pub(crate) value_size_tokens: Option<u64>,
}

/// Reply of `prompt`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Rendered {
    pub(crate) text: String,
    pub(crate) tokens: u64,
    pub(crate) max_tokens: u64,
    pub(crate) left_out: Vec<String>,
}

impl Listing {
    /// A table of the entries, and how full the store is.
    pub(crate) fn human(&self, output: Output) -> String {
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
            text = table(output, &header, self.keys.iter().map(row).collect());
            text.push('\n');
        }
        let keys = counted(self.keys.len().try_into().unwrap_or(u64::MAX), "key");
        let (gauge, revision) = (gauge(self.total_tokens, self.max_tokens), self.revision);
        let _ = writeln!(text, "{gauge} {DIMMED}in {keys}, revision {revision}{DIMMED:#}");
        text
    }
}

impl Read {
    /// The value, and below it whose it is.
    pub(crate) fn human(&self) -> String {
        let Entry { key, written_by, written_at, version, value_size_tokens, .. } = &self.entry;
        format!(
            "{}\n\n{DIMMED}{key}: version {version} by {written_by} at {} UTC, {}{DIMMED:#}\n",
            plain(&self.value),
            instant(written_at),
            counted(*value_size_tokens, "token"),
        )
    }
}

impl Written {
    /// What was written, and the remarks on it.
    pub(crate) fn human(&self) -> String {
        let Entry { key, version, value_size_tokens, revision, .. } = &self.entry;
        let tokens = counted(*value_size_tokens, "token");
        let mut text = format!(
            "{GREEN}✓{GREEN:#} {BOLD}{key}{BOLD:#} version {version} written: {tokens}, \
             revision {revision}\n"
        );
        for Advice { code, message } in &self.advices {
            let _ = writeln!(text, "{YELLOW}! {}{YELLOW:#} {}", plain(code), plain(message));
        }
        text
    }
}

impl Deleted {
    /// What is gone.
    pub(crate) fn human(&self) -> String {
        let Self { key, previous_version, revision } = self;
        format!(
            "{GREEN}✓{GREEN:#} {BOLD}{key}{BOLD:#} deleted; it was at version \
             {previous_version}, revision {revision}\n"
        )
    }
}

impl Session {
    /// What is known of it, a line each.
    pub(crate) fn human(&self) -> String {
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
        for (name, value) in [
            ("created", format!("{} UTC", instant(&self.created_at))),
            ("changed", format!("{} UTC, revision {revision}", instant(&self.changed_at))),
            ("entries", format!("up to {value_tokens_max} each")),
            ("credentials", format!("incarnation {incarnation}, epoch {credential_epoch}")),
        ] {
            let _ = writeln!(text, "{DIMMED}{name:<13}{DIMMED:#}{value}");
        }
        text
    }
}

impl Sessions {
    /// A table of the sessions.
    pub(crate) fn human(&self, output: Output) -> String {
        if self.sessions.is_empty() {
            return "no sessions yet; `shared-context session create ID` makes one\n".to_owned();
        }
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
        table(output, &header, self.sessions.iter().map(row).collect())
    }
}

impl AuditPage {
    /// A table of the changes.
    pub(crate) fn human(&self, output: Output) -> String {
        if self.records.is_empty() {
            return "no changes since then\n".to_owned();
        }
        let row = |it: &AuditRecord| {
            let change = match (&it.key, it.version) {
                (Some(key), Some(version)) => format!("{} {key} v{version}", it.action),
                _ => it.action.clone(),
            };
            vec![
                it.revision.to_string(),
                instant(&it.written_at),
                it.written_by.clone(),
                change,
                it.value_size_tokens.map(grouped).unwrap_or_default(),
            ]
        };
        let header = ["#REVISION", "AT (UTC)", "BY", "CHANGE", "#TOKENS"];
        table(output, &header, self.records.iter().map(row).collect())
    }
}

/// The reply to the tool request `request` as people read it.
///
/// # Errors
///
/// The reply is not of the shape of its action.
pub(crate) fn human(request: &[u8], reply: &[u8], output: Output) -> Result<String, Problem> {
    #[derive(Deserialize)]
    struct Named {
        action: String,
    }
    let action = serde_json::from_slice(request).map_or(String::new(), |it: Named| it.action);
    let text = match action.as_str() {
        "list_keys" => serde_json::from_slice(reply).map(|it: Listing| it.human(output)),
        "read" => serde_json::from_slice(reply).map(|it: Read| it.human()),
        "write" => serde_json::from_slice(reply).map(|it: Written| it.human()),
        "delete" => serde_json::from_slice(reply).map(|it: Deleted| it.human()),
        "prompt" => serde_json::from_slice(reply).map(|it: Rendered| plain(&it.text).into_owned()),
        "audit" => serde_json::from_slice(reply).map(|it: AuditPage| it.human(output)),
        "show_session" | "create_session" | "archive_session" | "revoke_credentials" => {
            serde_json::from_slice(reply).map(|it: Session| it.human())
        }
        _ => Ok(format!("{}\n", plain(&String::from_utf8_lossy(reply)))),
    };
    text.map_err(|error| {
        Problem::check(format!("the server's reply is not one this program knows: {error}"))
            .next("`--json` prints it as it is; use the program and server of one version")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(request: &str, reply: &str) -> String {
        let output = Output { is_json: false, width: 80 };
        let text = human(request.as_bytes(), reply.as_bytes(), output).unwrap();
        anstream::adapter::strip_str(&text).to_string()
    }

    const ENTRY: &str = r#""key":"scope","written_by":"orchestrator",
        "written_at":"2026-02-20T14:30:00Z","version":2,"value_size_tokens":180,"revision":7"#;

    #[test]
    fn a_listing_is_a_table_with_a_gauge() {
        let reply = format!(
            r#"{{"keys":[{{{ENTRY}}}],"total_tokens":180,"max_tokens":10000,"key_count":1,"revision":7}}"#
        );
        insta::assert_snapshot!(shown(r#"{"action":"list_keys"}"#, &reply));
        let empty = r#"{"keys":[],"total_tokens":0,"max_tokens":10000,"key_count":0,"revision":1}"#;
        insta::assert_snapshot!(shown(r#"{"action":"list_keys"}"#, empty));
    }

    #[test]
    fn a_value_is_shown_as_it_is_and_then_whose_it_is() {
        let reply = format!(r#"{{"value":"Find the\nparameter.\u001b[2J",{ENTRY}}}"#);
        insta::assert_snapshot!(shown(r#"{"action":"read","key":"scope"}"#, &reply));
    }

    #[test]
    fn a_write_shows_its_advices() {
        let reply = format!(
            r#"{{{ENTRY},"advices":[{{"code":"DISTILL","message":"value has 180 tokens"}}]}}"#
        );
        insta::assert_snapshot!(shown(r#"{"action":"write"}"#, &reply));
    }

    #[test]
    fn a_delete_names_what_is_gone() {
        let reply = r#"{"deleted":"scope","previous_version":2,"revision":8}"#;
        insta::assert_snapshot!(shown(r#"{"action":"delete"}"#, reply));
    }

    #[test]
    fn a_session_tells_its_limits() {
        let reply = r#"{"session_id":"ticket-7","status":"active","incarnation":1,
            "credential_epoch":1,"created_at":"2026-02-20T14:30:00Z",
            "changed_at":"2026-02-20T14:31:00.5Z","key_count":12,"total_tokens":8400,
            "max_tokens":10000,"config":{"value_tokens_max":1000,"store_tokens_max":10000,
            "keys_max":1000,"estimator":"approximate","namespace":null},"revision":13}"#;
        insta::assert_snapshot!(shown(r#"{"action":"show_session"}"#, reply));
        let sessions: Sessions =
            serde_json::from_str(&format!(r#"{{"sessions":[{reply}],"next_after":null}}"#))
                .unwrap();
        let text = sessions.human(Output { is_json: false, width: 80 });
        insta::assert_snapshot!(anstream::adapter::strip_str(&text).to_string());
    }

    #[test]
    fn an_audit_log_is_a_table() {
        let reply = r#"{"records":[{"revision":1,"action":"create_session","written_by":"admin",
            "written_at":"2026-02-20T14:30:00Z"},{"revision":2,"action":"write","key":"scope",
            "written_by":"subagent:analysis","written_at":"2026-02-20T14:30:01Z","version":1,
            "value_size_tokens":12}],"oldest":1,"next_since":2}"#;
        insta::assert_snapshot!(shown(r#"{"action":"audit"}"#, reply));
    }
}
