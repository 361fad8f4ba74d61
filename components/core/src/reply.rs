//! The replies to [`Command`](crate::Command)s.

use crate::{
    audit::AuditRecord,
    compact,
    config::{Config, ProjectConfig},
    context::{self, RenderedContext},
    handoffs,
    key::{Key, Label},
    kv::Revision,
    memories::{self, SessionUse, summary::SessionSummary},
    ownership, packets,
    portable::{Portable, PortableProject},
    prompt::Rendered,
    rounds,
    scope::{ProjectId, SessionId},
    store::{
        Entry,
        history::{HistoryUse, Version},
        snapshot::{Diff, Restored, SnapshotInfo},
        warning::Warning,
    },
    time::Timestamp,
    tokens::Tokens,
};

/// The outcome of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The revision of the reply: after the change, or as read. For one entry it is the
    /// revision that wrote the entry.
    pub revision: Revision,
    /// The reply.
    pub reply: Reply,
    /// The time at which the session's next entry expires, or an earlier one. A host with
    /// a timer sends [`Command::Sweep`](crate::Command::Sweep) then.
    pub next_expiry: Option<Timestamp>,
}

/// The reply to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The reply to every command on the session's life cycle except `DeleteSession`.
    Session(Box<SessionInfo>),
    /// The reply to `DeleteSession`.
    SessionDeleted(SessionId),
    /// The reply to a read with `if_changed_since` if nothing changed.
    Unchanged,
    /// The reply to `ListKeys`.
    Listing(Listing),
    /// The reply to `Read`, and to `ReadSnapshot` with a key.
    Entry(EntryRead),
    /// The reply to `ReadBatch`.
    Entries(EntriesRead),
    /// The reply to `Write`.
    Written(Written),
    /// The reply to `Delete`.
    Deleted(Deleted),
    /// The reply to `WriteBatch`.
    BatchWritten(BatchWritten),
    /// The reply to `ReadHistory`.
    History(History),
    /// The reply to `SetAccess`.
    Access(Shown),
    /// The reply to `TakeSnapshot`.
    Snapshot(SnapshotInfo),
    /// The reply to `ListSnapshots`.
    Snapshots(Snapshots),
    /// The reply to `ReadSnapshot`.
    SnapshotRead(SnapshotRead),
    /// The reply to `DiffSnapshots`.
    Diff(DiffRead),
    /// The reply to `RestoreSnapshot`.
    Restored(Restored),
    /// The reply to `DeleteSnapshot`.
    SnapshotDeleted(Label),
    /// The reply to `Changes`.
    Changes(ChangesPage),
    /// The reply to a command on rounds.
    Rounds(rounds::Reply),
    /// The reply to `Redact`.
    Redacted(Redacted),
    /// The reply to `Inspect`.
    Inspection(Box<Inspection>),
    /// The reply to `Export`.
    Portable(Box<Portable>),
    /// The reply to `Sweep`.
    Swept,
    /// The reply to `RenderContext`.
    RenderedContext(RenderedContext),
    /// The reply to `Context`.
    Context(context::Reply),
    /// The reply to `Packets`.
    Packets(packets::Reply),
    /// The reply to `Compaction`.
    Compaction(compact::Reply),
    /// The reply to `Summarize`.
    Summary(Box<SessionSummary>),
    /// The reply to `Prompt`.
    Prompt(Rendered),
    /// The reply to `Audit`.
    Audit(AuditPage),
    /// The reply to every command on the project's life cycle except `ProjectCommand::Delete`.
    Project(ProjectInfo),
    /// The reply to `ProjectCommand::Delete`.
    ProjectDeleted(ProjectId),
    /// The reply to `ProjectCommand::Export`.
    PortableProject(Box<PortableProject>),
    /// The reply to `ProjectCommand::Sessions`.
    ProjectSessions(ProjectSessions),
    /// The reply to `ProjectCommand::Memories`.
    Memories(memories::Reply),
    /// The reply to `ProjectCommand::Outline`.
    Outline(ownership::Reply),
    /// The reply to `ProjectCommand::Handoffs`.
    Handoffs(handoffs::Reply),
}

/// The metadata of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectInfo {
    /// The id.
    pub project: ProjectId,
    /// A number that differs for each project that ever had this id.
    pub incarnation: u64,
    /// The credential epoch; credentials of another epoch are void. It starts as the
    /// creation time in milliseconds.
    pub credential_epoch: u64,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub changed_at: Timestamp,
    /// True if the project is read-only.
    pub is_archived: bool,
    /// The place where the last page of an unfinished import ended; it goes on after it.
    pub imported_until: Option<u64>,
    /// The configuration.
    pub config: ProjectConfig,
    /// The number of memories.
    pub memories: u32,
    /// The bytes of memories with their versions.
    pub bytes: u64,
    /// The number of sessions that worked on it.
    pub sessions: u32,
}

/// The sessions that worked on a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectSessions {
    /// The sessions, the one that did something last first.
    pub sessions: Vec<(SessionId, SessionUse)>,
    /// The number of sessions that ever worked on it.
    pub total: u32,
}

/// The metadata of a session, without its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionInfo {
    /// The id.
    pub session: SessionId,
    /// True if the session is read-only.
    pub is_archived: bool,
    /// A number that differs for each session that ever had this id.
    pub incarnation: u64,
    /// The credential epoch; credentials of another epoch are void. It starts as the time
    /// of creation or import in milliseconds; each revocation adds one.
    pub credential_epoch: u64,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub changed_at: Timestamp,
    /// Number of entries.
    pub key_count: u32,
    /// Sum of the sizes of all values.
    pub total_tokens: Tokens,
    /// The configuration.
    pub config: Config,
}

/// An entry with the caller's permissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The entry.
    pub entry: Entry,
    /// True if the caller may read its value.
    pub is_readable: bool,
    /// True if the caller may read the entry but not write it.
    pub is_read_only: bool,
}

/// The entries that the caller can see, without their values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The entries, by key.
    pub entries: Vec<Shown>,
    /// Sum of the sizes of all values in the store, including hidden ones. The store
    /// limit applies to this sum.
    pub total_tokens: Tokens,
    /// The limit of that sum.
    pub tokens_max: Tokens,
}

/// An entry and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryRead {
    /// The entry.
    pub shown: Shown,
    /// Its value.
    pub value: String,
}

/// The result of reading several keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntriesRead {
    /// The entries, in the requested order.
    pub entries: Vec<EntryRead>,
    /// The keys that do not exist.
    pub missing: Vec<Key>,
}

/// The result of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The entry after the write.
    pub entry: Entry,
    /// The warnings. They do not affect the stored value.
    pub warnings: Vec<Warning>,
}

/// The result of a delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deleted {
    /// The deleted key.
    pub key: Key,
    /// The version that was deleted.
    pub previous_version: u64,
}

/// The result of a batch, in the order of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchWritten {
    /// The results of its writes.
    pub written: Vec<Written>,
    /// The results of its deletes.
    pub deleted: Vec<Deleted>,
}

/// The retained versions of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// The key.
    pub key: Key,
    /// Earlier versions, oldest first.
    pub past: Vec<PastVersion>,
    /// The current entry.
    pub current: Option<EntryRead>,
}

/// An earlier version and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastVersion {
    /// The version.
    pub version: Version,
    /// Its value.
    pub value: String,
    /// True if the entry was deleted after this version.
    pub is_deleted: bool,
}

/// The snapshots of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshots {
    /// The snapshots, oldest first.
    pub snapshots: Vec<SnapshotInfo>,
    /// The maximum number of snapshots.
    pub snapshots_max: u32,
}

/// The contents of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotRead {
    /// The snapshot's metadata.
    pub info: SnapshotInfo,
    /// The entries that the caller may read, ordered by key.
    pub entries: Vec<EntryRead>,
}

/// The difference between a snapshot and another state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffRead {
    /// The earlier state.
    pub from: Label,
    /// The later state; the current one when `None`.
    pub to: Option<Label>,
    /// The differences that the caller may read.
    pub diff: Diff,
}

/// The maximum size of a page of changes or deltas, in stored bytes. A page ends at this
/// size even if more items were requested. A larger first commit or delta is a page by
/// itself.
pub const PAGE_BYTES_MAX: usize = 128 << 10;

/// A page of a session's changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangesPage {
    /// The changes, oldest first. Changes of one commit have the same revision.
    pub changes: Vec<AuditRecord>,
    /// The `since` of the next page.
    pub next_since: Revision,
    /// True if there are more changes now.
    pub has_more: bool,
}

/// The result of a redaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted {
    /// The key.
    pub key: Key,
    /// The digests of the removed values, without duplicates.
    pub digests: Vec<String>,
}

/// Everything about a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The session.
    pub session: SessionInfo,
    /// The entries, ordered by key.
    pub entries: Vec<EntryRead>,
    /// The snapshots, oldest first.
    pub snapshots: Vec<SnapshotInfo>,
    /// The amount of retained history.
    pub history: HistoryUse,
    /// The oldest revision whose changes are retained.
    pub oldest_change: Option<Revision>,
    /// The number of commits in the change feed.
    pub changes: u64,
    /// The time at which the next entry expires.
    pub next_expiry: Option<Timestamp>,
}

/// A page of a session's audit records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditPage {
    /// The records, oldest first.
    pub records: Vec<AuditRecord>,
    /// The revision of the oldest retained record.
    pub oldest: Option<Revision>,
    /// The `after` of the next page; `None` on the last page.
    pub next_after: Option<Revision>,
}
