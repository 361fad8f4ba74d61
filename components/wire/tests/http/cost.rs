//! What an interface costs whose whole life is one request.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use http::Request;
use shared_context_wire::{
    credential::Keys,
    http::{Http, Options},
};

use crate::bench::{ADMIN_KEY, LocalEngine, SECRET, ready};

/// How long `deed` takes, at its quickest: others may be at work on this machine.
fn time(deed: impl Fn()) -> Duration {
    const TIMES: u32 = 20;
    let rounds = (0..200).map(|_| {
        let started = Instant::now();
        (0..TIMES).for_each(|_| deed());
        started.elapsed() / TIMES
    });
    rounds.min().unwrap()
}

fn interface(is_kept: bool) -> Http {
    let keys = Keys::new(SECRET, ADMIN_KEY).unwrap();
    Http::new(Options { is_kept, ..Options::new(keys) })
}

/// With the keys, and until it is dropped. Optimized it is a quarter of a microsecond.
#[test]
fn an_interface_for_one_request_costs_next_to_nothing() {
    let forgotten = time(|| drop(black_box(interface(false))));
    let kept = time(|| drop(black_box(interface(true))));
    let engine = LocalEngine::default();
    let answered = time(|| {
        let request = Request::get("/healthz").body(bytes::Bytes::new()).unwrap();
        let response = ready(interface(false).handle(&engine, request));
        assert_eq!(response.status(), 200);
    });
    let microseconds = if cfg!(debug_assertions) { 50 } else { 5 };
    let told = format!("{forgotten:?}, kept {kept:?}, with an answer {answered:?}");
    assert!(forgotten < Duration::from_micros(microseconds), "{told}");
    assert!(forgotten < kept, "what is kept is made at once: {told}");
    assert!(answered < Duration::from_micros(4 * microseconds), "{told}");
}
