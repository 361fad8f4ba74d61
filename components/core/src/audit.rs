//! What is recorded of every committed change (000 §8.5): who did what to which
//! entry when, and never a value.

use std::fmt;

use crate::{
    key::{Key, Label, Line},
    participant::Participant,
    port::Revision,
    time::Timestamp,
    tokens::Tokens,
};

/// The record of one thing that a committed change of a session did. Records of
/// one commit have the same revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// The session's id.
    pub session: String,
    /// The session's revision after the change.
    pub revision: Revision,
    /// What was done.
    pub action: AuditAction,
    /// Who did it.
    pub participant: Participant,
    /// When.
    pub at: Timestamp,
    /// The entry it was done to; `None` for what concerns the whole session.
    pub entry: Option<AuditEntry>,
    /// The snapshot it was done to or with.
    pub label: Option<Label>,
    /// Why it was done, for what asks for a reason.
    pub reason: Option<Line>,
    /// The round it was done to.
    pub round: Option<u64>,
}

/// The entry a change was made to, without its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its key.
    pub key: Key,
    /// Its version: the one written, or the one deleted.
    pub version: u64,
    /// The size of its value: of the one written, or of the one deleted.
    pub value_tokens: Tokens,
}

/// What a change did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditAction {
    /// Created or overwrote an entry.
    Write,
    /// Removed an entry.
    Delete,
    /// Removed an entry whose time had come.
    Expire,
    /// Replaced values of an entry by their digests.
    Redact,
    /// Changed who may read and write an entry.
    SetAccess,
    /// Took a snapshot.
    Snapshot,
    /// Made the store what a snapshot holds.
    RestoreSnapshot,
    /// Removed a snapshot.
    DeleteSnapshot,
    /// Opened a round.
    OpenRound,
    /// Proposed deltas to a round.
    ProposeDeltas,
    /// Closed a round.
    CloseRound,
    /// Replaced texts in rounds by markers.
    RedactRounds,
    /// Created the session.
    CreateSession,
    /// Created the session from an exported document.
    ImportSession,
    /// Made the session read-only.
    ArchiveSession,
    /// Removed the session.
    DeleteSession,
    /// Made every credential of the session issued before void.
    RevokeCredentials,
}

impl AuditAction {
    /// Every action.
    pub const ALL: [Self; 17] = [
        Self::Write,
        Self::Delete,
        Self::Expire,
        Self::Redact,
        Self::SetAccess,
        Self::Snapshot,
        Self::RestoreSnapshot,
        Self::DeleteSnapshot,
        Self::OpenRound,
        Self::ProposeDeltas,
        Self::CloseRound,
        Self::RedactRounds,
        Self::CreateSession,
        Self::ImportSession,
        Self::ArchiveSession,
        Self::DeleteSession,
        Self::RevokeCredentials,
    ];

    /// The action's name, in logs and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Delete => "delete",
            Self::Expire => "expire",
            Self::Redact => "redact",
            Self::SetAccess => "set_access",
            Self::Snapshot => "snapshot",
            Self::RestoreSnapshot => "restore_snapshot",
            Self::DeleteSnapshot => "delete_snapshot",
            Self::OpenRound => "open_round",
            Self::ProposeDeltas => "propose_deltas",
            Self::CloseRound => "close_round",
            Self::RedactRounds => "redact_rounds",
            Self::CreateSession => "create_session",
            Self::ImportSession => "import_session",
            Self::ArchiveSession => "archive_session",
            Self::DeleteSession => "delete_session",
            Self::RevokeCredentials => "revoke_credentials",
        }
    }
}

impl fmt::Display for AuditAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
