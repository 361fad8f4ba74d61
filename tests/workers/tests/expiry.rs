//! The object's alarm removes expired entries at their time, even without requests. When no
//! entry with a TTL is left, no alarm is set.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::{
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use shared_context_system::{Client, tell};
use shared_context_workers::{Setup, UnderTest, Workerd, under_test::Storage};

const MINUTE: Duration = Duration::from_mins(1);

fn main() -> ExitCode {
    shared_context_workers::main(&[
        ("alarms_remove_expired_entries_and_then_end", removed),
        ("an_alarm_survives_a_kill", outlives),
        ("only_an_earlier_expiry_moves_the_alarm", moved),
        ("a_failed_alarm_is_retried", served_later),
    ])
}

fn start(folder: &tempfile::TempDir) -> Workerd {
    Setup::new(folder.path()).without_rate_limit().under_test().start()
}

fn write(client: &Client, key: &str, ttl_seconds: u64) {
    let request = json!({"action": "write", "key": key, "value": "x", "ttl_seconds": ttl_seconds});
    client.tool("a", &request).expect(200);
}

/// Returns the number of alarms since the last reset.
fn alarms(module: &UnderTest) -> u64 {
    module.tell("counts", &json!({}))["calls"]["Bucket.alarm"].as_u64().unwrap_or_default()
}

#[track_caller]
fn wait_until(what: &str, workerd: &Workerd, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} does not happen: {}", workerd.log());
        thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the expired keys in the order of the audit trail.
fn expired(client: &Client) -> Vec<String> {
    let audit = client.tool("a", &json!({"action": "audit"})).expect(200);
    let records = audit["records"].as_array().unwrap().iter();
    let expired = records.filter(|it| it["action"] == "expire");
    expired.map(|it| it["key"].as_str().unwrap().to_owned()).collect()
}

fn alarm_at(module: &UnderTest) -> Option<u64> {
    module.alarm("session/a")
}

fn removed() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let (admin, module) = (workerd.admin(), workerd.under_test());
    let orchestrator = admin.create_session("a", &json!({}));
    assert_eq!(alarm_at(&module), None);
    for (key, ttl_seconds) in [("second", 120), ("first", 60), ("third", 180)] {
        write(&orchestrator, key, ttl_seconds);
    }
    orchestrator.write("a", "stays", "x").expect(200);
    let before = module.look("session/a")["now"]["rows"].as_u64().unwrap();
    module.evict();
    for (passed, gone) in
        [(1, &["first"][..]), (2, &["first", "second"]), (3, &["first", "second", "third"])]
    {
        module.tell("reset", &json!({}));
        module.set_ahead(MINUTE * passed + Duration::from_secs(5));
        wait_until("the alarm", &workerd, || alarms(&module) == 1);
        wait_until("the expiry", &workerd, || expired(&admin) == gone);
    }
    wait_until("the end of the alarm", &workerd, || module.look("session/a")["alarm"].is_null());
    let listed = orchestrator.tool("a", &json!({"action": "list_keys"})).expect(200);
    assert_eq!(listed["keys"].as_array().unwrap().len(), 1, "{listed}");
    let after = module.look("session/a")["now"]["rows"].as_u64().unwrap();
    tell(&format!("3 of 4 entries expired by 3 alarms; {before} rows before, {after} after"));
    // Reading does not set an alarm.
    orchestrator.read("a", "stays").expect(200);
    assert_eq!(module.look("session/a")["alarm"], Value::Null);
}

/// By the real clock, an entry expires while workerd is down or right after its start,
/// without any request to the object.
fn outlives() {
    for (ttl_seconds, down) in [(1, Duration::from_millis(1_500)), (2, Duration::ZERO)] {
        let folder = tempfile::tempdir().unwrap();
        let workerd = start(&folder);
        let orchestrator = workerd.admin().create_session("a", &json!({}));
        write(&orchestrator, "scope", ttl_seconds);
        let setup = workerd.kill();
        thread::sleep(down);
        let workerd = setup.start();
        let module = workerd.under_test();
        wait_until("the alarm", &workerd, || alarms(&module) >= 1);
        wait_until("the expiry", &workerd, || expired(&workerd.admin()) == ["scope"]);
        wait_until("its end", &workerd, || module.look("session/a")["alarm"].is_null());
    }
}

fn moved() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let (admin, module) = (workerd.admin(), workerd.under_test());
    let orchestrator = admin.create_session("a", &json!({}));
    write(&orchestrator, "late", 600);
    let late = alarm_at(&module).unwrap();
    write(&orchestrator, "later", 900);
    assert_eq!(alarm_at(&module), Some(late), "a later expiry moved the alarm");
    write(&orchestrator, "soon", 60);
    let soon = alarm_at(&module).unwrap();
    assert!(soon < late, "{soon} {late}");
    // The first entry to expire is deleted before: the alarm finds nothing and is set again.
    orchestrator.tool("a", &json!({"action": "delete", "key": "soon"})).expect(200);
    module.tell("reset", &json!({}));
    module.set_ahead(MINUTE * 2);
    wait_until("the alarm", &workerd, || alarms(&module) == 1);
    wait_until("the next", &workerd, || alarm_at(&module) == Some(late));
    assert_eq!(expired(&admin), [""; 0]);
    module.set_ahead(MINUTE * 11);
    wait_until("the expiry", &workerd, || expired(&admin) == ["late"]);
    // A new object does not know the alarm that is set, and must not postpone it.
    module.evict();
    orchestrator.read("a", "later").expect(200);
    module.set_ahead(MINUTE * 16);
    wait_until("the expiry", &workerd, || expired(&admin) == ["late", "later"]);
}

fn served_later() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder);
    let (admin, module) = (workerd.admin(), workerd.under_test());
    let orchestrator = admin.create_session("a", &json!({}));
    write(&orchestrator, "scope", 60);
    for (passed, mode) in [(2, Storage::CommitsFail), (4, Storage::ReadsFail)] {
        module.storage(mode);
        module.tell("reset", &json!({}));
        module.set_ahead(MINUTE * passed);
        wait_until("the alarm", &workerd, || alarms(&module) >= 1);
    }
    module.storage(Storage::Works);
    assert_eq!(expired(&admin), [""; 0]);
    // An expired entry is invisible even before its removal.
    orchestrator.read("a", "scope").refused(404, "KEY_NOT_FOUND");
    module.set_ahead(MINUTE * 6);
    wait_until("the expiry", &workerd, || expired(&admin) == ["scope"]);
    wait_until("its end", &workerd, || module.look("session/a")["alarm"].is_null());
}
