//! `examples/spin-app`, as its developer starts it: an application of its own, composed
//! with shared-context, in one database with it.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test: whatever is not as it should be fails it"
)]

use std::{env, path::PathBuf, process::ExitCode, sync::Barrier, thread};

use serde_json::json;
use shared_context_spin_tests::{
    Over, Setup,
    story::{self, App, Stage, Test},
};
use shared_context_system::{Answer, Client, tell};
use tempfile::TempDir;

const REPORT: &str = "Line 3, Monday.\nfinding: The valve sticks.\n- Open: Since when?\n";

fn main() -> ExitCode {
    story::main_if(
        example().map(drop),
        &[
            Test::anywhere("reports_become_findings_of_a_session", reports),
            Test::anywhere("reports_that_come_at_once_are_all_kept", at_once),
            Test::anywhere("what_it_cannot_do_is_refused_with_a_reason", refusals),
        ],
    )
}

/// Returns the manifest of the built example, or why there is none.
fn example() -> Result<PathBuf, String> {
    let folder = env::var_os("SPIN_EXAMPLE").filter(|it| !it.is_empty()).ok_or(
        "SPIN_EXAMPLE is not set: `cargo xtask spin` builds examples/spin-app, and sets it",
    )?;
    let manifest = PathBuf::from(folder).join("spin.toml");
    manifest.canonicalize().map_err(|error| format!("{}: {error}", manifest.display()))
}

fn start(stage: &Stage, folder: &TempDir) -> App {
    stage.start(&Setup::new(example().unwrap(), folder.path().join("state")))
}

fn report(client: &Client, ticket: &str, text: &str) -> Answer {
    let path = format!("/tickets/{ticket}/report");
    let headers = [("content-type", "text/plain")];
    client.try_send("POST", &path, &headers, Some(text.as_bytes())).unwrap()
}

fn reports(stage: &Stage) {
    let folder = tempfile::tempdir().unwrap();
    let app = start(stage, &folder);
    let client = app.stranger();
    let written = report(&client, "line-3", REPORT).expect(200);
    let keys: Vec<_> = written["written"].as_array().unwrap().iter().map(|it| &it["key"]).collect();
    assert_eq!(keys, ["findings_summary", "open_questions"]);
    // The same again is nothing new.
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
    // The application of hosts/spin over the same database finds the same session.
    let app = stage.start(&stage.setup(Over::Sqlite, &folder));
    let orchestrator = app.admin().mint("line-3", "orchestrator");
    assert_eq!(orchestrator.read("line-3", "findings_summary").expect(200)["value"], findings);
    orchestrator.write("line-3", "findings_summary", "- Settled.").expect(200);
    drop(app);
    let shown = start(stage, &folder).stranger().get("/tickets/line-3").expect(200);
    assert_eq!(shown["entries"]["findings_summary"]["value"], "- Settled.");
}

/// Each report adds a line to the same entry; the application merges, and writes only
/// over what it read.
fn at_once(stage: &Stage) {
    const REPORTS: usize = 8;
    let folder = tempfile::tempdir().unwrap();
    let app = start(stage, &folder);
    let begin = Barrier::new(REPORTS);
    let told: Vec<_> = thread::scope(|scope| {
        let reporters: Vec<_> = (0..REPORTS)
            .map(|nth| {
                let (client, begin) = (app.stranger(), &begin);
                scope.spawn(move || {
                    begin.wait();
                    let mut sent = 0;
                    loop {
                        sent += 1;
                        let answer = report(&client, "busy", &format!("finding: number {nth}"));
                        // After some attempts it leaves that to the client.
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
    let sent: usize = told.iter().map(|it| it.1).sum();
    tell(&format!("{REPORTS} reports at once, sent {sent} times: all kept"));
}

fn refusals(stage: &Stage) {
    let folder = tempfile::tempdir().unwrap();
    let app = start(stage, &folder);
    let client = app.stranger();
    client.get("/tickets/nowhere").refused(404, "SESSION_NOT_FOUND");
    report(&client, "line-3", "nothing of note").refused(422, "NOTHING_TO_KEEP");
    report(&client, "NO%20TICKET", REPORT).refused(400, "MALFORMED_REQUEST");
    let long = format!("finding: {}", "x".repeat(10_000));
    report(&client, "line-3", &long).refused(413, "VALUE_TOO_LARGE");
    assert_eq!(client.get("/elsewhere").status, 404);
}
