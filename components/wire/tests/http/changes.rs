//! Changes: a page of them, and a page that is waited for.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::bench::{Bench, Meanwhile};

pub(crate) const CHANGES: &str = "GET /v1/sessions/s/changes";

/// Returns the keys of the changes in a page, or in an event.
pub(crate) fn keys(page: &Value) -> Vec<&str> {
    let changes = page["changes"].as_array().unwrap();
    changes.iter().filter_map(|it| it["key"].as_str()).collect()
}

#[test]
fn a_page_of_changes_is_the_tools_answer() {
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
    bench.check(&format!("{CHANGES}?key=a"), "", 400, "takes only since, limit, keys, wait");
}

#[test]
fn who_waits_gets_the_first_change_that_passes_the_filter() {
    let bench = Bench::new();
    bench.meanwhile(Meanwhile::Passes(2_000));
    bench.meanwhile_write("other");
    bench.meanwhile(Meanwhile::Passes(3_000));
    bench.meanwhile_write("findings_1");
    let page = bench.check(&format!("{CHANGES}?since=1&keys=findings_*&wait=30"), "", 200, "");
    assert_eq!(keys(&page.json()), ["findings_1"]);
    assert_eq!(page.json()["next_since"], 3);
    assert_eq!(bench.engine.micros.load(Ordering::SeqCst), 5_000_000);
}

#[test]
fn who_waits_does_so_no_longer_than_asked_and_is_told_from_where_to_go_on() {
    let bench = Bench::new();
    bench.meanwhile_write("other");
    let page = bench.check(&format!("{CHANGES}?since=1&keys=findings_*&wait=20"), "", 200, "");
    let page = page.json();
    assert_eq!((keys(&page).len(), &page["next_since"]), (0, &json!(2)));
    assert_eq!(bench.engine.micros.load(Ordering::SeqCst), 20_000_000);
    let page = bench.check(&format!("{CHANGES}?since=2"), "", 200, "").json();
    assert_eq!(keys(&page).len(), 0);
    assert_eq!(bench.engine.micros.load(Ordering::SeqCst), 20_000_000, "nobody asked to wait");
    bench.meanwhile(Meanwhile::Stops);
    bench.check(&format!("{CHANGES}?since=2&wait=60"), "", 200, r#""next_since":2"#);
    bench.check(&format!("{CHANGES}?since=2&wait=61"), "", 400, "wait must be from 0 to 60");
    bench.check(&format!("{CHANGES}?since=2&wait=1.5"), "", 400, "MALFORMED_REQUEST");
}
