//! Runs the worked example of docs/delta-rounds.md: sends every request of its transcripts and
//! compares every reply.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use serde_json::{Deserializer, Value};
use shared_context_codec::{Caller, invoke};
use shared_context_core::{
    audit::AuditRecord,
    memory_kv::MemoryKv,
    port::{Clock, Log, NoTokenizer, Ports},
    time::Timestamp,
};

const TEXT: &str = include_str!("../../../docs/delta-rounds.md");

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
fn the_worked_example_is_accurate() {
    let kv = MemoryKv::default();
    let ports = Ports { kv: &kv, clock: &Quiet, log: &Quiet, tokenizer: &NoTokenizer };
    let ask = |who: &str, request: &Value| {
        let request = request.to_string();
        invoke(&ports, "session/s", &Caller::trusted(who), request.as_bytes())
    };
    let create = serde_json::json!({"action": "create_session"});
    ask("admin", &create).unwrap();
    let mut played = 0;
    for (who, request, expected) in exchanges() {
        let answer = ask(&who, &request);
        match (expected, answer) {
            (ExpectedReply::Error(code), Err(failure)) => {
                assert_eq!(failure.code, code, "{request}");
            }
            (ExpectedReply::Success(expected), Ok(reply)) => {
                let actual: Value = serde_json::from_slice(&reply.body).unwrap();
                assert!(contains(&actual, &expected), "{who}> {request}\nis answered\n{actual}");
            }
            (_, answer) => panic!("{who}> {request}\nis answered\n{answer:?}"),
        }
        played += 1;
    }
    assert_eq!(played, 16, "exchanges");
}

enum ExpectedReply {
    Success(Value),
    Error(String),
}

/// Returns the participant, request and expected reply of every exchange in the transcripts.
fn exchanges() -> Vec<(String, Value, ExpectedReply)> {
    let mut exchanges = Vec::new();
    let blocks = TEXT.split("```").skip(1).step_by(2);
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
