//! Runs the worked examples of docs/delta-rounds.md and docs/context.md: sends every request of
//! their transcripts and compares every reply. Runs the verifier of evidence on what the second one
//! exports.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::{
    io::{self, ErrorKind, Write as _},
    process::{Command, Stdio},
};

use serde_json::{Deserializer, Value, json};
use shared_context_codec::{Caller, invoke};
use shared_context_core::{
    audit::AuditRecord,
    memory_kv::MemoryKv,
    port::{Clock, Log, NoTokenizer, Ports},
    time::Timestamp,
};

const ROUNDS: &str = include_str!("../../../docs/delta-rounds.md");
const CONTEXT: &str = include_str!("../../../docs/context.md");
const VERIFIER: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/context/verify_evidence.py");

struct Quiet;

impl Clock for Quiet {
    fn now(&self) -> Timestamp {
        Timestamp(1_771_596_000_000)
    }
}

impl Log for Quiet {
    fn record(&self, _: &AuditRecord) {}
}

#[test]
fn the_example_of_rounds_is_accurate() {
    assert_eq!(play(ROUNDS).len(), 16, "exchanges");
}

#[test]
fn the_example_of_contexts_is_accurate() {
    assert_eq!(play(CONTEXT).len(), 13, "exchanges");
}

#[test]
fn the_verifier_names_the_part_that_was_altered() {
    let evidence = play(CONTEXT).into_iter().find(|it| it.get("parts").is_some()).unwrap();
    let Some((is_right, printed)) = verify(&evidence) else {
        // Not `eprintln!`, which the test harness keeps for failures.
        drop(writeln!(io::stderr(), "skipped: there is no python3 to run the verifier with"));
        return;
    };
    assert!(is_right, "{printed}");
    let parts = evidence["parts"].as_array().unwrap();
    assert!(parts.len() > 2, "{evidence}");
    for (nth, part) in parts.iter().enumerate() {
        let name = part["item"].as_str().unwrap_or("the task");
        for member in ["text", "after"] {
            let mut altered = evidence.clone();
            // A reference has no text. The last byte of the others is ASCII.
            let Some(text) = part[member].as_str().filter(|it| !it.is_empty()) else { continue };
            let text = format!("{}~", &text[..text.len() - 1]);
            altered["parts"][nth][member] = text.into();
            let (is_right, printed) = verify(&altered).unwrap();
            assert!(!is_right && printed.starts_with(name), "{printed}");
        }
    }
    let mut altered = evidence.clone();
    altered["envelope"]["budget"]["used"]["tokens"] = 1.into();
    let (is_right, printed) = verify(&altered).unwrap();
    assert!(!is_right && printed.starts_with("the envelope"), "{printed}");
    for (member, value) in [("open", json!("")), ("close", json!("~")), ("injections", json!([1]))]
    {
        let mut altered = evidence.clone();
        altered[member] = value;
        let (is_right, printed) = verify(&altered).unwrap();
        assert!(!is_right && printed.starts_with("the document"), "{member}: {printed}");
    }
}

/// Runs the verifier on `evidence`; returns whether all is right, and what it printed. `None` if
/// there is no Python.
fn verify(evidence: &Value) -> Option<(bool, String)> {
    let mut command = Command::new("python3");
    command.arg(VERIFIER).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        child => child.unwrap(),
    };
    child.stdin.take().unwrap().write_all(evidence.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    Some((output.status.success(), String::from_utf8(printed).unwrap()))
}

/// Sends the requests of the transcripts in `text`, and compares the replies. Returns the replies.
fn play(text: &str) -> Vec<Value> {
    let kv = MemoryKv::default();
    let ports = Ports { kv: &kv, clock: &Quiet, log: &Quiet, tokenizer: &NoTokenizer };
    let ask = |who: &str, request: &Value| {
        let request = request.to_string();
        invoke(&ports, "session/s", &Caller::trusted(who), request.as_bytes())
    };
    ask("admin", &json!({"action": "create_session"})).unwrap();
    let mut replies = Vec::new();
    for (who, request, expected) in exchanges(text) {
        let answer = ask(&who, &request);
        match (expected, answer) {
            (ExpectedReply::Error(code), Err(failure)) => {
                assert_eq!(failure.code, code, "{request}");
                replies.push(Value::Null);
            }
            (ExpectedReply::Success(expected), Ok(reply)) => {
                let actual: Value = serde_json::from_slice(&reply.body).unwrap();
                assert!(contains(&actual, &expected), "{who}> {request}\nis answered\n{actual}");
                replies.push(actual);
            }
            (_, answer) => panic!("{who}> {request}\nis answered\n{answer:?}"),
        }
    }
    replies
}

enum ExpectedReply {
    Success(Value),
    Error(String),
}

/// Returns the participant, request and expected reply of every exchange in the transcripts.
fn exchanges(text: &str) -> Vec<(String, Value, ExpectedReply)> {
    let mut exchanges = Vec::new();
    let blocks = text.split("\n```").skip(1).step_by(2);
    for block in blocks.filter_map(|it| it.strip_prefix("transcript\n")) {
        let mut rest = block.trim();
        while !rest.is_empty() {
            let (who, behind) = rest.split_once("> ").unwrap();
            let (request, behind) = value(behind);
            let behind = behind.trim_start();
            let (expected, behind) = if let Some(code) = behind.strip_prefix("error ") {
                let (code, behind) = code.split_once('\n').unwrap_or((code, ""));
                (ExpectedReply::Error(code.trim().to_owned()), behind)
            } else {
                let (reply, behind) = value(behind);
                (ExpectedReply::Success(reply), behind)
            };
            exchanges.push((who.to_owned(), request, expected));
            rest = behind.trim_start();
        }
    }
    exchanges
}

/// Returns the JSON value at the start of `text`, and the text after it.
fn value(text: &str) -> (Value, &str) {
    let mut values = Deserializer::from_str(text).into_iter();
    let value = values.next().unwrap_or_else(|| panic!("no JSON: {text}"));
    let value = value.unwrap_or_else(|error| panic!("{error}: {text}"));
    (value, &text[values.byte_offset()..])
}

/// Returns true if `actual` contains everything in `expected`. Objects may have more members; lists
/// must be complete.
fn contains(actual: &Value, expected: &Value) -> bool {
    match (actual, expected) {
        (Value::Object(actual), Value::Object(expected)) => expected
            .iter()
            .all(|(name, it)| actual.get(name).is_some_and(|actual| contains(actual, it))),
        (Value::Array(actual), Value::Array(expected)) => {
            actual.len() == expected.len()
                && actual.iter().zip(expected).all(|(a, b)| contains(a, b))
        }
        (actual, expected) => actual == expected,
    }
}
