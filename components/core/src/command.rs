//! The closed list of operations on a session or a project.
//!
//! Every interface (typed WIT, JSON tool, HTTP, MCP) offers these operations and no
//! others. Values in a command are already validated. [`crate::reply`] has the replies.

use crate::{
    Error, compact,
    config::{Config, ConfigChange, ProjectConfig},
    context, handoffs,
    key::{Key, Label, Line, Prefix, RequestId},
    kv::Revision,
    memories::{self, summary::SummarizeSession},
    ownership, packets,
    participant::Participant,
    pattern::KeyPattern,
    portable::{Portable, PortableProject},
    rounds,
    store::{Entry, access::AccessChange, expiry::Expiry},
    tokens::Tokens,
};

/// An operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Creates the session.
    CreateSession(Box<Config>),
    /// Returns the session's metadata, without its entries.
    ShowSession,
    /// Changes the session's configuration.
    UpdateSession(Box<ConfigChange>),
    /// Makes the session read-only, permanently.
    ArchiveSession,
    /// Removes the session with all its rows.
    DeleteSession,
    /// Voids every credential issued so far.
    RevokeCredentials,
    /// Lists the entries, without values.
    ListKeys {
        /// Return only keys with this prefix.
        prefix: Option<Prefix>,
        /// Return them only if an entry changed after this revision.
        if_changed_since: Option<Revision>,
    },
    /// Reads one entry.
    Read {
        /// The key.
        key: Key,
        /// Return it only if it was written after this revision.
        if_changed_since: Option<Revision>,
    },
    /// Reads several entries at one revision.
    ReadBatch {
        /// The keys, without duplicates.
        keys: Vec<Key>,
        /// Return them only if one of them changed after this revision.
        if_changed_since: Option<Revision>,
    },
    /// Creates or overwrites one entry.
    Write(Write),
    /// Removes one entry.
    Delete(Delete),
    /// Writes and removes several entries, all or none.
    WriteBatch(Batch),
    /// Reads the retained versions of an entry.
    ReadHistory {
        /// The key.
        key: Key,
        /// The version numbers to return; all when empty.
        versions: Vec<u64>,
    },
    /// Changes the access lists of an entry.
    SetAccess {
        /// The key.
        key: Key,
        /// The change of its access lists.
        change: AccessChange,
    },
    /// Takes a snapshot.
    TakeSnapshot {
        /// The label of the snapshot.
        label: Label,
        /// An optional note.
        note: Option<Line>,
    },
    /// Lists the snapshots, without entries.
    ListSnapshots,
    /// Reads a snapshot.
    ReadSnapshot {
        /// The label of the snapshot.
        label: Label,
        /// Return only this entry.
        key: Option<Key>,
    },
    /// Compares a snapshot with another one, or with the current state.
    DiffSnapshots {
        /// The earlier state.
        from: Label,
        /// The later state; the current one when `None`.
        to: Option<Label>,
    },
    /// Restores the store from a snapshot.
    RestoreSnapshot(Label),
    /// Removes a snapshot.
    DeleteSnapshot(Label),
    /// Reads the change feed, oldest first.
    Changes {
        /// The revision after which to begin; `None` for the oldest that is retained.
        since: Option<Revision>,
        /// The most commits to return.
        limit: u32,
        /// Return only changes of these keys, and when rounds opened and closed.
        keys: Option<KeyPattern>,
        /// Leave out the caller's own changes.
        except_own: bool,
    },
    /// An operation on the session's rounds.
    Rounds(rounds::Command),
    /// An operation of the context pipeline.
    Context(context::Command),
    /// An operation on packets.
    Packets(packets::Command),
    /// An operation of compaction.
    Compaction(compact::Command),
    /// Returns a summary of the session, with proposals for memories.
    Summarize(Box<SummarizeSession>),
    /// Replaces the values of a key with their digests, in every place they are stored.
    Redact {
        /// The key.
        key: Key,
        /// Redact only the value written at this revision.
        revision: Option<Revision>,
        /// The reason.
        reason: Line,
    },
    /// Returns everything about the session, including values.
    Inspect,
    /// Exports the whole session as a portable document.
    Export,
    /// Imports the session from a portable document.
    Import(Box<Portable>),
    /// Removes expired entries.
    Sweep,
    /// Renders what the caller may read as text for a prompt.
    RenderContext {
        /// Begin with what matters most for this task.
        task: Option<String>,
        /// The budget; [`CONTEXT_TOKENS_DEFAULT`](crate::context::CONTEXT_TOKENS_DEFAULT) when
        /// `None`.
        max_tokens: Option<Tokens>,
        /// Answer [`Reply::Unchanged`](crate::Reply::Unchanged) if no entry changed after this
        /// revision.
        if_changed_since: Option<Revision>,
    },
    /// Renders text for a participant's system prompt.
    Prompt {
        /// The participant; the caller when `None`.
        participant: Option<Participant>,
        /// The budget of the text; [`crate::prompt::PROMPT_TOKENS_DEFAULT`] when `None`.
        max_tokens: Option<Tokens>,
    },
    /// Reads the audit records after a revision, oldest first.
    Audit {
        /// The revision after which to begin.
        after: Revision,
        /// The most commits to return.
        limit: u32,
    },
    /// An operation on a project. Every other command is for a session.
    Project(ProjectCommand),
    /// A command with the caller's name for this request, which makes a retry safe. Writes, deletes
    /// and commands on rounds have a member of their own for it.
    Named {
        /// The name.
        request_id: RequestId,
        /// The command: one that creates, archives or revokes, changes snapshots or redacts, or changes
        /// what is kept of the context pipeline or of packets.
        command: Box<Self>,
    },
}

/// An operation on a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectCommand {
    /// Creates the project.
    Create(ProjectConfig),
    /// Returns the project's metadata.
    Show,
    /// Makes the project read-only, permanently.
    Archive,
    /// Removes the project with all its rows.
    Delete,
    /// Reads the changes of the project, oldest first.
    Changes {
        /// The revision after which to begin; `None` for the oldest that is kept.
        since: Option<Revision>,
        /// The most commits to return.
        limit: u32,
    },
    /// Exports a page of the project as a portable document.
    Export {
        /// The place where the page before ended; 0 for the first page.
        after: u64,
    },
    /// Imports a page of a portable document: the first creates the project.
    Import {
        /// The page.
        page: Box<PortableProject>,
        /// The digest of its document.
        digest: String,
    },
    /// Lists the sessions that worked on the project.
    Sessions {
        /// The most sessions to return.
        limit: u32,
    },
    /// An operation on memories.
    Memories(memories::Command),
    /// An operation on the outline.
    Outline(ownership::Command),
    /// An operation on handoffs.
    Handoffs(handoffs::Command),
}

/// A write of one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The key.
    pub key: Key,
    /// The value.
    pub value: String,
    /// The condition under which it is performed.
    pub condition: Condition,
    /// The other properties to set.
    pub options: WriteOptions,
    /// The caller's name for this request, which makes a retry safe.
    pub request_id: Option<RequestId>,
}

/// The properties that a write sets besides the value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// The expiry; `None` for the default of the session's configuration.
    pub expiry: Option<Expiry>,
    /// The access lists; a list that is `None` does not change.
    pub access: AccessChange,
    /// The new setting for retaining ended versions; `None` does not change it.
    pub keeps_history: Option<bool>,
}

impl Write {
    /// Creates an unconditional write.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidKey`].
    pub fn new(key: &str, value: impl Into<String>) -> Result<Self, Error> {
        Ok(Self {
            key: Key::parse(key)?,
            value: value.into(),
            condition: Condition::default(),
            options: WriteOptions::default(),
            request_id: None,
        })
    }
}

/// A removal of one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delete {
    /// The key.
    pub key: Key,
    /// The condition under which it is performed.
    pub condition: Condition,
    /// The caller's name for this request, which makes a retry safe.
    pub request_id: Option<RequestId>,
}

/// Writes and deletes that are performed atomically. The items of a batch have no request
/// ids of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The writes.
    pub writes: Vec<Write>,
    /// The deletes.
    pub deletes: Vec<Delete>,
    /// The caller's name for this request, which makes a retry safe.
    pub request_id: Option<RequestId>,
}

/// The most keys of one batch, read or written.
pub const BATCH_KEYS_MAX: usize = 100;

impl Batch {
    /// Creates a batch.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if the batch is empty, has more than [`BATCH_KEYS_MAX`] keys,
    /// or repeats a key.
    pub fn new(
        writes: Vec<Write>,
        deletes: Vec<Delete>,
        request_id: Option<RequestId>,
    ) -> Result<Self, Error> {
        let keys = writes.iter().map(|it| &it.key).chain(deletes.iter().map(|it| &it.key));
        check_changed_keys(keys.map(Key::as_str))?;
        Ok(Self { writes, deletes, request_id })
    }
}

/// The most characters of an invalid key that an error shows.
const KEY_SHOWN_CHARS_MAX: usize = 80;

/// Validates the keys of a batch that changes them, as they were sent.
///
/// # Errors
///
/// As for [`check_keys`].
pub fn check_changed_keys<'a>(keys: impl Iterator<Item = &'a str>) -> Result<(), Error> {
    check_keys(keys, "name it once, as it is to be in the end")
}

/// Validates the keys of a batch, as they were sent. `once` says what to do about one that is named
/// twice.
///
/// # Errors
///
/// [`Error::Malformed`] if there are none, more than [`BATCH_KEYS_MAX`], or duplicates.
pub fn check_keys<'a>(keys: impl Iterator<Item = &'a str>, once: &str) -> Result<(), Error> {
    let keys: Vec<&str> = keys.collect();
    if !(1..=BATCH_KEYS_MAX).contains(&keys.len()) {
        return Err(Error::malformed(format!(
            "the batch names {} keys; it must be 1 to {BATCH_KEYS_MAX}",
            keys.len()
        )));
    }
    let is_again = |(nth, key): &(usize, &&str)| keys.iter().take(*nth).any(|it| it == *key);
    match keys.iter().enumerate().find(is_again) {
        Some((_, key)) => {
            let shown: String = key.chars().take(KEY_SHOWN_CHARS_MAX).collect();
            Err(Error::malformed(format!("the batch names the key {shown:?} twice; {once}")))
        }
        None => Ok(()),
    }
}

/// The condition on an entry under which a change is performed. All members that are
/// given must hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Condition {
    /// The entry has this version; 0 if it must not exist.
    pub if_version: Option<u64>,
    /// The entry was last written at this revision. Unlike a version, a revision never
    /// repeats after the entry is deleted and recreated.
    pub if_revision: Option<Revision>,
}

impl Condition {
    /// Creates a condition.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if both can never hold together.
    pub fn new(if_version: Option<u64>, if_revision: Option<Revision>) -> Result<Self, Error> {
        if if_version == Some(0) && if_revision.is_some() {
            return Err(Error::malformed(
                "if_version 0 says that the key does not exist, if_revision that it does; \
                 send the one you mean",
            ));
        }
        Ok(Self { if_version, if_revision })
    }

    /// Returns true if `current`, the current entry, satisfies the condition.
    pub fn holds_for(&self, current: Option<&Entry>) -> bool {
        let version = current.map_or(0, |it| it.version);
        let revision = current.map(|it| it.revision);
        self.if_version.is_none_or(|it| it == version)
            && self.if_revision.is_none_or(|it| Some(it) == revision)
    }
}
