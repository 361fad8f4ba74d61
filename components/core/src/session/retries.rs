//! Safe retries (spec 3.6): a request that its caller named is answered as the first time
//! while the session remembers it.

use super::{Decision, Opened, answer};
use crate::{
    Error,
    key::RequestId,
    kv::{Bucket, Revision},
    record,
    reply::Reply,
};

impl<B: Bucket> Opened<'_, B> {
    /// Returns what a request is known by again, if its caller named it.
    pub(super) fn asked(
        &self,
        request_id: Option<&RequestId>,
        digest: impl FnOnce() -> Result<[u8; 16], Error>,
    ) -> Result<Option<Asked>, Error> {
        let Some(id) = request_id else { return Ok(None) };
        let row = record::request_row(&self.caller.participant, id);
        Ok(Some(Asked { row, digest: digest()? }))
    }

    /// Returns what was answered when the same request was made before.
    ///
    /// # Errors
    ///
    /// What kept it from being looked up: nothing is refused before that is known.
    pub(super) fn first_answer(&self, asked: Option<&Asked>) -> Result<Replay, Error> {
        let Some(Asked { row, digest }) = asked else { return Ok(Ok(None)) };
        let Some(bytes) = self.bucket.get(row)? else { return Ok(Ok(None)) };
        match record::decode_answer(&bytes, *digest) {
            Ok((revision, reply)) => Ok(Ok(Some(answer(revision, reply, &self.meta)))),
            Err(reused @ Error::RequestIdReused) => Ok(Err(reused)),
            Err(error) => Err(error),
        }
    }
}

/// What was answered to the same request, if it was made before; or the refusal of
/// another one under its id.
pub(super) type Replay = Result<Option<Decision>, Error>;

/// What a request is known by again.
pub(super) struct Asked {
    /// The row that remembers its answer.
    row: String,
    /// What it asks for.
    digest: [u8; 16],
}

/// Returns the row that remembers `reply` as the answer to a request, and its bytes.
pub(super) fn answer_row(
    asked: Option<Asked>,
    revision: Revision,
    reply: &Reply,
) -> Result<Option<(String, Vec<u8>)>, Error> {
    let Some(Asked { row, digest }) = asked else { return Ok(None) };
    Ok(Some((row, record::encode_answer(digest, revision, reply)?)))
}
