//! The interface `rounds`.

use serde_json::{Value, json};
use shared_context_wasmtime::bindings::exports::shared_context::core::rounds::{
    Delta, DeltaFilter, Plan, Position, RoundAnswer, StrategyRule, WeightRule,
};

use crate::bench::{Bench, call, rejected};

const LEGAL: &str = "subagent:legal";
const SALES: &str = "subagent:sales";
const ORCHESTRATOR: &str = "orchestrator";

fn plan() -> Plan {
    let weight = |who: &str, weight| WeightRule { participant: who.to_owned(), weight };
    Plan {
        weights: vec![weight(LEGAL, 0.8), weight("*", 0.35)],
        strategies: vec![StrategyRule {
            path: "$.bindings".to_owned(),
            strategy: "expert-override".to_owned(),
            experts: Some(vec![SALES.to_owned()]),
        }],
        clip: Some("oldest-first".to_owned()),
        bytes_max: Some(20_000),
    }
}

/// Returns the request to open a round with `plan`.
fn open(query: Option<&str>, plan: &Plan, request_id: Option<&str>) -> Value {
    json!({
        "action": "open_round",
        "query": query,
        "weights": weights(plan),
        "strategies": strategies(plan),
        "clip": plan.clip,
        "bytes_max": plan.bytes_max,
        "request_id": request_id,
    })
}

fn weights(plan: &Plan) -> Vec<Value> {
    let form = |it: &WeightRule| json!({"participant": it.participant, "weight": it.weight});
    plan.weights.iter().map(form).collect()
}

fn strategies(plan: &Plan) -> Vec<Value> {
    let form = |it: &StrategyRule| json!({"path": it.path, "strategy": it.strategy, "experts": it.experts});
    plan.strategies.iter().map(form).collect()
}

fn delta(operation: &str, path: &str, value: Option<&str>) -> Delta {
    Delta {
        operation: operation.to_owned(),
        path: path.to_owned(),
        value: value.map(str::to_owned),
        provenance: "seen in the contract".to_owned(),
    }
}

/// Returns the request to propose `deltas`.
fn propose(deltas: &[Delta], request_id: Option<&str>) -> Value {
    let form = |it: &Delta| {
        let mut form =
            json!({"operation": it.operation, "path": it.path, "provenance": it.provenance});
        if let Some(value) = &it.value {
            form["value"] = serde_json::from_str(value).unwrap();
        }
        form
    };
    let deltas: Vec<Value> = deltas.iter().map(form).collect();
    json!({"action": "propose_deltas", "deltas": deltas, "request_id": request_id})
}

/// Returns the answer as JSON, after comparing its typed fields with it.
#[track_caller]
fn json_of(it: &RoundAnswer) -> Value {
    let answer: Value = serde_json::from_str(&it.json).unwrap();
    assert_eq!((&answer["round"], &answer["revision"]), (&json!(it.round), &json!(it.revision)));
    answer
}

fn filter(path: Option<&str>, round: Option<u64>) -> DeltaFilter {
    let path = path.map(str::to_owned);
    DeltaFilter { path, round, participant: None, outcome: None, form: None }
}

/// Compares the state and all deltas of both sessions.
#[track_caller]
fn check(it: &Bench, round: Option<u64>) {
    let state = call!(it, rounds.call_read_state(SALES, round)).unwrap();
    assert_eq!(json_of(&state), it.json(SALES, json!({"action": "read_state", "round": round})));
    let page = call!(it, rounds.call_read_deltas(SALES, &filter(None, round), None, None)).unwrap();
    let deltas: Value = serde_json::from_str(&page.json).unwrap();
    assert_eq!(json!(page.revision), deltas["revision"]);
    assert_eq!(deltas, it.json(SALES, json!({"action": "read_deltas", "round": round})));
}

#[test]
fn rounds_are_the_same() {
    let (it, plan) = (Bench::new(), plan());
    check(&it, None);
    let opened = call!(it, rounds.call_open(ORCHESTRATOR, Some("Who?"), &plan, Some("o"))).unwrap();
    assert_eq!(json_of(&opened), it.json(ORCHESTRATOR, open(Some("Who?"), &plan, Some("o"))));

    let legal = [
        delta("add", "$.bindings.customer", Some("\"sea:1\"")),
        delta("add", "$.entities", Some(r#"[{"id": 1, "tags": []}, null]"#)),
    ];
    let sales = [delta("add", "$['bindings']['customer']", Some("\"crm:7\""))];
    for (who, deltas) in [(LEGAL, &legal[..]), (SALES, &sales)] {
        let typed = call!(it, rounds.call_propose(who, deltas, Some("p"))).unwrap();
        assert_eq!(json_of(&typed), it.json(who, propose(deltas, Some("p"))));
    }
    check(&it, None);
    let closed = call!(it, rounds.call_close(ORCHESTRATOR, None, false, None)).unwrap();
    let closed = json_of(&closed);
    assert_eq!(closed, it.json(ORCHESTRATOR, json!({"action": "close_round"})));
    assert_eq!((&closed["applied"], &closed["lost"]), (&json!(2), &json!(1)));

    call!(it, rounds.call_open(ORCHESTRATOR, None, &plan, None)).unwrap();
    it.json(ORCHESTRATOR, open(None, &plan, None));
    let more =
        [delta("modify", "$.entities[-1]", Some("[null]")), delta("remove", "$.entities[0]", None)];
    call!(it, rounds.call_propose(LEGAL, &more, None)).unwrap();
    it.json(LEGAL, propose(&more, None));
    let closed =
        call!(it, rounds.call_close(ORCHESTRATOR, Some("reject"), true, Some("c"))).unwrap();
    let request =
        json!({"action": "close_round", "clip": "reject", "discard": true, "request_id": "c"});
    assert_eq!(json_of(&closed), it.json(ORCHESTRATOR, request));
    for round in [None, Some(1), Some(2)] {
        check(&it, round);
    }

    let after = Some(Position { round: 1, sequence: 1 });
    let path = Some("$.bindings.customer");
    let page =
        call!(it, rounds.call_read_deltas(SALES, &filter(path, None), None, Some(1))).unwrap();
    let request = json!({"action": "read_deltas", "path": path, "limit": 1});
    let answer = it.json(SALES, request);
    assert_eq!(serde_json::from_str::<Value>(&page.json).unwrap(), answer);
    assert_eq!(page.next_after.map(|it| (it.round, it.sequence)), Some((1, 1)));
    assert_eq!(answer["next_after"], "1.1");
    let page =
        call!(it, rounds.call_read_deltas(SALES, &filter(path, Some(1)), after, None)).unwrap();
    let request = json!({"action": "read_deltas", "path": path, "round": 1, "after": "1.1"});
    assert_eq!(serde_json::from_str::<Value>(&page.json).unwrap(), it.json(SALES, request));

    let lost = DeltaFilter {
        participant: Some(LEGAL.to_owned()),
        outcome: Some("refused".to_owned()),
        form: Some("brief".to_owned()),
        ..filter(None, None)
    };
    let page = call!(it, rounds.call_read_deltas(SALES, &lost, None, None)).unwrap();
    let members = json!({"participant": LEGAL, "outcome": "refused", "form": "brief"});
    let mut request = json!({"action": "read_deltas"});
    request.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let answer = it.json(SALES, request);
    assert_eq!(serde_json::from_str::<Value>(&page.json).unwrap(), answer);
    assert_eq!(answer["deltas"].as_array().unwrap().len(), 2);
    assert!(page.next_after.is_none());

    let ended = call!(it, rounds.call_convergence(SALES)).unwrap();
    let answer = it.json(SALES, json!({"action": "convergence"}));
    assert_eq!(serde_json::from_str::<Value>(&ended.json).unwrap(), answer);
    assert_eq!(json!(ended.revision), answer["revision"]);

    check_exclusions(&it, &plan);
    for text in ["sea:1", "nowhere"] {
        let redacted = call!(it, rounds.call_redact(ORCHESTRATOR, text, "a name")).unwrap();
        let request = json!({"action": "redact_rounds", "text": text, "reason": "a name"});
        let answer = it.json(ORCHESTRATOR, request);
        assert_eq!(serde_json::from_str::<Value>(&redacted.json).unwrap(), answer);
        assert_eq!(json!(redacted.revision), answer["revision"]);
        assert_eq!(answer["places"] != json!(0), text == "sea:1");
        check(&it, None);
    }
}

/// Compares the withdrawal and the rejection of deltas in a new round of both sessions.
#[track_caller]
fn check_exclusions(it: &Bench, plan: &Plan) {
    call!(it, rounds.call_open(ORCHESTRATOR, None, plan, None)).unwrap();
    it.json(ORCHESTRATOR, open(None, plan, None));
    let rules = [1, 2, 3].map(|nth| delta("add", "$.rules", Some(&nth.to_string())));
    call!(it, rounds.call_propose(LEGAL, &rules, None)).unwrap();
    it.json(LEGAL, propose(&rules, None));
    let own = call!(it, rounds.call_withdraw(LEGAL, &[3, 1], Some("w"))).unwrap();
    let request = json!({"action": "withdraw_deltas", "sequences": [3, 1], "request_id": "w"});
    assert_eq!(json_of(&own), it.json(LEGAL, request));
    let rejected_deltas =
        call!(it, rounds.call_reject(ORCHESTRATOR, &[1, 2], "no rule", Some("r"))).unwrap();
    let request = json!({"action": "reject_deltas", "sequences": [1, 2], "reason": "no rule",
        "request_id": "r"});
    let answer = it.json(ORCHESTRATOR, request);
    assert_eq!(json_of(&rejected_deltas), answer);
    assert_eq!((&answer["sequences"], &answer["unchanged"]), (&json!([2]), &json!([1])));
    check(it, None);

    let typed = rejected(call!(it, rounds.call_withdraw(SALES, &[1], None)));
    let request = json!({"action": "withdraw_deltas", "sequences": [1]});
    assert_eq!(typed, it.json_rejected(SALES, request));
    for (sequences, reason) in [(vec![9], "r"), (vec![], "r"), (vec![1, 1], "r"), (vec![1], "")] {
        let typed = rejected(call!(it, rounds.call_reject(ORCHESTRATOR, &sequences, reason, None)));
        let request = json!({"action": "reject_deltas", "sequences": sequences, "reason": reason});
        assert_eq!(typed, it.json_rejected(ORCHESTRATOR, request));
    }
}

#[test]
fn rejections_are_the_same() {
    let it = Bench::new();
    let empty = Plan { weights: vec![], strategies: vec![], clip: None, bytes_max: None };
    let heavy = WeightRule { participant: "*".to_owned(), weight: 1.5 };
    let nowhere =
        StrategyRule { path: "none".to_owned(), strategy: "union".to_owned(), experts: None };
    let plans = [
        Plan { weights: vec![heavy], ..empty.clone() },
        Plan { strategies: vec![nowhere], ..empty.clone() },
        Plan { clip: Some("newest-first".to_owned()), ..empty.clone() },
        Plan { bytes_max: Some(1), ..empty.clone() },
    ];
    for plan in &plans {
        let typed = rejected(call!(it, rounds.call_open(ORCHESTRATOR, None, plan, None)));
        assert_eq!(typed, it.json_rejected(ORCHESTRATOR, open(None, plan, None)));
    }
    let fine = delta("add", "$.rules", Some("1"));
    let typed = rejected(call!(it, rounds.call_propose(LEGAL, std::slice::from_ref(&fine), None)));
    assert_eq!(typed, it.json_rejected(LEGAL, propose(std::slice::from_ref(&fine), None)));
    assert_eq!(typed.code, "ROUND_NOT_OPEN");
    let typed = rejected(call!(it, rounds.call_close(ORCHESTRATOR, None, false, None)));
    assert_eq!(typed, it.json_rejected(ORCHESTRATOR, json!({"action": "close_round"})));

    call!(it, rounds.call_open(ORCHESTRATOR, None, &empty, None)).unwrap();
    it.json(ORCHESTRATOR, open(None, &empty, None));
    let typed = rejected(call!(it, rounds.call_open(LEGAL, None, &empty, None)));
    assert_eq!(typed, it.json_rejected(LEGAL, open(None, &empty, None)));
    for wrong in [
        delta("add", "rules", Some("1")),
        delta("add", "$.rules", None),
        delta("remove", "$.rules[0]", Some("null")),
        delta("modify", "$.rules[0]", Some("1")),
        delta("fly", "$.rules", Some("1")),
    ] {
        let deltas = [fine.clone(), wrong];
        let typed = rejected(call!(it, rounds.call_propose(LEGAL, &deltas, None)));
        assert_eq!(typed, it.json_rejected(LEGAL, propose(&deltas, None)));
        assert!(typed.message.starts_with("delta 2: "), "{typed:?}");
    }
    for (who, text, reason) in
        [(LEGAL, "text", "r"), (ORCHESTRATOR, "abc", "r"), (ORCHESTRATOR, "text", "the text")]
    {
        let typed = rejected(call!(it, rounds.call_redact(who, text, reason)));
        let request = json!({"action": "redact_rounds", "text": text, "reason": reason});
        assert_eq!(typed, it.json_rejected(who, request));
    }
    let typed = rejected(call!(it, rounds.call_read_state(LEGAL, Some(7))));
    assert_eq!(typed, it.json_rejected(LEGAL, json!({"action": "read_state", "round": 7})));
    let typed =
        rejected(call!(it, rounds.call_read_deltas(LEGAL, &filter(None, None), None, Some(0))));
    assert_eq!(typed, it.json_rejected(LEGAL, json!({"action": "read_deltas", "limit": 0})));
}
