//! The rows `c/`: the events of each commit, its participant and its request.

use serde::{Deserialize, Serialize};

use super::format_1;
use crate::{
    Error,
    audit::{AuditAction, AuditEntry, AuditRecord, Subject},
    kv::Revision,
    pattern::Participants,
    row::{
        damaged, decode_either, encode, list_to_store, stored_key, stored_line, stored_list,
        stored_participant,
    },
    scope::Scope,
    time::Timestamp,
    tokens::Tokens,
};

/// The prefix of a round number stored in place of a label. No label begins with it.
const ROUND: &str = "#";

#[derive(Serialize, Deserialize)]
pub(super) struct ChangeRecord {
    pub(super) at_ms: u64,
    pub(super) request_row: Option<String>,
    pub(super) events: Vec<EventRecord>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct EventRecord {
    pub(super) action: String,
    pub(super) participant: String,
    pub(super) entry: Option<(String, u64, u32)>,
    pub(super) readable_by: Vec<String>,
    pub(super) label: Option<String>,
    pub(super) reason: Option<String>,
}

/// The events of a commit. The row of its request is stored with them so that the reply
/// can be removed later.
#[derive(Debug)]
pub(crate) struct StoredChange {
    pub(crate) request_row: Option<String>,
    pub(crate) events: Vec<StoredEvent>,
}

/// One event of a commit, with the participants that could read its entry then. It is
/// hidden from all others.
#[derive(Debug)]
pub(crate) struct StoredEvent {
    pub(crate) record: AuditRecord,
    pub(crate) readable_by: Participants,
}

fn label_to_store(record: &AuditRecord) -> Option<String> {
    let label = record.label.as_ref().map(|it| it.as_str().to_owned());
    label.or_else(|| record.round.map(|it| format!("{ROUND}{it}")))
}

impl StoredChange {
    /// Encodes the events of a commit at `at`. Its revision is in the row's name, its
    /// session in the bucket's.
    pub(crate) fn encode(&self, at: Timestamp) -> Result<Vec<u8>, Error> {
        let events = self.events.iter().map(|StoredEvent { record, readable_by }| EventRecord {
            action: record.action.as_str().to_owned(),
            participant: record.participant.as_str().to_owned(),
            entry: record
                .entry
                .as_ref()
                .map(|it| (it.key.as_str().to_owned(), it.version, it.value_tokens.0)),
            readable_by: list_to_store(readable_by),
            label: label_to_store(record),
            reason: record.reason.as_ref().map(|it| it.as_str().to_owned()),
        });
        encode(&ChangeRecord {
            at_ms: at.0,
            request_row: self.request_row.clone(),
            events: events.collect(),
        })
    }

    /// Decodes the events of the commit that made `revision`.
    pub(crate) fn decode(scope: &Scope, revision: Revision, bytes: &[u8]) -> Result<Self, Error> {
        let it: ChangeRecord = decode_either::<_, format_1::AuditRecord>(bytes)?;
        let at = Timestamp(it.at_ms);
        let events = it.events.into_iter().map(|it| {
            let entry = it.entry.map(|(key, version, value_tokens)| {
                let key = stored_key(&key)?;
                Ok::<_, Error>(AuditEntry { key, version, value_tokens: Tokens(value_tokens) })
            });
            let (label, round) = match it.label.as_deref() {
                Some(text) => match text.strip_prefix(ROUND) {
                    Some(round) => (None, Some(round)),
                    None => (Some(text), None),
                },
                None => (None, None),
            };
            let action = AuditAction::named(&it.action);
            let record = AuditRecord {
                scope: scope.clone(),
                revision,
                action: action
                    .ok_or_else(|| damaged(format!("action {:?} is not known", it.action)))?,
                participant: stored_participant(&it.participant)?,
                at,
                entry: entry.transpose()?,
                label: label.map(Subject::parse).transpose().map_err(damaged)?,
                reason: it.reason.as_deref().map(stored_line).transpose()?,
                round: round.map(str::parse).transpose().map_err(damaged)?,
            };
            Ok(StoredEvent { record, readable_by: stored_list(&it.readable_by)? })
        });
        let events = events.collect::<Result<_, Error>>()?;
        Ok(Self { request_row: it.request_row, events })
    }

    /// Decodes only the request row of the commit in `bytes`.
    pub(crate) fn decode_request_row(bytes: &[u8]) -> Result<Option<String>, Error> {
        let it: ChangeRecord = decode_either::<_, format_1::AuditRecord>(bytes)?;
        Ok(it.request_row)
    }
}
