//! The limits of a session's records of the context pipeline, which no seed reaches.

#![expect(clippy::expect_used, reason = "a test")]

use serde_json::{Value, json};
use shared_context_simulation::{counts::Counts, run, script::Script};

/// Plays these calls, each by the orchestrator, and compares everything at the end.
fn play(steps: Vec<Value>) -> Counts {
    let mut all = vec![json!({"ask": {"as": "admin", "session": "alpha",
        "call": {"action": "create_session"}}})];
    all.extend(steps);
    all.push(json!({"compare": true}));
    let script = json!({"storage": "snapshots", "steps": all});
    let script: Script = serde_json::from_value(script).expect("a script");
    let outcome = run::script(&script);
    assert_eq!(outcome.flaw, None);
    outcome.counts
}

fn ask(call: &Value) -> Value {
    json!({"ask": {"as": "orchestrator", "session": "alpha", "call": call}})
}

/// Returns one step with all these calls in it, so that everything is checked once.
fn at_once(calls: &[Value]) -> Value {
    let during = calls.iter().map(|it| json!({"at": "answer 1", "do": {"meanwhile": ask(it)}}));
    json!({"ask": {"as": "orchestrator", "session": "alpha", "call": {"action": "list_keys"},
        "during": during.collect::<Vec<_>>()}})
}

#[test]
fn the_oldest_injections_make_room() {
    let keep = json!({"action": "assemble_context", "task": "t", "keep": true});
    let record =
        json!({"action": "record_injection", "envelope": "ENV-1", "place": "system_prompt"});
    let counts = play(vec![ask(&keep), at_once(&vec![record; 1_003])]);
    assert_eq!(counts.envelopes.get("removed from a/i/"), Some(&3), "{:?}", counts.envelopes);
}

#[test]
fn open_reports_are_limited_and_the_oldest_answers_make_room() {
    let report = json!({"action": "report_missing", "kind": "input", "text": "which?"});
    let answer = |number: u32| {
        let missing = format!("MIS-{number}");
        json!({"action": "answer_missing", "missing": missing, "answer": "this"})
    };
    let answers: Vec<Value> = (1..=200).map(answer).collect();
    let counts = play(vec![
        at_once(&vec![report.clone(); 201]),
        at_once(&answers),
        at_once(&[report.clone(), report, answer(202), answer(7), answer(201)]),
    ]);
    assert_eq!(counts.answers.get("ENVELOPE_LIMIT"), Some(&1), "{:?}", counts.answers);
    assert_eq!(counts.envelopes.get("removed from a/m/"), Some(&2), "{:?}", counts.envelopes);
}

#[test]
fn large_envelopes_make_room_and_the_largest_is_rejected() {
    let keep = |bytes: &[usize]| {
        let item = |(nth, bytes): (usize, &usize)| json!({"id": nth.to_string(), "kind": "custom", "text": "x".repeat(*bytes)});
        let items: Vec<Value> = bytes.iter().enumerate().map(item).collect();
        let pinned: Vec<String> = (0..bytes.len()).map(|it| it.to_string()).collect();
        let budget = json!({"tokens": 1_000_000});
        json!({"action": "assemble_context", "items": items, "pinned": pinned, "budget": budget,
            "keep": true})
    };
    let compact = |bytes: &[usize]| {
        let items = bytes.iter().zip(["a", "b"]).map(
            |(bytes, id)| json!({"id": id, "kind": "user_message", "text": id.repeat(*bytes)}),
        );
        let items: Vec<Value> = items.collect();
        json!({"action": "compact", "items": items, "target_tokens": 1_000_000, "keep": true})
    };
    let (half, most) = (900_000, 1 << 20);
    let counts = play(vec![at_once(&[
        keep(&[half]),
        keep(&[half]),
        keep(&[9]),
        keep(&[half]),
        keep(&[most, most]),
        compact(&[half]),
        compact(&[most, most]),
    ])]);
    assert_eq!(counts.answers.get("ENVELOPE_LIMIT"), Some(&2), "{:?}", counts.answers);
    assert_eq!(counts.envelopes.get("removed from a/e/"), Some(&2), "{:?}", counts.envelopes);
}
