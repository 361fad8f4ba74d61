//! A storage that fails under the server: answers are correct, `/healthz` reports the problem,
//! committed changes are audited, and the log stays short.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use shared_context_system::{Client, Server, Setup, disk::FailingSync};
use tempfile::tempdir;

const PATIENCE: Duration = Duration::from_secs(20);
const IN_DOUBT: &str = "whether the change was made is not known";

fn setup(folder: &Path) -> Setup {
    Setup::new(folder).without_rate_limit()
}

/// Waits until `/healthz` answers `status`, and returns what it says.
#[track_caller]
fn healthy(server: &Server, status: u16) -> String {
    let since = Instant::now();
    loop {
        let answer = server.stranger().get("/healthz");
        if answer.status == status {
            return answer.text;
        }
        assert!(since.elapsed() < PATIENCE, "{}: {}", answer.status, answer.text);
        thread::sleep(Duration::from_millis(50));
    }
}

/// Returns how many audit lines of the log are about `key`.
fn audited(server: &Server, key: &str) -> usize {
    let log = server.log();
    log.lines().filter(|it| it.contains("audit") && it.contains(key)).count()
}

/// The sync of a commit failed, and it was answered "nothing was changed; try again". After a kill
/// the change was stored, but not in the audit log.
#[test]
fn a_commit_whose_sync_failed_is_in_doubt_and_not_there() {
    let Some(disk) = FailingSync::new() else { return };
    let folder = tempdir().unwrap();
    for nth in 0..6 {
        let server = disk.under(setup(folder.path())).start();
        let session = format!("s{nth}");
        let orchestrator = server.admin().create_session(&session, &json!({}));
        orchestrator.write(&session, "before", "x").expect(200);
        disk.fails(true);
        let refusal =
            orchestrator.write(&session, "refused", "x").refused(503, "STORAGE_UNAVAILABLE");
        assert!(refusal.contains(IN_DOUBT), "{refusal}");
        assert!(healthy(&server, 503).contains("failing"));
        assert_eq!(audited(&server, "refused"), 0);
        server.kill();
        disk.fails(false);
        let server = setup(folder.path()).start();
        let admin = server.admin();
        admin.read(&session, "refused").refused(404, "KEY_NOT_FOUND");
        assert_eq!(admin.read(&session, "before").expect(200)["value"], "x");
        server.stop();
    }
}

/// A change with an unknown outcome was stored in the end, but not in the audit log. Here the
/// database is moved away while the change is synced, and put back afterwards.
#[test]
fn a_commit_in_doubt_that_was_made_is_audited_once() {
    let Some(disk) = FailingSync::new() else { return };
    let folder = tempdir().unwrap();
    let server = disk.under(setup(folder.path())).start();
    let orchestrator = server.admin().create_session("a", &json!({}));
    orchestrator.write("a", "before", "x").expect(200);
    let file = |name: &str| folder.path().join(name);
    let (database, aside) = (file("shared-context.db"), file("aside"));
    let log_bytes = || fs::metadata(file("shared-context.db-wal")).map_or(0, |it| it.len());
    let (synced, since) = (log_bytes(), Instant::now());
    disk.stalls(true);
    let answer = thread::scope(|scope| {
        let write = scope.spawn(|| orchestrator.write("a", "doubtful", "x"));
        // Until the change is in the log, and waits to be synced.
        while log_bytes() == synced && since.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(1));
        }
        fs::rename(&database, &aside).unwrap();
        disk.stalls(false);
        write.join().unwrap()
    });
    let refusal = answer.refused(503, "STORAGE_UNAVAILABLE");
    assert!(refusal.contains(IN_DOUBT), "{refusal}");
    assert_eq!(audited(&server, "doubtful"), 0);
    fs::rename(&aside, &database).unwrap();
    healthy(&server, 200);
    assert_eq!(orchestrator.read("a", "doubtful").expect(200)["value"], "x");
    orchestrator.write("a", "after", "x").expect(200);
    assert_eq!(audited(&server, "doubtful"), 1);
    server.stop();
    let server = setup(folder.path()).start();
    assert_eq!(server.admin().read("a", "doubtful").expect(200)["value"], "x");
    server.stop();
}

#[test]
fn a_storage_that_works_again_is_well_and_takes_writes() {
    let Some(disk) = FailingSync::new() else { return };
    let folder = tempdir().unwrap();
    let server = disk.under(setup(folder.path())).start();
    let orchestrator = server.admin().create_session("a", &json!({}));
    orchestrator.write("a", "before", "x").expect(200);
    healthy(&server, 200);
    disk.fails(true);
    for _ in 0..200 {
        orchestrator.write("a", "refused", "x").refused(503, "STORAGE_UNAVAILABLE");
        assert_eq!(orchestrator.read("a", "before").expect(200)["value"], "x");
    }
    let told = healthy(&server, 503);
    assert!(told.contains("read the server's log"), "{told}");
    // A line for each rejected write and more: 5,310 in four seconds.
    let lines = server.log().lines().filter(|it| it.contains("ERROR")).count();
    assert!((1..20).contains(&lines), "{lines} lines");
    disk.fails(false);
    healthy(&server, 200);
    orchestrator.write("a", "after", "x").expect(200);
    let is_there = orchestrator.read("a", "refused").status == 200;
    assert_eq!(audited(&server, "refused") > 0, is_there, "what was made is audited");
}

/// `/healthz` was a constant, and writes into a database file that had been moved away were
/// acknowledged.
#[test]
fn a_database_that_is_gone_takes_no_writes() {
    let folder = tempdir().unwrap();
    let gone = |file: &str| {
        let server = setup(folder.path()).start();
        let admin = server.admin();
        let orchestrator = admin.create_session("a", &json!({}));
        orchestrator.write("a", "before", "x").expect(200);
        let (path, aside) = (folder.path().join(file), folder.path().join("aside"));
        fs::rename(&path, &aside).unwrap();
        let refusal = orchestrator.write("a", "gone", "x").refused(503, "STORAGE_UNAVAILABLE");
        assert!(refusal.contains("nothing was changed"), "{refusal}");
        let told = healthy(&server, 503);
        assert!(told.contains("removed or replaced"), "{told}");
        assert!(!told.contains(&folder.path().display().to_string()), "{told}");
        assert_eq!(orchestrator.read("a", "before").expect(200)["value"], "x");
        // Another file of this name is not it.
        fs::copy(&aside, &path).unwrap();
        orchestrator.write("a", "gone", "x").refused(503, "STORAGE_UNAVAILABLE");
        fs::rename(&aside, &path).unwrap();
        healthy(&server, 200);
        orchestrator.write("a", "back", "x").expect(200);
        let check = |client: &Client| {
            client.read("a", "gone").refused(404, "KEY_NOT_FOUND");
            assert_eq!(client.read("a", "back").expect(200)["value"], "x");
        };
        check(&orchestrator);
        server.kill();
        let server = setup(folder.path()).start();
        check(&server.admin());
        server.admin().send("DELETE", "/v1/sessions/a", None).expect(200);
        server.stop();
    };
    gone("shared-context.db");
    gone("shared-context.db-wal");
}
