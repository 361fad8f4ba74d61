//! A Worker that is not set up says what its owner has to do, in an answer and not by
//! silence; one that is keeps what it wrote, whatever port it comes back on.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::process::ExitCode;

use serde_json::json;
use shared_context_workers::Setup;

fn main() -> ExitCode {
    shared_context_workers::main(&[
        ("a_worker_without_secrets_says_which_are_missing", without_secrets),
        ("settings_that_mean_nothing_are_named", wrong_settings),
        ("a_session_outlives_restarts_and_another_port", outlives),
        ("another_secret_voids_all_credentials_and_nothing_else", another_secret),
    ])
}

/// Returns what is said of the setting `name` when its value is `value`.
fn said(name: &str, value: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let refused = Setup::new(folder.path()).text(name, value).try_start();
    let said = refused.err().unwrap_or_else(|| "it answers".to_owned());
    assert!(said.contains("500") && said.contains("INTERNAL"), "{said}");
    said
}

fn without_secrets() {
    for name in ["SHARED_CONTEXT_SECRET", "SHARED_CONTEXT_ADMIN_KEY"] {
        assert!(said(name, "").contains(name));
        let short = said(name, "short and known");
        assert!(short.contains("32") && !short.contains("short and known"), "{short}");
    }
}

fn wrong_settings() {
    for (name, value) in [("SHARED_CONTEXT_RATE", "many"), ("SHARED_CONTEXT_PUBLIC_URL", "here")] {
        assert!(said(name, value).contains(name));
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
    assert!(ports > 0, "it never came back elsewhere");
}

/// An operator changes the secret because one credential was lost: nobody has to be
/// told what was stored.
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
