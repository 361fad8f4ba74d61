//! Tests the HTTP interface with schemathesis: valid and invalid requests generated from the
//! `OpenAPI` document, single and in sequences, with every check enabled. Without arguments it also
//! tests the clients that generators make from the document ([`clients`]), and what `REDbot` finds in
//! responses ([`redbot`]).
//!
//! `cargo xtask api` installs the programs and runs this one. Arguments after `api` go to
//! schemathesis, such as `--max-examples 500` or `--seed 7`; `clients` or `redbot` alone runs only that.
//! `schemathesis.toml` holds its configuration, and every exception with its reason.
//!
//! # Invariants
//!
//! - Each participant has a new server and data folder, which are removed afterwards.
//! - Without arguments the requests are the same in each run.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test: it fails on any error")]

mod clients;
mod redbot;
mod run;

use std::{env, process::ExitCode};

use serde_json::json;
use shared_context_system::{Client, Server, Setup};

use crate::run::Run;

/// The session in the examples of the document.
const SESSION: &str = "ticket-7";

fn main() -> Result<ExitCode, String> {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let is_asked = |name: &str| arguments.is_empty() || arguments == [name];
    if is_asked("clients") {
        for line in clients::run()? {
            println(&line);
        }
    }
    if is_asked("redbot") {
        println(&redbot::run()?);
    }
    if arguments == ["clients"] || arguments == ["redbot"] {
        return Ok(ExitCode::SUCCESS);
    }
    let mut reports = Vec::new();
    // The operator reaches every session but writes no entries; the orchestrator does.
    for participant in ["admin", "orchestrator"] {
        let folder = tempfile::tempdir().unwrap();
        let server = Setup::new(folder.path()).without_rate_limit().start();
        let admin = server.admin();
        let orchestrator = create_example_session(&admin);
        let (client, session) =
            if participant == "admin" { (&admin, None) } else { (&orchestrator, Some(SESSION)) };
        let (url, credential) = (server.url(), client.credential());
        reports.push(Run { participant, url, credential, session }.run(&arguments)?);
        check_alive(&server);
    }
    println(&run::summary(&reports));
    Ok(if reports.iter().all(|it| it.is_success) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Creates the session of the examples with entries, history and snapshots. Returns its
/// orchestrator.
fn create_example_session(admin: &Client) -> Client {
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

#[expect(clippy::print_stdout, reason = "the program prints its results")]
fn println(text: &str) {
    println!("{text}");
}
