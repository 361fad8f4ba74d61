//! Builders of commands on entries. The JSON tool and the typed interfaces share these checks, so
//! that both return the same errors.

use shared_context_core::{
    Batch, Command, Condition, Delete, Error, Key, RequestId, Write, WriteOptions,
    command::{check_changed_keys, check_keys},
    port::Revision,
    store::{
        access::AccessChange,
        expiry::{Expiry, Ttl},
    },
    time::Timestamp,
};

use crate::checks::{access_change, collect_malformed_first};

/// Options of a write besides the value, not yet validated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OptionsInput {
    /// The entry expires this many seconds after the write.
    pub ttl_seconds: Option<u64>,
    /// The entry expires at this instant.
    pub expires_at: Option<Timestamp>,
    /// Participants that may read it, as patterns.
    pub readable_by: Option<Vec<String>>,
    /// Participants that may write it, as patterns.
    pub writable_by: Option<Vec<String>>,
    /// Whether earlier versions of it are stored.
    pub history: Option<bool>,
}

impl OptionsInput {
    /// Validates the options.
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

/// One write, alone or in a batch, not yet validated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteInput {
    /// The key.
    pub key: String,
    /// The text to store.
    pub value: String,
    /// Only if the entry has this version; 0: only if the key does not exist.
    pub if_version: Option<u64>,
    /// Only if the entry was last written at this revision.
    pub if_revision: Option<u64>,
    /// Options besides the value.
    pub options: OptionsInput,
}

impl WriteInput {
    /// Validates the write.
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

/// One delete, alone or in a batch, not yet validated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteInput {
    /// The key.
    pub key: String,
    /// Only if the entry has this version.
    pub if_version: Option<u64>,
    /// Only if the entry was last written at this revision.
    pub if_revision: Option<u64>,
}

impl DeleteInput {
    /// Validates the delete.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`, `INVALID_KEY`.
    pub fn check(self) -> Result<Delete, Error> {
        let condition = Condition::new(self.if_version, self.if_revision.map(Revision))?;
        Ok(Delete { condition, key: Key::parse(&self.key)?, request_id: None })
    }
}

/// Builds the command to change the access lists of `key`.
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
        return Err(Error::malformed(
            "the request is malformed: set_access needs readable_by or writable_by",
        ));
    }
    Ok(Command::SetAccess { key: Key::parse(key)?, change })
}

/// Builds the command to read all of `keys`.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, `INVALID_KEY`.
pub fn read_batch(keys: &[String], if_changed_since: Option<Revision>) -> Result<Command, Error> {
    check_keys(keys.iter().map(String::as_str), "name it once")?;
    let keys = keys.iter().map(|it| Key::parse(it)).collect::<Result<_, _>>()?;
    Ok(Command::ReadBatch { keys, if_changed_since })
}

/// Builds the command to write and delete several entries.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, which takes precedence whichever change has it; `INVALID_KEY`.
pub fn write_batch(
    writes: Vec<WriteInput>,
    deletes: Vec<DeleteInput>,
    request_id: Option<RequestId>,
) -> Result<Command, Error> {
    let keys = writes.iter().map(|it| &it.key).chain(deletes.iter().map(|it| &it.key));
    check_changed_keys(keys.map(String::as_str))?;
    let mut later = None;
    let writes = collect_malformed_first(writes.into_iter().map(WriteInput::check), &mut later)?;
    let deletes = collect_malformed_first(deletes.into_iter().map(DeleteInput::check), &mut later)?;
    match later {
        Some(error) => Err(error),
        None => Batch::new(writes, deletes, request_id).map(Command::WriteBatch),
    }
}
