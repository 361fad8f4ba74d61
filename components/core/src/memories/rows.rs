//! The rows of memories: their names and contents.
//!
//! `m/<number>` holds a memory, `v/<number>` its earlier versions, `i/<segment>` signatures
//! (`signature`), `u/<segment>` the counts of reads, `n/<page>` digests and sketches (`near`),
//! `s/<session>` the activity of a session.

use serde::{Deserialize, Serialize};

use super::{
    Memory,
    commands::Added,
    content::{Content, Value},
    id::{DecisionId, MemoryId},
    kinds::{Kind, Status},
    memory::{MemorySource, RedactedMemory},
    signature::SEGMENT,
    warning::{MemoryWarning, MemoryWarningCode},
};
use crate::{
    Error,
    item::Authority,
    row::{damaged, decode, encode, stored_line, stored_participant},
    scope::SessionId,
    time::Timestamp,
};

/// The prefix of the rows of memories.
pub(crate) const MEMORIES: &str = "m/";
/// The prefix of the rows of uses.
pub(crate) const USES: &str = "u/";
/// The prefix of the rows of sessions.
pub(crate) const SESSIONS: &str = "s/";

/// Returns the name of the row of a memory.
pub(crate) fn memory_row(number: u64) -> String {
    format!("{MEMORIES}{number:016x}")
}

/// Returns the name of the row of the earlier versions of a memory.
pub(crate) fn versions_row(number: u64) -> String {
    format!("v/{number:016x}")
}

/// Returns the name of the row of the uses of a segment.
pub(crate) fn uses_row(segment: u64) -> String {
    format!("{USES}{segment:08x}")
}

/// Returns the name of the row of a session.
pub(crate) fn session_row(session: &SessionId) -> String {
    format!("{SESSIONS}{session}")
}

#[derive(Serialize, Deserialize)]
struct MemoryRecord {
    id: [u8; 16],
    decision: Option<(u32, u32)>,
    kind: String,
    title: String,
    content: Option<Vec<(String, ValueRecord)>>,
    tags: Vec<String>,
    importance: u8,
    is_resolved: Option<bool>,
    authority: String,
    is_verified: bool,
    /// The times when it happened, was added, and was changed.
    times: [u64; 3],
    created_by: (String, Option<String>),
    changed_by: String,
    version: u32,
    expires_at: Option<u64>,
    parent: Option<u64>,
    supersedes: Vec<u64>,
    superseded_by: Option<u64>,
    archived_at: Option<u64>,
    is_marked: bool,
    source: Option<(String, Option<String>)>,
    redacted: Option<(String, String)>,
}

#[derive(Serialize, Deserialize)]
enum ValueRecord {
    Text(String),
    Texts(Vec<String>),
    Number(u64),
}

/// Encodes a memory.
pub(crate) fn encode_memory(it: &Memory) -> Result<Vec<u8>, Error> {
    let content = it.content.as_ref().map(|content| {
        let member = |(rule, value): (&super::kinds::MemberRule, &Value)| {
            let value = match value {
                Value::Text(it) => ValueRecord::Text(it.clone()),
                Value::Texts(it) => ValueRecord::Texts(it.clone()),
                Value::Number(it) => ValueRecord::Number(*it),
            };
            (rule.name.to_owned(), value)
        };
        content.members().map(member).collect()
    });
    encode(&MemoryRecord {
        id: it.id.bytes(),
        decision: it.decision.map(|it| (it.day, it.ordinal)),
        kind: it.kind.as_str().to_owned(),
        title: it.title.clone(),
        content,
        tags: it.tags.clone(),
        importance: it.importance,
        is_resolved: it.status.map(|it| it == Status::Resolved),
        authority: it.authority.as_str().to_owned(),
        is_verified: it.is_verified,
        times: [it.at.0, it.created_at.0, it.changed_at.0],
        created_by: (
            it.created_by.as_str().to_owned(),
            it.created_in.as_ref().map(|it| it.as_str().to_owned()),
        ),
        changed_by: it.changed_by.as_str().to_owned(),
        version: it.version,
        expires_at: it.expires_at.map(|it| it.0),
        parent: it.parent,
        supersedes: it.supersedes.clone(),
        superseded_by: it.superseded_by,
        archived_at: it.archived_at.map(|it| it.0),
        is_marked: it.is_marked,
        source: it.source.as_ref().map(|it| (it.place.as_str().to_owned(), it.digest.clone())),
        redacted: it.redacted.as_ref().map(|it| (it.digest.clone(), it.reason.as_str().to_owned())),
    })
}

/// Decodes a memory.
pub(crate) fn decode_memory(bytes: &[u8]) -> Result<Memory, Error> {
    let it: MemoryRecord = decode(bytes)?;
    let kind = Kind::parse(&it.kind).map_err(damaged)?;
    let content = it.content.map(|members| {
        let member = |(name, value)| {
            let value = match value {
                ValueRecord::Text(it) => Value::Text(it),
                ValueRecord::Texts(it) => Value::Texts(it),
                ValueRecord::Number(it) => Value::Number(it),
            };
            (name, value)
        };
        Content::new(kind, members.into_iter().map(member).collect()).map_err(damaged)
    });
    let (created_by, created_in) = it.created_by;
    let created_in = created_in.map(|it| {
        SessionId::new(&it).ok_or_else(|| damaged("the session of a memory has no valid id"))
    });
    let source = it.source.map(|(place, digest)| {
        Ok::<_, Error>(MemorySource { place: stored_line(&place)?, digest })
    });
    let redacted = it.redacted.map(|(digest, reason)| {
        Ok::<_, Error>(RedactedMemory { digest, reason: stored_line(&reason)? })
    });
    let [at, created_at, changed_at] = it.times.map(Timestamp);
    let resolved = |is: bool| if is { Status::Resolved } else { Status::Open };
    Ok(Memory {
        id: MemoryId::of_bytes(it.id),
        decision: it.decision.map(|(day, ordinal)| DecisionId { day, ordinal }),
        title: it.title,
        content: content.transpose()?,
        kind,
        tags: it.tags,
        importance: it.importance,
        status: it.is_resolved.map(resolved),
        authority: Authority::parse(&it.authority).map_err(damaged)?,
        is_verified: it.is_verified,
        at,
        created_at,
        created_by: stored_participant(&created_by)?,
        created_in: created_in.transpose()?,
        changed_at,
        changed_by: stored_participant(&it.changed_by)?,
        version: it.version,
        expires_at: it.expires_at.map(Timestamp),
        parent: it.parent,
        supersedes: it.supersedes,
        superseded_by: it.superseded_by,
        archived_at: it.archived_at.map(Timestamp),
        is_marked: it.is_marked,
        source: source.transpose()?,
        redacted: redacted.transpose()?,
    })
}

/// Encodes earlier versions, the oldest first.
pub(crate) fn encode_versions(versions: &[Memory]) -> Result<Vec<u8>, Error> {
    encode(&versions.iter().map(encode_memory).collect::<Result<Vec<_>, _>>()?)
}

/// Decodes earlier versions, the oldest first.
pub(crate) fn decode_versions(bytes: &[u8]) -> Result<Vec<Memory>, Error> {
    let rows: Vec<Vec<u8>> = decode(bytes)?;
    rows.iter().map(|it| decode_memory(it)).collect()
}

/// The count of a memory's reads, and the time of the last one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Use {
    /// The count.
    pub count: u32,
    /// The time of the last read; 0 for never.
    pub last: Timestamp,
}

impl Use {
    /// Returns when it was read last; `None` if never.
    pub fn last_at(&self) -> Option<Timestamp> {
        (self.count > 0).then_some(self.last)
    }
}

/// Encodes the uses of a segment.
pub(crate) fn encode_uses(uses: &[Use]) -> Result<Vec<u8>, Error> {
    encode(&uses.iter().map(|it| (it.count, it.last.0)).collect::<Vec<_>>())
}

/// Decodes the uses of a segment, as many as it has memories at most.
pub(crate) fn decode_uses(bytes: &[u8]) -> Result<Vec<Use>, Error> {
    let uses: Vec<(u32, u64)> = decode(bytes)?;
    let most = usize::try_from(SEGMENT).unwrap_or_default();
    let uses = uses.into_iter().take(most);
    Ok(uses.map(|(count, last)| Use { count, last: Timestamp(last) }).collect())
}

/// The first and the last activity of a session in the project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionUse {
    /// The time of its first activity.
    pub first_at: Timestamp,
    /// The time of its last activity.
    pub last_at: Timestamp,
    /// The numbers of the memories that it was shown last, the newest last.
    pub recalled: Vec<u64>,
}

/// Encodes what a session did.
pub(crate) fn encode_session(it: &SessionUse) -> Result<Vec<u8>, Error> {
    encode(&(it.first_at.0, it.last_at.0, &it.recalled))
}

/// Decodes what a session did.
pub(crate) fn decode_session(bytes: &[u8]) -> Result<SessionUse, Error> {
    let (first_at, last_at, recalled): (u64, u64, Vec<u64>) = decode(bytes)?;
    Ok(SessionUse { first_at: Timestamp(first_at), last_at: Timestamp(last_at), recalled })
}

/// A stored result of an addition: id, decision, version, whether it is new, warnings.
pub(crate) type AddedRecord = ([u8; 16], Option<(u32, u32)>, u32, bool, Vec<(String, String)>);

/// Returns a result of an addition in its stored form.
pub(crate) fn added_record(it: &Added) -> AddedRecord {
    let decision = it.decision.map(|it| (it.day, it.ordinal));
    let warnings = it.warnings.iter();
    let warnings = warnings.map(|it| (it.code.as_str().to_owned(), it.message.clone()));
    (it.id.bytes(), decision, it.version, it.is_new, warnings.collect())
}

/// Returns a stored result of an addition.
pub(crate) fn stored_added(it: AddedRecord) -> Result<Added, Error> {
    let (id, decision, version, is_new, warnings) = it;
    let warning = |(code, message): (String, String)| {
        let code = MemoryWarningCode::parse(&code).map_err(damaged)?;
        Ok::<_, Error>(MemoryWarning { code, message })
    };
    Ok(Added {
        id: MemoryId::of_bytes(id),
        decision: decision.map(|(day, ordinal)| DecisionId { day, ordinal }),
        version,
        is_new,
        warnings: warnings.into_iter().map(warning).collect::<Result<_, _>>()?,
    })
}
