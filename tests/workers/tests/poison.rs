//! Makes one request trap inside the WebAssembly instance, which a Worker's entry and its
//! objects share. That request is answered 500 at once. Others finish or fail at once,
//! streams end, and the next requests work in all sessions. Nothing hangs, and
//! acknowledged changes are stored.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test")]

use std::{
    collections::BTreeMap,
    process::ExitCode,
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use shared_context_system::{Answer, Client, Watch, tell};
use shared_context_workers::{Setup, UnderTest, Workerd};

const SESSIONS: usize = 4;
/// The number of concurrent requests of each session.
const CONCURRENT: usize = 4;
/// The maximum duration of any answer.
const ANSWER_MAX: Duration = Duration::from_secs(1);
/// The most attempts at one place. A busy machine delays an answer once; a fault delays it each
/// time.
const ATTEMPTS: usize = 3;

fn main() -> ExitCode {
    shared_context_workers::main(&[
        ("a_trap_in_one_of_16_requests_does_not_delay_the_others", one_of_many),
        ("a_trap_at_any_moment_of_any_request_is_answered_500", any_moment),
        ("open_streams_and_waits_end_and_can_be_resumed", streams),
        ("an_instance_is_replaced_after_each_failure", repeated_failures),
        ("an_alarm_is_retried_after_a_trap", alarm),
    ])
}

fn start(folder: &tempfile::TempDir) -> Workerd {
    Setup::new(folder.path()).without_rate_limit().under_test().start()
}

fn sessions(workerd: &Workerd) -> Vec<(String, Client)> {
    let config = json!({"namespace": {"keys": []}, "keys_max": 1_000});
    let admin = workerd.admin();
    let names = (0..SESSIONS).map(|nth| format!("session-{nth}"));
    names.map(|it| (it.clone(), admin.create_session(&it, &config))).collect()
}

/// Returns true if the request failed because of the trap; otherwise it must have succeeded.
#[track_caller]
fn is_lost(answer: &Answer) -> bool {
    if answer.status < 300 {
        return false;
    }
    answer.refused(500, "INTERNAL");
    assert_eq!(answer.headers["content-type"], "application/problem+json");
    true
}

/// Returns the duration of the slowest answer when all sessions are written and read.
#[track_caller]
fn slowest_answer(sessions: &[(String, Client)]) -> Duration {
    let mut slowest = Duration::ZERO;
    for (session, client) in sessions {
        for (answer, took) in [
            timed(|| client.write(session, "after", "x")),
            timed(|| client.read(session, "after")),
            timed(|| client.get(&format!("/v1/sessions/{session}"))),
        ] {
            answer.expect(200);
            slowest = slowest.max(took);
        }
    }
    slowest
}

/// Asserts that all sessions can be written and read, each answer in time.
#[track_caller]
fn all_work(sessions: &[(String, Client)]) {
    let slowest = slowest_answer(sessions);
    assert!(slowest < ANSWER_MAX, "{slowest:?}");
}

fn timed(ask: impl FnOnce() -> Answer) -> (Answer, Duration) {
    let asked = Instant::now();
    (ask(), asked.elapsed())
}

fn one_of_many() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let (sessions, module) = (sessions(&workerd), workerd.under_test());
    let mut writes: BTreeMap<(usize, String), bool> = BTreeMap::new();
    let (mut lost, mut slowest) = (0, Duration::ZERO);
    for (round, skip) in [0, 1, 2, 3, 5, 8, 13, 21, 34, 55].into_iter().enumerate() {
        module.tell("poison", &json!({"skip": skip}));
        let begin = Barrier::new(SESSIONS * CONCURRENT);
        let answers: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..SESSIONS * CONCURRENT)
                .map(|nth| {
                    let (begin, (session, client)) = (&begin, &sessions[nth % SESSIONS]);
                    // The clone has its own connection.
                    let client = client.with_credential(client.credential());
                    scope.spawn(move || {
                        let key = format!("key_{round}_{nth}");
                        begin.wait();
                        let (answer, took) = timed(|| match nth / SESSIONS {
                            0 => client.tool(session, &json!({"action": "list_keys"})),
                            1 => client.get(&format!("/v1/sessions/{session}/changes")),
                            _ => client.write(session, &key, &key),
                        });
                        (nth, key, answer, took)
                    })
                })
                .collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect()
        });
        assert!(!module.antidote(), "no request trapped");
        let mut is_any_lost = false;
        for (nth, key, answer, took) in answers {
            assert!(took < ANSWER_MAX, "{took:?}: {answer:?}");
            slowest = slowest.max(took);
            let is_lost = is_lost(&answer);
            lost += usize::from(is_lost);
            is_any_lost |= is_lost;
            if nth / SESSIONS >= 2 {
                writes.insert((nth % SESSIONS, key), !is_lost);
            }
        }
        assert!(is_any_lost, "no request reported the trap: {}", workerd.log());
        all_work(&sessions);
    }
    for ((nth, key), is_acknowledged) in &writes {
        let (session, client) = &sessions[*nth];
        let read = client.read(session, key);
        if read.status == 200 || *is_acknowledged {
            assert_eq!(read.expect(200)["value"], *key);
        } else {
            read.refused(404, "KEY_NOT_FOUND");
        }
    }
    let acknowledged = writes.values().filter(|it| **it).count();
    tell(&format!(
        "10 poisons among 160 requests over {SESSIONS} objects: {lost} answered 500, the slowest \
         answer after {slowest:.0?}; {acknowledged} of {} writes acknowledged, all there",
        writes.len()
    ));
}

/// Makes each clock read of `ask` trap, one after the other.
fn trap_everywhere(
    module: &UnderTest,
    sessions: &[(String, Client)],
    name: &str,
    ask: impl Fn() -> Answer,
) {
    let mut places = 0;
    let mut attempts = 0;
    while places < 40 {
        module.tell("poison", &json!({"skip": places}));
        let (answer, took) = timed(&ask);
        if module.antidote() {
            // The request reads clocks less often than that.
            assert!(answer.status < 300, "{name}: {}", answer.text);
            break;
        }
        assert!(is_lost(&answer), "{name}, {places}: {}", answer.text);
        let slowest = took.max(slowest_answer(sessions));
        attempts += 1;
        if slowest < ANSWER_MAX {
            places += 1;
            attempts = 0;
        } else {
            assert!(attempts < ATTEMPTS, "{name}, {places}: {slowest:?}");
        }
    }
    assert!(places > 0, "{name} looks at no clock");
    tell(&format!("{name}: poisoned at {places} places"));
}

fn any_moment() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let (sessions, module) = (sessions(&workerd), workerd.under_test());
    let (session, client) = &sessions[0];
    let admin = workerd.admin();
    let check =
        |name: &str, ask: &dyn Fn() -> Answer| trap_everywhere(&module, &sessions, name, ask);
    check("read", &|| client.read(session, "after"));
    check("write", &|| client.write(session, "key", "x"));
    check("batch", &|| {
        let writes: Vec<_> =
            (0..10).map(|nth| json!({"key": format!("b_{nth}"), "value": "x"})).collect();
        client.tool(session, &json!({"action": "write_batch", "writes": writes}))
    });
    check("list of sessions", &|| admin.get("/v1/sessions"));
    check("creation", &|| {
        // The session is deleted first, if it exists.
        let gone = admin.send("DELETE", "/v1/sessions/new", None);
        if gone.status == 500 {
            return gone;
        }
        admin.post("/v1/sessions", &json!({"session_id": "new"}))
    });
    let mcp = |method: &str| {
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }}})
    };
    check("MCP", &|| {
        let body = serde_json::to_vec(&mcp("tools/list")).unwrap();
        let headers = [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/list"),
        ];
        client.try_send("POST", "/mcp", &headers, Some(&body)).unwrap()
    });
}

fn streams() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let (sessions, module) = (sessions(&workerd), workerd.under_test());
    let mut seen = vec![vec![1]; SESSIONS];
    let mut ended = 0;
    for round in 0..4 {
        let mut watches: Vec<_> = sessions
            .iter()
            .zip(&seen)
            .map(|((session, client), seen)| {
                Watch::resume(client, session, "", seen.last().copied())
            })
            .collect();
        thread::scope(|scope| {
            let waits: Vec<_> = sessions
                .iter()
                .zip(&seen)
                .map(|((session, client), seen)| {
                    let path = format!(
                        "/v1/sessions/{session}/changes?wait=25&since={}",
                        seen.last().unwrap()
                    );
                    let client = client.with_credential(client.credential());
                    scope.spawn(move || {
                        let answer = client.get(&path);
                        (answer, Instant::now())
                    })
                })
                .collect();
            // Gives the waits time to start.
            thread::sleep(Duration::from_millis(300));
            module.poison();
            let (session, client) = &sessions[round % SESSIONS];
            assert!(is_lost(&client.write(session, "poisoned", "x")));
            let poisoned = Instant::now();
            all_work(&sessions);
            for wait in waits {
                let (answer, at) = wait.join().unwrap();
                assert!(at < poisoned + ANSWER_MAX, "{:?} {answer:?}", at - poisoned);
                is_lost(&answer);
            }
            for (watch, seen) in watches.iter_mut().zip(&mut seen) {
                // The stream continues or ends; it does not hang.
                let deadline = Instant::now();
                match watch.next_event() {
                    Some(event) if event.name == "change" => seen.push(event.revision()),
                    Some(event) => panic!("{event:?}"),
                    None => ended += 1,
                }
                assert!(deadline.elapsed() < ANSWER_MAX, "{:?}", deadline.elapsed());
            }
        });
    }
    for ((session, client), mut seen) in sessions.iter().zip(seen) {
        let now = client.get(&format!("/v1/sessions/{session}")).expect(200)["revision"].clone();
        let mut watch = Watch::resume(client, session, "", seen.last().copied());
        while seen.last() != now.as_u64().as_ref() {
            seen.push(watch.event().revision());
        }
        assert_eq!(seen, (1..=now.as_u64().unwrap()).collect::<Vec<_>>());
    }
    assert_eq!(module.instances(), 4, "one for each failure: {}", workerd.log());
    tell(&format!("4 poisons under 16 streams and 16 waits: {ended} streams ended, none hung"));
}

fn repeated_failures() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let (sessions, module) = (sessions(&workerd), workerd.under_test());
    let mut revision = Value::Null;
    for round in 0..50 {
        let (session, client) = &sessions[round % SESSIONS];
        module.poison();
        assert!(is_lost(&client.read(session, "key")));
        revision = client.write(session, "key", &round.to_string()).expect(200)["revision"].clone();
    }
    all_work(&sessions);
    assert_eq!(module.instances(), 50);
    let resident = resident_megabytes(workerd.id());
    tell(&format!("50 instances one after the other, revision {revision}; {resident} MB"));
    assert!(resident < 500, "{resident} MB");
}

fn resident_megabytes(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() / 1_000
}

/// The instance traps while it handles an object's alarm: the platform retries the alarm.
fn alarm() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let (sessions, module) = (sessions(&workerd), workerd.under_test());
    let (session, client) = &sessions[0];
    let write = json!({"action": "write", "key": "scope", "value": "x", "ttl_seconds": 60});
    client.tool(session, &write).expect(200);
    module.evict();
    module.poison_object(&format!("session/{session}"));
    module.set_ahead(Duration::from_mins(2));
    let deadline = Instant::now() + Duration::from_secs(20);
    let is_expired = || {
        let audit = workerd.admin().tool(session, &json!({"action": "audit"})).expect(200);
        audit.to_string().contains("\"expire\"")
    };
    while module.events()["deeds"][0]["what"] != "poisoned" {
        assert!(Instant::now() < deadline, "the alarm was not poisoned: {}", workerd.log());
        thread::sleep(Duration::from_millis(20));
    }
    while !is_expired() {
        assert!(Instant::now() < deadline, "the alarm does not come again: {}", workerd.log());
        thread::sleep(Duration::from_millis(100));
    }
    all_work(&sessions);
}
