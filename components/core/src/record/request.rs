//! The rows `q/`: what was answered first to a request, and a digest of what was
//! asked, by which the same request is known again.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{damaged, decode, encode, entry::EntryRecord, stored_key};
use crate::{
    Error,
    command::{Condition, Delete, Deleted, Reply, Write, Written},
    port::Revision,
    store::advice::{Advice, AdviceCode},
};

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
