//! Safe retries (spec 3.6): a request with a request id gets its first reply again, as
//! long as the session remembers it.

use super::{Decision, OpenSession, answer};
use crate::{
    Error,
    key::RequestId,
    kv::{Bucket, Revision},
    participant::Caller,
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
        Ok(Some(IdempotencyKey::new(self.caller, id, digest()?)))
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
            Ok((revision, Some(reply))) => Ok(Ok(Some(answer(revision, reply, &self.meta)))),
            Ok((_, None)) => self.show().map(|it| Ok(Some(it))),
            Err(reused @ Error::RequestIdReused) => Ok(Err(reused)),
            Err(error) => Err(error),
        }
    }

    /// Returns the stored reply to a [`Command::Named`](crate::Command::Named) if the same command
    /// was executed before. The caller has checked the role.
    pub(super) fn first_reply(&self) -> Result<Option<Decision>, Error> {
        self.replay(self.idempotency_key.as_ref())?
    }
}

/// The stored reply to the same request, if any; or the error for another request under
/// its id.
pub(super) type Replay = Result<Option<Decision>, Error>;

/// The idempotency record's row and digest.
#[derive(Clone)]
pub(super) struct IdempotencyKey {
    /// The row that stores the reply.
    row: String,
    /// The digest of the request.
    digest: [u8; 16],
}

impl IdempotencyKey {
    /// Creates the key of a request of `caller`.
    pub(super) fn new(caller: &Caller, id: &RequestId, digest: [u8; 16]) -> Self {
        Self { row: record::request_row(&caller.participant, id), digest }
    }
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
