//! Replies as JSON. Members shown in spec 3 come first, in its order; our own follow.

use shared_context_core::{Outcome, Reply, port::Revision};

use crate::{
    compaction, context, feed, handoffs,
    json::to_vec,
    memories, outline, packets, project, rounds, session,
    store::{entry_replies, snapshot_replies},
};

/// Serializes the reply of `outcome`.
pub(crate) fn encode(outcome: &Outcome) -> Vec<u8> {
    let Revision(revision) = outcome.revision;
    match &outcome.reply {
        Reply::Session(it) => to_vec(&session::replies::session(it, revision)),
        Reply::SessionDeleted(it) => {
            to_vec(&session::replies::DeleteSessionReply { deleted_session: it.as_str(), revision })
        }
        Reply::Unchanged => to_vec(&entry_replies::UnchangedReply { unchanged: true, revision }),
        Reply::Listing(it) => to_vec(&entry_replies::listing(it, revision)),
        Reply::Entry(it) => to_vec(&entry_replies::ReadReply::from(it)),
        Reply::Entries(it) => to_vec(&entry_replies::batch_read(it, revision)),
        Reply::Written(it) => to_vec(&entry_replies::WriteReply::from(it)),
        Reply::Deleted(it) => to_vec(&entry_replies::deleted(it, revision)),
        Reply::BatchWritten(it) => to_vec(&entry_replies::batch_written(it, revision)),
        Reply::History(it) => to_vec(&entry_replies::history(it, revision)),
        Reply::Access(it) => to_vec(&entry_replies::EntryForm::from(it)),
        Reply::Snapshot(it) => to_vec(&snapshot_replies::SnapshotForm::from(it)),
        Reply::Snapshots(it) => to_vec(&snapshot_replies::snapshots(it, revision)),
        Reply::SnapshotRead(it) => to_vec(&snapshot_replies::snapshot(it, revision)),
        Reply::Diff(it) => to_vec(&snapshot_replies::diff(it, revision)),
        Reply::Restored(it) => to_vec(&snapshot_replies::restored(it, revision)),
        Reply::SnapshotDeleted(it) => to_vec(&snapshot_replies::DeleteSnapshotReply {
            deleted_snapshot: it.as_str(),
            revision,
        }),
        Reply::Changes(it) => to_vec(&feed::changes(it, revision)),
        Reply::Rounds(it) => rounds::encode(it, revision),
        Reply::Redacted(it) => to_vec(&entry_replies::redacted(it, revision)),
        Reply::Inspection(it) => to_vec(&session::replies::inspection(it, revision)),
        Reply::Portable(it) => to_vec(&session::document::DocumentForm::new(it)),
        Reply::Swept => b"{}".to_vec(),
        Reply::RenderedContext(it) => to_vec(&session::replies::context(it, revision)),
        Reply::Context(it) => context::encode(it, revision),
        Reply::Packets(it) => packets::encode(it, revision),
        Reply::Compaction(it) => compaction::encode(it, revision),
        Reply::Prompt(it) => to_vec(&session::replies::prompt(it)),
        Reply::Audit(it) => to_vec(&feed::audit(it)),
        Reply::Project(it) => to_vec(&project::project(it, revision)),
        Reply::PortableProject(it) => to_vec(&project::document::DocumentForm::new(it)),
        Reply::ProjectSessions(it) => to_vec(&project::sessions(it, revision)),
        Reply::Memories(it) => memories::encode(it, revision),
        Reply::Summary(it) => memories::summary::encode(it, revision),
        Reply::Outline(it) => outline::encode(it, revision),
        Reply::Handoffs(it) => handoffs::encode(it, revision),
        Reply::ProjectDeleted(it) => {
            to_vec(&project::DeleteProjectReply { deleted_project: it.as_str(), revision })
        }
    }
}
