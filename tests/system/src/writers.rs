//! Many writers at once, and the check of their answers: every acknowledged write must be stored,
//! once, and nothing else.
//!
//! The stored writes are read in three ways that must agree: the audit trail, the listing, and the
//! values. Each value names its write.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Barrier, mpsc::Sender},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::Client;

/// One write that was sent, and its answer.
#[derive(Debug, Clone)]
pub struct Write {
    session: String,
    participant: String,
    key: String,
    value: String,
    /// The version it wanted to find.
    if_version: Option<u64>,
    /// The name under which it can be sent again.
    request_id: Option<String>,
    told: Told,
    took: Duration,
}

/// The knowledge of a writer about its write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Acknowledged {
        version: u64,
        revision: u64,
    },
    Refused,
    /// No answer came, or an answer that the outcome is unknown.
    Nothing,
}

/// A participant that writes to the keys of one session.
#[derive(Debug, Clone)]
pub struct Writer {
    session: String,
    participant: String,
    credential: String,
    keys: usize,
}

impl Writer {
    /// Creates the `nth` writer of `session`, with a credential minted by `orchestrator`;
    /// it writes to `keys` keys that it shares with the session's others.
    pub fn new(orchestrator: &Client, session: &str, nth: usize, keys: usize) -> Self {
        let participant = format!("subagent:writer:{nth}");
        let credential = orchestrator.mint(session, &participant).credential().to_owned();
        Self { session: session.to_owned(), participant, credential, keys }
    }

    /// `count` writers, spread evenly over `sessions`, which `admin` creates.
    pub fn spread(admin: &Client, sessions: &[String], count: usize, keys: usize) -> Vec<Self> {
        let of_one = |(nth, session): (usize, &String)| {
            let orchestrator = admin.create_session(session, &json!({}));
            let own = (nth..count).step_by(sessions.len());
            own.map(|nth| Self::new(&orchestrator, session, nth, keys)).collect::<Vec<_>>()
        };
        let writers: Vec<_> = sessions.iter().enumerate().flat_map(of_one).collect();
        assert_eq!(writers.len(), count);
        writers
    }

    /// Writes again and again, `writes_max` times at most, until an answer fails
    /// to come. Of three writes one is plain, one can be sent again, one depends
    /// on the version that this writer saw last.
    fn run(&self, url: &str, round: usize, writes_max: usize, told: &Sender<()>) -> Vec<Write> {
        let client = Client::new(url, &self.credential);
        let mut versions = HashMap::new();
        let mut writes = Vec::new();
        for nth in 0..writes_max {
            let key = format!("key_{}", nth % self.keys);
            let name = format!("{}-{round}-{nth}", self.participant.replace(':', "-"));
            let write = Write {
                session: self.session.clone(),
                participant: self.participant.clone(),
                value: format!("{name} {}", "x".repeat(nth % 50)),
                if_version: versions.get(&key).copied().filter(|_| nth % 3 == 2),
                request_id: (nth % 3 == 1).then_some(name),
                key,
                told: Told::Nothing,
                took: Duration::ZERO,
            };
            let (write, version) = write.sent(&client);
            versions.extend(version.map(|it| (write.key.clone(), it)));
            let is_over = write.told == Told::Nothing;
            if matches!(write.told, Told::Acknowledged { .. }) {
                // The receiver may be gone already.
                let _ = told.send(());
            }
            writes.push(write);
            if is_over {
                break;
            }
        }
        writes
    }
}

impl Write {
    /// Returns how long its writer waited for the answer.
    pub fn took(&self) -> Duration {
        self.took
    }

    /// Sends it; returns it with the answer, and the key's version if that was
    /// part of it.
    fn sent(mut self, client: &Client) -> (Self, Option<u64>) {
        let mut request = json!({"action": "write", "key": self.key, "value": self.value});
        if let Some(version) = self.if_version {
            request["if_version"] = version.into();
        }
        if let Some(id) = &self.request_id {
            request["request_id"] = id.as_str().into();
        }
        let since = Instant::now();
        let answer = client.try_tool(&self.session, &request);
        self.took = since.elapsed();
        let Ok(answer) = answer else { return (self, None) };
        match answer.status {
            200 => {
                let reply = answer.json();
                let number = |name: &str| reply[name].as_u64().unwrap();
                let (version, revision) = (number("version"), number("revision"));
                self.told = Told::Acknowledged { version, revision };
                (self, Some(version))
            }
            503 => (self, None),
            // Of a platform, not of ours: what ran the request has ended.
            500 if answer.text.is_empty() => (self, None),
            _ => {
                let message = answer.refused(409, "VERSION_CONFLICT");
                assert!(self.if_version.is_some(), "{message}");
                self.told = Told::Refused;
                let version = answer.json()["error"]["current_version"].as_u64();
                (self, version)
            }
        }
    }
}

/// Lets all `writers` begin at once, each on a separate thread and connection. Returns their writes
/// when all are done. Meanwhile `meddle` runs, and its result is returned as well.
pub fn run<T>(
    url: &str,
    writers: &[Writer],
    round: usize,
    writes_max: usize,
    told: Sender<()>,
    meddle: impl FnOnce() -> T,
) -> (Vec<Write>, T) {
    let start = Barrier::new(writers.len());
    thread::scope(|scope| {
        let threads: Vec<_> = writers
            .iter()
            .map(|writer| {
                let (start, told) = (&start, told.clone());
                scope.spawn(move || {
                    start.wait();
                    writer.run(url, round, writes_max, &told)
                })
            })
            .collect();
        drop(told);
        let come_of_it = meddle();
        let writes = threads.into_iter().flat_map(|it| it.join().unwrap()).collect();
        (writes, come_of_it)
    })
}

/// Figures of an account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Writes that were acknowledged.
    pub acknowledged: usize,
    /// Writes rejected for a version that was not there any more.
    pub refused: usize,
    /// Writes of unknown outcome.
    pub in_doubt: usize,
    /// The number of those that are stored.
    pub in_doubt_stored: usize,
    /// The number of those that were sent again under their request id.
    pub sent_again: usize,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { acknowledged, refused, in_doubt, in_doubt_stored, sent_again } = self;
        write!(
            f,
            "{acknowledged} acknowledged, lost 0, {refused} refused for their version; {in_doubt} in \
             doubt, of them {sent_again} sent again under their request id, {in_doubt_stored} of the \
             others stored"
        )
    }
}

/// The stored entries of each session, as far as they were checked.
#[derive(Debug, Default)]
pub struct Account {
    sessions: BTreeMap<String, Checked>,
    figures: Figures,
}

/// The stored entries of one session: the last revision, and the last write to each key with its
/// version and revision.
#[derive(Debug, Default)]
struct Checked {
    revision: u64,
    keys: BTreeMap<String, (u64, u64, Write)>,
}

impl Account {
    /// Returns the figures so far.
    pub fn figures(&self) -> Figures {
        self.figures
    }

    /// Sends all writes again that are in doubt and have a name: each must be
    /// acknowledged now, whether or not it was carried out the first time. `admin` is
    /// any client of the server.
    pub fn send_again(&mut self, admin: &Client, writers: &[Writer], writes: &mut [Write]) {
        for write in writes {
            if write.told != Told::Nothing || write.request_id.is_none() {
                continue;
            }
            let is_its =
                |it: &&Writer| it.session == write.session && it.participant == write.participant;
            let writer = writers.iter().find(is_its).unwrap();
            let client = admin.with_credential(&writer.credential);
            *write = write.clone().sent(&client).0;
            assert_ne!(write.told, Told::Nothing, "{write:?}");
            self.figures.in_doubt += 1;
            self.figures.sent_again += 1;
        }
    }

    /// Compares `writes`, all that were sent since the last time, with what is
    /// stored in `sessions`, as the operator's list shows.
    pub fn check(&mut self, admin: &Client, sessions: &[String], writes: &[Write]) {
        for session in sessions {
            let writes = writes.iter().filter(|it| it.session == *session).collect();
            self.check_session(admin, session, writes);
        }
    }

    fn check_session(&mut self, admin: &Client, session: &str, writes: Vec<&Write>) {
        let checked = self.sessions.entry(session.to_owned()).or_default();
        let (mut acknowledged, mut doubtful) = (HashMap::new(), HashMap::new());
        for write in writes {
            match write.told {
                Told::Acknowledged { revision, .. } => {
                    self.figures.acknowledged += 1;
                    let other = acknowledged.insert(revision, write);
                    assert!(other.is_none(), "one revision for {write:?} and {other:?}");
                }
                Told::Refused => self.figures.refused += 1,
                Told::Nothing => {
                    self.figures.in_doubt += 1;
                    doubtful.insert(write.participant.clone(), write);
                }
            }
        }
        for record in audit(admin, session, checked.revision) {
            let revision = record["revision"].as_u64().unwrap();
            assert_eq!(revision, checked.revision + 1, "{session} has a gap: {record}");
            checked.revision = revision;
            if record["action"] == "create_session" {
                continue;
            }
            assert_eq!(record["action"], "write", "{record}");
            let participant = record["written_by"].as_str().unwrap();
            let write = acknowledged.remove(&revision).unwrap_or_else(|| {
                self.figures.in_doubt_stored += 1;
                let doubtful = doubtful.remove(participant);
                doubtful.unwrap_or_else(|| panic!("nobody sent what is stored: {record}"))
            });
            let version = 1 + checked.keys.get(&write.key).map_or(0, |it| it.0);
            assert_eq!(record["key"], write.key.as_str(), "{write:?}: {record}");
            assert_eq!(record["version"], version, "{write:?}: {record}");
            assert_eq!(participant, write.participant, "{write:?}: {record}");
            if let Some(wanted) = write.if_version {
                assert_eq!(version, wanted + 1, "{write:?} overwrote what it had not seen");
            }
            if let Told::Acknowledged { version: told, .. } = write.told {
                assert_eq!(told, version, "{write:?}: {record}");
            }
            checked.keys.insert(write.key.clone(), (version, revision, write.clone()));
        }
        assert!(acknowledged.is_empty(), "acknowledged and lost: {acknowledged:?}");
        checked.compare(admin, session);
    }
}

impl Checked {
    /// Compares the entries of `session` with the writes they should come from.
    fn compare(&self, admin: &Client, session: &str) {
        let listing = admin.tool(session, &json!({"action": "list_keys"})).expect(200);
        let mut tokens = 0;
        for (key, (version, revision, write)) in &self.keys {
            let entry = admin.read(session, key).expect(200);
            let size = u64::try_from(write.value.chars().count().div_ceil(4)).unwrap();
            tokens += size;
            let should = json!({
                "key": key, "value": write.value, "written_by": write.participant,
                "written_at": entry["written_at"], "version": version,
                "value_size_tokens": size, "revision": revision,
            });
            assert_eq!(entry, should, "{session}");
        }
        let listed: Vec<_> = listing["keys"].as_array().unwrap().iter().map(pair).collect();
        let should: Vec<_> = self.keys.iter().map(|(key, it)| (key.as_str(), it.0)).collect();
        assert_eq!(listed, should, "{session}");
        assert_eq!(listing["total_tokens"], tokens, "{session}");
        assert_eq!(listing["key_count"], self.keys.len(), "{session}");
        assert_eq!(listing["revision"], self.revision, "{session}");
    }
}

/// Returns all audit records of `session` after the revision `after`.
fn audit(admin: &Client, session: &str, mut after: u64) -> Vec<Value> {
    let mut records = Vec::new();
    loop {
        let request = json!({"action": "audit", "after": after, "limit": 1000});
        let page = admin.tool(session, &request).expect(200);
        records.extend(page["records"].as_array().unwrap().iter().cloned());
        match page["next_after"].as_u64() {
            Some(next) => after = next,
            None => return records,
        }
    }
}

fn pair(entry: &Value) -> (&str, u64) {
    (entry["key"].as_str().unwrap(), entry["version"].as_u64().unwrap())
}
