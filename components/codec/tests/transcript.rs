//! The worked example of docs/delta-rounds.md, played as it is written: every request
//! of a transcript is made, and every reply says what stands there.

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
fn the_worked_example_is_as_it_is_told() {
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
            (Expected::Refused(code), Err(failure)) => assert_eq!(failure.code, code, "{request}"),
            (Expected::Reply(expected), Ok(reply)) => {
                let told: Value = serde_json::from_slice(&reply.body).unwrap();
                assert!(says(&told, &expected), "{who}> {request}\nis answered\n{told}");
            }
            (_, answer) => panic!("{who}> {request}\nis answered\n{answer:?}"),
        }
        played += 1;
    }
    assert_eq!(played, 16, "exchanges");
}

enum Expected {
    Reply(Value),
    Refused(String),
}

/// Returns who asks what, and what is answered, in all transcripts of the text.
fn exchanges() -> Vec<(String, Value, Expected)> {
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
                (Expected::Refused(code.trim().to_owned()), behind)
            } else {
                let (reply, behind) = value(behind);
                (Expected::Reply(reply), behind)
            };
            exchanges.push((who.to_owned(), request, expected));
            rest = behind.trim_start();
        }
    }
    exchanges
}

/// Returns the JSON value that `text` begins with, and what is behind it.
fn value(text: &str) -> (Value, &str) {
    let mut values = Deserializer::from_str(text).into_iter();
    let value = values.next().unwrap_or_else(|| panic!("no JSON: {text}"));
    let value = value.unwrap_or_else(|error| panic!("{error}: {text}"));
    (value, &text[values.byte_offset()..])
}

/// Returns whether `told` says what is `expected`, and maybe more; its lists are whole.
fn says(told: &Value, expected: &Value) -> bool {
    match (told, expected) {
        (Value::Object(told), Value::Object(expected)) => {
            expected.iter().all(|(name, it)| told.get(name).is_some_and(|told| says(told, it)))
        }
        (Value::Array(told), Value::Array(expected)) => {
            told.len() == expected.len() && told.iter().zip(expected).all(|(a, b)| says(a, b))
        }
        (told, expected) => told == expected,
    }
}
