//! Changes: pages and long polling.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::bench::{Bench, WaitEvent};

pub(crate) const CHANGES: &str = "GET /v1/sessions/s/changes";

/// Returns the keys of the changes in a page or an event.
pub(crate) fn keys(page: &Value) -> Vec<&str> {
    let changes = page["changes"].as_array().unwrap();
    changes.iter().filter_map(|it| it["key"].as_str()).collect()
}

#[test]
fn a_page_of_changes_is_the_reply_of_the_tool() {
    let bench = Bench::new();
    bench.write("a");
    bench.write("b");
    let page = bench.check(&format!("{CHANGES}?since=1&limit=1"), "", 200, "").json();
    assert_eq!((keys(&page), &page["next_since"]), (vec!["a"], &json!(2)));
    assert_eq!(page["has_more"], true);
    let page = bench.check(&format!("{CHANGES}?since=2&keys=b*"), "", 200, "").json();
    assert_eq!((keys(&page), &page["has_more"]), (vec!["b"], &json!(false)));
    bench.check(&format!("{CHANGES}?since=4"), "", 410, "CHANGES_TRUNCATED");
    bench.check(&format!("{CHANGES}?since=x"), "", 400, "since must be a whole number");
    bench.check(
        &format!("{CHANGES}?key=a"),
        "",
        400,
        "takes only since, limit, keys, except_own, wait",
    );
}

#[test]
fn a_long_poll_returns_the_first_change_that_matches() {
    let bench = Bench::new();
    bench.during_wait(WaitEvent::TimePasses(2_000));
    bench.write_during_wait("other");
    bench.during_wait(WaitEvent::TimePasses(3_000));
    bench.write_during_wait("findings_1");
    let page = bench.check(&format!("{CHANGES}?since=1&keys=findings_*&wait=30"), "", 200, "");
    assert_eq!(keys(&page.json()), ["findings_1"]);
    assert_eq!(page.json()["next_since"], 3);
    assert_eq!(bench.engine.micros.load(Ordering::SeqCst), 5_000_000);
}

#[test]
fn a_long_poll_times_out_and_returns_its_next_cursor() {
    let bench = Bench::new();
    bench.write_during_wait("other");
    let page = bench.check(&format!("{CHANGES}?since=1&keys=findings_*&wait=20"), "", 200, "");
    let page = page.json();
    assert_eq!((keys(&page).len(), &page["next_since"]), (0, &json!(2)));
    assert_eq!(bench.engine.micros.load(Ordering::SeqCst), 20_000_000);
    let page = bench.check(&format!("{CHANGES}?since=2"), "", 200, "").json();
    assert_eq!(keys(&page).len(), 0);
    assert_eq!(bench.engine.micros.load(Ordering::SeqCst), 20_000_000, "no wait was requested");
    bench.during_wait(WaitEvent::ServerStops);
    bench.check(&format!("{CHANGES}?since=2&wait=60"), "", 200, r#""next_since":2"#);
    bench.check(&format!("{CHANGES}?since=2&wait=61"), "", 400, "wait must be from 0 to 60");
    bench.check(&format!("{CHANGES}?since=2&wait=1.5"), "", 400, "MALFORMED_REQUEST");
}
