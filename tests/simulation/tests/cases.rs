//! The parser of the conformance suite accepts the cases that the simulation prints.

#[path = "../../conformance/src/case/mod.rs"]
#[expect(dead_code, unreachable_pub, reason = "the suite's, of which the parser is used here")]
mod suite;

use serde_json::json;
use shared_context_simulation::{
    case::conformance_case,
    run,
    script::{Call, Event, EventKind, NthCall, Payload, Request, Script, Step, Storage},
};

fn request(participant: &str, payload: Payload) -> Request {
    Request {
        participant: participant.to_owned(),
        keys: Vec::new(),
        credential: None,
        session: "alpha".to_owned(),
        payload,
        during: Vec::new(),
    }
}

fn script(requests: Vec<Request>) -> Script {
    let steps = requests.into_iter().map(|it| Step::Ask(Box::new(it))).collect();
    Script { storage: Storage::Snapshots, canary: None, steps }
}

fn call(participant: &str, call: serde_json::Value) -> Request {
    request(participant, Payload::Call(call))
}

#[test]
fn a_script_without_faults_is_a_conformance_case() {
    let raw = |text: &str| Payload::Raw {
        text: text.to_owned(),
        refused: "MALFORMED_REQUEST".to_owned(),
    };
    let mut limited =
        call("subagent:a", json!({"action": "write", "key": "inv_1", "value": "zq \"1\": {a}\n"}));
    limited.keys = vec!["inv_*".to_owned()];
    let mut script = script(vec![
        call("admin", json!({"action": "create_session", "config": {"keys_max": 2}})),
        limited,
        call("orchestrator", json!({"action": "read", "key": "nothing"})),
        call("orchestrator", json!({"action": "redact", "key": "inv_1", "reason": "why: so"})),
        request("orchestrator", raw("{\"action\":")),
        request("orchestrator", raw("hex:ff fe 00")),
    ]);
    script.steps.insert(2, Step::ClockMs(-1_500));
    script.steps.push(Step::Elsewhere(true));
    assert_eq!(run::script(&script).flaw, None);
    let text = conformance_case(&script, "What is kept: \"this\"").unwrap_or_default();
    let case = suite::parse(&text).map_err(|err| format!("{err}\n{text}"));
    let case = case.as_ref();
    assert_eq!(case.map(|it| it.steps.len()), Ok(8), "{text}");
    assert!(text.contains("expect_partial: {\"key\":\"inv_1\""), "{text}");
    assert!(text.contains("error: {code: KEY_NOT_FOUND}"), "{text}");
}

/// A case states the correct answer, even if the script's system answers wrongly.
#[test]
fn a_case_states_the_correct_answer() {
    let write = || call("orchestrator", json!({"action": "write", "key": "k", "value": "zq"}));
    let mut script =
        script(vec![call("admin", json!({"action": "create_session"})), write(), write()]);
    script.canary = Some("keeps_version".to_owned());
    let flaw = run::script(&script).flaw;
    assert!(flaw.is_some_and(|it| it.message.contains("\"version\":1")), "it answers wrongly");
    let text = conformance_case(&script, "title").unwrap_or_default();
    let last = text.lines().last().unwrap_or_default();
    assert!(last.contains("expect_partial") && last.contains("\"version\":2"), "{text}");
}

#[test]
fn a_script_that_no_case_can_express_gives_none() {
    let create = || call("admin", json!({"action": "create_session"}));
    assert!(conformance_case(&script(vec![create()]), "fine").is_some());
    let event = Event { at: NthCall(Call::Commit, 1), kind: EventKind::Fail };
    let faulty = Request { during: vec![event], ..create() };
    let numbered = Request { credential: Some((1, 0)), ..create() };
    let variable = call("orchestrator", json!({"action": "write", "key": "k", "value": "$zq"}));
    for other in [faulty, numbered, variable] {
        assert_eq!(conformance_case(&script(vec![create(), other]), "none"), None);
    }
}
