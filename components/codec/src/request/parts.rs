//! Parts of commands as the JSON tool and the typed interfaces are sent them:
//! checked in one place, so that both refuse the same.

pub mod rounds;

use shared_context_core::{
    Batch, Code, Command, Condition, Delete, Error, Key, RequestId, Write, WriteOptions,
    command::check_keys,
    pattern::{ParticipantPattern, Participants},
    port::Revision,
    store::{
        access::AccessChange,
        expiry::{Expiry, Ttl},
    },
    time::Timestamp,
};

use super::malformed;
use crate::json::ParseError;

/// How many commits or deltas are told when the request does not say.
const LIMIT_DEFAULT: u32 = 100;
/// How many commits or deltas are told at most.
const LIMIT_MAX: u32 = 1_000;

/// What a write sets besides the value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SentOptions {
    /// The entry expires this many seconds after the write.
    pub ttl_seconds: Option<u64>,
    /// The entry expires at this instant.
    pub expires_at: Option<Timestamp>,
    /// Who may read it, as patterns.
    pub readable_by: Option<Vec<String>>,
    /// Who may write it, as patterns.
    pub writable_by: Option<Vec<String>>,
    /// Whether earlier versions of it are kept.
    pub history: Option<bool>,
}

impl SentOptions {
    /// Checks the options.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`.
    fn check(&self) -> Result<WriteOptions, Error> {
        let expiry = match (self.ttl_seconds, self.expires_at) {
            (Some(_), Some(_)) => {
                return Err(Error::malformed(
                    "ttl_seconds and expires_at say the same in two ways; send one of them",
                ));
            }
            (Some(seconds), None) => Some(Expiry::After(Ttl::parse("ttl_seconds", seconds)?)),
            (None, at) => at.map(Expiry::At),
        };
        let access = access_change(self.readable_by.as_deref(), self.writable_by.as_deref())?;
        Ok(WriteOptions { expiry, access, keeps_history: self.history })
    }
}

/// One write, alone or of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentWrite {
    /// The key.
    pub key: String,
    /// The text to store.
    pub value: String,
    /// Only if the entry has this version; 0: only if the key does not exist.
    pub if_version: Option<u64>,
    /// Only if the entry was last written at this revision.
    pub if_revision: Option<u64>,
    /// What it sets besides the value.
    pub options: SentOptions,
}

impl SentWrite {
    /// Checks the write.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`, `INVALID_KEY`.
    pub fn check(self) -> Result<Write, Error> {
        Ok(Write {
            condition: Condition::new(self.if_version, self.if_revision.map(Revision))?,
            options: self.options.check()?,
            key: Key::parse(&self.key)?,
            value: self.value,
            request_id: None,
        })
    }
}

/// One delete, alone or of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentDelete {
    /// The key.
    pub key: String,
    /// Only if the entry has this version.
    pub if_version: Option<u64>,
    /// Only if the entry was last written at this revision.
    pub if_revision: Option<u64>,
}

impl SentDelete {
    /// Checks the delete.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`, `INVALID_KEY`.
    pub fn check(self) -> Result<Delete, Error> {
        let condition = Condition::new(self.if_version, self.if_revision.map(Revision))?;
        Ok(Delete { condition, key: Key::parse(&self.key)?, request_id: None })
    }
}

/// The name that a request was given, so that it can be sent again.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn request_id(sent: Option<&str>) -> Result<Option<RequestId>, Error> {
    sent.map(RequestId::parse).transpose()
}

/// The command to change who may read and write `key`.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, `INVALID_KEY`.
pub fn set_access(
    key: &str,
    readable_by: Option<&[String]>,
    writable_by: Option<&[String]>,
) -> Result<Command, Error> {
    let change = access_change(readable_by, writable_by)?;
    if change == AccessChange::default() {
        return Err(malformed(ParseError(
            "missing field `readable_by` or `writable_by` in set_access".to_owned(),
        )));
    }
    Ok(Command::SetAccess { key: Key::parse(key)?, change })
}

/// The command to read all of `keys`.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, `INVALID_KEY`.
pub fn read_batch(keys: &[String], if_changed_since: Option<Revision>) -> Result<Command, Error> {
    check_keys(keys.iter().map(String::as_str))?;
    let keys = keys.iter().map(|it| Key::parse(it)).collect::<Result<_, _>>()?;
    Ok(Command::ReadBatch { keys, if_changed_since })
}

/// How many commits or deltas are to be told.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn limit(limit: Option<u32>) -> Result<u32, Error> {
    let limit = limit.unwrap_or(LIMIT_DEFAULT);
    if (1..=LIMIT_MAX).contains(&limit) {
        return Ok(limit);
    }
    Err(Error::malformed(format!("limit is {limit}; it must be 1 to {LIMIT_MAX}")))
}

/// The command to write and remove several entries.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, of whatever change it is; `INVALID_KEY`.
pub fn write_batch(
    writes: Vec<SentWrite>,
    deletes: Vec<SentDelete>,
    request_id: Option<RequestId>,
) -> Result<Command, Error> {
    let keys = writes.iter().map(|it| &it.key).chain(deletes.iter().map(|it| &it.key));
    check_keys(keys.map(String::as_str))?;
    let mut later = None;
    let writes = all_but_later(writes.into_iter().map(SentWrite::check), &mut later)?;
    let deletes = all_but_later(deletes.into_iter().map(SentDelete::check), &mut later)?;
    match later {
        Some(error) => Err(error),
        None => Batch::new(writes, deletes, request_id).map(Command::WriteBatch),
    }
}

/// All of `parsed`; the first of them that is refused for something else than that
/// it is malformed, such as a key that is none, goes to `later`, since whatever is
/// malformed comes before it.
fn all_but_later<T>(
    parsed: impl Iterator<Item = Result<T, Error>>,
    later: &mut Option<Error>,
) -> Result<Vec<T>, Error> {
    let mut all = Vec::new();
    for it in parsed {
        match it {
            Ok(it) => all.push(it),
            Err(error) if error.code() == Code::MalformedRequest => return Err(error),
            Err(error) => drop(later.get_or_insert(error)),
        }
    }
    Ok(all)
}

pub(super) fn access_change(
    readable_by: Option<&[String]>,
    writable_by: Option<&[String]>,
) -> Result<AccessChange, Error> {
    Ok(AccessChange {
        readable_by: readable_by.map(participants).transpose()?,
        writable_by: writable_by.map(participants).transpose()?,
    })
}

pub(super) fn participants(patterns: &[String]) -> Result<Participants, Error> {
    let patterns = patterns.iter().map(|it| ParticipantPattern::parse(it));
    Participants::new(patterns.collect::<Result<_, _>>()?)
}
