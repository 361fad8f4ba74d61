//! Safe retries (spec 3.6): a request with a request id gets its first reply again, as
//! long as the session remembers it.

use super::{Decision, OpenSession, answer};
use crate::{
    Error,
    key::RequestId,
    kv::{Bucket, Revision},
    record,
    reply::Reply,
};

impl<B: Bucket> OpenSession<'_, B> {
    /// Returns the idempotency key of a request that has a request id.
    pub(super) fn idempotency_key(
        &self,
        request_id: Option<&RequestId>,
        digest: impl FnOnce() -> Result<[u8; 16], Error>,
    ) -> Result<Option<IdempotencyKey>, Error> {
        let Some(id) = request_id else { return Ok(None) };
        let row = record::request_row(&self.caller.participant, id);
        Ok(Some(IdempotencyKey { row, digest: digest()? }))
    }

    /// Returns the stored reply if the same request was executed before.
    ///
    /// # Errors
    ///
    /// The errors of reading the stored reply; nothing else is rejected before it is
    /// known.
    pub(super) fn replay(&self, idempotency_key: Option<&IdempotencyKey>) -> Result<Replay, Error> {
        let Some(IdempotencyKey { row, digest }) = idempotency_key else { return Ok(Ok(None)) };
        let Some(bytes) = self.bucket.get(row)? else { return Ok(Ok(None)) };
        match record::decode_answer(&bytes, *digest) {
            Ok((revision, reply)) => Ok(Ok(Some(answer(revision, reply, &self.meta)))),
            Err(reused @ Error::RequestIdReused) => Ok(Err(reused)),
            Err(error) => Err(error),
        }
    }
}

/// The stored reply to the same request, if any; or the error for another request under
/// its id.
pub(super) type Replay = Result<Option<Decision>, Error>;

/// The idempotency record's row and digest.
pub(super) struct IdempotencyKey {
    /// The row that stores the reply.
    row: String,
    /// The digest of the request.
    digest: [u8; 16],
}

/// Returns the row that stores `reply` for retries, with its bytes.
pub(super) fn answer_row(
    idempotency_key: Option<IdempotencyKey>,
    revision: Revision,
    reply: &Reply,
) -> Result<Option<(String, Vec<u8>)>, Error> {
    let Some(IdempotencyKey { row, digest }) = idempotency_key else { return Ok(None) };
    Ok(Some((row, record::encode_answer(digest, revision, reply)?)))
}
