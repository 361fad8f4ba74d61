//! The rows `q/`: the first reply to a request, and a digest of the request to recognize
//! a retry.

use serde::{Deserialize, Serialize};

use super::{Meta, decode_snapshot_info, encode_snapshot_info, entry::EntryRecord, format_1};
use crate::{
    Command, CompactionCommand, CompactionReply, ContextReply, Error, PacketsReply, RoundsReply,
    budget::Reason,
    command::{Batch, Condition, Delete, Write, WriteOptions},
    config::Config,
    context::{kept::KeptId, rows},
    key::{Key, Line},
    kv::{Change, Revision},
    packets::{self, Address, Report},
    reply::{BatchWritten, Deleted, Redacted, Reply, Written},
    rounds::{
        ExclusionResult, Proposed, Redaction, Status,
        rows::{ProposedRecord, RoundRecord},
    },
    row::{damaged, decode_either, digest, encode, list_to_store, stored_key, stored_label},
    store::{
        expiry::Expiry,
        snapshot::Restored,
        warning::{Warning, WarningCode},
    },
    time::Timestamp,
    tokens::Tokens,
};

/// The first reply to a request, and the request's digest.
#[derive(Serialize, Deserialize)]
pub(super) struct RequestRecord {
    pub(super) digest: [u8; 16],
    pub(super) revision: u64,
    pub(super) answer: AnswerRecord,
}

#[derive(Serialize, Deserialize)]
pub(super) enum AnswerRecord {
    Written(WrittenRecord),
    Deleted(DeletedRecord),
    Batch(Vec<WrittenRecord>, Vec<DeletedRecord>),
    Round(RoundRecord),
    /// Round, first sequence and count, as earlier versions stored the reply to a proposal.
    Proposed(u64, u32, u32),
    /// The session, as it is when the reply is sent again.
    Session,
    /// As [`encode_snapshot_info`] encodes it.
    Snapshot(Vec<u8>),
    Restored(RestoredRecord),
    /// The key and the digests.
    Redacted(String, Vec<String>),
    /// The reply to a proposal.
    Previewed(ProposedRecord),
    /// Round, true for a rejection, sequences, and those that were unchanged.
    Excluded(u64, bool, Vec<u32>, Vec<u32>),
    /// The number of a kept envelope.
    Envelope(u64),
    /// An injection, as its row.
    Injection(Vec<u8>),
    /// The number of missing context, and whether it was answered.
    Missing(u64, bool),
    /// The address, the version and the number of a packet, and the report on its candidates.
    Packet(String, u32, u64, ReportRecord),
    /// The number of feedback on a packet.
    Feedback(u64),
    /// The address of a packet that was removed, and how many versions it had.
    Cleared(String, u32),
}

/// The report on the candidates of a packet: the number in it, the numbers of others by reason, the
/// tokens of all, and the keys that the receiver may not read.
type ReportRecord = (u32, Vec<(String, u32)>, u32, Vec<String>);

fn report_record(it: &Report) -> ReportRecord {
    let omitted = it.omitted.iter().map(|(reason, count)| (reason.as_str().to_owned(), *count));
    let withheld = it.withheld.iter().map(|it| it.as_str().to_owned());
    (it.included, omitted.collect(), it.before.0, withheld.collect())
}

fn stored_report((included, omitted, before, withheld): ReportRecord) -> Result<Report, Error> {
    let reason = |(reason, count): (String, u32)| {
        Ok::<_, Error>((Reason::parse(&reason).map_err(damaged)?, count))
    };
    Ok(Report {
        included,
        omitted: omitted.into_iter().map(reason).collect::<Result<_, _>>()?,
        before: Tokens(before),
        withheld: withheld.iter().map(|it| stored_key(it)).collect::<Result<_, _>>()?,
    })
}

#[derive(Serialize, Deserialize)]
pub(super) struct RestoredRecord {
    label: String,
    written: Vec<(String, u64)>,
    deleted: Vec<String>,
    unchanged: u32,
}

impl RestoredRecord {
    fn new(it: &Restored) -> Self {
        let named = |key: &Key| key.as_str().to_owned();
        Self {
            label: it.label.as_str().to_owned(),
            written: it.written.iter().map(|(key, version)| (named(key), *version)).collect(),
            deleted: it.deleted.iter().map(named).collect(),
            unchanged: it.unchanged,
        }
    }

    fn into_restored(self) -> Result<Restored, Error> {
        let written = self.written.iter().map(|(key, version)| Ok((stored_key(key)?, *version)));
        Ok(Restored {
            label: stored_label(&self.label)?,
            written: written.collect::<Result<_, Error>>()?,
            deleted: self.deleted.iter().map(|it| stored_key(it)).collect::<Result<_, _>>()?,
            unchanged: self.unchanged,
        })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct WrittenRecord {
    pub(super) key: String,
    pub(super) entry: EntryRecord,
    pub(super) warnings: Vec<(String, String)>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct DeletedRecord {
    pub(super) key: String,
    pub(super) previous_version: u64,
}

impl WrittenRecord {
    fn new(Written { entry, warnings }: &Written) -> Self {
        let warnings = warnings.iter();
        Self {
            key: entry.key.as_str().to_owned(),
            entry: EntryRecord::new(entry),
            warnings: warnings
                .map(|it| (it.code.as_str().to_owned(), it.message.clone()))
                .collect(),
        }
    }

    fn into_written(self) -> Result<Written, Error> {
        let warnings = self.warnings.into_iter().map(|(code, message)| {
            let code = WarningCode::ALL.into_iter().find(|it| it.as_str() == code);
            let code = code.ok_or_else(|| damaged("warning is not known"))?;
            Ok::<_, Error>(Warning { code, message })
        });
        Ok(Written {
            warnings: warnings.collect::<Result<_, _>>()?,
            entry: self.entry.into_entry(stored_key(&self.key)?)?,
        })
    }
}

impl DeletedRecord {
    fn new(Deleted { key, previous_version }: &Deleted) -> Self {
        Self { key: key.as_str().to_owned(), previous_version: *previous_version }
    }

    fn into_deleted(self) -> Result<Deleted, Error> {
        let key = stored_key(&self.key)?;
        Ok(Deleted { key, previous_version: self.previous_version })
    }
}

/// Encodes the reply at `revision` to a request with this digest.
pub(crate) fn encode_answer(
    digest: [u8; 16],
    revision: Revision,
    reply: &Reply,
) -> Result<Vec<u8>, Error> {
    let answer = match reply {
        Reply::Written(it) => AnswerRecord::Written(WrittenRecord::new(it)),
        Reply::Deleted(it) => AnswerRecord::Deleted(DeletedRecord::new(it)),
        Reply::BatchWritten(it) => AnswerRecord::Batch(
            it.written.iter().map(WrittenRecord::new).collect(),
            it.deleted.iter().map(DeletedRecord::new).collect(),
        ),
        Reply::Rounds(RoundsReply::Round(it)) => AnswerRecord::Round(RoundRecord::new(it, 0)),
        Reply::Rounds(RoundsReply::Closed(it)) => {
            AnswerRecord::Round(RoundRecord::new(&it.round, 0))
        }
        Reply::Rounds(RoundsReply::Proposed(it)) => {
            AnswerRecord::Previewed(ProposedRecord::new(it))
        }
        Reply::Rounds(RoundsReply::Excluded(it)) => AnswerRecord::Excluded(
            it.round,
            it.status == Status::Rejected,
            it.sequences.clone(),
            it.unchanged.clone(),
        ),
        Reply::Session(_) => AnswerRecord::Session,
        Reply::Snapshot(it) => AnswerRecord::Snapshot(encode_snapshot_info(it)?),
        Reply::Restored(it) => AnswerRecord::Restored(RestoredRecord::new(it)),
        Reply::Redacted(it) => {
            AnswerRecord::Redacted(it.key.as_str().to_owned(), it.digests.clone())
        }
        Reply::Context(ContextReply::Assembled(it)) => {
            let id = it.id.ok_or_else(|| damaged("only a kept envelope is remembered"))?;
            AnswerRecord::Envelope(id.number)
        }
        Reply::Compaction(CompactionReply::Compacted { envelope: Some(number), .. }) => {
            AnswerRecord::Envelope(*number)
        }
        Reply::Context(ContextReply::Injection(it)) => {
            AnswerRecord::Injection(rows::encode_injection(it)?)
        }
        Reply::Context(ContextReply::Missing(it)) => {
            AnswerRecord::Missing(it.id.number, it.answer.is_some())
        }
        Reply::Packets(PacketsReply::Written(it)) => {
            let (address, version) = (it.packet.address.as_str(), it.packet.version);
            let number = it.packet.id.as_deref().and_then(packets::kept::packet_number);
            let number = number.ok_or_else(|| damaged("only a kept packet is remembered"))?;
            AnswerRecord::Packet(address.to_owned(), version, number, report_record(&it.report))
        }
        Reply::Packets(PacketsReply::Feedback(it)) => AnswerRecord::Feedback(it.number),
        Reply::Packets(PacketsReply::Cleared(address, versions)) => {
            AnswerRecord::Cleared(address.as_str().to_owned(), *versions)
        }
        _ => return Err(damaged("this kind of answer is not remembered")),
    };
    encode(&RequestRecord { digest, revision: revision.0, answer })
}

/// Redacts the stored reply to a request about rounds. Returns the new bytes; `None` for other
/// requests.
pub(crate) fn redact_answer(
    bytes: &[u8],
    redaction: &mut Redaction<'_>,
) -> Result<Option<Vec<u8>>, Error> {
    let mut it: RequestRecord = decode_either::<_, format_1::RequestRecord>(bytes)?;
    it.answer = match it.answer {
        AnswerRecord::Round(round) => {
            let mut round = round.into_round()?;
            redaction.round(&mut round)?;
            AnswerRecord::Round(RoundRecord::new(&round, 0))
        }
        AnswerRecord::Previewed(proposed) => {
            let mut proposed = proposed.into_proposed()?;
            redaction.proposed(&mut proposed);
            AnswerRecord::Previewed(ProposedRecord::new(&proposed))
        }
        _ => return Ok(None),
    };
    encode(&it).map(Some)
}

/// Returns the first reply to a request if its digest is `digest`; `None` for the session as it is.
///
/// # Errors
///
/// [`Error::RequestIdReused`] if the digest is of another request.
pub(crate) fn decode_answer(
    bytes: &[u8],
    digest: [u8; 16],
) -> Result<(Revision, Option<Reply>), Error> {
    let it: RequestRecord = decode_either::<_, format_1::RequestRecord>(bytes)?;
    if it.digest != digest {
        return Err(Error::RequestIdReused);
    }
    let reply = match it.answer {
        AnswerRecord::Written(it) => Reply::Written(it.into_written()?),
        AnswerRecord::Deleted(it) => Reply::Deleted(it.into_deleted()?),
        AnswerRecord::Round(it) => Reply::Rounds(RoundsReply::Round(Box::new(it.into_round()?))),
        AnswerRecord::Proposed(round, first, count) => {
            let (deltas, has_losses, more_losses) = (Vec::new(), false, 0);
            let it = Proposed { round, first, count, deltas, has_losses, more_losses };
            Reply::Rounds(RoundsReply::Proposed(it))
        }
        AnswerRecord::Previewed(it) => Reply::Rounds(RoundsReply::Proposed(it.into_proposed()?)),
        AnswerRecord::Excluded(round, is_rejection, sequences, unchanged) => {
            let status = if is_rejection { Status::Rejected } else { Status::Withdrawn };
            Reply::Rounds(RoundsReply::Excluded(ExclusionResult {
                round,
                status,
                sequences,
                unchanged,
            }))
        }
        AnswerRecord::Envelope(number) => {
            Reply::Context(ContextReply::KeptEnvelope(KeptId::envelope(number)))
        }
        AnswerRecord::Injection(it) => {
            Reply::Context(ContextReply::Injection(Box::new(rows::decode_injection(&it)?)))
        }
        AnswerRecord::Missing(number, is_answered) => {
            Reply::Context(ContextReply::KeptMissing(KeptId::missing(number), is_answered))
        }
        AnswerRecord::Packet(address, version, number, report) => {
            let address = Address::parse(&address).map_err(damaged)?;
            let report = stored_report(report)?;
            Reply::Packets(PacketsReply::KeptWritten(address, version, number, report))
        }
        AnswerRecord::Feedback(number) => Reply::Packets(PacketsReply::KeptFeedback(number)),
        AnswerRecord::Cleared(address, versions) => {
            let address = Address::parse(&address).map_err(damaged)?;
            Reply::Packets(PacketsReply::Cleared(address, versions))
        }
        AnswerRecord::Session => return Ok((Revision(it.revision), None)),
        AnswerRecord::Snapshot(it) => Reply::Snapshot(decode_snapshot_info(&it)?),
        AnswerRecord::Restored(it) => Reply::Restored(it.into_restored()?),
        AnswerRecord::Redacted(key, digests) => {
            Reply::Redacted(Redacted { key: stored_key(&key)?, digests })
        }
        AnswerRecord::Batch(written, deleted) => {
            let written = written.into_iter().map(WrittenRecord::into_written);
            let deleted = deleted.into_iter().map(DeletedRecord::into_deleted);
            Reply::BatchWritten(BatchWritten {
                written: written.collect::<Result<_, _>>()?,
                deleted: deleted.collect::<Result<_, _>>()?,
            })
        }
    };
    Ok((Revision(it.revision), Some(reply)))
}

/// Returns the digest that identifies a command without a member for its name.
pub(crate) fn command_digest(it: &Command) -> Result<[u8; 16], Error> {
    if let Command::Context(it) = it
        && let Some(digest) = rows::command_digest(it)
    {
        return digest;
    }
    if let Command::Packets(it) = it
        && let Some(digest) = packets::rows::command_digest(it)
    {
        return digest;
    }
    if let Command::Compaction(CompactionCommand::Compact(it)) = it {
        return rows::compaction_digest(it);
    }
    // One form for all, so that there is one encoding.
    let (name, about, text, revision) = match it {
        Command::ArchiveSession => ("archive_session", "", None, None),
        Command::RevokeCredentials => ("revoke_credentials", "", None, None),
        Command::TakeSnapshot { label, note } => {
            ("snapshot", label.as_str(), note.as_ref().map(Line::as_str), None)
        }
        Command::RestoreSnapshot(label) => ("restore_snapshot", label.as_str(), None, None),
        Command::Redact { key, revision, reason } => {
            ("redact", key.as_str(), Some(reason.as_str()), revision.map(|it| it.0))
        }
        _ => return Err(Error::malformed("request_id is not for this action; leave it out")),
    };
    digest(&(name, about, text, revision))
}

/// Returns the digest that identifies the creation of a session with `config` and these rows.
pub(crate) fn creation_digest(
    config: &Config,
    (is_archived, created_at): (bool, Timestamp),
    rows: &[Change],
) -> Result<[u8; 16], Error> {
    let meta = Meta::new(Revision(0), 0, Timestamp(0), config).encode()?;
    let rows = rows.iter().filter_map(|it| match it {
        Change::Put(row, bytes) => Some((row, bytes)),
        _ => None,
    });
    digest(&("create_session", meta, is_archived, created_at.0, rows.collect::<Vec<_>>()))
}

/// Returns the digest that identifies a write.
pub(crate) fn write_digest(it: &Write) -> Result<[u8; 16], Error> {
    let plain = ("write", it.key.as_str(), &it.value, condition(&it.condition));
    if it.options == WriteOptions::default() {
        // The same digest as in format 1.
        return digest(&plain);
    }
    digest(&(plain, options(&it.options)))
}

/// Returns the digest that identifies a delete.
pub(crate) fn delete_digest(it: &Delete) -> Result<[u8; 16], Error> {
    digest(&("delete", it.key.as_str(), condition(&it.condition)))
}

/// Returns the digest that identifies a batch.
pub(crate) fn batch_digest(it: &Batch) -> Result<[u8; 16], Error> {
    let writes = it.writes.iter().map(write_digest).collect::<Result<Vec<_>, _>>()?;
    let deletes = it.deletes.iter().map(delete_digest).collect::<Result<Vec<_>, _>>()?;
    digest(&("write_batch", writes, deletes))
}

fn condition(it: &Condition) -> (Option<u64>, Option<u64>) {
    (it.if_version, it.if_revision.map(|it| it.0))
}

fn options(it: &WriteOptions) -> impl Serialize {
    let expiry = it.expiry.map(|it| match it {
        Expiry::After(ttl) => (Some(ttl.seconds()), None),
        Expiry::At(at) => (None, Some(at.0)),
    });
    let readable_by = it.access.readable_by.as_ref().map(list_to_store);
    let writable_by = it.access.writable_by.as_ref().map(list_to_store);
    (expiry, readable_by, writable_by, it.keeps_history)
}
