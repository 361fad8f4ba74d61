//! What can go wrong, in the words of the specification (000 §5).
//!
//! The text of an error is for agents: what is wrong, and what to do next. What
//! only operators should read (why storage failed) is not in it.

use std::fmt;

use crate::{key::Key, port::KvError, tokens::Tokens};

/// Why an operation was refused.
///
/// When several apply, the one whose code stands first in [`Code::ALL`] is
/// returned.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The credential was issued for an earlier session of this name, or was
    /// revoked.
    Unauthenticated {
        /// Which of the two.
        reason: &'static str,
    },
    /// The request says something no request may say.
    Malformed {
        /// What, and what would be right.
        message: String,
    },
    /// The key is not 1 to 64 of `a-z`, `0-9`, `_`.
    InvalidKey {
        /// What was sent.
        key: String,
    },
    /// There is no such session, or no longer.
    SessionNotFound {
        /// The id asked for.
        session: String,
    },
    /// The session is read-only.
    SessionArchived {
        /// Its id.
        session: String,
    },
    /// The caller may not do this.
    Forbidden {
        /// Who may, and what to do instead.
        message: &'static str,
    },
    /// A session of this name exists already.
    SessionExists {
        /// The id asked for.
        session: String,
    },
    /// Another request was made under this request id before.
    RequestIdReused,
    /// The entry does not exist.
    KeyNotFound {
        /// The key asked for.
        key: Key,
    },
    /// The value alone is over the limit of one entry.
    ValueTooLarge {
        /// Size of the value sent.
        tokens: Tokens,
        /// The limit.
        tokens_max: Tokens,
    },
    /// The entry is not as the condition says.
    VersionConflict {
        /// The key.
        key: Key,
        /// Its version; 0 when the entry does not exist.
        current_version: u64,
        /// The revision it was written at; 0 when the entry does not exist.
        current_revision: u64,
    },
    /// The write would take the whole store over a limit.
    StoreFull {
        /// The limit that would be passed.
        over: StoreLimit,
        /// The largest entries, largest first: where room can be made.
        largest: Vec<(Key, Tokens)>,
    },
    /// The host failed to read or write. Whether the change happened is not
    /// known.
    Storage(KvError),
}

/// A limit of a whole store, and what the write would have made of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreLimit {
    /// The sum of all values.
    Tokens {
        /// What the sum would have been.
        tokens: Tokens,
        /// The limit.
        tokens_max: Tokens,
    },
    /// The number of keys.
    Keys {
        /// What the number would have been.
        keys: u32,
        /// The limit.
        keys_max: u32,
    },
}

/// The name of an error, as agents see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// See [`Error::Unauthenticated`].
    Unauthenticated,
    /// See [`Error::Malformed`].
    MalformedRequest,
    /// See [`Error::InvalidKey`].
    InvalidKey,
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
    /// See [`Error::KeyNotFound`].
    KeyNotFound,
    /// See [`Error::ValueTooLarge`].
    ValueTooLarge,
    /// See [`Error::VersionConflict`].
    VersionConflict,
    /// See [`Error::StoreFull`].
    StoreFull,
    /// See [`Error::Storage`].
    StorageUnavailable,
}

impl Code {
    /// Every code, in order of precedence.
    pub const ALL: [Self; 13] = [
        Self::Unauthenticated,
        Self::MalformedRequest,
        Self::InvalidKey,
        Self::SessionNotFound,
        Self::SessionArchived,
        Self::Forbidden,
        Self::SessionExists,
        Self::RequestIdReused,
        Self::KeyNotFound,
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
            Self::InvalidKey => "the key is not 1 to 64 of a-z, 0-9 and _",
            Self::SessionNotFound => "there is no such session, or no longer",
            Self::SessionExists => "a session of this name exists already",
            Self::SessionArchived => "the session is archived: it can be read, not changed",
            Self::Forbidden => "the caller may not do this",
            Self::RequestIdReused => "another request was made under this request_id before",
            Self::KeyNotFound => "the key does not exist",
            Self::ValueTooLarge => "the value is over the limit of one entry",
            Self::VersionConflict => "the entry is not as the condition says",
            Self::StoreFull => "the write would take the store over its limit",
            Self::StorageUnavailable => "the host could not read or write; read before retrying",
        }
    }
}

impl Error {
    /// A request that says something no request may say.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::Malformed { message: message.into() }
    }

    /// The name of this error.
    pub fn code(&self) -> Code {
        match self {
            Self::Unauthenticated { .. } => Code::Unauthenticated,
            Self::Malformed { .. } => Code::MalformedRequest,
            Self::InvalidKey { .. } => Code::InvalidKey,
            Self::SessionNotFound { .. } => Code::SessionNotFound,
            Self::SessionExists { .. } => Code::SessionExists,
            Self::SessionArchived { .. } => Code::SessionArchived,
            Self::Forbidden { .. } => Code::Forbidden,
            Self::RequestIdReused => Code::RequestIdReused,
            Self::KeyNotFound { .. } => Code::KeyNotFound,
            Self::ValueTooLarge { .. } => Code::ValueTooLarge,
            Self::VersionConflict { .. } => Code::VersionConflict,
            Self::StoreFull { .. } => Code::StoreFull,
            Self::Storage(_) => Code::StorageUnavailable,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unauthenticated { reason } => f.write_str(reason),
            Self::Malformed { message } => f.write_str(message),
            Self::InvalidKey { key } => {
                let shown: String = key.chars().take(80).collect();
                write!(
                    f,
                    "key {shown:?} must be 1 to 64 of a-z, 0-9 and _ (for example open_questions)"
                )
            }
            Self::SessionNotFound { session } => {
                let shown: String = session.chars().take(140).collect();
                write!(f, "there is no session {shown:?}; ask the operator to create it")
            }
            Self::SessionExists { session } => {
                write!(f, "session {session} exists already; use it, or choose another session_id")
            }
            Self::SessionArchived { session } => {
                write!(f, "session {session} is archived: it can be read, not changed")
            }
            Self::Forbidden { message } => f.write_str(message),
            Self::RequestIdReused => f.write_str(
                "this request_id was used for another request before; \
                 use a new one for each new request, the same only to retry",
            ),
            Self::KeyNotFound { key } => {
                write!(f, "there is no entry {key}; list_keys shows what is there")
            }
            Self::ValueTooLarge { tokens, tokens_max } => write!(
                f,
                "value has {tokens}, an entry holds at most {}; \
                 distill it to its conclusions, or split it by topic",
                tokens_max.0
            ),
            Self::VersionConflict { key, current_version: 0, .. } => write!(
                f,
                "{key} does not exist, the condition says it does; \
                 write it with if_version 0, or without a condition"
            ),
            Self::VersionConflict { key, current_version, current_revision } => write!(
                f,
                "{key} is now at version {current_version} (revision {current_revision}), \
                 not what the condition says; read it, merge, and write again on top of that"
            ),
            Self::StoreFull { over, largest } => {
                match over {
                    StoreLimit::Tokens { tokens, tokens_max } => write!(
                        f,
                        "the store would have {tokens}, it holds at most {}",
                        tokens_max.0
                    )?,
                    StoreLimit::Keys { keys, keys_max } => {
                        write!(f, "the store would have {keys} keys, it holds at most {keys_max}")?;
                    }
                }
                f.write_str("; delete or distill entries first")?;
                for (nth, (key, tokens)) in largest.iter().enumerate() {
                    let lead = if nth == 0 { ", the largest are " } else { ", " };
                    write!(f, "{lead}{key} ({tokens})")?;
                }
                Ok(())
            }
            Self::Storage(_) => f.write_str(
                "storage is unavailable, and whether the change was made is not known; \
                 read before you try again, or retry with the same request_id",
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Storage(source) => Some(source),
            _ => None,
        }
    }
}

impl From<KvError> for Error {
    fn from(source: KvError) -> Self {
        Self::Storage(source)
    }
}
