//! The memory tool over HTTP: errors, and concurrent writes by others. The cases of the
//! conformance suite test the commands themselves.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use shared_context_codec::Failure;

use crate::bench::{ADMIN_KEY, Bench, Hook, LocalEngine};

const MEMORY: &str = "POST /v1/sessions/s/memory";

impl Bench {
    /// Returns the content of the tool result and its error flag.
    #[track_caller]
    fn use_memory(&self, input: &Value) -> (String, bool) {
        let seen = self.check(MEMORY, &input.to_string(), 200, "").json();
        let answer = seen.as_object().unwrap();
        assert_eq!(answer.len(), 2, "{answer:?}");
        (answer["content"].as_str().unwrap().to_owned(), answer["is_error"].as_bool().unwrap())
    }

    #[track_caller]
    fn check_memory(&self, input: &Value, is_error: bool, expected: &str) {
        let (content, actual) = self.use_memory(input);
        assert_eq!(actual, is_error, "{content}");
        assert!(content.contains(expected), "{expected} not in {content}");
    }

    /// Makes this request as the orchestrator, right before the next write that is conditional
    /// on the revision that was read.
    fn overtake(&self, request: String) {
        self.before(move |engine| engine.invoke_as("orchestrator", &request));
    }

    /// Runs `hook` right before the next conditional write.
    fn before(&self, hook: impl FnOnce(&LocalEngine) + Send + 'static) {
        self.engine.hooks.lock().unwrap().push_back(("if_revision", Box::new(hook)));
    }

    /// Returns the value of `key`.
    #[track_caller]
    fn value(&self, key: &str) -> String {
        let seen = self.check(&format!("GET /v1/sessions/s/entries/{key}"), "", 200, "");
        seen.json()["value"].as_str().unwrap().to_owned()
    }
}

fn view(path: &str) -> Value {
    json!({"command": "view", "path": path})
}

fn create(path: &str, text: &str) -> Value {
    json!({"command": "create", "path": path, "file_text": text})
}

fn replace(path: &str, old: &str, new: &str) -> Value {
    json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new})
}

fn insert(path: &str, line: i64, text: &str) -> Value {
    json!({"command": "insert", "path": path, "insert_line": line, "insert_text": text})
}

fn rename(old: &str, new: &str) -> Value {
    json!({"command": "rename", "old_path": old, "new_path": new})
}

/// Builds a request to the JSON tool.
fn delete(key: &str) -> String {
    json!({"action": "delete", "key": key}).to_string()
}

/// Builds a request to the JSON tool.
fn write(key: &str, value: &str) -> String {
    json!({"action": "write", "key": key, "value": value}).to_string()
}

#[test]
fn the_response_is_a_tool_result_or_its_text() {
    let bench = Bench::new();
    bench.check_memory(&create("/memories/Notes.md", "a"), false, "at: /memories/notes");
    let request = view("/memories/notes").to_string();
    let expected = "Here's the content of /memories/notes with line numbers:\n     1\ta";
    let seen = bench.check(MEMORY, &request, 200, "");
    assert_eq!(seen.header("content-type"), "application/json");
    assert_eq!(seen.header("cache-control"), "no-store");
    assert_eq!(seen.json(), json!({"content": expected, "is_error": false}));
    for (accept, content_type) in [
        ("text/plain", "text/plain; charset=utf-8"),
        ("text/plain;q=0.9, */*", "text/plain; charset=utf-8"),
        ("*/*", "application/json"),
        ("application/json, text/plain", "application/json"),
    ] {
        let headers = [("accept", accept)];
        let seen = bench.check_as(&bench.agent, MEMORY, &headers, &request, 200, "");
        assert_eq!(seen.header("content-type"), content_type);
        assert_eq!(seen.body == expected, accept.starts_with("text"), "{seen:?}");
    }
}

#[test]
fn errors_of_the_client_are_http_problems() {
    let bench = Bench::new();
    let list = view("/memories").to_string();
    bench.check_as("", MEMORY, &[], &list, 401, "UNAUTHENTICATED");
    bench.check_as("x", MEMORY, &[], &list, 401, "UNAUTHENTICATED");
    let other = bench.create("other");
    bench.check_as(&other, MEMORY, &[], &list, 403, "FORBIDDEN");
    let none = "POST /v1/sessions/none/memory";
    bench.check_as(ADMIN_KEY, none, &[], &list, 404, "SESSION_NOT_FOUND");
    bench.check_as(ADMIN_KEY, none, &[], "{}", 404, "SESSION_NOT_FOUND");
    for body in ["", " ", "null", "[]", "\"view\"", "{", "{} {}", "view", "\u{feff}{}"] {
        let seen = bench.check(MEMORY, body, 400, "MALFORMED_REQUEST");
        assert!(seen.body.contains(r#"{\"command\":\"view\""#), "{seen:?}");
    }
    // Of two equal members the last one was once performed, here a deletion.
    let twice = r#"{"command":"view","path":"/memories","\u0063ommand":"delete"}"#;
    bench.check(MEMORY, twice, 400, "the member command twice");
    let deep = format!("{{\"command\":{}{}}}", "[".repeat(9_000), "]".repeat(9_000));
    bench.check(MEMORY, &deep, 400, "MALFORMED_REQUEST");
    let header = |name, value, status, expected: &str| {
        bench.check_as(&bench.agent, MEMORY, &[(name, value)], &list, status, expected);
    };
    header("content-type", "text/plain", 415, "UNSUPPORTED_MEDIA_TYPE");
    header("content-type", "application/x-www-form-urlencoded", 415, "UNSUPPORTED_MEDIA_TYPE");
    header("if-match", "\"1\"", 400, "if-match");
    bench.check("POST /v1/sessions/s/memory?path=a", &list, 400, "MALFORMED_REQUEST");
    bench.check("GET /v1/sessions/s/memory", "", 405, "METHOD_NOT_ALLOWED");
    let long = create("/memories/a", &"x".repeat(300_000)).to_string();
    bench.check(MEMORY, &long, 413, "REQUEST_TOO_LARGE");
}

/// Only the session can detect a revoked credential. A command that never reached the session
/// would be answered to anyone who once had a credential.
#[test]
fn a_void_credential_gets_no_other_error() {
    let bench = Bench::new();
    bench.check_as(ADMIN_KEY, "POST /v1/sessions/s/revoke", &[], "", 200, "");
    for input in [json!({}), json!({"command": "frob"}), view("/etc"), view("/memories")] {
        bench.check(MEMORY, &input.to_string(), 401, "UNAUTHENTICATED");
    }
}

#[test]
fn a_storage_failure_at_any_step_is_an_http_problem() {
    let bench = Bench::new();
    bench.check_memory(&create("/memories/a", "one"), false, "");
    let commands = [
        view("/memories"),
        view("/memories/a"),
        create("/memories/b", "x"),
        replace("/memories/a", "one", "two"),
        insert("/memories/a", 0, "x"),
        json!({"command": "delete", "path": "/memories/a"}),
        rename("/memories/a", "/memories/c"),
    ];
    for command in commands {
        let mut steps = 0;
        loop {
            for _ in 0..steps {
                bench.engine.hooks.lock().unwrap().push_back(("", Box::new(|_| ())));
            }
            let away = Failure::new("STORAGE_UNAVAILABLE", "the disk is away");
            let fail: Hook = Box::new(|engine| *engine.next_failure.lock().unwrap() = Some(away));
            bench.engine.hooks.lock().unwrap().push_back(("", fail));
            let seen = bench.send(&bench.agent, MEMORY, &[], command.to_string());
            if seen.status == 200 {
                break;
            }
            assert_eq!(seen.json()["error"]["code"], "STORAGE_UNAVAILABLE", "{seen:?}");
            steps += 1;
        }
        assert!((2..=4).contains(&steps), "{command}: {steps} steps");
        bench.engine.hooks.lock().unwrap().clear();
    }
}

#[test]
fn an_edit_keeps_concurrent_writes() {
    let bench = Bench::new();
    bench.check_memory(&create("/memories/plan", "a: open\nb: open\n"), false, "");
    bench.overtake(write("plan", "a: open\nb: done\n"));
    bench.check_memory(&replace("/memories/plan", "a: open", "a: done"), false, "b: done");
    assert_eq!(bench.value("plan"), "a: done\nb: done\n");
    bench.overtake(write("plan", "a: done\n"));
    bench.check_memory(&insert("/memories/plan", 1, "c: open"), false, "has been edited.");
    assert_eq!(bench.value("plan"), "a: done\nc: open\n");

    // The text to replace is gone, and so is the line.
    bench.overtake(write("plan", "all done"));
    bench.check_memory(&replace("/memories/plan", "c: open", "c: done"), true, "did not appear");
    bench.overtake(write("plan", ""));
    bench.check_memory(&insert("/memories/plan", 1, "d"), true, "[0, 0]");
    assert_eq!(bench.value("plan"), "");
    bench.overtake(delete("plan"));
    bench.check_memory(&insert("/memories/plan", 0, "d"), true, "does not exist");
}

/// Versions restart at 1 after a delete. An edit conditional on version 1 would have mistaken
/// the new entry for the one it had read.
#[test]
fn a_recreated_entry_is_not_mistaken_for_the_old_one() {
    let bench = Bench::new();
    bench.check_memory(&create("/memories/plan", "old"), false, "");
    bench.before(|engine| {
        engine.invoke_as("orchestrator", &delete("plan"));
        engine.invoke_as("orchestrator", &write("plan", "new"));
    });
    bench.check_memory(&replace("/memories/plan", "old", "older"), true, "did not appear");
    assert_eq!(bench.value("plan"), "new");
}

#[test]
fn an_edit_that_keeps_conflicting_fails_without_effect() {
    let bench = Bench::new();
    bench.check_memory(&create("/memories/plan", "a"), false, "");
    bench.check_memory(&create("/memories/other", "b"), false, "");
    for (command, key) in [
        (replace("/memories/plan", "a", "b"), "plan"),
        (insert("/memories/plan", 0, "b"), "plan"),
        (rename("/memories/plan", "/memories/moved"), "plan"),
    ] {
        for nth in 0..20 {
            bench.overtake(write(key, &format!("a {nth}")));
        }
        bench.check_memory(&command, true, "Error: /memories/plan was changed by others each time");
        let left = bench.engine.hooks.lock().unwrap().drain(..).count();
        assert_eq!(left, 15, "five attempts");
        assert_eq!(bench.value("plan"), "a 4");
    }
    bench.check("GET /v1/sessions/s/entries/moved", "", 404, "");
}

#[test]
fn a_rename_never_overwrites_a_concurrent_write() {
    let bench = Bench::new();
    bench.check_memory(&create("/memories/draft", "mine"), false, "");
    bench.overtake(write("final", "theirs"));
    let moved = rename("/memories/draft", "/memories/final");
    bench.check_memory(&moved, true, "Error: The destination /memories/final already exists");
    assert_eq!((bench.value("draft"), bench.value("final")), ("mine".into(), "theirs".into()));
    // A concurrent write to the source is moved along.
    bench.check("DELETE /v1/sessions/s/entries/final", "", 200, "");
    bench.overtake(write("draft", "ours"));
    bench.check_memory(&moved, false, "Successfully renamed /memories/draft to /memories/final");
    assert_eq!(bench.value("final"), "ours");
    bench.check("GET /v1/sessions/s/entries/draft", "", 404, "");
    bench.overtake(delete("final"));
    bench.check_memory(&rename("/memories/final", "/memories/x"), true, "does not exist");
}

#[test]
fn an_entry_that_expires_during_an_edit_is_not_found() {
    let bench = Bench::new();
    let lease = r#"{"action":"write","key":"lease","value":"a","ttl_seconds":1}"#;
    for command in [insert("/memories/lease", 0, "b"), rename("/memories/lease", "/memories/kept")]
    {
        bench.check("POST /v1/sessions/s/shared_context", lease, 200, "");
        bench.before(|engine| {
            engine.now_ms.fetch_add(1_000, Ordering::SeqCst);
        });
        bench.check_memory(&command, true, "Error: The path /memories/lease does not exist");
    }
    bench.check_memory(&view("/memories"), false, "0B\t/memories");
}

#[test]
fn concurrent_inserts_into_one_file_are_all_stored() {
    const WRITERS: usize = 4;
    const LINES: usize = 25;
    let bench = Bench::new();
    bench.check_memory(&create("/memories/log", ""), false, "");
    let done: Vec<String> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let bench = &bench;
                scope.spawn(move || {
                    let lines = (0..LINES).map(|nth| format!("{writer}/{nth}"));
                    let is_in = |line: &String| {
                        let (content, is_error) =
                            bench.use_memory(&insert("/memories/log", 0, line));
                        assert!(
                            !is_error || content.contains("was changed by others"),
                            "{content}"
                        );
                        !is_error
                    };
                    lines.filter(is_in).collect::<Vec<_>>()
                })
            })
            .collect();
        writers.into_iter().flat_map(|it| it.join().unwrap()).collect()
    });
    let value = bench.value("log");
    let mut seen: Vec<&str> = value.lines().collect();
    let mut done: Vec<&str> = done.iter().map(String::as_str).collect();
    seen.sort_unstable();
    done.sort_unstable();
    assert_eq!(seen, done);
    assert!(done.len() > LINES, "{} of {}", done.len(), WRITERS * LINES);
}

/// Of 150 acknowledged inserts by one participant, only 30 lines remained: an edit counted as
/// done when a concurrent edit made the same text. Each insert now adds its own line.
#[test]
fn equal_inserts_of_one_participant_are_all_stored() {
    let bench = Bench::new();
    bench.check_memory(&create("/memories/log", ""), false, "");
    let same = insert("/memories/log", 0, "done");
    let participant = "subagent:analysis";
    for lines in [2, 4] {
        bench.before(move |engine| {
            let value = "done\n".repeat(lines - 1);
            engine.invoke_as(participant, &write("log", &value));
        });
        bench.check_memory(&same, false, "has been edited.");
        assert_eq!(bench.value("log"), "done\n".repeat(lines));
    }
}

/// A limited credential sees no file outside its keys, with any command.
#[test]
fn a_limited_credential_sees_only_its_files() {
    let mut bench = Bench::new();
    bench.check_memory(&create("/memories/plan", "secret plan"), false, "created");
    let body = r#"{"participant":"subagent:analysis","keys":["inv_*"]}"#;
    let target = "POST /v1/sessions/s/credentials";
    let minted = bench.check_as(ADMIN_KEY, target, &[], body, 201, "").json();
    minted["credential"].as_str().unwrap().clone_into(&mut bench.agent);
    bench.check_memory(&create("/memories/inv_cause", "pool size"), false, "created");
    let (listing, _) = bench.use_memory(&view("/memories"));
    assert!(listing.contains("inv_cause") && !listing.contains("plan"), "{listing}");
    bench.check_memory(&view("/memories/plan"), true, "does not exist");
    for rejected in [
        create("/memories/plan", "x"),
        create("/memories/other", "x"),
        rename("/memories/inv_cause", "/memories/plan"),
        rename("/memories/inv_cause", "/memories/other"),
        json!({"command": "delete", "path": "/memories/plan"}),
        json!({"command": "delete", "path": "/memories/other"}),
    ] {
        bench.check_memory(&rejected, true, "only for keys that match inv_*");
    }
    for missing in [
        replace("/memories/plan", "secret", "x"),
        insert("/memories/plan", 0, "x"),
        rename("/memories/plan", "/memories/inv_plan"),
    ] {
        bench.check_memory(&missing, true, "does not exist");
    }
    bench.check_memory(&view("/memories/inv_cause"), false, "pool size");
}

/// `SENSITIVE_VALUE` was once an HTTP error, which the agent never saw.
#[test]
fn a_secret_is_an_error_that_the_agent_corrects() {
    let bench = Bench::configured(|options| options, r#"{"rejects_secrets":true}"#);
    let secret = format!("AKIA{}", "IOSFODNN7EXAMPLQ");
    let input = create("/memories/a", &secret).to_string();
    let seen = bench.check(MEMORY, &input, 200, r#""is_error":true"#);
    assert!(seen.body.contains("which this session does not store"), "{seen:?}");
}
