//! First calls as language models of several strengths write them from the list of tools alone:
//! right ones, and their usual mistakes. A mistake is answered so that the next call is right.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::bench::Bench;

/// A first call, and the answer that it must get.
#[derive(Deserialize)]
struct FirstCall {
    /// The intention of the model.
    goal: String,
    /// `agent` or `orchestrator`.
    r#as: String,
    name: String,
    arguments: Value,
    /// `ok`, or words of the answer to a mistake.
    expect: String,
    /// The call that a reader of the answer makes next.
    repair: Option<Call>,
}

/// A call that a model made, and the next one if the first was a mistake.
#[derive(Deserialize)]
struct RecordedCall {
    model: String,
    goal: String,
    r#as: String,
    name: String,
    arguments: Value,
    repair: Option<Call>,
}

#[derive(Deserialize)]
struct Call {
    name: String,
    arguments: Value,
}

/// Returns a session with a few entries, a snapshot and an open round with a delta of the agent.
fn prepared() -> Bench {
    let bench =
        Bench::configured(|options| options, r#"{"tools":["delta_rounds","context_packets"]}"#);
    for key in ["scope", "constraints", "open_questions"] {
        bench.write(key);
    }
    let tool = "POST /v1/sessions/s/shared_context";
    for request in [r#"{"action":"snapshot","label":"first"}"#, r#"{"action":"open_round"}"#] {
        bench.check_as(&bench.orchestrator, tool, &[], request, 200, "");
    }
    let delta = r#"{"operation":"add","path":"$.rules","value":0,"provenance":"p"}"#;
    let proposal = format!(r#"{{"action":"propose_deltas","deltas":[{delta}]}}"#);
    bench.check(tool, &proposal, 200, "");
    let packet = r#"{"action":"context_generate","task":"Find the parameter","address":"subagent:analysis"}"#;
    bench.check_as(&bench.orchestrator, tool, &[], packet, 200, "");
    bench
}

/// Returns the text of the answer, and whether it is an error.
fn answer(bench: &Bench, who: &str, name: &str, arguments: &Value) -> (String, bool) {
    let token = if who == "agent" { &bench.agent } else { &bench.orchestrator };
    let mut params = json!({"name": name});
    if !arguments.is_null() {
        params["arguments"] = arguments.clone();
    }
    let seen = bench.modern(token, "tools/call", params).json();
    if let Some(message) = seen["error"]["message"].as_str() {
        return (message.to_owned(), true);
    }
    let text = seen["result"]["content"][0]["text"].as_str().unwrap();
    (text.to_owned(), seen["result"]["isError"] == true)
}

#[test]
#[expect(clippy::print_stdout, reason = "the figures are for people")]
fn first_calls_are_right_or_repaired_in_one_step() {
    let calls: Vec<FirstCall> =
        serde_json::from_str(include_str!("data/first_calls.json")).unwrap();
    assert!(calls.len() >= 60, "{}", calls.len());
    let (mut right, mut repaired, mut missed) = (0, 0, Vec::new());
    for call in &calls {
        // A round is opened by one of the calls.
        let bench = if call.arguments["action"] == "open_round" {
            Bench::with_rounds()
        } else {
            prepared()
        };
        let (text, is_error) = answer(&bench, &call.r#as, &call.name, &call.arguments);
        let parsers = ["expected ", "EOF", "u32", "u64", "field `", "invalid type"];
        let has_parsers_words = parsers.iter().any(|it| text.contains(it));
        let is_as_expected = if call.expect == "ok" {
            !is_error
        } else {
            is_error && text.contains(&call.expect) && !has_parsers_words
        };
        let repair =
            call.repair.as_ref().map(|it| answer(&bench, &call.r#as, &it.name, &it.arguments));
        match repair {
            _ if !is_as_expected => missed.push(format!("{}: {text}", call.goal)),
            None => right += 1,
            Some((_, false)) => repaired += 1,
            Some((text, true)) => missed.push(format!("{}, repaired: {text}", call.goal)),
        }
    }
    let mistakes = calls.iter().filter(|it| it.repair.is_some()).count();
    println!("first calls: {}", calls.len());
    println!("right at once: {right} of {}", calls.len() - mistakes);
    println!("mistakes repaired in one step: {repaired} of {mistakes}");
    assert!(missed.is_empty(), "{missed:#?}");
}

/// `recorded_calls.json` has calls that a language model wrote from the list of tools and nothing
/// else, as a careful, a quick and a sloppy model, and after each mistake the call that it made of
/// the answer. The mistakes left are second ones of a call, in what only the action itself checks.
#[test]
#[expect(clippy::print_stdout, reason = "the figures are for people")]
fn recorded_calls_are_right_or_soon_repaired() {
    let calls: Vec<RecordedCall> =
        serde_json::from_str(include_str!("data/recorded_calls.json")).unwrap();
    let mut models: BTreeMap<&str, [u32; 3]> = BTreeMap::new();
    for call in &calls {
        let [all, right, repaired] = models.entry(&call.model).or_default();
        *all += 1;
        let bench = prepared();
        let (text, is_error) = answer(&bench, &call.r#as, &call.name, &call.arguments);
        assert_eq!(is_error, call.repair.is_some(), "{}: {text}", call.goal);
        let Some(repair) = &call.repair else {
            *right += 1;
            continue;
        };
        let (again, is_error) = answer(&bench, &call.r#as, &repair.name, &repair.arguments);
        *repaired += u32::from(!is_error);
        if is_error {
            println!("{}: {text}\n  then {again}", call.goal);
        }
    }
    for (model, [all, right, repaired]) in &models {
        println!("{model}: {all} calls, {right} right at once, {repaired} after one answer");
    }
    let least = |model, right, repaired| {
        let [_, seen_right, seen_repaired] = models[model];
        assert!(seen_right >= right && seen_repaired >= repaired, "{model}: {models:?}");
    };
    least("careful", 34, 5);
    least("quick", 7, 22);
    least("sloppy", 1, 20);
}

/// An answer named one fault, so a call with two needed two answers. It lists the first four: a call
/// may have thousands.
#[test]
fn the_faults_of_a_call_are_answered_together() {
    let bench = Bench::with_rounds();
    let lines = |tool: &str, arguments: Value| -> Vec<String> {
        let (text, is_error) = answer(&bench, "agent", tool, &arguments);
        assert!(is_error, "{text}");
        text.lines().map(str::to_owned).collect()
    };
    let found = lines("context_write", json!({"content": "x", "if_version": "1"}));
    let [value, key, version] = &found[..] else { panic!("{found:?}") };
    assert!(value.ends_with("did you mean value?"), "{value}");
    assert!(key.starts_with("context_write needs key"), "{key}");
    assert!(version.starts_with("if_version must be a whole number"), "{version}");
    let unknown: serde_json::Map<_, _> =
        (0..10_000).map(|it| (format!("member_{it}"), json!(1))).collect();
    assert_eq!(lines("context_write", Value::Object(unknown.clone())).len(), 4);
    let deltas = json!({"action": "propose_deltas", "deltas": [unknown, {}, {"op": "add"}]});
    assert_eq!(lines("delta_rounds_propose", deltas).len(), 4);
}
