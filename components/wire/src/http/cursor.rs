//! A position in the change feed of a session or project, and the credential that reads on from
//! there. `watch` and `socket` decide when to read and how to send the changes.
//!
//! # Invariant
//!
//! Nothing is read for an invalid credential: expiry is checked before each read, and the session
//! checks the rest. A project knows no credentials, so its readers' session is asked before.

use std::sync::Arc;

use shared_context_codec::{Caller, Failure, Reply};
use shared_context_core::ScopeKind;

use super::{expect_valid_session, tool::ToolRequest};
use crate::{Engine, credential::Keys};

/// Commits per read. This bounds the memory for a reader that does not drain its socket.
const COMMITS_READ: u64 = 32;

/// Position of one reader in the change feed of a session or project.
pub(crate) struct Cursor {
    pub(crate) keys: Arc<Keys>,
    /// Header `Authorization` as it was sent.
    pub(crate) authorization: String,
    pub(crate) caller: Caller,
    /// Bucket.
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
    /// Errors of the session or project, such as for callers that may not read the changes, or not
    /// from there.
    pub(super) async fn read<E: Engine>(&self, engine: &E) -> Result<Reply, Failure> {
        self.check(engine).await?;
        let request = ToolRequest::new(actions(kind(&self.scope)).changes)
            .with("since", Some(self.since))
            .with("limit", Some(COMMITS_READ))
            .with("keys", self.filter.as_deref())
            .with("except_own", self.except_own.then_some(true));
        engine.invoke(&self.scope, &self.caller, &request.into_bytes()).await
    }

    /// Checks that the credential has not expired, and for a project that its session accepts it.
    ///
    /// # Errors
    ///
    /// `UNAUTHENTICATED`.
    pub(super) async fn check<E: Engine>(&self, engine: &E) -> Result<(), Failure> {
        let identity = self.keys.identify(Some(&self.authorization), engine.now())?;
        match kind(&self.scope) {
            ScopeKind::Session => Ok(()),
            ScopeKind::Project => expect_valid_session(engine, &identity).await,
        }
    }
}

/// The actions that read a feed.
pub(super) struct FeedActions {
    /// Reads changes.
    pub(super) changes: &'static str,
    /// Shows the session or project, with its revision.
    pub(super) show: &'static str,
}

/// Returns the actions that read the feed of a scope of this kind.
pub(super) fn actions(kind: ScopeKind) -> FeedActions {
    match kind {
        ScopeKind::Session => FeedActions { changes: "changes", show: "show_session" },
        ScopeKind::Project => FeedActions { changes: "project_changes", show: "show_project" },
    }
}

/// Returns the kind of the bucket `scope`.
pub(super) fn kind(scope: &str) -> ScopeKind {
    ScopeKind::split(scope).map_or(ScopeKind::Session, |(kind, _)| kind)
}
