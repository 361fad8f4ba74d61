//! Requests that suit the current state of a session.

use rand::RngExt as _;
use serde_json::{Map, Value, json};
use shared_context_codec::Time;
use shared_context_core::{Key, time::Timestamp};

use super::Generator;
use crate::{
    fixtures::{CALLERS, KEYS, LABELS, PARTICIPANT_LISTS, SESSIONS, VALUE_MARKER},
    model::{BucketModel, Model, SECRET},
    world::World,
};

/// Index of the admin in [`CALLERS`].
pub(super) const ADMIN: usize = 0;
/// Index of the orchestrator.
pub(super) const ORCHESTRATOR: usize = 1;

impl Generator {
    /// Returns a request and the index of its caller.
    pub(super) fn call(
        &mut self,
        world: &World,
        session: &str,
        bucket: &BucketModel,
    ) -> (usize, Value) {
        let Some(model) = bucket.session.as_deref() else { return self.creation(world) };
        let ends = if model.about.is_archived { 0.3 } else { self.profile.ends };
        if self.chance(ends) {
            let who = self.mostly(ADMIN);
            return (who, self.ending(world, model));
        }
        if self.chance(self.profile.context) {
            return self.context(model);
        }
        if self.chance(self.profile.context) {
            return self.packet(model);
        }
        let now = world.now();
        match self.rng.random_range(0..100) {
            0..32 => (self.any_caller(), self.write(session, model, now)),
            32..38 => (self.any_caller(), self.delete(model)),
            38..46 => (self.any_caller(), self.batch(session, model, now)),
            46..50 => (self.any_caller(), self.set_access(model)),
            50..58 => (self.mostly(ORCHESTRATOR), self.orchestrator_request(model)),
            58..80 => self.round(model),
            80..94 => (self.any_caller(), self.read(model)),
            94..96 => (self.mostly(ADMIN), self.update()),
            _ => (self.rng.random_range(0..CALLERS.len()), self.administration(model)),
        }
    }

    pub(super) fn any_caller(&mut self) -> usize {
        self.pick(&[1, 1, 1, 1, 1, 2, 2, 2, 3, 4, 5, 5, 6])
    }

    /// Returns `caller` in most cases, else a random one.
    pub(super) fn mostly(&mut self, caller: usize) -> usize {
        if self.chance(0.92) { caller } else { self.rng.random_range(0..CALLERS.len()) }
    }

    /// Adds a request id to some requests.
    pub(super) fn named(&mut self, mut request: Value) -> Value {
        if let Some(members) = request.as_object_mut() {
            self.add_request_id(members);
        }
        request
    }

    /// Returns a request for a session that does not exist.
    fn creation(&mut self, world: &World) -> (usize, Value) {
        let who = self.mostly(ADMIN);
        let documents = world.documents();
        if self.chance(0.25) && !documents.is_empty() {
            let document = &documents[self.rng.random_range(0..documents.len())];
            let import = json!({"action": "import_session", "document": document});
            return (who, self.named(import));
        }
        if self.chance(0.85) {
            let create = json!({"action": "create_session", "config": self.config()});
            return (who, self.named(create));
        }
        let actions = ["list_keys", "show_session", "export_session", "delete_session", "inspect"];
        let action = self.pick(&actions);
        (self.any_caller(), json!({"action": action}))
    }

    /// Returns a request that ends or moves a session.
    fn ending(&mut self, world: &World, model: &Model) -> Value {
        let documents = world.documents();
        let request = match self.rng.random_range(0..10) {
            0 => json!({"action": "archive_session"}),
            1 | 2 => json!({"action": "revoke_credentials"}),
            3..5 => json!({"action": "export_session"}),
            5 if !documents.is_empty() => {
                json!({"action": "import_session", "document": documents[0]})
            }
            6 => json!({"action": "create_session", "config": self.config()}),
            _ if model.entries.is_empty() => json!({"action": "export_session"}),
            _ => json!({"action": "delete_session"}),
        };
        match request["action"].as_str() {
            Some("export_session" | "delete_session") => request,
            _ => self.named(request),
        }
    }

    /// Returns a configuration with low limits on entries, versions and snapshots.
    fn config(&mut self) -> Value {
        let allows_prefixes = self.chance(0.9);
        let mut config = json!({
            "value_tokens_max": 8,
            "store_tokens_max": self.pick(&[20, 20, 40]),
            "keys_max": self.pick(&[4, 4, 6]),
            "history_versions_max": self.pick(&[0, 1, 3, 3, 3]),
            "history_bytes_max": self.pick(&[1 << 20, 1 << 20, 1_000, 400]),
            "snapshots_max": self.pick(&[1, 2, 3, 3]),
            "changes_max": self.pick(&[256, 1000]),
            "allows_prefixes": allows_prefixes,
        });
        if self.values.is_multiple_of(4) {
            config["rejects_secrets"] = json!(true);
        }
        if self.chance(0.3) {
            config["ttl_seconds_default"] = json!(self.rng.random_range(1..4));
        }
        if self.chance(0.6) {
            config["access"] = json!([
                {"keys": "plan_*", "readable_by": PARTICIPANT_LISTS[0], "writable_by": PARTICIPANT_LISTS[1]},
                {"keys": "closed_*", "readable_by": PARTICIPANT_LISTS[3], "writable_by": PARTICIPANT_LISTS[0]},
            ]);
        }
        if self.chance(0.2) {
            let keys = json!([{"key": "key_0", "group": "Work", "purpose": "what is being done"}]);
            config["namespace"] = json!({"keys": if self.chance(0.5) { keys } else { json!([]) }});
        }
        config
    }

    /// Returns a change of some members of a configuration.
    fn update(&mut self) -> Value {
        let all = self.config();
        let mut config = json!({});
        for name in ["access", "namespace", "ttl_seconds_default", "rejects_secrets"] {
            if self.chance(0.2) {
                config[name] = all.get(name).cloned().unwrap_or_default();
            }
        }
        for (name, value) in all.as_object().into_iter().flatten() {
            if self.chance(0.2) {
                config[name] = value.clone();
            }
        }
        if self.chance(0.2) {
            config["value_tokens_max"] = json!(self.pick(&[4, 8]));
        }
        if self.chance(0.03) {
            config["estimator"] = json!(self.pick(&["approximate", "o200k_base"]));
        }
        json!({"action": "update_session", "config": config})
    }

    fn key(&mut self, model: &Model) -> String {
        let known: Vec<&Key> = model.entries.keys().collect();
        let key = if self.chance(0.5) && !known.is_empty() {
            known[self.rng.random_range(0..known.len())].to_string()
        } else {
            // Few keys get most writes, so that they have a long history.
            KEYS[self.pick(&[0, 0, 0, 0, 1, 1, 2, 3, 4, 5])].to_owned()
        };
        if model.config().allows_prefixes || self.chance(0.05) {
            key
        } else {
            key.replace(':', "_")
        }
    }

    fn label(&mut self, model: &Model) -> String {
        if self.chance(0.7) && !model.snapshots.is_empty() {
            let nth = self.rng.random_range(0..model.snapshots.len());
            return model.snapshots[nth].info.label.to_string();
        }
        self.pick(&LABELS).to_owned()
    }

    /// Returns a value that no other has, of up to 9 tokens where 8 are allowed.
    fn value(&mut self, session: &str) -> String {
        self.values += 1;
        if self.values.is_multiple_of(50) {
            return SECRET.to_owned();
        }
        let mut value = format!("{VALUE_MARKER}{}{}", &session[..1], self.values);
        let filling = self.pick(&["x", "é"]);
        let chars = self.rng.random_range(0..34_usize);
        if value.len() < chars {
            value += &filling.repeat(chars - value.len());
        }
        if self.chance(0.1) { format!("{VALUE_MARKER} same") } else { value }
    }

    fn write(&mut self, session: &str, model: &Model, now: u64) -> Value {
        let key = self.key(model);
        let mut write = self.write_members(session, model, now, &key);
        write.insert("action".to_owned(), json!("write"));
        self.add_request_id(&mut write);
        Value::Object(write)
    }

    /// Returns a write without its action.
    fn write_members(
        &mut self,
        session: &str,
        model: &Model,
        now: u64,
        key: &str,
    ) -> Map<String, Value> {
        let mut write = Map::new();
        write.insert("key".to_owned(), json!(key));
        let stored = model.entries.iter().find(|(it, _)| it.as_str() == key).map(|(_, it)| it);
        let value = match stored {
            // Repeats the current value, as locks, fences and counters do.
            Some(stored) if self.chance(0.15) => stored.value.clone(),
            _ => self.value(session),
        };
        write.insert("value".to_owned(), json!(value));
        self.condition(model, key, &mut write);
        match self.rng.random_range(0..9) {
            0 | 1 => {
                let seconds = json!(self.rng.random_range(1..4));
                write.insert("ttl_seconds".to_owned(), seconds);
            }
            2 => {
                let at = now.saturating_add_signed(self.rng.random_range(-1..7) * 500);
                write.insert("expires_at".to_owned(), json!(Time(Timestamp(at)).to_string()));
            }
            _ => {}
        }
        self.lists(0.1, &mut write);
        if self.chance(0.15) {
            write.insert("history".to_owned(), json!(self.chance(0.5)));
        }
        write
    }

    fn delete(&mut self, model: &Model) -> Value {
        let key = self.key(model);
        let mut delete = Map::new();
        delete.insert("action".to_owned(), json!("delete"));
        delete.insert("key".to_owned(), json!(key));
        self.condition(model, &key, &mut delete);
        self.add_request_id(&mut delete);
        Value::Object(delete)
    }

    /// Returns a batch of writes and deletes.
    fn batch(&mut self, session: &str, model: &Model, now: u64) -> Value {
        let mut keys: Vec<String> = KEYS.iter().map(|it| (*it).to_owned()).collect();
        keys.retain(|it| model.config().allows_prefixes || !it.contains(':'));
        let mut batch = Map::new();
        let (mut writes, mut deletes) = (Vec::new(), Vec::new());
        for _ in 0..self.rng.random_range(1..4) {
            let key = keys.remove(self.rng.random_range(0..keys.len()));
            let is_there = model.entries.keys().any(|it| it.as_str() == key);
            // Most deletes name existing keys; otherwise no batch with a delete would succeed.
            if self.chance(0.3) && (is_there || self.chance(0.1)) {
                let mut delete = Map::new();
                delete.insert("key".to_owned(), json!(key));
                self.condition(model, &key, &mut delete);
                deletes.push(Value::Object(delete));
            } else {
                writes.push(Value::Object(self.write_members(session, model, now, &key)));
            }
        }
        batch.insert("action".to_owned(), json!("write_batch"));
        batch.insert("writes".to_owned(), Value::Array(writes));
        batch.insert("deletes".to_owned(), Value::Array(deletes));
        self.add_request_id(&mut batch);
        Value::Object(batch)
    }

    fn set_access(&mut self, model: &Model) -> Value {
        let mut request = Map::new();
        request.insert("action".to_owned(), json!("set_access"));
        request.insert("key".to_owned(), json!(self.key(model)));
        self.lists(0.6, &mut request);
        if request.len() == 2 {
            request.insert("readable_by".to_owned(), json!(["*"]));
        }
        Value::Object(request)
    }

    /// Returns a request that only the orchestrator may send.
    fn orchestrator_request(&mut self, model: &Model) -> Value {
        let label = self.label(model);
        let request = match self.rng.random_range(0..15) {
            0..4 => json!({"action": "snapshot", "label": self.pick(&LABELS)}),
            4 => json!({"action": "snapshot", "label": label, "note": "why"}),
            5..9 => json!({"action": "restore_snapshot", "label": label}),
            9..12 => return json!({"action": "delete_snapshot", "label": label}),
            _ => {
                let versions = model.all_versions();
                let mut request = json!({"action": "redact", "key": self.key(model),
                    "reason": "a \"secret\""});
                if self.chance(0.7) && !versions.is_empty() {
                    let one = &versions[self.rng.random_range(0..versions.len())].entry;
                    request["key"] = json!(one.key.as_str());
                    if self.chance(0.5) {
                        request["revision"] = json!(one.revision.0);
                    }
                }
                request
            }
        };
        self.named(request)
    }

    fn read(&mut self, model: &Model) -> Value {
        let (key, label) = (self.key(model), self.label(model));
        let since = model.revision.saturating_sub(self.rng.random_range(0..5));
        let mut request = match self.rng.random_range(0..20) {
            0..4 => json!({"action": "read", "key": key}),
            4..7 => json!({"action": "list_keys"}),
            7 if model.config().allows_prefixes => json!({"action": "list_keys", "prefix": "inv"}),
            7..10 => json!({"action": "read_batch", "keys": [key, "key_x"]}),
            10..12 => return json!({"action": "read_history", "key": key}),
            12 => return json!({"action": "read_history", "key": key, "versions": [1, 3]}),
            13 => return json!({"action": "read_snapshot", "label": label}),
            14 => return json!({"action": "read_snapshot", "label": label, "key": key}),
            15 => return json!({"action": "diff_snapshots", "from": label}),
            16 => {
                let to = self.label(model);
                return json!({"action": "diff_snapshots", "from": label, "to": to});
            }
            17 => {
                // Sometimes a position beyond the feed.
                let since = if self.chance(0.2) { model.revision + 1 } else { since };
                return json!({"action": "changes", "since": since, "limit": 2});
            }
            18 => return json!({"action": "changes", "keys": "inv:*"}),
            _ => return json!({"action": "list_snapshots"}),
        };
        if self.chance(0.4) {
            request["if_changed_since"] = json!(since);
        }
        request
    }

    /// Returns a request for a session's metadata, audit trail, prompt or export.
    fn administration(&mut self, model: &Model) -> Value {
        match self.rng.random_range(0..7) {
            0 => json!({"action": "inspect"}),
            1 => json!({"action": "audit", "after": model.revision.saturating_sub(3), "limit": 2}),
            2 => json!({"action": "show_session"}),
            3 => json!({"action": "prompt", "max_tokens": self.pick(&[10, 400, 2_000])}),
            4 => {
                json!({"action": "prompt", "participant": self.pick(&["subagent:b", "orchestrator"])})
            }
            5 => {
                let (task, max_tokens) =
                    (self.pick(&["", "scope §"]), self.pick(&[10, 100, 2_000]));
                json!({"action": "render_context", "task": task, "max_tokens": max_tokens})
            }
            _ => json!({"action": "export_session"}),
        }
    }

    fn condition(&mut self, model: &Model, key: &str, request: &mut Map<String, Value>) {
        let known =
            model.entries.iter().find(|(it, _)| it.as_str() == key).map(|(_, it)| &it.entry);
        let (version, revision) = known.map_or((0, 0), |it| (it.version, it.revision.0));
        let (name, value) = match self.rng.random_range(0..16) {
            0 => ("if_version", version),
            1 => ("if_version", version + 1),
            2 => ("if_revision", revision),
            3 => ("if_revision", revision + 1),
            4 => ("if_version", 0),
            _ => return,
        };
        request.insert(name.to_owned(), json!(value));
    }

    fn lists(&mut self, likely: f64, request: &mut Map<String, Value>) {
        for name in ["readable_by", "writable_by"] {
            if self.chance(likely) {
                request.insert(name.to_owned(), json!(self.pick(&PARTICIPANT_LISTS)));
            }
        }
    }

    /// Adds a request id to some requests, out of few ids.
    pub(super) fn add_request_id(&mut self, request: &mut Map<String, Value>) {
        if self.chance(0.25) {
            let id = format!("r{}", self.rng.random_range(0..40));
            request.insert("request_id".to_owned(), json!(id));
        }
    }
}

const _: () = assert!(SESSIONS.len() == 3, "moods name as many");
