//! Sockets that a host saves and resumes between events: the saved state, and that no message
//! is lost or sent twice.

use std::num::NonZeroU32;

use proptest::prelude::*;
use serde_json::{Value, json};
use shared_context_core::{
    key::KEY_BYTES_MAX, participant::PARTICIPANT_PART_BYTES_MAX, pattern::PATTERNS_MAX,
    scope::ID_BYTES_MAX, time::Timestamp,
};
use shared_context_wire::{
    Engine as _,
    http::{Options, RateLimit},
};

use crate::{
    bench::{ADMIN_KEY, Bench, START_MS, ready},
    changes::CHANGES,
    sockets::{UPGRADE, bench, open_streams, revisions, save_and_resume},
};

#[test]
fn saved_state_is_small_and_is_validated_on_resume() {
    let bench = bench();
    let (_, socket) = bench.socket(&bench.agent, "?keys=findings_*&since=1");
    let saved: Value = serde_json::from_str(&socket.kept()).unwrap();
    let expected = json!({
        "credential": bench.agent, "scope": "session/s", "keys": "findings_*", "since": 1, "told": 1,
        "is_begun": false,
    });
    assert_eq!(saved, expected);
    assert!(!format!("{socket:?}").contains(&bench.agent), "{socket:?}");

    let session = "s".repeat(ID_BYTES_MAX);
    bench.create(&session);
    let part = "t".repeat(PARTICIPANT_PART_BYTES_MAX);
    let participant = format!("subagent:{part}:{part}");
    let [prefix, name] = ["p".repeat(KEY_BYTES_MAX), "k".repeat(KEY_BYTES_MAX - 2)];
    let patterns: Vec<_> =
        (0..PATTERNS_MAX).map(|nth| format!("{prefix}:{nth:x}{name}*")).collect();
    let body = json!({"participant": participant, "keys": patterns}).to_string();
    let target = format!("POST /v1/sessions/{session}/credentials");
    let limited = bench.check_as(ADMIN_KEY, &target, &[], &body, 201, "").json();
    let whole = bench.mint(&session, &participant);
    let filter = format!("?since=1&keys={}", patterns[0]);
    for (credential, most) in [(limited["credential"].as_str().unwrap(), 5_000), (&whole, 1_200)] {
        // Leading spaces are not part of a credential.
        let spaced = format!("{}{credential}", " ".repeat(20_000));
        let (_, socket) = bench.socket_session(&spaced, &session, &filter);
        let saved = socket.kept();
        assert!(saved.len() < most, "{}", saved.len());
        assert!(bench.http.resume(&saved, bench.engine.now()).is_ok());
    }

    let now = Timestamp(START_MS);
    let resumed = |saved: &Value| bench.http.resume(&saved.to_string(), now).map(drop);
    assert!(resumed(&saved).is_ok());
    for (member, value, code) in [
        ("credential", json!(format!("{}x", bench.agent)), "UNAUTHENTICATED"),
        ("credential", json!(""), "UNAUTHENTICATED"),
        ("scope", json!("session/t"), "FORBIDDEN"),
        ("scope", json!("project/s"), "FORBIDDEN"),
        ("scope", json!("s"), "INTERNAL"),
    ] {
        let mut other = saved.clone();
        other[member] = value;
        assert_eq!(resumed(&other).unwrap_err().code, code, "{other}");
    }
    for text in ["", "{}", "null", "[]", "{\"credential\":"] {
        assert_eq!(bench.http.resume(text, now).unwrap_err().code, "INTERNAL", "{text}");
    }
    open_streams(&bench, 1);
}

#[test]
fn sockets_count_as_streams_also_when_resumed() {
    let bench = Bench::with(|options| {
        let limit = RateLimit { streams: NonZeroU32::new(3).unwrap(), ..RateLimit::default() };
        Options { rate_limit: Some(limit), has_sockets: true, ..options }
    });
    let (_, first) = bench.socket(&bench.agent, "");
    let (_, second) = bench.socket(&bench.agent, "");
    let (_, stream) = bench.watch(&bench.agent, "", None);
    open_streams(&bench, 3);
    let full = |expected: &str| {
        bench.check_as(&bench.agent, CHANGES, UPGRADE, "", 429, expected);
    };
    full("has 3 live streams open");
    let saved = [first.kept(), second.kept()];
    drop((first, second));
    open_streams(&bench, 1);
    let resume = |nth: usize| bench.http.resume(&saved[nth], bench.engine.now());
    let first = resume(0).unwrap();
    let (_, third) = bench.socket(&bench.agent, "");
    assert_eq!(resume(1).unwrap_err().code, "RATE_LIMITED", "another socket took its slot");
    let (_, others) = bench.socket(&bench.orchestrator, "");
    drop(third);
    let second = resume(1).unwrap();
    full("RATE_LIMITED");
    drop((first, second, others, stream));
    open_streams(&bench, 0);
}

#[test]
fn only_the_opening_of_a_socket_counts_toward_the_rate() {
    let bench = Bench::with(|options| {
        let number = |it| NonZeroU32::new(it).unwrap();
        let limit = RateLimit { per_second: number(1), burst: number(2), ..RateLimit::default() };
        Options { rate_limit: Some(limit), has_sockets: true, ..options }
    });
    bench.check(CHANGES, "", 200, "");
    let (headers, mut socket) = bench.socket(&bench.agent, "");
    assert_eq!(headers["ratelimit"], "\"participant\";r=0");
    for _ in 0..20 {
        bench.engine.invoke_as("orchestrator", r#"{"action":"write","key":"a","value":"x"}"#);
        socket = save_and_resume(&bench, socket);
        assert_eq!(revisions(&bench.catch_up(&mut socket)).len(), 1);
    }
    bench.check_as(&bench.agent, CHANGES, UPGRADE, "", 429, "RATE_LIMITED");
}

/// An event in the life of a socket.
#[derive(Debug, Clone)]
enum Step {
    /// An agent writes one of two keys.
    Write(&'static str),
    /// The host reads this many portions.
    CatchUp(u8),
    /// The host drops the socket and resumes it from its saved state.
    Resume,
    /// The client disconnects, and reconnects with the last revision it received.
    Reconnect,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => prop::sample::select(&["wanted_1", "other"][..]).prop_map(Step::Write),
        3 => (1..3_u8).prop_map(Step::CatchUp),
        2 => Just(Step::Resume),
        1 => Just(Step::Reconnect),
    ]
}

/// A client: the revisions it received, its cursor for a reconnect, and the number of opening
/// messages.
struct Client {
    seen: Vec<u64>,
    since: u64,
    opened: u32,
}

impl Client {
    fn take(&mut self, message: &str) {
        let message: Value = serde_json::from_str(message).unwrap();
        let number = |member: &str| message[member].as_u64().unwrap();
        match message["event"].as_str().unwrap() {
            "open" => {
                self.opened += 1;
                self.since = number("since");
            }
            "moved" => self.since = number("since"),
            "change" => {
                self.since = number("revision");
                self.seen.push(self.since);
            }
            _ => panic!("{message}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_change_is_sent_once_despite_resumes(
        steps in prop::collection::vec(step(), 0..400), bursts in 0..100_usize,
    ) {
        let bench = bench();
        let mut client = Client { seen: Vec::new(), since: 1, opened: 0 };
        let mut wanted = Vec::new();
        let (mut openings, mut revision) = (0, 1);
        let mut write = |key: &str, wanted: &mut Vec<u64>| {
            bench.write(key);
            revision += 1;
            if key == "wanted_1" {
                wanted.push(revision);
            }
        };
        let (_, mut socket) = bench.socket(&bench.agent, "?since=1&keys=wanted_*");
        for nth in 0..bursts {
            write(if nth % 90 == 89 { "wanted_1" } else { "other" }, &mut wanted);
        }
        for step in steps {
            match step {
                Step::Write(key) => write(key, &mut wanted),
                Step::CatchUp(portions) => for _ in 0..portions {
                    let portion = ready(socket.catch_up(&bench.engine));
                    prop_assert!(!portion.is_empty() || !socket.has_more());
                    for message in portion {
                        client.take(&message);
                    }
                },
                Step::Resume => socket = save_and_resume(&bench, socket),
                Step::Reconnect => {
                    prop_assert!(client.opened <= openings + 1);
                    openings = client.opened;
                    let query = format!("?since={}&keys=wanted_*", client.since);
                    (_, socket) = bench.socket(&bench.agent, &query);
                }
            }
        }
        for message in bench.catch_up(&mut socket) {
            client.take(&message.to_string());
        }
        prop_assert_eq!(client.seen, wanted);
        prop_assert_eq!(client.opened, openings + 1, "a socket sends one opening message");
    }
}
