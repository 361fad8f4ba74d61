//! What is recorded of every committed change (000 §8.5): who did what to which
//! entry when, and never a value.

use std::fmt;

use crate::{key::Key, participant::Participant, port::Revision, time::Timestamp, tokens::Tokens};

/// The record of one committed change of a session.
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
    /// The entry it was done to; `None` for a step in the session's life.
    pub entry: Option<AuditEntry>,
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
    /// Created the session.
    CreateSession,
    /// Made the session read-only.
    ArchiveSession,
    /// Removed the session.
    DeleteSession,
    /// Made every credential of the session issued before void.
    RevokeCredentials,
}

impl AuditAction {
    /// Every action.
    pub const ALL: [Self; 6] = [
        Self::Write,
        Self::Delete,
        Self::CreateSession,
        Self::ArchiveSession,
        Self::DeleteSession,
        Self::RevokeCredentials,
    ];

    /// The action's name, in logs and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Delete => "delete",
            Self::CreateSession => "create_session",
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
