//! Counts the cost of each operation on the platform, which bills requests to objects,
//! rows read and rows written. Prints a table and asserts the limits that the host promises.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::{cell::RefCell, fmt::Write as _, process::ExitCode, time::Duration};

use serde_json::{Value, json};
use shared_context_system::{Client, tell};
use shared_context_workers::{Setup, UnderTest, under_test::Counts};

fn main() -> ExitCode {
    shared_context_workers::main(&[("operations_stay_within_their_promised_costs", costs)])
}

/// Counts operations of one session.
struct Meter {
    module: UnderTest,
    table: RefCell<Vec<(String, Counts)>>,
}

impl Meter {
    /// Counts the cost of `work` on an object in memory.
    fn warm<T>(&self, name: &str, work: impl FnOnce() -> T) -> Counts {
        let (_, counts) = self.module.count(work);
        self.table.borrow_mut().push((name.to_owned(), counts.clone()));
        counts
    }

    /// Counts the cost of `work` after all objects were evicted from memory.
    fn cold<T>(&self, name: &str, work: impl FnOnce() -> T) -> Counts {
        self.module.evict();
        self.warm(&format!("{name}, object not in memory"), work)
    }

    fn table(&self) -> String {
        let mut text =
            "| operation | requests to objects | statements | rows read | rows written |\n\
             |---|---:|---:|---:|---:|\n"
                .to_owned();
        for (name, it) in self.table.borrow().iter() {
            let Counts { requests, statements, rows_read, rows_written, .. } = it;
            writeln!(text, "| {name} | {requests} | {statements} | {rows_read} | {rows_written} |")
                .unwrap();
        }
        text
    }
}

fn write(client: &Client, key: &str, value: &str) {
    client.write("a", key, value).expect(200);
}

fn tool(client: &Client, request: &Value) {
    client.tool("a", request).expect(200);
}

fn costs() {
    let folder = tempfile::tempdir().unwrap();
    let workerd = Setup::new(folder.path()).without_rate_limit().under_test().start();
    let (admin, module) = (workerd.admin(), workerd.under_test());
    let meter = Meter { module: module.clone(), table: RefCell::default() };
    let config = json!({"namespace": {"keys": []}, "keys_max": 100});
    let mut created = None;
    meter.warm("create a session", || created = Some(admin.create_session("a", &config)));
    let orchestrator = created.unwrap();
    let agent = &orchestrator.mint("a", "subagent:a");

    let healthz = meter.warm("/healthz", || admin.get("/healthz"));
    assert_eq!(healthz.requests, 0, "{healthz:?}");
    let stranger = workerd.stranger();
    let rejected = meter.warm("a request without credential", || stranger.get("/v1/sessions/a"));
    assert_eq!((rejected.requests, rejected.rows_read), (0, 0), "{rejected:?}");

    for key in ["scope", "findings", "notes"] {
        write(agent, key, "one");
    }
    meter.warm("write a new key", || write(agent, "new", "one"));
    let first = meter.warm("overwrite, first time", || write(agent, "scope", "two"));
    let overwrite = meter.warm("overwrite", || write(agent, "scope", "three"));
    let named = json!({"action": "write", "key": "scope", "value": "x", "request_id": "r-1"});
    meter.warm("overwrite with a request_id", || tool(agent, &named));
    meter.cold("overwrite", || write(agent, "scope", "four"));
    let cold = meter.cold("read", || agent.read("a", "scope").expect(200));
    let warm = meter.warm("read", || agent.read("a", "scope").expect(200));
    meter.cold("list_keys of 4", || tool(agent, &json!({"action": "list_keys"})));
    meter.warm("list_keys of 4", || tool(agent, &json!({"action": "list_keys"})));
    meter.warm("delete", || tool(agent, &json!({"action": "delete", "key": "new"})));
    let writes: Vec<_> =
        (0..10).map(|nth| json!({"key": format!("batch_{nth}"), "value": "x"})).collect();
    let batch = json!({"action": "write_batch", "writes": writes});
    meter.warm("write_batch of 10 new keys", || tool(agent, &batch));
    meter.warm("write_batch over 10 keys", || tool(agent, &batch));
    let snapshot = json!({"action": "snapshot", "label": "s1"});
    meter.warm("snapshot of 13 entries", || tool(&orchestrator, &snapshot));
    let changes = json!({"action": "changes", "since": 1});
    meter.cold("changes, 17 commits", || tool(agent, &changes));
    meter.warm("prompt", || tool(agent, &json!({"action": "prompt"})));
    let expiring = json!({"action": "write", "key": "soon", "value": "x", "ttl_seconds": 60});
    meter.warm("write with a ttl", || tool(agent, &expiring));
    meter.warm("list one session", || admin.get("/v1/sessions").expect(200));
    meter.warm("its expiry", || {
        module.set_ahead(Duration::from_mins(2));
        while module.tell("counts", &json!({}))["calls"]["Bucket.alarm"].is_null() {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(100));
    });
    meter.warm("delete the session", || {
        admin.send("DELETE", "/v1/sessions/a", None).expect(200);
        std::thread::sleep(Duration::from_millis(100));
    });
    tell(&format!("\n{}", meter.table()));
    for counts in [&first, &overwrite] {
        assert!(counts.rows_written <= 5, "an overwrite writes at most 5 rows: {counts:?}");
        assert_eq!(counts.requests, 1, "{counts:?}");
    }
    assert!(cold.rows_read <= 3, "a cold read reads at most 3 rows: {cold:?}");
    assert_eq!(cold.rows_written, 0, "{cold:?}");
    assert!(warm.rows_read <= cold.rows_read && warm.rows_written == 0, "{warm:?}");
}
