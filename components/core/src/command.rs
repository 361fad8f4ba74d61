//! The closed list of operations: what can be asked, and what is answered.
//!
//! Every interface (typed WIT, JSON tool, HTTP, MCP) speaks this list and no
//! other. What is in a command has been checked where it entered.

use crate::{
    Error,
    audit::AuditRecord,
    config::Config,
    key::{Key, RequestId, SessionId},
    participant::Participant,
    port::Revision,
    prompt::Rendered,
    store::{Entry, Listing, advice::Advice},
    time::Timestamp,
    tokens::Tokens,
};

/// What is asked of a session.
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
    /// Lists every entry, without values.
    ListKeys,
    /// Reads one entry.
    Read(Key),
    /// Creates or overwrites one entry.
    Write(Write),
    /// Removes one entry.
    Delete(Delete),
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
        /// How many records at most.
        limit: u32,
    },
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
    /// The caller's name for this request, which makes a retry safe.
    pub request_id: Option<RequestId>,
}

impl Write {
    /// An unconditional write.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidKey`].
    pub fn new(key: &str, value: impl Into<String>) -> Result<Self, Error> {
        Ok(Self {
            key: Key::parse(key)?,
            value: value.into(),
            condition: Condition::default(),
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
    /// Whether it holds for `current`, the entry as it is.
    pub fn holds_for(&self, current: Option<&Entry>) -> bool {
        let version = current.map_or(0, |it| it.version);
        let revision = current.map(|it| it.revision);
        self.if_version.is_none_or(|it| it == version)
            && self.if_revision.is_none_or(|it| Some(it) == revision)
    }
}

/// What was answered, and the revision the answer is of: after the change, or
/// as read. For one entry it is the revision at which that entry was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The revision.
    pub revision: Revision,
    /// The answer.
    pub reply: Reply,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// To every command on the session's life but its removal.
    Session(Box<SessionInfo>),
    /// To [`Command::DeleteSession`].
    SessionDeleted(SessionId),
    /// To [`Command::ListKeys`].
    Listing(Listing),
    /// To [`Command::Read`].
    Entry {
        /// What is known of the entry.
        entry: Entry,
        /// Its value.
        value: String,
    },
    /// To [`Command::Write`].
    Written(Written),
    /// To [`Command::Delete`].
    Deleted(Deleted),
    /// To [`Command::Prompt`].
    Prompt(Rendered),
    /// To [`Command::Audit`].
    Audit(AuditPage),
}

/// What is known of a session without its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionInfo {
    /// Its id.
    pub session: SessionId,
    /// Whether it is read-only.
    pub is_archived: bool,
    /// Differs for each session that ever had this id.
    pub incarnation: u64,
    /// Credentials of an earlier epoch are void.
    pub credential_epoch: u64,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub changed_at: Timestamp,
    /// Number of entries.
    pub key_count: u32,
    /// Sum of the sizes of all values.
    pub total_tokens: Tokens,
    /// What it was created with.
    pub config: Config,
}

/// What a write did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The entry as it is now.
    pub entry: Entry,
    /// Remarks; they never altered what was stored.
    pub advices: Vec<Advice>,
}

/// What a delete did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deleted {
    /// The key that is gone.
    pub key: Key,
    /// The version it had.
    pub previous_version: u64,
}

/// Some of a session's audit records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditPage {
    /// The records, oldest first.
    pub records: Vec<AuditRecord>,
    /// The revision of the oldest record still kept.
    pub oldest: Option<Revision>,
    /// Ask again since this revision for more; `None` when there is no more.
    pub next_since: Option<Revision>,
}
