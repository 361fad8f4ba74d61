//! A position in a session's change feed, and the credential that reads on from there. `watch` and
//! `socket` decide when to read and how to send the changes.
//!
//! # Invariant
//!
//! Nothing is read for an invalid credential: the session checks it on each read, and expiry is
//! checked before.

use std::sync::Arc;

use shared_context_codec::{Caller, Failure, Reply};

use super::tool::ToolRequest;
use crate::{Engine, credential::Keys};

/// Commits per read. This bounds the memory for a reader that does not drain its socket.
const COMMITS_READ: u64 = 32;

/// Position of one reader in the change feed of a session.
pub(crate) struct Cursor {
    pub(crate) keys: Arc<Keys>,
    /// Header `Authorization` as it was sent.
    pub(crate) authorization: String,
    pub(crate) caller: Caller,
    pub(crate) scope: String,
    /// Key pattern of the changes to send; `None` for all.
    pub(crate) filter: Option<String>,
    /// True to leave out the caller's own changes.
    pub(crate) except_own: bool,
    /// Revision up to which changes were read.
    pub(crate) since: u64,
}

impl Cursor {
    /// Reads the next page of changes.
    ///
    /// # Errors
    ///
    /// Errors of the session, such as for callers that may not read the changes, or not from there.
    pub(super) async fn read<E: Engine>(&self, engine: &E) -> Result<Reply, Failure> {
        self.check(engine)?;
        let request = ToolRequest::new("changes")
            .with("since", Some(self.since))
            .with("limit", Some(COMMITS_READ))
            .with("keys", self.filter.as_deref())
            .with("except_own", self.except_own.then_some(true));
        engine.invoke(&self.scope, &self.caller, &request.into_bytes()).await
    }

    /// Checks that the credential has not expired.
    ///
    /// # Errors
    ///
    /// `UNAUTHENTICATED`.
    pub(super) fn check<E: Engine>(&self, engine: &E) -> Result<(), Failure> {
        self.keys.identify(Some(&self.authorization), engine.now()).map(drop)
    }
}
