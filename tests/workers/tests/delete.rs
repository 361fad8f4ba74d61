//! Deleting a session leaves no rows, no tables and no alarm. Whatever failure happens in
//! between, the next session with that id is a new incarnation, so no old credential opens
//! it (spec 8.3).

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::{
    collections::BTreeSet,
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use shared_context_system::{Client, tell};
use shared_context_workers::{
    Setup, Workerd,
    under_test::{Moment, Storage},
};

fn main() -> ExitCode {
    shared_context_workers::main(&[
        ("a_deleted_session_leaves_an_empty_storage_and_no_alarm", leaves_nothing),
        ("old_credentials_do_not_open_a_recreated_session", never_repeats),
        ("a_failed_cleanup_is_retried_by_the_alarm", cleared_later),
        ("an_aborted_deletion_happened_completely_or_not_at_all", cut_off),
    ])
}

fn start(folder: &tempfile::TempDir) -> Workerd {
    Setup::new(folder.path()).without_rate_limit().under_test().start()
}

/// Waits until the storage of the session `a` is empty; returns its contents.
fn emptied(workerd: &Workerd) -> Value {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let look = workerd.under_test().look("session/a");
        if look["now"] == json!({}) && look["alarm"].is_null() {
            return look;
        }
        assert!(Instant::now() < deadline, "it is not emptied: {look}; {}", workerd.log());
        thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the listed ids.
fn listed(admin: &Client) -> Vec<String> {
    let list = admin.get("/v1/sessions").expect(200);
    let ids = list["sessions"].as_array().unwrap().iter();
    ids.map(|it| it["session_id"].as_str().unwrap().to_owned()).collect()
}

fn incarnation(admin: &Client) -> u64 {
    let shown = admin.tool("a", &json!({"action": "show_session"})).expect(200);
    shown["incarnation"].as_u64().unwrap()
}

fn delete(admin: &Client) {
    admin.send("DELETE", "/v1/sessions/a", None).expect(200);
}

fn leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut workerd = start(&folder);
    let admin = workerd.admin();
    let kept = admin.create_session("b", &json!({}));
    kept.write("b", "scope", "kept").expect(200);
    let orchestrator = admin.create_session("a", &json!({}));
    for nth in 0..20 {
        let write = json!({"action": "write", "key": format!("key_{nth}"), "value": "x".repeat(2_000), "ttl_seconds": 3600});
        orchestrator.tool("a", &write).expect(200);
    }
    orchestrator.tool("a", &json!({"action": "snapshot", "label": "one"})).expect(200);
    let before = workerd.under_test().look("session/a");
    assert!(before["now"]["rows"].as_u64().unwrap() > 40, "{before}");
    assert!(before["alarm"].is_number(), "{before}");
    delete(&admin);
    let look = emptied(&workerd);
    assert_eq!(listed(&admin), ["b"]);
    orchestrator.read("a", "key_1").refused(404, "SESSION_NOT_FOUND");
    admin.get("/v1/sessions/a").refused(404, "SESSION_NOT_FOUND");
    // Reading a deleted session does not create anything either, not even on disk.
    workerd = workerd.kill().start();
    workerd.admin().get("/v1/sessions/a").refused(404, "SESSION_NOT_FOUND");
    workerd.under_test().evict();
    let found = workerd.under_test().look("session/a");
    assert_eq!((&found["found"], &found["now"]), (&json!({}), &json!({})), "{found}");
    workerd.admin().with_credential(kept.credential()).read("b", "scope").expect(200);
    tell(&format!(
        "{} rows and an alarm before, {} bytes of database and nothing in it after",
        before["now"]["rows"], look["bytes"]
    ));
}

fn never_repeats() {
    let folder = tempfile::tempdir().unwrap();
    let mut workerd = start(&folder);
    let (mut seen, mut old) = (BTreeSet::new(), Vec::<Client>::new());
    for round in 0..12 {
        let admin = workerd.admin();
        let orchestrator = admin.create_session("a", &json!({}));
        assert!(seen.insert(incarnation(&admin)), "an incarnation was repeated: {seen:?}");
        for client in &old {
            let client = admin.with_credential(client.credential());
            client.read("a", "scope").refused(401, "UNAUTHENTICATED");
            client.write("a", "scope", "stolen").refused(401, "UNAUTHENTICATED");
        }
        for _ in 0..round {
            orchestrator.write("a", "scope", "x").expect(200);
        }
        old.push(orchestrator);
        delete(&admin);
        // The object is evicted, or workerd killed, before the cleanup or after it.
        match round % 4 {
            0 => drop(emptied(&workerd)),
            1 => workerd.under_test().evict(),
            2 => {
                emptied(&workerd);
                workerd = workerd.kill().start();
            }
            _ => workerd = workerd.kill().start(),
        }
    }
    emptied(&workerd);
    tell(&format!("12 sessions of one id, incarnations {seen:?}"));
}

/// The directory fails during a deletion. The session is deleted nevertheless, and the
/// alarm completes the cleanup.
fn cleared_later() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let (admin, module) = (workerd.admin(), workerd.under_test());
    let old = admin.create_session("a", &json!({}));
    old.write("a", "scope", "x").expect(200);
    let fault = json!({"mode": Storage::CommitsFail.name(), "object": "Directory"});
    module.tell("storage", &fault);
    delete(&admin);
    admin.get("/v1/sessions/a").refused(404, "SESSION_NOT_FOUND");
    assert_eq!(listed(&admin), [""; 0], "the list checks each session");
    let look = module.look("session/a");
    assert!(look["alarm"].is_number(), "no alarm is set for the cleanup: {look}");
    module.storage(Storage::Works);
    module.evict();
    module.set_ahead(Duration::from_mins(2));
    emptied(&workerd);
    let next = admin.create_session("a", &json!({}));
    old.read("a", "scope").refused(401, "UNAUTHENTICATED");
    next.read("a", "scope").refused(404, "KEY_NOT_FOUND");
}

/// The object is aborted in the middle of a deletion, before or after its commit.
fn cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let (admin, module) = (workerd.admin(), workerd.under_test());
    for moment in [Moment::Statement, Moment::BeforeCommit, Moment::AfterCommit] {
        let orchestrator = admin.create_session("a", &json!({}));
        orchestrator.write("a", "scope", "x").expect(200);
        module.abort("session/a", moment);
        let answer = admin.send("DELETE", "/v1/sessions/a", None);
        assert!([500, 503].contains(&answer.status), "{moment:?}: {}", answer.text);
        assert!(!module.antidote(), "{moment:?} did not come");
        let shown = admin.get("/v1/sessions/a");
        if shown.status == 200 {
            orchestrator.read("a", "scope").expect(200);
            delete(&admin);
        } else {
            shown.refused(404, "SESSION_NOT_FOUND");
        }
        orchestrator.read("a", "scope").refused(404, "SESSION_NOT_FOUND");
        emptied(&workerd);
        assert_eq!(listed(&admin), [""; 0]);
    }
}
