//! What the wire asks, at the entry and in an object alike.

use std::{rc::Rc, time::Duration};

use shared_context_codec::{Caller, Failure, Reply};
use shared_context_core::{ScopeKind, time::Timestamp};
use shared_context_wire::Woken;

use crate::{
    directory::FarDirectory,
    js,
    object::{Object, unavailable},
    remote::Remote,
};

/// The engine of this host: one type, so that the wire is in the program once.
pub(crate) struct Engine {
    place: Place,
    directory: FarDirectory,
}

enum Place {
    /// In the object of the session that is asked about.
    Object(Rc<Object>),
    /// At the entry. Nobody waits here for a change: who does is with the session's
    /// object.
    Entry(Remote),
}

impl Engine {
    /// Creates that of `object`.
    pub(crate) fn of(object: Rc<Object>) -> Self {
        Self { directory: object.directory.clone(), place: Place::Object(object) }
    }

    /// Creates that of the entry.
    pub(crate) fn at_entry(remote: Remote, directory: FarDirectory) -> Self {
        Self { place: Place::Entry(remote), directory }
    }

    /// Waits until all that was told so far is durable.
    pub(crate) async fn settle(&self) -> Result<(), Failure> {
        match &self.place {
            Place::Object(object) => object.settle().await,
            Place::Entry(_) => Ok(()),
        }
    }

    /// Returns the object, if this is one's.
    pub(crate) fn object(&self) -> Option<&Rc<Object>> {
        if let Place::Object(object) = &self.place { Some(object) } else { None }
    }
}

impl shared_context_wire::Engine for Engine {
    async fn invoke(&self, scope: &str, caller: &Caller, request: &[u8]) -> Result<Reply, Failure> {
        match &self.place {
            Place::Object(object) => object.invoke(scope, caller, request).await,
            Place::Entry(remote) => remote.invoke(scope, caller, request).await,
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
        match &self.place {
            Place::Object(object) => object.wait_for_change(seen, at_most).await,
            Place::Entry(_) => Woken::Stopping,
        }
    }

    fn now(&self) -> Timestamp {
        js::now()
    }

    fn monotonic_micros(&self) -> u64 {
        js::monotonic_micros()
    }
}
