//! Tests of the suite itself: it detects a broken system and incomplete cases.

use std::path::Path;

use serde_json::json;
use shared_context_codec::{Code, actions};
use shared_context_conformance::{
    case,
    coverage::{gaps, uncovered_operations},
    run,
    target::{Credential, Target, TargetError, TargetFactory},
};

/// A broken system: it rejects every write, but every second one changes the state.
#[derive(Default)]
struct BrokenTarget {
    rejected: u32,
}

impl Target for BrokenTarget {
    fn credential(
        &mut self,
        _: &str,
        participant: &str,
        keys: &[String],
    ) -> Result<Credential, TargetError> {
        let participant = participant.to_owned();
        Ok(Credential { participant, keys: keys.to_vec(), token: String::new() })
    }

    fn invoke(&mut self, _: &str, _: &Credential, request: &[u8]) -> Result<Vec<u8>, TargetError> {
        if request.starts_with(br#"{"action":"write""#) {
            self.rejected += 1;
            let error = json!({"error": {"code": "STORE_FULL", "message": "full"}});
            return Err(TargetError::Rejected(error.to_string().into_bytes()));
        }
        Ok(json!({"changes": self.rejected / 2}).to_string().into_bytes())
    }

    fn restart(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn set_clock(&mut self, _: u64) {}
}

fn broken_target() -> TargetFactory {
    Box::new(|_| Ok(Box::new(BrokenTarget::default())))
}

#[track_caller]
fn check(steps: &str, expected: &[&str]) {
    let case = case::parse(&format!("title: It\ncites: []\nsessions: []\nsteps:\n{steps}"));
    let message = case.and_then(|case| run::run(&case, &broken_target()));
    let message = message.err().unwrap_or_else(|| "passed".to_owned());
    for part in expected {
        assert!(message.contains(part), "{part:?} is not in:\n{message}");
    }
}

#[test]
fn a_case_that_holds_passes() {
    check("- as: admin\n  call: {action: write}\n  error: {code: STORE_FULL}", &["passed"]);
    check("- as: admin\n  call: {action: show}\n  bytes: '{\"changes\":0}'", &["passed"]);
}

#[test]
fn an_error_that_changed_the_state_is_detected() {
    check(
        "- repeat: 2\n  as: admin\n  call: {action: write}\n  error: {code: STORE_FULL}",
        &["step 1 (i = 2)", "rejected, but the session changed", "{\"changes\":1}"],
    );
}

#[test]
fn elsewhere_is_a_new_system_with_the_saved_variables() {
    let rejected =
        "- as: admin\n  call: {action: write}\n  error: {code: STORE_FULL}\n  save_text: told\n";
    check(
        &format!(
            "{rejected}- elsewhere: true\n{rejected}- as: admin\n  raw: ['write: ', $told]\n  bytes: '{{\"changes\":0}}'"
        ),
        &["passed"],
    );
}

#[test]
fn a_failure_reports_step_caller_request_and_diff() {
    check(
        "- restart: true\n- each: {n: [7]}\n  steps:\n  - as: orchestrator\n    call: {action: show, n: $n}\n    expect: {changes: $n}",
        &[
            "step 2 (n = 7).1",
            "orchestrator on session/main",
            r#""n":7"#,
            "-  \"changes\": 7",
            "+  \"changes\": 0",
        ],
    );
    check("- as: admin\n  call: {action: write}\n  expect: {}", &["step 1", "STORE_FULL"]);
    check("- as: admin\n  call: {action: x}\n  error: {}", &["an error was expected", "changes"]);
    check("- as: admin\n  call: {key: $x}\n  expect: {}", &["no variable `x`"]);
}

#[test]
fn an_invalid_step_is_rejected_with_its_position() {
    check("- {}", &["a step needs one of"]);
    check("- call: {a: 1}\n  as: admin", &["need one of: expect"]);
    check("- call: {a: 1}\n  expect: {}", &["need `as`"]);
    check("- restart: true\n  status: 200", &["`status` does not belong"]);
    let limited = |what: &str| format!("- {what}\n  keys: [scope]\n  expect: {{}}");
    check(&limited("http: GET /\n  status: 200"), &["`keys` does not belong"]);
    let stored = limited("as: admin\n  credential: kept\n  call: {action: show}");
    check(&stored, &["`keys` belongs to the step that keeps the credential"]);
    check(
        "- as: admin\n  keys: scope\n  call: {action: show}\n  expect: {}",
        &["step 1: ", "`keys` is a list of patterns"],
    );
    check("- as: admin\n  call: {}\n  expect: {}\n  error: {}", &["one of: expect"]);
    check("- each: {a: [1], b: [2]}\n  restart: true", &["`each` is one variable"]);
    check("- do: x", &["unknown field `do`", "line 5"]);
}

#[test]
fn every_action_and_error_code_has_a_case() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let cases = case::read_all(&folder).expect("every case can be read");
    let cases: Vec<_> = cases.into_iter().map(|(_, case)| case).collect();
    let actions: Vec<&str> = actions().map(|it| it.name).collect();
    let codes: Vec<&str> = Code::ALL.iter().map(|it| it.as_str()).collect();
    let gaps = gaps(&cases, &actions, &codes);
    assert!(gaps.is_empty(), "{}", gaps.join("\n"));
}

#[test]
fn gaps_in_the_cases_are_named() {
    let case = case::parse(
        "title: It\ncites: []\nsteps:\n\
         - {as: admin, call: {action: a}, expect: {}}\n\
         - {as: admin, call: {action: b}, error: {code: X, before: Z}}\n\
         - {as: admin, call: {action: b}, error: {code: Z, before: Y}}\n\
         - {http: 'GET /v1/x/${i}?y', status: 200}\n",
    );
    let cases = [case.expect("is one")];
    let found = gaps(&cases, &["a", "b"], &["X", "Y", "Z"]);
    let missing =
        ["the action `b`", "the error `Y`", "`X` from the later `Y`", "`Y` from the later `Z`"];
    for part in missing.into_iter().chain(["`Z` before `Y`"]) {
        assert!(found.iter().any(|gap| gap.contains(part)), "{part} is not in {found:#?}");
    }
    assert_eq!(found.len(), 5);
    let api = json!({"paths": {"/v1/x/{n}": {"get": {}, "put": {}, "parameters": []}, "/v1": {"get": {}}}});
    assert_eq!(uncovered_operations(&cases, &api), ["GET /v1", "PUT /v1/x/{n}"]);
}

#[test]
fn requirements_of_a_case_follow_from_its_steps() {
    let parsed = |members: &str, step: &str| {
        let text = format!("title: It\ncites: []\n{members}\nsteps:\n- {step}\n");
        case::parse(&text).expect("is one")
    };
    let needs_clock = |step: &str| parsed("", step).needs_clock();
    assert!(needs_clock("clock_step: 1h") && needs_clock("clock: '2026-02-20T15:00:00Z'"));
    let call = |expect: &str| format!("{{as: admin, call: {{action: a}}, {expect}}}");
    assert!(needs_clock(&call("expect: {a: [{at: '2026-02-20T14:00:00Z'}]}")));
    assert!(needs_clock(&call("bytes: '{\"at\":\"2026-02-20T14:00:00Z\"}'")));
    assert!(needs_clock(&call("error: {message: {contains: '2026-02-20T14:01:00Z'}}")));
    assert!(needs_clock("{each: {at: ['2026-02-20T14:00:00Z']}, restart: true}"));
    assert!(!needs_clock(&call("expect: {at: {any: time}, on: 2026-02-20}")));
    let needs_state = |members: &str| parsed(members, "restart: true").needs_state();
    assert_eq!([needs_state(""), needs_state("is_kept: false")], [None, Some(false)]);
    assert_eq!(needs_state("rate_limit: {per_second: 2, burst: 4}"), Some(true));
    let faults = parsed("", "steps: [storage: reads_fail, storage: works]").needed_faults();
    assert_eq!(faults, [case::Storage::ReadsFail]);
}
