//! Floods: connections by the thousand, heads and bodies that come byte by byte, readers that never
//! read, large requests from many at once. Memory stays bounded, and well-behaved clients and the
//! operator get answers.
//!
//! The figures of a flood of full size, on a quiet machine with `ulimit -n 20000`:
//! `SHARED_CONTEXT_FLOOD=full cargo test --release --workspace --test floods -- \ --nocapture
//! --test-threads 1`. Times are printed and not asserted, except for bounds that only a stuck
//! server exceeds.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{
    env,
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
    thread,
    time::Duration,
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use shared_context_system::{
    Client, Server, Setup,
    flood::{self, Flood, Measured},
    raw::{Connection, request},
    tell,
};

/// More than any flood may take, and less than one that is not held back.
const MEMORY_MB_MAX: u64 = 700;
/// A server that is slower than this is stuck.
const STUCK: Duration = Duration::from_secs(20);

fn is_full() -> bool {
    env::var("SHARED_CONTEXT_FLOOD").is_ok_and(|it| it == "full")
}

/// `full`, or a tenth of it.
fn size(full: usize) -> usize {
    if is_full() { full } else { full / 10 }
}

fn start(folder: &tempfile::TempDir) -> Server {
    // Both ends of a connection are an open file of one of us.
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    Setup::new(folder.path()).without_rate_limit().start()
}

/// Measures `attack` and judges what no machine can excuse.
fn check(name: &str, server: &Server, attack: impl FnOnce(&Flood) + Send) -> Measured {
    let measured = flood::measure(name, server, (size(2_000), Duration::ZERO), attack);
    tell(&measured.to_string());
    assert!(measured.memory[1] < MEMORY_MB_MAX, "{measured}");
    assert!(measured.flooded.at(99) < STUCK && measured.operator.at(99) < STUCK, "{measured}");
    measured
}

#[test]
fn connections_that_do_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(&folder);
    let count = size(10_000);
    let measured = check(&format!("{count} idle connections"), &server, |flood| {
        let idle = flood::connect(&server, count, b"");
        assert!(idle.len() >= count * 9 / 10, "{} of {count}", idle.len());
        flood.stands();
        while !flood.is_over() {
            thread::sleep(Duration::from_millis(5));
        }
    });
    assert_eq!(measured.operator.again, 0, "{measured}");
}

#[test]
fn heads_that_come_byte_by_byte() {
    let head = b"GET /v1/sessions HTTP/1.1\r\nHost: x\r\nX: ";
    slow("slow heads", size(6_000), head);
}

#[test]
fn bodies_that_come_byte_by_byte() {
    let head = b"POST /v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
                 Content-Length: 200000\r\n\r\n{";
    slow("slow bodies", size(6_000), head);
}

fn slow(name: &str, count: usize, first: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let server = start(&folder);
    check(&format!("{count} {name}"), &server, |flood| {
        let mut slow = flood::connect(&server, count, first);
        flood.stands();
        while !flood.is_over() {
            flood::drip(&server, &mut slow, first);
        }
    });
}

#[test]
fn connections_that_open_and_close() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(&folder);
    check("opening and closing", &server, |flood| {
        flood.stands();
        thread::scope(|scope| {
            for nth in 0..8 {
                let server = &server;
                scope.spawn(move || {
                    while !flood.is_over() {
                        let Ok(mut stream) = TcpStream::connect(server.address()) else { continue };
                        // Some say nothing, some half of something, some all and leave.
                        let said =
                            [&b""[..], b"GET / HT", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"];
                        drop(stream.write_all(said[nth % 3]));
                    }
                });
            }
        });
    });
}

#[test]
fn readers_that_never_read() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(&folder);
    let orchestrator = server.admin().create_session("watched", &json!({}));
    let count = size(3_000);
    check(&format!("{count} unread streams of one session"), &server, |flood| {
        let head = format!(
            "GET /v1/sessions/watched/changes HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\
             Authorization: Bearer {}\r\n\r\n",
            orchestrator.credential()
        );
        let polled = head.replace("text/event-stream", "application/json");
        let polled = polled.replace("/changes", "/changes?wait=25");
        let unread = [
            flood::connect(&server, count / 2, head.as_bytes()),
            flood::connect(&server, count / 2, polled.as_bytes()),
        ];
        flood.stands();
        while !flood.is_over() {
            orchestrator.write("watched", "key", "x").expect(200);
            // At the rate limit of a participant; each write wakes all.
            thread::sleep(Duration::from_millis(5));
        }
        drop(unread);
    });
}

/// Each search reads the signatures of all memories, and each memory that is added wakes all who
/// watch the project.
#[test]
fn many_search_and_watch_one_project() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(&folder);
    let admin = server.admin();
    admin.send("PUT", "/v1/projects/p", None).expect(201);
    let memory = |nth: usize| {
        let lesson = format!("Lesson {nth} about pools. ").repeat(10);
        json!({"memory_type": "learning", "title": format!("Lesson {nth}"),
            "content": {"lesson": lesson}})
    };
    for first in (0..size(10_000)).step_by(500) {
        let memories: Vec<_> = (first..first + 500).map(memory).collect();
        admin.post("/v1/projects/p/memories", &json!({"memories": memories})).expect(201);
    }
    let agent = admin.create_session("s", &json!({"project": "p"}));
    let credential = format!("Bearer {}", agent.credential());
    let listen = [("Authorization", &*credential), ("Accept", "text/event-stream")];
    let listen = request("GET /v1/projects/p/changes HTTP/1.1", &listen, "");
    let search = [("Authorization", &*credential), ("Content-Type", "application/json")];
    let body = r#"{"query": "lesson pools", "limit": 100}"#;
    let search = request("POST /v1/projects/p/memories/search HTTP/1.1", &search, body);
    let count = size(2_000);
    let name = format!("{count} who search and watch one project");
    let measured = check(&name, &server, |flood| {
        let unread = [
            flood::connect(&server, count / 2, &listen),
            flood::connect(&server, count / 2, &search),
        ];
        flood.stands();
        let mut nth = size(10_000);
        while !flood.is_over() {
            let memories = json!({"memories": [memory(nth)]});
            agent.post("/v1/projects/p/memories", &memories).expect(201);
            nth += 1;
            thread::sleep(Duration::from_millis(5));
        }
        drop(unread);
    });
    assert_eq!(measured.operator.again, 0, "{measured}");
    let shown = server.admin().get("/v1/projects/p").expect(200);
    assert!(shown["memory_count"].as_u64().unwrap() > 1_000, "{shown}");
}

/// Each is as large as may be, and none is known to the server.
#[test]
fn large_requests_from_many() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(&folder);
    let orchestrator = server.admin().create_session("large", &json!({}));
    let value = "x".repeat(2_300);
    let writes: Vec<_> =
        (0..100).map(|nth| json!({"key": format!("key_{nth}"), "value": value})).collect();
    let large = json!({"action": "write_batch", "writes": writes}).to_string();
    assert!((200_000..256 << 10).contains(&large.len()));
    let large: Value = serde_json::from_str(&large).unwrap();
    check("large requests of 128 clients", &server, |flood| {
        thread::scope(|scope| {
            for _ in 0..128 {
                let client = server.admin().with_credential(orchestrator.credential());
                let large = &large;
                scope.spawn(move || {
                    while !flood.is_over() {
                        match client.try_tool("large", large).map(|it| it.status) {
                            Ok(status @ (429 | 503)) => flood.answered(status),
                            // Whatever the rules say of it; who lost its connection asks again.
                            Ok(200 | 409) | Err(_) => {}
                            Ok(status) => panic!("{status}"),
                        }
                        flood.stands();
                    }
                });
            }
        });
    });
}

/// An operator's documents are the largest requests there are.
#[test]
fn documents_that_come_slowly_and_all_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(&folder);
    let key = server.admin().credential().to_owned();
    let head = format!(
        "POST /v1/sessions/import HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Authorization: Bearer {key}\r\nContent-Length: 16000000\r\n\r\n"
    );
    let measured = check("documents of 64 clients", &server, |flood| {
        thread::scope(|scope| {
            for _ in 0..64 {
                let (server, head) = (&server, &head);
                scope.spawn(move || {
                    while !flood.is_over() {
                        // It stops before the end, and waits to see what comes.
                        let Ok(mut stream) = TcpStream::connect(server.address()) else { continue };
                        let _ = stream.set_write_timeout(Some(Duration::from_secs(1)));
                        let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
                        drop(stream.write_all(head.as_bytes()));
                        let piece = vec![b' '; 1 << 20];
                        let is_sent = (0..14).all(|_| stream.write_all(&piece).is_ok());
                        flood.stands();
                        let mut answer = [0; 12];
                        if !is_sent || stream.read_exact(&mut answer).is_ok() {
                            flood.answered(503);
                        }
                    }
                });
            }
        });
    });
    assert!(
        measured.statuses.contains_key(&503),
        "64 documents of 16 MB were all taken: {measured}"
    );
}

#[test]
fn sessions_by_the_thousand_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(&folder);
    let count = size(10_000);
    check(&format!("{count} sessions at once"), &server, |flood| {
        thread::scope(|scope| {
            for nth in 0..50 {
                let admin = server.admin();
                scope.spawn(move || {
                    for of_mine in (nth..count).step_by(50) {
                        let name = format!("many-{of_mine}");
                        let orchestrator = admin.create_session(&name, &json!({}));
                        let orchestrator = Client::new(
                            &format!("http://{}", admin.address()),
                            orchestrator.credential(),
                        );
                        orchestrator.write(&name, "key", "x").expect(200);
                        flood.stands();
                    }
                });
            }
        });
    });
    let last = server.admin().get(&format!("/v1/sessions/many-{}", count - 1)).expect(200);
    assert_eq!(last["key_count"], 1, "{last}");
}

/// The server kept as many connections as it may and let all others wait, unheard, in
/// the system's queue: also the operator, and also while most of them were idle.
#[test]
fn a_server_that_is_full_makes_room_or_says_so() {
    let folder = tempfile::tempdir().unwrap();
    // A hundred connections at a time.
    let server = Setup::new(folder.path()).without_rate_limit().open_files_max(200).start();
    let orchestrator = server.admin().create_session("a", &json!({}));
    orchestrator.write("a", "key", "x").expect(200);
    // Idle ones make room, whether they were used or not.
    let mut idle: Vec<_> = (0..150).map(|_| Connection::open(&server)).collect();
    let fresh = server.admin().with_credential(orchestrator.credential());
    fresh.read("a", "key").expect(200);
    assert!(idle[0].is_closed(), "the one that was idle the longest is still there");
    drop(idle);
    // Of streams half of them are left, and those that end say how to go on.
    let listen = format!("Bearer {}", orchestrator.credential());
    let headers = [("Authorization", &*listen), ("Accept", "text/event-stream")];
    let listen = request("GET /v1/sessions/a/changes HTTP/1.1", &headers, "");
    let mut streams: Vec<_> = (0..200)
        .map(|_| {
            let mut stream = Connection::open(&server);
            stream.send(&listen);
            assert_eq!(stream.answer().unwrap().status, 200);
            stream
        })
        .collect();
    let told = streams[0].rest();
    assert!(told.contains("the server ends this stream; connect again"), "{told}");
    assert!(told.ends_with("0\r\n\r\n"), "cut off: {told}");
    // Everyone is served meanwhile.
    fresh.read("a", "key").expect(200);
    server.admin().get("/v1/sessions").expect(200);
    let metrics = server.admin().get("/metrics").text;
    let open = metrics.lines().find_map(|it| it.strip_prefix("shared_context_open_streams "));
    let open: usize = open.unwrap().parse().unwrap();
    assert!((30..=60).contains(&open), "{open} streams");
}

/// Both could only be set by a program that has the server as a library.
#[test]
fn an_operator_says_how_many_connections_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let server = Setup::new(folder.path()).arguments(&["--connections-max", "3"]).start();
    let orchestrator = server.admin().create_session("a", &json!({}));
    let listen = format!("Bearer {}", orchestrator.credential());
    let headers = [("Authorization", &*listen), ("Accept", "text/event-stream")];
    let listen = request("GET /v1/sessions/a/changes HTTP/1.1", &headers, "");
    let mut streams: Vec<_> = (0..3)
        .map(|_| {
            let mut stream = Connection::open(&server);
            stream.send(&listen);
            assert_eq!(stream.answer().unwrap().status, 200);
            stream
        })
        .collect();
    // Of three connections one may be a stream.
    assert!(streams[0].rest().contains("connect again"));
    assert!(streams[1].rest().contains("connect again"));
    server.admin().get("/v1/sessions").expect(200);
}

#[test]
fn an_operator_says_how_long_a_head_may_take() {
    let folder = tempfile::tempdir().unwrap();
    // As it comes it is longer than this test waits.
    let server = Setup::new(folder.path()).arguments(&["--head-time-max", "1s"]).start();
    for said in ["", "GET /healthz HT", "GET /healthz HTTP/1.1\r\nHost: x\r\nX: "] {
        let mut connection = Connection::open(&server);
        connection.send(said);
        assert!(connection.is_closed(), "{said:?} is waited for");
    }
    // One that was used is idle then.
    let mut connection = Connection::open(&server);
    connection.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(connection.answer().unwrap().status, 200);
    assert!(connection.is_closed(), "an idle connection is kept");
}

/// Clients that do not even send a head cannot keep the reserved connections from the operator.
#[test]
fn the_operator_is_served_while_others_hold_all_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let server = Setup::new(folder.path()).without_rate_limit().open_files_max(200).start();
    let orchestrator = server.admin().create_session("a", &json!({}));
    let head = format!(
        "GET /v1/sessions/a/changes HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\
         Authorization: Bearer {}\r\n\r\n",
        orchestrator.credential()
    );
    let busy = flood::connect(&server, 100, head.as_bytes());
    let silent = flood::connect(&server, 200, b"");
    let half = flood::connect(&server, 200, b"GET /v1/sessions HT");
    for _ in 0..20 {
        // A new connection each time.
        server.admin().get("/v1/sessions").expect(200);
    }
    let mut ended = 0;
    for mut stream in silent {
        match stream.read(&mut [0; 1]) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            _ => ended += 1,
        }
    }
    assert!(ended > 100, "{ended} of 200 silent connections were closed");
    drop((busy, half));
    server.assert_alive();
}
