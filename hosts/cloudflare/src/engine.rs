//! The engine that the wire calls, both at the entry and in an object.

use std::{rc::Rc, time::Duration};

use shared_context_codec::{Caller, Failure, Reply};
use shared_context_core::{ScopeKind, time::Timestamp};
use shared_context_wire::Woken;

use crate::{
    directory::DirectoryClient,
    js,
    object::{Object, unavailable},
    remote::BucketClient,
};

/// The engine of this host. It is one type, so that the wire is compiled in only once.
pub(crate) struct Engine {
    backend: Backend,
    directory: DirectoryClient,
}

enum Backend {
    /// The object of the session or project that the request is about. A session's object asks that
    /// of its project, never the other way around.
    Object(Rc<Object>),
    /// The entry. No request waits here for a change: those that do are forwarded to the
    /// session's object.
    Entry(BucketClient),
}

impl Engine {
    /// Creates the engine of `object`.
    pub(crate) fn of(object: Rc<Object>) -> Self {
        Self { directory: object.directory.clone(), backend: Backend::Object(object) }
    }

    /// Creates the engine of the entry.
    pub(crate) fn at_entry(remote: BucketClient, directory: DirectoryClient) -> Self {
        Self { backend: Backend::Entry(remote), directory }
    }

    /// Waits until all changes reported so far are durable.
    pub(crate) async fn settle(&self) -> Result<(), Failure> {
        match &self.backend {
            Backend::Object(object) => object.settle().await,
            Backend::Entry(_) => Ok(()),
        }
    }

    /// Returns the object if this is the engine of one.
    pub(crate) fn object(&self) -> Option<&Rc<Object>> {
        if let Backend::Object(object) = &self.backend { Some(object) } else { None }
    }
}

impl shared_context_wire::Engine for Engine {
    async fn invoke(&self, scope: &str, caller: &Caller, request: &[u8]) -> Result<Reply, Failure> {
        match &self.backend {
            Backend::Object(object) if object.stores(scope) => {
                object.invoke(scope, caller, request).await
            }
            Backend::Object(object) => object.others.invoke(scope, caller, request).await,
            Backend::Entry(others) => others.invoke(scope, caller, request).await,
        }
    }

    async fn ids(
        &self,
        kind: ScopeKind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, Failure> {
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let ids = self.directory.list(kind, after.unwrap_or_default(), limit).await;
        ids.map_err(unavailable)
    }

    async fn position(&self, _: &str) -> u64 {
        self.object().map_or(0, |it| it.position())
    }

    async fn wait_for_change(&self, _: &str, seen: u64, at_most: Duration) -> Woken {
        match &self.backend {
            Backend::Object(object) => object.wait_for_change(seen, at_most).await,
            Backend::Entry(_) => Woken::Stopping,
        }
    }

    fn now(&self) -> Timestamp {
        js::now()
    }

    fn monotonic_micros(&self) -> u64 {
        js::monotonic_micros()
    }
}
