//! A server in front of the server, which lies now and then.

use std::{
    collections::HashMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::{Value, json};

use super::Workload;
use crate::Client;

/// What it lies about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lie {
    /// A read is answered as it was once before.
    StaleRead,
    /// A write is confirmed, and does not happen.
    SwallowedWrite,
    /// A delete is confirmed, and does not happen.
    SwallowedDelete,
    /// A write happens twice.
    DoubledWrite,
    /// A batch happens in two steps.
    SplitBatch,
    /// A write whose condition failed is confirmed, where the entry already has the value
    /// that it would have written.
    ConditionMet,
}

impl Lie {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::StaleRead,
        Self::SwallowedWrite,
        Self::SwallowedDelete,
        Self::DoubledWrite,
        Self::SplitBatch,
        Self::ConditionMet,
    ];

    /// Returns the workload that shows it.
    pub fn workload(self) -> Workload {
        if self == Self::ConditionMet { Workload::Lock } else { Workload::Distinct }
    }
}

/// Of so many requests that it could lie about, it lies about the first: on a slow machine there may
/// be fewer.
const ONE_IN: usize = 10;

/// The server in front.
#[derive(Debug)]
pub struct Forger {
    url: String,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    server: String,
    lie: Lie,
    /// How many requests there were that it could have lied about.
    chances: AtomicUsize,
    lies: AtomicUsize,
    /// The first answer to each read.
    answered: Mutex<HashMap<Vec<u8>, Reply>>,
}

/// A request as it came.
struct Asked {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// What is answered: status and body.
type Reply = (u16, String);

impl Forger {
    /// In front of the server at `url`.
    pub fn start(url: &str, lie: Lie) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            server: url.to_owned(),
            lie,
            chances: AtomicUsize::new(0),
            lies: AtomicUsize::new(0),
            answered: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        // It ends with the process: nobody waits for it.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&serving);
                thread::spawn(move || shared.serve(stream));
            }
        });
        Self { url: own, shared }
    }

    /// Returns a client of it who shows `credential`.
    pub fn client(&self, credential: &str) -> Client {
        Client::new(&self.url, credential)
    }

    /// Returns how often it lied.
    pub fn lies(&self) -> usize {
        self.shared.lies.load(Ordering::SeqCst)
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut read = BufReader::new(stream.try_clone().ok()?);
        let mut write = stream;
        let client = Client::new(&self.server, "");
        loop {
            let asked = Asked::read(&mut read)?;
            let (status, body) = self.answer(&client, &asked);
            let head = format!(
                "HTTP/1.1 {status} Answered\r\nContent-Type: application/json\r\n\
                 Content-Length: {}\r\n\r\n",
                body.len()
            );
            write.write_all(&[head.as_bytes(), body.as_bytes()].concat()).ok()?;
        }
    }

    fn answer(&self, client: &Client, asked: &Asked) -> Reply {
        let tool: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
        let action = tool["action"].as_str().unwrap_or_default();
        let is_plain =
            ["if_version", "if_revision", "request_id"].iter().all(|it| tool[*it].is_null());
        match (self.lie, action) {
            (Lie::StaleRead, "read" | "read_batch") => {
                let fresh = pass(client, asked, &asked.body);
                let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
                let first = answered.entry(asked.body.clone()).or_insert_with(|| fresh.clone());
                if fresh.0 == 200 && *first != fresh && self.lies_now() {
                    first.clone()
                } else {
                    fresh
                }
            }
            (Lie::SwallowedWrite, "write") if is_plain => {
                // What it would have answered if it came now.
                let seen = look(client, asked, &tool["key"]);
                if !self.lies_now() {
                    return pass(client, asked, &asked.body);
                }
                let version = seen["entries"][0]["version"].as_u64().unwrap_or(0) + 1;
                let revision = seen["revision"].as_u64().unwrap() + 1;
                (
                    200,
                    json!({"key": tool["key"], "version": version, "revision": revision})
                        .to_string(),
                )
            }
            (Lie::SwallowedDelete, "delete") if is_plain => {
                let seen = look(client, asked, &tool["key"]);
                let version = seen["entries"][0]["version"].as_u64();
                let Some(version) = version.filter(|_| self.lies_now()) else {
                    return pass(client, asked, &asked.body);
                };
                let revision = seen["revision"].as_u64().unwrap() + 1;
                let body = json!({
                    "deleted": tool["key"], "previous_version": version, "revision": revision,
                });
                (200, body.to_string())
            }
            (Lie::DoubledWrite, "write") if is_plain && self.lies_now() => {
                pass(client, asked, &asked.body);
                pass(client, asked, &asked.body)
            }
            (Lie::SplitBatch, "write_batch")
                if tool["writes"][1].is_object() && self.lies_now() =>
            {
                let one = |nth: usize| {
                    let body = json!({"action": "write_batch", "writes": [tool["writes"][nth]]});
                    pass(client, asked, body.to_string().as_bytes())
                };
                let (first, second) = (one(0), one(1));
                if first.0 != 200 || second.0 != 200 {
                    return second;
                }
                let [first, mut second]: [Value; 2] =
                    [first, second].map(|it| serde_json::from_str(&it.1).unwrap());
                let written = json!([first["written"][0], second["written"][0]]);
                second["written"] = written;
                (200, second.to_string())
            }
            (Lie::ConditionMet, "write") => {
                let refused = pass(client, asked, &asked.body);
                if refused.0 != 409 {
                    return refused;
                }
                let seen = look(client, asked, &tool["key"]);
                let entry = &seen["entries"][0];
                if entry["value"] != tool["value"] || !self.lies_now() {
                    return refused;
                }
                let [version, revision] = ["version", "revision"].map(|it| &entry[it]);
                let body = json!({"key": tool["key"], "version": version, "revision": revision});
                (200, body.to_string())
            }
            _ => pass(client, asked, &asked.body),
        }
    }

    /// Returns whether it lies about the request at hand.
    fn lies_now(&self) -> bool {
        let is_lie = self.chances.fetch_add(1, Ordering::SeqCst).is_multiple_of(ONE_IN);
        self.lies.fetch_add(usize::from(is_lie), Ordering::SeqCst);
        is_lie
    }
}

/// Reads `key` as a batch of one, as whoever `asked`.
fn look(client: &Client, asked: &Asked, key: &Value) -> Value {
    let body = json!({"action": "read_batch", "keys": [key]}).to_string();
    serde_json::from_str(&pass(client, asked, body.as_bytes()).1).unwrap()
}

/// Asks the server as `asked`, but for the body.
fn pass(client: &Client, asked: &Asked, body: &[u8]) -> Reply {
    let headers: Vec<_> = asked.headers.iter().map(|(name, it)| (&**name, &**it)).collect();
    let body = (!body.is_empty()).then_some(body);
    let answer = client.try_send(&asked.method, &asked.path, &headers, body).unwrap();
    (answer.status, answer.text)
}

impl Asked {
    /// Returns the next request; `None` at the end.
    fn read(stream: &mut BufReader<TcpStream>) -> Option<Self> {
        let mut line = String::new();
        stream.read_line(&mut line).ok().filter(|it| *it > 0)?;
        let mut words = line.split(' ').map(str::to_owned);
        let (method, path) = (words.next()?, words.next()?);
        let (mut headers, mut length) = (Vec::new(), 0);
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            let name = name.to_ascii_lowercase();
            match &*name {
                "content-length" => length = value.parse().ok()?,
                "authorization" | "content-type" | "if-match" | "idempotency-key" => {
                    headers.push((name, value.to_owned()));
                }
                _ => {}
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).ok()?;
        Some(Self { method, path, headers, body })
    }
}
