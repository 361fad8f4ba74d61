//! Safe retries: a request that its caller named is answered as the first time
//! while the session remembers it.

use super::{Decision, Opened, answer};
use crate::{
    Error,
    key::RequestId,
    port::{Bucket, Revision},
    record,
    reply::Reply,
};

impl<B: Bucket> Opened<'_, B> {
    /// What a request is known by again, if its caller named it.
    pub(super) fn asked(
        &self,
        request_id: Option<&RequestId>,
        digest: impl FnOnce() -> Result<[u8; 16], Error>,
    ) -> Result<Option<Asked>, Error> {
        let Some(id) = request_id else { return Ok(None) };
        let row = record::request_row(&self.caller.participant, id);
        Ok(Some(Asked { row, digest: digest()? }))
    }

    /// What was answered when the same request was made before.
    pub(super) fn first_answer(&self, asked: Option<&Asked>) -> Result<Option<Decision>, Error> {
        let Some(Asked { row, digest }) = asked else { return Ok(None) };
        let Some(bytes) = self.bucket.get(row)? else { return Ok(None) };
        let (revision, reply) = record::decode_answer(&bytes, *digest)?;
        Ok(Some(answer(revision, reply, &self.meta)))
    }
}

/// What a request is known by again.
pub(super) struct Asked {
    /// The row that remembers its answer.
    row: String,
    /// What it asks for.
    digest: [u8; 16],
}

/// The row that remembers `reply` as the answer to a request, and its bytes.
pub(super) fn answer_row(
    asked: Option<Asked>,
    revision: Revision,
    reply: &Reply,
) -> Result<Option<(String, Vec<u8>)>, Error> {
    let Some(Asked { row, digest }) = asked else { return Ok(None) };
    Ok(Some((row, record::encode_answer(digest, revision, reply)?)))
}
