//! The rows `q/` of a project: the first reply to a request, and a digest of the request to recognize a
//! retry.

use serde::{Deserialize, Serialize};

use crate::{
    Error, handoffs,
    kv::Revision,
    memories::{
        self, LifecycleAction, Maintained, MaintainedMemory, Mark, MemoryId, RULES,
        rows::{AddedRecord, added_record, stored_added},
    },
    outline::Marker,
    ownership::{
        self,
        rows::{OutlineRecord, outline_record, stored_outline},
    },
    reply::Reply,
    row::{damaged, decode, encode},
};

#[derive(Serialize, Deserialize)]
struct RequestRecord {
    digest: [u8; 16],
    revision: u64,
    answer: AnswerRecord,
}

#[derive(Serialize, Deserialize)]
enum AnswerRecord {
    /// The project, as it is when the reply is sent again.
    Project,
    Added(Vec<AddedRecord>),
    Updated([u8; 16], u32),
    Superseded([u8; 16], [u8; 16]),
    Marked(Vec<[u8; 16]>, String),
    /// The actions of maintenance: action, memory and rule; and true if there was more to do.
    Maintained(Vec<(String, [u8; 16], String)>, bool),
    Redacted([u8; 16], Vec<String>),
    /// The coordination state, as it is when the reply is sent again.
    Coordination,
    Outline(OutlineRecord),
    /// The number of a handoff, which is shown as it is when the reply is sent again.
    Handoff(u64),
}

/// The first reply to a request.
pub(super) enum FirstReply {
    /// The project as it is.
    Project,
    /// The coordination state as it is.
    Coordination,
    /// This reply, at this revision.
    Stored(Revision, Box<Reply>),
    /// The handoff with this number, as it is.
    Handoff(u64),
}

/// Encodes the reply at `revision` to a request with this digest.
pub(super) fn encode_answer(
    digest: [u8; 16],
    revision: Revision,
    reply: &Reply,
) -> Result<Vec<u8>, Error> {
    let answer = match reply {
        Reply::Project(_) => AnswerRecord::Project,
        Reply::Memories(reply) => answer(reply)?,
        Reply::Outline(ownership::Reply::Coordination { .. }) => AnswerRecord::Coordination,
        Reply::Outline(reply) => AnswerRecord::Outline(outline_record(reply)?),
        Reply::Handoffs(handoffs::Reply::Handoff(it)) => AnswerRecord::Handoff(it.handoff.id.0),
        _ => return Err(damaged("this kind of answer is not remembered")),
    };
    encode(&RequestRecord { digest, revision: revision.0, answer })
}

/// Returns the first reply to a request if its digest is `digest`.
///
/// # Errors
///
/// [`Error::RequestIdReused`] if the digest is of another request.
pub(super) fn decode_answer(bytes: &[u8], digest: [u8; 16]) -> Result<FirstReply, Error> {
    let it: RequestRecord = decode(bytes)?;
    if it.digest != digest {
        return Err(Error::RequestIdReused);
    }
    let reply = match it.answer {
        AnswerRecord::Project => return Ok(FirstReply::Project),
        AnswerRecord::Coordination => return Ok(FirstReply::Coordination),
        AnswerRecord::Handoff(number) => return Ok(FirstReply::Handoff(number)),
        AnswerRecord::Outline(it) => Reply::Outline(stored_outline(it)?),
        answer => Reply::Memories(stored(answer)?),
    };
    Ok(FirstReply::Stored(Revision(it.revision), Box::new(reply)))
}

/// Returns a stored reply without the reason of a lease of the section `marker`; `None` if it has none.
pub(super) fn without_reason(bytes: &[u8], marker: &Marker) -> Result<Option<Vec<u8>>, Error> {
    let mut it: RequestRecord = decode(bytes)?;
    let AnswerRecord::Outline(reply) = &mut it.answer else { return Ok(None) };
    if reply.forget_reason(marker) { encode(&it).map(Some) } else { Ok(None) }
}

fn answer(reply: &memories::Reply) -> Result<AnswerRecord, Error> {
    Ok(match reply {
        memories::Reply::Added(all) => AnswerRecord::Added(all.iter().map(added_record).collect()),
        memories::Reply::Updated { id, version } => AnswerRecord::Updated(id.bytes(), *version),
        memories::Reply::Superseded { id, by } => AnswerRecord::Superseded(id.bytes(), by.bytes()),
        memories::Reply::Marked { ids, mark } => {
            let ids = ids.iter().map(|it| it.bytes());
            AnswerRecord::Marked(ids.collect(), mark.as_str().to_owned())
        }
        memories::Reply::Maintained(it) => {
            let action = |it: &MaintainedMemory| {
                (it.action.as_str().to_owned(), it.id.bytes(), it.rule.name.to_owned())
            };
            AnswerRecord::Maintained(it.actions.iter().map(action).collect(), it.has_more)
        }
        memories::Reply::Redacted { id, digests } => {
            AnswerRecord::Redacted(id.bytes(), digests.clone())
        }
        _ => return Err(damaged("this kind of answer is not remembered")),
    })
}

/// Returns the reply about memories that a record stores.
fn stored(it: AnswerRecord) -> Result<memories::Reply, Error> {
    let id = MemoryId::of_bytes;
    Ok(match it {
        AnswerRecord::Project
        | AnswerRecord::Coordination
        | AnswerRecord::Outline(_)
        | AnswerRecord::Handoff(_) => {
            return Err(damaged("the answer is not about memories"));
        }
        AnswerRecord::Added(all) => {
            let all = all.into_iter().map(stored_added);
            memories::Reply::Added(all.collect::<Result<_, _>>()?)
        }
        AnswerRecord::Updated(it, version) => memories::Reply::Updated { id: id(it), version },
        AnswerRecord::Superseded(it, by) => memories::Reply::Superseded { id: id(it), by: id(by) },
        AnswerRecord::Marked(ids, mark) => {
            let mark = Mark::parse(&mark).map_err(damaged)?;
            memories::Reply::Marked { ids: ids.into_iter().map(id).collect(), mark }
        }
        AnswerRecord::Maintained(all, has_more) => {
            let action = |(action, it, rule): (String, [u8; 16], String)| {
                let rule = RULES.iter().find(|it| it.name == rule);
                Ok::<_, Error>(MaintainedMemory {
                    action: LifecycleAction::parse(&action).map_err(damaged)?,
                    id: id(it),
                    rule: rule.ok_or_else(|| damaged("a rule is not known"))?,
                })
            };
            let actions = all.into_iter().map(action).collect::<Result<_, _>>()?;
            memories::Reply::Maintained(Maintained { actions, has_more, is_dry_run: false })
        }
        AnswerRecord::Redacted(it, digests) => memories::Reply::Redacted { id: id(it), digests },
    })
}
