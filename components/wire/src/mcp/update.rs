//! Which resources of a session a client wants to hear of, and what it is told
//! when they change.
//!
//! A notification names a resource and says no more: the client reads it anew. So
//! of all changes that are read at once, each resource is told once. Not here: how
//! a client says what it wants ([`listen`](super::listen), [`legacy`](super::legacy)).
//!
//! # Invariants
//!
//! - Nothing is told that the client did not ask for, and nothing of a change that
//!   the change feed does not tell its credential.
//! - What a client wants takes up little: [`SUBSCRIPTIONS_MAX`] URIs of
//!   [`SUBSCRIPTION_BYTES_MAX`] in all.

#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use serde::Deserialize;
use serde_json::value::RawValue;
use shared_context_core::{
    Key,
    audit::{AuditAction, Touches},
    pattern::KeyPatterns,
};

use super::{notice::Notice, uri::ResourceUri};
use crate::credential::Identity;

/// The most resources that one stream, or one handshake, tells of.
pub(super) const SUBSCRIPTIONS_MAX: usize = 1_000;

/// The bytes that the URIs of these may have in all.
pub(super) const SUBSCRIPTION_BYTES_MAX: usize = 64 << 10;

/// The longest URI of a session's resource, with every byte of its names
/// percent-encoded, has less than 800 bytes.
const URI_BYTES_MAX: usize = 1_024;

/// A resource of a session that changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Resource {
    /// The list of the keys.
    Keys,
    /// The entry under this key, which need not be there yet.
    Entry(String),
}

/// What a client wants to hear of: resources of one session by the URIs it wrote,
/// and whether others came or went.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// Each resource under all names it was given.
    uris: BTreeMap<Resource, Vec<String>>,
    count: usize,
    bytes: usize,
    /// Whether it wants to hear that the list of resources changed.
    pub(super) is_list: bool,
}

/// What became of one more resource that a client wants to hear of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Added {
    /// It was added.
    New,
    /// It was wanted already.
    Known,
    /// There is no more room.
    TooMany,
}

/// What is looked at of a change.
#[derive(Deserialize)]
struct Change<'b> {
    action: &'b str,
    key: Option<&'b str>,
    version: Option<u64>,
}

impl Resource {
    /// Returns the session and the resource of it that `uri` names; `None` for what no
    /// session could have.
    pub(super) fn parse(uri: &str) -> Option<(Cow<'_, str>, Self)> {
        if uri.len() > URI_BYTES_MAX {
            return None;
        }
        match ResourceUri::parse(uri)? {
            ResourceUri::Keys { session } => Some((session, Self::Keys)),
            ResourceUri::Entry { session, key } => {
                let key = Key::parse(&key).ok()?;
                Some((session, Self::Entry(key.as_str().to_owned())))
            }
            ResourceUri::Skill => None,
        }
    }

    /// Returns whether it could ever be told of to `identity`, a participant of its
    /// session or the admin: not what the credential is not for.
    pub(super) fn is_granted(&self, identity: &Identity) -> bool {
        match (self, identity) {
            (Self::Entry(key), Identity::Participant(grant)) if !grant.keys.is_empty() => {
                let keys = KeyPatterns::parse(&grant.keys);
                Key::parse(key).is_ok_and(|key| keys.is_ok_and(|keys| keys.has(&key)))
            }
            _ => true,
        }
    }
}

impl Wanted {
    /// Creates that the list of resources changed, and nothing else.
    pub(super) fn list() -> Self {
        Self { is_list: true, ..Self::default() }
    }

    /// Adds `resource` under the name `uri`.
    pub(super) fn add(&mut self, resource: Resource, uri: &str) -> Added {
        if self.uris.get(&resource).is_some_and(|uris| uris.iter().any(|it| it == uri)) {
            return Added::Known;
        }
        let bytes = self.bytes.saturating_add(uri.len());
        if self.count >= SUBSCRIPTIONS_MAX || bytes > SUBSCRIPTION_BYTES_MAX {
            return Added::TooMany;
        }
        self.bytes = bytes;
        self.uris.entry(resource).or_default().push(uri.to_owned());
        self.count = self.count.saturating_add(1);
        Added::New
    }

    /// Takes back that `resource` is wanted under the name `uri`, if it was.
    pub(super) fn remove(&mut self, resource: &Resource, uri: &str) {
        let Some(uris) = self.uris.get_mut(resource) else { return };
        let before = uris.len();
        uris.retain(|it| it != uri);
        if uris.len() < before {
            self.count = self.count.saturating_sub(1);
            self.bytes = self.bytes.saturating_sub(uri.len());
        }
        if uris.is_empty() {
            self.uris.remove(resource);
        }
    }

    /// Returns whether nothing is wanted.
    pub(super) fn is_empty(&self) -> bool {
        !self.is_list && self.uris.is_empty()
    }

    /// Returns what is told of `changes`, which are in order: each notification once,
    /// where it is due first.
    ///
    /// # Errors
    ///
    /// A change is none that a session makes.
    pub(super) fn told_of(&self, changes: &[&RawValue]) -> serde_json::Result<Vec<Notice<'_>>> {
        let mut told = Told::default();
        for change in changes {
            let change: Change<'_> = serde_json::from_str(change.get())?;
            let touches = change.touches()?;
            if touches == Touches::Everything {
                told.add(self.everything());
                continue;
            }
            if self.is_list && touches == Touches::Keys {
                told.add([Notice::ListChanged]);
            }
            told.add(self.uris(&Resource::Keys));
            if let Some(key) = change.key {
                told.add(self.uris(&Resource::Entry(key.to_owned())));
            }
        }
        Ok(told.notices)
    }

    /// Returns what is told to a client that missed changes: all that it wants to hear.
    pub(super) fn everything(&self) -> impl Iterator<Item = Notice<'_>> {
        let list = self.is_list.then_some(Notice::ListChanged);
        let uris = self.uris.values().flatten();
        list.into_iter().chain(uris.map(|it| Notice::Updated(it)))
    }

    fn uris(&self, resource: &Resource) -> impl Iterator<Item = Notice<'_>> {
        let uris = self.uris.get(resource).into_iter().flatten();
        uris.map(|it| Notice::Updated(it))
    }
}

impl Change<'_> {
    fn touches(&self) -> serde_json::Result<Touches> {
        let unknown = || serde::de::Error::custom("an action that no session has");
        let action = AuditAction::named(self.action).ok_or_else(unknown)?;
        // Later versions of an entry are in the list already.
        let is_new = action == AuditAction::Write && self.version == Some(1);
        Ok(if is_new { Touches::Keys } else { action.touches() })
    }
}

/// Notifications in the order they are due, none twice.
#[derive(Default)]
struct Told<'w> {
    notices: Vec<Notice<'w>>,
    known: BTreeSet<Notice<'w>>,
}

impl<'w> Told<'w> {
    fn add(&mut self, notices: impl IntoIterator<Item = Notice<'w>>) {
        for notice in notices {
            if self.known.insert(notice) {
                self.notices.push(notice);
            }
        }
    }
}
