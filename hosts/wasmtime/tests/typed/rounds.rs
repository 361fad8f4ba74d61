//! The interface `rounds`.

use serde_json::{Value, json};
use shared_context_codec::Time;
use shared_context_core::time::Timestamp;
use shared_context_wasmtime::bindings::exports::shared_context::core::rounds::{
    Delta, Plan, Position, ProposedDelta, Round, StrategyRule, WeightRule,
};

use crate::bench::{Bench, call, refused};

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

/// The request to open a round like this.
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

/// The request to propose these.
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

fn time(ms: u64) -> String {
    Time(Timestamp(ms)).to_string()
}

/// A round in the form in which the JSON tool tells it.
fn form(it: &Round) -> Value {
    let mut form = json!({
        "round": it.number,
        "status": "open",
        "opened_at": time(it.opened_at_ms),
        "opened_by": it.opened_by,
        "weights": weights(&it.plan),
        "strategies": strategies(&it.plan),
        "clip": it.plan.clip,
        "bytes_max": it.plan.bytes_max,
        "deltas": it.delta_count,
    });
    if let Some(ended) = &it.ended {
        let clipped = ended.clipped.iter().map(|it| {
            json!({"path": it.path, "round": it.round, "weight": it.weight, "bytes": it.bytes})
        });
        let status = if ended.is_discarded { "discarded" } else { "closed" };
        form["status"] = json!(status);
        form["clip"] = json!(ended.clip);
        form["closed_at"] = json!(time(ended.at_ms));
        form["closed_by"] = json!(ended.by);
        form["applied"] = json!(ended.applied);
        form["lost"] = json!(ended.lost);
        form["refused"] = json!(ended.refused);
        form["clipped"] = json!(clipped.collect::<Vec<_>>());
        form["bytes"] = json!(ended.bytes);
        form["convergence"] = json!(share(ended.unchanged_paths, ended.paths));
        form["unchanged"] = json!(ended.unchanged_paths);
        form["paths"] = json!(ended.paths);
    }
    form
}

fn share(unchanged: u32, paths: u32) -> f64 {
    (f64::from(unchanged) / f64::from(paths) * 10_000.0).round() / 10_000.0
}

fn with_revision(mut form: Value, revision: u64) -> Value {
    form["revision"] = json!(revision);
    form
}

fn delta_form(it: &ProposedDelta) -> Value {
    let mut form = json!({
        "round": it.round,
        "sequence": it.sequence,
        "participant": it.participant,
        "weight": it.weight,
        "proposed_at": time(it.proposed_at_ms),
        "operation": it.delta.operation,
        "path": it.delta.path,
        "provenance": it.delta.provenance,
        "outcome": "pending",
    });
    if let Some(value) = &it.delta.value {
        form["value"] = serde_json::from_str(value).unwrap();
    }
    if let Some(fate) = &it.fate {
        let is_refused = ["clipped", "discarded"].contains(&fate.status.as_str());
        form["outcome"] = json!(if is_refused { "refused" } else { fate.status.as_str() });
        if is_refused {
            form["reason"] = json!(fate.status);
        }
        let losses = fate.losses.iter().map(|it| {
            json!({
                "path": it.path,
                "why": it.why,
                "to_sequence": it.to_sequence,
                "to_participant": it.to_participant,
            })
        });
        let losses: Vec<Value> = losses.collect();
        if !losses.is_empty() {
            form["losses"] = json!(losses);
        }
        if !fate.clipped.is_empty() {
            form["clipped"] = json!(fate.clipped);
        }
    }
    form
}

/// Reads the state and all deltas in both sessions.
#[track_caller]
fn check(it: &Bench, round: Option<u64>) {
    let state = call!(it, rounds.call_read_state(SALES, round)).unwrap();
    let mut expected = json!({
        "round": state.round,
        "state": serde_json::from_str::<Value>(&state.document).unwrap(),
        "bytes": state.document.len(),
        "bytes_max": state.bytes_max,
        "revision": state.revision,
    });
    if let Some(open) = &state.open_round {
        expected["open_round"] = form(open);
    }
    assert_eq!(expected, it.json(SALES, json!({"action": "read_state", "round": round})));
    let page = call!(it, rounds.call_read_deltas(SALES, None, round, None, None)).unwrap();
    let deltas: Vec<Value> = page.deltas.iter().map(delta_form).collect();
    let expected = json!({"deltas": deltas, "revision": page.revision});
    assert_eq!(expected, it.json(SALES, json!({"action": "read_deltas", "round": round})));
}

#[test]
fn a_round_is_the_same_from_its_beginning_to_its_end() {
    let (it, plan) = (Bench::new(), plan());
    check(&it, None);
    let opened = call!(it, rounds.call_open(ORCHESTRATOR, Some("Who?"), &plan, Some("o"))).unwrap();
    let told = it.json(ORCHESTRATOR, open(Some("Who?"), &plan, Some("o")));
    assert_eq!(with_revision(form(&opened.round), opened.revision), told);

    let legal = [
        delta("add", "$.bindings.customer", Some("\"sea:1\"")),
        delta("add", "$.entities", Some(r#"[{"id": 1, "tags": []}, null]"#)),
    ];
    let sales = [delta("add", "$['bindings']['customer']", Some("\"crm:7\""))];
    for (who, deltas) in [(LEGAL, &legal[..]), (SALES, &sales)] {
        let typed = call!(it, rounds.call_propose(who, deltas, Some("p"))).unwrap();
        let told = it.json(who, propose(deltas, Some("p")));
        let expected = json!({
            "round": typed.round,
            "first_sequence": typed.first_sequence,
            "last_sequence": typed.last_sequence,
            "revision": typed.revision,
        });
        assert_eq!(expected, told);
    }
    check(&it, None);
    let closed = call!(it, rounds.call_close(ORCHESTRATOR, None, false, None)).unwrap();
    let told = it.json(ORCHESTRATOR, json!({"action": "close_round"}));
    assert_eq!(with_revision(form(&closed.round), closed.revision), told);
    assert_eq!(closed.round.ended.map(|it| (it.applied, it.lost)), Some((2, 1)));

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
    let told = it.json(ORCHESTRATOR, request);
    assert_eq!(with_revision(form(&closed.round), closed.revision), told);
    for round in [None, Some(1), Some(2)] {
        check(&it, round);
    }

    let after = Some(Position { round: 1, sequence: 1 });
    let path = Some("$.bindings.customer");
    let page = call!(it, rounds.call_read_deltas(SALES, path, None, None, Some(1))).unwrap();
    let request = json!({"action": "read_deltas", "path": path, "limit": 1});
    let told = it.json(SALES, request);
    assert_eq!(json!([delta_form(&page.deltas[0])]), told["deltas"]);
    assert_eq!(page.next_after.map(|it| (it.round, it.sequence)), Some((1, 1)));
    assert_eq!(told["next_after"], "1.1");
    let page = call!(it, rounds.call_read_deltas(SALES, path, Some(1), after, None)).unwrap();
    let request = json!({"action": "read_deltas", "path": path, "round": 1, "after": "1.1"});
    assert_eq!(json!([delta_form(&page.deltas[0])]), it.json(SALES, request)["deltas"]);

    let ended = call!(it, rounds.call_convergence(SALES)).unwrap();
    let told = it.json(SALES, json!({"action": "convergence"}));
    assert_eq!(json!(ended.revision), told["revision"]);
    for (round, told) in ended.rounds.iter().zip(told["rounds"].as_array().unwrap()) {
        let form = form(round);
        assert!(told.as_object().unwrap().iter().all(|(name, it)| form[name] == *it), "{told}");
    }
    assert_eq!((ended.rounds.len(), told["rounds"].as_array().unwrap().len()), (2, 2));

    for text in ["sea:1", "nowhere"] {
        let redacted = call!(it, rounds.call_redact(ORCHESTRATOR, text, "a name")).unwrap();
        let request = json!({"action": "redact_rounds", "text": text, "reason": "a name"});
        let expected = json!({
            "places": redacted.places,
            "markers": redacted.markers,
            "revision": redacted.revision,
        });
        assert_eq!(expected, it.json(ORCHESTRATOR, request));
        assert_eq!(redacted.places > 0, text == "sea:1");
        check(&it, None);
    }
}

#[test]
fn what_is_refused_is_refused_the_same() {
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
        let typed = refused(call!(it, rounds.call_open(ORCHESTRATOR, None, plan, None)));
        assert_eq!(typed, it.json_refused(ORCHESTRATOR, open(None, plan, None)));
    }
    let fine = delta("add", "$.rules", Some("1"));
    let typed = refused(call!(it, rounds.call_propose(LEGAL, std::slice::from_ref(&fine), None)));
    assert_eq!(typed, it.json_refused(LEGAL, propose(std::slice::from_ref(&fine), None)));
    assert_eq!(typed.code, "ROUND_NOT_OPEN");
    let typed = refused(call!(it, rounds.call_close(ORCHESTRATOR, None, false, None)));
    assert_eq!(typed, it.json_refused(ORCHESTRATOR, json!({"action": "close_round"})));

    call!(it, rounds.call_open(ORCHESTRATOR, None, &empty, None)).unwrap();
    it.json(ORCHESTRATOR, open(None, &empty, None));
    let typed = refused(call!(it, rounds.call_open(LEGAL, None, &empty, None)));
    assert_eq!(typed, it.json_refused(LEGAL, open(None, &empty, None)));
    for wrong in [
        delta("add", "rules", Some("1")),
        delta("add", "$.rules", None),
        delta("remove", "$.rules[0]", Some("null")),
        delta("modify", "$.rules[0]", Some("1")),
        delta("fly", "$.rules", Some("1")),
    ] {
        let deltas = [fine.clone(), wrong];
        let typed = refused(call!(it, rounds.call_propose(LEGAL, &deltas, None)));
        assert_eq!(typed, it.json_refused(LEGAL, propose(&deltas, None)));
        assert!(typed.message.starts_with("delta 2: "), "{typed:?}");
    }
    for (who, text, reason) in
        [(LEGAL, "text", "r"), (ORCHESTRATOR, "abc", "r"), (ORCHESTRATOR, "text", "the text")]
    {
        let typed = refused(call!(it, rounds.call_redact(who, text, reason)));
        let request = json!({"action": "redact_rounds", "text": text, "reason": reason});
        assert_eq!(typed, it.json_refused(who, request));
    }
    let typed = refused(call!(it, rounds.call_read_state(LEGAL, Some(7))));
    assert_eq!(typed, it.json_refused(LEGAL, json!({"action": "read_state", "round": 7})));
    let typed = refused(call!(it, rounds.call_read_deltas(LEGAL, None, None, None, Some(0))));
    assert_eq!(typed, it.json_refused(LEGAL, json!({"action": "read_deltas", "limit": 0})));
}
