//! The server's replies, parsed and formatted for people.
//!
//! There is a file per kind of object. Members that no command needs are left out.
//! Transport is not handled here.

mod change;
mod context;
mod entry;
mod handoffs;
mod history;
mod memories;
mod memory_change;
mod outline;
mod ownership;
mod packets;
mod project;
mod session;
mod snapshot;
mod summary;
#[cfg(test)]
mod tests;
mod window;

use serde::{Deserialize, de::DeserializeOwned};

pub(crate) use self::{
    change::{AuditPage, ChangesPage, Commit},
    context::AssembledReply,
    entry::{DeleteReply, Entry, Listing, ReadReply, RedactReply, RedactRoundsReply, WriteReply},
    handoffs::{DecisionTrace, HandoffRead, HandoffReply, Handoffs},
    history::History,
    memories::{DecisionLog, FoundMemories, ReadMemories, Rehydrated, memories},
    memory_change::{
        AddedMemories, Maintained, MarkedMemories, RedactedMemory, SupersededMemory, UpdatedMemory,
    },
    outline::{
        DeletedSection, OutlineFindings, OutlineIndex, ReadSections, RedactedSection,
        WrittenSection,
    },
    ownership::{Coordination, LeasedSection, ReleasedSection},
    packets::{PacketRead, PacketWritten},
    project::{Project, ProjectSessions, Projects},
    session::{CreatedSession, Inspection, IssuedCredential, Session, Sessions},
    snapshot::{
        DeleteSnapshotReply, Diff, ReadSnapshotReply, RestoreReply, SnapshotInfo, Snapshots,
    },
    summary::{Proposal, SessionSummary},
};
use self::{
    context::{EnvelopeReply, Injection, MissingListReply, MissingReply},
    entry::{ReadBatchReply, WriteBatchReply},
    packets::{PacketAnswer, PacketCleared, PacketFeedback, PacketList, PacketStatistics},
    window::WindowReply,
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
pub(crate) struct PromptReply {
    pub(crate) text: String,
    pub(crate) tokens: u64,
    pub(crate) max_tokens: u64,
    pub(crate) left_out: Vec<String>,
}

/// Reply to a read with `if_changed_since` when nothing changed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct UnchangedReply {
    #[serde(rename = "unchanged")]
    is_unchanged: bool,
    revision: u64,
}

impl Human for PromptReply {
    fn human(&self, _: Output) -> String {
        plain(&self.text).into_owned()
    }
}

impl Human for UnchangedReply {
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
    if let Ok(unchanged) = serde_json::from_slice::<UnchangedReply>(reply)
        && unchanged.is_unchanged
    {
        return Ok(unchanged.human(output));
    }
    let text = match action.as_str() {
        "list_keys" => as_human::<Listing>,
        "read" => as_human::<ReadReply>,
        "read_batch" => as_human::<ReadBatchReply>,
        "write" => as_human::<WriteReply>,
        "delete" => as_human::<DeleteReply>,
        "write_batch" => as_human::<WriteBatchReply>,
        "set_access" => as_human::<Entry>,
        "read_history" => as_human::<History>,
        "redact" => as_human::<RedactReply>,
        "redact_rounds" => as_human::<RedactRoundsReply>,
        "snapshot" => as_human::<SnapshotInfo>,
        "list_snapshots" => as_human::<Snapshots>,
        "read_snapshot" => |reply: &[u8], output| {
            as_human::<ReadSnapshotReply>(reply, output)
                .or_else(|_| as_human::<ReadReply>(reply, output))
        },
        "diff_snapshots" => as_human::<Diff>,
        "restore_snapshot" => as_human::<RestoreReply>,
        "delete_snapshot" => as_human::<DeleteSnapshotReply>,
        "changes" => as_human::<ChangesPage>,
        "audit" => as_human::<AuditPage>,
        "prompt" => as_human::<PromptReply>,
        "plan_window" => as_human::<WindowReply>,
        "assemble_context" => as_human::<AssembledReply>,
        "read_envelope" => as_human::<EnvelopeReply>,
        "record_injection" => as_human::<Injection>,
        "report_missing" | "answer_missing" => as_human::<MissingReply>,
        "list_missing" => as_human::<MissingListReply>,
        "context_generate" | "context_edit" => as_human::<PacketWritten>,
        "context_read" => as_human::<PacketRead>,
        "context_query" => as_human::<PacketAnswer>,
        "context_feedback" => as_human::<PacketFeedback>,
        "context_stats" => as_human::<PacketStatistics>,
        "context_clear" => as_human::<PacketCleared>,
        "list_packets" => as_human::<PacketList>,
        "inspect" => as_human::<Inspection>,
        "show_session" | "create_session" | "update_session" | "archive_session"
        | "revoke_credentials" => as_human::<Session>,
        _ => |reply: &[u8], _| Ok(format!("{}\n", plain(&String::from_utf8_lossy(reply)))),
    };
    text(reply, output).map_err(|_| {
        Problem::check("the server's reply is not one that this program knows")
            .next("`--json` prints it as it is; use the program and server of one version")
    })
}

fn as_human<T: DeserializeOwned + Human>(
    reply: &[u8],
    output: Output,
) -> Result<String, serde_json::Error> {
    serde_json::from_slice(reply).map(|it: T| it.human(output))
}
