//! Replies as JSON. Members that 000 §3 shows come first, in its order; what is
//! ours follows.

mod deltas;
mod entries;
mod feed;
mod rounds;
mod session;
mod snapshots;

use serde::Serialize;
use shared_context_core::{Config, Outcome, Reply, port::Revision, prompt::Rendered};

pub use feed::{AuditForm, audit_line};

use crate::request::DocumentForm;
#[cfg(feature = "schema")]
pub(crate) use {
    deltas::{DeltasReply, ProposedReply},
    entries::{
        BatchReadReply, BatchReply, DeleteReply, EntryForm, HistoryReply, ListReply, ReadReply,
        RedactReply, UnchangedReply, WriteReply,
    },
    feed::{AuditReply, ChangesReply},
    rounds::{ConvergenceReply, RedactRoundsReply, RoundReply, StateReply},
    session::{DeleteSessionReply, InspectReply, SessionReply},
    snapshots::{
        DeleteSnapshotReply, DiffReply, RestoreReply, SnapshotForm, SnapshotReply, SnapshotsReply,
    },
};

/// Text for a system prompt.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "prompt_reply"))]
pub(crate) struct PromptReply<'a> {
    /// The text.
    text: &'a str,
    /// Its size.
    tokens: u32,
    /// The budget it was given.
    max_tokens: u32,
    /// What did not fit the budget, in the order it was left out.
    left_out: &'a [&'static str],
}

/// The JSON of what was answered.
pub(crate) fn encode(outcome: &Outcome) -> Vec<u8> {
    let Revision(revision) = outcome.revision;
    match &outcome.reply {
        Reply::Session(it) => to_vec(&session::session(it, revision)),
        Reply::SessionDeleted(it) => {
            to_vec(&session::DeleteSessionReply { deleted_session: it.as_str(), revision })
        }
        Reply::Unchanged => to_vec(&entries::UnchangedReply { unchanged: true, revision }),
        Reply::Listing(it) => to_vec(&entries::listing(it, revision)),
        Reply::Entry(it) => to_vec(&entries::ReadReply::from(it)),
        Reply::Entries(it) => to_vec(&entries::batch_read(it, revision)),
        Reply::Written(it) => to_vec(&entries::WriteReply::from(it)),
        Reply::Deleted(it) => to_vec(&entries::deleted(it, revision)),
        Reply::BatchWritten(it) => to_vec(&entries::batch_written(it, revision)),
        Reply::History(it) => to_vec(&entries::history(it, revision)),
        Reply::Access(it) => to_vec(&entries::EntryForm::from(it)),
        Reply::Snapshot(it) => to_vec(&snapshots::SnapshotForm::from(it)),
        Reply::Snapshots(it) => to_vec(&snapshots::snapshots(it, revision)),
        Reply::SnapshotRead(it) => to_vec(&snapshots::snapshot(it, revision)),
        Reply::Diff(it) => to_vec(&snapshots::diff(it, revision)),
        Reply::Restored(it) => to_vec(&snapshots::restored(it, revision)),
        Reply::SnapshotDeleted(it) => {
            to_vec(&snapshots::DeleteSnapshotReply { deleted_snapshot: it.as_str(), revision })
        }
        Reply::Changes(it) => to_vec(&feed::changes(it, revision)),
        Reply::Round(it) => to_vec(&rounds::round(it, revision)),
        Reply::Proposed(it) => to_vec(&deltas::proposed(*it, revision)),
        Reply::State(it) => to_vec(&rounds::state(it, revision)),
        Reply::Deltas(it) => to_vec(&deltas::deltas(it, revision)),
        Reply::Convergence(it) => to_vec(&rounds::convergence(it, revision)),
        Reply::RoundsRedacted(it) => to_vec(&rounds::redacted(it, revision)),
        Reply::Redacted(it) => to_vec(&entries::redacted(it, revision)),
        Reply::Inspection(it) => to_vec(&session::inspection(it, revision)),
        Reply::Portable(it) => to_vec(&DocumentForm::new(it)),
        Reply::Swept => b"{}".to_vec(),
        Reply::Prompt(it) => to_vec(&prompt(it)),
        Reply::Audit(it) => to_vec(&feed::audit(it)),
    }
}

/// The JSON of a configuration in force.
pub(crate) fn encode_config(it: &Config) -> Vec<u8> {
    to_vec(&session::config(it))
}

/// The form of a configuration in force.
pub(crate) fn config_reply(it: &Config) -> impl Serialize {
    session::config(it)
}

/// Every form is plain data, which always has a JSON form.
fn to_vec(form: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(form).unwrap_or_default()
}

fn prompt(it: &Rendered) -> PromptReply<'_> {
    PromptReply {
        text: &it.text,
        tokens: it.tokens.0,
        max_tokens: it.max_tokens.0,
        left_out: &it.left_out,
    }
}
