//! Malicious components in a server: they loop, allocate, trap, return garbage, and reach
//! for other sessions. Each fails only its own request, within its limits.
//!
//! The limits are those of `ComponentOptions`; the component is `guest.wat`.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod guest;
mod test_server;

use std::time::Duration;

use shared_context_wasmtime::{Cache, Component, ComponentOptions};

use self::{guest::TEXT, test_server::TestServer};

/// The actions of the guest, and what the error says about their effect.
const HARM: [(&str, &str); 19] = [
    ("borrow", "nothing was changed"),
    ("commit", "nothing was changed"),
    ("done", "whether its change was made is not known"),
    ("enormous", "nothing was changed"),
    ("forge", "nothing was changed"),
    ("garbage", "nothing was changed"),
    ("host", "nothing was changed"),
    ("invalid", "nothing was changed"),
    ("keep", "nothing was changed"),
    ("loop", "nothing was changed"),
    ("memory", "nothing was changed"),
    ("nest", "nothing was changed"),
    ("open", "nothing was changed"),
    ("records", "nothing was changed"),
    ("scan", "nothing was changed"),
    ("table", "nothing was changed"),
    ("unsayable", "nothing was changed"),
    ("x", "nothing was changed"),
    ("y", "nothing was changed"),
];

#[test]
fn a_malicious_component_fails_only_its_own_request() {
    let server = TestServer::new(TEXT, |it| it.time_max = Duration::from_millis(500));
    let written = server.ask("write");
    assert_eq!(written.status, 200, "{}", written.body);
    for (what, effect) in HARM {
        let answer = server.ask(what);
        assert_eq!((answer.status, answer.code().as_str()), (500, "INTERNAL"), "{what}");
        assert!(answer.body.contains(effect), "{what}: {}", answer.body);
        assert!(!answer.body.contains("FORGED"), "{what}: {}", answer.body);
        assert_eq!(server.ask("answer").body, "{}", "after {what}");
    }
}

/// The component's error text is passed on as text, never as log lines or headers.
#[test]
fn an_error_of_several_lines_is_one_error() {
    let server = TestServer::new(TEXT, |_| {});
    let answer = server.ask("verbose");
    assert_eq!(answer.status, 500, "{}", answer.head);
    assert!(answer.code().starts_with("FORGED\n"), "{}", answer.body);
    assert!(!answer.head.contains("FORGED"), "{}", answer.head);
    assert_eq!(server.ask("answer").status, 200);
}

/// The planted leak: this component answers with the scope of the request before.
#[test]
fn a_component_that_remembers_tells_no_other_session() {
    let server = TestServer::new(TEXT, |it| it.warm_instances_max = 4);
    let ask = |server: &TestServer, nth| server.begin(nth, "previous").join().unwrap().body;
    assert_eq!(ask(&server, 1), "{}");
    assert_eq!(ask(&server, 1), "session/s1", "its instance waited for it");
    for nth in 2..10 {
        assert_eq!(ask(&server, nth), "{}", "another session");
    }
    assert_eq!(ask(&server, 1), "{}", "four others wait by now");
    assert_eq!(server.ask("loop").status, 500);
    drop(server);
    let server = TestServer::new(TEXT, |it| it.warm_instances_max = 0);
    assert_eq!([ask(&server, 1), ask(&server, 1)], ["{}", "{}"], "a fresh one each time");
}

/// Looping guests once blocked the threads of the server: with as many guests as threads,
/// no other request was served, not even the health check.
#[test]
fn looping_guests_do_not_block_other_requests() {
    let server = TestServer::new(TEXT, |it| {
        (it.time_max, it.instances_max) = (Duration::from_mins(1), 8);
    });
    let guests: Vec<_> = (0..6).map(|nth| server.begin(nth, "zzz")).collect();
    for _ in 0..10 {
        assert_eq!(server.ask("answer").body, "{}");
        assert_eq!(server.get("/healthz").status, 200);
        assert_eq!(server.get("/v1/sessions/s").status, 401);
    }
    server.end(guests);
}

/// A request that found no free instance once waited for it on a thread of the server.
#[test]
fn a_wait_for_an_instance_blocks_no_thread() {
    let server = TestServer::new(TEXT, |it| {
        (it.time_max, it.instances_max) = (Duration::from_mins(1), 2);
    });
    let guests: Vec<_> = (0..12).map(|nth| server.begin(nth, "zzz")).collect();
    for _ in 0..10 {
        assert_eq!(server.get("/healthz").status, 200);
        assert_eq!(server.get("/v1/sessions/s").status, 401);
    }
    server.end(guests);
}

#[test]
fn every_stopped_guest_frees_its_slot() {
    let server = TestServer::new(TEXT, |it| {
        (it.time_max, it.instances_max) = (Duration::from_millis(20), 1);
    });
    for _ in 0..3 {
        for (what, _) in HARM {
            assert_eq!(server.ask(what).status, 500, "{what}");
        }
    }
    assert_eq!(server.ask("answer").body, "{}");
}

#[test]
fn a_component_that_never_starts_is_stopped_too() {
    for start in ["(loop $more (br $more))", "unreachable", "(drop (memory.grow (i32.const 9999)))"]
    {
        let text = TEXT.replace(";;START", &format!("(func $start {start}) (start $start)"));
        let server = TestServer::new(&text, |it| it.time_max = Duration::from_millis(100));
        let answer = server.ask("answer");
        assert_eq!((answer.status, answer.code().as_str()), (500, "INTERNAL"), "{start}");
        assert_eq!(server.get("/healthz").status, 200);
    }
}

#[test]
fn a_component_with_unknown_imports_is_not_loaded() {
    let rejected = |bytes: Vec<u8>| {
        let mut options = ComponentOptions::default();
        (options.bytes, options.cache) = (bytes.into(), Cache::None);
        Component::new(&options).unwrap_err().to_string()
    };
    let wants = r#"(component (import "wasi:filesystem/preopens@0.2.0" (instance
        (export "get-directories" (func)))))"#;
    let why = rejected(wat::parse_str(wants).unwrap());
    assert!(why.contains("wasi:filesystem/preopens"), "{why}");
    let memories = r"(component (core module $m (memory 1)) (core instance (instantiate $m))
        (core instance (instantiate $m)))";
    let why = rejected(wat::parse_str(memories).unwrap());
    assert!(why.contains("memor"), "{why}");
    let why = rejected(b"no component".to_vec());
    assert!(why.contains("cannot start the component"), "{why}");
    let empty = wat::parse_str("(component)").unwrap();
    assert!(!rejected(empty).is_empty());
}

/// Returns the peak memory of this process, in bytes.
#[cfg(target_os = "linux")]
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().trim().parse::<u64>().unwrap() << 10
}

/// Three gigabytes in one commit, and endless records and rows, use no more memory than the
/// limits allow. No other test runs at the same time.
#[cfg(target_os = "linux")]
#[test]
fn the_memory_of_guests_is_bounded() {
    let server = TestServer::new(TEXT, |it| it.time_max = Duration::from_millis(100));
    server.ask("write");
    let before = peak_bytes();
    for _ in 0..4 {
        let guests: Vec<_> = ["commit", "enormous", "memory", "records", "scan", "table"]
            .into_iter()
            .enumerate()
            .map(|(nth, what)| server.begin(nth, what))
            .collect();
        for guest in guests {
            assert_eq!(guest.join().unwrap().status, 500);
        }
    }
    let taken = peak_bytes().saturating_sub(before) >> 20;
    assert!(taken < 768, "{taken} MiB more than before");
}
