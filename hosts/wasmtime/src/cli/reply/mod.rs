//! The server's replies, parsed and formatted for people.
//!
//! There is a file per kind of object. Members that no command needs are left out.
//! Transport is not handled here.

mod change;
mod entry;
mod history;
mod session;
mod snapshot;
#[cfg(test)]
mod tests;

use serde::{Deserialize, de::DeserializeOwned};

use self::entry::{BatchRead, BatchWritten};
pub(crate) use self::{
    change::{AuditPage, ChangesPage, Commit},
    entry::{Deleted, Entry, Listing, Read, Redacted, RoundsRedacted, Written},
    history::History,
    session::{Inspection, Issued, Made, Session, Sessions},
    snapshot::{Diff, Restored, SnapshotDeleted, SnapshotInfo, SnapshotRead, Snapshots},
};
use super::{
    output::{DIMMED, Output, plain},
    problem::Problem,
};

/// A reply that can be formatted for people.
pub(crate) trait Human {
    /// Formats the reply as text with a final line break.
    fn human(&self, output: Output) -> String;
}

/// Reply of `prompt`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Rendered {
    pub(crate) text: String,
    pub(crate) tokens: u64,
    pub(crate) max_tokens: u64,
    pub(crate) left_out: Vec<String>,
}

/// Reply to a read with `if_changed_since` when nothing changed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Unchanged {
    #[serde(rename = "unchanged")]
    is_unchanged: bool,
    revision: u64,
}

impl Human for Rendered {
    fn human(&self, _: Output) -> String {
        plain(&self.text).into_owned()
    }
}

impl Human for Unchanged {
    fn human(&self, _: Output) -> String {
        format!("{DIMMED}nothing changed; revision {}{DIMMED:#}\n", self.revision)
    }
}

/// Formats the reply to the tool request `request` for people.
///
/// # Errors
///
/// The reply does not have the shape of its action.
pub(crate) fn human(request: &[u8], reply: &[u8], output: Output) -> Result<String, Problem> {
    #[derive(Deserialize)]
    struct Named {
        action: String,
    }
    let action = serde_json::from_slice(request).map_or(String::new(), |it: Named| it.action);
    if let Ok(unchanged) = serde_json::from_slice::<Unchanged>(reply)
        && unchanged.is_unchanged
    {
        return Ok(unchanged.human(output));
    }
    let text = match action.as_str() {
        "list_keys" => as_human::<Listing>,
        "read" => as_human::<Read>,
        "read_batch" => as_human::<BatchRead>,
        "write" => as_human::<Written>,
        "delete" => as_human::<Deleted>,
        "write_batch" => as_human::<BatchWritten>,
        "set_access" => as_human::<Entry>,
        "read_history" => as_human::<History>,
        "redact" => as_human::<Redacted>,
        "redact_rounds" => as_human::<RoundsRedacted>,
        "snapshot" => as_human::<SnapshotInfo>,
        "list_snapshots" => as_human::<Snapshots>,
        "read_snapshot" => |reply: &[u8], output| {
            as_human::<SnapshotRead>(reply, output).or_else(|_| as_human::<Read>(reply, output))
        },
        "diff_snapshots" => as_human::<Diff>,
        "restore_snapshot" => as_human::<Restored>,
        "delete_snapshot" => as_human::<SnapshotDeleted>,
        "changes" => as_human::<ChangesPage>,
        "audit" => as_human::<AuditPage>,
        "prompt" => as_human::<Rendered>,
        "inspect" => as_human::<Inspection>,
        "show_session" | "create_session" | "archive_session" | "revoke_credentials" => {
            as_human::<Session>
        }
        _ => |reply: &[u8], _| Ok(format!("{}\n", plain(&String::from_utf8_lossy(reply)))),
    };
    text(reply, output).map_err(|error| {
        Problem::check(format!("the server's reply is not one this program knows: {error}"))
            .next("`--json` prints it as it is; use the program and server of one version")
    })
}

fn as_human<T: DeserializeOwned + Human>(
    reply: &[u8],
    output: Output,
) -> Result<String, serde_json::Error> {
    serde_json::from_slice(reply).map(|it: T| it.human(output))
}
