//! One client, and how it asks over HTTP.

use serde_json::{Value, json};

use super::{
    model::{Answer, Change, Condition, Entry, Key, Request},
    play::SESSION,
    workload::Chooser,
};
use crate::Client;

/// The longest that a value is filled up to, in characters.
const FILL_MAX: u64 = 400;
/// The line that clients insert.
const LINE: &str = "one more";

/// One client.
#[derive(Debug)]
pub(super) struct Player {
    nth: usize,
    credential: String,
    client: Option<Client>,
    chooser: Chooser,
}

/// What came of a request.
pub(super) enum Asked {
    Told(Answer),
    /// An answer that says that nothing is known.
    Unknown,
    /// No answer: the server went away.
    Gone,
    /// There was no server.
    NotHeard,
}

impl Player {
    /// Creates the `nth` client, who shows `credential` and asks what `chooser` chooses.
    pub(super) fn new(nth: usize, credential: String, chooser: Chooser) -> Self {
        Self { nth, credential, client: None, chooser }
    }

    pub(super) fn nth(&self) -> usize {
        self.nth
    }

    /// Returns what it asks next; `wish` numbers its changes.
    pub(super) fn next(&mut self, wish: impl FnOnce() -> u64) -> Request {
        self.chooser.next(wish)
    }

    /// Returns what it asks after `request` was not answered.
    pub(super) fn again(&mut self, request: &Request) -> Option<Request> {
        self.chooser.again(request)
    }

    /// Asks the server that `at` calls.
    pub(super) fn ask(&mut self, at: &Client, request: &Request) -> Asked {
        let is_same = |it: &&Client| it.address() == at.address();
        let client = self.client.as_ref().filter(is_same).cloned();
        let client = client.unwrap_or_else(|| at.with_credential(&self.credential));
        self.client = Some(client.clone());
        let asked = send(&client, request);
        if let Asked::Told(answer) = &asked {
            self.chooser.see(request, answer);
        }
        asked
    }
}

fn send(client: &Client, request: &Request) -> Asked {
    let answer = match by_header(request) {
        Some((path, revision, name)) => {
            let value = value_of(request);
            let body = json!({ "value": value }).to_string();
            let tag = format!("\"{revision}\"");
            let mut headers = vec![("content-type", "application/json"), ("if-match", &*tag)];
            headers.extend(name.as_deref().map(|it| ("idempotency-key", it)));
            client.try_send("PUT", &path, &headers, Some(body.as_bytes()))
        }
        None => match request {
            Request::Insert(_) => client.try_post(&memory_path(), &as_json(request)),
            _ => client.try_tool(SESSION, &as_json(request)),
        },
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(ureq::Error::Io(it)) if it.kind() == std::io::ErrorKind::ConnectionRefused => {
            return Asked::NotHeard;
        }
        Err(_) => return Asked::Gone,
    };
    match answer.status {
        200 | 201 => Asked::Told(done(request, &answer.json())),
        // Of a platform: what ran the request has ended.
        500 if answer.text.is_empty() => Asked::Unknown,
        503 => Asked::Unknown,
        404 => {
            answer.refused(404, "KEY_NOT_FOUND");
            Asked::Told(Answer::Missing(refused_key(request, &answer.json()["error"])))
        }
        status => {
            let error = &answer.json()["error"];
            assert!(matches!(status, 409 | 412), "{request}: {status} {}", answer.text);
            assert_eq!(error["code"], "VERSION_CONFLICT", "{request}: {}", answer.text);
            Asked::Told(Answer::Conflict {
                key: refused_key(request, error),
                version: number(error, "current_version"),
                revision: number(error, "current_revision"),
            })
        }
    }
}

/// Returns where to put an entry that is written under a revision: every other is asked for by
/// header.
fn by_header(request: &Request) -> Option<(String, u64, Option<String>)> {
    let Request::Change(change) = request else { return None };
    match (&*change.writes, &*change.deletes) {
        ([(key, Condition::Revision(revision))], [])
            if !change.is_batch && change.wish.is_multiple_of(2) =>
        {
            let path = format!("/v1/sessions/{SESSION}/entries/{}", name(*key));
            let id = change.is_named.then(|| request_id(change));
            Some((path, *revision, id))
        }
        _ => None,
    }
}

fn as_json(request: &Request) -> Value {
    let change = match request {
        Request::Read(key) => return json!({"action": "read", "key": name(*key)}),
        Request::ReadBatch(keys) => {
            let keys: Vec<_> = keys.iter().map(|it| name(*it)).collect();
            return json!({"action": "read_batch", "keys": keys});
        }
        Request::List => return json!({"action": "list_keys"}),
        Request::Change(change) => change,
        Request::Insert(key) => return insertion(*key),
    };
    let value = value_of(request);
    let write =
        |(key, it): &(Key, Condition)| conditional(json!({"key": name(*key), "value": value}), *it);
    let delete = |(key, it): &(Key, Condition)| conditional(json!({"key": name(*key)}), *it);
    let mut body = if change.is_batch {
        let writes: Vec<_> = change.writes.iter().map(write).collect();
        let deletes: Vec<_> = change.deletes.iter().map(delete).collect();
        json!({"action": "write_batch", "writes": writes, "deletes": deletes})
    } else if let Some(one) = change.writes.first() {
        let mut body = write(one);
        body["action"] = "write".into();
        body
    } else {
        let mut body = delete(&change.deletes[0]);
        body["action"] = "delete".into();
        body
    };
    if change.is_named {
        body["request_id"] = request_id(change).into();
    }
    body
}

fn conditional(mut body: Value, condition: Condition) -> Value {
    match condition {
        Condition::None => {}
        Condition::Version(it) => body["if_version"] = it.into(),
        Condition::Revision(it) => body["if_revision"] = it.into(),
    }
    body
}

/// Returns what `answer` says of `request`, which was carried out.
fn done(request: &Request, answer: &Value) -> Answer {
    let revision = || number(answer, "revision");
    let list = |name: &str| answer[name].as_array().unwrap().iter();
    match request {
        Request::Read(_) => Answer::Entry(entry(answer)),
        Request::ReadBatch(keys) => {
            let found = |key: &Key| list("entries").find(|it| it["key"] == name(*key)).map(entry);
            Answer::Entries { revision: revision(), entries: keys.iter().map(found).collect() }
        }
        Request::List => {
            let pair = |it: &Value| (key(&it["key"]), number(it, "version"));
            Answer::Keys { revision: revision(), versions: list("keys").map(pair).collect() }
        }
        // Of what agents can mend; the file is there.
        Request::Insert(_) if answer["is_error"] == true => {
            let told = answer["content"].as_str().unwrap();
            assert!(told.contains("was changed by others"), "{request}: {told}");
            Answer::Overtaken
        }
        Request::Insert(_) => Answer::Inserted,
        Request::Change(change) if change.is_batch => Answer::Changed {
            revision: revision(),
            written: list("written").map(|it| number(it, "version")).collect(),
            deleted: list("deleted").map(|it| number(it, "previous_version")).collect(),
        },
        Request::Change(change) => {
            let version =
                |name: &str, keys: &[_]| keys.iter().map(|_| number(answer, name)).collect();
            Answer::Changed {
                revision: revision(),
                written: version("version", &change.writes),
                deleted: version("previous_version", &change.deletes),
            }
        }
    }
}

fn entry(answer: &Value) -> Entry {
    let text = answer["value"].as_str().unwrap();
    let inserted = text.lines().take_while(|it| *it == LINE).count();
    let written = text.lines().nth(inserted).and_then(|it| it.strip_prefix('w')).unwrap();
    let written: u64 = written.split(' ').next().unwrap().parse().unwrap();
    Entry {
        value: written + u64::try_from(inserted).unwrap(),
        version: number(answer, "version"),
        revision: number(answer, "revision"),
    }
}

/// Returns the text of the value of a change: its number, and something that takes room.
fn value_of(request: &Request) -> String {
    let Request::Change(change) = request else { return String::new() };
    // The same value is the same, byte for byte.
    let fill = usize::try_from(change.value.wrapping_mul(7_919) % FILL_MAX).unwrap();
    format!("w{} {}", change.value, "x".repeat(fill))
}

/// Returns the memory tool's command to insert a line at the beginning of the file of `key`.
fn insertion(key: Key) -> Value {
    let path = format!("/memories/{}", name(key));
    json!({"command": "insert", "path": path, "insert_line": 0, "insert_text": LINE})
}

fn memory_path() -> String {
    format!("/v1/sessions/{SESSION}/memory")
}

fn request_id(change: &Change) -> String {
    format!("wish-{}", change.wish)
}

fn name(key: Key) -> String {
    format!("key_{key}")
}

fn key(name: &Value) -> Key {
    name.as_str().unwrap().strip_prefix("key_").unwrap().parse().unwrap()
}

/// Returns the key that an error is about: it says so where there are several.
fn refused_key(request: &Request, error: &Value) -> Key {
    match (request, &error["key"]) {
        (Request::Read(key), _) => *key,
        (Request::Change(change), Value::Null) => {
            change.writes.iter().chain(&change.deletes).next().unwrap().0
        }
        (_, named) => key(named),
    }
}

fn number(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or_else(|| panic!("no {name} in {of}"))
}
