//! Reports of a loss: the error ends with a command to paste, and an accepted loss is reported
//! exactly.
//!
//! The detection of damage is tested in `damage`.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::{
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::json;
use shared_context_system::{Server, Setup, program};
use tempfile::{TempDir, tempdir};

const VALUE: &str = "a value of the session that is hurt";

/// A folder whose name a shell would take apart.
struct Place {
    folder: PathBuf,
    _parent: TempDir,
}

impl Place {
    /// With two sessions and three commits; the last of a killed server is in the log
    /// alone.
    fn new() -> Self {
        let parent = tempdir().unwrap();
        let folder = parent.path().join("it's a $HOME");
        let server = Server::start(&folder);
        let admin = server.admin();
        admin.create_session("hurt", &json!({})).write("hurt", "key", VALUE).expect(200);
        server.stop();
        let server = Server::start(&folder);
        drop(server.admin().create_session("whole", &json!({})));
        server.kill();
        Self { folder, _parent: parent }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Checks that the server does not start and that its message contains `parts`. Then starts it
    /// by the command in the message, and returns the log of that, a field of each line.
    #[track_caller]
    fn accepted(&self, parts: &[&str]) -> String {
        let said = Setup::new(&self.folder).refused().said;
        for part in parts {
            assert!(said.contains(part), "{part:?} is not in: {said}");
        }
        assert!(said.contains("; nothing was changed"), "{said}");
        let doctor = program::run(["doctor".as_ref(), "--data".as_ref(), self.folder.as_os_str()]);
        let advised = String::from_utf8(doctor.stdout).unwrap();
        for text in [&said, &advised] {
            let is_command = |it: &&str| it.trim().starts_with("shared-context serve");
            assert_eq!(
                words(text.lines().find(is_command).unwrap_or_default()),
                ["shared-context", "serve", "--data", shown(&self.folder), "--accept-loss"]
            );
        }
        let server = Setup::new(&self.folder).arguments(&["--accept-loss"]).start();
        let log = server.log();
        server.stop();
        for refused in ["nothing was changed", "--accept-loss", "restore", VALUE] {
            assert!(!log.contains(refused), "{refused:?} is in: {log}");
        }
        // It is accepted once.
        let log_of_next = Server::start(&self.folder).stop();
        assert!(!log_of_next.contains("a loss was accepted"), "{log_of_next}");
        log.lines().filter(|it| it.contains("a loss was accepted")).collect::<Vec<_>>().join("\n")
    }
}

fn shown(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Returns what a shell makes of `command`.
fn words(command: &str) -> Vec<String> {
    let script = format!("set -- {command}\nprintf '%s\\n' \"$@\"");
    let out = Command::new("sh").args(["-c", &script]).output().unwrap().stdout;
    String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
}

/// `database` with another value in the place of the one that was written.
fn altered(mut database: Vec<u8>) -> Vec<u8> {
    // In pages out of use, too.
    let is_value = |at: &usize| database[*at..].starts_with(VALUE.as_bytes());
    let places: Vec<_> = (0..database.len()).filter(is_value).collect();
    assert!(!places.is_empty());
    for at in places {
        database[at] ^= 1;
    }
    database
}

#[track_caller]
fn check(log: &str, parts: &[&str]) {
    for part in parts {
        assert!(log.contains(part), "{part:?} is not in: {log}");
    }
}

/// The warning did not name the folder, so that whoever pasted it began another database;
/// and the log said of what was accepted that nothing was changed.
#[test]
fn commits_that_are_lost_are_told_and_accepted() {
    let place = Place::new();
    OpenOptions::new()
        .write(true)
        .open(place.file("shared-context.db-wal"))
        .unwrap()
        .set_len(100)
        .unwrap();
    let lost = "lacks the last 1 of 3 acknowledged commits";
    let log = place.accepted(&[lost, "shared-context.mark"]);
    check(&log, &[lost, "begun with the commits that are there", "commits=2"]);
    assert_eq!(log.lines().count(), 1, "{log}");
}

#[test]
fn sessions_that_are_lost_are_told_and_accepted() {
    let place = Place::new();
    Server::start(&place.folder).stop();
    let path = place.file("shared-context.db");
    fs::write(&path, altered(fs::read(&path).unwrap())).unwrap();
    let log = place.accepted(&["is damaged: altered rows: 1; hurt: session/hurt"]);
    let kept = shown(&place.file("shared-context.db.damaged-1")).to_owned();
    check(&log, &["altered rows: 1", "begun without these sessions", "\"session/hurt\"", &kept]);
    assert_eq!(log.lines().count(), 1, "{log}");
}

/// Of a database that is damaged and older than its mark, only the damage was reported.
#[test]
fn what_a_damaged_database_lacks_besides_is_told_as_well() {
    let place = Place::new();
    Server::start(&place.folder).stop();
    let older = fs::read(place.file("shared-context.db")).unwrap();
    let server = Server::start(&place.folder);
    drop(server.admin().create_session("later", &json!({})));
    server.stop();
    fs::write(place.file("shared-context.db"), altered(older)).unwrap();
    let log = place.accepted(&["is damaged: altered rows: 1"]);
    check(&log, &["altered rows: 1", "lacks the last 1 of 4", "this is missing as well"]);
}

#[test]
fn a_database_that_is_gone_is_told_and_accepted() {
    let place = Place::new();
    for file in ["shared-context.db", "shared-context.db-wal"] {
        fs::remove_file(place.file(file)).unwrap();
    }
    let log = place.accepted(&["is gone, and it held 3 acknowledged commits"]);
    check(&log, &["held 3 acknowledged commits", "begun with an empty database"]);
}

#[test]
fn a_mark_that_is_gone_is_told_and_accepted() {
    let place = Place::new();
    fs::remove_file(place.file("shared-context.mark")).unwrap();
    let log = place.accepted(&["shared-context.mark is gone"]);
    check(&log, &["is gone: whether", "begun with the commits that are there", "commits=3"]);
}
