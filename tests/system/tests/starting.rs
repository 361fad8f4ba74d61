//! Reasons that keep a server from starting: each ends with a message that names the problem and
//! the remedy, and harms no other server.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{fs, net::TcpListener, path::Path};

use serde_json::json;
use shared_context_system::{
    Refusal, Server, Setup,
    disk::{Commoner, SmallDisk, set_mode},
};

/// The exit code of a server or storage that could not start, as `--help` says.
const NOT_STARTED: i32 = 4;
/// The exit code of a command line that is not right.
const USAGE: i32 = 2;

/// Checks that the start failed with a message that has all of `parts`.
#[track_caller]
fn check(refusal: &Refusal, parts: &[&str]) {
    assert_eq!(refusal.code, Some(NOT_STARTED), "{refusal:?}");
    for part in parts {
        assert!(refusal.said.contains(part), "{part:?} is not in: {}", refusal.said);
    }
    assert!(!refusal.said.contains("panicked"), "{}", refusal.said);
}

fn shown(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Two servers on one folder would each believe to be its only writer.
#[test]
fn a_second_server_on_the_same_folder_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let first = Server::start(folder.path());
    let orchestrator = first.admin().create_session("a", &json!({}));
    let refusal = Setup::new(folder.path()).refused();
    check(
        &refusal,
        &[first.url(), &first.id().to_string(), shown(folder.path()), "choose another"],
    );
    orchestrator.write("a", "scope", "still here").expect(200);
    assert_eq!(orchestrator.read("a", "scope").expect(200)["value"], "still here");
    let told = fs::read_to_string(folder.path().join("server.json")).unwrap();
    assert!(told.contains(first.url()), "the second one overwrote it: {told}");
    first.stop();
    Server::start(folder.path());
}

#[test]
fn a_port_in_use_is_refused_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    let refusal = Setup::new(folder.path()).listen(&address).refused();
    check(&refusal, &[&other.local_addr().unwrap().port().to_string(), "in use", "another port"]);
    Server::start(folder.path());
}

#[test]
fn an_address_of_another_machine_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    // An address for documentation (RFC 5737): no machine has it.
    let refusal = Setup::new(folder.path()).listen("192.0.2.1:0").refused();
    check(&refusal, &["192.0.2.1", "127.0.0.1"]);
}

#[test]
fn a_folder_that_may_only_be_read_is_refused() {
    let user = Commoner::new();
    let folder = user.path().join("data");
    user.setup(&folder).start().stop();
    set_mode(&folder, 0o500);
    for file in fs::read_dir(&folder).unwrap() {
        set_mode(&file.unwrap().path(), 0o400);
    }
    check(
        &user.setup(&folder).refused(),
        &[shown(&folder), "read and write", "another data folder"],
    );
    set_mode(&folder, 0o700);
    for file in fs::read_dir(&folder).unwrap() {
        set_mode(&file.unwrap().path(), 0o600);
    }
    user.setup(&folder).start();
}

#[test]
fn a_folder_that_cannot_be_made_is_refused() {
    let user = Commoner::new();
    let parent = user.path().join("parent");
    fs::create_dir(&parent).unwrap();
    set_mode(&parent, 0o555);
    let folder = parent.join("data");
    check(&user.setup(&folder).refused(), &[shown(&folder), "another data folder"]);
}

#[test]
fn a_data_folder_that_is_a_file_is_refused_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    fs::write(&file, "mine").unwrap();
    check(&Setup::new(&file).refused(), &[shown(&file), "data folder"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn a_disk_without_room_for_a_database_is_refused() {
    let Some(disk) = SmallDisk::new(1) else { return };
    let ballast = disk.fill();
    let folder = disk.path().join("data");
    check(&Setup::new(&folder).refused(), &[shown(&folder), "make room"]);
    fs::remove_file(ballast).unwrap();
    Server::start(&folder).stop();
}

/// Whoever can read the key file is the operator.
#[test]
fn secrets_that_others_can_read_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    Server::start(folder.path()).stop();
    let file = folder.path().join("keys.json");
    set_mode(&file, 0o644);
    check(&Setup::new(folder.path()).refused(), &[shown(&file), "chmod 600"]);
    set_mode(&file, 0o600);
    Server::start(folder.path());
}

#[test]
fn secrets_that_are_damaged_are_refused_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    Server::start(folder.path()).stop();
    let file = folder.path().join("keys.json");
    for damage in ["", "{", "{}", "[1,2]", r#"{"secret":"short","admin_key":"short"}"#] {
        fs::write(&file, damage).unwrap();
        check(&Setup::new(folder.path()).refused(), &[shown(&file), "remove it"]);
        assert_eq!(fs::read_to_string(&file).unwrap(), damage, "nothing is overwritten");
    }
    fs::remove_file(&file).unwrap();
    drop(Server::start(folder.path()).admin().create_session("a", &json!({})));
}

/// A server that was killed leaves the file with its address behind.
#[test]
fn what_a_killed_server_left_behind_does_not_stop_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    drop(server.admin().create_session("a", &json!({})));
    server.kill();
    assert!(folder.path().join("server.json").exists());
    for unfinished in ["server.json.new", "keys.json.new", "shared-context.db.new"] {
        fs::write(folder.path().join(unfinished), "{").unwrap();
    }
    assert_eq!(Server::start(folder.path()).admin().get("/v1/sessions/a").status, 200);
}

/// Power may go at any moment of the very first start; what is half there then
/// must not pass for a data folder, nor stand in the way of one.
#[test]
fn a_first_start_that_was_killed_can_be_repeated() {
    for moment in ["", "lock", "shared-context.db", "keys.json", "server.json"] {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("data");
        Setup::new(&folder).kill_at(moment);
        let server = Server::start(&folder);
        let orchestrator = server.admin().create_session("a", &json!({}));
        orchestrator.write("a", "scope", moment).expect(200);
        server.kill();
        assert_eq!(Server::start(&folder).admin().read("a", "scope").expect(200)["value"], moment);
    }
}

#[test]
fn a_limit_that_makes_no_sense_is_refused_with_those_that_do() {
    let folder = tempfile::tempdir().unwrap();
    for (flag, value, told) in [
        ("--connections-max", "0", "write a number from 1 to 65536"),
        ("--connections-max", "70000", "write a number from 1 to 65536"),
        ("--head-time-max", "0s", "write a time from 1s to 1h"),
        ("--head-time-max", "2h", "write a time from 1s to 1h"),
        ("--head-time-max", "30", "write a time from 1s to 1h"),
    ] {
        let refusal = Setup::new(folder.path()).arguments(&[flag, value]).refused();
        assert_eq!(refusal.code, Some(USAGE), "{refusal:?}");
        assert!(refusal.said.contains(flag) && refusal.said.contains(told), "{}", refusal.said);
    }
}

/// The file was once replaced without a word: every credential and the admin key were void, and
/// nothing said why.
#[test]
fn keys_that_are_lost_are_missed_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = Server::start(folder.path()).stop();
    assert!(!log.contains("made anew"), "{log}");
    fs::remove_file(folder.path().join("keys.json")).unwrap();
    let log = Server::start(folder.path()).stop();
    assert!(log.contains("WARN") && log.contains("made anew"), "{log}");
    assert!(log.contains("keys.json"), "{log}");
}
