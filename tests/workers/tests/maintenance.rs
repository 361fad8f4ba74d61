//! The alarm of a project's object maintains its memories once a day, if a variable of the Worker
//! is set. Without it, and after the project was archived or deleted, no alarm is set.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::{
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use shared_context_system::{Answer, Client};
use shared_context_workers::{Setup, UnderTest, Workerd};

const DAY: Duration = Duration::from_hours(24);
/// More than a run of maintenance does.
const MANY: usize = 501;

fn main() -> ExitCode {
    shared_context_workers::main(&[
        ("a_project_is_maintained_each_day", each_day),
        ("no_alarm_is_set_unless_it_is_enabled", off),
        ("an_archived_or_deleted_project_has_no_alarm", over),
    ])
}

fn start(folder: &tempfile::TempDir, is_daily: &str) -> Workerd {
    let setup = Setup::new(folder.path()).without_rate_limit().under_test();
    setup.text("SHARED_CONTEXT_MAINTAIN_DAILY", is_daily).start()
}

fn call(admin: &Client, request: &Value) -> Answer {
    admin.post("/v1/projects/shop/shared_context", request)
}

/// Creates the project and adds `count` memories to be removed.
fn create(admin: &Client, count: usize) {
    admin.send("PUT", "/v1/projects/shop", None).expect(201);
    add(admin, "first", count);
}

fn add(admin: &Client, name: &str, count: usize) {
    let memory = |nth: usize| {
        json!({
            "memory_type": "learning", "title": format!("{name} {nth}"),
            "content": {"lesson": format!("{name}{nth}")},
        })
    };
    let all: Vec<Value> = (0..count).map(memory).collect();
    for some in all.chunks(100) {
        let request = json!({"action": "add_memories", "memories": some});
        let added = call(admin, &request).expect(200);
        let ids = added["memories"].as_array().unwrap().iter();
        let ids: Vec<&Value> = ids.map(|it| &it["memory_id"]).collect();
        let request = json!({"action": "mark_memories", "ids": ids, "mark": "deleted"});
        call(admin, &request).expect(200);
    }
}

fn memories(admin: &Client) -> u64 {
    let shown = call(admin, &json!({"action": "show_project"})).expect(200);
    shown["memory_count"].as_u64().unwrap()
}

fn alarm(module: &UnderTest) -> Option<u64> {
    module.alarm("project/shop")
}

#[track_caller]
fn wait_until(what: &str, workerd: &Workerd, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} does not happen: {}", workerd.log());
        thread::sleep(Duration::from_millis(20));
    }
}

fn each_day() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder, "yes");
    let (admin, module) = (workerd.admin(), workerd.under_test());
    create(&admin, MANY);
    let first = alarm(&module).unwrap();
    // A new instance of the object does not postpone it.
    module.evict();
    add(&admin, "second", 1);
    assert_eq!(alarm(&module), Some(first));
    module.set_ahead(DAY);
    wait_until("the maintenance", &workerd, || memories(&admin) == 0);
    let day = u64::try_from(DAY.as_millis()).unwrap();
    wait_until("the next alarm", &workerd, || alarm(&module).is_some_and(|it| it >= first + day));
    add(&admin, "third", 1);
    module.set_ahead(DAY * 3);
    wait_until("the maintenance", &workerd, || memories(&admin) == 0);
}

fn off() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder, "no");
    create(&workerd.admin(), 1);
    assert_eq!(alarm(&workerd.under_test()), None);
}

fn over() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = start(&folder, "yes");
    let (admin, module) = (workerd.admin(), workerd.under_test());
    create(&admin, 1);
    call(&admin, &json!({"action": "archive_project"})).expect(200);
    module.set_ahead(DAY);
    wait_until("the end of the alarm", &workerd, || alarm(&module).is_none());
    assert_eq!(memories(&admin), 1);
    call(&admin, &json!({"action": "delete_project"})).expect(200);
    wait_until("the end of the alarm", &workerd, || alarm(&module).is_none());
}
