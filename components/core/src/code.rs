//! Error codes, in their order of precedence (spec 5.2).

#[cfg(doc)]
use crate::error::{Error, RoundError};

/// An error code, as agents see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// See [`Error::Unauthenticated`].
    Unauthenticated,
    /// See [`Error::Malformed`].
    MalformedRequest,
    /// See [`Error::InvalidKey`].
    InvalidKey,
    /// See [`RoundError::InvalidPath`].
    InvalidPath,
    /// See [`Error::FormatTooNew`].
    FormatTooNew,
    /// See [`Error::DocumentAltered`] and [`Error::PacketAltered`].
    DocumentAltered,
    /// See [`Error::SessionNotFound`].
    SessionNotFound,
    /// See [`Error::ProjectNotFound`].
    ProjectNotFound,
    /// See [`Error::SessionArchived`].
    SessionArchived,
    /// See [`Error::ProjectArchived`].
    ProjectArchived,
    /// See [`Error::Forbidden`].
    Forbidden,
    /// See [`Error::SessionExists`].
    SessionExists,
    /// See [`Error::ProjectExists`].
    ProjectExists,
    /// See [`Error::RequestIdReused`].
    RequestIdReused,
    /// See [`Error::ChangesTruncated`].
    ChangesTruncated,
    /// See [`Error::SnapshotNotFound`].
    SnapshotNotFound,
    /// See [`Error::SnapshotExists`].
    SnapshotExists,
    /// See [`Error::SnapshotLimit`].
    SnapshotLimit,
    /// See [`RoundError::Open`].
    RoundOpen,
    /// See [`RoundError::NotOpen`].
    RoundNotOpen,
    /// See [`RoundError::NotFound`].
    RoundNotFound,
    /// See [`RoundError::DeltaNotFound`].
    DeltaNotFound,
    /// See [`Error::EnvelopeNotFound`].
    EnvelopeNotFound,
    /// See [`Error::MissingNotFound`].
    MissingNotFound,
    /// See [`Error::PacketNotFound`].
    PacketNotFound,
    /// See [`Error::MemoryNotFound`].
    MemoryNotFound,
    /// See [`Error::SectionNotFound`].
    SectionNotFound,
    /// See [`Error::HandoffNotFound`].
    HandoffNotFound,
    /// See [`Error::KeyNotFound`].
    KeyNotFound,
    /// See [`RoundError::PathNotFound`].
    PathNotFound,
    /// See [`RoundError::PathExists`].
    PathExists,
    /// See [`Error::TokenizerUnavailable`].
    TokenizerUnavailable,
    /// See [`Error::ValueTooLarge`].
    ValueTooLarge,
    /// See [`Error::SectionTooLarge`].
    SectionTooLarge,
    /// See [`Error::SensitiveValue`].
    SensitiveValue,
    /// See [`Error::BudgetTooSmall`] and [`Error::PacketTooSmall`].
    BudgetTooSmall,
    /// See [`Error::TargetUnreachable`].
    TargetUnreachable,
    /// See [`Error::FeedbackGiven`].
    FeedbackGiven,
    /// See [`Error::SupersedesItself`].
    SupersedesItself,
    /// See [`Error::MemoryArchived`].
    MemoryArchived,
    /// See [`Error::NotOwner`].
    NotOwner,
    /// See [`Error::LeaseExpired`].
    LeaseExpired,
    /// See [`Error::HandoffSettled`].
    HandoffSettled,
    /// See [`Error::VersionConflict`] and [`Error::MemoryConflict`].
    VersionConflict,
    /// See [`RoundError::IdentityConflict`].
    IdentityConflict,
    /// See [`Error::StoreFull`].
    StoreFull,
    /// See [`RoundError::Full`].
    RoundFull,
    /// See [`RoundError::StateTooLarge`].
    StateTooLarge,
    /// See [`Error::EnvelopeLimit`].
    EnvelopeLimit,
    /// See [`Error::PacketLimit`].
    PacketLimit,
    /// See [`Error::MemoryLimit`].
    MemoryLimit,
    /// See [`Error::Unread`], [`Error::Unstored`], [`Error::InDoubt`] and
    /// [`Error::Overtaken`].
    StorageUnavailable,
}

impl Code {
    /// Every code, in order of precedence.
    pub const ALL: [Self; 52] = [
        Self::Unauthenticated,
        Self::MalformedRequest,
        Self::InvalidKey,
        Self::InvalidPath,
        Self::FormatTooNew,
        Self::DocumentAltered,
        Self::SessionNotFound,
        Self::ProjectNotFound,
        Self::SessionArchived,
        Self::ProjectArchived,
        Self::Forbidden,
        Self::SessionExists,
        Self::ProjectExists,
        Self::RequestIdReused,
        Self::ChangesTruncated,
        Self::SnapshotNotFound,
        Self::SnapshotExists,
        Self::SnapshotLimit,
        Self::RoundOpen,
        Self::RoundNotOpen,
        Self::RoundNotFound,
        Self::DeltaNotFound,
        Self::EnvelopeNotFound,
        Self::MissingNotFound,
        Self::PacketNotFound,
        Self::MemoryNotFound,
        Self::SectionNotFound,
        Self::HandoffNotFound,
        Self::KeyNotFound,
        Self::PathNotFound,
        Self::PathExists,
        Self::TokenizerUnavailable,
        Self::ValueTooLarge,
        Self::SectionTooLarge,
        Self::SensitiveValue,
        Self::BudgetTooSmall,
        Self::TargetUnreachable,
        Self::FeedbackGiven,
        Self::SupersedesItself,
        Self::MemoryArchived,
        Self::NotOwner,
        Self::LeaseExpired,
        Self::HandoffSettled,
        Self::VersionConflict,
        Self::IdentityConflict,
        Self::StoreFull,
        Self::RoundFull,
        Self::StateTooLarge,
        Self::EnvelopeLimit,
        Self::PacketLimit,
        Self::MemoryLimit,
        Self::StorageUnavailable,
    ];

    /// Returns the code's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::MalformedRequest => "MALFORMED_REQUEST",
            Self::InvalidKey => "INVALID_KEY",
            Self::InvalidPath => "INVALID_PATH",
            Self::SessionNotFound => "SESSION_NOT_FOUND",
            Self::SessionExists => "SESSION_EXISTS",
            Self::ProjectNotFound => "PROJECT_NOT_FOUND",
            Self::ProjectExists => "PROJECT_EXISTS",
            Self::SessionArchived => "SESSION_ARCHIVED",
            Self::ProjectArchived => "PROJECT_ARCHIVED",
            Self::Forbidden => "FORBIDDEN",
            Self::RequestIdReused => "REQUEST_ID_REUSED",
            Self::FormatTooNew => "FORMAT_TOO_NEW",
            Self::DocumentAltered => "DOCUMENT_ALTERED",
            Self::ChangesTruncated => "CHANGES_TRUNCATED",
            Self::SnapshotNotFound => "SNAPSHOT_NOT_FOUND",
            Self::SnapshotExists => "SNAPSHOT_EXISTS",
            Self::SnapshotLimit => "SNAPSHOT_LIMIT",
            Self::RoundOpen => "ROUND_OPEN",
            Self::RoundNotOpen => "ROUND_NOT_OPEN",
            Self::RoundNotFound => "ROUND_NOT_FOUND",
            Self::DeltaNotFound => "DELTA_NOT_FOUND",
            Self::EnvelopeNotFound => "ENVELOPE_NOT_FOUND",
            Self::MissingNotFound => "MISSING_NOT_FOUND",
            Self::EnvelopeLimit => "ENVELOPE_LIMIT",
            Self::PacketNotFound => "PACKET_NOT_FOUND",
            Self::PacketLimit => "PACKET_LIMIT",
            Self::MemoryNotFound => "MEMORY_NOT_FOUND",
            Self::SectionNotFound => "SECTION_NOT_FOUND",
            Self::MemoryArchived => "MEMORY_ARCHIVED",
            Self::NotOwner => "NOT_OWNER",
            Self::LeaseExpired => "LEASE_EXPIRED",
            Self::HandoffNotFound => "HANDOFF_NOT_FOUND",
            Self::HandoffSettled => "HANDOFF_SETTLED",
            Self::MemoryLimit => "MEMORY_LIMIT",
            Self::SupersedesItself => "SUPERSEDES_ITSELF",
            Self::FeedbackGiven => "FEEDBACK_GIVEN",
            Self::TokenizerUnavailable => "TOKENIZER_UNAVAILABLE",
            Self::KeyNotFound => "KEY_NOT_FOUND",
            Self::PathNotFound => "PATH_NOT_FOUND",
            Self::PathExists => "PATH_EXISTS",
            Self::ValueTooLarge => "VALUE_TOO_LARGE",
            Self::SectionTooLarge => "SECTION_TOO_LARGE",
            Self::SensitiveValue => "SENSITIVE_VALUE",
            Self::BudgetTooSmall => "BUDGET_TOO_SMALL",
            Self::TargetUnreachable => "TARGET_UNREACHABLE",
            Self::VersionConflict => "VERSION_CONFLICT",
            Self::IdentityConflict => "IDENTITY_CONFLICT",
            Self::StoreFull => "STORE_FULL",
            Self::RoundFull => "ROUND_FULL",
            Self::StateTooLarge => "STATE_TOO_LARGE",
            Self::StorageUnavailable => "STORAGE_UNAVAILABLE",
        }
    }

    /// Returns the meaning of the code, in one sentence.
    pub fn description(self) -> &'static str {
        match self {
            Self::Unauthenticated => "the credential is missing or void",
            Self::MalformedRequest => "the request is not one this session understands",
            Self::InvalidKey => {
                "the key is not 1 to 64 of a-z, 0-9 and _, or has a prefix where none is allowed"
            }
            Self::InvalidPath => "the path names no one place of the state",
            Self::FormatTooNew => "the document is of a later format than this version reads",
            Self::DocumentAltered => "the document is not as it was exported",
            Self::SessionNotFound => "there is no such session, or no longer",
            Self::SessionExists => "a session of this name exists already",
            Self::ProjectNotFound => "there is no such project, or no longer",
            Self::ProjectExists => "a project of this name exists already",
            Self::SessionArchived => "the session is archived: it can be read, not changed",
            Self::ProjectArchived => "the project is archived: it can be read, not changed",
            Self::Forbidden => "the caller may not do this",
            Self::RequestIdReused => "another request was made under this request_id before",
            Self::ChangesTruncated => "the changes asked for are not kept; list again",
            Self::SnapshotNotFound => "there is no such snapshot, or no longer",
            Self::SnapshotExists => "there is a snapshot of this label already",
            Self::SnapshotLimit => "the session has as many snapshots as it may",
            Self::RoundOpen => "a round is open already",
            Self::RoundNotOpen => "no round is open",
            Self::RoundNotFound => "nothing is known of this round, or no longer",
            Self::DeltaNotFound => "the open round has no such delta",
            Self::EnvelopeNotFound => "there is no such envelope, or no longer",
            Self::MissingNotFound => "there is no such missing context, or no longer",
            Self::EnvelopeLimit => "the session keeps no more of the context pipeline",
            Self::PacketNotFound => "there is no such packet, or no longer",
            Self::PacketLimit => "the session keeps no more packets",
            Self::MemoryNotFound => "there is no such memory, or no longer",
            Self::SectionNotFound => "there is no such section, or no longer",
            Self::MemoryArchived => "the memory is archived: another one replaced it, or it is old",
            Self::NotOwner => "another participant owns the section, or nobody",
            Self::LeaseExpired => "the caller lost sections that it owned",
            Self::HandoffNotFound => "there is no such handoff, or no longer",
            Self::HandoffSettled => "the handoff was accepted, was declined or has expired",
            Self::MemoryLimit => "the project keeps no more: memories, sections or packages",
            Self::SupersedesItself => "the memory would replace itself",
            Self::FeedbackGiven => "this version of the packet has feedback already",
            Self::KeyNotFound => "the key does not exist",
            Self::PathNotFound => "there is no such place in the state",
            Self::PathExists => "the state has this place already, with another value",
            Self::TokenizerUnavailable => "this host cannot count tokens as the session does",
            Self::ValueTooLarge => "the value is over the limit of one entry",
            Self::SectionTooLarge => "the content is over the limit of its level",
            Self::SensitiveValue => "the value looks like a secret or personal data",
            Self::BudgetTooSmall => "what must be shown does not fit the budget",
            Self::TargetUnreachable => "what must be kept is over the target",
            Self::VersionConflict => {
                "the entry, memory, section or state is not as the condition says"
            }
            Self::IdentityConflict => "the term is bound to another concept",
            Self::StoreFull => "the write would take the store over its limit",
            Self::RoundFull => "the round has as many deltas as it may",
            Self::StateTooLarge => "the state would be over its limit",
            Self::StorageUnavailable => "the host could not read or write; read before retrying",
        }
    }
}
