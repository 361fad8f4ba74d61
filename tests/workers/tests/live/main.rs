//! Tests watching a session live through the entry: streams, waits and sockets, also
//! together, through kills, and to their end.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test: an unexpected result fails it"
)]

mod socket;

use std::{
    process::ExitCode,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use shared_context_system::{Client, Event, Watch, tell};
use shared_context_workers::{Setup, Workerd};

use crate::socket::Socket;

/// The maximum number of open streams of a participant.
const STREAMS_MAX: usize = 64;

fn main() -> ExitCode {
    shared_context_workers::main(&[
        ("streams_sockets_and_waits_report_all_changes_in_order", all_changes),
        ("a_reader_resumes_at_its_position", resumed),
        ("a_client_that_disconnects_frees_its_slot", slots),
        ("over_kills_a_reader_gets_each_event_exactly_once", kills),
        ("changes_are_reported_only_once_they_are_durable", durable),
        ("revoking_and_deleting_end_streams_and_sockets", endings),
        ("a_socket_outlives_its_object", outlives),
        ("a_client_that_may_not_watch_gets_no_socket", rejections),
        ("a_long_client_message_closes_the_socket", long_messages),
    ])
}

fn start(folder: &tempfile::TempDir) -> Workerd {
    Setup::new(folder.path()).without_rate_limit().under_test().start()
}

fn create(workerd: &Workerd) -> Client {
    let config = json!({"namespace": {"keys": []}, "changes_max": 2_000});
    workerd.admin().create_session("a", &config)
}

fn all_changes() {
    const CHANGES: u64 = 60;
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let orchestrator = create(&workerd);
    let agent = orchestrator.mint("a", "subagent:a");
    let mut watch = Watch::open(&orchestrator, "a", "");
    let mut filtered = Watch::open(&agent, "a", "?keys=findings_*");
    let mut sockets = [&orchestrator, &agent].map(|it| Socket::open(it, "a", "").opened(1));
    let mut filtered_socket = Socket::open(&agent, "a", "?keys=findings_*").opened(1);
    let waiting = orchestrator.with_credential(agent.credential());
    thread::scope(|scope| {
        let waits = scope.spawn(move || {
            let (mut since, mut seen) = (1, Vec::new());
            while since <= CHANGES {
                let path = format!("/v1/sessions/a/changes?wait=25&since={since}");
                let page = waiting.get(&path).expect(200);
                let changes = page["changes"].as_array().unwrap().iter();
                seen.extend(changes.map(|it| it["revision"].as_u64().unwrap()));
                since = page["next_since"].as_u64().unwrap();
            }
            seen
        });
        for nth in 0..CHANGES {
            let key = if nth % 5 == 0 { "findings_1" } else { "notes" };
            orchestrator.write("a", key, "secret").expect(200);
            // Client messages are ignored.
            sockets[0].send("{\"event\":\"write\"}");
        }
        let all: Vec<_> = (2..=CHANGES + 1).collect();
        assert_eq!(waits.join().unwrap(), all);
        assert_eq!(all.iter().map(|_| watch.event().revision()).collect::<Vec<_>>(), all);
        for socket in &mut sockets {
            assert_eq!(all.iter().map(|_| socket.revision()).collect::<Vec<_>>(), all);
        }
    });
    for nth in (2..=CHANGES + 1).step_by(5) {
        let event = filtered.event();
        assert_eq!((event.revision(), event.told()), (nth, vec!["write findings_1".to_owned()]));
        let message = filtered_socket.message();
        assert_eq!((&message["revision"], &message["event"]), (&json!(nth), &json!("change")));
        assert_eq!(message["changes"][0]["key"], "findings_1");
        assert!(!message.to_string().contains("secret"), "{message}");
    }
    let written = Instant::now();
    orchestrator.write("a", "notes", "x").expect(200);
    watch.event();
    let by_stream = written.elapsed();
    sockets[0].message();
    tell(&format!("a write reached a stream and a socket within {by_stream:.1?}"));
    for socket in sockets {
        socket.close();
    }
    orchestrator.write("a", "notes", "x").expect(200);
    watch.event();
}

fn resumed() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let orchestrator = create(&workerd);
    for _ in 0..9 {
        orchestrator.write("a", "key", "x").expect(200);
    }
    // The header takes precedence over the query.
    let mut watches = [
        Watch::open(&orchestrator, "a", "?since=6"),
        Watch::resume(&orchestrator, "a", "?since=1", Some(6)),
    ];
    let mut socket = Socket::open(&orchestrator, "a", "?since=6").opened(6);
    for revision in 7..=10 {
        for watch in &mut watches {
            assert_eq!(watch.event().revision(), revision);
        }
        assert_eq!(socket.revision(), revision);
    }
    // A socket without a position reports no earlier changes.
    let mut socket = Socket::open(&orchestrator, "a", "").opened(10);
    orchestrator.write("a", "key", "x").expect(200);
    assert_eq!(socket.revision(), 11);
    let page = orchestrator.get("/v1/sessions/a/changes?since=11&wait=1").expect(200);
    assert_eq!((&page["changes"], &page["next_since"]), (&json!([]), &json!(11)));
}

/// Waits until `client` may open a stream; returns the time that took.
#[track_caller]
fn wait_for_slot(client: &Client) -> Duration {
    let began = Instant::now();
    loop {
        match Socket::try_open(client, "a", "") {
            Ok(socket) => {
                socket.close();
                return began.elapsed();
            }
            Err((429, _)) => thread::sleep(Duration::from_millis(200)),
            Err((status, body)) => panic!("{status} {body}"),
        }
        assert!(began.elapsed() < Duration::from_secs(40), "no slot is freed");
    }
}

fn slots() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = Setup::new(folder.path()).under_test().start();
    let orchestrator = create(&workerd);
    let agent = orchestrator.mint("a", "subagent:a");
    let streams: Vec<_> = (0..STREAMS_MAX).map(|_| Watch::open(&orchestrator, "a", "")).collect();
    let headers = [("accept", "text/event-stream")];
    let rejected = orchestrator.try_send("GET", "/v1/sessions/a/changes", &headers, None).unwrap();
    rejected.refused(429, "RATE_LIMITED");
    let (status, body) = Socket::try_open(&orchestrator, "a", "").unwrap_err();
    assert_eq!((status, &body["error"]["code"]), (429, &json!("RATE_LIMITED")));
    // Other participants have their own slots.
    let mut socket = Socket::open(&agent, "a", "").opened(1);
    drop(streams);
    let by_streams = wait_for_slot(&orchestrator);
    let sockets: Vec<_> =
        (0..STREAMS_MAX - 1).map(|_| Socket::open(&agent, "a", "").opened(1)).collect();
    let (status, _) = Socket::try_open(&agent, "a", "").unwrap_err();
    assert_eq!(status, 429);
    // These clients disconnect without a close frame.
    drop(sockets);
    let by_sockets = wait_for_slot(&agent);
    orchestrator.write("a", "key", "x").expect(200);
    assert_eq!(socket.revision(), 2);
    tell(&format!(
        "{STREAMS_MAX} slots: free {by_streams:.1?} after streams were left, {by_sockets:.1?} \
         after sockets were"
    ));
}

/// Writes repeatedly until `stop` is closed or a request fails.
fn write_repeatedly(client: &Client, stop: &mpsc::Receiver<()>) {
    while let Err(mpsc::TryRecvError::Empty) = stop.try_recv() {
        let request = json!({"action": "write", "key": "busy", "value": "x"});
        if !client.try_tool("a", &request).is_ok_and(|it| it.status == 200) {
            break;
        }
    }
}

fn kills() {
    let folder = tempfile::tempdir().unwrap();
    let mut workerd = start(&folder);
    let credential = create(&workerd).credential().to_owned();
    let (mut seen, mut last_id) = (vec![1], Some(1));
    let mut seen_by_socket = vec![1];
    for _ in 0..4 {
        let client = workerd.admin().with_credential(&credential);
        let mut watch = Watch::resume(&client, "a", "", last_id);
        let since = *seen_by_socket.last().unwrap();
        let mut socket = Socket::open(&client, "a", &format!("?since={since}")).opened(since);
        let (sender, stop) = mpsc::channel();
        let setup = thread::scope(|scope| {
            let writer = scope.spawn(move || write_repeatedly(&client, &stop));
            for _ in 0..40 {
                seen.push(watch.event().revision());
                seen_by_socket.push(socket.revision());
            }
            let setup = workerd.kill();
            drop(sender);
            writer.join().unwrap();
            setup
        });
        // Reads the events that were sent before the kill.
        seen.extend(watch.rest().iter().map(Event::revision));
        last_id = watch.last_id;
        while let Some(message) = socket.next() {
            seen_by_socket.push(message["revision"].as_u64().unwrap());
        }
        workerd = setup.start();
        // Only stored changes were reported.
        let client = workerd.admin().with_credential(&credential);
        let now = client.get("/v1/sessions/a").expect(200)["revision"].as_u64().unwrap();
        for seen in [&seen, &seen_by_socket] {
            assert!(*seen.last().unwrap() <= now, "{seen:?} {now}");
        }
    }
    let client = workerd.admin().with_credential(&credential);
    let now = client.get("/v1/sessions/a").expect(200)["revision"].as_u64().unwrap();
    let mut watch = Watch::resume(&client, "a", "", last_id);
    while seen.last() != Some(&now) {
        seen.push(watch.event().revision());
    }
    assert_eq!(seen, (1..=now).collect::<Vec<_>>());
    let until = *seen_by_socket.last().unwrap();
    assert_eq!(seen_by_socket, (1..=until).collect::<Vec<_>>());
    tell(&format!("4 kills: {now} revisions seen once each, in order"));
}

/// While the disk delays a write, no client is notified of it.
fn durable() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let (orchestrator, module) = (create(&workerd), workerd.under_test());
    let mut watch = Watch::open(&orchestrator, "a", "");
    module.tell("sync", &json!({"held": true}));
    let (sender, heard) = mpsc::channel();
    thread::spawn(move || sender.send((watch.event().revision(), Instant::now())));
    // The platform would hold back this answer by itself.
    orchestrator.write("a", "key", "x").expect(200);
    heard.recv_timeout(Duration::from_millis(500)).unwrap_err();
    let released = Instant::now();
    module.tell("sync", &json!({"held": false}));
    let (revision, at) = heard.recv_timeout(Duration::from_secs(5)).unwrap();
    assert!(revision == 2 && at > released, "{revision}");
}

fn endings() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let (orchestrator, admin) = (create(&workerd), workerd.admin());
    let agent = orchestrator.mint("a", "subagent:a");
    let mut watch = Watch::open(&agent, "a", "");
    let mut socket = Socket::open(&agent, "a", "").opened(1);
    let mut admins_socket = Socket::open(&admin, "a", "").opened(1);
    admin.post("/v1/sessions/a/revoke", &json!({})).expect(200);
    assert_eq!(watch.event().code(), "UNAUTHENTICATED");
    assert_eq!(watch.next_event(), None);
    let message = socket.message();
    assert_eq!(
        (&message["event"], &message["error"]["code"]),
        (&json!("end"), &json!("UNAUTHENTICATED"))
    );
    assert_eq!((socket.next(), socket.closed), (None, Some(1008)));
    assert_eq!(admins_socket.message()["changes"][0]["action"], "revoke_credentials");
    let mut admins_watch = Watch::open(&admin, "a", "");
    admin.send("DELETE", "/v1/sessions/a", None).expect(200);
    assert_eq!(admins_watch.event().code(), "SESSION_NOT_FOUND");
    let message = admins_socket.message();
    assert_eq!(message["error"]["code"], "SESSION_NOT_FOUND", "{message}");
    assert_eq!((admins_socket.next(), admins_socket.closed), (None, Some(1008)));
}

/// The object hibernates while its sockets stay open; the next change wakes it, and the
/// sockets report the change.
fn outlives() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let (orchestrator, module) = (create(&workerd), workerd.under_test());
    let mut socket = Socket::open(&orchestrator, "a", "").opened(1);
    let mut filtered = Socket::open(&orchestrator, "a", "?keys=wanted").opened(1);
    orchestrator.write("a", "wanted", "x").expect(200);
    assert_eq!((socket.revision(), filtered.revision()), (2, 2));
    let built = |module: &shared_context_workers::UnderTest| module.built()["session/a"].clone();
    let before = built(&module);
    // An idle object hibernates after 10 s.
    let asleep = Instant::now() + Duration::from_secs(13);
    while Instant::now() < asleep {
        thread::sleep(Duration::from_millis(100));
    }
    orchestrator.write("a", "other", "x").expect(200);
    assert_ne!(built(&module), before, "the object did not hibernate");
    orchestrator.write("a", "wanted", "x").expect(200);
    assert_eq!((socket.revision(), socket.revision(), filtered.revision()), (3, 4, 4));
    // After a trap, the sockets stay open or are closed.
    module.poison();
    orchestrator.write("a", "wanted", "x").refused(500, "INTERNAL");
    let now = orchestrator.write("a", "wanted", "x").expect(200)["revision"].as_u64().unwrap();
    let mut seen = Vec::new();
    while seen.last() != Some(&now) {
        match socket.next() {
            Some(Value::Object(message)) => seen.push(message["revision"].as_u64().unwrap()),
            _ => break,
        }
    }
    tell(&format!("after a failed instance the socket reported {seen:?} of {now}"));
}

fn rejections() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let orchestrator = create(&workerd);
    let other = workerd.admin().create_session("b", &json!({}));
    let module = workerd.under_test();
    module.evict();
    let before = module.built();
    for (client, status, code) in [
        (workerd.stranger(), 401, "UNAUTHENTICATED"),
        (workerd.stranger().with_credential("a.b.c"), 401, "UNAUTHENTICATED"),
        (other, 403, "FORBIDDEN"),
    ] {
        let (received, body) = Socket::try_open(&client, "a", "").unwrap_err();
        assert_eq!((received, &body["error"]["code"]), (status, &json!(code)), "{body}");
    }
    assert_eq!(module.built(), before, "a rejected client woke an object");
    for (query, status, code) in [
        ("?since=99", 410, "CHANGES_TRUNCATED"),
        ("?since=x", 400, "MALFORMED_REQUEST"),
        ("?wait=5", 400, "MALFORMED_REQUEST"),
    ] {
        let (received, body) = Socket::try_open(&orchestrator, "a", query).unwrap_err();
        assert_eq!((received, &body["error"]["code"]), (status, &json!(code)), "{body}");
    }
}

/// The platform does not limit the messages of clients, and they all use the memory that
/// the sessions of an isolate share.
fn long_messages() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let orchestrator = create(&workerd);
    let mut short = Socket::open(&orchestrator, "a", "").opened(1);
    short.send(&"x".repeat(4_096));
    let mut long = Socket::open(&orchestrator, "a", "").opened(1);
    long.send(&"x".repeat(4_097));
    assert_eq!((long.next(), long.closed), (None, Some(1009)));
    orchestrator.write("a", "scope", "x").expect(200);
    assert_eq!(short.revision(), 2);
    short.send_bytes(&[0; 16]);
    assert_eq!((short.next(), short.closed), (None, Some(1009)));
}
