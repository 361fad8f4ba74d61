//! Watching a session live through the entry: streams, waits and sockets, beside each
//! other, through kills, and to the end.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test: whatever is not as it should be fails it"
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

/// How many live streams a participant may have open.
const STREAMS_MAX: usize = 64;

fn main() -> ExitCode {
    shared_context_workers::main(&[
        ("streams_sockets_and_waits_are_told_of_every_change_in_order", told),
        ("a_reader_takes_up_where_it_was", taken_up),
        ("a_client_that_leaves_frees_its_place", places),
        ("a_reader_loses_no_event_and_gets_none_twice_over_kills", kills),
        ("nothing_is_told_before_it_is_durable", durable),
        ("revoking_and_deleting_end_streams_and_sockets", endings),
        ("a_socket_outlives_its_object", outlives),
        ("who_may_not_watch_gets_no_socket", refusals),
        ("who_says_much_on_a_socket_is_closed", much),
    ])
}

fn start(folder: &tempfile::TempDir) -> Workerd {
    Setup::new(folder.path()).without_rate_limit().under_test().start()
}

fn create(workerd: &Workerd) -> Client {
    let config = json!({"namespace": {"keys": []}, "changes_max": 2_000});
    workerd.admin().create_session("a", &config)
}

fn told() {
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
            // What they say means nothing.
            sockets[0].say("{\"event\":\"write\"}");
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

fn taken_up() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let orchestrator = create(&workerd);
    for _ in 0..9 {
        orchestrator.write("a", "key", "x").expect(200);
    }
    // The header says more than the query.
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
    // Nothing of what was is told to who does not say.
    let mut socket = Socket::open(&orchestrator, "a", "").opened(10);
    orchestrator.write("a", "key", "x").expect(200);
    assert_eq!(socket.revision(), 11);
    let page = orchestrator.get("/v1/sessions/a/changes?since=11&wait=1").expect(200);
    assert_eq!((&page["changes"], &page["next_since"]), (&json!([]), &json!(11)));
}

/// Waits until `client` may open a stream; how long that took.
#[track_caller]
fn wait_for_place(client: &Client) -> Duration {
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
        assert!(began.elapsed() < Duration::from_secs(40), "no place is freed");
    }
}

fn places() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = Setup::new(folder.path()).under_test().start();
    let orchestrator = create(&workerd);
    let agent = orchestrator.mint("a", "subagent:a");
    let streams: Vec<_> = (0..STREAMS_MAX).map(|_| Watch::open(&orchestrator, "a", "")).collect();
    let headers = [("accept", "text/event-stream")];
    let refused = orchestrator.try_send("GET", "/v1/sessions/a/changes", &headers, None).unwrap();
    refused.refused(429, "RATE_LIMITED");
    let (status, body) = Socket::try_open(&orchestrator, "a", "").unwrap_err();
    assert_eq!((status, &body["error"]["code"]), (429, &json!("RATE_LIMITED")));
    // The others have places of their own.
    let mut socket = Socket::open(&agent, "a", "").opened(1);
    drop(streams);
    let by_streams = wait_for_place(&orchestrator);
    let sockets: Vec<_> =
        (0..STREAMS_MAX - 1).map(|_| Socket::open(&agent, "a", "").opened(1)).collect();
    let (status, _) = Socket::try_open(&agent, "a", "").unwrap_err();
    assert_eq!(status, 429);
    // They hang up without a word.
    drop(sockets);
    let by_sockets = wait_for_place(&agent);
    orchestrator.write("a", "key", "x").expect(200);
    assert_eq!(socket.revision(), 2);
    tell(&format!(
        "{STREAMS_MAX} places: free {by_streams:.1?} after streams were left, {by_sockets:.1?} \
         after sockets were"
    ));
}

/// Writes one after another until told to stop, or an answer fails to come.
fn write_on(client: &Client, told: &mpsc::Receiver<()>) {
    while let Err(mpsc::TryRecvError::Empty) = told.try_recv() {
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
        let (tell, told) = mpsc::channel();
        let setup = thread::scope(|scope| {
            let writer = scope.spawn(move || write_on(&client, &told));
            for _ in 0..40 {
                seen.push(watch.event().revision());
                seen_by_socket.push(socket.revision());
            }
            let setup = workerd.kill();
            drop(tell);
            writer.join().unwrap();
            setup
        });
        // What was on its way when it was killed.
        seen.extend(watch.rest().iter().map(Event::revision));
        last_id = watch.last_id;
        while let Some(message) = socket.next() {
            seen_by_socket.push(message["revision"].as_u64().unwrap());
        }
        workerd = setup.start();
        // Nobody was told what is not there.
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

/// The disk takes its time: until it has what was written, nobody hears of it.
fn durable() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let (orchestrator, module) = (create(&workerd), workerd.under_test());
    let mut watch = Watch::open(&orchestrator, "a", "");
    module.tell("sync", &json!({"held": true}));
    let (sender, heard) = mpsc::channel();
    thread::spawn(move || sender.send((watch.event().revision(), Instant::now())));
    // The platform holds back answers, whatever the host does.
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

/// The object goes to sleep under its sockets; they stay, and the next change wakes
/// it for them.
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
    // An object that has nothing to do sleeps after 10 s.
    let asleep = Instant::now() + Duration::from_secs(13);
    while Instant::now() < asleep {
        thread::sleep(Duration::from_millis(100));
    }
    orchestrator.write("a", "other", "x").expect(200);
    assert_ne!(built(&module), before, "the object did not sleep");
    orchestrator.write("a", "wanted", "x").expect(200);
    assert_eq!((socket.revision(), socket.revision(), filtered.revision()), (3, 4, 4));
    // The instance fails; the sockets stay, or are closed.
    module.poison();
    orchestrator.write("a", "wanted", "x").refused(500, "INTERNAL");
    let now = orchestrator.write("a", "wanted", "x").expect(200)["revision"].as_u64().unwrap();
    let mut told = Vec::new();
    while told.last() != Some(&now) {
        match socket.next() {
            Some(Value::Object(message)) => told.push(message["revision"].as_u64().unwrap()),
            _ => break,
        }
    }
    tell(&format!("after a failed instance the socket was told {told:?} of {now}"));
}

fn refusals() {
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
        (other, 401, "UNAUTHENTICATED"),
    ] {
        let (refused, body) = Socket::try_open(&client, "a", "").unwrap_err();
        assert_eq!((refused, &body["error"]["code"]), (status, &json!(code)), "{body}");
    }
    assert_eq!(module.built(), before, "who may not watch wakes no object");
    for (query, status, code) in [
        ("?since=99", 410, "CHANGES_TRUNCATED"),
        ("?since=x", 400, "MALFORMED_REQUEST"),
        ("?wait=5", 400, "MALFORMED_REQUEST"),
    ] {
        let (refused, body) = Socket::try_open(&orchestrator, "a", query).unwrap_err();
        assert_eq!((refused, &body["error"]["code"]), (status, &json!(code)), "{body}");
    }
}

/// Nothing limits what a client sends over a socket, and it all reaches the memory
/// that the sessions of an isolate share.
fn much() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let orchestrator = create(&workerd);
    let mut quiet = Socket::open(&orchestrator, "a", "").opened(1);
    quiet.say(&"x".repeat(4_096));
    let mut loud = Socket::open(&orchestrator, "a", "").opened(1);
    loud.say(&"x".repeat(4_097));
    assert_eq!((loud.next(), loud.closed), (None, Some(1009)));
    orchestrator.write("a", "scope", "x").expect(200);
    assert_eq!(quiet.revision(), 2);
    quiet.say_bytes(&[0; 16]);
    assert_eq!((quiet.next(), quiet.closed), (None, Some(1009)));
}
