//! Tests the application without `SQLite`: sessions in the key-value store, with a weaker
//! guarantee that the health check reports.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test: an unexpected result fails it"
)]

use std::{process::ExitCode, thread};

use serde_json::json;
use shared_context_spin_tests::{
    Over,
    suite::{self, App, Test, TestHost},
};
use shared_context_system::{Watch, tell};
use tempfile::TempDir;

fn main() -> ExitCode {
    suite::main(&[
        Test::anywhere("healthz_reports_the_guarantee_of_each_storage", guarantees),
        Test::anywhere("a_session_works_and_survives_restarts", works),
        Test::anywhere("sessions_do_not_disturb_each_other", separate_sessions),
        Test::anywhere("changes_are_streamed_live", live),
    ])
}

fn start(host: &TestHost, folder: &TempDir) -> App {
    host.start(&host.setup(Over::KeyValue, folder))
}

fn guarantees(host: &TestHost) {
    let folder = tempfile::tempdir().unwrap();
    let weak = start(host, &folder).stranger().get("/healthz").expect(200);
    assert_eq!(weak["consistency"], "last-write-wins", "{weak}");
    let caution = weak["caution"].as_str().unwrap();
    assert!(caution.contains("be lost") && caution.contains("SQLite"), "{caution}");
    let strong = host.app(&folder).stranger().get("/healthz").expect(200);
    let expected = json!({
        "status": "ok", "version": env!("CARGO_PKG_VERSION"), "consistency": "linearizable",
    });
    assert_eq!(strong, expected);
}

fn works(host: &TestHost) {
    let folder = tempfile::tempdir().unwrap();
    let mut app = start(host, &folder);
    let config = json!({"namespace": {"keys": []}});
    let credential = app.admin().create_session("a", &config).credential().to_owned();
    for round in 0..4 {
        let client = app.admin().with_credential(&credential);
        let written = client.write("a", "scope", &round.to_string()).expect(200);
        assert_eq!(written["version"], round + 1);
        client.write("a", &format!("key_{round}"), "x").expect(200);
        drop(app);
        app = start(host, &folder);
        let client = app.admin().with_credential(&credential);
        assert_eq!(client.read("a", "scope").expect(200)["value"], round.to_string());
        let listed = client.tool("a", &json!({"action": "list_keys"})).expect(200);
        assert_eq!(listed["key_count"], round + 2, "{listed}");
    }
    let client = app.admin().with_credential(&credential);
    client.tool("a", &json!({"action": "snapshot", "label": "one"})).expect(200);
    client.tool("a", &json!({"action": "delete", "key": "scope"})).expect(200);
    client.tool("a", &json!({"action": "restore_snapshot", "label": "one"})).expect(200);
    assert_eq!(client.read("a", "scope").expect(200)["value"], "3");
    let document = app.admin().get("/v1/sessions/a/export");
    app.admin().send("DELETE", "/v1/sessions/a", None).expect(200);
    client.read("a", "scope").refused(404, "SESSION_NOT_FOUND");
    let headers = [("content-type", "application/json")];
    let import = "/v1/sessions/import?session_id=a";
    let body = Some(document.text.as_bytes());
    let imported = app.admin().try_send("POST", import, &headers, body).unwrap().expect(201);
    client.read("a", "scope").refused(401, "UNAUTHENTICATED");
    let client = client.with_credential(imported["credential"].as_str().unwrap());
    assert_eq!(client.read("a", "scope").expect(200)["value"], "3");
}

/// Concurrent changes are lost only within one session, never between sessions.
fn separate_sessions(host: &TestHost) {
    const SESSIONS: usize = 8;
    const WRITES: usize = 25;
    let folder = tempfile::tempdir().unwrap();
    let app = start(host, &folder);
    let names: Vec<_> = (0..SESSIONS).map(|nth| format!("session-{nth}")).collect();
    let admin = app.admin();
    thread::scope(|scope| {
        for name in &names {
            let orchestrator = admin.create_session(name, &json!({}));
            scope.spawn(move || {
                for nth in 0..WRITES {
                    let written = orchestrator.write(name, "scope", &nth.to_string());
                    assert_eq!(written.expect(200)["version"], nth + 1);
                }
            });
        }
    });
    let listed = admin.get("/v1/sessions").expect(200);
    let listed = listed["sessions"].as_array().unwrap().iter();
    let listed: Vec<_> = listed.map(|it| it["session_id"].as_str().unwrap()).collect();
    assert_eq!(listed, names);
    tell(&format!(
        "{SESSIONS} sessions with a writer each: {} writes, all there",
        SESSIONS * WRITES
    ));
}

fn live(host: &TestHost) {
    let folder = tempfile::tempdir().unwrap();
    let app = start(host, &folder);
    let orchestrator = app.admin().create_session("a", &json!({}));
    let mut watch = Watch::open(&orchestrator, "a", "");
    for revision in 2..20 {
        orchestrator.write("a", "scope", "x").expect(200);
        assert_eq!(watch.event().revision(), revision);
    }
}
