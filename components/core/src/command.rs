//! The closed list of operations: what can be asked of a session or a project.
//!
//! Every interface (typed WIT, JSON tool, HTTP, MCP) speaks this list and no
//! other. What is in a command has been checked where it entered. What is
//! answered is in [`crate::reply`].

use crate::{
    Error,
    config::Config,
    key::{Key, Label, Line, Prefix, RequestId},
    kv::Revision,
    participant::Participant,
    pattern::KeyPattern,
    portable::Portable,
    rounds,
    store::{Entry, access::AccessChange, expiry::Expiry},
    tokens::Tokens,
};

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Creates the session.
    CreateSession(Box<Config>),
    /// Tells what is known of the session without its entries.
    ShowSession,
    /// Makes the session read-only, for good.
    ArchiveSession,
    /// Removes the session and every row of it.
    DeleteSession,
    /// Makes every credential issued so far void.
    RevokeCredentials,
    /// Lists the entries, without values.
    ListKeys {
        /// Only those with this prefix.
        prefix: Option<Prefix>,
        /// Only if an entry changed after this revision.
        if_changed_since: Option<Revision>,
    },
    /// Reads one entry.
    Read {
        /// The key.
        key: Key,
        /// Only if it was written after this revision.
        if_changed_since: Option<Revision>,
    },
    /// Reads several entries as they are at one revision.
    ReadBatch {
        /// The keys, none of them twice.
        keys: Vec<Key>,
        /// Only if one of them changed after this revision.
        if_changed_since: Option<Revision>,
    },
    /// Creates or overwrites one entry.
    Write(Write),
    /// Removes one entry.
    Delete(Delete),
    /// Writes and removes several entries, all or none.
    WriteBatch(Batch),
    /// Reads the versions of an entry that are kept.
    ReadHistory {
        /// The key.
        key: Key,
        /// Only those of these numbers; all when empty.
        versions: Vec<u64>,
    },
    /// Changes who may read and write an entry.
    SetAccess {
        /// The key.
        key: Key,
        /// What is to become of its lists.
        change: AccessChange,
    },
    /// Takes a snapshot.
    TakeSnapshot {
        /// Its label.
        label: Label,
        /// Why.
        note: Option<Line>,
    },
    /// Lists the snapshots, without entries.
    ListSnapshots,
    /// Reads a snapshot.
    ReadSnapshot {
        /// Its label.
        label: Label,
        /// Only this entry of it.
        key: Option<Key>,
    },
    /// Compares a snapshot with another one, or with what is there now.
    DiffSnapshots {
        /// The earlier state.
        from: Label,
        /// The later state; now when `None`.
        to: Option<Label>,
    },
    /// Makes the store what a snapshot holds.
    RestoreSnapshot(Label),
    /// Removes a snapshot.
    DeleteSnapshot(Label),
    /// Reads the change feed, oldest first.
    Changes {
        /// The revision after which to begin; the oldest that is kept when `None`.
        since: Option<Revision>,
        /// How many commits at most.
        limit: u32,
        /// Only changes of these keys.
        keys: Option<KeyPattern>,
    },
    /// Does something with the rounds of the session.
    Rounds(rounds::Command),
    /// Replaces the values of a key by their digests, everywhere they are kept.
    Redact {
        /// The key.
        key: Key,
        /// Only the value written at this revision.
        revision: Option<Revision>,
        /// Why.
        reason: Line,
    },
    /// Tells everything about the session, values included.
    Inspect,
    /// Takes the whole session out as a portable document.
    Export,
    /// Creates the session from a portable document.
    Import(Box<Portable>),
    /// Removes what has expired.
    Sweep,
    /// Renders text for a participant's system prompt.
    Prompt {
        /// Whose; the caller's own when `None`.
        participant: Option<Participant>,
        /// Its budget; [`crate::prompt::PROMPT_TOKENS_DEFAULT`] when `None`.
        max_tokens: Option<Tokens>,
    },
    /// Reads the audit records after a revision, oldest first.
    Audit {
        /// The revision after which to begin.
        since: Revision,
        /// How many commits at most.
        limit: u32,
    },
    /// Does something with a project; every other command is about a session.
    Project(ProjectCommand),
}

/// What is asked of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectCommand {
    /// Creates the project.
    Create,
    /// Returns what is known of the project.
    Show,
    /// Removes the project and every row of it.
    Delete,
}

/// A write of one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The key.
    pub key: Key,
    /// The value.
    pub value: String,
    /// What must be true for it to happen.
    pub condition: Condition,
    /// What else is to be of the entry.
    pub options: WriteOptions,
    /// The caller's name for this request, which makes a retry safe.
    pub request_id: Option<RequestId>,
}

/// What a write sets besides the value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// When the entry expires; when `None`, as the session's configuration says.
    pub expiry: Option<Expiry>,
    /// Who may read and write it; what is `None` stays.
    pub access: AccessChange,
    /// Whether its versions are kept when they end; stays when `None`.
    pub keeps_history: Option<bool>,
}

impl Write {
    /// Returns an unconditional write.
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
    /// What must be true for it to happen.
    pub condition: Condition,
    /// The caller's name for this request, which makes a retry safe.
    pub request_id: Option<RequestId>,
}

/// Writes and deletes that happen together or not at all. Those in a batch have
/// no request ids of their own.
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
    /// Returns a batch of these.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] when there is none or more than [`BATCH_KEYS_MAX`],
    /// or one key twice.
    pub fn new(
        writes: Vec<Write>,
        deletes: Vec<Delete>,
        request_id: Option<RequestId>,
    ) -> Result<Self, Error> {
        let keys = writes.iter().map(|it| &it.key).chain(deletes.iter().map(|it| &it.key));
        check_keys(keys.map(Key::as_str))?;
        Ok(Self { writes, deletes, request_id })
    }
}

/// How much of a key is told that may be none.
const KEY_SHOWN_CHARS_MAX: usize = 80;

/// Checks the keys of a batch, as they were sent.
///
/// # Errors
///
/// [`Error::Malformed`] when there is none or more than [`BATCH_KEYS_MAX`], or
/// one twice.
pub fn check_keys<'a>(keys: impl Iterator<Item = &'a str>) -> Result<(), Error> {
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
            Err(Error::malformed(format!(
                "the batch names the key {shown:?} twice; name it once, as it is to be in the end"
            )))
        }
        None => Ok(()),
    }
}

/// What must be true of an entry for a change to happen; all that is given must
/// hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Condition {
    /// It has this version; 0: it does not exist.
    pub if_version: Option<u64>,
    /// It was last written at this revision, which no delete and recreate can
    /// fool.
    pub if_revision: Option<Revision>,
}

impl Condition {
    /// Returns a condition of these.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] when they can never hold together.
    pub fn new(if_version: Option<u64>, if_revision: Option<Revision>) -> Result<Self, Error> {
        if if_version == Some(0) && if_revision.is_some() {
            return Err(Error::malformed(
                "if_version 0 says that the key does not exist, if_revision that it does; \
                 send the one you mean",
            ));
        }
        Ok(Self { if_version, if_revision })
    }

    /// Returns whether it holds for `current`, the entry as it is.
    pub fn holds_for(&self, current: Option<&Entry>) -> bool {
        let version = current.map_or(0, |it| it.version);
        let revision = current.map(|it| it.revision);
        self.if_version.is_none_or(|it| it == version)
            && self.if_revision.is_none_or(|it| Some(it) == revision)
    }
}
