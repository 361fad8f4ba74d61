//! Tests `examples/spin-app` as its developer runs it: an application composed with
//! shared-context, sharing one database with it.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test: an unexpected result fails it"
)]

use std::{env, path::PathBuf, process::ExitCode, sync::Barrier, thread};

use serde_json::json;
use shared_context_spin_tests::{
    Over, Setup,
    suite::{self, App, Test, TestHost},
};
use shared_context_system::{Answer, Client, tell};
use tempfile::TempDir;

const REPORT: &str = "Line 3, Monday.\nfinding: The valve sticks.\n- Open: Since when?\n";

fn main() -> ExitCode {
    suite::main_if(
        example().map(drop),
        &[
            Test::anywhere("reports_become_findings_of_a_session", reports),
            Test::anywhere("concurrent_reports_are_all_stored", concurrent_reports),
            Test::anywhere("invalid_requests_are_rejected_with_a_reason", rejections),
        ],
    )
}

/// Returns the manifest of the built example, or the reason why it is missing.
fn example() -> Result<PathBuf, String> {
    let folder = env::var_os("SPIN_EXAMPLE").filter(|it| !it.is_empty()).ok_or(
        "SPIN_EXAMPLE is not set: `cargo xtask spin` builds examples/spin-app, and sets it",
    )?;
    let manifest = PathBuf::from(folder).join("spin.toml");
    manifest.canonicalize().map_err(|error| format!("{}: {error}", manifest.display()))
}

fn start(host: &TestHost, folder: &TempDir) -> App {
    host.start(&Setup::new(example().unwrap(), folder.path().join("state")))
}

fn report(client: &Client, ticket: &str, text: &str) -> Answer {
    let path = format!("/tickets/{ticket}/report");
    let headers = [("content-type", "text/plain")];
    client.try_send("POST", &path, &headers, Some(text.as_bytes())).unwrap()
}

fn reports(host: &TestHost) {
    let folder = tempfile::tempdir().unwrap();
    let app = start(host, &folder);
    let client = app.stranger();
    let written = report(&client, "line-3", REPORT).expect(200);
    let keys: Vec<_> = written["written"].as_array().unwrap().iter().map(|it| &it["key"]).collect();
    assert_eq!(keys, ["findings_summary", "open_questions"]);
    // Sending the same report again changes nothing.
    assert_eq!(report(&client, "line-3", REPORT).expect(200)["written"], json!([]));
    report(&client, "line-3", "finding: The spring is broken.").expect(200);
    let shown = client.get("/tickets/line-3").expect(200);
    let findings = "- The valve sticks.\n- The spring is broken.";
    assert_eq!(shown["entries"]["findings_summary"]["value"], findings, "{shown}");
    assert_eq!(shown["entries"]["findings_summary"]["version"], 2);
    assert_eq!(shown["entries"]["findings_summary"]["written_by"], "subagent:analysis");
    assert_eq!(shown["entries"]["open_questions"]["value"], "- Since when?");
    let prompt = client.get("/tickets/line-3/prompt");
    assert_eq!(prompt.status, 200, "{}", prompt.text);
    assert!(prompt.text.contains("findings_summary"), "{}", prompt.text);
    drop(app);
    // The application of hosts/spin sees the same session in the same database.
    let app = host.start(&host.setup(Over::Sqlite, &folder));
    let orchestrator = app.admin().mint("line-3", "orchestrator");
    assert_eq!(orchestrator.read("line-3", "findings_summary").expect(200)["value"], findings);
    orchestrator.write("line-3", "findings_summary", "- Settled.").expect(200);
    drop(app);
    let shown = start(host, &folder).stranger().get("/tickets/line-3").expect(200);
    assert_eq!(shown["entries"]["findings_summary"]["value"], "- Settled.");
}

/// Each report adds a line to the same entry. The application merges the lines and writes
/// on condition that the entry has not changed since it was read.
fn concurrent_reports(host: &TestHost) {
    const REPORTS: usize = 8;
    let folder = tempfile::tempdir().unwrap();
    let app = start(host, &folder);
    let begin = Barrier::new(REPORTS);
    let answers: Vec<_> = thread::scope(|scope| {
        let reporters: Vec<_> = (0..REPORTS)
            .map(|nth| {
                let (client, begin) = (app.stranger(), &begin);
                scope.spawn(move || {
                    begin.wait();
                    let mut sent = 0;
                    loop {
                        sent += 1;
                        let answer = report(&client, "busy", &format!("finding: number {nth}"));
                        // After some attempts the application leaves retrying to the client.
                        match answer.status {
                            409 => drop(answer.refused(409, "VERSION_CONFLICT")),
                            _ => return (answer.expect(200), sent),
                        }
                    }
                })
            })
            .collect();
        reporters.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let shown = app.stranger().get("/tickets/busy").expect(200);
    let entry = &shown["entries"]["findings_summary"];
    let mut lines: Vec<_> = entry["value"].as_str().unwrap().lines().collect();
    lines.sort_unstable();
    let expected: Vec<_> = (0..REPORTS).map(|nth| format!("- number {nth}")).collect();
    assert_eq!(lines, expected);
    assert_eq!(entry["version"], REPORTS);
    let sent: usize = answers.iter().map(|it| it.1).sum();
    tell(&format!("{REPORTS} reports at once, sent {sent} times: all kept"));
}

fn rejections(host: &TestHost) {
    let folder = tempfile::tempdir().unwrap();
    let app = start(host, &folder);
    let client = app.stranger();
    client.get("/tickets/nowhere").refused(404, "SESSION_NOT_FOUND");
    report(&client, "line-3", "nothing of note").refused(422, "NOTHING_TO_KEEP");
    report(&client, "NO%20TICKET", REPORT).refused(400, "MALFORMED_REQUEST");
    let long = format!("finding: {}", "x".repeat(10_000));
    report(&client, "line-3", &long).refused(413, "VALUE_TOO_LARGE");
    assert_eq!(client.get("/elsewhere").status, 404);
}
