//! Lists of keys with entity tags, and lists of sessions with filters.

use std::{
    future::Future,
    pin::pin,
    sync::atomic::{AtomicUsize, Ordering},
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use http::Request;
use serde_json::Value;
use shared_context_codec::{Caller, Failure, Reply};
use shared_context_core::{ScopeKind, time::Timestamp};
use shared_context_wire::{Engine, Woken, http::Body};

use crate::bench::{ADMIN_KEY, Bench, LocalEngine, START_MS, TestResponse};

const LIST: &str = "GET /v1/sessions/s/entries";

#[track_caller]
fn list(bench: &Bench, tag: &str, status: u16) -> TestResponse {
    bench.check_as(&bench.agent, LIST, &[("if-none-match", tag)], "", status, "")
}

#[test]
fn a_list_keeps_its_tag_until_an_entry_changes() {
    let bench = Bench::new();
    bench.check("PUT /v1/sessions/s/entries/scope", "x", 201, "");
    let first = bench.check(LIST, "", 200, "").header("etag").to_owned();
    assert_eq!(first, "\"2\"");
    assert_eq!(list(&bench, &first, 304).header("etag"), "\"2\"");
    let take = "POST /v1/sessions/s/snapshots";
    bench.check_as(&bench.orchestrator, take, &[], r#"{"label":"a"}"#, 201, "");
    let unchanged = list(&bench, &first, 304);
    assert_eq!(unchanged.header("etag"), "\"3\"", "a later tag for the same list");
    assert_eq!(unchanged.body, "");
    assert_eq!(unchanged.header("content-type"), "");
    list(&bench, "\"3\"", 304);
    list(&bench, "\"1\", W/\"2\"", 304);
    list(&bench, "\"1\"", 200);
    list(&bench, "\"99\"", 200);
    list(&bench, "\"scope\"", 200);
    bench.check("PUT /v1/sessions/s/entries/plan", "x", 201, "");
    assert_eq!(list(&bench, "\"3\"", 200).header("etag"), "\"4\"");
    bench.check("DELETE /v1/sessions/s/entries/plan", "", 200, "");
    list(&bench, "\"4\"", 200);
    list(&bench, "\"5\"", 304);
}

#[test]
fn an_expired_entry_changes_the_tag_of_the_list() {
    let bench = Bench::new();
    let tool = "POST /v1/sessions/s/shared_context";
    let write = r#"{"action":"write","key":"short","value":"x","ttl_seconds":60}"#;
    bench.check(tool, write, 200, "");
    let before = bench.check(LIST, "", 200, "short").header("etag").to_owned();
    list(&bench, &before, 304);
    bench.engine.now_ms.store(START_MS + 59_999, Ordering::SeqCst);
    list(&bench, &before, 304);
    bench.engine.now_ms.store(START_MS + 60_000, Ordering::SeqCst);
    let expired = list(&bench, &before, 200);
    assert!(!expired.body.contains("short"));
    assert_eq!(expired.header("etag"), "", "this revision's tag is that of the longer list");
    // The next change removes the expired entry, and the list has a tag again.
    let take = "POST /v1/sessions/s/snapshots";
    bench.check_as(&bench.orchestrator, take, &[], r#"{"label":"a"}"#, 201, "");
    let after = list(&bench, &before, 200);
    assert_eq!(after.header("etag"), "\"3\"");
    list(&bench, "\"3\"", 304);
}

#[test]
fn keys_are_listed_by_prefix() {
    let bench = Bench::new();
    let body = r#"{"session_id":"p","config":{"allows_prefixes":true}}"#;
    let created = bench.check_as(ADMIN_KEY, "POST /v1/sessions", &[], body, 201, "").json();
    let token = created["credential"].as_str().unwrap();
    for key in ["inv:scope", "inv:plan", "rev:scope", "scope"] {
        let target = format!("PUT /v1/sessions/p/entries/{key}");
        bench.check_as(token, &target, &[], "x", 201, "");
    }
    let list = |query: &str, headers: &[(&str, &str)], status: u16, expected: &str| {
        let target = format!("GET /v1/sessions/p/entries{query}");
        bench.check_as(token, &target, headers, "", status, expected)
    };
    for query in ["?prefix=inv", "?prefix=inv:", "?prefix=inv%3A"] {
        let seen = list(query, &[], 200, "inv:plan");
        assert_eq!(seen.json()["key_count"], 2, "{query}");
        let etag = seen.header("etag").to_owned();
        list(query, &[("if-none-match", &etag)], 304, "");
    }
    assert_eq!(list("?prefix=none", &[], 200, "").json()["key_count"], 0);
    for wrong in ["?prefix=", "?prefix=Inv", "?prefix=inv:scope", "?prefix=a%20b"] {
        list(wrong, &[], 400, "INVALID_KEY");
    }
    list("?prefix=inv&prefix=rev", &[], 400, "prefix is given twice");
}

/// Creates the sessions `capa-1` to `capa-3`, `capb` and `s`. `capa-2` and `capb` are archived
/// an hour after the start.
fn with_sessions() -> Bench {
    let bench = Bench::new();
    for session in ["capa-1", "capa-2", "capa-3", "capb"] {
        bench.create(session);
    }
    bench.engine.now_ms.store(START_MS + 3_600_000, Ordering::SeqCst);
    for session in ["capa-2", "capb"] {
        let target = format!("POST /v1/sessions/{session}/archive");
        bench.check_as(ADMIN_KEY, &target, &[], "", 200, "");
    }
    bench
}

fn page(bench: &Bench, query: &str) -> (Vec<String>, Option<String>) {
    let target = format!("GET /v1/sessions{query}");
    let page = bench.check_as(ADMIN_KEY, &target, &[], "", 200, "").json();
    let id = |it: &Value| it["session_id"].as_str().unwrap().to_owned();
    let ids = page["sessions"].as_array().unwrap().iter().map(id).collect();
    (ids, page["next_after"].as_str().map(str::to_owned))
}

#[test]
fn sessions_are_listed_by_status_prefix_and_time() {
    let bench = with_sessions();
    let check = |query: &str, ids: &[&str]| {
        assert_eq!(page(&bench, query).0, ids, "{query}");
    };
    check("?status=active", &["capa-1", "capa-3", "s"]);
    check("?status=archived", &["capa-2", "capb"]);
    check("?prefix=capa-", &["capa-1", "capa-2", "capa-3"]);
    check("?prefix=capa", &["capa-1", "capa-2", "capa-3"]);
    check("?prefix=capa-1", &["capa-1"]);
    check("?prefix=cap&after=capa-2", &["capa-3", "capb"]);
    check("?prefix=capa-&after=a", &["capa-1", "capa-2", "capa-3"]);
    check("?prefix=capa-&status=archived", &["capa-2"]);
    check("?prefix=Capa", &[]);
    check("?prefix=%C3%A4", &[]);
    check("?prefix=&status=active&limit=1", &["capa-1"]);
    check("?changed_after=2026-02-20T14:30:00Z", &["capa-2", "capb"]);
    check("?changed_before=2026-02-20T15:30:00Z", &["capa-1", "capa-3", "s"]);
    check("?changed_before=2026-02-20T15:30:00.001Z&status=archived", &["capa-2", "capb"]);
    check("?changed_after=2026-02-20T16%3A29%3A59%2B01%3A00", &["capa-2", "capb"]);
    check("?changed_after=2026-02-20T15:30:00Z", &[]);
    let check_rejected = |query: &str, expected: &str| {
        let target = format!("GET /v1/sessions?{query}");
        bench.check_as(ADMIN_KEY, &target, &[], "", 400, expected);
    };
    for status in ["", "Active", "deleted"] {
        check_rejected(&format!("status={status}"), "status must be active or archived");
    }
    for time in ["", "yesterday", "2026-02-20", "1771597800000", "2026-02-20T14:30:00"] {
        check_rejected(&format!("changed_after={time}"), "changed_after: ");
        check_rejected(&format!("changed_before={time}"), "write it as RFC 3339");
    }
    check_rejected("state=active", "this route takes only after, limit, prefix, status");
}

#[test]
fn a_filtered_page_returns_its_next_cursor() {
    let bench = with_sessions();
    let walk = |query: &str, limit: usize| {
        let (mut all, mut after) = (Vec::new(), String::new());
        loop {
            let query = format!("?{query}&limit={limit}{after}");
            let (ids, next) = page(&bench, &query);
            assert!(ids.len() <= limit, "{query}");
            all.extend(ids);
            let Some(next) = next else { return all };
            after = format!("&after={next}");
        }
    };
    for limit in 1..=6 {
        assert_eq!(walk("status=archived", limit), ["capa-2", "capb"], "{limit}");
        assert_eq!(walk("prefix=capa-", limit), ["capa-1", "capa-2", "capa-3"], "{limit}");
        assert_eq!(walk("status=active&prefix=cap", limit), ["capa-1", "capa-3"], "{limit}");
        assert_eq!(walk("changed_before=2000-01-01T00:00:00Z", limit).len(), 0, "{limit}");
    }
    assert_eq!(page(&bench, "?prefix=capa-&limit=3").1, None, "there are no more of them");
    assert_eq!(page(&bench, "?prefix=capa-&limit=2").1.as_deref(), Some("capa-2"));
}

#[test]
fn a_page_reads_at_most_1000_sessions() {
    let bench = Bench::new();
    for nth in 0..1_100 {
        bench.create(&format!("a{nth:04}"));
    }
    bench.engine.requests.lock().unwrap().clear();
    let (ids, next) = page(&bench, "?status=archived");
    assert_eq!((ids.len(), next.as_deref()), (0, Some("a0999")));
    assert_eq!(bench.engine.requests.lock().unwrap().len(), 1_000);
    let (ids, next) = page(&bench, "?status=archived&after=a0999");
    assert_eq!((ids.len(), next), (0, None));
    bench.engine.requests.lock().unwrap().clear();
    let (ids, next) = page(&bench, "?prefix=a01&limit=7");
    assert_eq!((ids.len(), next.as_deref()), (7, Some("a0106")));
    assert_eq!(bench.engine.requests.lock().unwrap().len(), 7, "none but those listed");
    let gone = Failure::new("SESSION_NOT_FOUND", "gone");
    *bench.engine.next_failure.lock().unwrap() = Some(gone);
    assert_eq!(page(&bench, "?status=active&limit=2").0, ["a0001", "a0002"]);
}

/// An engine with slow replies: each is pending for some polls, and the first requests take
/// longest.
struct SlowEngine<'e> {
    engine: &'e LocalEngine,
    under_way: AtomicUsize,
    most: AtomicUsize,
}

impl Engine for SlowEngine<'_> {
    async fn invoke(&self, scope: &str, caller: &Caller, request: &[u8]) -> Result<Reply, Failure> {
        let under_way = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(under_way, Ordering::SeqCst);
        let mut left = 40_usize.saturating_sub(under_way);
        std::future::poll_fn(|context| {
            context.waker().wake_by_ref();
            left = left.saturating_sub(1);
            if left == 0 { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        self.engine.invoke(scope, caller, request).await
    }

    async fn ids(
        &self,
        kind: ScopeKind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, Failure> {
        self.engine.ids(kind, after, limit).await
    }

    async fn position(&self, scope: &str) -> u64 {
        self.engine.position(scope).await
    }

    async fn wait_for_change(&self, scope: &str, seen: u64, at_most: Duration) -> Woken {
        self.engine.wait_for_change(scope, seen, at_most).await
    }

    fn now(&self) -> Timestamp {
        Engine::now(self.engine)
    }

    fn monotonic_micros(&self) -> u64 {
        self.engine.monotonic_micros()
    }
}

#[test]
fn slow_sessions_are_read_concurrently_and_listed_in_order() {
    let bench = with_sessions();
    for nth in 0..60 {
        bench.create(&format!("a{nth:02}"));
    }
    let count_requests = || std::mem::take(&mut *bench.engine.requests.lock().unwrap()).len();
    let check = |query: &str, most: usize| {
        count_requests();
        let near = bench.check_as(ADMIN_KEY, &format!("GET /v1/sessions{query}"), &[], "", 200, "");
        let looked_at = count_requests();
        let engine =
            SlowEngine { engine: &bench.engine, under_way: 0.into(), most: AtomicUsize::new(0) };
        let request = Request::get(format!("/v1/sessions{query}"))
            .header("host", "localhost")
            .header("authorization", format!("Bearer {ADMIN_KEY}"))
            .body(Bytes::new())
            .unwrap();
        let mut answer = pin!(bench.http.handle(&engine, request));
        let response = loop {
            let polled = answer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(response) = polled {
                break response;
            }
        };
        let Body::Whole(far) = response.into_body() else { panic!("a stream") };
        assert_eq!(String::from_utf8(far.to_vec()).unwrap(), near.body, "{query}");
        assert_eq!(engine.most.load(Ordering::SeqCst), most, "{query}");
        assert_eq!(count_requests(), looked_at, "{query}");
        looked_at
    };
    assert_eq!(check("", 16), 65);
    assert_eq!(check("?limit=7", 7), 7);
    assert_eq!(check("?limit=1", 1), 1);
    assert_eq!(check("?status=archived", 16), 65);
    // No more sessions are read than by one request after another.
    assert_eq!(check("?status=archived&limit=1", 1), 62);
    assert_eq!(check("?status=active&limit=20", 16), 20);
    assert_eq!(check("?prefix=capa-", 3), 3);
    assert_eq!(check("?prefix=none", 0), 0);
}
