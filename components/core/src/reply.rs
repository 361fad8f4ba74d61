//! What is answered to a [`Command`](crate::Command).

use crate::{
    audit::AuditRecord,
    config::Config,
    key::{Key, Label},
    kv::Revision,
    portable::Portable,
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

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The revision the answer is of: after the change, or as read. For one
    /// entry it is the revision at which that entry was written.
    pub revision: Revision,
    /// The answer.
    pub reply: Reply,
    /// When the next of the session's entries expires, or earlier: a host with
    /// a timer asks for [`Command::Sweep`](crate::Command::Sweep) then.
    pub next_expiry: Option<Timestamp>,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// To every command on the session's life but its removal.
    Session(Box<SessionInfo>),
    /// To `DeleteSession`.
    SessionDeleted(SessionId),
    /// To a read under `if_changed_since`, when nothing changed.
    Unchanged,
    /// To `ListKeys`.
    Listing(Listing),
    /// To `Read`, and to `ReadSnapshot` of one key.
    Entry(EntryRead),
    /// To `ReadBatch`.
    Entries(EntriesRead),
    /// To `Write`.
    Written(Written),
    /// To `Delete`.
    Deleted(Deleted),
    /// To `WriteBatch`.
    BatchWritten(BatchWritten),
    /// To `ReadHistory`.
    History(History),
    /// To `SetAccess`.
    Access(Shown),
    /// To `TakeSnapshot`.
    Snapshot(SnapshotInfo),
    /// To `ListSnapshots`.
    Snapshots(Snapshots),
    /// To `ReadSnapshot`.
    SnapshotRead(SnapshotRead),
    /// To `DiffSnapshots`.
    Diff(DiffRead),
    /// To `RestoreSnapshot`.
    Restored(Restored),
    /// To `DeleteSnapshot`.
    SnapshotDeleted(Label),
    /// To `Changes`.
    Changes(ChangesPage),
    /// To a command on rounds.
    Rounds(rounds::Reply),
    /// To `Redact`.
    Redacted(Redacted),
    /// To `Inspect`.
    Inspection(Box<Inspection>),
    /// To `Export`.
    Portable(Box<Portable>),
    /// To `Sweep`.
    Swept,
    /// To `Prompt`.
    Prompt(Rendered),
    /// To `Audit`.
    Audit(AuditPage),
    /// To `ProjectCommand::Create` and `ProjectCommand::Show`.
    Project(ProjectInfo),
    /// To `ProjectCommand::Delete`.
    ProjectDeleted(ProjectId),
}

/// What is known of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectInfo {
    /// Its id.
    pub project: ProjectId,
    /// Differs for each project that ever had this id.
    pub incarnation: u64,
    /// Credentials of another epoch are void. The first is the time of the creation in
    /// milliseconds.
    pub credential_epoch: u64,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub changed_at: Timestamp,
}

/// What is known of a session without its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionInfo {
    /// Its id.
    pub session: SessionId,
    /// Whether it is read-only.
    pub is_archived: bool,
    /// Differs for each session that ever had this id.
    pub incarnation: u64,
    /// Credentials of another epoch are void. The first is the time of the creation or
    /// import in milliseconds; each revocation adds one.
    pub credential_epoch: u64,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub changed_at: Timestamp,
    /// Number of entries.
    pub key_count: u32,
    /// Sum of the sizes of all values.
    pub total_tokens: Tokens,
    /// What it was created with.
    pub config: Config,
}

/// An entry, as it is shown to the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The entry.
    pub entry: Entry,
    /// Whether the caller may read its value.
    pub is_readable: bool,
    /// Whether the caller is a participant that may not write it.
    pub is_read_only: bool,
}

/// The entries that the caller sees, without their values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The entries, by key.
    pub entries: Vec<Shown>,
    /// Sum of the sizes of all values in the store, of hidden ones too: it is what
    /// a write is measured against.
    pub total_tokens: Tokens,
    /// The most that sum may be.
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

/// What was found of the keys asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntriesRead {
    /// The entries, in the order they were asked for.
    pub entries: Vec<EntryRead>,
    /// The keys that do not exist.
    pub missing: Vec<Key>,
}

/// What a write did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The entry as it is now.
    pub entry: Entry,
    /// Remarks; they never altered what was stored.
    pub warnings: Vec<Warning>,
}

/// What a delete did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deleted {
    /// The key that is gone.
    pub key: Key,
    /// The version it had.
    pub previous_version: u64,
}

/// What a batch did, in the order it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchWritten {
    /// What was written.
    pub written: Vec<Written>,
    /// What was deleted.
    pub deleted: Vec<Deleted>,
}

/// The versions of a key that are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// The key.
    pub key: Key,
    /// Earlier versions, oldest first.
    pub past: Vec<PastVersion>,
    /// The entry as it is.
    pub current: Option<EntryRead>,
}

/// An earlier version and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastVersion {
    /// The version.
    pub version: Version,
    /// Its value.
    pub value: String,
    /// Whether the entry it was a version of has been removed since.
    pub is_deleted: bool,
}

/// The snapshots of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshots {
    /// The snapshots, oldest first.
    pub snapshots: Vec<SnapshotInfo>,
    /// The most there may be.
    pub snapshots_max: u32,
}

/// What a snapshot holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotRead {
    /// What is known of it.
    pub info: SnapshotInfo,
    /// The entries that the caller may read, by key.
    pub entries: Vec<EntryRead>,
}

/// What differs between a snapshot and another state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffRead {
    /// The earlier state.
    pub from: Label,
    /// The later state; now when `None`.
    pub to: Option<Label>,
    /// What differs, of what the caller may read.
    pub diff: Diff,
}

/// How much a page of changes or of deltas takes, in bytes as they are stored: it ends
/// after so many, though more were asked for. A first commit or delta that is larger is
/// a page by itself.
pub const PAGE_BYTES_MAX: usize = 128 << 10;

/// Some of a session's changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangesPage {
    /// The changes, oldest first; those of one commit have one revision.
    pub changes: Vec<AuditRecord>,
    /// Ask again since this revision.
    pub next_since: Revision,
    /// Whether there are more already.
    pub has_more: bool,
}

/// What a redaction did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted {
    /// The key.
    pub key: Key,
    /// The digests of the values that are gone, each once.
    pub digests: Vec<String>,
}

/// Everything about a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The session.
    pub session: SessionInfo,
    /// Its entries, by key.
    pub entries: Vec<EntryRead>,
    /// Its snapshots, oldest first.
    pub snapshots: Vec<SnapshotInfo>,
    /// How much history is kept.
    pub history: HistoryUse,
    /// The oldest revision whose changes are kept.
    pub oldest_change: Option<Revision>,
    /// How many commits' changes are kept.
    pub changes: u64,
    /// When the next entry expires.
    pub next_expiry: Option<Timestamp>,
}

/// Some of a session's audit records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditPage {
    /// The records, oldest first.
    pub records: Vec<AuditRecord>,
    /// The revision of the oldest record still kept.
    pub oldest: Option<Revision>,
    /// Ask again since this revision for more; `None` when there is no more.
    pub next_since: Option<Revision>,
}
