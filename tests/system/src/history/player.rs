//! One client: what it asks next, and how it asks it over HTTP.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    model::{Answer, Change, Condition, Entry, Key, Request},
    play::SESSION,
};
use crate::Client;

/// The longest that a value is filled up to, in characters.
const FILL_MAX: u64 = 400;

/// One client.
#[derive(Debug)]
pub(super) struct Player {
    nth: usize,
    credential: String,
    client: Option<Client>,
    keys: u64,
    chance: Chance,
    /// What it saw last of each key: version and revision.
    seen: BTreeMap<Key, (u64, u64)>,
    /// How often it was not told what became of the request at hand.
    sent: usize,
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

/// Chance that begins anew at a seed (`SplitMix64`, Steele et al. 2014).
#[derive(Debug)]
struct Chance(u64);

impl Chance {
    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }
}

impl Player {
    /// The `nth` client, who shows `credential`.
    pub(super) fn new(nth: usize, credential: String, keys: usize, seed: u64) -> Self {
        let keys = u64::try_from(keys).unwrap();
        let chance = Chance(seed.wrapping_mul(1_000).wrapping_add(u64::try_from(nth).unwrap()));
        Self { nth, credential, client: None, keys, chance, seen: BTreeMap::new(), sent: 0 }
    }

    pub(super) fn nth(&self) -> usize {
        self.nth
    }

    /// What it asks next; `wish` numbers its changes.
    pub(super) fn next(&mut self, wish: impl FnOnce() -> u64) -> Request {
        self.sent = 0;
        let (key, other) = self.two_keys();
        let is_named = self.chance.below(5) < 2;
        let of = |writes, deletes, is_batch| {
            Request::Change(Change { wish: wish(), writes, deletes, is_batch, is_named })
        };
        match self.chance.below(100) {
            0..24 => Request::Read(key),
            24..34 => Request::ReadBatch(vec![key, other]),
            34..42 => Request::List,
            42..62 => of(vec![(key, Condition::None)], vec![], false),
            62..80 => of(vec![(key, self.condition(key))], vec![], false),
            80..88 => of(vec![], vec![(key, self.sometimes(key))], false),
            88..96 => {
                of(vec![(key, Condition::None), (other, self.sometimes(other))], vec![], true)
            }
            _ => of(vec![(key, self.sometimes(key))], vec![(other, Condition::None)], true),
        }
    }

    /// What it asks after `request` was not answered: the same again, where that is
    /// safe, now and then, a few times.
    pub(super) fn again(&mut self, request: &Request) -> Option<Request> {
        let Request::Change(change) = request else { return None };
        let is_conditional = |(_, it): &(Key, Condition)| *it != Condition::None;
        let is_safe = change.is_named
            || !change.is_batch
                && change.writes.len() == 1
                && change.writes.iter().all(is_conditional);
        self.sent += 1;
        (is_safe && self.sent < 4 && self.chance.below(4) > 0).then(|| request.clone())
    }

    fn two_keys(&mut self) -> (Key, Key) {
        let key = self.chance.below(self.keys);
        let other = (key + 1 + self.chance.below(self.keys - 1)) % self.keys;
        (usize::try_from(key).unwrap(), usize::try_from(other).unwrap())
    }

    fn sometimes(&mut self, key: Key) -> Condition {
        if self.chance.below(3) == 0 { self.condition(key) } else { Condition::None }
    }

    /// That the entry is as this client saw it last.
    fn condition(&mut self, key: Key) -> Condition {
        match self.seen.get(&key) {
            Some((_, revision)) if *revision > 0 && self.chance.below(2) == 0 => {
                Condition::Revision(*revision)
            }
            Some((version, _)) => Condition::Version(*version),
            None => Condition::Version(0),
        }
    }

    /// Asks the server that `at` calls.
    pub(super) fn ask(&mut self, at: &Client, request: &Request) -> Asked {
        let is_same = |it: &&Client| it.address() == at.address();
        let client = self.client.as_ref().filter(is_same).cloned();
        let client = client.unwrap_or_else(|| at.with_credential(&self.credential));
        self.client = Some(client.clone());
        let asked = send(&client, request);
        if let Asked::Told(answer) = &asked {
            self.see(request, answer);
        }
        asked
    }

    fn see(&mut self, request: &Request, answer: &Answer) {
        match (request, answer) {
            (Request::Read(key), Answer::Entry(it)) => {
                self.seen.insert(*key, (it.version, it.revision));
            }
            (Request::ReadBatch(keys), Answer::Entries { entries, .. }) => {
                for (key, entry) in keys.iter().zip(entries) {
                    self.seen.insert(*key, entry.map_or((0, 0), |it| (it.version, it.revision)));
                }
            }
            (Request::Change(change), Answer::Changed { revision, written, .. }) => {
                for ((key, _), version) in change.writes.iter().zip(written) {
                    self.seen.insert(*key, (*version, *revision));
                }
                self.seen.extend(change.deletes.iter().map(|(key, _)| (*key, (0, 0))));
            }
            (_, Answer::Missing(key)) => drop(self.seen.insert(*key, (0, 0))),
            (_, Answer::Conflict { key, version, revision }) => {
                self.seen.insert(*key, (*version, *revision));
            }
            _ => {}
        }
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
        None => client.try_tool(SESSION, &as_json(request)),
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

/// Where to put an entry that is written under a revision: that is asked by header.
fn by_header(request: &Request) -> Option<(String, u64, Option<String>)> {
    let Request::Change(change) = request else { return None };
    match (&*change.writes, &*change.deletes) {
        ([(key, Condition::Revision(revision))], []) if !change.is_batch => {
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

/// What `answer` says of `request`, which was carried out.
fn done(request: &Request, answer: &Value) -> Answer {
    let revision = number(answer, "revision");
    let list = |name: &str| answer[name].as_array().unwrap().iter();
    match request {
        Request::Read(_) => Answer::Entry(entry(answer)),
        Request::ReadBatch(keys) => {
            let found = |key: &Key| list("entries").find(|it| it["key"] == name(*key)).map(entry);
            Answer::Entries { revision, entries: keys.iter().map(found).collect() }
        }
        Request::List => {
            let pair = |it: &Value| (key(&it["key"]), number(it, "version"));
            Answer::Keys { revision, versions: list("keys").map(pair).collect() }
        }
        Request::Change(change) if change.is_batch => Answer::Changed {
            revision,
            written: list("written").map(|it| number(it, "version")).collect(),
            deleted: list("deleted").map(|it| number(it, "previous_version")).collect(),
        },
        Request::Change(change) => {
            let version =
                |name: &str, keys: &[_]| keys.iter().map(|_| number(answer, name)).collect();
            Answer::Changed {
                revision,
                written: version("version", &change.writes),
                deleted: version("previous_version", &change.deletes),
            }
        }
    }
}

fn entry(answer: &Value) -> Entry {
    let value = answer["value"].as_str().unwrap();
    let value = value.strip_prefix('w').unwrap().split(' ').next().unwrap();
    Entry {
        value: value.parse().unwrap(),
        version: number(answer, "version"),
        revision: number(answer, "revision"),
    }
}

/// The value of a change: its number, and something that takes room.
fn value_of(request: &Request) -> String {
    let Request::Change(change) = request else { return String::new() };
    // The same change sent again is the same, byte for byte.
    let fill = usize::try_from(change.wish.wrapping_mul(7_919) % FILL_MAX).unwrap();
    format!("w{} {}", change.wish, "x".repeat(fill))
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

/// The key that a refusal is about: it says so where there are several.
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
