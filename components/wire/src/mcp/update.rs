//! Subscriptions of a client to resources of a session, and the notifications of their changes.
//!
//! A notification names a resource and nothing more; the client reads it again. Of all changes in
//! one read, each resource is therefore notified once. [`listen`](super::listen) and
//! [`legacy`](super::legacy) handle the requests to subscribe.
//!
//! # Invariants
//!
//! - A client is notified only of its subscriptions, and only of changes that the change feed shows
//!   to its credential.
//! - Subscriptions take little memory: [`SUBSCRIPTIONS_MAX`] URIs of [`SUBSCRIPTION_BYTES_MAX`] in
//!   total.

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
    packets::Address,
    pattern::KeyPatterns,
};

use super::{notice::Notice, uri::ResourceUri};
use crate::credential::Identity;

/// Most resources of one stream or one handshake.
pub(super) const SUBSCRIPTIONS_MAX: usize = 1_000;

/// Most bytes of their URIs in total.
pub(super) const SUBSCRIPTION_BYTES_MAX: usize = 64 << 10;

/// Longest URI that is parsed, in bytes. A session's resource with every byte of its names
/// percent-encoded has less than 800.
const URI_BYTES_MAX: usize = 1_024;

/// A resource of a session that changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Resource {
    /// List of the keys.
    Keys,
    /// Working memory as text.
    Context,
    /// Entry with this key, which need not exist yet.
    Entry(String),
    /// Packet of this address, which need not exist yet.
    Packet(String),
}

/// Subscriptions of a client: resources of one session with the URIs it sent, and optionally the
/// list.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    /// URIs of each resource, as they were sent.
    uris: BTreeMap<Resource, Vec<String>>,
    count: usize,
    bytes: usize,
    /// True if the client is notified of changes to the list of resources.
    pub(super) is_list: bool,
}

/// Outcome of adding a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddOutcome {
    /// It was added.
    New,
    /// It existed already.
    Known,
    /// A limit is reached.
    TooMany,
}

/// Members of a change that decide about notifications.
#[derive(Deserialize)]
struct Change<'b> {
    action: &'b str,
    key: Option<&'b str>,
    version: Option<u64>,
    /// Address of a packet, for an action on one.
    label: Option<&'b str>,
}

impl Resource {
    /// Parses `uri` into a session and a resource of it; `None` if no session can have such a
    /// resource.
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
            ResourceUri::Packet { session, address } => {
                let address = Address::parse(&address).ok()?;
                Some((session, Self::Packet(address.as_str().to_owned())))
            }
            ResourceUri::Context { session } => Some((session, Self::Context)),
            ResourceUri::Skill => None,
        }
    }

    /// Returns true if `identity`, a participant of its session or the admin, may be notified of
    /// it: the credential must be valid for its key.
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

impl Subscriptions {
    /// Creates a subscription to only the list of resources.
    pub(super) fn list() -> Self {
        Self { is_list: true, ..Self::default() }
    }

    /// Adds `resource` under the name `uri`.
    pub(super) fn add(&mut self, resource: Resource, uri: &str) -> AddOutcome {
        if self.uris.get(&resource).is_some_and(|uris| uris.iter().any(|it| it == uri)) {
            return AddOutcome::Known;
        }
        let bytes = self.bytes.saturating_add(uri.len());
        if self.count >= SUBSCRIPTIONS_MAX || bytes > SUBSCRIPTION_BYTES_MAX {
            return AddOutcome::TooMany;
        }
        self.bytes = bytes;
        self.uris.entry(resource).or_default().push(uri.to_owned());
        self.count = self.count.saturating_add(1);
        AddOutcome::New
    }

    /// Removes the subscription to `resource` under the name `uri`, if there is one.
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

    /// Returns true if there are no subscriptions.
    pub(super) fn is_empty(&self) -> bool {
        !self.is_list && self.uris.is_empty()
    }

    /// Returns the notifications for `changes`, which are in order: each once, where it first
    /// occurs.
    ///
    /// # Errors
    ///
    /// A change is not of a kind that a session makes.
    pub(super) fn notices_for(&self, changes: &[&RawValue]) -> serde_json::Result<Vec<Notice<'_>>> {
        let mut notices_due = UniqueNotices::default();
        for change in changes {
            let change: Change<'_> = serde_json::from_str(change.get())?;
            let action = change.action()?;
            let touches = change.touches(action);
            if touches == Touches::Everything {
                notices_due.add(self.everything());
                continue;
            }
            let packet = change.packet(action);
            let is_listed = match packet {
                // Later versions do not change the list.
                Some(_) => action != AuditAction::EditPacket,
                None => touches == Touches::Keys,
            };
            if self.is_list && is_listed {
                notices_due.add([Notice::ListChanged]);
            }
            notices_due.add(self.uris(&Resource::Keys));
            if touches == Touches::Keys || change.key.is_some() {
                notices_due.add(self.uris(&Resource::Context));
            }
            if let Some(address) = packet {
                notices_due.add(self.uris(&Resource::Packet(address.to_owned())));
            }
            if let Some(key) = change.key {
                notices_due.add(self.uris(&Resource::Entry(key.to_owned())));
            }
        }
        Ok(notices_due.notices)
    }

    /// Returns all notifications, for a client that missed changes.
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
    fn action(&self) -> serde_json::Result<AuditAction> {
        let unknown = || serde::de::Error::custom("an action that no session has");
        AuditAction::named(self.action).ok_or_else(unknown)
    }

    fn touches(&self, action: AuditAction) -> Touches {
        // Later versions do not change the list.
        let is_new = action == AuditAction::Write && self.version == Some(1);
        if is_new { Touches::Keys } else { action.touches() }
    }

    /// Returns the address of the packet whose text the change affects.
    fn packet(&self, action: AuditAction) -> Option<&str> {
        let is_of_text = matches!(
            action,
            AuditAction::GeneratePacket | AuditAction::EditPacket | AuditAction::ClearPacket
        );
        self.label.filter(|_| is_of_text)
    }
}

/// Notifications in order, without duplicates.
#[derive(Default)]
struct UniqueNotices<'w> {
    notices: Vec<Notice<'w>>,
    known: BTreeSet<Notice<'w>>,
}

impl<'w> UniqueNotices<'w> {
    fn add(&mut self, notices: impl IntoIterator<Item = Notice<'w>>) {
        for notice in notices {
            if self.known.insert(notice) {
                self.notices.push(notice);
            }
        }
    }
}
