//! A Worker that is not set up answers with the steps for its operator. A Worker that is set up
//! keeps its data over restarts, also on another port.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::process::ExitCode;

use serde_json::json;
use shared_context_workers::Setup;

fn main() -> ExitCode {
    shared_context_workers::main(&[
        ("missing_secrets_are_named", without_secrets),
        ("invalid_settings_are_named", wrong_settings),
        ("a_session_survives_restarts_and_another_port", outlives),
        ("another_secret_voids_credentials_and_keeps_the_data", another_secret),
    ])
}

/// Returns the error of a Worker whose setting `name` has the invalid `value`.
fn setup_error(name: &str, value: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let started = Setup::new(folder.path()).text(name, value).try_start();
    let error = started.err().unwrap_or_else(|| "it answers".to_owned());
    assert!(error.contains("500") && error.contains("INTERNAL"), "{error}");
    error
}

fn without_secrets() {
    for name in ["SHARED_CONTEXT_SECRET", "SHARED_CONTEXT_ADMIN_KEY"] {
        assert!(setup_error(name, "").contains(name));
        let short = setup_error(name, "short and known");
        assert!(short.contains("32") && !short.contains("short and known"), "{short}");
    }
}

fn wrong_settings() {
    for (name, value) in [("SHARED_CONTEXT_RATE", "many"), ("SHARED_CONTEXT_PUBLIC_URL", "here")] {
        assert!(setup_error(name, value).contains(name));
    }
}

fn outlives() {
    let folder = tempfile::tempdir().unwrap();
    let mut workerd = Setup::new(folder.path()).start();
    let first = workerd.url().to_owned();
    let credential = workerd.admin().create_session("a", &json!({})).credential().to_owned();
    let mut ports = 0;
    for round in 0..4 {
        let client = workerd.admin().with_credential(&credential);
        client.write("a", &format!("key_{round}"), "x").expect(200);
        workerd = if round % 2 == 0 { workerd.kill().start() } else { workerd.stop().start() };
        ports += u32::from(workerd.url() != first);
        let listed = workerd.admin().with_credential(&credential);
        let listed = listed.tool("a", &json!({"action": "list_keys"})).expect(200);
        assert_eq!(listed["key_count"], round + 1);
    }
    assert!(ports > 0, "it never got another port");
}

/// An operator changes the secret because a credential was leaked. The stored data stays
/// readable with new credentials.
fn another_secret() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = Setup::new(folder.path()).start();
    let old = workerd.admin().create_session("a", &json!({}));
    old.write("a", "scope", "kept").expect(200);
    let setup = workerd.stop().text("SHARED_CONTEXT_SECRET", "another secret, of 32 bytes or more");
    let workerd = setup.start();
    let admin = workerd.admin();
    let old = admin.with_credential(old.credential());
    old.read("a", "scope").refused(401, "UNAUTHENTICATED");
    let new = admin.mint("a", "orchestrator");
    assert_eq!(new.read("a", "scope").expect(200)["value"], "kept");
}
