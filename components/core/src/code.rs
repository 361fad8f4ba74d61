//! The names of errors, in their order of precedence (000 §5).

#[cfg(doc)]
use crate::Error;

/// The name of an error, as agents see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// See [`Error::Unauthenticated`].
    Unauthenticated,
    /// See [`Error::Malformed`].
    MalformedRequest,
    /// See [`Error::InvalidKey`].
    InvalidKey,
    /// See [`Error::FormatTooNew`].
    FormatTooNew,
    /// See [`Error::DocumentAltered`].
    DocumentAltered,
    /// See [`Error::SessionNotFound`].
    SessionNotFound,
    /// See [`Error::SessionArchived`].
    SessionArchived,
    /// See [`Error::Forbidden`].
    Forbidden,
    /// See [`Error::SessionExists`].
    SessionExists,
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
    /// See [`Error::KeyNotFound`].
    KeyNotFound,
    /// See [`Error::TokenizerUnavailable`].
    TokenizerUnavailable,
    /// See [`Error::ValueTooLarge`].
    ValueTooLarge,
    /// See [`Error::VersionConflict`].
    VersionConflict,
    /// See [`Error::StoreFull`].
    StoreFull,
    /// See [`Error::Unread`], [`Error::InDoubt`] and [`Error::Overtaken`].
    StorageUnavailable,
}

impl Code {
    /// Every code, in order of precedence.
    pub const ALL: [Self; 20] = [
        Self::Unauthenticated,
        Self::MalformedRequest,
        Self::InvalidKey,
        Self::FormatTooNew,
        Self::DocumentAltered,
        Self::SessionNotFound,
        Self::SessionArchived,
        Self::Forbidden,
        Self::SessionExists,
        Self::RequestIdReused,
        Self::ChangesTruncated,
        Self::SnapshotNotFound,
        Self::SnapshotExists,
        Self::SnapshotLimit,
        Self::KeyNotFound,
        Self::TokenizerUnavailable,
        Self::ValueTooLarge,
        Self::VersionConflict,
        Self::StoreFull,
        Self::StorageUnavailable,
    ];

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::MalformedRequest => "MALFORMED_REQUEST",
            Self::InvalidKey => "INVALID_KEY",
            Self::SessionNotFound => "SESSION_NOT_FOUND",
            Self::SessionExists => "SESSION_EXISTS",
            Self::SessionArchived => "SESSION_ARCHIVED",
            Self::Forbidden => "FORBIDDEN",
            Self::RequestIdReused => "REQUEST_ID_REUSED",
            Self::FormatTooNew => "FORMAT_TOO_NEW",
            Self::DocumentAltered => "DOCUMENT_ALTERED",
            Self::ChangesTruncated => "CHANGES_TRUNCATED",
            Self::SnapshotNotFound => "SNAPSHOT_NOT_FOUND",
            Self::SnapshotExists => "SNAPSHOT_EXISTS",
            Self::SnapshotLimit => "SNAPSHOT_LIMIT",
            Self::TokenizerUnavailable => "TOKENIZER_UNAVAILABLE",
            Self::KeyNotFound => "KEY_NOT_FOUND",
            Self::ValueTooLarge => "VALUE_TOO_LARGE",
            Self::VersionConflict => "VERSION_CONFLICT",
            Self::StoreFull => "STORE_FULL",
            Self::StorageUnavailable => "STORAGE_UNAVAILABLE",
        }
    }

    /// What it means, in one sentence.
    pub fn description(self) -> &'static str {
        match self {
            Self::Unauthenticated => "the credential is missing, void or not for this session",
            Self::MalformedRequest => "the request is not one this session understands",
            Self::InvalidKey => {
                "the key is not 1 to 64 of a-z, 0-9 and _, or has a prefix where none is allowed"
            }
            Self::FormatTooNew => "the document is of a later format than this version reads",
            Self::DocumentAltered => "the document is not as it was exported",
            Self::SessionNotFound => "there is no such session, or no longer",
            Self::SessionExists => "a session of this name exists already",
            Self::SessionArchived => "the session is archived: it can be read, not changed",
            Self::Forbidden => "the caller may not do this",
            Self::RequestIdReused => "another request was made under this request_id before",
            Self::ChangesTruncated => "the changes asked for are not kept; list again",
            Self::SnapshotNotFound => "there is no such snapshot, or no longer",
            Self::SnapshotExists => "there is a snapshot of this label already",
            Self::SnapshotLimit => "the session has as many snapshots as it may",
            Self::KeyNotFound => "the key does not exist",
            Self::TokenizerUnavailable => "this host cannot count tokens as the session does",
            Self::ValueTooLarge => "the value is over the limit of one entry",
            Self::VersionConflict => "the entry is not as the condition says",
            Self::StoreFull => "the write would take the store over its limit",
            Self::StorageUnavailable => "the host could not read or write; read before retrying",
        }
    }
}
