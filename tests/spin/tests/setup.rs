//! An application that is not set up reports what its operator has to do, in its responses
//! and in the log. It never reveals secrets or stored data.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test: an unexpected result fails it"
)]

use std::{fs, process::ExitCode, thread, time::Duration};

use serde_json::{Value, json};
use shared_context_spin_tests::{
    Over, Setup, Storage,
    suite::{self, App, Test, TestHost},
};
use shared_context_system::{Answer, Client};
use tempfile::TempDir;

/// Keys that only this test uses, so that it can search for them in outputs.
const SECRET: &str = "the-secret-that-is-nobodys-business-7f";
const ADMIN_KEY: &str = "the-admin-key-that-is-nobodys-business";

fn main() -> ExitCode {
    suite::main(&[
        Test::anywhere("an_app_without_keys_rejects_requests_with_advice", without_keys),
        Test::anywhere("weak_or_equal_keys_are_rejected", weak_keys),
        Test::anywhere("an_invalid_public_url_is_rejected", public_url),
        Test::anywhere("variables_not_passed_to_the_component_are_named", not_passed_on),
        Test::anywhere("a_database_without_permission_is_logged", not_granted),
        Test::anywhere("a_store_without_permission_is_logged", no_store),
        Test::anywhere("other_tables_in_the_database_do_not_interfere", other_tables),
        Test::in_emulator("the_log_contains_no_secrets_and_no_values", log),
    ])
}

/// Requests of all kinds, also to paths that do not exist.
const LINES: [&str; 9] = [
    "GET /healthz",
    "GET /",
    "GET /openapi.json",
    "GET /v1/sessions",
    "POST /v1/sessions",
    "GET /v1/sessions/a/entries/scope",
    "POST /mcp",
    "GET /mcp",
    "GET /nowhere",
];

/// Asserts that `app` rejects every request with these `parts` in the message.
#[track_caller]
fn check_rejects_everything(app: &App, parts: &[&str]) {
    for client in [app.admin(), app.stranger()] {
        for line in LINES {
            let answer = ask(&client, line);
            let message = answer.refused(500, "INTERNAL");
            for part in parts {
                assert!(message.contains(part), "{line}: {message}");
            }
            assert_eq!(answer.headers["content-type"], "application/problem+json", "{line}");
            assert!(!answer.text.contains(SECRET) && !answer.text.contains(ADMIN_KEY), "{line}");
        }
    }
}

fn ask(client: &Client, line: &str) -> Answer {
    let (method, path) = line.split_once(' ').unwrap();
    let body = (method == "POST").then_some(&b"{\"session_id\":\"a\"}"[..]);
    client.try_send(method, path, &[("content-type", "application/json")], body).unwrap()
}

fn started(host: &TestHost, change: impl Fn(Setup) -> Setup) -> (TempDir, App) {
    let folder = tempfile::tempdir().unwrap();
    let setup = host.setup(Over::Sqlite, &folder).keys(SECRET, ADMIN_KEY);
    let app = host.start(&change(setup));
    (folder, app)
}

fn without_keys(host: &TestHost) {
    for (name, variable) in [
        ("shared_context_secret", "SPIN_VARIABLE_SHARED_CONTEXT_SECRET"),
        ("shared_context_admin_key", "SPIN_VARIABLE_SHARED_CONTEXT_ADMIN_KEY"),
    ] {
        let (_folder, app) = started(host, |it| it.variable(name, ""));
        check_rejects_everything(&app, &[variable, ".env"]);
    }
}

fn weak_keys(host: &TestHost) {
    for name in ["shared_context_secret", "shared_context_admin_key"] {
        let (_folder, app) = started(host, |it| it.variable(name, "short and known"));
        check_rejects_everything(&app, &["32"]);
        let text = ask(&app.stranger(), "GET /healthz").text;
        assert!(!text.contains("short and known"), "{text}");
    }
    let (_folder, app) = started(host, |it| it.keys(SECRET, SECRET));
    check_rejects_everything(&app, &["admin"]);
}

fn public_url(host: &TestHost) {
    let name = "shared_context_public_url";
    for value in ["here", "ftp://memory.example.com", "https://memory.example.com/path"] {
        let (_folder, app) = started(host, |it| it.variable(name, value));
        check_rejects_everything(&app, &["SPIN_VARIABLE_SHARED_CONTEXT_PUBLIC_URL", "https://"]);
    }
    let (_folder, app) = started(host, |it| it.variable(name, "https://memory.example.com/"));
    let metadata = app.stranger().get("/.well-known/oauth-protected-resource/mcp").expect(200);
    assert_eq!(metadata["resource"], "https://memory.example.com/mcp");
}

/// Returns a setup with its own manifest in `folder`, whose component has these `fields`.
fn own_manifest(host: &TestHost, folder: &TempDir, over: Over, fields: &str) -> Setup {
    let source = host.place().component(over);
    let source = source.display();
    let manifest = format!(
        "spin_manifest_version = 2\n\
         [application]\nname = \"own\"\n\
         [variables]\n\
         shared_context_secret = {{ required = true, secret = true }}\n\
         shared_context_admin_key = {{ required = true, secret = true }}\n\
         [[trigger.http]]\nroute = \"/...\"\ncomponent = \"own\"\n\
         [component.own]\nsource = '{source}'\n{fields}\n"
    );
    let path = folder.path().join("spin.toml");
    fs::write(&path, manifest).unwrap();
    Setup::new(path, folder.path().join("state")).keys(SECRET, ADMIN_KEY)
}

const VARIABLES: &str = "[component.own.variables]\n\
    secret = \"{{ shared_context_secret }}\"\nadmin_key = \"{{ shared_context_admin_key }}\"";

/// Checks a manifest whose author forgot that a component reads only its own variables.
fn not_passed_on(host: &TestHost) {
    let folder = tempfile::tempdir().unwrap();
    let setup = own_manifest(host, &folder, Over::Sqlite, "sqlite_databases = [\"default\"]");
    let app = host.start(&setup);
    check_rejects_everything(&app, &["{{ shared_context_secret }}"]);
}

fn not_granted(host: &TestHost) {
    denied(host, Over::Sqlite, "sqlite_databases = [\"default\"]");
}

fn no_store(host: &TestHost) {
    denied(host, Over::KeyValue, "key_value_stores = [\"default\"]");
}

/// Checks a component without `right`: clients get a storage error, and the log contains the text
/// that the operator must add to the manifest.
fn denied(host: &TestHost, over: Over, right: &str) {
    let folder = tempfile::tempdir().unwrap();
    let setup = own_manifest(host, &folder, over, VARIABLES);
    let app = host.start(&setup);
    app.stranger().get("/healthz").expect(200);
    let admin = app.admin();
    for line in ["POST /v1/sessions", "GET /v1/sessions", "GET /v1/sessions/a"] {
        let before = app.log().len();
        let message = ask(&admin, line).refused(503, "STORAGE_UNAVAILABLE");
        assert!(!message.contains("default"), "only the operator needs that: {message}");
        let log = app.log().split_off(before);
        // As escaped in JSON.
        let right = right.replace('"', "\\\"");
        assert!(log.iter().any(|it| it.contains(&right)), "{line}: {log:?}");
    }
    drop(app);
    let granted = own_manifest(host, &folder, over, &format!("{right}\n{VARIABLES}"));
    let app = host.start(&granted);
    app.admin().create_session("a", &json!({})).write("a", "scope", "x").expect(200);
}

/// Checks an application with its own tables in the same database.
fn other_tables(host: &TestHost) {
    let folder = tempfile::tempdir().unwrap();
    let setup = host.setup(Over::Sqlite, &folder);
    fs::create_dir_all(&setup.state_dir).unwrap();
    let file = setup.state_dir.join("sqlite_db.db");
    let own = rusqlite::Connection::open(&file).unwrap();
    own.execute_batch(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT); \
         CREATE TABLE bucket (name TEXT, revision INTEGER); \
         CREATE VIEW open_orders AS SELECT * FROM orders; \
         CREATE TRIGGER noted AFTER INSERT ON orders BEGIN \
             INSERT INTO bucket VALUES (new.name, 7); END; \
         INSERT INTO orders (name) VALUES ('session/a'), ('b');",
    )
    .unwrap();
    let app = host.start(&setup);
    let orchestrator = app.admin().create_session("a", &json!({}));
    for nth in 0..10 {
        own.execute("INSERT INTO orders (name) VALUES (?1)", [nth]).unwrap();
        orchestrator.write("a", &format!("key_{nth}"), "x").expect(200);
    }
    // The application holds a separate transaction for a while.
    own.execute_batch("BEGIN IMMEDIATE; DELETE FROM orders WHERE id = 1;").unwrap();
    thread::scope(|scope| {
        let writes = scope.spawn(|| orchestrator.write("a", "scope", "x").expect(200));
        thread::sleep(Duration::from_millis(200));
        orchestrator.read("a", "key_1").expect(200);
        own.execute_batch("ROLLBACK").unwrap();
        writes.join().unwrap();
    });
    app.admin().send("DELETE", "/v1/sessions/a", None).expect(200);
    let listed = app.admin().get("/v1/sessions").expect(200);
    assert_eq!(listed["sessions"], json!([]));
    let count = |table: &str| {
        own.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, u32>(0))
            .unwrap()
    };
    assert_eq!(["orders", "bucket", "open_orders"].map(count), [12; 3]);
    let mut names = own
        .prepare("SELECT name FROM sqlite_schema WHERE tbl_name LIKE '%shared%' AND name NOT LIKE 'sqlite_%'")
        .unwrap();
    let ours: Vec<String> =
        names.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    assert!(ours.len() >= 3 && ours.iter().all(|it| it.starts_with("shared_context_")), "{ours:?}");
}

/// Performs all kinds of requests, including rejected and failing ones, and searches the log
/// for secrets and values.
fn log(host: &TestHost) {
    const VALUE: &str = "a value nobody else may know";
    let (_folder, app) = started(host, |it| it);
    let admin = app.admin();
    let orchestrator = admin.create_session("a", &json!({}));
    let agent = orchestrator.mint("a", "subagent:a");
    let write = json!({"action": "write", "key": "scope", "value": VALUE, "request_id": "r-1"});
    let requests: [Value; 8] = [
        write.clone(),
        json!({"action": "write", "key": "NO KEY", "value": VALUE}),
        json!({"action": "write", "key": "scope", "value": VALUE.repeat(1_000)}),
        json!({"action": "write_batch", "writes": [{"key": "notes", "value": VALUE}]}),
        json!({"action": "snapshot", "label": "one"}),
        json!({"action": VALUE}),
        json!({"action": "read", "key": "scope"}),
        json!({"action": "delete", "key": "notes"}),
    ];
    for storage in [Storage::Works, Storage::CommitsFail, Storage::AnswersLost, Storage::ReadsFail]
    {
        app.emulator().set_storage(storage);
        for request in &requests {
            for client in [&orchestrator, &agent, &app.stranger()] {
                client.tool("a", request);
            }
        }
        admin.get("/v1/sessions/a/export");
        admin.get("/v1/sessions");
    }
    app.emulator().set_storage(Storage::Works);
    let lines = app.log();
    let parsed: Vec<Value> = lines.iter().map(|it| serde_json::from_str(it).unwrap()).collect();
    let of_write = |it: &&Value| it.to_string().contains("\"scope\"");
    assert!(parsed.iter().find(of_write).is_some(), "the write was not logged: {lines:#?}");
    assert!(lines.iter().any(|it| it.contains("a fault that a test asked for")), "{lines:#?}");
    let secrets = [SECRET, ADMIN_KEY, VALUE, orchestrator.credential(), agent.credential()];
    for line in &lines {
        for secret in secrets {
            assert!(!line.contains(secret), "{line}");
        }
    }
    assert_eq!(app.emulator().failures(), [""; 0]);
}
