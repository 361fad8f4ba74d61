//! Changes of a project: waited for, streamed, and sent over sockets. A project does not know what
//! becomes of a credential, so its session is asked while a reader waits.

use serde_json::{Value, json};

use crate::{
    bench::{ADMIN_KEY, Bench, WaitEvent},
    sockets::{self, revisions, save_and_resume},
};

const CHANGES: &str = "/v1/projects/p/changes";
const PROJECT: &str = "project/p";
const ADD: &str = r#"{"action":"add_memories","memories":[{"memory_type":"learning",
    "title":"Pools","content":{"lesson":"They run dry."}}]}"#;

/// Creates the project `p` and its session `t`. Returns the credential of the session.
fn prepare(bench: &Bench) -> String {
    bench.check_as(ADMIN_KEY, "PUT /v1/projects/p", &[], "", 201, "");
    let body = r#"{"session_id":"t","config":{"project":"p"}}"#;
    let created = bench.check_as(ADMIN_KEY, "POST /v1/sessions", &[], body, 201, "").json();
    created.get("credential").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn add_during_wait(bench: &Bench) {
    bench.during_wait(WaitEvent::RequestOn(PROJECT, "orchestrator", ADD.to_owned()));
}

fn revoke_during_wait(bench: &Bench) {
    let revoke = r#"{"action":"revoke_credentials"}"#.to_owned();
    bench.during_wait(WaitEvent::RequestOn("session/t", "admin", revoke));
}

/// Who waited for a handoff had to ask again and again.
#[test]
fn a_long_poll_of_a_project_returns_its_first_change() {
    let bench = Bench::new();
    let credential = prepare(&bench);
    let get = |query: &str, status, expected| {
        bench.check_as(&credential, &format!("GET {CHANGES}{query}"), &[], "", status, expected)
    };
    bench.during_wait(WaitEvent::TimePasses(2_000));
    add_during_wait(&bench);
    let page = get("?since=1&wait=30", 200, "").json();
    assert_eq!(page["changes"][0]["action"], "add_memory");
    assert_eq!((&page["next_since"], &page["has_more"]), (&json!(2), &json!(false)));
    assert_eq!(get("?since=2&wait=5", 200, "").json()["changes"], json!([]));
    get("?since=2&wait=61", 400, "wait must be from 0 to 60");
    get("?since=2&keys=a", 400, "takes only since, limit, wait");
    get("?since=9", 410, "CHANGES_TRUNCATED");
}

#[test]
fn a_poll_ends_if_its_credential_was_revoked_meanwhile() {
    let bench = Bench::new();
    let credential = prepare(&bench);
    revoke_during_wait(&bench);
    add_during_wait(&bench);
    let target = format!("GET {CHANGES}?since=1&wait=30");
    bench.check_as(&credential, &target, &[], "", 401, "UNAUTHENTICATED");
}

#[test]
fn a_stream_of_a_project_sends_each_commit_once() {
    let bench = Bench::new();
    let credential = prepare(&bench);
    let (headers, mut watch) = bench.watch_path(&credential, CHANGES, None);
    assert_eq!(headers["content-type"], "text/event-stream");
    let opening = bench.next(&mut watch).unwrap();
    assert_eq!(opening, "retry: 1000\nid: 1\n: changes after revision 1\n\n");
    add_during_wait(&bench);
    let text = bench.next(&mut watch).unwrap();
    assert!(text.starts_with("id: 2\nevent: change\n") && text.contains("add_memory"), "{text}");
    assert_eq!(bench.next(&mut watch).unwrap(), ": heartbeat\n\n");
    let (_, mut resumed) = bench.watch_path(&credential, CHANGES, Some("1"));
    let text = bench.next(&mut resumed).unwrap();
    assert!(text.contains("id: 2\nevent: change\n"), "{text}");
    let target = format!("GET {CHANGES}?wait=5");
    let accepts = [("accept", "text/event-stream")];
    bench.check_as(&credential, &target, &accepts, "", 400, "query parameter wait");

    bench.engine.invoke_on(PROJECT, "admin", r#"{"action":"delete_project"}"#);
    let end = bench.next(&mut watch).unwrap();
    assert!(end.contains("event: end\n") && end.contains("PROJECT_NOT_FOUND"), "{end}");
    assert_eq!(bench.next(&mut watch), None);
}

/// A revocation is a change of the session and not of the project: without asking the session, a
/// stream went on until the credential expired.
#[test]
fn a_stream_ends_when_the_session_rejects_its_credential() {
    for changes in [true, false] {
        let bench = Bench::new();
        let credential = prepare(&bench);
        let (_, mut watch) = bench.watch_path(&credential, CHANGES, None);
        bench.next(&mut watch).unwrap();
        revoke_during_wait(&bench);
        if changes {
            add_during_wait(&bench);
        }
        let end = bench.next(&mut watch).unwrap();
        assert!(end.contains("event: end\n") && end.contains("UNAUTHENTICATED"), "{end}");
        assert!(!end.contains("add_memory"), "{end}");
        assert_eq!(bench.next(&mut watch), None);
    }
}

#[test]
fn only_who_is_of_the_project_watches_it() {
    let bench = Bench::new();
    prepare(&bench);
    let accepts = [("accept", "text/event-stream")];
    let target = format!("GET {CHANGES}");
    bench.check_as(&bench.orchestrator, &target, &accepts, "", 403, "FORBIDDEN");
    bench.check_as(&bench.agent, &format!("{target}?wait=5"), &[], "", 403, "FORBIDDEN");
    let (_, mut watch) = bench.watch_path(ADMIN_KEY, CHANGES, None);
    bench.next(&mut watch).unwrap();
    add_during_wait(&bench);
    assert!(bench.next(&mut watch).unwrap().contains("id: 2\n"));
}

#[test]
fn a_socket_of_a_project_resumes_after_it_was_forgotten() {
    let bench = sockets::bench();
    let credential = prepare(&bench);
    let (_, mut socket) = bench.socket_path(&credential, CHANGES);
    assert_eq!(bench.catch_up(&mut socket), [json!({"event": "open", "since": 1})]);
    bench.engine.invoke_on(PROJECT, "orchestrator", ADD);
    let mut socket = save_and_resume(&bench, socket);
    let messages = bench.catch_up(&mut socket);
    assert_eq!(revisions(&messages), [2]);
    assert_eq!(messages[0]["changes"][0]["action"], "add_memory");
    let revoke = r#"{"action":"revoke_credentials"}"#;
    bench.engine.invoke_on("session/t", "admin", revoke);
    bench.engine.invoke_on(PROJECT, "admin", r#"{"action":"archive_project"}"#);
    let messages = bench.catch_up(&mut socket);
    assert_eq!(messages[0]["event"], "end", "{messages:?}");
    assert_eq!(socket.close_code(), Some(1008));
}
