//! The errors of the specification (spec 5).
//!
//! Error texts are for agents: they say what is wrong and what to do next. Details for
//! operators, such as why storage failed, are not included.

mod message;
mod round;
mod text;

use crate::{
    code::Code,
    key::{Key, Label},
    kv::{KvError, ReadError, Revision},
    pattern::{KeyPattern, KeyPatterns},
    time::Timestamp,
    tokens::Tokens,
};

pub use round::{RoundError, RoundLimit};

/// The reason an operation was rejected.
///
/// If several apply, the one whose code comes first in [`Code::ALL`] is returned.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The credential was revoked, or was issued for an earlier session of this name.
    Unauthenticated {
        /// The text for the caller.
        reason: &'static str,
    },
    /// The request is invalid.
    Malformed {
        /// The problem, and how to correct it.
        message: String,
    },
    /// The key is not 1 to 64 of `a-z`, `0-9`, `_`, or has a prefix in a session
    /// that allows none.
    InvalidKey {
        /// The key as it was sent.
        key: String,
        /// True if only the prefix is not allowed.
        has_prefix: bool,
    },
    /// The imported document has a later format than this version reads.
    FormatTooNew {
        /// The format of the document.
        format: String,
        /// The format this version writes.
        known: &'static str,
    },
    /// The imported document was altered after its export.
    DocumentAltered {
        /// The part whose digest does not match.
        place: String,
    },
    /// The session does not exist, or was deleted.
    SessionNotFound {
        /// The requested id.
        session: String,
    },
    /// The project does not exist, or was deleted.
    ProjectNotFound {
        /// The requested id.
        project: String,
    },
    /// The session is read-only.
    SessionArchived {
        /// The session's id.
        session: String,
    },
    /// The caller's role does not allow this operation.
    Forbidden {
        /// The role that is required, and what to do instead.
        message: &'static str,
    },
    /// The caller's credential does not cover the key of the change. The error does not
    /// reveal if the entry exists.
    KeyNotGranted {
        /// The keys that the credential covers.
        keys: KeyPatterns,
    },
    /// A rule of the session closes the value to a caller that sees its metadata.
    ClosedByRule {
        /// The keys of the rule.
        keys: KeyPattern,
    },
    /// A session of this name exists already.
    SessionExists {
        /// The requested id.
        session: String,
    },
    /// A project of this name exists already.
    ProjectExists {
        /// The requested id.
        project: String,
    },
    /// The request id was already used for a different request.
    RequestIdReused,
    /// The requested changes are no longer retained, or have not been made yet.
    ChangesTruncated {
        /// The earliest revision after which changes can be read.
        oldest: Revision,
        /// The session's revision.
        revision: Revision,
    },
    /// The snapshot does not exist, or was deleted.
    SnapshotNotFound {
        /// The requested label.
        label: Label,
    },
    /// A snapshot with this label already exists.
    SnapshotExists {
        /// The requested label.
        label: Label,
    },
    /// The session has the maximum number of snapshots, or more since that was lowered.
    SnapshotLimit {
        /// The number of snapshots.
        snapshots: u32,
        /// The maximum.
        snapshots_max: u32,
    },
    /// The envelope does not exist, is no longer kept, or is another participant's.
    EnvelopeNotFound {
        /// The requested id.
        id: String,
    },
    /// The missing context does not exist or is no longer kept.
    MissingNotFound {
        /// The requested id.
        id: String,
    },
    /// The new record exceeds a limit of the context pipeline.
    EnvelopeLimit {
        /// The limit, and what to do.
        message: String,
    },
    /// The packet does not exist, is no longer kept, or is not for this reader.
    PacketNotFound {
        /// The address or the version that was asked for.
        packet: String,
    },
    /// The new packet or feedback exceeds a limit of packets.
    PacketLimit {
        /// The limit, and what to do.
        message: String,
    },
    /// The project is archived.
    ProjectArchived {
        /// The project.
        project: String,
    },
    /// The import of the project is not finished.
    ImportUnfinished {
        /// The project.
        project: String,
    },
    /// The project has no such memory.
    MemoryNotFound {
        /// The id.
        id: String,
    },
    /// The memory is archived, so it cannot be changed or take the place of another.
    MemoryArchived {
        /// The id.
        id: String,
    },
    /// The handoff does not exist, is no longer kept, or is between others.
    HandoffNotFound {
        /// The id.
        id: String,
    },
    /// The handoff was accepted, was declined or has expired.
    HandoffSettled {
        /// The id.
        id: String,
        /// Its state.
        state: &'static str,
    },
    /// The memory would replace itself.
    SupersedesItself {
        /// The id.
        id: String,
    },
    /// The memory has another version than the one named.
    MemoryConflict {
        /// The id.
        id: String,
        /// Its version.
        current_version: u32,
    },
    /// The new record exceeds a limit of the project.
    MemoryLimit {
        /// The limit, and what to do.
        message: String,
    },
    /// The project has no such section.
    SectionNotFound {
        /// The marker.
        marker: String,
    },
    /// A new section has no parent.
    ParentNotFound {
        /// The marker of the new section.
        marker: String,
        /// The marker of its parent.
        parent: String,
    },
    /// The content of a section exceeds the limit of its level.
    SectionTooLarge {
        /// The level.
        level: u8,
        /// The tokens of the content.
        tokens: Tokens,
        /// The bytes of the content.
        bytes: usize,
    },
    /// The section has another version than the one named.
    SectionConflict {
        /// The marker.
        marker: String,
        /// Its version; 0 if it does not exist.
        current_version: u32,
    },
    /// The coordination state has another version than the one named.
    CoordinationConflict {
        /// Its version.
        current_version: u64,
    },
    /// The caller does not own the section.
    NotOwner {
        /// The marker.
        marker: String,
        /// The owner, the way of owning, the reason, and when the lease ends.
        owner: Option<(String, &'static str, String, Timestamp)>,
    },
    /// The caller owns the section in a way that does not allow the request.
    NotExclusive {
        /// The marker.
        marker: String,
        /// The way of owning.
        kind: &'static str,
    },
    /// The agent that offered a handoff no longer owns one of its sections exclusively.
    OfferOutdated {
        /// The id of the handoff.
        id: String,
        /// The marker.
        marker: String,
        /// The agent.
        from: String,
    },
    /// The caller lost sections since its last change. Returned once.
    LeaseExpired {
        /// The sections, and their present owners.
        sections: String,
    },
    /// The new section or lease exceeds a limit of the outline.
    OutlineLimit {
        /// The limit, and what to do.
        message: &'static str,
    },
    /// This version of a packet has feedback already.
    FeedbackGiven {
        /// The version.
        version: u32,
    },
    /// The goal of a packet, or an edited packet, does not fit its budget.
    PacketTooSmall {
        /// The budget.
        budget: Tokens,
        /// The least budget that suffices.
        needed: Tokens,
        /// The name of the form that the budget counts.
        form: &'static str,
        /// The names of a form and a depth in which the task fits the budget.
        fits: Option<(&'static str, &'static str)>,
        /// True if the packet was edited.
        is_edited: bool,
    },
    /// The packet does not match its checksum.
    PacketAltered {
        /// The places that differ, as JSON pointers, if the packet is known.
        differences: Vec<String>,
    },
    /// The session's tokenizer is not available on this host.
    TokenizerUnavailable {
        /// The encoding it needs.
        encoding: String,
    },
    /// The entry does not exist.
    KeyNotFound {
        /// The requested key.
        key: Key,
    },
    /// The key has values, none of which was written at the revision that was asked for.
    RevisionNotFound {
        /// The requested key.
        key: Key,
        /// The requested revision.
        revision: Revision,
    },
    /// The value exceeds the limit of one entry.
    ValueTooLarge {
        /// Size of the value sent.
        tokens: Tokens,
        /// The limit.
        tokens_max: Tokens,
    },
    /// The value looks like a credential or personal data, which the session rejects.
    SensitiveValue {
        /// The kind of sensitive data that was recognized.
        kind: &'static str,
    },
    /// The items that an assembly must show do not fit its budget.
    BudgetTooSmall {
        /// The name of the limit that is exceeded.
        limit: &'static str,
        /// The least that the limit must be.
        needed: u64,
        /// By how much that is over the limit.
        over: u64,
    },
    /// The items and facts that a compaction must keep exceed its target.
    TargetUnreachable {
        /// The target.
        target: Tokens,
        /// The tokens of what must be kept.
        needed: Tokens,
    },
    /// The entry does not satisfy the condition of the request.
    VersionConflict {
        /// The key.
        key: Key,
        /// The version of the entry; 0 when it does not exist.
        current_version: u64,
        /// The revision that wrote the entry; 0 when it does not exist.
        current_revision: u64,
    },
    /// The write would exceed a limit of the whole store.
    StoreFull {
        /// The limit that would be exceeded.
        over: StoreLimit,
        /// True if the caller is limited to some keys: then `over` has the totals of the
        /// entries it sees.
        is_limited: bool,
        /// The largest entries, largest first: candidates to delete.
        largest: Vec<(Key, Tokens)>,
    },
    /// An error of the session's rounds.
    Round(RoundError),
    /// One change of a batch was rejected, which rejects the whole batch.
    InBatch {
        /// The key of the rejected change.
        key: Key,
        /// The error of that change.
        error: Box<Self>,
    },
    /// The host could not read, or the data it read is damaged. Nothing has changed.
    Unread(KvError),
    /// The host could not begin to commit. Nothing has changed.
    Unstored(KvError),
    /// The host failed during a commit. It is unknown if the change was made.
    InDoubt(KvError),
    /// Concurrent commits caused a conflict on every attempt. Nothing has changed.
    Overtaken,
}

/// A limit of a whole store, and the size the write would have reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreLimit {
    /// The sum of all values.
    Tokens {
        /// The sum after the write.
        tokens: Tokens,
        /// The limit.
        tokens_max: Tokens,
    },
    /// The number of keys.
    Keys {
        /// The number of keys after the write.
        keys: u32,
        /// The limit.
        keys_max: u32,
    },
    /// The size of the session as a document.
    Document {
        /// The bytes after the write.
        bytes: u64,
        /// The limit.
        bytes_max: u64,
    },
}

impl Error {
    /// Creates an [`Error::Malformed`] with this message.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::Malformed { message: message.into() }
    }

    /// Creates the error for an invalid document.
    pub(crate) fn invalid_document(what: impl AsRef<str>) -> Self {
        Self::malformed(format!("invalid document: {}", what.as_ref()))
    }

    /// Returns the code of this error.
    pub fn code(&self) -> Code {
        match self {
            Self::Unauthenticated { .. } => Code::Unauthenticated,
            Self::Malformed { .. } => Code::MalformedRequest,
            Self::InvalidKey { .. } => Code::InvalidKey,
            Self::SessionNotFound { .. } => Code::SessionNotFound,
            Self::SessionExists { .. } => Code::SessionExists,
            Self::ProjectNotFound { .. } => Code::ProjectNotFound,
            Self::ProjectExists { .. } => Code::ProjectExists,
            Self::SessionArchived { .. } => Code::SessionArchived,
            Self::ProjectArchived { .. } | Self::ImportUnfinished { .. } => Code::ProjectArchived,
            Self::MemoryNotFound { .. } => Code::MemoryNotFound,
            Self::MemoryArchived { .. } => Code::MemoryArchived,
            Self::MemoryLimit { .. } => Code::MemoryLimit,
            Self::HandoffNotFound { .. } => Code::HandoffNotFound,
            Self::HandoffSettled { .. } => Code::HandoffSettled,
            Self::SupersedesItself { .. } => Code::SupersedesItself,
            Self::SectionNotFound { .. } | Self::ParentNotFound { .. } => Code::SectionNotFound,
            Self::SectionTooLarge { .. } => Code::SectionTooLarge,
            Self::NotOwner { .. } | Self::NotExclusive { .. } | Self::OfferOutdated { .. } => {
                Code::NotOwner
            }
            Self::LeaseExpired { .. } => Code::LeaseExpired,
            Self::Forbidden { .. } | Self::KeyNotGranted { .. } | Self::ClosedByRule { .. } => {
                Code::Forbidden
            }
            Self::RequestIdReused => Code::RequestIdReused,
            Self::FormatTooNew { .. } => Code::FormatTooNew,
            Self::DocumentAltered { .. } | Self::PacketAltered { .. } => Code::DocumentAltered,
            Self::ChangesTruncated { .. } => Code::ChangesTruncated,
            Self::SnapshotNotFound { .. } => Code::SnapshotNotFound,
            Self::SnapshotExists { .. } => Code::SnapshotExists,
            Self::SnapshotLimit { .. } => Code::SnapshotLimit,
            Self::EnvelopeNotFound { .. } => Code::EnvelopeNotFound,
            Self::MissingNotFound { .. } => Code::MissingNotFound,
            Self::EnvelopeLimit { .. } => Code::EnvelopeLimit,
            Self::PacketNotFound { .. } => Code::PacketNotFound,
            Self::PacketLimit { .. } => Code::PacketLimit,
            Self::FeedbackGiven { .. } => Code::FeedbackGiven,
            Self::TokenizerUnavailable { .. } => Code::TokenizerUnavailable,
            Self::InBatch { error, .. } => error.code(),
            Self::Round(error) => error.code(),
            Self::KeyNotFound { .. } | Self::RevisionNotFound { .. } => Code::KeyNotFound,
            Self::ValueTooLarge { .. } => Code::ValueTooLarge,
            Self::SensitiveValue { .. } => Code::SensitiveValue,
            Self::BudgetTooSmall { .. } | Self::PacketTooSmall { .. } => Code::BudgetTooSmall,
            Self::TargetUnreachable { .. } => Code::TargetUnreachable,
            Self::VersionConflict { .. }
            | Self::MemoryConflict { .. }
            | Self::SectionConflict { .. }
            | Self::CoordinationConflict { .. } => Code::VersionConflict,
            Self::StoreFull { .. } | Self::OutlineLimit { .. } => Code::StoreFull,
            Self::Unread(_) | Self::Unstored(_) | Self::InDoubt(_) | Self::Overtaken => {
                Code::StorageUnavailable
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unread(source) | Self::Unstored(source) | Self::InDoubt(source) => Some(source),
            _ => None,
        }
    }
}

impl From<RoundError> for Error {
    fn from(error: RoundError) -> Self {
        Self::Round(error)
    }
}

impl From<KvError> for Error {
    fn from(source: KvError) -> Self {
        Self::Unread(source)
    }
}

impl From<ReadError> for Error {
    fn from(source: ReadError) -> Self {
        match source {
            ReadError::Moved => Self::Overtaken,
            ReadError::Failed(source) => Self::Unread(source),
        }
    }
}
