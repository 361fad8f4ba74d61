//! Which host a request is for, on a server that is made of many: one for each
//! session and each project.
//!
//! Not here: how a request gets there, which is the host's.
//!
//! # Invariant
//!
//! What is said here agrees with [`Http::handle`]: a request with a destination
//! asks the engine about nothing else.

use http::Method;
use shared_context_core::{Scope, ScopeKind, time::Timestamp};

use super::{Http, route, table::Access};

impl Http {
    /// Returns the scope (`session/{id}` or `project/{id}`) that the request belongs to whole,
    /// which is told without its body: who has that session's [`Engine`](crate::Engine) may answer
    /// it, and nobody else need look at it. `authorization` is the header of that name, if it was
    /// sent once.
    ///
    /// `None`: it is answered by whoever received it, with
    /// [`handle`](Self::handle). That asks the engine nothing, as for what is open to all
    /// and for most that is refused; or to list sessions, to create or import one,
    /// or what the admin key is used for at `/mcp`; or, for the operator, about a
    /// session or project of an id that none can have.
    pub fn destination(
        &self,
        method: &Method,
        path: &str,
        authorization: Option<&str>,
        now: Timestamp,
    ) -> Option<String> {
        let matched = route::find(path, method)?;
        let access = matched.operation.as_ref()?.access;
        if matches!(access, Access::Open | Access::Admin) {
            return None;
        }
        let identity = self.keys.identify(authorization, now).ok()?;
        if access == Access::Credential {
            let scope = identity.scope().filter(|it| it.kind() == ScopeKind::Session);
            return scope.map(Scope::bucket_name);
        }
        let (kind, id) = matched.scope().ok()?;
        let scope = Scope::new(kind, &id)?;
        let is_theirs = identity.scope().is_none_or(|it| *it == scope);
        is_theirs.then(|| scope.bucket_name())
    }
}
