//! A disk that fills up: writes are rejected with a reason, reads still work, the server keeps
//! running, and writes work again once there is room. No acknowledged write is lost.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use std::fs;

use serde_json::json;
use shared_context_system::{Client, Server, Setup, disk::SmallDisk};
use tempfile::tempdir;

/// Large enough that a few hundred fill a small disk.
const VALUE_CHARS: usize = 4000;
/// More than fit any disk of these tests.
const WRITES_MAX: usize = 5000;

fn value(nth: usize) -> String {
    format!("{nth:0>VALUE_CHARS$}")
}

fn large() -> serde_json::Value {
    json!({"store_tokens_max": 1_000_000, "keys_max": 10_000})
}

/// Writes one key after the other until the disk is full; returns how many were
/// acknowledged.
#[track_caller]
fn fill(orchestrator: &Client, session: &str) -> usize {
    for nth in 0..WRITES_MAX {
        let answer = orchestrator.write(session, &format!("key_{nth}"), &value(nth));
        if answer.status != 200 {
            check_refusal(&answer.refused(503, "STORAGE_UNAVAILABLE"));
            return nth;
        }
    }
    panic!("{WRITES_MAX} writes did not fill the disk");
}

/// A caller whose write failed has to know whether to look, to wait or to ask
/// for help.
#[track_caller]
fn check_refusal(message: &str) {
    let told = "nothing was changed, try again in a moment";
    assert!(message.contains(told), "it does not say what to do: {message}");
}

/// Checks that the first `count` writes are there; the one after them may be.
#[track_caller]
fn check_stored(client: &Client, session: &str, count: usize) {
    for nth in 0..count {
        let entry = client.read(session, &format!("key_{nth}")).expect(200);
        assert_eq!(entry["value"], value(nth));
        assert_eq!(entry["version"], 1);
    }
    let listing = client.tool(session, &json!({"action": "list_keys"})).expect(200);
    let listed = listing["key_count"].as_u64().unwrap();
    assert!(listed == count as u64 || listed == count as u64 + 1, "{count}: {listed}");
}

#[test]
fn a_database_at_its_limit_refuses_writes_and_serves_reads() {
    let folder = tempdir().unwrap();
    let server =
        Setup::new(folder.path()).without_rate_limit().arguments(&["--disk-max-mib", "1"]).start();
    let admin = server.admin();
    let orchestrator = admin.create_session("a", &large());
    let other = admin.create_session("b", &json!({}));
    other.write("b", "small", "x").expect(200);
    let count = fill(&orchestrator, "a");
    assert!(count > 50, "{count}");
    for nth in 0..20 {
        orchestrator.write("a", "more", &value(nth)).refused(503, "STORAGE_UNAVAILABLE");
        assert_eq!(other.read("b", "small").expect(200)["value"], "x");
    }
    check_stored(&orchestrator, "a", count);
    let health = server.stranger().get("/healthz");
    assert!(health.status == 503 && health.text.contains("full"), "{}", health.text);
    assert!(server.log().contains("full"), "the operator is not told: {}", server.log());
    // One way out: delete what is not needed.
    admin.send("DELETE", "/v1/sessions/a", None).expect(200);
    let orchestrator = admin.create_session("c", &large());
    assert_eq!(server.stranger().get("/healthz").status, 200);
    let count = fill(&orchestrator, "c");
    assert!(count > 50, "{count}");
    server.stop();
    // Another: a higher limit.
    let server =
        Setup::new(folder.path()).without_rate_limit().arguments(&["--disk-max-mib", "8"]).start();
    let orchestrator = server.admin().mint("c", "orchestrator");
    check_stored(&orchestrator, "c", count);
    orchestrator.write("c", "more", &value(0)).expect(200);
}

/// The log may give back what it took, so that single writes still find room;
/// none that does not is acknowledged.
#[test]
fn a_full_file_system_refuses_writes_and_serves_reads() {
    let Some(disk) = SmallDisk::new(8) else { return };
    let folder = disk.path().join("data");
    let server = Setup::new(&folder).without_rate_limit().start();
    let orchestrator = server.admin().create_session("a", &large());
    orchestrator.write("a", "before", "x").expect(200);
    let ballast = disk.fill();
    let mut acknowledged = Vec::new();
    for nth in 0..100 {
        let answer = orchestrator.write("a", &format!("key_{nth}"), &value(nth));
        if answer.status == 200 {
            acknowledged.push(nth);
        } else {
            check_refusal(&answer.refused(503, "STORAGE_UNAVAILABLE"));
        }
        assert_eq!(orchestrator.read("a", "before").expect(200)["value"], "x");
    }
    assert!(acknowledged.len() < 50, "{acknowledged:?}");
    server.assert_alive();
    assert!(server.log().contains("full"), "the operator is not told: {}", server.log());
    fs::remove_file(&ballast).unwrap();
    orchestrator.write("a", "after", "y").expect(200);
    let check = |client: &Client| {
        for nth in &acknowledged {
            let entry = client.read("a", &format!("key_{nth}")).expect(200);
            assert_eq!(entry["value"], value(*nth));
        }
        assert_eq!(client.read("a", "before").expect(200)["value"], "x");
        assert_eq!(client.read("a", "after").expect(200)["value"], "y");
    };
    check(&orchestrator);
    server.stop();
    check(&Server::start(&folder).admin());
}

/// Killed on a full disk, and started there again: it failed, for want of a file
/// that is only a hint. It serves what it has; with room it has all.
#[test]
fn a_server_killed_on_a_full_disk_has_all_when_there_is_room() {
    let Some(disk) = SmallDisk::new(8) else { return };
    let folder = disk.path().join("data");
    let ballast = disk.path().join("ballast");
    fs::write(&ballast, vec![0; 5 << 20]).unwrap();
    let server = Setup::new(&folder).without_rate_limit().start();
    let orchestrator = server.admin().create_session("a", &large());
    let count = fill(&orchestrator, "a");
    assert!(count > 50, "{count}");
    server.kill();
    let start = || Setup::new(&folder).without_rate_limit().start();
    let server = start();
    check_stored(&server.admin(), "a", count);
    server.kill();
    fs::remove_file(&ballast).unwrap();
    check_stored(&start().admin(), "a", count);
}

/// On a full disk a deletion takes some pages as well, so that the way out was closed with
/// it. Some room is set aside, and given to what makes room.
#[test]
fn a_full_file_system_still_allows_deletions() {
    let Some(disk) = SmallDisk::new(16) else { return };
    let folder = disk.path().join("data");
    let server = Setup::new(&folder).without_rate_limit().start();
    let admin = server.admin();
    let orchestrator = admin.create_session("a", &large());
    let _ = admin.create_session("b", &large());
    for nth in 0..200 {
        orchestrator.write("a", &format!("key_{nth}"), &value(nth)).expect(200);
    }
    for label in ["one", "two"] {
        orchestrator.tool("a", &json!({"action": "snapshot", "label": label})).expect(200);
    }
    let ballast = disk.fill();
    // Also what the log had room for.
    for nth in 0..100 {
        orchestrator.write("a", &format!("more_{nth}"), &value(nth));
    }
    disk.fill();
    let delete = |nth: usize| {
        let key = format!("key_{nth}");
        orchestrator.tool("a", &json!({"action": "delete", "key": key})).expect(200);
    };
    (0..100).for_each(delete);
    disk.fill();
    let refused = orchestrator.write("a", "grows", &value(0));
    check_refusal(&refused.refused(503, "STORAGE_UNAVAILABLE"));
    let health = server.stranger().get("/healthz");
    assert!(health.status == 503 && health.text.contains("full"), "{}", health.text);
    server.stop();
    disk.fill();
    // Started on the full disk, it goes on so.
    let server = Setup::new(&folder).without_rate_limit().start();
    let (admin, orchestrator) = (server.admin(), server.admin().mint("a", "orchestrator"));
    assert_eq!(orchestrator.read("a", "key_150").expect(200)["value"], value(150));
    for nth in 100..110 {
        let request = json!({"action": "delete", "key": format!("key_{nth}")});
        orchestrator.tool("a", &request).expect(200);
    }
    let request = json!({"action": "delete_snapshot", "label": "one"});
    orchestrator.tool("a", &request).expect(200);
    admin.send("DELETE", "/v1/sessions/b", None).expect(200);
    fs::remove_file(&ballast).unwrap();
    orchestrator.write("a", "after", "y").expect(200);
    assert_eq!(server.stranger().get("/healthz").status, 200);
    server.stop();
    let server = Server::start(&folder);
    let client = server.admin();
    for nth in 0..200 {
        let status = client.read("a", &format!("key_{nth}")).status;
        assert_eq!(status, if nth < 110 { 404 } else { 200 }, "key_{nth}");
    }
    assert_eq!(client.read("a", "after").expect(200)["value"], "y");
}

/// The log of a busy server grows before it is copied into the database. It must
/// not grow with the number of writes: here all writes together are several
/// times the disk.
#[test]
fn overwriting_on_a_small_disk_goes_on_for_ever() {
    let Some(disk) = SmallDisk::new(16) else { return };
    let server = Setup::new(disk.path().join("data")).without_rate_limit().start();
    let orchestrator = server.admin().create_session("a", &json!({}));
    for nth in 0..2000 {
        orchestrator.write("a", "key", &value(nth)).expect(200);
    }
    assert_eq!(orchestrator.read("a", "key").expect(200)["version"], 2000);
}
