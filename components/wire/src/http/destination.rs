//! Routing of requests on a server with one host for each session and each project. The host
//! forwards the request.
//!
//! # Invariant
//!
//! The destination agrees with [`Http::handle`]: a request with a destination asks the engine about
//! nothing else, except that a session's asks about its project.

use http::Method;
use shared_context_core::{Scope, ScopeKind, time::Timestamp};

use super::{Http, route, table::Access};

impl Http {
    /// Returns the scope (`session/{id}` or `project/{id}`) to which the whole request belongs. The
    /// body is not needed. The holder of that scope's [`Engine`](crate::Engine) can answer the
    /// request alone. `authorization` is the header of that name, if it was sent once.
    ///
    /// `None`: the recipient answers the request with [`handle`](Self::handle). This applies to
    /// public endpoints and to most rejections, which need no engine; to lists of sessions,
    /// creation and import; to requests with the admin key at `/mcp`; and to the operator's
    /// requests about an invalid id.
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
        // A session's credential opens its project by way of the session, which knows if it is void.
        let first = identity.scope().filter(|it| it.kind() == ScopeKind::Session);
        identity.reaches(&scope).then(|| first.unwrap_or(&scope).bucket_name())
    }
}
