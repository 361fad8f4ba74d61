//! What schemathesis says of the HTTP interface: requests made from its own `OpenAPI`
//! document, allowed ones and others, one by one and in sequences, with every check on.
//!
//! `cargo xtask api` brings schemathesis and runs this; what follows `api` goes to it,
//! such as `--max-examples 500` or `--seed 7`. What it is told, and every exception from
//! its checks with the reason, stands in `schemathesis.toml`.
//!
//! # Invariants
//!
//! - Who looks has a server and a data folder of their own, which are gone afterwards.
//! - Without arguments the same requests are made each time.

#![expect(clippy::unwrap_used, reason = "a test: whatever is not as it should be fails it")]

mod look;

use std::{env, process::ExitCode};

use serde_json::json;
use shared_context_system::{Client, Server, Setup};

use crate::look::Look;

/// The session that the document's examples are about.
const SESSION: &str = "ticket-7";

fn main() -> Result<ExitCode, String> {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let mut seen = Vec::new();
    // The operator reaches every session but writes no entries; the orchestrator does.
    for who in ["admin", "orchestrator"] {
        let folder = tempfile::tempdir().unwrap();
        let server = Setup::new(folder.path()).without_rate_limit().start();
        let admin = server.admin();
        let orchestrator = inhabit(&admin);
        let (client, session) =
            if who == "admin" { (&admin, None) } else { (&orchestrator, Some(SESSION)) };
        let (url, credential) = (server.url(), client.credential());
        seen.push(Look { who, url, credential, session }.run(&arguments)?);
        check_alive(&server);
    }
    println(&look::summary(&seen));
    Ok(if seen.iter().all(|it| it.is_fine) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Creates the session of the examples, with something of each kind in it; returns its
/// orchestrator.
fn inhabit(admin: &Client) -> Client {
    let orchestrator = admin.create_session(SESSION, &json!({"allows_prefixes": true}));
    for (key, value) in [("problem_summary", "Throughput dropped."), ("scope", "one")] {
        orchestrator.write(SESSION, key, value).expect(200);
        orchestrator.write(SESSION, key, "Overwritten.").expect(200);
    }
    for label in ["pre_approval", "before_review"] {
        let snapshot = json!({"action": "snapshot", "label": label});
        orchestrator.tool(SESSION, &snapshot).expect(200);
    }
    orchestrator
}

fn check_alive(server: &Server) {
    server.assert_alive();
    assert!(!server.log().contains("panicked"), "{}", server.log());
}

#[expect(clippy::print_stdout, reason = "this is what the program is for")]
fn println(text: &str) {
    println!("{text}");
}
