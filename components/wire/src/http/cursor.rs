//! A place in a session's change feed, and who reads on from there.
//!
//! Not here: when there is something to read, and how it is told (`watch`,
//! `socket`).
//!
//! # Invariant
//!
//! Nothing is read for a credential that is no longer good: the session is asked
//! anew each time, and expiry is checked before.

use std::sync::Arc;

use shared_context_codec::{Caller, Failure, Reply};

use super::tool::ToolRequest;
use crate::{Engine, credential::Keys};

/// How many commits are read at a time: what they did is all that lies in memory
/// for a reader that takes nothing.
const COMMITS_READ: u64 = 32;

/// A place in the change feed of one session.
pub(crate) struct Cursor {
    pub(crate) keys: Arc<Keys>,
    /// The credential as it was sent.
    pub(crate) authorization: String,
    pub(crate) caller: Caller,
    pub(crate) scope: String,
    /// The key pattern of the changes to be told; all when there is none.
    pub(crate) filter: Option<String>,
    /// The revision up to which changes were read.
    pub(crate) since: u64,
}

impl Cursor {
    /// Returns the changes that come next, a page of them.
    ///
    /// # Errors
    ///
    /// What the session answers to who may not read them, or not from there.
    pub(super) async fn read<E: Engine>(&self, engine: &E) -> Result<Reply, Failure> {
        self.check(engine)?;
        let request = ToolRequest::new("changes")
            .with("since", Some(self.since))
            .with("limit", Some(COMMITS_READ))
            .with("keys", self.filter.as_deref());
        engine.invoke(&self.scope, &self.caller, &request.into_bytes()).await
    }

    /// Makes sure that the credential has not expired.
    ///
    /// # Errors
    ///
    /// `UNAUTHENTICATED`.
    pub(super) fn check<E: Engine>(&self, engine: &E) -> Result<(), Failure> {
        self.keys.identify(Some(&self.authorization), engine.now()).map(drop)
    }
}
