//! The tool from bytes to bytes, over memory: the literal examples of the specification, and the
//! errors for malformed requests.

#![expect(clippy::unwrap_used, reason = "a test")]

mod rounds;
mod update;

use std::cell::Cell;

use shared_context_codec::{Caller, invoke};
use shared_context_core::{
    audit::AuditRecord,
    memory_kv::MemoryKv,
    port::{Clock, Log, NoTokenizer, Ports},
    time::Timestamp,
};

/// A session in memory, and a clock that is set by hand.
struct Session {
    kv: MemoryKv,
    now: Cell<u64>,
}

impl Clock for Session {
    fn now(&self) -> Timestamp {
        Timestamp(self.now.get())
    }
}

impl Log for Session {
    fn record(&self, _: &AuditRecord) {}
}

impl Session {
    /// Creates an active session at 2026-02-20T14:30:00Z.
    fn new() -> Self {
        let session = Self { kv: MemoryKv::default(), now: Cell::new(1_771_597_800_000) };
        session.ask("admin", r#"{"action":"create_session"}"#);
        session
    }

    fn ask(&self, who: &str, request: &str) -> String {
        self.ask_as(&Caller::trusted(who), request)
    }

    fn ask_as(&self, caller: &Caller, request: &str) -> String {
        let ports = Ports { kv: &self.kv, clock: self, log: self, tokenizer: &NoTokenizer };
        match invoke(&ports, "session/s", caller, request.as_bytes()) {
            Ok(reply) => String::from_utf8(reply.body).unwrap(),
            Err(failure) => String::from_utf8(failure.to_json()).unwrap(),
        }
    }
}

#[test]
fn replies_begin_like_the_examples_of_the_specification() {
    let it = Session::new();
    let write = r#"{"action":"write","key":"problem_summary","value":"v"}"#;
    it.ask("orchestrator", write);
    assert_eq!(
        it.ask("subagent:initiation", write),
        r#"{"key":"problem_summary","version":2,"written_by":"subagent:initiation","written_at":"2026-02-20T14:30:00Z","value_size_tokens":1,"revision":3}"#
    );
    assert_eq!(
        it.ask("orchestrator", r#"{"action":"read","key":"problem_summary"}"#),
        r#"{"key":"problem_summary","value":"v","written_by":"subagent:initiation","written_at":"2026-02-20T14:30:00Z","version":2,"value_size_tokens":1,"revision":3}"#
    );
    assert_eq!(
        it.ask("orchestrator", r#"{"action":"list_keys"}"#),
        r#"{"keys":[{"key":"problem_summary","written_by":"subagent:initiation","written_at":"2026-02-20T14:30:00Z","version":2,"value_size_tokens":1,"revision":3}],"total_tokens":1,"max_tokens":10000,"key_count":1,"revision":3}"#
    );
    assert_eq!(
        it.ask("orchestrator", r#"{"action":"delete","key":"problem_summary"}"#),
        r#"{"deleted":"problem_summary","previous_version":2,"revision":4}"#
    );
}

#[test]
fn malformed_requests_are_rejected_with_location_and_cause() {
    let it = Session::new();
    let check = |request: &str, part: &str| {
        let answer = it.ask("orchestrator", request);
        assert!(answer.contains("MALFORMED_REQUEST") && answer.contains(part), "{answer}");
    };
    check("", "the JSON ends before it is complete");
    check(
        "nonsense",
        "the JSON is not valid: an unquoted word must be true, false or null; text needs double quotes, at line 1 column 2",
    );
    check("[]", "the request must be an object, not a list");
    check(r#"["read","scope"]"#, "the request must be an object, not a list");
    check("{}", "the request needs action; for example");
    check(r#"{"action":7}"#, "action must be text, not 7");
    check(r#"{"action":"drop"}"#, "the everyday ones are list_keys, read, write and delete");
    check(r#"{"action":"get"}"#, r#"action \"get\" is not known; did you mean read?"#);
    check(r#"{"action":"snapshots"}"#, "did you mean list_snapshots?");
    check(r#"{"action":"read"}"#, "read needs key");
    check(r#"{"action":"read","key":5}"#, "key must be text, not 5");
    check(r#"{"action":"list_keys"} x"#, "something follows after its end");
    check(r#"{"action":"list_keys","action":"list_keys"}"#, "action occurs twice");
    check(
        r#"{"action":"write","key":"a","value":"v","written_by":"me"}"#,
        "the system sets the writer",
    );
    // Of a read that was explained too, as if it wrote.
    check(r#"{"action":"read","key":"a","version":2}"#, "read_history has the earlier versions");
    check(r#"{"action":"write","key":"a","value":"\ud800"}"#, "at line 1 column");
    check(
        r#"{"action":"write","key":"a","value":"v","if_version":-1}"#,
        "if_version must be a whole number, 0 or more, not -1",
    );
    check(r#"{"action":"create_session","config":[]}"#, "config must be an object, not a list");
    let nested = format!(r#"{{"action":"read","key":{}1{}}}"#, "[".repeat(100), "]".repeat(100));
    check(&nested, "key must be text, not a list");
    let nested = format!(r#"{{"action":"list_keys","x":{}1{}}}"#, "[".repeat(200), "]".repeat(200));
    check(&nested, "list_keys takes no x; it takes prefix, if_changed_since");
    check(r#"{"action":"write","key":"a","valu":"x"}"#, "write takes no valu; did you mean value?");
    check(r#"{"action":"read","Key":"a"}"#, "read takes no Key; did you mean key?");
    check(
        r#"{"action":"read","key":"a","zzz":1}"#,
        "read takes no zzz; it takes key, if_changed_since",
    );
    check(r#"{"action":"read","key":"a","limit":1}"#, "read takes no limit; it takes key");
    let null = r#"{"action":"write","key":"a","value":null}"#;
    check(null, "value must be text, not null");
    let object = r#"{"action":"write","key":"a","value":{"a":1}}"#;
    check(object, "value must be text, not an object; send JSON as text, such as");
}

/// Errors that once named a wrong place, a wrong range or a rounded number.
#[test]
fn errors_name_what_was_sent() {
    let it = Session::new();
    let check = |who: &str, request: &str, parts: &[&str]| {
        let answer = it.ask(who, request);
        for part in parts {
            assert!(answer.contains(part), "{answer}");
        }
    };
    let of_orchestrator = |request: &str, parts: &[&str]| check("orchestrator", request, parts);
    of_orchestrator(r#"{"action":"read_batch","keys":["a","a"]}"#, &[r#"twice; name it once"}"#]);
    of_orchestrator(
        r#"{"action":"write_batch","writes":[{"key":"a","value":"1"},{"key":"B c","value":"2"}]}"#,
        &["INVALID_KEY", r#""key":"B c""#],
    );
    of_orchestrator(
        r#"{"action":"write_batch","deletes":[{"key":"inv:a"}]}"#,
        &["INVALID_KEY", r#""key":"inv:a""#],
    );
    let long = "ä".repeat(1_000);
    of_orchestrator(
        &format!(r#"{{"action":"read","key":"{long}"}}"#),
        &["INVALID_KEY", &format!(r#""key":"{}""#, "ä".repeat(80))],
    );
    of_orchestrator(
        r#"{"action":"write","key":"a","value":"v","if_version":18446744073709551616}"#,
        &["if_version must be a whole number of at most 18446744073709551615; it is larger"],
    );
    of_orchestrator(
        r#"{"action":"plan_window","shares":{"buffer":4.999}}"#,
        &["MALFORMED_REQUEST", "shares.buffer: a share is a number from 0 to 100 in steps of 0.01"],
    );
    of_orchestrator(
        r#"{"action":"write","key":"a","value":"v","request_id":null,"request_id":"r"}"#,
        &["request_id occurs twice; send it once (over HTTP as the header Idempotency-Key"],
    );
    check(
        "admin",
        r#"{"action":"update_session","config":{"keys_max":"x"}}"#,
        &[r"config.keys_max must be a whole number, not text"],
    );
}

#[test]
fn a_caller_is_limited_to_the_keys_its_host_names() {
    let it = Session::new();
    it.ask("orchestrator", r#"{"action":"write","key":"scope","value":"v"}"#);
    let check = |who: &str, keys: &[&str], request: &str, parts: &[&str]| {
        let keys = keys.iter().map(|it| (*it).to_owned()).collect();
        let answer = it.ask_as(&Caller { keys, ..Caller::trusted(who) }, request);
        for part in parts {
            assert!(answer.contains(part), "{answer}");
        }
    };
    let (list, read) = (r#"{"action":"list_keys"}"#, r#"{"action":"read","key":"scope"}"#);
    let write = r#"{"action":"write","key":"scope","value":"w"}"#;
    check("subagent:a", &[], list, &[r#""key":"scope""#]);
    check("subagent:a", &["inv_*", "s*"], list, &[r#""key":"scope""#]);
    check("subagent:a", &["inv_*"], list, &[r#"{"keys":[],"#]);
    check("subagent:a", &["inv_*"], read, &["KEY_NOT_FOUND"]);
    check("subagent:a", &["inv_*"], write, &[r#"{"error":{"code":"FORBIDDEN","#, "inv_*; write"]);

    let malformed = "MALFORMED_REQUEST";
    check("subagent:a", &["Inv*"], list, &[malformed, "no key matches", "Inv*"]);
    check("subagent:a", &[""], list, &[malformed]);
    check("subagent:a", &["a"; 16], list, &[r#"{"keys":[],"#]);
    check("subagent:a", &["a"; 17], list, &[malformed, "17 patterns; it has at most 16"]);
    check("orchestrator", &["inv_*"], list, &[malformed, "the orchestrator has all of them"]);
    check("admin", &["inv_*"], list, &[malformed, "the admin has all of them"]);
    // Keys in a request do not extend the keys of its caller.
    let own = r#"{"action":"read","key":"scope","keys":["*"]}"#;
    check("subagent:a", &["inv_*"], own, &[malformed, "keys"]);
}

#[test]
fn a_session_survives_export_and_import() {
    let it = Session::new();
    for request in [
        r#"{"action":"write","key":"scope","value":"one","readable_by":["orchestrator"]}"#,
        r#"{"action":"write","key":"scope","value":"two"}"#,
        r#"{"action":"write","key":"gone","value":"é\n\"three\""}"#,
        r#"{"action":"delete","key":"gone"}"#,
        r#"{"action":"snapshot","label":"before","note":"first"}"#,
        r#"{"action":"write","key":"lease","value":"two","ttl_seconds":60}"#,
    ] {
        let reply = it.ask("orchestrator", request);
        assert!(!reply.contains("error"), "{reply}");
    }
    let document = it.ask("admin", r#"{"action":"export_session"}"#);
    let import = format!(r#"{{"action":"import_session","document":{document}}}"#);
    assert!(it.ask("admin", &import).contains("SESSION_EXISTS"));

    let other = Session { kv: MemoryKv::default(), now: Cell::new(it.now.get()) };
    let reply = other.ask("admin", &import);
    assert!(reply.contains(r#""key_count":2,"total_tokens":2"#), "{reply}");
    assert_eq!(other.ask("admin", r#"{"action":"export_session"}"#), document);
    let history = r#"{"action":"read_history","key":"gone"}"#;
    let (told, first) = (other.ask("orchestrator", history), it.ask("orchestrator", history));
    assert_eq!(told.split("],").next(), first.split("],").next());
    let write = r#"{"action":"write","key":"scope","value":"three"}"#;
    assert!(other.ask("orchestrator", write).contains(r#""version":3"#));

    for (from, to, place) in [
        (
            "\"value_size_tokens\":1,\"revision\":3",
            "\"value_size_tokens\":9,\"revision\":3",
            "entries.1 (scope)",
        ),
        (":\"one\"", ":\"won\"", "values.sha256:"),
        ("\"keys_max\":1000", "\"keys_max\":1001", "config"),
        ("\"status\":\"deleted\"", "\"status\":\"expired\"", "history.0 (gone)"),
        ("\"note\":\"first\"", "\"note\":\"worst\"", "snapshots.0 (before)"),
        ("\"status\":\"active\"", "\"status\":\"archived\"", "the document"),
    ] {
        let altered = import.replacen(from, to, 1);
        assert_ne!(altered, import, "{from}");
        let third = Session { kv: MemoryKv::default(), now: Cell::new(it.now.get()) };
        let reply = third.ask("admin", &altered);
        assert!(reply.contains("DOCUMENT_ALTERED") && reply.contains(place), "{place}: {reply}");
    }
    let newer = import.replacen("shared-context/session/1", "shared-context/session/5", 1);
    assert!(it.ask("admin", &newer).contains("FORMAT_TOO_NEW"));
    for none in ["{}", "[]", "3", "\"x\"", r#"{"format":"shared-context/session/1"}"#] {
        let reply = it.ask("admin", &format!(r#"{{"action":"import_session","document":{none}}}"#));
        assert!(reply.contains("MALFORMED_REQUEST"), "{none}: {reply}");
    }
}
