//! Access to a session's entries, by requests of the JSON tool.

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Value, json};
use shared_context_codec::Failure;
use shared_context_core::{Key, Prefix, command};

use super::{Rejection, Store};

/// Most keys of one request.
pub(super) const BATCH_KEYS_MAX: usize = command::BATCH_KEYS_MAX;

/// A session's entries as files.
pub(super) struct Files<'s, S> {
    store: &'s S,
}

/// Members of a session that the tool needs.
#[derive(Debug, Deserialize)]
pub(super) struct Session {
    status: String,
    config: Config,
}

#[derive(Debug, Deserialize)]
struct Config {
    allows_prefixes: bool,
    ttl_seconds_default: Option<u32>,
}

impl Session {
    /// Returns true if the session is read-only.
    pub(super) fn is_archived(&self) -> bool {
        self.status == "archived"
    }

    /// Returns true if its keys may have a prefix.
    pub(super) fn allows_prefixes(&self) -> bool {
        self.config.allows_prefixes
    }
}

/// An entry with everything that a rename preserves.
#[derive(Debug, Deserialize)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) value: String,
    revision: u64,
    expires_at: Option<String>,
    readable_by: Option<Vec<String>>,
    writable_by: Option<Vec<String>>,
    history: Option<bool>,
}

impl Entry {
    /// Returns true if a change failed because the entry changed after it was read.
    pub(super) fn is_outdated(&self, failure: &Failure) -> bool {
        match failure.code.as_ref() {
            "VERSION_CONFLICT" | "KEY_NOT_FOUND" => true,
            // It expired meanwhile, so its instant is in the past.
            "MALFORMED_REQUEST" => self.expires_at.is_some(),
            _ => false,
        }
    }
}

/// Reply of a write.
#[derive(Deserialize)]
struct WriteReply {
    #[serde(default)]
    warnings: Vec<Warning>,
}

#[derive(Deserialize)]
struct Warning {
    code: String,
    message: String,
}

/// Ignored reply.
struct Ignored;

impl<'de> Deserialize<'de> for Ignored {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

impl<'s, S: Store> Files<'s, S> {
    /// Creates the access to the entries of `store`.
    pub(super) fn new(store: &'s S) -> Self {
        Self { store }
    }

    /// Returns the session's status and configuration.
    pub(super) async fn session(&self) -> Result<Session, Failure> {
        self.send(json!({"action": "show_session"})).await
    }

    /// Returns the keys of readable entries, with `prefix` if given.
    pub(super) async fn keys(&self, prefix: Option<&Prefix>) -> Result<Vec<Key>, Rejection> {
        #[derive(Deserialize)]
        struct Listing {
            keys: Vec<ListedKey>,
        }
        #[derive(Deserialize)]
        struct ListedKey {
            key: String,
            #[serde(default = "default_true")]
            readable: bool,
        }
        let prefix = prefix.map(Prefix::as_str);
        let Listing { keys } = self.send(json!({"action": "list_keys", "prefix": prefix})).await?;
        let keys = keys.iter().filter(|it| it.readable);
        let keys: Result<_, _> = keys.map(|it| Key::parse(&it.key)).collect();
        Ok(keys.map_err(|_| invalid_reply())?)
    }

    /// Returns the entry `key`, if it exists.
    pub(super) async fn entry(&self, key: &Key) -> Result<Option<Entry>, Rejection> {
        match self.send(json!({"action": "read", "key": key.as_str()})).await {
            Ok(entry) => Ok(Some(entry)),
            Err(failure) if failure.code == "KEY_NOT_FOUND" => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    /// Returns the existing entries of `keys`.
    pub(super) async fn entries(&self, keys: &[Key]) -> Result<Vec<Entry>, Rejection> {
        #[derive(Deserialize)]
        struct BatchReply {
            entries: Vec<Entry>,
        }
        let mut all = Vec::new();
        for keys in keys.chunks(BATCH_KEYS_MAX) {
            let keys: Vec<&str> = keys.iter().map(Key::as_str).collect();
            let found: BatchReply =
                self.send(json!({"action": "read_batch", "keys": keys})).await?;
            all.extend(found.entries);
        }
        Ok(all)
    }

    /// Creates the entry `key` if it does not exist, and returns the warnings as text.
    pub(super) async fn create(&self, key: &Key, value: &str) -> Result<String, Failure> {
        let request =
            json!({"action": "write", "key": key.as_str(), "value": value, "if_version": 0});
        self.send(request).await.map(notes)
    }

    /// Overwrites `entry` with `value`, if it is unchanged since it was read. Its expiry stays the
    /// same unless the session has a default TTL, which then starts anew.
    pub(super) async fn overwrite(
        &self,
        session: &Session,
        entry: &Entry,
        value: &str,
    ) -> Result<String, Failure> {
        let expires_at = match session.config.ttl_seconds_default {
            Some(_) => None,
            None => entry.expires_at.as_deref(),
        };
        let request = json!({
            "action": "write", "key": entry.key, "value": value, "if_revision": entry.revision,
            "expires_at": expires_at,
        });
        self.send(request).await.map(notes)
    }

    /// Removes the entry `key`.
    pub(super) async fn delete(&self, key: &Key) -> Result<(), Failure> {
        let request = json!({"action": "delete", "key": key.as_str()});
        self.send(request).await.map(|Ignored| ())
    }

    /// Removes all entries of `keys`, or none.
    pub(super) async fn delete_all(&self, keys: &[Key]) -> Result<(), Failure> {
        let deletes: Vec<Value> = keys.iter().map(|it| json!({"key": it.as_str()})).collect();
        let request = json!({"action": "write_batch", "deletes": deletes});
        self.send(request).await.map(|Ignored| ())
    }

    /// Moves all entries to the given keys, or none. The entries must be unchanged since they were
    /// read, and the keys must not exist.
    pub(super) async fn move_all(&self, moves: &[(&Entry, &Key)]) -> Result<(), Failure> {
        let write = |(entry, to): &(&Entry, &Key)| {
            json!({
                "key": to.as_str(), "value": entry.value, "if_version": 0,
                "expires_at": entry.expires_at, "readable_by": entry.readable_by,
                "writable_by": entry.writable_by, "history": entry.history,
            })
        };
        let delete =
            |(entry, _): &(&Entry, &Key)| json!({"key": entry.key, "if_revision": entry.revision});
        let writes: Vec<Value> = moves.iter().map(write).collect();
        let deletes: Vec<Value> = moves.iter().map(delete).collect();
        let request = json!({"action": "write_batch", "writes": writes, "deletes": deletes});
        self.send(request).await.map(|Ignored| ())
    }

    async fn send<T: DeserializeOwned>(&self, request: Value) -> Result<T, Failure> {
        let reply = self.store.invoke(request.to_string().as_bytes()).await?;
        serde_json::from_slice(&reply.body).map_err(|_| invalid_reply())
    }
}

fn default_true() -> bool {
    true
}

/// Formats the warnings of a write, one per line.
fn notes(WriteReply { warnings }: WriteReply) -> String {
    let mut notes = String::new();
    // Agents choose names of files freely, so conventions do not apply.
    for warning in warnings.iter().filter(|it| it.code != "OUTSIDE_NAMESPACE") {
        notes.push_str("\nNote: ");
        notes.push_str(&warning.message);
    }
    notes
}

fn invalid_reply() -> Failure {
    Failure::new(
        "INTERNAL",
        "the server could not read its own answer; the command may have been carried out: view \
         the memory before retrying, and tell the operator",
    )
}
