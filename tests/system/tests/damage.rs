//! Database files that were changed after the server ended. A server that opens one has every
//! acknowledged write. Any other does not start, names the file and the remedy, and changes
//! nothing. No data is ever missing silently.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::{
    fs::{self, File, OpenOptions},
    io::{Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use serde_json::json;
use shared_context_system::{Server, Setup, program};
use tempfile::{TempDir, tempdir};

const SESSIONS: usize = 20;
const KEYS: usize = 5;

/// The end of the last server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Killed,
    Stopped,
}

/// The outcome of starting a server on a damaged folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Refused,
    Whole,
}

fn value(session: usize, key: usize) -> String {
    format!("{session} {key} {}", "z".repeat(400))
}

/// Returns a data folder with 100 entries, as a server left it that ended like this:
/// killed, all of it is in the log; stopped, all of it is in the database.
fn left_by(end: End) -> TempDir {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path());
    let admin = server.admin();
    for session in 0..SESSIONS {
        let id = format!("session-{session}");
        let orchestrator = admin.create_session(&id, &json!({}));
        for key in 0..KEYS {
            orchestrator.write(&id, &format!("key_{key}"), &value(session, key)).expect(200);
        }
    }
    match end {
        End::Killed => server.kill(),
        End::Stopped => drop(server.stop()),
    }
    folder
}

fn copy(folder: &Path) -> TempDir {
    let copy = tempdir().unwrap();
    for file in fs::read_dir(folder).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
    }
    copy
}

fn database(folder: &Path) -> PathBuf {
    folder.join("shared-context.db")
}

fn log(folder: &Path) -> PathBuf {
    folder.join("shared-context.db-wal")
}

fn mark(folder: &Path) -> PathBuf {
    folder.join("shared-context.mark")
}

/// Alters `text` wherever it stands in the database, in pages out of use too.
#[track_caller]
fn alter(folder: &Path, text: &str) {
    let bytes = fs::read(database(folder)).unwrap();
    let starts = bytes.windows(text.len()).enumerate();
    let places: Vec<_> = starts.filter(|(_, it)| *it == text.as_bytes()).collect();
    assert!(!places.is_empty(), "{text:?} is not there");
    for (at, _) in places {
        overwrite(&database(folder), u64::try_from(at).unwrap(), b"#");
    }
}

fn cut(path: &Path, bytes: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).unwrap().len()
}

fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(bytes).unwrap();
}

/// Starts a server on `folder`. Either it has all there was, and takes more; or
/// it says why not and leaves the database as it is.
#[track_caller]
fn start(folder: &Path, what: &str) -> Outcome {
    let before = fs::read(database(folder)).ok();
    let server = match Setup::new(folder).try_start() {
        Ok(server) => server,
        Err(refusal) => {
            assert_eq!(refusal.code, Some(4), "{what}: {refusal:?}");
            let said = refusal.said;
            let file = database(folder);
            assert!(said.contains(file.to_str().unwrap()), "{what}: {said}");
            assert!(!said.contains("zzz"), "{what}: a value is told: {said}");
            let advises = ["backup", "start the version", "choose another"];
            assert!(advises.iter().any(|it| said.contains(it)), "{what}: {said}");
            assert!(!said.contains("panicked"), "{what}: {said}");
            assert!(fs::read(&file).ok() == before, "{what}: the database was changed");
            return Outcome::Refused;
        }
    };
    let admin = server.admin();
    for session in 0..SESSIONS {
        let id = format!("session-{session}");
        for key in 0..KEYS {
            let entry = admin.read(&id, &format!("key_{key}")).expect(200);
            assert_eq!(entry["value"], value(session, key), "{what}: {id}");
        }
    }
    let orchestrator = admin.mint("session-0", "orchestrator");
    orchestrator.write("session-0", "after", "the damage").expect(200);
    server.stop();
    Outcome::Whole
}

/// Does `damage` to a copy of `folder` and starts a server there.
#[track_caller]
fn check(folder: &Path, what: &str, outcome: Outcome, damage: impl FnOnce(&Path)) {
    let copy = copy(folder);
    damage(copy.path());
    assert_eq!(start(copy.path(), what), outcome, "{what}");
}

#[test]
fn a_folder_that_is_not_damaged_is_whole() {
    for end in [End::Killed, End::Stopped] {
        let folder = left_by(end);
        assert!(length(&database(folder.path())) > 0);
        check(folder.path(), "nothing", Outcome::Whole, |_| {});
        assert_eq!(log(folder.path()).exists(), end == End::Killed);
    }
}

/// A disk that lost its tail, a copy that was broken off.
#[test]
fn a_database_cut_in_half_is_refused_after_a_clean_stop() {
    let folder = left_by(End::Stopped);
    let whole = length(&database(folder.path()));
    for bytes in [whole / 2, whole / 2 / 4096 * 4096, whole - 1, whole - 4096, 100, 1, 0] {
        let what = format!("{bytes} of {whole} bytes");
        check(folder.path(), &what, Outcome::Refused, |it| cut(&database(it), bytes));
    }
}

/// After a kill the log holds what the database lacks; as long as the two
/// together are whole, nothing is lost.
#[test]
fn a_database_truncated_after_a_kill_is_rejected_or_repaired() {
    let folder = left_by(End::Stopped);
    // More writes than the database has seen: they are in the log only.
    let server = Server::start(folder.path());
    let orchestrator = server.admin().mint("session-0", "orchestrator");
    for nth in 0..20 {
        orchestrator.write("session-0", "more", &nth.to_string()).expect(200);
    }
    server.kill();
    assert!(length(&log(folder.path())) > 0);
    let whole = length(&database(folder.path()));
    for bytes in [whole / 2, whole / 2 / 4096 * 4096, whole - 4096, 4096, 0] {
        let what = format!("{bytes} of {whole} bytes, and a log");
        check(folder.path(), &what, Outcome::Refused, |it| cut(&database(it), bytes));
    }
    check(folder.path(), "no damage, and a log", Outcome::Whole, |_| {});
}

#[test]
fn a_header_of_garbage_is_refused() {
    for end in [End::Killed, End::Stopped] {
        let folder = left_by(end);
        let garbage = [0xa5; 100];
        check(folder.path(), "garbage", Outcome::Refused, |it| {
            overwrite(&database(it), 0, &garbage);
        });
        check(folder.path(), "zeros", Outcome::Refused, |it| {
            overwrite(&database(it), 0, &[0; 4096]);
        });
    }
}

/// A page that rotted on the disk: reading it must not pass for "no such key",
/// and must not take the server down.
#[test]
fn pages_of_garbage_are_refused_or_reported() {
    let folder = left_by(End::Stopped);
    let pages = length(&database(folder.path())) / 4096;
    assert!(pages > 10, "{pages}");
    for page in 1..pages {
        let copy = copy(folder.path());
        overwrite(&database(copy.path()), page * 4096, &[0xa5; 4096]);
        let Ok(server) = Setup::new(copy.path()).try_start() else { continue };
        let admin = server.admin();
        for session in 0..SESSIONS {
            let id = format!("session-{session}");
            for key in 0..KEYS {
                let answer = admin.read(&id, &format!("key_{key}"));
                if answer.status == 200 {
                    assert_eq!(answer.json()["value"], value(session, key), "page {page}");
                } else {
                    answer.refused(503, "STORAGE_UNAVAILABLE");
                }
            }
        }
        let listed = admin.get("/v1/sessions");
        if listed.status == 200 {
            assert_eq!(listed.json()["sessions"].as_array().unwrap().len(), SESSIONS);
        } else {
            listed.refused(503, "STORAGE_UNAVAILABLE");
        }
        server.assert_alive();
    }
}

/// `SQLite` itself takes a file without bytes for a new database.
#[test]
fn an_empty_database_file_is_refused() {
    for end in [End::Killed, End::Stopped] {
        let folder = left_by(end);
        check(folder.path(), "empty", Outcome::Refused, |it| {
            drop(File::create(database(it)).unwrap());
        });
    }
}

/// A file moved away by hand while its log stays: the log alone is worth
/// nothing, and a new database beside it would hide that there was one.
#[test]
fn a_log_without_its_database_is_refused() {
    let folder = left_by(End::Killed);
    check(folder.path(), "gone", Outcome::Refused, |it| fs::remove_file(database(it)).unwrap());
}

#[test]
fn after_a_clean_stop_the_log_is_not_needed() {
    let folder = left_by(End::Stopped);
    for suffix in ["-wal", "-shm"] {
        let mut path = database(folder.path()).into_os_string();
        path.push(suffix);
        drop(fs::remove_file(path));
    }
    check(folder.path(), "no log", Outcome::Whole, |_| {});
}

/// Power that goes while the log is written leaves half a transaction at its
/// end, which was never acknowledged.
#[test]
fn half_a_transaction_at_the_end_of_the_log_is_no_damage() {
    let folder = left_by(End::Killed);
    check(folder.path(), "half a transaction", Outcome::Whole, |it| {
        let mut log = OpenOptions::new().append(true).open(log(it)).unwrap();
        log.write_all(&[0x5a; 3000]).unwrap();
    });
}

/// A newer version of the program wrote it; an older one must not touch it.
#[test]
fn a_database_of_a_newer_format_is_refused() {
    let folder = left_by(End::Stopped);
    check(folder.path(), "a newer format", Outcome::Refused, |it| {
        overwrite(&database(it), 60, &1000_u32.to_be_bytes());
    });
}

#[test]
fn the_database_of_another_program_is_refused() {
    let folder = left_by(End::Stopped);
    check(folder.path(), "another program's", Outcome::Refused, |it| {
        overwrite(&database(it), 68, &7_u32.to_be_bytes());
    });
}

/// `SQLite` takes a log that was cut, or is gone, for all there ever was: without the
/// mark such a start lost acknowledged writes and said nothing.
#[test]
fn a_log_that_lost_commits_is_rejected_until_accepted() {
    let folder = left_by(End::Killed);
    let bytes = length(&log(folder.path()));
    check(folder.path(), "no log", Outcome::Refused, |it| fs::remove_file(log(it)).unwrap());
    check(folder.path(), "no mark", Outcome::Refused, |it| fs::remove_file(mark(it)).unwrap());
    check(folder.path(), "an altered bit", Outcome::Refused, |it| {
        overwrite(&log(it), bytes / 2, b"#");
    });
    let it = copy(folder.path());
    cut(&log(it.path()), bytes / 2);
    let said = Setup::new(it.path()).refused().said;
    for part in ["lacks the last", "acknowledged commits", "--accept-loss"] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(start(it.path(), "a log cut in half"), Outcome::Refused);
    let server = Setup::new(it.path()).arguments(&["--accept-loss"]).start();
    let kept = server.admin().get("/v1/sessions").expect(200)["sessions"].as_array().unwrap().len();
    assert!((1..=SESSIONS).contains(&kept), "{kept}");
    assert!(server.log().contains("lacks the last"), "{}", server.log());
    server.stop();
    let server = Server::start(it.path());
    assert_eq!(
        server.admin().get("/v1/sessions").expect(200)["sessions"].as_array().unwrap().len(),
        kept
    );
}

#[test]
fn a_database_rolled_back_or_swapped_is_refused() {
    let (old, other) = (left_by(End::Stopped), left_by(End::Stopped));
    let folder = copy(old.path());
    let server = Server::start(folder.path());
    let orchestrator = server.admin().mint("session-0", "orchestrator");
    orchestrator.write("session-0", "more", "1").expect(200);
    server.stop();
    for (what, from) in [("rolled back", &old), ("another server's", &other)] {
        check(folder.path(), what, Outcome::Refused, |it| {
            fs::copy(database(from.path()), database(it)).unwrap();
        });
    }
    check(folder.path(), "gone", Outcome::Refused, |it| fs::remove_file(database(it)).unwrap());
}

/// A start once read all of the database first, 6 minutes for 100 GB. A large one is verified while
/// it is served, and a damaged session is never served in part.
#[test]
fn a_damaged_session_of_a_large_database_is_not_served() {
    let folder = left_by(End::Stopped);
    alter(folder.path(), &value(10, 3)[..9]);
    let large = ["--verify-first-mib", "0"];
    let server = Setup::new(folder.path()).arguments(&large).start();
    let admin = server.admin();
    for key in ["key_3", "key_0"] {
        let said = admin.read("session-10", key).refused(503, "STORAGE_UNAVAILABLE");
        assert!(said.contains("tell the operator"), "{said}");
    }
    assert!(server.log().contains("session-10"), "{}", server.log());
    for session in (0..SESSIONS).filter(|it| *it != 10) {
        let entry = admin.read(&format!("session-{session}"), "key_2").expect(200);
        assert_eq!(entry["value"], value(session, 2));
    }
    admin.mint("session-8", "orchestrator").write("session-8", "key_9", "x").expect(200);
    let said = admin.get("/v1/sessions").refused(503, "STORAGE_UNAVAILABLE");
    assert!(said.contains(r#"the session "session-10""#), "{said}");
    let listed = admin.get("/v1/sessions?after=session-10").expect(200);
    assert_eq!(listed["sessions"].as_array().unwrap().len(), SESSIONS - 3);
    let said = server.stranger().get("/healthz").expect(503);
    assert!(said["reason"].as_str().unwrap().contains("damaged"), "{said}");
    // The server verified the others, and says so when it is asked.
    let verified = || fs::read_to_string(folder.path().join("verification.json"));
    while !verified().is_ok_and(|it| it.contains(r#""verified": 20"#)) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let doctor = program::run(["doctor", "--data", folder.path().to_str().unwrap()]);
    let found = String::from_utf8(doctor.stdout).unwrap();
    assert!(found.contains("the server found a damaged session"), "{found}");
    server.stop();
    let said = Setup::new(folder.path()).arguments(&large).refused().said;
    assert!(said.contains("hurt: session/session-10") && said.contains("--accept-loss"), "{said}");
    let server = Setup::new(folder.path()).arguments(&["--accept-loss"]).start();
    server.admin().read("session-10", "key_3").refused(404, "SESSION_NOT_FOUND");
    assert_eq!(server.admin().read("session-8", "key_9").expect(200)["value"], "x");
    server.stop();
    assert!(verified().is_err(), "all was verified at the start");
}

/// One byte of one value: `SQLite` shows it to the agent as if it had been written.
#[test]
fn an_altered_value_is_rejected_and_other_sessions_are_served() {
    let folder = left_by(End::Stopped);
    alter(folder.path(), &value(10, 3)[..9]);
    assert_eq!(start(folder.path(), "an altered value"), Outcome::Refused);
    let said = Setup::new(folder.path()).refused().said;
    assert!(said.contains("altered rows: 1") && said.contains("session-10"), "{said}");
    let server = Setup::new(folder.path()).arguments(&["--accept-loss"]).start();
    let admin = server.admin();
    admin.read("session-10", "key_0").refused(404, "SESSION_NOT_FOUND");
    assert_eq!(admin.read("session-11", "key_3").expect(200)["value"], value(11, 3));
    assert!(server.log().contains("session/session-10"), "{}", server.log());
    assert!(folder.path().join("shared-context.db.damaged-1").exists());
    server.stop();
    let server = Server::start(folder.path());
    assert_eq!(
        server.admin().get("/v1/sessions").expect(200)["sessions"].as_array().unwrap().len(),
        SESSIONS - 1
    );
}

/// The same while the server runs: readers of the value get a storage error, the log names the file
/// and the row, and no other request is affected.
#[test]
fn a_value_corrupted_at_run_time_fails_its_readers_only() {
    let folder = left_by(End::Stopped);
    let server = Server::start(folder.path());
    alter(folder.path(), &value(10, 3)[..9]);
    let admin = server.admin();
    // What it has in memory is sound; after a change it reads the file again.
    let orchestrator = admin.mint("session-0", "orchestrator");
    orchestrator.write("session-0", "after", "the damage").expect(200);
    admin.read("session-10", "key_3").refused(503, "STORAGE_UNAVAILABLE");
    assert_eq!(admin.read("session-10", "key_2").expect(200)["value"], value(10, 2));
    assert_eq!(admin.read("session-11", "key_3").expect(200)["value"], value(11, 3));
    let log = server.log();
    for part in
        [database(folder.path()).to_str().unwrap(), "session/session-10", "key_3", "checksum"]
    {
        assert!(log.contains(part), "{part} is not in: {log}");
    }
    assert!(!log.contains("zzz"), "{log}");
    let health = server.stranger().get("/healthz");
    assert!(health.status == 503 && health.text.contains("damaged"), "{}", health.text);
    let doctor = program::run(["doctor", "--data", folder.path().to_str().unwrap(), "--json"]);
    let said = String::from_utf8(doctor.stdout).unwrap();
    assert!(said.contains("altered rows: 1"), "{said}");
}

/// `/healthz` was a constant, also over a database of which nothing could be read. Now it
/// reports the damage, each request says that the storage failed, and no write succeeds.
#[test]
fn a_corrupt_database_fails_requests_and_health_with_a_reason() {
    let folder = left_by(End::Stopped);
    let server = Server::start(folder.path());
    let admin = server.admin();
    let writer = admin.mint("session-0", "orchestrator");
    assert_eq!(server.stranger().get("/healthz").status, 200);
    let pages = usize::try_from(length(&database(folder.path()))).unwrap() - 4096;
    overwrite(&database(folder.path()), 4096, &vec![0xa5; pages]);
    for session in 1..SESSIONS {
        let id = format!("session-{session}");
        for key in 0..KEYS {
            let read = admin.read(&id, &format!("key_{key}"));
            // What it has in memory is sound.
            if read.status == 200 {
                assert_eq!(read.json()["value"], value(session, key));
            } else {
                read.refused(503, "STORAGE_UNAVAILABLE");
            }
        }
        let refusal = writer.write("session-0", "after", "x").refused(503, "STORAGE_UNAVAILABLE");
        assert!(refusal.contains("nothing was changed"), "{refusal}");
    }
    admin.read("session-19", "key_4").refused(503, "STORAGE_UNAVAILABLE");
    admin.get("/v1/sessions").refused(503, "STORAGE_UNAVAILABLE");
    let health = server.stranger().get("/healthz");
    assert!(health.status == 503 && health.text.contains("damaged"), "{}", health.text);
    assert!(server.log().contains("malformed"), "the operator is not told: {}", server.log());
    server.kill();
    assert_eq!(Setup::new(folder.path()).refused().code, Some(4));
}
