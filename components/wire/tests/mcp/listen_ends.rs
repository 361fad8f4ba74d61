//! Tests how and when a stream of `subscriptions/listen` ends.

use std::sync::atomic::Ordering;

use serde_json::json;
use shared_context_codec::Failure;
use shared_context_wire::http::Watch;

use crate::{
    bench::{ADMIN_KEY, Bench, WaitEvent},
    listen::{check_result, everything, opened},
    streams::{subject, subjects},
};

/// Checks that the stream sends an error with this code and ends.
#[track_caller]
fn check_error(bench: &Bench, watch: &mut Watch, code: &str) {
    let messages = bench.next_messages(watch);
    let [error] = &messages[..] else { panic!("{messages:?}") };
    assert_eq!((&error["id"], &error["error"]["code"]), (&json!(1), &json!(-32603)), "{error}");
    assert_eq!(error["error"]["data"]["error"]["code"], code, "{error}");
    assert_eq!(error["error"]["message"], error["error"]["data"]["error"]["message"], "{error}");
    assert_eq!(bench.next(watch), None);
}

#[test]
fn a_stream_ends_with_an_error_when_its_credential_expires() {
    let bench = Bench::new();
    let body = r#"{"participant":"subagent:brief","ttl_seconds":60}"#;
    let minted = bench.check_as(ADMIN_KEY, "POST /v1/sessions/s/credentials", &[], body, 201, "");
    let token = minted.json()["credential"].as_str().unwrap().to_owned();
    let mut watch = bench.listen(&token, &json!(1), &everything());
    bench.next(&mut watch).unwrap();
    // One minute, and 30 s of leeway for clock skew.
    while bench.engine.micros.load(Ordering::SeqCst) < 90_000_000 {
        assert_eq!(bench.next(&mut watch).unwrap(), ": heartbeat\n\n");
    }
    bench.during_wait(WaitEvent::TimePasses(1));
    bench.write_during_wait("a");
    check_error(&bench, &mut watch, "UNAUTHENTICATED");
}

#[test]
fn a_stream_ends_with_an_error_when_its_credential_is_revoked() {
    let bench = Bench::new();
    let mut watch = opened(&bench);
    bench.request_during_wait("admin", &json!({"action": "revoke_credentials"}));
    bench.write_during_wait("a");
    check_error(&bench, &mut watch, "UNAUTHENTICATED");
}

#[test]
fn a_stream_ends_with_an_error_when_its_session_is_deleted() {
    let bench = Bench::new();
    let mut watch = opened(&bench);
    bench.request_during_wait("admin", &json!({"action": "delete_session"}));
    check_error(&bench, &mut watch, "SESSION_NOT_FOUND");
    let mut admins = bench.listen(ADMIN_KEY, &json!(1), &json!({}));
    assert_eq!(bench.next_messages(&mut admins).len(), 2);
}

/// The admin's stream is not bound to one incarnation of a session. It continues in the next
/// one, where every resource counts as changed.
#[test]
fn the_admin_is_notified_of_a_recreated_session() {
    let bench = Bench::new();
    for _ in 0..10 {
        bench.write("a");
    }
    let mut watch = bench.listen(ADMIN_KEY, &json!(1), &everything());
    bench.next(&mut watch).unwrap();
    for action in ["delete_session", "create_session"] {
        bench.engine.invoke_as("admin", &json!({ "action": action }).to_string());
    }
    assert_eq!(subjects(&bench.next(&mut watch).unwrap()), "a keys list");
}

#[test]
fn a_stream_whose_storage_fails_ends_with_an_error() {
    let bench = Bench::new();
    let mut watch = opened(&bench);
    bench.write_during_wait("a");
    let failure = Failure::new("STORAGE_UNAVAILABLE", "the disk is away");
    *bench.engine.next_failure.lock().unwrap() = Some(failure);
    check_error(&bench, &mut watch, "STORAGE_UNAVAILABLE");
}

#[test]
fn a_stopping_server_ends_a_stream_with_its_result() {
    let bench = Bench::new();
    let mut watch = bench.listen(&bench.agent, &json!("listen:7"), &everything());
    bench.next(&mut watch).unwrap();
    // Earlier changes are still reported.
    bench.write("a");
    bench.during_wait(WaitEvent::ServerStops);
    let messages = bench.next_messages(&mut watch);
    let [notices @ .., last] = &messages[..] else { panic!("{messages:?}") };
    assert_eq!(notices.iter().map(subject).collect::<Vec<_>>(), ["list", "keys", "a"]);
    check_result(last, &json!("listen:7"));
    assert_eq!(bench.next(&mut watch), None);
}

#[test]
fn a_stream_that_the_client_closes_is_removed() {
    let bench = Bench::new();
    let mut streams: Vec<_> = (0..10).map(|_| opened(&bench)).collect();
    streams.push(bench.listen(&bench.agent, &json!(1), &json!({})));
    assert_eq!(bench.open_streams(), 11);
    bench.write_during_wait("a");
    bench.next(&mut streams[0]).unwrap();
    streams.truncate(4);
    assert_eq!(bench.open_streams(), 4);
    drop(streams);
    assert_eq!(bench.open_streams(), 0);
}

#[test]
fn two_streams_of_one_client_have_their_own_ids() {
    let bench = Bench::new();
    let mut streams =
        [json!(1), json!("1")].map(|id| bench.listen(&bench.agent, &id, &everything()));
    for watch in &mut streams {
        bench.next(watch).unwrap();
    }
    bench.write("a");
    let ids = streams.map(|mut watch| {
        let messages = bench.next_messages(&mut watch);
        assert_eq!(messages.len(), 3);
        messages[0]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].clone()
    });
    assert_eq!(ids, [json!(1), json!("1")]);
}
