//! What can go wrong, in the words of the specification (spec 5).
//!
//! The text of an error is for agents: what is wrong, and what to do next. What
//! only operators should read (why storage failed) is not in it.

mod round;

use std::fmt;

use crate::{
    code::Code,
    key::{Key, Label},
    kv::{KvError, ReadError, Revision},
    pattern::KeyPatterns,
    tokens::Tokens,
};

pub use round::{RoundError, RoundLimit};

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
    /// The key is not 1 to 64 of `a-z`, `0-9`, `_`, or has a prefix in a session
    /// that allows none.
    InvalidKey {
        /// What was sent.
        key: String,
        /// Whether only its prefix is not allowed.
        has_prefix: bool,
    },
    /// The document to be imported is of a later format.
    FormatTooNew {
        /// The format it names.
        format: String,
        /// The format this version writes.
        known: &'static str,
    },
    /// The document to be imported is not as it was exported.
    DocumentAltered {
        /// Where.
        place: String,
    },
    /// There is no such session, or no longer.
    SessionNotFound {
        /// The id asked for.
        session: String,
    },
    /// There is no such project, or no longer.
    ProjectNotFound {
        /// The id asked for.
        project: String,
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
    /// The caller's credential is not for the key that was to be changed. Whether
    /// there is an entry of it is not said.
    KeyNotGranted {
        /// The keys it is for.
        keys: KeyPatterns,
    },
    /// A session of this name exists already.
    SessionExists {
        /// The id asked for.
        session: String,
    },
    /// A project of this name exists already.
    ProjectExists {
        /// The id asked for.
        project: String,
    },
    /// Another request was made under this request id before.
    RequestIdReused,
    /// The changes asked for are no longer kept, or not yet made.
    ChangesTruncated {
        /// The earliest revision after which changes can be read.
        oldest: Revision,
        /// The session's revision.
        revision: Revision,
    },
    /// There is no such snapshot, or no longer.
    SnapshotNotFound {
        /// The label asked for.
        label: Label,
    },
    /// There is a snapshot of this label already.
    SnapshotExists {
        /// The label asked for.
        label: Label,
    },
    /// The session has as many snapshots as it may.
    SnapshotLimit {
        /// How many.
        snapshots_max: u32,
    },
    /// The session counts tokens in a way this host cannot.
    TokenizerUnavailable {
        /// The encoding it needs.
        encoding: String,
    },
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
    /// It does not fit the session's rounds.
    Round(RoundError),
    /// One change of a batch was refused, and so the whole batch.
    InBatch {
        /// The key of that change.
        key: Key,
        /// Why.
        error: Box<Self>,
    },
    /// The host could not read, or what it read is not what was stored. Nothing has
    /// changed.
    Unread(KvError),
    /// The host could not begin to commit. Nothing has changed.
    Unstored(KvError),
    /// The host failed to commit. Whether the change happened is not known.
    InDoubt(KvError),
    /// Other commands committed while this one was being decided, again and again.
    /// Nothing has changed.
    Overtaken,
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
    /// What the session takes as a document.
    Document {
        /// How many bytes that would have been.
        bytes: u64,
        /// The limit.
        bytes_max: u64,
    },
}

impl Error {
    /// Creates a request that says something no request may say.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::Malformed { message: message.into() }
    }

    /// Returns the error for a session document that no export can have written.
    pub(crate) fn invalid_document(what: impl AsRef<str>) -> Self {
        Self::malformed(format!("the document is none: {}", what.as_ref()))
    }

    /// Returns the name of this error.
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
            Self::Forbidden { .. } | Self::KeyNotGranted { .. } => Code::Forbidden,
            Self::RequestIdReused => Code::RequestIdReused,
            Self::FormatTooNew { .. } => Code::FormatTooNew,
            Self::DocumentAltered { .. } => Code::DocumentAltered,
            Self::ChangesTruncated { .. } => Code::ChangesTruncated,
            Self::SnapshotNotFound { .. } => Code::SnapshotNotFound,
            Self::SnapshotExists { .. } => Code::SnapshotExists,
            Self::SnapshotLimit { .. } => Code::SnapshotLimit,
            Self::TokenizerUnavailable { .. } => Code::TokenizerUnavailable,
            Self::InBatch { error, .. } => error.code(),
            Self::Round(error) => error.code(),
            Self::KeyNotFound { .. } => Code::KeyNotFound,
            Self::ValueTooLarge { .. } => Code::ValueTooLarge,
            Self::VersionConflict { .. } => Code::VersionConflict,
            Self::StoreFull { .. } => Code::StoreFull,
            Self::Unread(_) | Self::Unstored(_) | Self::InDoubt(_) | Self::Overtaken => {
                Code::StorageUnavailable
            }
        }
    }
}

const OVERTAKEN: &str = "other changes to this session came first, again and again; \
     nothing was changed, send the request once more";
const UNREAD: &str = "storage could not be read; nothing was changed, try again in a moment. \
     If it stays so, tell the operator: the storage is away or damaged";
const UNSTORED: &str = "storage took no change; nothing was changed, try again in a moment. \
     If it stays so, tell the operator: the storage is full or fails, reading may still work";
const IN_DOUBT: &str = "storage is unavailable, and whether the change was made is not known; \
     read before you try again, or retry with the same request_id";

/// Writes that there is no `kind` called `id`.
fn absent(f: &mut fmt::Formatter<'_>, kind: &str, id: &str) -> fmt::Result {
    let shown: String = id.chars().take(140).collect();
    write!(f, "there is no {kind} {shown:?}; ask the operator to create it")
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unauthenticated { reason } => f.write_str(reason),
            Self::Malformed { message } => f.write_str(message),
            Self::InvalidKey { key, has_prefix: true } => write!(
                f,
                "key {key:?} has a prefix, which this session does not allow; \
                 write it without, as in {:?}",
                key.replace(':', "_")
            ),
            Self::InvalidKey { key, has_prefix: false } => {
                let shown: String = key.chars().take(80).collect();
                write!(
                    f,
                    "key {shown:?} must be 1 to 64 of a-z, 0-9 and _ (for example open_questions)"
                )
            }
            Self::SessionNotFound { session: id } => absent(f, "session", id),
            Self::ProjectNotFound { project: id } => absent(f, "project", id),
            Self::SessionExists { session } => {
                write!(f, "session {session} exists already; use it, or choose another session_id")
            }
            Self::ProjectExists { project } => {
                write!(f, "project {project} exists already; use it, or choose another id")
            }
            Self::SessionArchived { session } => write!(
                f,
                "session {session} is archived: it can be read, not changed; ask the operator \
                 for a new one"
            ),
            Self::Forbidden { message } => f.write_str(message),
            Self::KeyNotGranted { keys } => write!(
                f,
                "your credential is only for keys that match {keys}; write one of those, or ask \
                 the orchestrator for a credential that has this key too"
            ),
            Self::RequestIdReused => f.write_str(
                "this request_id was used for another request before; \
                 use a new one for each new request, the same only to retry",
            ),
            Self::FormatTooNew { format, known } => {
                let shown: String = format.chars().take(80).collect();
                write!(
                    f,
                    "the document is of format {shown:?}, this version reads {known}; \
                     import it with a later version of shared-context"
                )
            }
            Self::DocumentAltered { place } => write!(
                f,
                "{place} is not as it was exported: its digest does not fit; \
                 import the document as export wrote it"
            ),
            Self::ChangesTruncated { oldest, revision } => write!(
                f,
                "changes can be read since revision {oldest} to {revision} only; \
                 list_keys shows what is there now, go on from the revision it names"
            ),
            Self::SnapshotNotFound { label } => {
                write!(f, "there is no snapshot {label}; list_snapshots shows those there are")
            }
            Self::SnapshotExists { label } => {
                write!(f, "there is a snapshot {label} already; choose another label")
            }
            Self::SnapshotLimit { snapshots_max } => write!(
                f,
                "the session has {snapshots_max} snapshots, as many as it may; \
                 delete one with delete_snapshot first"
            ),
            Self::TokenizerUnavailable { encoding } => write!(
                f,
                "this session counts tokens as {encoding}, which this host cannot; \
                 ask the operator to run it where that tokenizer is"
            ),
            Self::InBatch { key, error } => write!(f, "{key}: {error}"),
            Self::Round(error) => error.fmt(f),
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
            Self::StoreFull { over, largest } => full(f, over, largest),
            Self::Overtaken => f.write_str(OVERTAKEN),
            Self::Unread(_) => f.write_str(UNREAD),
            Self::Unstored(_) => f.write_str(UNSTORED),
            Self::InDoubt(_) => f.write_str(IN_DOUBT),
        }
    }
}

/// Tells that a store would be over its limit, and where room can be made.
fn full(f: &mut fmt::Formatter<'_>, over: &StoreLimit, largest: &[(Key, Tokens)]) -> fmt::Result {
    match over {
        StoreLimit::Tokens { tokens, tokens_max } => {
            write!(f, "the store would have {tokens}, it holds at most {}", tokens_max.0)?;
        }
        StoreLimit::Keys { keys, keys_max } => {
            write!(f, "the store would have {keys} keys, it holds at most {keys_max}")?;
        }
        StoreLimit::Document { bytes, bytes_max } => {
            return write!(
                f,
                "the session would take {bytes} bytes to export, at most {bytes_max} can be \
                 imported again; delete a snapshot or entries first, or shorten access lists"
            );
        }
    }
    f.write_str("; delete or distill entries first")?;
    for (nth, (key, tokens)) in largest.iter().enumerate() {
        let lead = if nth == 0 { ", the largest are " } else { ", " };
        write!(f, "{lead}{key} ({tokens})")?;
    }
    Ok(())
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
