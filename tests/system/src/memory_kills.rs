//! Memories of a project whose server is killed while clients add them, round after round on the
//! same data: no acknowledged memory is lost, none is stored twice, and none that was not sent. For
//! each host with a [`Killable`] server.

use std::{
    collections::BTreeMap,
    sync::{Mutex, mpsc},
    thread,
    time::Instant,
};

use serde_json::{Value, json};

use crate::{Answer, Client, Killable, kills, tell};

/// The project.
const PROJECT: &str = "kept";
/// The number of searches that are timed.
const SEARCHES: usize = 100;
const TOOL: &str = "/v1/projects/kept/shared_context";

/// Participants of several sessions that add memories to one project.
#[derive(Debug, Clone, Copy)]
pub struct MemoryKills {
    /// The name of the host, for people.
    pub host: &'static str,
    /// The number of participants, each of a separate session.
    pub writers: usize,
    /// The number of kills in a short run.
    pub rounds: usize,
    /// The number of memories in a request, 1 to 500.
    pub batch: usize,
    /// The number of requests that are acknowledged before a kill.
    pub batches: usize,
}

/// A request: the writer, the round, and its number in it.
type Batch = (usize, usize, usize);

impl MemoryKills {
    /// Plays all rounds on servers that `start` starts. Returns how many memories were acknowledged.
    #[track_caller]
    pub fn check<S: Killable>(self, mut start: impl FnMut() -> S) -> usize {
        let began = Instant::now();
        let rounds = kills::rounds(self.rounds);
        let mut server = start();
        let writers = self.writers(&server.admin());
        let mut acknowledged = BTreeMap::new();
        let mut in_doubt = 0;
        for round in 0..rounds {
            let (told, answers) = mpsc::channel();
            let admin = server.admin();
            let sent = Mutex::new(Vec::new());
            thread::scope(|scope| {
                for (nth, writer) in writers.iter().enumerate() {
                    let (told, sent) = (told.clone(), &sent);
                    let client = Client::new(admin.url(), writer);
                    scope.spawn(move || {
                        for batch in 0.. {
                            let batch = (nth, round, batch);
                            let ids = self.add(&client, batch).map(|it| ids(&it));
                            let is_over = ids.is_none();
                            sent.lock().unwrap().push((batch, ids));
                            if is_over || told.send(()).is_err() {
                                return;
                            }
                        }
                    });
                }
                drop(told);
                assert_eq!(answers.iter().take(self.batches).count(), self.batches);
                server.kill();
                drop(answers);
            });
            server = start();
            let admin = server.admin();
            for (batch, ids) in sent.into_inner().unwrap() {
                // What is in doubt is sent again: it is added now, or was before.
                let ids = ids.unwrap_or_else(|| {
                    in_doubt += 1;
                    let client = Client::new(admin.url(), &writers[batch.0]);
                    self.ids_of(&client, batch)
                });
                acknowledged.insert(batch, ids);
            }
            let shown = admin.post(TOOL, &json!({"action": "show_project"})).expect(200);
            assert_eq!(shown["memory_count"], acknowledged.len() * self.batch, "{shown}");
        }
        // Each of them is stored under the id that was acknowledged.
        let admin = server.admin();
        for (batch, ids) in &acknowledged {
            let client = Client::new(admin.url(), &writers[batch.0]);
            let reply = self.add(&client, *batch).unwrap();
            let is_new = reply["memories"].as_array().unwrap().iter();
            assert!(is_new.clone().all(|it| it["is_new"] == false), "lost: {batch:?} {reply}");
            assert_eq!(self::ids(&reply), *ids, "{batch:?}");
        }
        let count = acknowledged.len() * self.batch;
        self.time_searches(&Client::new(server.admin().url(), &writers[0]), count);
        let seconds = began.elapsed().as_secs();
        tell(&format!(
            "kill -9 of {}, {} writers of one project, {rounds} rounds: {count} memories \
             acknowledged, lost 0; {in_doubt} requests in doubt, sent again; {seconds} s",
            self.host, self.writers
        ));
        count
    }

    /// Creates the project and the sessions; returns the credentials of the participants.
    fn writers(&self, admin: &Client) -> Vec<String> {
        let most = json!({"memories_max": 50_000});
        admin.send("PUT", "/v1/projects/kept", Some(&most)).expect(201);
        let writer = |nth: usize| {
            let session = format!("session-{nth}");
            let orchestrator = admin.create_session(&session, &json!({"project": PROJECT}));
            let agent = orchestrator.mint(&session, &format!("subagent:writer:{nth}"));
            agent.credential().to_owned()
        };
        (0..self.writers).map(writer).collect()
    }

    /// Sends a request; `None` if nothing is known of it.
    fn add(&self, client: &Client, batch: Batch) -> Option<Value> {
        let (writer, round, nth) = batch;
        let memory = |place: usize| {
            let name = format!("w{writer}r{round}b{nth}m{place}");
            // Texts that are like no other: each word is of this memory alone.
            let lesson = (0..4).map(|it| format!("{name}x{it}")).collect::<Vec<_>>().join(" ");
            json!({"memory_type": "learning", "title": name, "content": {"lesson": lesson}})
        };
        let memories: Vec<Value> = (0..self.batch).map(memory).collect();
        let answer =
            client.try_post(TOOL, &json!({"action": "add_memories", "memories": memories}));
        let answer: Answer = answer.ok()?;
        match answer.status {
            503 => None,
            // Of a platform, not of ours: what ran the request has ended.
            500 if answer.text.is_empty() => None,
            _ => Some(answer.expect(200)),
        }
    }

    /// Prints how long searches among `count` memories take over HTTP.
    fn time_searches(&self, client: &Client, count: usize) {
        let search = |nth: usize| {
            let name = format!("w{}r0b0m{}", nth % self.writers, nth % self.batch);
            let query = json!({"action": "search_memories", "query": name});
            let began = Instant::now();
            client.post(TOOL, &query).expect(200);
            began.elapsed()
        };
        let mut times: Vec<_> = (0..SEARCHES).map(search).collect();
        times.sort_unstable();
        let (p50, p99) = (times[SEARCHES / 2], times[SEARCHES * 99 / 100]);
        tell(&format!(
            "{}: a search among {count} memories: p50 {p50:.1?}, p99 {p99:.1?}",
            self.host
        ));
    }

    fn ids_of(&self, client: &Client, batch: Batch) -> Vec<String> {
        let reply = self.add(client, batch).unwrap();
        ids(&reply)
    }
}

fn ids(reply: &Value) -> Vec<String> {
    let all = reply["memories"].as_array().unwrap().iter();
    all.map(|it| it["memory_id"].as_str().unwrap().to_owned()).collect()
}
