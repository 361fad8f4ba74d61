//! A session as a portable document: one JSON object that anyone can verify.
//!
//! Each value is stored once, under its digest. Every item has a digest of its own, so that an
//! alteration can be located. Digests are SHA-256 over canonical JSON (RFC 8785). They detect
//! accidental changes; they do not prevent forgery, because anyone can compute new digests.

mod items;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    mem,
};

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use shared_context_core::{
    Config, Error, SessionId, canonical, context::kept::KeptContext, digest::sha256,
    packets::kept::KeptPackets, portable::Portable, rounds::RoundHistory, store::Entry,
};

use super::{
    config::{self, ConfigForm},
    replies,
};
use crate::{
    context::document::ContextItem,
    form::{self, Form, Slot, form},
    json::Time,
    packets::document::PacketsItem,
    refusal::malformed,
    rounds::document::RoundItem,
    values::{RawDocument, Values, invalid},
};
use items::{EntryItem, SnapshotItem, VersionItem};

/// Latest format, of a session that keeps packets. This version also reads the earlier ones.
pub(crate) const FORMAT: &str = "shared-context/session/4";
/// Format of a session that keeps something of the context pipeline: earlier versions can read it
/// too.
const FORMAT_WITH_CONTEXT: &str = "shared-context/session/3";
/// Format of a session with rounds: earlier versions can read it too.
const FORMAT_WITH_ROUNDS: &str = "shared-context/session/2";
/// Format of other sessions: even earlier versions can read it.
const FORMAT_OF_ENTRIES: &str = "shared-context/session/1";
/// Prefix of every document's format.
const FORMAT_FAMILY: &str = "shared-context/session/";

/// A document in a request.
pub(crate) type SessionDocument = RawDocument<DocumentForm>;

/// A session, as `export_session` returns it and `import_session` takes it.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "session_document"))]
#[serde(deny_unknown_fields)]
pub(crate) struct DocumentForm {
    /// `shared-context/session/1`, 2 when there are rounds, 3 when there are envelopes or missing
    /// context, or 4 when there are packets.
    format: String,
    /// The session's id where it came from.
    session_id: String,
    /// `active` or `archived`.
    status: String,
    /// When it was created.
    created_at: Time,
    /// What it was created with.
    #[cfg_attr(feature = "schema", schemars(with = "ConfigForm"))]
    config: ConfigItem,
    /// Its entries, by key.
    entries: Vec<EntryItem>,
    /// Their earlier versions, by key, oldest first.
    history: Vec<VersionItem>,
    /// Its snapshots, oldest first.
    snapshots: Vec<SnapshotItem>,
    /// What is kept of its rounds, oldest first; absent when there never was one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rounds: Vec<RoundItem>,
    /// What is kept of the context pipeline; absent when there never was anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<ContextItem>,
    /// What is kept of packets; absent when there never was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    packets: Option<PacketsItem>,
    /// Every value, by its digest: `sha256:` and 64 hexadecimal digits.
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, String>"))]
    values: Values,
    /// The digests of the items.
    digests: Digests,
    /// The digest of an object of `format`, `session_id`, `status`, `created_at`,
    /// `digests`, and as `values` the names of the values in order.
    digest: String,
}

form! {
    DocumentForm:
    format, session_id, status, created_at, config, entries, history, snapshots,
    rounds = or_absent, context, packets, values, digests, digest
}

/// Content of the document's digest: everything, with digests in place of long parts.
#[derive(Serialize)]
struct Outline<'a> {
    format: &'a str,
    session_id: &'a str,
    status: &'a str,
    created_at: Time,
    values: Vec<&'a str>,
    digests: &'a Digests,
}

/// The digests of a document's items, over their canonical JSON (RFC 8785).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_digests"))]
#[serde(deny_unknown_fields)]
pub(crate) struct Digests {
    /// Of the configuration.
    config: String,
    /// Of each entry.
    entries: Vec<String>,
    /// Of each earlier version.
    history: Vec<String>,
    /// Of each snapshot.
    snapshots: Vec<String>,
    /// Of each round; absent when there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rounds: Vec<String>,
    /// Of what is kept of the context pipeline; absent when there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<String>,
    /// Of what is kept of packets; absent when there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    packets: Option<String>,
}

form! { Digests: config, entries, history, snapshots, rounds = or_absent, context, packets }

/// A configuration, serialized with every member present.
#[derive(Debug, Default)]
struct ConfigItem {
    config: Config,
    /// The configuration as it was sent.
    sent: ConfigForm,
}

impl Serialize for ConfigItem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        replies::config(&self.config).serialize(serializer)
    }
}

impl Form for ConfigItem {
    fn names(&self) -> &'static [&'static str] {
        self.sent.names()
    }

    fn slots(&mut self) -> Vec<Option<Slot<'_>>> {
        self.sent.slots()
    }

    fn finish(&mut self) -> Result<(), String> {
        let config = config::parse(mem::take(&mut self.sent));
        self.config = config.map_err(|err| err.to_string())?;
        Ok(())
    }
}

impl DocumentForm {
    /// Creates the document of a session.
    pub(crate) fn new(it: &Portable) -> Self {
        let mut values = Values::default();
        let mut item = |entry: &Entry| {
            let value = it.values.get(&(entry.key.clone(), entry.revision));
            EntryItem::new(entry, values.add(value.cloned().unwrap_or_default()))
        };
        let entries: Vec<EntryItem> = it.entries.iter().map(&mut item).collect();
        let history = it.history.iter().map(|it| VersionItem::new(it, item(&it.entry))).collect();
        let snapshots = it.snapshots.iter().map(|it| SnapshotItem::new(it, &mut item)).collect();
        let RoundHistory { query, rounds } = &it.rounds;
        let format = match (it.packets.is_empty(), it.context.is_empty(), rounds.is_empty()) {
            (false, _, _) => FORMAT,
            (true, false, _) => FORMAT_WITH_CONTEXT,
            (true, true, false) => FORMAT_WITH_ROUNDS,
            (true, true, true) => FORMAT_OF_ENTRIES,
        };
        let rounds = rounds.iter().map(|it| RoundItem::new(it, query.as_ref(), &mut values));
        let rounds = rounds.collect();
        let mut document = Self {
            format: format.to_owned(),
            session_id: it.session.as_str().to_owned(),
            status: if it.is_archived { "archived" } else { "active" }.to_owned(),
            created_at: Time(it.created_at),
            config: ConfigItem { config: it.config.clone(), ..ConfigItem::default() },
            entries,
            history,
            snapshots,
            rounds,
            context: ContextItem::new(&it.context),
            packets: PacketsItem::new(&it.packets),
            values,
            digests: Digests::default(),
            digest: String::new(),
        };
        document.digests = document.digests_of_items();
        document.digest = document.digest_of_all();
        document
    }

    fn digest_of_all(&self) -> String {
        digest(&Outline {
            format: &self.format,
            session_id: &self.session_id,
            status: &self.status,
            created_at: self.created_at,
            values: self.values.0.keys().map(String::as_str).collect(),
            digests: &self.digests,
        })
    }

    fn digests_of_items(&self) -> Digests {
        Digests {
            config: digest(&self.config),
            entries: self.entries.iter().map(digest).collect(),
            history: self.history.iter().map(digest).collect(),
            snapshots: self.snapshots.iter().map(digest).collect(),
            rounds: self.rounds.iter().map(digest).collect(),
            context: self.context.as_ref().map(digest),
            packets: self.packets.as_ref().map(digest),
        }
    }

    /// Checks all digests of the document.
    fn check(&self) -> Result<(), Error> {
        let altered = |place: String| Err(Error::DocumentAltered { place });
        if let Some((name, _)) = self.values.0.iter().find(|(name, value)| sha256(value) != **name)
        {
            let shown: String = name.chars().take(80).collect();
            return altered(format!("values.{shown}"));
        }
        let found = self.digests_of_items();
        if found.config != self.digests.config {
            return altered("config".to_owned());
        }
        let recorded = &self.digests;
        check_items("entries", &found.entries, &recorded.entries, |nth| {
            self.entries.get(nth).map(|it| it.key.as_str())
        })?;
        check_items("history", &found.history, &recorded.history, |nth| {
            self.history.get(nth).map(|it| it.entry.key.as_str())
        })?;
        check_items("snapshots", &found.snapshots, &recorded.snapshots, |nth| {
            self.snapshots.get(nth).map(|it| it.label.as_str())
        })?;
        check_items("rounds", &found.rounds, &recorded.rounds, |_| None)?;
        if found.context != self.digests.context {
            return altered("context".to_owned());
        }
        if found.packets != self.digests.packets {
            return altered("packets".to_owned());
        }
        if self.digest_of_all() == self.digest {
            Ok(())
        } else {
            altered("the document".to_owned())
        }
    }

    /// Rejects values that no item names.
    fn check_values(&self) -> Result<(), Error> {
        let mut left: BTreeSet<&str> = BTreeSet::new();
        left.extend(self.values.0.keys().map(String::as_str));
        let past = self.history.iter().map(|it| &it.entry);
        let held = self.snapshots.iter().flat_map(|it| &it.entries);
        for it in self.entries.iter().chain(past).chain(held) {
            left.remove(it.value.as_str());
        }
        for digest in self.rounds.iter().flat_map(RoundItem::values) {
            left.remove(digest.as_str());
        }
        match left.first() {
            None => Ok(()),
            Some(digest) => Err(invalid(&format!("values.{digest} is of no item"))),
        }
    }

    fn into_portable(self) -> Result<Portable, Error> {
        let mut values = BTreeMap::new();
        let mut entry = |item: &EntryItem| {
            let value = self.values.get(&item.value)?;
            let entry = item.entry(value)?;
            let address = (entry.key.clone(), entry.revision);
            match values.insert(address, value.to_owned()) {
                Some(other) if other != value => {
                    Err(invalid(&format!("{} has two values at one revision", entry.key)))
                }
                _ => Ok(entry),
            }
        };
        let entries = self.entries.iter().map(&mut entry).collect::<Result<_, _>>()?;
        let history = self.history.iter().map(|it| it.version(entry(&it.entry)?));
        let history = history.collect::<Result<_, _>>()?;
        let snapshots = self
            .snapshots
            .iter()
            .map(|it| it.snapshot(it.entries.iter().map(&mut entry).collect::<Result<_, _>>()?));
        let snapshots = snapshots.collect::<Result<_, Error>>()?;
        let rounds = self.rounds.iter().enumerate();
        let rounds = rounds.map(|(nth, it)| {
            it.restore(&self.values).map_err(|error| invalid(&format!("rounds.{nth}: {error}")))
        });
        let rounds = RoundHistory {
            query: self.rounds.iter().find_map(|it| it.query.clone()),
            rounds: rounds.collect::<Result<_, Error>>()?,
        };
        Ok(Portable {
            session: SessionId::new(&self.session_id)
                .ok_or_else(|| invalid("session_id is no id of a session"))?,
            is_archived: match self.status.as_str() {
                "active" => false,
                "archived" => true,
                _ => return Err(invalid("status is neither active nor archived")),
            },
            created_at: self.created_at.0,
            config: self.config.config,
            entries,
            history,
            snapshots,
            rounds,
            context: self.context.map_or_else(
                || Ok(KeptContext::default()),
                |it| it.restore().map_err(|error| invalid(&format!("context: {error}"))),
            )?,
            packets: self.packets.map_or_else(
                || Ok(KeptPackets::default()),
                |it| it.restore().map_err(|error| invalid(&format!("packets: {error}"))),
            )?,
            values,
        })
    }
}

/// Compares the computed digests of a section's items with the recorded ones. `name` returns the
/// name of the nth item.
pub(crate) fn check_items<'a>(
    section: &str,
    found: &[String],
    recorded: &[String],
    name: impl Fn(usize) -> Option<&'a str>,
) -> Result<(), Error> {
    let place = match found.iter().zip(recorded).position(|(found, recorded)| found != recorded) {
        Some(nth) => {
            let name = name(nth).map(|it| it.chars().take(80).collect::<String>());
            let name = name.map_or_else(String::new, |it| format!(" ({it})"));
            format!("{section}.{nth}{name}")
        }
        None if found.len() == recorded.len() => return Ok(()),
        None => section.to_owned(),
    };
    Err(Error::DocumentAltered { place })
}

/// Parses a document.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, `INVALID_KEY`, `FORMAT_TOO_NEW`, `DOCUMENT_ALTERED`.
pub(crate) fn parse(document: &str) -> Result<Portable, Error> {
    /// The one member that every format has; the others are ignored.
    #[derive(Deserialize)]
    struct FormatMember<'a> {
        #[serde(borrow, default)]
        format: Cow<'a, str>,
    }
    let member: FormatMember<'_> =
        serde_json::from_slice(document.as_bytes()).map_err(|_| invalid("it is no document"))?;
    let format = &*member.format;
    if ![FORMAT, FORMAT_WITH_CONTEXT, FORMAT_WITH_ROUNDS, FORMAT_OF_ENTRIES].contains(&format) {
        let is_later = format
            .strip_prefix(FORMAT_FAMILY)
            .is_some_and(|it| it.parse::<u32>().is_ok_and(|it| it > 4));
        return Err(if is_later {
            Error::FormatTooNew { format: format.to_owned(), known: FORMAT }
        } else {
            invalid("it is not a document of export_session: its format is missing")
        });
    }
    let form: DocumentForm = form::parse(document.as_bytes()).map_err(malformed)?;
    form.check()?;
    form.check_values()?;
    form.into_portable()
}

/// Returns the digest of the canonical JSON (RFC 8785) of `item`.
pub(crate) fn digest(item: &impl Serialize) -> String {
    // Plain data always serializes. The canonical text is made from a `Value`: a canonical
    // serializer for each type of item would double the code.
    let json = serde_json::to_vec(item).unwrap_or_default();
    let value: Value = serde_json::from_slice(&json).unwrap_or_default();
    sha256(canonical::text(&value).unwrap_or_default())
}
