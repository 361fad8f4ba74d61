//! How a session lies in its bucket. The only module that knows an encoding.
//!
//! Rows: `meta` · `namespace` (only when the session brought its own) ·
//! `k/<key>` (what is known of an entry) · `v/<key>/<revision>` (its value,
//! immutable) · `c/<revision>` (audit) · `q/<participant>/<request id>` (the
//! first answer to a request). Numbers in names are 16 hexadecimal digits, so
//! that they sort.
//!
//! Types of the systems are not serializable: what is stored changes only here,
//! and on purpose. Every row starts with its format number; rows of an unknown
//! format are refused, rows of older formats stay readable for ever.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

use crate::{
    Error,
    audit::{AuditAction, AuditEntry, AuditRecord},
    command::{Condition, Delete, Deleted, Reply, Write, Written},
    key::{Key, RequestId, SessionId},
    namespace::{Convention, Namespace},
    participant::Participant,
    port::{KvError, Revision},
    store::{
        Entry, Limits, Totals,
        advice::{Advice, AdviceCode},
    },
    time::Timestamp,
    tokens::{Estimator, Tokens},
};

/// The format written by this version.
const FORMAT: u8 = 1;

/// The row of [`Meta`].
pub(crate) const META: &str = "meta";
/// The row of a session's own [`Namespace`].
pub(crate) const NAMESPACE: &str = "namespace";
/// The rows of entries.
pub(crate) const ENTRIES: &str = "k/";
/// The rows of audit records.
pub(crate) const AUDIT: &str = "c/";

/// The row of what is known of the entry `key`.
pub(crate) fn entry_row(key: &Key) -> String {
    format!("{ENTRIES}{key}")
}

/// The row of the value that was written to `key` at `revision`.
pub(crate) fn value_row(key: &Key, revision: Revision) -> String {
    format!("v/{key}/{:016x}", revision.0)
}

/// The row of the audit record of the change that made `revision`.
pub(crate) fn audit_row(revision: Revision) -> String {
    format!("{AUDIT}{:016x}", revision.0)
}

/// The row of the first answer to `participant`'s request `id`. Each participant
/// has request ids of its own.
pub(crate) fn request_row(participant: &Participant, id: &RequestId) -> String {
    format!("q/{participant}/{}", id.as_str())
}

/// What every request on a session needs to know of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Meta {
    pub(crate) is_archived: bool,
    pub(crate) incarnation: u64,
    pub(crate) credential_epoch: u64,
    created_at_ms: u64,
    changed_at_ms: u64,
    estimator: String,
    value_tokens_max: u32,
    store_tokens_max: u32,
    keys_max: u32,
    pub(crate) has_own_namespace: bool,
    key_count: u32,
    total_tokens: u32,
}

impl Meta {
    /// The record of a session that is created now.
    pub(crate) fn new(
        incarnation: Revision,
        now: Timestamp,
        limits: &Limits,
        estimator: Estimator,
        has_own_namespace: bool,
    ) -> Self {
        Self {
            is_archived: false,
            incarnation: incarnation.0,
            credential_epoch: 0,
            created_at_ms: now.0,
            changed_at_ms: now.0,
            estimator: estimator.as_str().to_owned(),
            value_tokens_max: limits.value_tokens_max.0,
            store_tokens_max: limits.store_tokens_max.0,
            keys_max: limits.keys_max,
            has_own_namespace,
            key_count: 0,
            total_tokens: 0,
        }
    }

    pub(crate) fn created_at(&self) -> Timestamp {
        Timestamp(self.created_at_ms)
    }

    pub(crate) fn changed_at(&self) -> Timestamp {
        Timestamp(self.changed_at_ms)
    }

    pub(crate) fn limits(&self) -> Limits {
        Limits {
            value_tokens_max: Tokens(self.value_tokens_max),
            store_tokens_max: Tokens(self.store_tokens_max),
            keys_max: self.keys_max,
        }
    }

    pub(crate) fn totals(&self) -> Totals {
        Totals { keys: self.key_count, tokens: Tokens(self.total_tokens) }
    }

    /// The same session after a change at `now` that left it with `totals`.
    pub(crate) fn changed(&self, now: Timestamp, totals: Totals) -> Self {
        let (key_count, total_tokens) = (totals.keys, totals.tokens.0);
        Self { changed_at_ms: now.0, key_count, total_tokens, ..self.clone() }
    }

    /// How the session counts tokens.
    ///
    /// # Errors
    ///
    /// [`Error::Storage`]: this version does not have the session's estimator.
    pub(crate) fn estimator(&self) -> Result<Estimator, Error> {
        Estimator::ALL
            .into_iter()
            .find(|it| it.as_str() == self.estimator)
            .ok_or_else(|| damaged(format!("estimator {:?} is not known", self.estimator)))
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>, Error> {
        encode(self)
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Error> {
        decode(bytes)
    }
}

#[derive(Serialize, Deserialize)]
struct EntryRecord {
    written_by: String,
    written_at_ms: u64,
    version: u64,
    value_tokens: u32,
    revision: u64,
}

impl EntryRecord {
    fn new(entry: &Entry) -> Self {
        Self {
            written_by: entry.written_by.as_str().to_owned(),
            written_at_ms: entry.written_at.0,
            version: entry.version,
            value_tokens: entry.value_tokens.0,
            revision: entry.revision.0,
        }
    }

    fn into_entry(self, key: Key) -> Result<Entry, Error> {
        Ok(Entry {
            key,
            written_by: stored_participant(&self.written_by)?,
            written_at: Timestamp(self.written_at_ms),
            version: self.version,
            value_tokens: Tokens(self.value_tokens),
            revision: Revision(self.revision),
        })
    }
}

/// Encodes what is known of an entry; its key is in the row's name.
pub(crate) fn encode_entry(entry: &Entry) -> Result<Vec<u8>, Error> {
    encode(&EntryRecord::new(entry))
}

/// Decodes what is known of the entry `key`.
pub(crate) fn decode_entry(key: Key, bytes: &[u8]) -> Result<Entry, Error> {
    decode::<EntryRecord>(bytes)?.into_entry(key)
}

/// Decodes the entry that lies in `row`.
pub(crate) fn decode_entry_row(row: &str, bytes: &[u8]) -> Result<Entry, Error> {
    let key = row.strip_prefix(ENTRIES).unwrap_or(row);
    decode_entry(stored_key(key)?, bytes)
}

/// Decodes a value. Values are stored as they are, without a format number.
pub(crate) fn decode_value(bytes: Vec<u8>) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(damaged)
}

#[derive(Serialize, Deserialize)]
struct ConventionRecord {
    key: String,
    group: String,
    purpose: String,
    shape: Option<String>,
    recommended_tokens: Option<u32>,
}

/// Encodes a session's own namespace.
pub(crate) fn encode_namespace(namespace: &Namespace) -> Result<Vec<u8>, Error> {
    let keys = namespace.keys.iter().cloned().map(|it| ConventionRecord {
        key: it.key.as_str().to_owned(),
        group: it.group,
        purpose: it.purpose,
        shape: it.shape,
        recommended_tokens: it.recommended_tokens.map(|it| it.0),
    });
    encode(&keys.collect::<Vec<_>>())
}

/// Decodes a session's own namespace.
pub(crate) fn decode_namespace(bytes: &[u8]) -> Result<Namespace, Error> {
    let records: Vec<ConventionRecord> = decode(bytes)?;
    let keys = records.into_iter().map(|it| {
        Ok(Convention {
            key: stored_key(&it.key)?,
            group: it.group,
            purpose: it.purpose,
            shape: it.shape,
            recommended_tokens: it.recommended_tokens.map(Tokens),
        })
    });
    Ok(Namespace { keys: keys.collect::<Result<_, Error>>()? })
}

/// An audit record as stored, with the row of the request it answered, so that
/// the answer can be forgotten in time.
#[derive(Serialize, Deserialize)]
struct AuditRow {
    action: String,
    participant: String,
    at_ms: u64,
    entry: Option<(String, u64, u32)>,
    request_row: Option<String>,
}

/// Encodes an audit record; its revision is in the row's name, its session in
/// the bucket's.
pub(crate) fn encode_audit(
    record: &AuditRecord,
    request_row: Option<String>,
) -> Result<Vec<u8>, Error> {
    encode(&AuditRow {
        action: record.action.as_str().to_owned(),
        participant: record.participant.as_str().to_owned(),
        at_ms: record.at.0,
        entry: record
            .entry
            .as_ref()
            .map(|it| (it.key.as_str().to_owned(), it.version, it.value_tokens.0)),
        request_row,
    })
}

/// Decodes the audit record that lies in `row`.
pub(crate) fn decode_audit(
    session: &SessionId,
    row: &str,
    bytes: &[u8],
) -> Result<AuditRecord, Error> {
    let it: AuditRow = decode(bytes)?;
    let number = row.strip_prefix(AUDIT).unwrap_or(row);
    let entry = |(key, version, value_tokens): (String, u64, u32)| {
        Ok::<_, Error>(AuditEntry {
            key: stored_key(&key)?,
            version,
            value_tokens: Tokens(value_tokens),
        })
    };
    Ok(AuditRecord {
        session: session.as_str().to_owned(),
        revision: Revision(u64::from_str_radix(number, 16).map_err(damaged)?),
        action: AuditAction::ALL
            .into_iter()
            .find(|action| action.as_str() == it.action)
            .ok_or_else(|| damaged(format!("action {:?} is not known", it.action)))?,
        participant: stored_participant(&it.participant)?,
        at: Timestamp(it.at_ms),
        entry: it.entry.map(entry).transpose()?,
    })
}

/// The row of the request that the audit record `bytes` tells of, if it had one.
pub(crate) fn decode_audit_request(bytes: &[u8]) -> Result<Option<String>, Error> {
    let it: AuditRow = decode(bytes)?;
    Ok(it.request_row)
}

/// The first answer to a request, and a digest of what was asked.
#[derive(Serialize, Deserialize)]
struct RequestRecord {
    digest: [u8; 16],
    revision: u64,
    answer: AnswerRecord,
}

#[derive(Serialize, Deserialize)]
enum AnswerRecord {
    Written { key: String, entry: EntryRecord, advices: Vec<(String, String)> },
    Deleted { key: String, previous_version: u64 },
}

/// Encodes what was answered to a write.
pub(crate) fn encode_written(
    request: &Write,
    revision: Revision,
    written: &Written,
) -> Result<Vec<u8>, Error> {
    let entry = &written.entry;
    let advices = written.advices.iter();
    let answer = AnswerRecord::Written {
        key: entry.key.as_str().to_owned(),
        entry: EntryRecord::new(entry),
        advices: advices.map(|it| (it.code.as_str().to_owned(), it.message.clone())).collect(),
    };
    encode(&RequestRecord { digest: write_digest(request)?, revision: revision.0, answer })
}

/// Encodes what was answered to a delete.
pub(crate) fn encode_deleted(
    request: &Delete,
    revision: Revision,
    deleted: &Deleted,
) -> Result<Vec<u8>, Error> {
    let answer = AnswerRecord::Deleted {
        key: deleted.key.as_str().to_owned(),
        previous_version: deleted.previous_version,
    };
    encode(&RequestRecord { digest: delete_digest(request)?, revision: revision.0, answer })
}

/// What was answered first to a request, if `digest` is of the same request.
///
/// # Errors
///
/// [`Error::RequestIdReused`] when it is of another one.
pub(crate) fn decode_answer(bytes: &[u8], digest: [u8; 16]) -> Result<(Revision, Reply), Error> {
    let it: RequestRecord = decode(bytes)?;
    if it.digest != digest {
        return Err(Error::RequestIdReused);
    }
    let reply = match it.answer {
        AnswerRecord::Written { key, entry, advices } => {
            let advices = advices.into_iter().map(|(code, message)| {
                let code = AdviceCode::ALL.into_iter().find(|it| it.as_str() == code);
                let code = code.ok_or_else(|| damaged("advice is not known"))?;
                Ok::<_, Error>(Advice { code, message })
            });
            let entry = entry.into_entry(stored_key(&key)?)?;
            Reply::Written(Written { entry, advices: advices.collect::<Result<_, _>>()? })
        }
        AnswerRecord::Deleted { key, previous_version } => {
            Reply::Deleted(Deleted { key: stored_key(&key)?, previous_version })
        }
    };
    Ok((Revision(it.revision), reply))
}

/// A digest of all that makes a write the same write.
pub(crate) fn write_digest(it: &Write) -> Result<[u8; 16], Error> {
    digest(&("write", it.key.as_str(), &it.value, condition(&it.condition)))
}

/// A digest of all that makes a delete the same delete.
pub(crate) fn delete_digest(it: &Delete) -> Result<[u8; 16], Error> {
    digest(&("delete", it.key.as_str(), condition(&it.condition)))
}

fn condition(it: &Condition) -> (Option<u64>, Option<u64>) {
    (it.if_version, it.if_revision.map(|it| it.0))
}

fn digest(content: &impl Serialize) -> Result<[u8; 16], Error> {
    let bytes = postcard::to_allocvec(content).map_err(damaged)?;
    let whole: [u8; 32] = Sha256::digest(bytes).into();
    whole.first_chunk().copied().ok_or_else(|| damaged("a digest is shorter than it can be"))
}

fn encode(record: &impl Serialize) -> Result<Vec<u8>, Error> {
    postcard::to_extend(record, vec![FORMAT]).map_err(damaged)
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    match bytes.split_first() {
        Some((&FORMAT, rest)) => postcard::from_bytes(rest).map_err(damaged),
        Some((format, _)) => Err(damaged(format!("format {format} is not known to this version"))),
        None => Err(damaged("an empty row")),
    }
}

fn stored_key(text: &str) -> Result<Key, Error> {
    Key::parse(text).map_err(damaged)
}

fn stored_participant(text: &str) -> Result<Participant, Error> {
    Participant::parse(text).map_err(damaged)
}

/// What storage returned is not what was stored.
pub(crate) fn damaged(why: impl std::fmt::Display) -> Error {
    Error::Storage(KvError(format!("stored record: {why}")))
}
