//! The errors of the specification (spec 5).
//!
//! Error texts are for agents: they say what is wrong and what to do next. Details for
//! operators, such as why storage failed, are not included.

mod round;
mod text;

use std::fmt;

use crate::{
    code::Code,
    key::{Key, Label},
    kv::{KvError, ReadError, Revision},
    pattern::KeyPatterns,
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
    /// What is to be kept exceeds a limit of the context pipeline.
    EnvelopeLimit {
        /// The limit, and what to do.
        message: String,
    },
    /// The packet does not exist, is no longer kept, or is not for this reader.
    PacketNotFound {
        /// The address or the version that was asked for.
        packet: String,
    },
    /// What is to be kept exceeds a limit of packets.
    PacketLimit {
        /// The limit, and what to do.
        message: String,
    },
    /// The project is archived.
    ProjectArchived {
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
    /// What is to be kept exceeds a limit of the project.
    MemoryLimit {
        /// The limit, and what to do.
        message: String,
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
        /// Whether the packet was edited.
        is_edited: bool,
    },
    /// A packet is not what its checksum says.
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
    /// The value exceeds the limit of one entry.
    ValueTooLarge {
        /// Size of the value sent.
        tokens: Tokens,
        /// The limit.
        tokens_max: Tokens,
    },
    /// The value looks like a credential or personal data, which the session rejects.
    SensitiveValue {
        /// What it looks like.
        kind: &'static str,
    },
    /// What an assembly must show does not fit its budget.
    BudgetTooSmall {
        /// The name of the limit that is exceeded.
        limit: &'static str,
        /// The least that the limit must be.
        needed: u64,
    },
    /// What a compaction must keep is over its target.
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
            Self::ProjectArchived { .. } => Code::ProjectArchived,
            Self::MemoryNotFound { .. } => Code::MemoryNotFound,
            Self::MemoryArchived { .. } => Code::MemoryArchived,
            Self::MemoryLimit { .. } => Code::MemoryLimit,
            Self::SupersedesItself { .. } => Code::SupersedesItself,
            Self::Forbidden { .. } | Self::KeyNotGranted { .. } => Code::Forbidden,
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
            Self::KeyNotFound { .. } => Code::KeyNotFound,
            Self::ValueTooLarge { .. } => Code::ValueTooLarge,
            Self::SensitiveValue { .. } => Code::SensitiveValue,
            Self::BudgetTooSmall { .. } | Self::PacketTooSmall { .. } => Code::BudgetTooSmall,
            Self::TargetUnreachable { .. } => Code::TargetUnreachable,
            Self::VersionConflict { .. } | Self::MemoryConflict { .. } => Code::VersionConflict,
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

impl fmt::Display for Error {
    #[expect(clippy::too_many_lines, reason = "one arm for each error")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unauthenticated { reason } => f.write_str(reason),
            Self::Malformed { message }
            | Self::EnvelopeLimit { message }
            | Self::PacketLimit { message }
            | Self::MemoryLimit { message } => f.write_str(message),
            Self::InvalidKey { key, has_prefix } => text::invalid_key(f, key, *has_prefix),
            Self::SessionNotFound { session: id } => text::absent(f, "session", id),
            Self::ProjectNotFound { project: id } => text::absent(f, "project", id),
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
            Self::ProjectArchived { project } => write!(
                f,
                "project {project} is archived: it can be read, not changed; ask the operator \
                 for a new one"
            ),
            Self::MemoryNotFound { id } => write!(
                f,
                "there is no memory {id} in this project, or no longer; search_memories finds those \
                 there are"
            ),
            Self::MemoryArchived { id } => write!(
                f,
                "memory {id} is archived, so it is not changed and nothing refers to it anew; use the \
                 one that replaced it (superseded_by of read_memories), or let the orchestrator \
                 restore it with mark_memories"
            ),
            Self::SupersedesItself { id } => write!(
                f,
                "memory {id} would replace itself, directly or by way of others; name the memory \
                 that holds now as by"
            ),
            Self::MemoryConflict { id, current_version } => write!(
                f,
                "memory {id} is at version {current_version}, not the one you name; read it, and \
                 update it on top of that"
            ),
            Self::Forbidden { message } => f.write_str(message),
            Self::KeyNotGranted { keys } => write!(
                f,
                "your credential is only for keys that match {keys}; write to one of those"
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
                 list the keys to see what is there now, and go on from the revision you get"
            ),
            Self::SnapshotNotFound { label } => {
                write!(f, "there is no snapshot {label}; list the snapshots to see those there are")
            }
            Self::SnapshotExists { label } => {
                write!(f, "there is a snapshot {label} already; choose another label")
            }
            Self::SnapshotLimit { snapshots, snapshots_max } => write!(
                f,
                "the session has {snapshots} snapshots, at most {snapshots_max} are allowed; \
                 delete {} of them first",
                snapshots.saturating_sub(*snapshots_max).saturating_add(1)
            ),
            Self::EnvelopeNotFound { id } => write!(
                f,
                "there is no envelope {id} of yours, or it is no longer kept; assemble or compact \
                 again with keep, without previous and under a new request_id"
            ),
            Self::MissingNotFound { id } => write!(
                f,
                "there is no missing context {id}, or it is no longer kept; list_missing has those \
                 there are"
            ),
            Self::PacketNotFound { packet } => write!(
                f,
                "there is no packet {packet:?} for you, or it is no longer kept; list_packets has \
                 those there are, and the orchestrator makes one with context_generate"
            ),
            Self::FeedbackGiven { version } => write!(
                f,
                "version {version} of this packet has feedback already; give feedback once, at \
                 the end of the task"
            ),
            Self::PacketTooSmall { budget, needed, is_edited: false } => write!(
                f,
                "the task and its goal need a budget of {} or more, the packet has {}; raise the \
                 budget, or say the task in fewer words",
                needed.0, budget.0
            ),
            Self::PacketTooSmall { budget, needed, is_edited: true } => write!(
                f,
                "the edited packet has {needed}, its budget is {}; remove a statement, or \
                 generate it with a larger budget",
                budget.0
            ),
            Self::PacketAltered { differences } => text::altered(f, differences),
            Self::TokenizerUnavailable { encoding } => write!(
                f,
                "this session counts tokens as {encoding}, which this host cannot; \
                 ask the operator to run it where that tokenizer is"
            ),
            Self::InBatch { key, error } => write!(f, "{key}: {error}"),
            Self::Round(error) => error.fmt(f),
            Self::KeyNotFound { key } => {
                write!(f, "there is no entry {key}; list the keys to see those there are")
            }
            Self::ValueTooLarge { tokens, tokens_max } => write!(
                f,
                "value has {tokens}, an entry holds at most {}; \
                 distill it to its conclusions, or split it by topic",
                tokens_max.0
            ),
            Self::SensitiveValue { kind } => write!(
                f,
                "value looks as if it held {kind}, which this session does not store; \
                 write a role, a record id or a reference instead"
            ),
            Self::BudgetTooSmall { limit, needed } => write!(
                f,
                "the task and the items that are always shown need budget.{limit} of {needed} or \
                 more; raise it, or pin fewer items"
            ),
            Self::TargetUnreachable { target, needed } => write!(
                f,
                "what must be kept has {needed}, the target is {}; aim at {} or more, or \
                 resolve issues and supersede decisions that no longer hold",
                target.0, needed.0
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
            Self::StoreFull { over, largest } => text::full(f, over, largest),
            Self::Overtaken => f.write_str(OVERTAKEN),
            Self::Unread(_) => f.write_str(UNREAD),
            Self::Unstored(_) => f.write_str(UNSTORED),
            Self::InDoubt(_) => f.write_str(IN_DOUBT),
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
