//! Backups of a server during writes, made as docs/operate.md describes: a server that starts on
//! one has every write that was acknowledged before it began.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
};

use rusqlite::Connection;
use serde_json::json;
use shared_context_system::{Client, Server, Setup, tell};
use tempfile::{TempDir, tempdir};

const PAGE: &str = include_str!("../../../docs/operate.md");
const WRITERS: usize = 8;
const KEYS: usize = 5;
const BACKUPS: usize = 4;
/// The number of acknowledged writes between two backups.
const WRITES: usize = 100;

/// The program or the library that makes the copy.
#[derive(Debug, Clone, Copy)]
enum By {
    Program,
    Library,
}

/// Returns the commands of the page that make a backup of a running server.
fn commands() -> &'static str {
    let (_, block) = PAGE.split_once("```sh\numask 077").unwrap();
    block.split_once("```").unwrap().0
}

/// Returns the statement by which the page copies the database, and before it the
/// files that are copied first.
fn recipe() -> (&'static str, Vec<&'static str>) {
    let (first, rest) = commands().split_once("\nsqlite3 \"$data/shared-context.db\" \"").unwrap();
    let (statement, _) = rest.split_once('"').unwrap();
    let (_, files) = first.split_once("\ncp ").unwrap();
    let files = files.strip_suffix(" backup/").unwrap();
    let name = |it: &'static str| it.strip_prefix("\"$data/")?.strip_suffix('"');
    (statement, files.split(' ').map(|it| name(it).unwrap()).collect())
}

/// Runs the commands of the page in `place`, which holds the data folder as `data`.
fn run_commands(place: &Path) {
    let commands = format!("umask 077{}", commands());
    let mut shell = Command::new("bash");
    shell.args(["-euc", &commands]).current_dir(place);
    let done = shell.env("SHARED_CONTEXT_DATA", place.join("data")).output().unwrap();
    assert!(done.status.success() && done.stderr.is_empty(), "{done:?}");
}

/// Copies the database in `folder` to `to` by the statement of the page.
fn copy_database(folder: &Path, to: &Path) {
    let (statement, _) = recipe();
    let copy = to.join("shared-context.db");
    let statement = statement.replace("backup/shared-context.db", copy.to_str().unwrap());
    let database = Connection::open(folder.join("shared-context.db")).unwrap();
    database.execute_batch(&statement).unwrap();
}

/// Makes a backup of the data folder `folder` in the folder `backup` of `place`.
fn copy(folder: &Path, place: &Path, by: By) {
    match by {
        By::Program => {
            symlink(folder, place.join("data")).unwrap();
            run_commands(place);
        }
        By::Library => {
            let backup = place.join("backup");
            fs::create_dir(&backup).unwrap();
            copy_files(folder, &backup, &recipe().1);
            copy_database(folder, &backup);
        }
    }
}

fn copy_files(folder: &Path, to: &Path, files: &[&str]) {
    for file in files {
        fs::copy(folder.join(file), to.join(file)).unwrap();
    }
}

fn session(nth: usize) -> String {
    format!("session-{nth}")
}

/// Returns the `nth` write to a session.
fn write(nth: usize) -> (String, String) {
    (format!("key_{}", nth % KEYS), format!("{nth} {}", "z".repeat(400)))
}

/// Checks that `server` has the first writes to each session, of these at least as many
/// as `acknowledged` says, and nothing else. It knows the credentials of `clients`.
fn check(server: &Server, clients: &[Client], acknowledged: &[usize]) {
    for (nth, least) in acknowledged.iter().enumerate() {
        let client = Client::new(server.url(), clients[nth].credential());
        let id = session(nth);
        let listing = client.tool(&id, &json!({"action": "list_keys"})).expect(200);
        // The session's creation was a change, too.
        let writes = usize::try_from(listing["revision"].as_u64().unwrap()).unwrap() - 1;
        assert!(writes >= *least, "{id} has {writes} writes, {least} were acknowledged");
        for (key, value) in (0..writes).rev().take(KEYS).map(write) {
            assert_eq!(client.read(&id, &key).expect(200)["value"], value, "{id}");
        }
        let (key, value) = write(writes);
        client.write(&id, &key, &value).expect(200);
    }
}

/// Makes backups while all writers write, then starts a server on each.
fn back_up(by: By) {
    let (_, first) = recipe();
    assert!(first.contains(&"shared-context.mark"), "{first:?}");
    let folder = tempdir().unwrap();
    let server = Setup::new(folder.path()).without_rate_limit().start();
    let admin = server.admin();
    let clients: Vec<_> =
        (0..WRITERS).map(|nth| admin.create_session(&session(nth), &json!({}))).collect();
    let acknowledged = Mutex::new(vec![0; WRITERS]);
    let is_over = AtomicBool::new(false);
    let mut backups: Vec<(TempDir, Vec<usize>)> = Vec::new();
    thread::scope(|scope| {
        let (told, acknowledgements) = mpsc::channel();
        for (nth, client) in clients.iter().enumerate() {
            let (acknowledged, is_over, told) = (&acknowledged, &is_over, told.clone());
            scope.spawn(move || {
                for (count, (key, value)) in (0..).map(|it| (it, write(it))) {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    client.write(&session(nth), &key, &value).expect(200);
                    acknowledged.lock().unwrap()[nth] = count + 1;
                    // At the end the receiver may be gone.
                    let _ = told.send(());
                }
            });
        }
        drop(told);
        for _ in 0..BACKUPS {
            assert_eq!(acknowledgements.iter().take(WRITES).count(), WRITES);
            let before = acknowledged.lock().unwrap().clone();
            let place = tempdir().unwrap();
            copy(folder.path(), place.path(), by);
            backups.push((place, before));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let all = acknowledged.into_inner().unwrap();
    for (place, before) in &backups {
        check(&Server::start(&place.path().join("backup")), &clients, before);
    }
    // The server itself has lost nothing by being copied.
    check(&server, &clients, &all);
    server.stop();
    let writes = all.iter().sum::<usize>();
    tell(&format!("{BACKUPS} backups by {by:?} during {writes} writes: none lacks any"));
}

#[test]
fn a_backup_of_a_busy_server_has_all_acknowledged_writes() {
    back_up(By::Library);
}

#[test]
fn so_has_one_that_the_program_sqlite3_makes() {
    if Command::new("sqlite3").arg("--version").output().is_err() {
        tell("there is no program sqlite3 here");
        return;
    }
    back_up(By::Program);
}

/// Returns a folder whose server was written to, and a backup of its database alone.
fn without_mark() -> (TempDir, TempDir, Server) {
    let (folder, backup) = (tempdir().unwrap(), tempdir().unwrap());
    let server = Server::start(folder.path());
    let client = server.admin().create_session("a", &json!({}));
    client.write("a", "key", "before").expect(200);
    copy_files(folder.path(), backup.path(), &["keys.json"]);
    copy_database(folder.path(), backup.path());
    client.write("a", "key", "after").expect(200);
    (folder, backup, server)
}

/// The order of the recipe matters: a mark that is copied last names writes that the
/// copy of the database does not have.
#[test]
fn a_backup_made_in_the_other_order_is_refused() {
    let (folder, backup, server) = without_mark();
    copy_files(folder.path(), backup.path(), &["shared-context.mark"]);
    let said = Setup::new(backup.path()).refused().said;
    assert!(said.contains("lacks the last 1 of 3 acknowledged commits"), "{said}");
    server.stop();
}

#[test]
fn a_backup_without_its_mark_must_be_accepted_once() {
    let (_folder, backup, server) = without_mark();
    let said = Setup::new(backup.path()).refused().said;
    assert!(said.contains("shared-context.mark is gone"), "{said}");
    Setup::new(backup.path()).arguments(&["--accept-loss"]).start().stop();
    let again = Server::start(backup.path());
    assert_eq!(again.admin().read("a", "key").expect(200)["value"], "before");
    server.stop();
}
